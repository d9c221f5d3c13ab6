//! Sessions that are killed: nothing recorded is lost or doubled, and what they end with is what it would have been.
//!
//! The test starts itself as two sessions on one database. `ROUNDS=500` kills more of them.

use crate::workbench::{Fake, options, search, start};
use assay_tune::attempts::{Database, SessionId};
use std::process::{Command, Stdio};
use std::time::Duration;

const DATABASE: &str = "DATABASE_OF_A_SESSION";
const SEED: &str = "SEED_OF_A_SESSION";

/// Resumes the session of a seed, or starts it; does nothing in the test run itself.
#[test]
fn a_session() {
    let (Some(path), Ok(seed)) = (std::env::var_os(DATABASE), std::env::var(SEED)) else {
        return;
    };
    let seed: u64 = seed.parse().expect("a seed");
    let mut database = Database::open(path).expect("a database");
    let unfinished = database
        .unfinished(&format!("key {seed}"))
        .expect("readable");
    let session = unfinished.unwrap_or_else(|| start(&mut database, seed));
    let fake = Fake {
        pause: Duration::from_millis(3),
        ..Fake::default()
    };
    search(
        &fake,
        &mut database,
        session,
        None,
        &options(seed, 400),
        &|| false,
    );
}

fn spawn(path: &std::path::Path, seed: u64) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::a_session"])
        .env(DATABASE, path)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_sessions_end_as_if_they_had_not_been() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attempts.db");
    drop(Database::open(&path).unwrap());
    let rounds = std::env::var("ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut lengths = [0, 0];
    for round in 0..rounds.unwrap_or(50u64) {
        // Two sessions at once, killed at times that have nothing to do with what they are at.
        let mut children = [spawn(&path, 11), spawn(&path, 12)];
        std::thread::sleep(Duration::from_millis(25 + 37 * round % 61));
        for child in &mut children {
            // SIGKILL: no handler runs, nothing is tidied up.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let database = Database::open_to_read(&path).unwrap();
        for (place, seed) in [11, 12].into_iter().enumerate() {
            let Some(session) = database.unfinished(&format!("key {seed}")).unwrap() else {
                continue;
            };
            let attempts = database.attempts_from(session, 0).unwrap();
            // Ordinals without gaps: nothing is lost, nothing is there twice.
            let ordinals: Vec<u32> = attempts.iter().map(|attempt| attempt.ordinal).collect();
            assert_eq!(ordinals, (0..attempts.len() as u32).collect::<Vec<_>>());
            if database.sessions().unwrap().len() <= 2 {
                assert!(
                    attempts.len() >= lengths[place],
                    "what was recorded is gone"
                );
                lengths[place] = attempts.len();
            }
        }
    }
    for seed in [11, 12] {
        assert!(spawn(&path, seed).wait().unwrap().success());
    }
    let database = Database::open_to_read(&path).unwrap();
    let sessions = database.sessions().unwrap();
    for seed in [11u64, 12] {
        let fresh = tempfile::tempdir().unwrap();
        let mut other = Database::open(fresh.path().join("attempts.db")).unwrap();
        let whole = start(&mut other, seed);
        search(
            &Fake::default(),
            &mut other,
            whole,
            None,
            &options(seed, 400),
            &|| false,
        );
        let expected = other.trace(whole).unwrap();
        let of_seed = sessions
            .iter()
            .filter(|session| session.seed == seed.to_string());
        let finished: Vec<SessionId> = of_seed
            .filter(|it| it.ended_at.is_some())
            .map(|it| it.id)
            .collect();
        assert!(!finished.is_empty());
        for session in finished {
            assert_eq!(database.trace(session).unwrap(), expected, "seed {seed}");
        }
    }
    let raw = rusqlite::Connection::open(&path).unwrap();
    let sound: String = raw
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}
