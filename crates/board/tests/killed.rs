//! Writers that are killed: what was written stays, what was not is not there in part.
//!
//! The test starts itself as the writers. A writer says each run's number once the board has taken it. `ROUNDS=200` kills
//! more of them.

mod common;

use assay_board::{Board, Filter};
use common::{mac, outcome, times};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const BOARD: &str = "BOARD_OF_A_WRITER";

/// Writes until it is killed; does nothing in the test run itself.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(BOARD) else {
        return;
    };
    let mut board = Board::open(path).expect("a board");
    for number in 0u64.. {
        let text = format!("source {} of {}", number % 5, std::process::id());
        let run = outcome("relu", &text, times(number, 2.0), mac());
        let recorded = board.record(&run).expect("recorded");
        let mut out = std::io::stdout();
        writeln!(out, "run {}", recorded.run).expect("said");
        out.flush().expect("said");
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_was_told_is_written() {
    let fresh = common::Fresh::new();
    let path = fresh.path();
    let mut said = Vec::new();
    let rounds = std::env::var("ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    for round in 0..rounds.unwrap_or(6u64) {
        let start = || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "writer", "--nocapture"])
                .env(BOARD, &path)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut writers = [start(), start()];
        // At times that have nothing to do with what the writers are at.
        std::thread::sleep(Duration::from_millis(150 + 37 * round % 211));
        for writer in &mut writers {
            // SIGKILL: no handler runs, nothing is tidied up.
            writer.kill().unwrap();
        }
        for mut writer in writers {
            let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
            let lines = lines.map_while(Result::ok);
            said.extend(lines.filter_map(|line| line.strip_prefix("run ")?.parse::<i64>().ok()));
            writer.wait().unwrap();
        }
    }
    assert!(said.len() > 20, "the writers wrote: {}", said.len());
    let distinct: std::collections::BTreeSet<i64> = said.iter().copied().collect();
    assert_eq!(distinct.len(), said.len(), "a run was taken twice");
    if fresh.is_file() {
        look_into_file(&path, &said);
    }
    let board = Board::open_to_read(&path).unwrap();
    let everyone = Filter {
        all: true,
        with_sources: true,
        ..Filter::default()
    };
    let entries = board.entries(&everyone).unwrap();
    let runs: u64 = entries.iter().map(|entry| entry.runs).sum();
    assert_eq!(runs, board.runs().unwrap());
    assert!(
        runs >= said.len() as u64,
        "{runs} runs, {} said",
        said.len()
    );
    assert_eq!(entries.iter().filter(|entry| entry.record).count(), 1);
}

fn look_into_file(path: &std::path::Path, said: &[i64]) {
    let database = rusqlite::Connection::open(path).unwrap();
    let sound: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
    for run in said {
        let samples: Vec<u8> = database
            .query_row("SELECT samples FROM run WHERE id = ?1", [run], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(samples.len(), 40 * 8);
    }
}
