//! The C interface as its users meet it: the header declares exactly what the library
//! exports, and programs in C, C++ and Python build against it and run.
#![allow(clippy::print_stderr)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program links beside the static library.
const FRAMEWORKS: &[&str] = match cfg!(target_os = "macos") {
    true => &["-framework", "Metal", "-framework", "Foundation", "-lobjc"],
    false => &[],
};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Words starting with `assay_timing_` that are followed by `(`.
fn called_names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("assay_timing_") {
        let name: String = text[at..]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if text[at + name.len()..].starts_with('(') {
            names.insert(name);
        }
    }
    names
}

#[test]
fn header_and_library_declare_the_same_functions() {
    let read = |path: &str| std::fs::read_to_string(Path::new(CRATE).join(path)).unwrap();
    let source = read("src/capi.rs");
    let exported: BTreeSet<String> = source
        .split("extern \"C\" fn ")
        .skip(1)
        .map(|rest| rest.split('(').next().unwrap_or_default().to_owned())
        .collect();
    assert!(exported.len() >= 15);
    assert_eq!(called_names(&read("include/assay_timing.h")), exported);
    assert_eq!(
        called_names(&read("tests/c/smoke.c")),
        exported,
        "the C test calls them all"
    );
}

/// Builds the library as a user does, in a folder of its own.
fn build_library() -> PathBuf {
    let target = Path::new(CRATE).join("../../target/capi");
    let status = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--features", "capi"])
        .args(["--crate-type", "staticlib,cdylib", "--target-dir"])
        .arg(&target)
        .current_dir(CRATE)
        .status()
        .unwrap();
    assert!(status.success(), "the library builds");
    target.join("debug")
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: this machine has no {program}");
    }
    found
}

#[test]
fn programs_in_c_cpp_and_python_use_the_library() {
    if !has("cc") {
        return;
    }
    let library = build_library();
    let program = library.join("smoke");
    let status = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-I",
        ])
        .arg(Path::new(CRATE).join("include"))
        .arg(Path::new(CRATE).join("tests/c/smoke.c"))
        .arg(library.join("libassay_timing.a"))
        .args(["-lpthread", "-ldl", "-lm"])
        .args(FRAMEWORKS)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success(), "the C program builds");
    let output = Command::new(&program).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(stdout.contains("attention"), "{stdout}");

    if has("c++") {
        let status = Command::new("c++")
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"])
            .arg(Path::new(CRATE).join("include/assay_timing.h"))
            .status()
            .unwrap();
        assert!(status.success(), "the header is C++ too");
    }
    if has("python3") {
        python(&library);
    }
}

/// The lines of the README, more or less.
fn python(library: &Path) {
    let name = if cfg!(target_os = "macos") {
        "libassay_timing.dylib"
    } else {
        "libassay_timing.so"
    };
    let script = format!(
        r#"
import ctypes
timing = ctypes.CDLL({:?})
timing.assay_timing_record.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
timing.assay_timing_report.restype = ctypes.c_void_p
timing.assay_timing_free.argtypes = [ctypes.c_void_p]
timing.assay_timing_record(b"decode", 1500000)
text = timing.assay_timing_report(0)
print(ctypes.string_at(text).decode())
timing.assay_timing_free(text)
"#,
        library.join(name)
    );
    let output = Command::new("python3")
        .args(["-c", &script])
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        stdout.starts_with("[CB_PROFILE] total=1.50 ms across 1 labels"),
        "{stdout}"
    );
}
