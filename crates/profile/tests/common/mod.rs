//! Fixtures: listings as `offset ⇥ hex ⇥ …`, statistics as JSON beside them.
#![allow(dead_code, reason = "each test uses its part")]

use assay_agx::{Isa, Program, UniformConstants};
use std::path::PathBuf;

pub(crate) fn fixtures() -> PathBuf {
    assay_fixtures::path("agx")
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

pub(crate) fn mesa_case(name: &str) -> Case {
    let folder = fixtures().join("mesa");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("statistics");
    let facts: serde_json::Value = serde_json::from_str(&text).expect("JSON");
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
    Case {
        name: name.to_owned(),
        program,
        facts,
    }
}

pub(crate) fn mesa_cases() -> Vec<Case> {
    let folder = fixtures();
    let mut names: Vec<String> = std::fs::read_dir(folder.join("mesa"))
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect();
    names.sort();
    names.iter().map(|name| mesa_case(name)).collect()
}

pub(crate) fn apple(name: &str) -> Vec<u8> {
    listing(&fixtures().join("apple").join(format!("{name}.tsv")))
}
