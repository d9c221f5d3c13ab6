//! MetalBench's files: read leniently, kept apart, doubted where they deserve it.

mod common;

use assay_board::import::{ImportError, read};
use assay_board::{Board, Claim, Filter};
use common::{mac, outcome, times};
use proptest::prelude::*;

const SESSION: &[u8] = include_bytes!("data/session.json");
const RESULT: &[u8] = include_bytes!("data/result.json");

fn on_a_board(files: &[&[u8]]) -> (common::Fresh, Board) {
    let folder = common::Fresh::new();
    let mut board = folder.open();
    for file in files {
        board
            .import(&read(file).unwrap().claims, 1_700_000_000)
            .unwrap();
    }
    (folder, board)
}

fn claim<'a>(claims: &'a [Claim], kernel: &str) -> &'a Claim {
    claims.iter().find(|claim| claim.kernel == kernel).unwrap()
}

#[test]
fn a_session_is_read_with_numbers_that_are_none() {
    let session = read(SESSION).unwrap();
    assert_eq!((session.claims.len(), session.skipped), (3, 3));
    let odd = claim(&session.claims, "matmul_sub_mul_relu");
    assert_eq!(
        (odd.time_ms, odd.speedup, odd.iterations),
        (Some(0.0), None, None)
    );
    let relu = claim(&session.claims, "relu");
    assert_eq!(relu.device, "apple-m2");
    assert_eq!(relu.taken_at.as_deref(), Some("2026-05-24T00:20:00+00:00"));
    assert_eq!(relu.source_hash.as_ref().map(String::len), Some(32));
}

#[test]
fn claims_carry_what_speaks_against_them() {
    let (_folder, board) = on_a_board(&[SESSION, RESULT]);
    let claims = board.claims(&Filter::default()).unwrap();
    let doubts = |kernel| claim(&claims, kernel).doubts.join("; ");
    assert!(
        doubts("relu").contains("145 GB/s are more than memory's 100"),
        "{}",
        doubts("relu")
    );
    assert!(
        doubts("relu").contains("552 times as fast"),
        "{}",
        doubts("relu")
    );
    assert!(doubts("matmul_sub_mul_relu").contains("a time of 0"));
    assert_eq!(
        doubts("rsqrt"),
        "the program that measured it calls it wrong"
    );
    assert_eq!(doubts("sqr_mm"), "");
}

#[test]
fn importing_twice_is_importing_once() {
    let (_folder, mut board) = on_a_board(&[SESSION]);
    let again = board
        .import(&read(SESSION).unwrap().claims, 1_800_000_000)
        .unwrap();
    assert_eq!((again.new, again.known), (0, 3));
}

#[test]
fn claims_never_stand_among_results() {
    let (_folder, mut board) = on_a_board(&[SESSION, RESULT]);
    let everything = Filter {
        all: true,
        ..Filter::default()
    };
    assert!(board.entries(&everything).unwrap().is_empty());
    let run = outcome("relu", "text", times(1, 2.0), mac());
    let recorded = board.record(&run).unwrap();
    assert_eq!(
        recorded.standing,
        assay_board::Standing::First,
        "a faster claim holds no record"
    );
    let m4 = Filter {
        chips: vec!["m4".to_owned()],
        ..Filter::default()
    };
    assert_eq!(board.claims(&m4).unwrap().len(), 1);
}

#[test]
fn what_is_something_else_says_what_and_where() {
    let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(error(b" \n"), "the file is empty");
    assert_eq!(error(b"\xff\xfe{}"), "byte 0 is not UTF-8: this is no text");
    assert_eq!(
        error(b"{\n \"apple-m2\": {,}}"),
        "line 2, column 15: key must be a string"
    );
    let unknown = "neither MetalBench's session.json nor one of its results: ";
    assert_eq!(error(b"[1]"), format!("{unknown}it is no object"));
    assert_eq!(
        error(b"{}"),
        format!("{unknown}there is no kernel with a time in it")
    );
    assert!(matches!(
        read(b"{\"task\": \"relu\"}"),
        Err(ImportError::Unknown(_))
    ));
    let deep = "[".repeat(100_000);
    assert!(error(deep.as_bytes()).contains("recursion limit"));
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_damage_makes_it_panic(place in 0..SESSION.len(), byte in any::<u8>()) {
        for file in [SESSION, RESULT] {
            let mut bytes = file.to_vec();
            if let Some(old) = bytes.get_mut(place) {
                *old = byte;
            }
            if let Ok(found) = read(&bytes) {
                let folder = tempfile::tempdir().unwrap();
                let mut board = Board::open(folder.path().join("board.db")).unwrap();
                board.import(&found.claims, 0).unwrap();
                prop_assert_eq!(board.claims(&Filter::default()).unwrap().len(), found.claims.len());
            }
        }
    }
}
