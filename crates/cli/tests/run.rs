//! `assay run` from the outside. Bitcode that comes with the project needs no compiler.

#[path = "run/gate.rs"]
mod gate;
#[path = "run/held.rs"]
mod held;
#[path = "run/pulls.rs"]
mod pulls;
#[path = "run/repository.rs"]
mod repository;
#[path = "run/right.rs"]
mod right;
#[path = "run/sound.rs"]
mod sound;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../air/tests/fixtures/clang-19.bc")
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command
        .env(
            "ASSAY_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .arg("run");
    command
}

fn run(file: &Path, arguments: &str) -> Output {
    command()
        .arg(file)
        .args(arguments.split_whitespace())
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

/// `y += 3, 0, -3, ⅛` where x is 0.
const SAXPY: &str =
    "-f saxpy --grid 4 --threadgroup 4 --buffer 0=zeros:f32:8 --buffer 1=iota:f32:4";

#[test]
fn results_are_shown_as_text() {
    let output = run(
        &kernels(),
        &format!("{SAXPY} --bytes 2=i32:4 --print 1 --print 0:2"),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let expected = "y (1, 4 × f32)\n      3      1     -1  3.125\nx (0, 8 × f32)\n  0  0\n  … and 6 more\n\
                    saxpy: 4 × 1 × 1 threads in threadgroups of 4 × 1 × 1\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("(host: "), "{text}");
}

#[test]
fn a_launch_in_formulas_runs_at_each_size() {
    let line = "-f saxpy --size N=4,6 --grid N --threadgroup min(N,4) --buffer 0=zeros:f32:N*2 \
                --buffer 1=iota:f32:N --bytes 2=i32:N --check";
    let output = run(&kernels(), line);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        text.contains(
            "saxpy: nothing found\nsaxpy: 4 × 1 × 1 threads in threadgroups of 4 × 1 × 1 at N = 4\n"
        ) && text.contains("6 × 1 × 1 threads in threadgroups of 4 × 1 × 1 at N = 6\n"),
        "{text}"
    );
    assert!(!text.contains("this launch only"), "{text}");
    let json = run(&kernels(), &format!("{line} --format json"));
    assert_eq!(json.status.code(), Some(2));
    let unknown = run(&kernels(), &line.replace("--grid N", "--grid M"));
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).contains("no size \"M\""),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn a_check_in_plain_numbers_is_known_of_that_launch_only() {
    let output = run(&kernels(), &format!("{SAXPY} --bytes 2=i32:4 --check"));
    let text = stdout(&output);
    assert!(
        text.starts_with("saxpy: nothing found\n") && text.contains("\nknown of this launch only"),
        "{text}"
    );
}

#[test]
fn results_are_shown_as_json_with_times_of_every_run() {
    let line = format!("{SAXPY} --bytes 2=i32:4 --print 1:3 --repeat 3 --threads 1 --format json");
    let document = json(&run(&kernels(), &line));
    assert_eq!(document["schema"]["name"], "assay.run");
    assert_eq!(
        document["buffers"][0]["values"],
        serde_json::json!([3.0, 1.0, -1.0])
    );
    assert_eq!(document["buffers"][0]["length"], 4);
    assert_eq!(document["time"]["origin"], "host");
    assert_eq!(document["time"]["threads"], 1);
    assert_eq!(
        document["time"]["samples_ms"].as_array().map(Vec::len),
        Some(3)
    );
}

#[test]
fn arrays_come_from_files_and_go_to_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (first, second, report) = (path("first.npy"), path("second.npy"), path("report.txt"));
    let line = format!("{SAXPY} --bytes 2=i32:4 --out 1={first} --out {report}");
    let output = run(&kernels(), &line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(
        std::fs::read_to_string(report)
            .expect("a report")
            .contains("(host: ")
    );
    let line = "-f saxpy --groups 1 --threadgroup 4 --bytes 2=i32:4 --buffer 0=zeros:f32:8";
    let output = run(
        &kernels(),
        &format!("{line} --buffer 1={first} --out 1={second}"),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let bytes = std::fs::read(second).expect("an array");
    let numbers = [6.0f32, 1.0, -4.0, 3.25].map(f32::to_le_bytes).concat();
    assert!(bytes.starts_with(b"\x93NUMPY") && bytes.ends_with(&numbers));
}

#[test]
fn threadgroup_memory_and_half_floats_are_bound() {
    let line = "-f row_sum --grid 32 --threadgroup 32 --buffer 0=iota:f16:512 --buffer 1=zeros:bf16:1 \
                --tgmem 0=128 --print 1";
    let output = run(&kernels(), line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // 130816, rounded to eight bits.
    assert!(
        stdout(&output).contains("\n  131072\n"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn what_is_missing_is_said_with_an_example() {
    let output = run(&kernels(), &format!("{SAXPY} --print 1"));
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("saxpy needs a value for n (int)"), "{text}");
    assert!(text.contains("--arg n=VALUE"), "{text}");
    let output = run(
        &kernels(),
        "-f saxpy --grid 4 --threadgroup 4 --buffer 0=zeros:f32:8 --bytes 2=i32:4",
    );
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("buffer 1 (\"y\") is not bound"), "{text}");
    assert!(text.contains("buffer 1  device float  y"), "{text}");
    let example = "-f saxpy --size N=1024 --grid N --threadgroup 256 --buffer 0=random:f32:N \
                   --buffer 1=zeros:f32:N --bytes 2=i32:1";
    assert!(text.contains(example), "{text}");
    let output = run(&kernels(), "--grid 4 --threadgroup 4");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("choose one with -f: saxpy, row_sum"));
    let output = run(&kernels(), "-f sapxy --grid 4 --threadgroup 4");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("nearest first: saxpy"),
        "{}",
        stderr(&output)
    );
    let output = run(&kernels(), "-f specialised_f32 --grid 4 --threadgroup 4");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--const "), "{}", stderr(&output));
}

#[test]
fn mistakes_in_the_line_are_usage_errors() {
    for (arguments, words) in [
        ("--buffer 0=zeros:f99:4", "f99"),
        ("--buffer zeros:f32:4", "INDEX="),
        ("--buffer w=zeros:f32:4", "no argument named w"),
        ("--arg i=4", "the grid gives it"),
        ("--buffer 0=nothing.npz", "is not a file"),
        ("--bytes 2=5", "it has no type"),
        ("--buffer 0=zeros:f32:4 --bytes 0=u32:1", "bound twice"),
        ("--print 7", "the launch binds no buffer 7"),
        ("--out 7=x.npy", "the launch binds no buffer 7"),
        (
            "-f specialised_f32 --const has_bias=float:1",
            "the value given is f32",
        ),
    ] {
        let kernel = if arguments.starts_with("-f") {
            ""
        } else {
            "-f saxpy"
        };
        let line = format!("{kernel} --grid 4 --threadgroup 4 {arguments}");
        let output = run(&kernels(), &line);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(
            stderr(&output).contains(words),
            "{arguments}: {}",
            stderr(&output)
        );
    }
    let output = run(
        &kernels(),
        "-f saxpy --grid 512 --threadgroup 512 --buffer 0=zeros:f32:8",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("takes 256"), "{}", stderr(&output));
}

#[test]
fn a_fault_is_a_verdict_with_its_place() {
    let line = "-f saxpy --grid 8 --threadgroup 4 --buffer 0=zeros:f32:12 --buffer 1=iota:f32:4 --bytes 2=i32:8";
    let output = run(&kernels(), line);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("/src/kernels.cpp:59"), "{text}");
    assert!(text.contains("in thread (4, 0, 0)"), "{text}");
    let document = json(&run(&kernels(), &format!("{line} --format json")));
    assert_eq!(document["error"]["exit_code"], 1);
}

#[test]
fn a_check_reports_everything_and_the_results_are_there() {
    let line = "-f saxpy --grid 8 --threadgroup 4 --buffer 0=zeros:f32:12 --buffer 1=iota:f32:4 --check --print 1";
    let output = run(&kernels(), &format!("{line} --bytes 2=i32:8"));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.starts_with("saxpy: ") && text.contains("\nout-of-bounds: /src/kernels.cpp:59"),
        "{text}"
    );
    assert!(text.contains("  3      1     -1  3.125"), "{text}");
    let document = json(&run(
        &kernels(),
        &format!("{line} --bytes 2=i32:8 --format json"),
    ));
    assert_eq!(document["checked"][0]["kind"], "out-of-bounds");
    assert_eq!(
        document["checked"][0]["thread"],
        serde_json::json!([4, 0, 0])
    );
    let output = run(&kernels(), &format!("{line} --bytes 2=i32:4"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).starts_with("saxpy: nothing found\n"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn counts_are_exact_and_a_sample_is_smaller() {
    let line = "-f saxpy --grid 64 --threadgroup 32 --buffer 0=zeros:f32:80 --buffer 1=iota:f32:64 --bytes 2=i32:64";
    let document = json(&run(&kernels(), &format!("{line} --counts --format json")));
    let counts = &document["counts"];
    assert_eq!(
        (&counts["threadgroups"], &counts["sampled"]),
        (&2.into(), &2.into())
    );
    // Every thread stores one number.
    assert_eq!(counts["device"]["bytes_stored"], 256);
    assert_eq!(document.get("time"), None);
    let document = json(&run(
        &kernels(),
        &format!("{line} --counts --sample 1 --format json"),
    ));
    assert_eq!(document["counts"]["sampled"], 1);
    assert_eq!(document["counts"]["device"]["bytes_stored"], 128);
    let output = run(&kernels(), &format!("{line} --counts"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("cache, modelled:"),
        "{}",
        stdout(&output)
    );
    assert!(
        stdout(&output).contains("/src/kernels.cpp:"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn numbers_of_another_type_are_noted() {
    let line = "-f saxpy --grid 4 --threadgroup 4 --buffer 0=zeros:u32:8 --buffer 1=zeros:f32:4 --bytes 2=i32:4";
    let output = run(&kernels(), line);
    assert_eq!(output.status.code(), Some(0));
    let expected = "note: buffer 0 (\"x\") is float in the kernel and u32 here\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn an_endless_kernel_is_stopped_by_a_limit_and_by_a_signal() {
    if !has_clang() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spin.metal");
    // What never changes is noticed, so this one counts.
    let text =
        "kernel void spin(device volatile uint* x) { while (*x != 0xffffffff) { *x = *x + 1; } }\n";
    std::fs::write(&path, text).expect("written");
    let line = "--grid 1 --threadgroup 1 --buffer 0=zeros:u32:1";
    let output = run(&path, &format!("{line} --max-steps 1000"));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the limit on steps"),
        "{}",
        stderr(&output)
    );
    #[cfg(unix)]
    {
        let mut child = command();
        let child = child
            .arg(&path)
            .args(line.split(' '))
            .stderr(Stdio::piped());
        let child = child.spawn().expect("assay runs");
        std::thread::sleep(std::time::Duration::from_secs(2));
        let id = child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.is_ok_and(|status| status.success()));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("stopped on request"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn what_the_kernel_does_not_have_is_noted() {
    let line = format!("{SAXPY} --bytes 2=i32:4 --bytes 8=i32:4 --tgmem 3=64");
    let output = run(&kernels(), &line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let notes = stderr(&output);
    assert!(notes.contains("note: saxpy has no buffer 8\n"), "{notes}");
    let memory = "note: saxpy has no threadgroup memory 3\n";
    assert!(notes.contains(memory), "{notes}");
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let line = format!("{SAXPY} --bytes 2=i32:4 --out 1=no/such/folder/y.npy");
    let output = run(&kernels(), &line);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("cannot write no/such/folder/y.npy: "),
        "{message}"
    );
    assert!(!message.contains(".assay-"), "{message}");
}

#[test]
fn integers_of_64_bits_and_structs_arrive_whole() {
    if !has_clang() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("whole.metal");
    let text = "struct S { ulong a; uint n; };\n\
        kernel void k(device long *x [[buffer(0)]], constant S &s [[buffer(1)]], constant int3 &v [[buffer(2)]]) { \
        x[0] = 9007199254740993l; x[1] = -1; x[2] = s.a + s.n + v.z; }";
    std::fs::write(&path, text).expect("written");
    let line = "--grid 1 --threadgroup 1 --buffer 0=zeros:i64:3 --bytes 1=u64:5,u32:6 --bytes 2=i32:1,2,3 --print 0 --format json";
    let output = run(&path, line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = serde_json::json!([9_007_199_254_740_993_i64, -1, 14]);
    assert_eq!(json(&output)["buffers"][0]["values"], expected);
}

#[test]
fn source_comes_from_standard_input() {
    if !has_clang() {
        return;
    }
    let mut child = command()
        .args("- --grid 3 --threadgroup 3 --buffer 0=iota:f32:3 --print 0".split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("assay runs");
    let text = b"kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, text).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("  0  2  4\n"),
        "{}",
        stdout(&output)
    );
}

fn has_clang() -> bool {
    let doctor = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("doctor")
        .output();
    let found = doctor.is_ok_and(|output| output.status.code() == Some(0));
    if !found {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found
}

/// Runs a kernel of `examples/faults` with checks; nothing without a clang.
fn fault(file: &str, arguments: &str) -> Option<Output> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/faults");
    let output = run(&path.join(file), &format!("{arguments} --format json"));
    if output.status.code() == Some(4) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return None;
    }
    Some(output)
}

#[test]
fn a_checked_source_is_compiled_for_it_and_clang_warns() {
    let Some(output) = fault("variables.metal", "-f accumulator --check") else {
        return;
    };
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document = json(&output);
    let found = &document["checked"][0];
    assert_eq!(
        (&found["kind"], &found["severity"]),
        (&Value::from("uninitialised"), &Value::from("error"))
    );
    let warnings = document["warnings"].as_array().expect("warnings");
    let about = |warning: &&Value| {
        let message = warning["message"].as_str().unwrap_or_default();
        message.contains("'sum' is uninitialized") && warning["line"] == 12
    };
    assert!(warnings.iter().any(|w| about(&w)), "{warnings:?}");
    assert!(stderr(&output).contains("warning: "), "{}", stderr(&output));
}

#[test]
fn a_mistake_in_a_helper_is_named_there_with_its_callers() {
    let Some(output) = fault("bounds.metal", "-f helper_writes_past --check") else {
        return;
    };
    let document = json(&output);
    let callers = document["checked"][0]["callers"].as_array();
    assert_eq!(callers.map(Vec::len), Some(2), "{document}");
}

#[test]
fn equal_values_warn_and_arithmetic_is_asked_for() {
    let Some(output) = fault("races.metal", "-f equal_neighbour --check") else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["checked"][0]["severity"], "warning");
    let division = |check: &str| fault("arithmetic.metal", &format!("-f division {check}"));
    let codes = ["--check", "--check=arithmetic"]
        .map(|check| division(check).and_then(|output| output.status.code()));
    assert_eq!(codes, [Some(0), Some(1)]);
}
