//! The kernels that `assay tune` is judged by (`examples/tuning`): they are there, they are right, and some of them are tuned.
//!
//! All of them are tuned by `scripts/tuning.py`, which takes its time.

use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tuning")
}

fn assay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .output()
        .expect("assay runs")
}

/// Returns true if a clang is there, and says so otherwise.
fn has_clang() -> bool {
    let found = compiles();
    if !found {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found
}

fn compiles() -> bool {
    let any = folder().join("expert/argmax.metal");
    let output = assay(&["compile", &any.to_string_lossy(), "-o", "-"]);
    output.status.code() != Some(4)
}

fn lines(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(file)).expect("a file");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Names of the Metal files of a folder, without their ending.
fn sources(of: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder().join(of)).expect("a folder");
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let names = names.filter_map(|name| name.strip_suffix(".metal").map(str::to_owned));
    names.collect()
}

/// Patterns, with flags of the sizes at which they are compared.
fn patterns() -> Vec<(String, Vec<String>)> {
    let split = |line: String| {
        let (name, sizes) = line.split_once(" | ").expect("a name and sizes");
        let flags = sizes.split(' ').flat_map(|size| ["--size", size]);
        (name.to_owned(), flags.map(str::to_owned).collect())
    };
    lines("patterns.txt").into_iter().map(split).collect()
}

#[test]
fn there_are_one_hundred_and_twenty_and_an_expert_for_each_pattern() {
    let patterns: BTreeSet<String> = patterns().into_iter().map(|(name, _)| name).collect();
    assert_eq!(patterns.len(), 12);
    assert_eq!(sources("expert"), patterns);
    let naive = sources("naive");
    for pattern in &patterns {
        let own = format!("{pattern}.");
        let spellings = naive.iter().filter(|name| name.starts_with(&own)).count();
        assert_eq!(spellings, 5, "{pattern}");
    }
    assert_eq!(naive.len(), 60);
    assert_eq!(sources("cooperative").len(), 30);
    let good = lines("good.txt");
    assert_eq!(good.iter().collect::<BTreeSet<_>>().len(), 30);
    for line in good {
        let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/kernels");
        let places = ["common", "standard", "full"].map(|group| registry.join(group).join(&line));
        let known = folder().join(&line).exists() || places.iter().any(|place| place.exists());
        assert!(known, "{line}");
    }
}

#[test]
fn every_spelling_leaves_what_the_expert_leaves() {
    if !has_clang() {
        return;
    }
    let mut pairs = Vec::new();
    for (pattern, sizes) in patterns() {
        let expert = folder().join(format!("expert/{pattern}.metal"));
        for spelling in sources("naive") {
            if spelling.starts_with(&format!("{pattern}.")) {
                let own = folder().join(format!("naive/{spelling}.metal"));
                pairs.push((own, expert.clone(), sizes.clone()));
            }
        }
    }
    let wrong: Vec<String> = pairs
        .par_iter()
        .filter_map(|(own, expert, sizes)| {
            let (own, expert) = (own.to_string_lossy(), expert.to_string_lossy());
            let mut line = vec!["run", &*own, "--against", &*expert];
            line.extend(sizes.iter().map(String::as_str));
            let output = assay(&line);
            let said = || format!("{own}\n{}", String::from_utf8_lossy(&output.stdout));
            (!output.status.success()).then(said)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kernels_to_tune_have_no_faults() {
    if !has_clang() {
        return;
    }
    let mut all = Vec::new();
    for (pattern, sizes) in patterns() {
        all.push((format!("expert/{pattern}.metal"), sizes));
    }
    for name in sources("cooperative") {
        all.push((format!("cooperative/{name}.metal"), Vec::new()));
    }
    let faulty: Vec<String> = all
        .par_iter()
        .filter_map(|(file, sizes)| {
            let path = folder().join(file);
            let path = path.to_string_lossy();
            let mut line = vec!["run", &*path, "--check"];
            line.extend(sizes.iter().map(String::as_str));
            let output = assay(&line);
            let said = || format!("{file}\n{}", String::from_utf8_lossy(&output.stdout));
            (!output.status.success()).then(said)
        })
        .collect();
    assert!(faulty.is_empty(), "{}", faulty.join("\n"));
}

/// Spellings that one step answers, at sizes that make a search short, and what it claims at least.
const SAMPLE: [(&str, &str, f64); 5] = [
    ("column_sum.pointer", "R=512 C=128", 1.5),
    ("argmax.ternary", "R=128 C=256", 1.5),
    ("argmax.backwards", "R=128 C=256", 1.5),
    ("logsumexp.pointer", "R=128 C=256", 1.5),
    ("softmax.backwards", "R=128 C=256", 1.5),
];

#[test]
fn a_sample_of_spellings_is_made_fast() {
    if !has_clang() {
        return;
    }
    let attempts = tempfile::tempdir().expect("a folder");
    let slow: Vec<String> = SAMPLE
        .par_iter()
        .filter_map(|(spelling, sizes, gain)| {
            let path = folder().join(format!("naive/{spelling}.metal"));
            let path = path.to_string_lossy();
            let database = attempts.path().join(format!("{spelling}.db"));
            let database = database.to_string_lossy();
            let mut line = vec!["tune", &*path, "--attempts", &*database];
            line.extend([
                "--evaluations",
                "12",
                "--only",
                "recipes",
                "--format",
                "json",
            ]);
            line.extend(sizes.split(' ').flat_map(|size| ["--size", size]));
            let output = assay(&line);
            let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let claimed = report["claimed_gain"].as_f64().unwrap_or_default();
            let fast = report["improved"] == true && claimed >= *gain;
            (!fast).then(|| format!("{spelling}: {}", report["reason"]))
        })
        .collect();
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
