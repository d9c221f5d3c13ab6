//! File tests: machine instructions over virtual registers, and the code they become.
//! `BLESS=1` rewrites what is expected. The first line says how many half registers
//! there are.

use crate::common::{compile, listing};
use std::path::Path;

const SEPARATOR: &str = "----\n";

#[test]
fn files_become_the_code_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/back");
    let bless = std::env::var_os("BLESS").is_some();
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let limit = input.lines().next().unwrap_or_default();
        let limit = limit.trim_start_matches("; registers ").trim().parse();
        let program = compile(input, limit.unwrap());
        let found = format!(
            "{}; {} half registers, {} bytes of stack\n",
            listing(&program),
            program.half_registers.unwrap(),
            program.scratch_bytes.unwrap_or(0)
        );
        if bless {
            std::fs::write(&path, format!("{input}{SEPARATOR}{found}")).unwrap();
        } else {
            assert_eq!(found, expected, "{}", path.display());
        }
    }
}
