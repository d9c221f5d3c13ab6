//! `assay compile`: from source to bitcode, and what is said when that fails.
//!
//! Tests that need a clang say so and pass when `assay doctor` finds none.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command
        .env(
            "ASSAY_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .env("NO_COLOR", "1");
    command
}

fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().expect("assay runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has_clang() -> bool {
    let found = run(&["doctor"]).status.code() == Some(0);
    if !found {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found
}

const GOOD: &str = "#include <metal_stdlib>
using namespace metal;
kernel void twice(device float* x [[buffer(0)]], constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < n) x[i] *= FACTOR;
}
";

#[test]
fn a_source_becomes_bitcode_and_its_kernels_are_listed() {
    if !has_clang() {
        return;
    }
    let place = Place::new();
    let source = place.file("twice.metal", GOOD);
    let source = source.to_str().expect("a name");
    let out = place.folder.path().join("twice.bc");
    let output = run(&[
        "compile",
        source,
        "-D",
        "FACTOR=2",
        "-o",
        out.to_str().expect("a name"),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        std::fs::read(&out)
            .expect("bitcode")
            .starts_with(b"BC\xc0\xde")
    );
    let listed = run(&["compile", source, "-DFACTOR=2"]);
    assert_eq!(
        text(&listed.stdout),
        "kernel  arguments\ntwice   b0: float* x, b2: uint& n\n"
    );
    let json = text(&run(&["compile", source, "-DFACTOR=2", "--format", "json"]).stdout);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json["files"][0]["kernels"][0]["arguments"][2]["kind"],
        "thread_position_in_grid"
    );
}

/// Same source, same bytes, whatever the folder it is compiled in and where headers are kept.
#[test]
fn the_bitcode_does_not_tell_where_it_was_made() {
    if !has_clang() {
        return;
    }
    let made = || {
        let place = Place::new();
        place.file(
            "k/twice.metal",
            &GOOD.replace("<metal_stdlib>\n", "<metal_stdlib>\n#include \"mine.h\"\n"),
        );
        place.file("k/mine.h", "#define FACTOR metal::exp(x[i])\n");
        let mut compile = command();
        compile.args(["compile", "k/twice.metal", "-o", "k.bc"]);
        compile
            .current_dir(place.folder.path())
            .env("ASSAY_CACHE", place.folder.path().join("c"));
        let output = compile.output().expect("assay runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        std::fs::read(place.folder.path().join("k.bc")).expect("bitcode")
    };
    assert!(made() == made());
}

#[test]
fn fast_math_is_on_unless_told_otherwise() {
    if !has_clang() {
        return;
    }
    let place = Place::new();
    let source = place.file(
        "e.metal",
        "kernel void e(device float* x) { x[0] = metal::exp(x[1]); }",
    );
    let source = source.to_str().expect("a name");
    let fast = text(&run(&["compile", source, "--emit", "llvm", "-o", "-"]).stdout);
    let precise = text(
        &run(&[
            "compile",
            source,
            "-fno-fast-math",
            "--emit",
            "llvm",
            "-o",
            "-",
        ])
        .stdout,
    );
    assert!(fast.contains("@air.fast_exp.f32("), "{fast}");
    assert!(precise.contains("@air.exp.f32("), "{precise}");
    assert!(precise.contains("fast_math\\090"), "{precise}");
}

#[test]
fn an_error_is_shown_at_the_users_line_and_column() {
    if !has_clang() {
        return;
    }
    let place = Place::new();
    let path = place.file("bad.metal", &GOOD.replace("FACTOR", "unknown"));
    let source = path.to_str().expect("a name");
    let output = run(&["compile", source]);
    assert_eq!(output.status.code(), Some(3));
    let shown = text(&output.stderr).replace(source, "bad.metal");
    assert_eq!(
        shown,
        "error: bad.metal has 1 error\n\n\
         bad.metal:4:22: use of undeclared identifier 'unknown'\n \
         4 |   if (i < n) x[i] *= unknown;\n   |                      ^\n"
    );
    let json = text(&run(&["compile", source, "--format", "json"]).stdout);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let error = &json["error"]["details"]["errors"][0];
    assert_eq!(
        (error["line"].as_u64(), error["column"].as_u64()),
        (Some(4), Some(22))
    );
}

#[test]
fn missing_headers_and_kernels_come_with_advice() {
    if !has_clang() {
        return;
    }
    let place = Place::new();
    let path = place.file(
        "inc.metal",
        "#include \"mine.h\"\nkernel void softmax_f32(device float* x) { x[0] = MINE; }\n",
    );
    place.file("headers/mine.h", "#define MINE 3\n");
    let source = path.to_str().expect("a name");
    let output = run(&["compile", source]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("help: name the folder of mine.h with -I"),
        "{}",
        text(&output.stderr)
    );
    let headers = place.folder.path().join("headers");
    let headers = headers.to_str().expect("a name");
    let output = run(&["compile", source, "-I", headers, "--function", "sofmax_f32"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        format!(
            "error: {source} has no kernel named sofmax_f32\nhelp: it has one kernel: softmax_f32\n"
        )
    );
}

#[test]
fn a_folder_becomes_a_table_and_failures_exit_with_one() {
    if !has_clang() {
        return;
    }
    let place = Place::new();
    place.file("k/a.metal", "kernel void a(device float* x) { x[0] = 1; }");
    place.file(
        "k/deep/b.metal",
        "kernel void b(device float* x) { x[0] = y; }",
    );
    let folder = place.folder.path().join("k");
    let output = run(&["compile", folder.to_str().expect("a name")]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("a.metal") && shown.contains("line 1: use of undeclared identifier 'y'"),
        "{shown}"
    );
    assert!(
        shown.contains("1 of 2 files compiled, 1 kernels"),
        "{shown}"
    );
}

#[test]
fn no_usable_clang_is_exit_code_four_with_the_reason() {
    let place = Place::new();
    let path = place.file("a.metal", "");
    let source = path.to_str().expect("a name");
    let output = command()
        .args(["compile", source])
        .env("ASSAY_CLANG", "/nonexistent/clang")
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stderr).contains("ASSAY_CLANG: /nonexistent/clang does not run"),
        "{}",
        text(&output.stderr)
    );
    let empty = tempfile::tempdir().expect("a folder");
    let output = command()
        .args(["compile", source])
        .env("PATH", empty.path())
        .env_remove("ASSAY_CLANG")
        .output()
        .expect("assay runs");
    if !Path::new("/Library/Developer/CommandLineTools").exists() {
        assert_eq!(output.status.code(), Some(4));
        assert!(
            text(&output.stderr).contains("help: install clang 17 or newer"),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn unreadable_sources_and_standards_are_refused() {
    if !has_clang() {
        return;
    }
    assert_eq!(
        run(&["compile", "/nonexistent.metal"]).status.code(),
        Some(3)
    );
    let output = run(&["compile", "x.metal", "--std", "metal9.9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("metal3.2"),
        "{}",
        text(&output.stderr)
    );
}
