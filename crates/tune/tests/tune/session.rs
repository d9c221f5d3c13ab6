//! What sessions do, over a workbench whose times are known.

use crate::workbench::{Fake, options, search, start};
use assay_tune::attempts::{Database, Filter, Outcome, Stage};
use assay_tune::space::{Knob, Space};
use std::sync::atomic::{AtomicUsize, Ordering};

fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("attempts.db")).unwrap();
    (folder, database)
}

fn space() -> Space {
    let values = || (1..=24).map(|value| value.to_string());
    Space::new(
        vec![Knob::new("TM", values()), Knob::new("TN", values())],
        &[],
    )
    .unwrap()
}

#[test]
fn a_session_finds_the_best_sequence_and_refuses_what_is_wrong() {
    let (_folder, mut database) = database();
    let session = start(&mut database, 1);
    let found = search(
        &Fake::default(),
        &mut database,
        session,
        None,
        &options(1, 200),
        &|| false,
    );
    let winner = found.winner.expect("a winner");
    assert!(found.decision.kept, "{:?}", found.decision);
    // 1.8 × 1.4 × 1.1, in any order; "wrong" would bring more and is wrong.
    assert!(
        (found.claim.predicted - 2.772).abs() < 1e-9,
        "{} {:?}",
        winner.genome,
        found.claim
    );
    assert!(found.claim.claimed < found.claim.predicted);
    assert!(found.proof.full.is_some() && found.proof.held_out.is_some());
    let failed = database
        .list(&Filter {
            stage: Some(Stage::Limits),
            ..Filter::default()
        })
        .unwrap();
    assert!(!failed.is_empty(), "failed attempts are recorded too");
}

#[test]
fn where_nothing_helps_there_is_no_improvement() {
    let (_folder, mut database) = database();
    let session = start(&mut database, 1);
    let fake = Fake {
        hopeless: true,
        ..Fake::default()
    };
    let found = search(
        &fake,
        &mut database,
        session,
        None,
        &options(1, 100),
        &|| false,
    );
    assert!(
        !found.decision.kept && found.winner.is_none(),
        "{:?}",
        found.decision
    );
}

#[test]
fn equal_seeds_have_equal_traces_wherever_they_were_stopped() {
    let (_folder, mut database) = database();
    let space = space();
    let whole = start(&mut database, 7);
    let options = options(7, 120);
    search(
        &Fake::default(),
        &mut database,
        whole,
        Some(&space),
        &options,
        &|| false,
    );
    let expected = database.trace(whole).unwrap();
    assert_eq!(expected.lines().count(), 120);
    for cut in [1, 3, 10, 29] {
        // A database of its own: nothing comes from the cache.
        let (_folder, mut database) = self::database();
        let session = start(&mut database, 7);
        let calls = AtomicUsize::new(0);
        let stop = || calls.fetch_add(1, Ordering::SeqCst) >= cut;
        let first = search(
            &Fake::default(),
            &mut database,
            session,
            Some(&space),
            &options,
            &stop,
        );
        assert!(first.stopped && first.attempts < 120);
        assert_eq!(database.unfinished("key 7").unwrap(), Some(session));
        let before = database.trace(session).unwrap();
        assert!(expected.starts_with(before.lines().next().unwrap()));
        search(
            &Fake::default(),
            &mut database,
            session,
            Some(&space),
            &options,
            &|| false,
        );
        assert_eq!(
            database.trace(session).unwrap(),
            expected,
            "stopped after {cut}"
        );
        assert_eq!(database.unfinished("key 7").unwrap(), None);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let traces = [1, 3].map(|threads| {
        let (_folder, mut database) = database();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let session = start(&mut database, 3);
        pool.install(|| {
            search(
                &Fake::default(),
                &mut database,
                session,
                None,
                &options(3, 80),
                &|| false,
            );
        });
        database.trace(session).unwrap()
    });
    assert_eq!(traces[0], traces[1]);
}

#[test]
fn another_session_predicts_nothing_again() {
    let (_folder, mut database) = database();
    let first = start(&mut database, 5);
    let fake = Fake::default();
    search(&fake, &mut database, first, None, &options(5, 60), &|| {
        false
    });
    let predicted = fake.predicted.load(Ordering::SeqCst);
    let second = start(&mut database, 5);
    search(&fake, &mut database, second, None, &options(5, 60), &|| {
        false
    });
    assert_eq!(fake.predicted.load(Ordering::SeqCst), predicted);
    assert_eq!(
        database.trace(first).unwrap(),
        database.trace(second).unwrap()
    );
}

#[test]
fn equal_programs_are_told_apart_from_better_ones() {
    let (_folder, mut database) = database();
    let session = start(&mut database, 2);
    let fake = Fake {
        hopeless: true,
        ..Fake::default()
    };
    search(
        &fake,
        &mut database,
        session,
        None,
        &options(2, 60),
        &|| false,
    );
    let all = database.list(&Filter::default()).unwrap();
    let programs: Vec<_> = all
        .iter()
        .filter(|listed| matches!(listed.attempt.outcome, Outcome::Timed(_)))
        .map(|listed| listed.attempt.program.clone())
        .collect();
    let distinct: std::collections::BTreeSet<_> = programs.iter().collect();
    assert_eq!(programs.len(), distinct.len());
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    std::fs::write(
        &path,
        "something else entirely, and long enough to be looked at",
    )
    .unwrap();
    let error = Database::open(&path).unwrap_err();
    assert!(
        error.to_string().contains("no database of attempts"),
        "{error}"
    );
    assert!(Database::open_to_read(folder.path().join("none.db")).is_err());
    assert!(Database::open(folder.path()).is_err());
}
