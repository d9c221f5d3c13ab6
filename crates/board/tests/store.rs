//! Boards that are none, too new, too old, locked or not to be written; and many writers at once.

mod common;

use assay_board::{Board, Error, Filter, Standing};
use common::{mac, outcome, times};
use rusqlite::Connection;
use std::path::PathBuf;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    (folder, path)
}

#[test]
fn what_is_no_board_is_said_so_and_left_alone() {
    let (_folder, path) = folder();
    assert!(matches!(
        Board::open_to_read(&path),
        Err(Error::Absent { .. })
    ));
    std::fs::write(&path, "kernel,time\nrelu,1\n".repeat(100)).unwrap();
    let before = std::fs::read(&path).unwrap();
    for opened in [Board::open(&path), Board::open_to_read(&path)] {
        let error = opened.unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("this is no board: the file is not a database"),
            "{error}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE songs (title TEXT)")
        .unwrap();
    let error = Board::open(&path).unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert!(matches!(
        Board::open(path.parent().unwrap()),
        Err(Error::NotABoard { .. })
    ));
}

#[test]
fn a_newer_board_is_not_touched() {
    let (_folder, path) = folder();
    drop(Board::open(&path).unwrap());
    let board = Connection::open(&path).unwrap();
    board.pragma_update(None, "user_version", 99).unwrap();
    for opened in [Board::open(&path), Board::open_to_read(&path)] {
        let error = opened.unwrap_err();
        assert!(matches!(error, Error::Newer { found: 99, .. }), "{error}");
    }
}

#[test]
fn an_older_board_is_brought_to_the_newest_form_with_all_it_holds() {
    let (_folder, path) = folder();
    let mut board = Board::open(&path).unwrap();
    let run = outcome("relu", "text", times(1, 2.0), mac());
    board.record(&run).unwrap();
    drop(board);
    let older = Connection::open(&path).unwrap();
    older
        .execute_batch(
            "DROP INDEX run_of_job;
             ALTER TABLE run DROP COLUMN job;
             DROP TABLE claim;
             DROP TABLE modelled;
             ALTER TABLE run DROP COLUMN description;
             ALTER TABLE run DROP COLUMN compared;
             ALTER TABLE run DROP COLUMN elements;
             ALTER TABLE record DROP COLUMN old_time;
             ALTER TABLE record DROP COLUMN new_time;
             PRAGMA user_version = 1",
        )
        .unwrap();
    drop(older);
    let board = Board::open_to_read(&path).unwrap();
    assert_eq!(board.entries(&Filter::default()).unwrap().len(), 1);
    let form: i64 = Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(form, 5);
}

#[test]
fn a_damaged_board_is_an_error_and_no_panic() {
    let (_folder, path) = folder();
    let mut board = Board::open(&path).unwrap();
    for seed in 0..20 {
        let run = outcome("relu", &format!("text {seed}"), times(seed, 2.0), mac());
        board.record(&run).unwrap();
    }
    drop(board);
    let whole = std::fs::read(&path).unwrap();
    let mut failed = 0;
    for place in (100..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        for byte in bytes.iter_mut().skip(place).take(16) {
            *byte ^= 0xa5;
        }
        std::fs::write(&path, &bytes).unwrap();
        let filter = Filter {
            all: true,
            with_sources: true,
            ..Filter::default()
        };
        let read = Board::open_to_read(&path).and_then(|board| board.entries(&filter));
        failed += usize::from(read.is_err());
    }
    assert!(failed > 0, "some damage is seen");
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let read = Board::open_to_read(&path).and_then(|board| board.entries(&Filter::default()));
    assert!(matches!(read, Err(Error::Damaged { .. })), "{read:?}");
}

#[test]
fn a_board_may_be_made_by_many_at_once() {
    for round in 0..40 {
        let fresh = common::Fresh::new();
        if !fresh.is_file() && round > 4 {
            break;
        }
        let path = fresh.path();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for opener in 0..8 {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    // Not all at one moment, so that some come upon half-made tables.
                    std::thread::sleep(std::time::Duration::from_micros(opener * round * 10));
                    let board = Board::open(path).unwrap();
                    assert_eq!(board.runs().unwrap(), 0);
                });
            }
        });
    }
}

#[test]
fn many_writers_lose_nothing() {
    let fresh = common::Fresh::new();
    let path = fresh.path();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                // Opening is part of it: all of them find no file.
                let mut board = Board::open(path).unwrap();
                for run in 0..10 {
                    let text = format!("source {}", run % 3);
                    let run = outcome("relu", &text, times(writer * 100 + run, 2.0), mac());
                    board.record(&run).unwrap();
                }
            });
        }
    });
    let board = Board::open_to_read(&path).unwrap();
    assert_eq!(board.runs().unwrap(), 80);
    let everyone = Filter {
        all: true,
        ..Filter::default()
    };
    let entries = board.entries(&everyone).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.runs).sum::<u64>(), 80);
    assert_eq!(entries.iter().filter(|entry| entry.record).count(), 1);
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    let (_folder, path) = folder();
    let mut board = Board::open(&path).unwrap();
    let run = outcome("relu", "text", times(1, 2.0), mac());
    assert_eq!(board.record(&run).unwrap().standing, Standing::First);
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM record")
        .unwrap();
    let reader = Board::open_to_read(&path).unwrap();
    assert_eq!(reader.entries(&Filter::default()).unwrap().len(), 1);
}

/// Everyone has raced the same holder and beaten it; one of them was first, and the others raced somebody who no longer
/// holds the record.
#[test]
fn a_record_is_beaten_once_by_many_at_the_same_time() {
    let fresh = common::Fresh::new();
    let path = fresh.path();
    let run = outcome("relu", "old", times(1, 2.0), mac());
    fresh.open().record(&run).unwrap();
    let start = std::sync::Barrier::new(6);
    let standings: Vec<Standing> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|writer| {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    let mut board = Board::open(path).unwrap();
                    let text = format!("new {writer}");
                    let run = common::challenge("relu", &text, "old", writer * 10_000, 1.4, mac());
                    start.wait();
                    board.record(&run).unwrap().standing
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    let records = standings
        .iter()
        .filter(|one| matches!(one, Standing::Record(_)));
    assert_eq!(records.count(), 1, "{standings:?}");
    let unraced = standings.iter().filter(|one| **one == Standing::Unraced);
    assert_eq!(unraced.count(), 5, "{standings:?}");
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_server_needs_the_feature() {
    let error = Board::open("postgres://me:secret@127.0.0.1:1/board").unwrap_err();
    assert!(matches!(error, Error::NoPostgres { .. }));
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_server_that_does_not_answer_is_named_without_its_password() {
    let error = Board::open("postgres://me:secret@127.0.0.1:1/board").unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = Board::open("postgres://me@host:none/board").unwrap_err();
    assert!(matches!(error, Error::Database { .. }), "{error}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_server_keeps_forms_and_roles() {
    let Some(address) = common::database() else {
        return;
    };
    drop(Board::open(&address).unwrap());
    let mut client = postgres::Client::connect(&address, postgres::NoTls).unwrap();
    // An older form is brought to the newest, with all it holds.
    let mut board = Board::open(&address).unwrap();
    board
        .record(&outcome("relu", "text", times(1, 2.0), mac()))
        .unwrap();
    client
        .batch_execute(
            "SET search_path TO assay; DROP INDEX run_of_job; ALTER TABLE run DROP COLUMN job;
             DROP TABLE modelled; UPDATE board SET form = 3",
        )
        .unwrap();
    let reader = Board::open_to_read(&address).unwrap();
    assert_eq!(reader.entries(&Filter::default()).unwrap().len(), 1);
    let form: i64 = client
        .query_one("SELECT form FROM assay.board", &[])
        .unwrap()
        .get(0);
    assert_eq!(form, 5);
    // Who only reads writes nothing.
    let mut reader = Board::open_to_read(&address).unwrap();
    let refused = reader
        .record(&outcome("relu", "more", times(2, 2.0), mac()))
        .unwrap_err();
    assert!(matches!(refused, Error::ReadOnly { .. }), "{refused}");
    // The server ends the connection: the next use makes another.
    client
        .batch_execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND datname = current_database()",
        )
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(board.runs().unwrap(), 1);
    // A newer one is not touched.
    client
        .batch_execute("UPDATE assay.board SET form = 99")
        .unwrap();
    let error = Board::open(&address).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 99, .. }), "{error}");
}
