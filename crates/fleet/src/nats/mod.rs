//! Jobs over NATS JetStream.
//!
//! The server keeps everything; submitters and workers keep nothing but what they are at. A connection that is lost is made
//! again by the client, and what was asked meanwhile is asked again here.

mod look;
mod objects;
mod setup;
mod submit;
mod worker;

pub use look::{Lane, Overview, Running, WorkerState};
pub use submit::{Event, Outstanding, Progress, Submission};
pub use worker::{Runner, Stop, Worker, WorkerOptions};

use crate::names;
use crate::sign::{Key, Roster};
use async_nats::jetstream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How to reach a server, and as whom.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// `nats://host:4222` or `tls://host:4222`; several with commas.
    pub server: String,
    /// The user's name: a token of subjects.
    pub user: String,
    /// The text of a key file (a seed) or of a credentials file; empty for a server without users.
    pub key: String,
    /// A file with certificates to believe besides the system's.
    pub root_certificates: Option<PathBuf>,
    /// Workers whose answers are believed.
    pub roster: Roster,
    /// True if the first connection may take as long as it takes.
    pub patient: bool,
}

/// What can go wrong between here and the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody answers.
    #[error("{server}: the server cannot be reached: {why}")]
    Unreachable {
        /// The address.
        server: String,
        /// What happened.
        why: String,
    },
    /// The server does not let this user in.
    #[error("{server}: the server refuses these credentials: {why}")]
    Unauthorized {
        /// The address.
        server: String,
        /// What it says.
        why: String,
    },
    /// The key is another role's, or of a worker of another pool.
    #[error("{user} may not work in the pool {pool}: {why}")]
    Role {
        /// Who asks.
        user: String,
        /// Where.
        pool: String,
        /// What the server says.
        why: String,
    },
    /// The key file is none.
    #[error("the key file: {0}")]
    Key(String),
    /// The streams are not there.
    #[error("the server has no {0}")]
    NotSetUp(String),
    /// The server cannot keep more.
    #[error("the server takes no more: {0}")]
    Full(String),
    /// Something that this user may not do, or that took too long.
    #[error("{what}: {why}")]
    Failed {
        /// What was asked.
        what: String,
        /// What came of it.
        why: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Unreachable { .. } => {
                Some("is nats-server running there? assay fleet doctor says what is missing")
            }
            Self::Unauthorized { .. } => Some(
                "the key may be revoked or expired: ask who runs the server for a new one (assay fleet init)",
            ),
            Self::Role { .. } => Some(
                "use the key of a worker of this pool (assay fleet init --workers NAME:POOL), or its own pool with --pool",
            ),
            Self::Key(_) => Some("a key file has a line that starts with SU; --key names it"),
            Self::NotSetUp(_) => {
                Some("its admin makes it: assay fleet setup --server … --key admin.nk --pools …")
            }
            Self::Full(_) => {
                Some("wait until jobs are answered, or let its admin raise max_file_store")
            }
            Self::Failed { .. } => None,
        }
    }

    pub(crate) fn failed(what: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::Failed {
            what: what.into(),
            why: why.to_string(),
        }
    }
}

/// How long a request may take.
const REQUEST: Duration = Duration::from_secs(10);
/// How often the other side is asked whether it is there: a half-open connection is noticed after two of these.
const PING: Duration = Duration::from_secs(10);

/// A connection to a fleet's server.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(crate) client: async_nats::Client,
    pub(crate) jetstream: jetstream::Context,
    pub(crate) user: String,
    server: String,
    pub(crate) key: Option<Arc<Key>>,
    pub(crate) roster: Arc<Roster>,
    /// The last thing that the server said this user may not do: the request itself is only never answered.
    violation: Arc<Mutex<Option<String>>>,
}

impl Fleet {
    /// Connects.
    pub async fn connect(access: &Access) -> Result<Self, Error> {
        if !names::is_token(&access.user) {
            return Err(Error::Key(format!(
                "{:?} is no name of a user: letters, digits, - and _",
                access.user
            )));
        }
        let mut options = async_nats::ConnectOptions::new()
            .name(format!("assay {}", access.user))
            .custom_inbox_prefix(names::inbox(&access.user))
            .ping_interval(PING)
            .connection_timeout(Duration::from_secs(5))
            .request_timeout(Some(REQUEST))
            .reconnect_delay_callback(|attempts| {
                // Soon at first, then every few seconds, for as long as it takes.
                Duration::from_millis((50_u64 << attempts.min(7)).min(4000))
            });
        let violation = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&violation);
        options = options.event_callback(move |event| {
            let noted = Arc::clone(&noted);
            async move {
                let Ok(mut noted) = noted.lock() else { return };
                let text = event.to_string();
                if event == async_nats::Event::Connected {
                    *noted = None;
                } else if text.to_lowercase().contains("permissions") || is_refusal(&text) {
                    *noted = Some(text);
                }
            }
        });
        let mut key = None;
        if access.key.contains("BEGIN NATS USER JWT") {
            options = options
                .credentials(&access.key)
                .map_err(|error| Error::Key(error.to_string()))?;
        } else if !access.key.trim().is_empty() {
            let own = Key::read(&access.key).map_err(Error::Key)?;
            options = options.nkey(own.seed().map_err(Error::Key)?);
            key = Some(Arc::new(own));
        }
        if let Some(path) = &access.root_certificates {
            options = options.add_root_certificates(path.clone());
        }
        if access.patient {
            options = options.retry_on_initial_connect();
        }
        let servers: Vec<&str> = access.server.split(',').map(str::trim).collect();
        let client = options.connect(servers).await.map_err(|error| {
            use async_nats::ConnectErrorKind as Kind;
            let (server, why) = (access.server.clone(), error.to_string());
            match error.kind() {
                Kind::Authentication | Kind::AuthorizationViolation => {
                    Error::Unauthorized { server, why }
                }
                _ => Error::Unreachable { server, why },
            }
        })?;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(REQUEST);
        Ok(Self {
            client,
            jetstream,
            user: access.user.clone(),
            server: access.server.clone(),
            key,
            roster: Arc::new(access.roster.clone()),
            violation,
        })
    }

    /// A request that failed, with what the server said about it, if it did: one by a user whom the server no longer knows is
    /// never answered.
    pub(crate) fn unanswered(&self, what: &str, why: String) -> Error {
        let said = self.violation.lock().ok().and_then(|said| said.clone());
        match said {
            Some(why) if is_refusal(&why) => Error::Unauthorized {
                server: self.server.clone(),
                why,
            },
            _ => Error::failed(what, self.with_violation(why)),
        }
    }

    /// A failure, with what the server said about it, if it did: a forbidden request is never answered.
    pub(crate) fn with_violation(&self, why: String) -> String {
        let said = self.violation.lock().ok().and_then(|mut said| said.take());
        match said {
            Some(said) => format!("{why} ({said})"),
            None => why,
        }
    }

    /// What the server has refused this user until now, once it has heard everything that was said to it.
    pub(crate) async fn refused(&self) -> Option<String> {
        /// A refusal comes by itself, beside the answer to whatever was asked last.
        const LATE: Duration = Duration::from_millis(300);
        let heard = tokio::time::timeout(REQUEST, self.client.flush()).await;
        heard.ok()?.ok()?;
        tokio::time::sleep(LATE).await;
        self.violation.lock().ok().and_then(|mut said| said.take())
    }

    /// Who this is.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The version of the server.
    pub fn server_version(&self) -> String {
        self.client.server_info().version
    }

    /// The last message of a subject, if there is one.
    pub(crate) async fn last(&self, stream: &str, subject: String) -> Result<Option<Kept>, Error> {
        let handle = self
            .jetstream
            .get_stream_no_info(stream)
            .await
            .map_err(|error| Error::failed(stream, error))?;
        use jetstream::stream::DirectGetErrorKind as Kind;
        match handle.direct_get_last_for_subject(subject).await {
            Ok(message) => Ok(Some(Kept {
                payload: message.payload.to_vec(),
                sequence: message.sequence,
            })),
            Err(error) => match error.kind() {
                Kind::NotFound => Ok(None),
                _ => Err(Error::failed(stream, error)),
            },
        }
    }
}

/// Returns true if an event says that the server does not let this user in: the key is revoked, or its time is up.
fn is_refusal(event: &str) -> bool {
    let event = event.to_lowercase();
    event.contains("authorization violation") || event.contains("authentication expired")
}

/// A message that a stream keeps.
pub(crate) struct Kept {
    pub(crate) payload: Vec<u8>,
    #[allow(dead_code, reason = "for messages about it")]
    pub(crate) sequence: u64,
}
