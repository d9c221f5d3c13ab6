//! Sessions with a model over HTTP that are killed at any moment: while a call is made, before its answer is recorded,
//! between the proposals of an answer, in the middle of a proof. They end as if they had not been.
//!
//! The test starts itself as two sessions on one database. `ROUNDS=500` kills more of them.

use crate::calls::client;
use crate::server::Server;
use crate::sessions::{Fake, author, run, source, start_as};
use assay_llm::budget::Limits;
use assay_llm::prompt::Mode;
use assay_tune::attempts::{Call, Database, SessionId};
use assay_tune::fingerprint;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const DATABASE: &str = "DATABASE_OF_A_SESSION";
const SERVER: &str = "SERVER_OF_A_SESSION";
const KEY: &str = "KEY_OF_A_SESSION";

/// A model whose answer follows from the request: good ones, wrong ones, copies, and words.
fn model(request: &str) -> String {
    let print = fingerprint::of(request);
    let number = u64::from_str_radix(&print[..8], 16).unwrap();
    match number % 7 {
        0 => "I would rather not.".to_owned(),
        1 => source(
            "cheats",
            &format!("/* cheat */ int c{}; // time: 2", number % 50),
        ),
        2 => source("for ever", &format!("endless({});", number % 5)),
        _ => source(
            "honest",
            &format!("int v{}; // time: {}", number % 40, 95 - number % 40),
        ),
    }
}

fn with_model(database: &mut Database, session: SessionId, base: &str, pause: Duration) {
    let fake = Fake::slow(pause);
    let server = Server {
        base: base.to_owned(),
        heard: Default::default(),
    };
    let author = author(vec![client(&server)], Mode::Source, 10, Limits::default());
    run(&fake, database, session, &author, &|| false).unwrap();
}

/// Resumes the session of a key, or starts it; does nothing in the test run itself.
#[test]
fn a_session() {
    let (Some(path), Ok(base), Ok(key)) = (
        std::env::var_os(DATABASE),
        std::env::var(SERVER),
        std::env::var(KEY),
    ) else {
        return;
    };
    let mut database = Database::open(path).unwrap();
    let unfinished = database.unfinished(&key).unwrap();
    let session = unfinished.unwrap_or_else(|| start_as(&mut database, &key));
    with_model(&mut database, session, &base, Duration::from_millis(4));
}

fn spawn(path: &Path, base: &str, key: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::a_session"])
        .env(DATABASE, path)
        .env(SERVER, base)
        .env(KEY, key)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn ended(database: &Database, session: SessionId) -> (String, Vec<Call>) {
    (
        database.trace(session).unwrap(),
        database.calls(session).unwrap(),
    )
}

#[test]
fn killed_sessions_with_a_model_end_as_if_they_had_not_been() {
    let server = Server::answering(model);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attempts.db");
    drop(Database::open(&path).unwrap());
    let rounds = std::env::var("ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(30u64);
    let mut cut = 0;
    for round in 0..rounds {
        let mut children = ["one", "other"].map(|key| spawn(&path, &server.base, key));
        std::thread::sleep(Duration::from_millis(20 + 37 * round % 83));
        for child in &mut children {
            // SIGKILL: no handler runs, nothing is tidied up.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let database = Database::open_to_read(&path).unwrap();
        for session in database.sessions().unwrap() {
            let (trace, calls) = ended(&database, session.id);
            let open = session.ended_at.is_none() && trace.lines().count() + calls.len() > 1;
            cut += usize::from(open);
            // Numbers without gaps: nothing is lost, nothing is there twice.
            let numbers: Vec<u32> = calls.iter().map(|call| call.number).collect();
            assert_eq!(numbers, (0..calls.len() as u32).collect::<Vec<_>>());
        }
    }
    assert!(cut >= 5, "only {cut} sessions were cut in their middle");
    for key in ["one", "other"] {
        assert!(spawn(&path, &server.base, key).wait().unwrap().success());
    }
    let whole = {
        let fresh = tempfile::tempdir().unwrap();
        let mut database = Database::open(fresh.path().join("attempts.db")).unwrap();
        let session = start_as(&mut database, "whole");
        with_model(&mut database, session, &server.base, Duration::ZERO);
        ended(&database, session)
    };
    assert!(whole.1.len() >= 10, "{} calls", whole.1.len());
    let database = Database::open_to_read(&path).unwrap();
    let finished = database.sessions().unwrap();
    let finished: Vec<_> = finished
        .iter()
        .filter(|session| session.ended_at.is_some())
        .collect();
    assert!(finished.len() >= 2);
    for session in finished {
        assert_eq!(ended(&database, session.id), whole, "{}", session.key);
    }
}
