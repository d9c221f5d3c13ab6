//! `assay bench` over kernels that are broken in every way: each is told apart, and the sweep goes on.

mod bench_common;

use bench_common::{assay, scratch, text};
use std::path::Path;

const DESCRIPTION: &str = r#"
summary = "Numbers below 0 become 0"
oracle = "relu"
arguments = [
  { name = "x", role = "input", shape = ["n"] },
  { name = "y", role = "output", shape = ["n"] },
  { name = "n", role = "scalar", dtype = "u32", value = "n" },
]

[sizes]
reference = { n = 4096 }
quick = { n = 700 }
odd = { n = 1001 }
held_out = { n = 1300 }

[[passes]]
threads = ["n"]
threadgroup = ["256"]

[tolerance.f32]
relative = 0.0
absolute = 0.0
reason = "exact"

[cost]
flops = "n"
"#;

const ARGUMENTS: &str = "device const float *x [[buffer(0)]], device float *y [[buffer(1)]], \
    constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]]";

fn source(name: &str, body: &str) -> String {
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void {name}_f32({ARGUMENTS}) {{ {body} }}\n"
    )
}

fn add(folder: &Path, name: &str, description: &str, source: Option<&str>) {
    let folder = folder.join("common").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("kernel.toml"), description).expect("written");
    if let Some(source) = source {
        std::fs::write(folder.join(format!("{name}.metal")), source).expect("written");
    }
}

/// Runs one kernel and the sound one beside it; gives what was said in one line, and the exit code.
fn beside_a_sound_one(
    name: &str,
    description: &str,
    source_text: Option<&str>,
    more: &[&str],
) -> Option<(String, i32)> {
    let folder = scratch(&format!("faults-{name}"));
    add(&folder, name, description, source_text);
    let sound = source("sound", "y[i] = max(x[i], 0.0f);");
    add(&folder, "sound", DESCRIPTION, Some(&sound));
    let shown = folder.to_string_lossy();
    let mut arguments = vec!["--all", "--kernels", &*shown, "--quick"];
    arguments.extend(more);
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-faults-cache");
    let output = assay(&kept, &arguments);
    let code = output.status.code().expect("a code");
    if code == 4 {
        return None;
    }
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("1 right"), "the sweep did not go on: {said}");
    assert!(
        said.lines()
            .all(|line| line.chars().count() <= 80 || !line.contains(' ')),
        "{said}"
    );
    let words: Vec<&str> = said.split_whitespace().collect();
    Some((words.join(" "), code))
}

fn told(name: &str, description: &str, source: Option<&str>, expected: &str, code: i32) {
    if let Some((said, found)) = beside_a_sound_one(name, description, source, &[]) {
        assert!(said.contains(expected), "expected {expected}, found {said}");
        assert_eq!(found, code, "{said}");
    }
}

#[test]
fn a_malformed_description() {
    let broken = DESCRIPTION.replace("oracle =", "oracel =");
    let sound = source("malformed", "y[i] = max(x[i], 0.0f);");
    told(
        "malformed",
        &broken,
        Some(&sound),
        "unknown field `oracel`",
        3,
    );
}

#[test]
fn a_missing_source() {
    told(
        "absent",
        DESCRIPTION,
        None,
        "kernel \"absent\" has no absent.metal",
        3,
    );
}

#[test]
fn a_shape_that_overflows() {
    let huge = DESCRIPTION.replace("shape = [\"n\"]", "shape = [\"n * 9000000000000000000\"]");
    let sound = source("huge", "y[i] = max(x[i], 0.0f);");
    told("huge", &huge, Some(&sound), "n * 9000000000000000000", 3);
}

#[test]
fn a_source_that_does_not_compile() {
    let broken = source("typo", "y[i] = maximum(x[i], 0.0f);");
    told("typo", DESCRIPTION, Some(&broken), "does not compile: ", 3);
}

#[test]
fn a_source_that_crashes_the_compiler() {
    let crash = "#pragma clang __debug crash\n".to_owned() + &source("crash", "y[i] = 0;");
    told(
        "crash",
        DESCRIPTION,
        Some(&crash),
        "the compiler failed: ",
        3,
    );
}

#[test]
fn a_kernel_without_its_function() {
    let other = source("other", "y[i] = max(x[i], 0.0f);");
    told(
        "lost",
        DESCRIPTION,
        Some(&other),
        "no kernel is called \"lost_f32\"",
        1,
    );
}

#[test]
fn a_kernel_that_waits_for_what_never_happens() {
    let stuck = source(
        "stuck",
        "volatile device float *z = y; while (z[i] != 123456.0f) { z[i] = max(x[i], 0.0f); }",
    );
    told(
        "stuck",
        DESCRIPTION,
        Some(&stuck),
        "this loop never ends",
        1,
    );
}

#[test]
fn a_kernel_that_hangs() {
    let endless = source(
        "hang",
        "volatile device uint *z = (volatile device uint *)y; z[i] = 0; while (z[i] != 0xffffffff) { z[i] = z[i] + 1; }",
    );
    let limit = ["--timeout", "1"];
    if let Some((said, code)) = beside_a_sound_one("hang", DESCRIPTION, Some(&endless), &limit) {
        assert!(said.contains("did not finish within 1.000 s"), "{said}");
        assert_eq!(code, 1, "{said}");
    }
}

#[test]
fn a_kernel_that_writes_out_of_bounds() {
    let beside = source("beside", "y[i] = max(x[i], 0.0f); y[n + i % 8] = 1.0f;");
    told(
        "beside",
        DESCRIPTION,
        Some(&beside),
        "wrote behind \"y\"",
        1,
    );
}

#[test]
fn a_kernel_that_returns_nan() {
    let nan = source("nan", "y[i] = x[i] < 0.0f ? NAN : x[i];");
    told("nan", DESCRIPTION, Some(&nan), "not finite", 1);
}
