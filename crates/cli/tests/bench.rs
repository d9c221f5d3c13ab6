//! `assay bench` as a user meets it.

mod bench_common;

use bench_common::{no_clang, text};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn assay(arguments: &[&str]) -> Output {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-cache");
    bench_common::assay(&kept, arguments)
}

#[test]
fn kernels_are_examined_and_timed() {
    let output = assay(&["relu", "softmax", "--quick", "--seed", "5"]);
    if no_clang(&output) {
        return;
    }
    let shown = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{shown}{}",
        text(&output.stderr)
    );
    assert!(shown.contains("4 right, 0 wrong; seed 5"), "{shown}");
    assert!(shown.contains("They say nothing about a GPU"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn json_holds_every_sample_and_the_hash_of_the_source() {
    let output = assay(&["cumsum", "--quick", "--format", "json"]);
    if no_clang(&output) {
        return;
    }
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["schema"]["name"], "assay.bench");
    let row = &json["kernels"][0];
    assert_eq!(
        (&row["name"], &row["right"]),
        (&"cumsum".into(), &true.into())
    );
    assert_eq!(row["source_hash"].as_str().map(str::len), Some(32));
    assert_eq!(row["time"]["origin"], "host");
    let samples = row["time"]["samples_ms"].as_array().expect("samples");
    assert!(samples.len() >= 5, "{samples:?}");
}

#[test]
fn a_wrong_kernel_is_told_with_the_element_and_exit_code_1() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong_relu.metal");
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void relu_f32(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
        constant uint &n [[buffer(2)]], constant uint &size [[buffer(3)]], uint i [[thread_position_in_grid]]) {\n\
        for (uint e = i; e + 1 < n; e += size) y[e] = max(x[e], 0.0f);\n}\n";
    std::fs::write(&file, source).expect("written");
    let output = assay(&["relu", "--quick", "--source", &file.to_string_lossy()]);
    if no_clang(&output) {
        return;
    }
    let shown = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{shown}{}",
        text(&output.stderr)
    );
    // Long findings are broken between words.
    let words: Vec<&str> = shown.split_whitespace().collect();
    let finding = "1 never written; element 2102";
    assert!(
        shown.contains("WRONG") && words.join(" ").contains(finding),
        "{shown}"
    );
}

#[test]
fn usage_errors_say_what_to_do() {
    let output = assay(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("--list"),
        "{}",
        text(&output.stderr)
    );
    let output = assay(&["sofmax"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("no kernel is called \"sofmax\""),
        "{}",
        text(&output.stderr)
    );
    for (dtype, told) in [
        ("bf16", "there is no bf16 variant"),
        ("f8", "f32, f16 and bf16"),
    ] {
        let output = assay(&["relu", "--dtype", dtype]);
        assert_eq!(output.status.code(), Some(2), "{dtype}");
        assert!(
            text(&output.stderr).contains(told),
            "{}",
            text(&output.stderr)
        );
    }
    let output = assay(&["relu", "--sizes", "huge"]);
    if !no_clang(&output) {
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(
                "there is no size set \"huge\"; there are reference, quick, odd, held_out"
            )
        );
    }
}

#[test]
fn kernels_are_listed_and_described() {
    let first = text(&assay(&["--list"]).stdout);
    assert!(
        first.lines().count() < 24 && first.contains("--full"),
        "{first}"
    );
    let listed = text(&assay(&["--list", "--full"]).stdout);
    assert_eq!(
        listed
            .lines()
            .filter(|line| line.contains(" common "))
            .count(),
        75,
        "{listed}"
    );
    let described = text(&assay(&["batch_mm", "--describe"]).stdout);
    assert!(
        described.contains("batch_matmul_f32(a, b, c, m, n, k)"),
        "{described}"
    );
    assert!(
        described.contains("8 × 2 × 128 groups of 128 × 1 × 1"),
        "{described}"
    );
}
