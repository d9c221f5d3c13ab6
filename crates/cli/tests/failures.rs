//! What commands write as JSON when something is wrong satisfies the schemas under `schemas/` too.

mod bench_common;
#[path = "common/schema.rs"]
mod schema;

use bench_common::scratch;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

/// A folder with kernels that have something wrong with them.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    let relu = |body: &str| {
        format!(
            "{HEAD}kernel void relu_f32(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
             constant uint &n [[buffer(2)]], constant uint &size [[buffer(3)]], uint i [[thread_position_in_grid]]) {{\n{body}\n}}\n"
        )
    };
    let race = format!(
        "{HEAD}kernel void race(device uint *o [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ o[i / 2] = i; }}\n"
    );
    let files = [
        (
            "wrong.metal",
            relu("for (uint e = i; e + 1 < n; e += size) y[e] = max(x[e], 0.0f);"),
        ),
        (
            "outside.metal",
            relu("for (uint e = i; e < n; e += size) y[e + 1000000] = x[e];"),
        ),
        ("unfinished.metal", relu("y[i] = ")),
        ("race.metal", race),
        ("notes.txt", "no code at all\n".to_owned()),
        ("damaged.metallib", "MTLB and nothing more".to_owned()),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("written");
    }
    folder
}

/// Runs a command in a folder. Returns its document and exit code; nothing without a compiler.
fn document(folder: &Path, line: &str) -> Option<(Value, i32)> {
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(line.split_whitespace())
        .args(["--format", "json"])
        .current_dir(folder)
        .env("ASSAY_BOARD", folder.join("board.db"))
        .env("ASSAY_CACHE", folder.join("cache"))
        .env("COLUMNS", "60")
        .output()
        .expect("assay runs");
    if bench_common::no_clang(&output) {
        return None;
    }
    let text = bench_common::text(&output.stdout);
    let document = serde_json::from_str(&text).unwrap_or_else(|error| {
        let said = bench_common::text(&output.stderr);
        panic!("{line}: {error}: {text:?} {said}")
    });
    Some((document, output.status.code().unwrap_or(-1)))
}

/// Runs commands that fail and holds what they write against its schema.
fn check(name: &str, lines: &[(&str, &str, i32)]) {
    let folder = folder(name);
    for &(line, expected, code) in lines {
        let Some((document, exit)) = document(&folder, line) else {
            return;
        };
        let name = document["schema"]["name"].as_str().unwrap_or_default();
        assert_eq!((name, exit), (expected, code), "{line}: {document:#}");
        let faults = schema::faults(name, &document);
        assert!(faults.is_empty(), "{line}: {faults:#?}");
    }
}

#[test]
fn benchmarks_of_wrong_kernels_satisfy_their_schemas() {
    check(
        "failures-bench",
        &[
            (
                "bench relu --quick --dtype f32 --source wrong.metal",
                "assay.bench",
                1,
            ),
            (
                "bench relu --quick --dtype f32 --source outside.metal",
                "assay.bench",
                1,
            ),
            (
                "bench relu --quick --dtype f32 --source unfinished.metal",
                "assay.bench",
                3,
            ),
            ("bench nothing-of-this-name", "assay.error", 2),
            ("board verify relu", "assay.error", 3),
        ],
    );
}

#[test]
fn runs_that_fault_satisfy_their_schemas() {
    let relu = "--grid 64 --threadgroup 64 --buffer 0=iota:f32:64 --buffer 1=zeros:f32:64 \
                --bytes 2=u32:64 --bytes 3=u32:64";
    let outside = format!("run outside.metal {relu}");
    let checked = format!("run outside.metal {relu} --check");
    let race = "run race.metal --grid 64 --threadgroup 64 --buffer 0=zeros:u32:64 --check";
    check(
        "failures-run",
        &[
            (&outside, "assay.error", 1),
            (&checked, "assay.run", 1),
            (race, "assay.run", 1),
            ("run unfinished.metal --grid 1", "assay.error", 3),
            ("run missing.metal --grid 1", "assay.error", 3),
        ],
    );
}

#[test]
fn unreadable_files_satisfy_the_schema_of_errors() {
    check(
        "failures-files",
        &[
            ("inspect notes.txt", "assay.error", 3),
            ("inspect damaged.metallib", "assay.error", 3),
            ("profile notes.txt", "assay.error", 3),
            ("disasm missing.bin", "assay.error", 3),
            ("trace report notes.txt", "assay.error", 3),
            ("ir damaged.metallib", "assay.error", 3),
            ("explain nothing-of-this-name", "assay.error", 2),
            ("chips m99", "assay.error", 2),
        ],
    );
}
