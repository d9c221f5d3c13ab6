//! Who may do what: a configuration of the server with users by their public keys.
//!
//! A *submitter* puts jobs into the lanes of allowed pools under its own name and reads its own answers. A *worker* takes jobs
//! of its pool, answers, and can submit nothing. A *viewer* looks. The *admin* makes the streams. Everyone's replies go to
//! an inbox of their own.

use crate::names;
use std::fmt::Write as _;

/// What a user may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// Submits to these pools.
    Submitter {
        /// The pools.
        pools: Vec<String>,
    },
    /// Takes jobs of this pool.
    Worker {
        /// The pool.
        pool: String,
    },
    /// Looks.
    Viewer,
}

/// A user of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name; a token of subjects.
    pub name: String,
    /// The public key: `U…`.
    pub key: String,
    /// What the user may do.
    pub role: Role,
}

/// Subjects that a user may publish to and subscribe to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// May be published to.
    pub publish: Vec<String>,
    /// May be listened to.
    pub subscribe: Vec<String>,
}

/// What a server needs besides its users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `127.0.0.1:4222`.
    pub listen: String,
    /// The folder where it keeps messages.
    pub store: String,
    /// Bytes it may keep.
    pub most: u64,
    /// The fleet's pools.
    pub pools: Vec<String>,
    /// Certificate and key files; without them nothing is encrypted.
    pub tls: Option<(String, String)>,
}

impl User {
    /// What the user may do, as subjects, in a fleet with these pools.
    pub fn permissions(&self, pools: &[String]) -> Permissions {
        let own = &self.name;
        let mut granted = Permissions {
            publish: vec!["$JS.API.INFO".to_owned()],
            subscribe: vec![format!("{}.>", names::inbox(own))],
        };
        match &self.role {
            Role::Admin => {
                return Permissions {
                    publish: vec![">".to_owned()],
                    subscribe: vec![">".to_owned()],
                };
            }
            Role::Submitter { pools: allowed } => {
                granted.looks(pools);
                granted.submits(own, allowed);
            }
            Role::Worker { pool } => granted.works(own, pool),
            Role::Viewer => {
                let p = names::PREFIX;
                granted.looks(pools);
                for subject in [
                    direct(names::RESULTS, &format!("{p}.results.>")),
                    direct(names::DEAD, &format!("{p}.dead.>")),
                    // Results are also read in the order of their arrival.
                    format!("$JS.API.DIRECT.GET.{}", names::RESULTS),
                ] {
                    granted.publish.push(subject);
                }
                granted.subscribe.push(format!("{p}.progress.>"));
                granted.subscribe.push(format!("{p}.results.>"));
            }
        }
        granted
    }
}

/// The request for the last message of a subject.
fn direct(stream: &str, subject: &str) -> String {
    format!("$JS.API.DIRECT.GET.{stream}.{subject}")
}

impl Permissions {
    /// Sees queues and workers, and how many answers there are. The stream of objects is not among these: who may ask about a
    /// stream may list its subjects.
    fn looks(&mut self, pools: &[String]) {
        let bucket = names::WORKERS;
        let workers = format!("KV_{bucket}");
        self.publish.push("$JS.API.STREAM.NAMES".to_owned());
        let streams = pools.iter().map(|pool| names::jobs_stream(pool));
        let others = [names::RESULTS, names::ANSWERS, names::DEAD, &workers];
        for stream in streams.chain(others.map(str::to_owned)) {
            self.publish.push(format!("$JS.API.STREAM.INFO.{stream}"));
        }
        self.publish
            .push(direct(&workers, &format!("$KV.{bucket}.>")));
    }

    /// Puts jobs and their inputs into some pools under its own name, and reads what is its own.
    fn submits(&mut self, own: &str, pools: &[String]) {
        let p = names::PREFIX;
        for pool in pools {
            self.publish.push(format!("{p}.jobs.{pool}.*.{own}"));
            self.publish.push(names::object(pool, own, "in", ">"));
            self.publish.push(names::wake(pool));
        }
        for subject in [
            format!("$KV.{}.{own}.>", names::CANCELS),
            direct(names::OBJECTS, &format!("{p}.objects.*.{own}.>")),
            direct(names::RESULTS, &names::result("*", own, ">")),
            direct(names::DEAD, &names::dead("*", own, ">")),
        ] {
            self.publish.push(subject);
        }
        self.subscribe.push(names::result("*", own, ">"));
        self.subscribe.push(names::progress("*", own, ">"));
    }

    /// Takes the jobs of one pool, reads what they need, and answers in this pool alone.
    fn works(&mut self, own: &str, pool: &str) {
        let p = names::PREFIX;
        let stream = names::jobs_stream(pool);
        let bucket = names::CANCELS;
        for subject in [
            names::result(pool, "*", ">"),
            names::answer(pool, ">"),
            names::progress(pool, "*", ">"),
            names::dead(pool, "*", ">"),
            names::object(pool, "*", "out", ">"),
            format!("$KV.{}.{own}", names::WORKERS),
            format!("$JS.API.STREAM.INFO.{stream}"),
            format!("$JS.API.CONSUMER.CREATE.{stream}.*.{p}.jobs.{pool}.>"),
            format!("$JS.API.CONSUMER.INFO.{stream}.*"),
            format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.*"),
            format!("$JS.ACK.{stream}.>"),
            direct(names::RESULTS, &names::result(pool, "*", ">")),
            direct(names::ANSWERS, &names::answer(pool, ">")),
            direct(names::OBJECTS, &format!("{p}.objects.{pool}.>")),
            direct(&format!("KV_{bucket}"), &format!("$KV.{bucket}.>")),
        ] {
            self.publish.push(subject);
        }
        self.subscribe.push(names::wake(pool));
        self.subscribe.push(format!("$KV.{bucket}.>"));
    }
}

/// The text of a nats-server configuration.
pub fn configuration(server: &Server, users: &[User]) -> String {
    let mut text = format!(
        "# Made by assay fleet init. Start it with: nats-server -c THIS_FILE\n\
         server_name: assay\nlisten: {:?}\nmax_payload: 1MB\nmax_pending: 64MB\n\
         jetstream {{\n  store_dir: {:?}\n  max_memory_store: 64MB\n  max_file_store: {}\n}}\n",
        server.listen, server.store, server.most
    );
    if let Some((certificate, key)) = &server.tls {
        let _ = writeln!(
            text,
            "tls {{\n  cert_file: {certificate:?}\n  key_file: {key:?}\n  timeout: 5\n}}"
        );
    }
    text += "authorization {\n  timeout: 5\n  users: [\n";
    for user in users {
        let granted = user.permissions(&server.pools);
        let list = |subjects: &[String]| {
            let quoted: Vec<String> = subjects.iter().map(|one| format!("{one:?}")).collect();
            quoted.join(", ")
        };
        let _ = writeln!(
            text,
            "    # {}\n    {{ nkey: {}, permissions: {{\n        publish: {{ allow: [{}] }},\n        subscribe: {{ allow: [{}] }}\n    }} }}",
            user.name,
            user.key,
            list(&granted.publish),
            list(&granted.subscribe)
        );
    }
    text += "  ]\n}\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subject against a pattern, as the server matches them.
    fn matches(pattern: &str, subject: &str) -> bool {
        let (mut pattern, mut subject) = (pattern.split('.'), subject.split('.'));
        loop {
            match (pattern.next(), subject.next()) {
                (Some(">"), Some(_)) | (None, None) => return true,
                (Some("*"), Some(_)) => {}
                (Some(one), Some(other)) if one == other => {}
                _ => return false,
            }
        }
    }

    fn may(role: Role, subject: &str) -> bool {
        let user = User {
            name: "me".to_owned(),
            key: String::new(),
            role,
        };
        let pools = ["m1", "m2"].map(str::to_owned);
        let granted = user.permissions(&pools).publish;
        granted.iter().any(|pattern| matches(pattern, subject))
    }

    #[test]
    fn every_role_may_what_it_needs_and_no_more() {
        let submitter = || Role::Submitter {
            pools: vec!["m2".to_owned()],
        };
        let worker = || Role::Worker {
            pool: "m2".to_owned(),
        };
        let table = [
            // subject, submitter, worker, viewer
            ("assay.v2.jobs.m2.high.me", true, false, false),
            ("assay.v2.jobs.m2.high.you", false, false, false),
            ("assay.v2.jobs.m1.high.me", false, false, false),
            ("assay.v2.results.m2.me.m2-1", false, true, false),
            ("assay.v2.results.m1.me.m1-1", false, false, false),
            ("assay.v2.answers.m2.k", false, true, false),
            ("assay.v2.answers.m1.k", false, false, false),
            ("assay.v2.objects.m2.me.in.h.0", true, false, false),
            ("assay.v2.objects.m1.me.in.h.0", false, false, false),
            ("assay.v2.objects.m2.you.in.h.0", false, false, false),
            ("assay.v2.objects.m2.me.out.h.0", false, true, false),
            ("assay.v2.objects.m1.me.out.h.0", false, false, false),
            (
                "$JS.API.DIRECT.GET.ASSAY_OBJECTS.assay.v2.objects.m1.me.out.h.0",
                true,
                false,
                false,
            ),
            (
                "$JS.API.DIRECT.GET.ASSAY_OBJECTS.assay.v2.objects.m2.you.in.h.0",
                false,
                true,
                false,
            ),
            (
                "$JS.API.DIRECT.GET.ASSAY_ANSWERS.assay.v2.answers.m2.k",
                false,
                true,
                false,
            ),
            ("$JS.API.STREAM.INFO.ASSAY_OBJECTS", false, false, false),
            ("$JS.API.STREAM.INFO.ASSAY_RESULTS", true, false, true),
            ("$KV.assay-cancels.me.1", true, false, false),
            ("$KV.assay-cancels.you.1", false, false, false),
            ("$KV.assay-workers.me", false, true, false),
            ("$KV.assay-workers.you", false, false, false),
            (
                "$JS.API.CONSUMER.MSG.NEXT.ASSAY_JOBS_m2.high_me",
                false,
                true,
                false,
            ),
            (
                "$JS.API.CONSUMER.MSG.NEXT.ASSAY_JOBS_m1.high_me",
                false,
                false,
                false,
            ),
            ("$JS.API.STREAM.DELETE.ASSAY_RESULTS", false, false, false),
            ("$JS.API.STREAM.PURGE.ASSAY_JOBS_m2", false, false, false),
            (
                "$JS.API.STREAM.MSG.DELETE.ASSAY_RESULTS",
                false,
                false,
                false,
            ),
            ("$JS.API.STREAM.CREATE.X", false, false, false),
            (
                "$JS.API.DIRECT.GET.ASSAY_RESULTS.assay.v2.results.m2.me.m2-1",
                true,
                true,
                true,
            ),
            (
                "$JS.API.DIRECT.GET.ASSAY_RESULTS.assay.v2.results.m2.you.m2-1",
                false,
                true,
                true,
            ),
        ];
        for (subject, by_submitter, by_worker, by_viewer) in table {
            assert_eq!(
                may(submitter(), subject),
                by_submitter,
                "submitter: {subject}"
            );
            assert_eq!(may(worker(), subject), by_worker, "worker: {subject}");
            assert_eq!(may(Role::Viewer, subject), by_viewer, "viewer: {subject}");
            assert!(may(Role::Admin, subject), "{subject}");
        }
    }
}
