//! `assay ir` from the outside.

use assay_container::builder::MetallibBuilder;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../air/tests/fixtures")
        .join(name)
}

fn ir(path: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("ir")
        .arg(path)
        .args(arguments)
        .output()
        .expect("assay runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A metallib with the kernel `multiply` in Apple's dialect.
fn metallib(folder: &Path) -> PathBuf {
    let bitcode = std::fs::read(fixture("apple.bc")).expect("the fixture");
    let path = folder.join("apple.metallib");
    let bytes = MetallibBuilder::new()
        .kernel("multiply", &bitcode)
        .kernel("rest", &bitcode)
        .build();
    std::fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn one_kernel_of_bitcode_is_printed() {
    let output = ir(&fixture("clang-19.bc"), &["-f", "saxpy"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("kernel \"saxpy\" f0 max_threads 256"),
        "{text}"
    );
    assert!(text.contains("call thread_position_in_grid()"), "{text}");
    assert!(!text.contains("row_sum"), "{text}");
    let unoptimised = stdout(&ir(&fixture("clang-19.bc"), &["-f", "saxpy", "--no-opt"]));
    assert!(
        unoptimised.contains("switch") && !text.contains("switch"),
        "{unoptimised}"
    );
}

#[test]
fn a_metallib_is_read_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = ir(&metallib(folder.path()), &["-f", "multiply"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("matrix.f32 = call simdgroup_matrix_8x8_multiply_accumulate"));
}

#[test]
fn standard_input_is_read() {
    let file = std::fs::File::open(fixture("clang-22.bc")).expect("the fixture");
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["ir", "-", "-f", "matmul8", "--no-opt", "--format", "json"])
        .stdin(Stdio::from(file))
        .output()
        .expect("assay runs");
    let document = json(&output);
    assert_eq!(document["schema"]["name"], "assay.ir");
    let kernel = &document["kernels"][0];
    assert_eq!(kernel["name"], "matmul8");
    assert_eq!(kernel["arguments"][2]["access"], "write");
    assert_eq!(kernel["statistics"]["matrix_operations"], 4);
    assert!(kernel["text"].as_str().expect("text").contains("matmul8"));
}

#[test]
fn a_kernel_that_does_not_exist_brings_the_nearest() {
    let output = ir(&fixture("clang-19.bc"), &["-f", "saxpi"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("has no kernel named saxpi"), "{text}");
    assert!(
        text.contains("it has 4 kernels, nearest first: saxpy, "),
        "{text}"
    );
}

#[test]
fn function_constants_are_given_by_number_or_name() {
    let path = fixture("apple.bc");
    let open = stdout(&ir(&path, &["-f", "rest"]));
    assert!(open.contains("i8 c0") && open.contains("i32 c1"), "{open}");
    let arguments = [
        "-f",
        "rest",
        "--const",
        "3=bool:true",
        "--const",
        "limit=int:21",
        "--no-opt",
    ];
    let given = stdout(&ir(&path, &arguments));
    assert!(
        !given.contains("i8 c0")
            && given.contains(r#""limit" constant i32 align 4 bytes "2a000000""#),
        "{given}"
    );

    let unknown = ir(&path, &["-f", "rest", "--const", "9=bool:true"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).contains("there are 3 has_bias, 7 limit"),
        "{}",
        stderr(&unknown)
    );
    let wrong = ir(&path, &["-f", "rest", "--const", "limit=float:1"]);
    assert_eq!(wrong.status.code(), Some(3), "{}", stderr(&wrong));
    let nonsense = ir(&path, &["--const", "limit=1"]);
    assert_eq!(nonsense.status.code(), Some(2));
}

#[test]
fn a_summary_counts_all_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = metallib(folder.path());
    let output = ir(&path, &["--stats", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!(document["kernels"], 2);
    assert_eq!(document["verified"], 2);
    assert_eq!(document["unknown_builtins"]["air.something_new.i32"], 1);
    let text = stdout(&ir(&path, &["--stats"]));
    assert!(text.contains("air.something_new.i32"), "{text}");
}

#[test]
fn damaged_bitcode_is_bad_input_with_an_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bitcode = std::fs::read(fixture("clang-19.bc")).expect("the fixture");
    bitcode.truncate(bitcode.len() / 2);
    let path = folder.path().join("cut.bc");
    std::fs::write(&path, bitcode).expect("written");
    let output = ir(&path, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let message = json(&output)["error"]["message"]
        .as_str()
        .expect("a message")
        .to_owned();
    assert!(message.contains("at byte 0x"), "{message}");
}
