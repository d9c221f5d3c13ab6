//! Fixtures: listings as `offset ⇥ hex ⇥ …`, statistics as JSON beside them.
#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use assay_agx::{Isa, Program, UniformConstants};
use std::path::PathBuf;

pub(crate) fn fixtures() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/fixtures/agx"
    ));
    if !path.is_dir() {
        eprintln!("skipped: no fixtures at {}", path.display());
        return None;
    }
    Some(path)
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .filter_map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

pub(crate) fn listing(path: &PathBuf) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').nth(1))
        .flat_map(unhex)
        .collect()
}

/// A program of the Mesa corpus with its statistics.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) facts: serde_json::Value,
}

impl Case {
    pub(crate) fn stat(&self, name: &str) -> u64 {
        self.facts["stats"][name].as_u64().expect("a statistic")
    }
}

pub(crate) fn mesa_case(name: &str) -> Option<Case> {
    let folder = fixtures()?.join("mesa");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).ok()?;
    let facts: serde_json::Value = serde_json::from_str(&text).ok()?;
    let mut program = Program::new(Isa::G13, name);
    program.code = listing(&folder.join(format!("{name}.tsv")));
    program.constant_program = listing(&folder.join(format!("{name}.preamble.tsv")));
    if let Some(hex) = facts["rodata"]["hex"].as_str() {
        let first_half = facts["rodata"]["base_uniform"].as_u64().unwrap_or(0) as u16;
        let values = unhex(hex)
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        program.constants = vec![UniformConstants { first_half, values }];
    }
    Some(Case {
        name: name.to_owned(),
        program,
        facts,
    })
}

pub(crate) fn mesa_cases() -> Vec<Case> {
    let Some(folder) = fixtures() else {
        return Vec::new();
    };
    let mut names: Vec<String> = std::fs::read_dir(folder.join("mesa"))
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect();
    names.sort();
    let cases: Vec<Case> = names.iter().filter_map(|name| mesa_case(name)).collect();
    assert_eq!(cases.len(), names.len());
    cases
}

pub(crate) fn apple(name: &str) -> Option<Vec<u8>> {
    Some(listing(
        &fixtures()?.join("apple").join(format!("{name}.tsv")),
    ))
}
