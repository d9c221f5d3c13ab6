//! Sweeps of `assay bench`: references, locks, going on after an interruption, plans, new kernels.

mod bench_common;

#[path = "bench_sweep/interrupted.rs"]
mod interrupted;

use bench_common::{assay, command, no_clang, scratch, text};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// What a command that ended well printed.
fn fine(output: &Output) -> String {
    let said = text(&output.stdout);
    let code = output.status.code();
    assert_eq!(code, Some(0), "{said}{}", text(&output.stderr));
    said
}

#[test]
fn the_oracle_is_a_reference() {
    let cache = scratch("sweep-oracle");
    let output = assay(
        &cache,
        &[
            "relu",
            "--quick",
            "--reference",
            "oracle",
            "--format",
            "json",
            "--iters",
            "7",
            "--warmup",
            "9",
        ],
    );
    if no_clang(&output) {
        return;
    }
    let report = json(&output);
    let time = &report["kernels"][0]["time"];
    let reference = &time["references"][0];
    assert_eq!(
        (&reference["name"], &reference["right"]),
        (&"oracle".into(), &true.into())
    );
    assert_eq!(
        reference["figures"]["samples_ms"].as_array().map(Vec::len),
        Some(7)
    );
    assert_eq!(time["samples_ms"].as_array().map(Vec::len), Some(7));
    assert_eq!(time["warm_up"], 9);
    assert!(
        reference["speedup"]
            .as_f64()
            .is_some_and(|ratio| ratio > 0.0)
    );
    assert_eq!(report["overall"]["rows"], 1);
    assert_eq!(time["scores"]["headline"], time["scores"]["speedup"]);
    assert_eq!(report["environment"]["device"], "cpu");
    assert!(
        report["kernels"][0]["source_text"]
            .as_str()
            .is_some_and(|text| text.contains("relu_f32"))
    );
    assert!(
        time["scores"]["roofline"].is_null(),
        "a CPU has no GPU's roofline"
    );
}

#[test]
fn a_command_is_a_reference() {
    let cache = scratch("sweep-command");
    let script = cache.join("reference.sh");
    let answers = r#"while read -r line; do case "$line" in
*hello*) echo '{"ok":true,"protocol":1,"name":"mine","clock":"host"}';;
*run*) echo '{"ok":true,"seconds":0.5}';;
*outputs*) file=${line#*'["'}; file=${file%'"]'*}; head -c 8412 /dev/zero > "$file"; echo '{"ok":true}';;
*) echo '{"ok":true}';; esac; done"#;
    std::fs::write(&script, answers).expect("written");
    let reference = format!("cmd:/bin/sh {}", script.display());
    let output = assay(
        &cache,
        &["relu", "--quick", "--iters", "7", "--reference", &reference],
    );
    if no_clang(&output) {
        return;
    }
    let said = fine(&output);
    let words: Vec<&str> = said.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("the kernel is faster"), "{said}");
    // It is called what it was asked for as, whatever it says.
    assert!(words.contains("cmd:/bin/sh"), "{said}");
    assert!(words.contains("(says \"mine\")"), "{said}");
    assert!(
        words.contains("its results are off by"),
        "zeros are no relu: {said}"
    );
}

#[test]
fn references_that_are_not_there_are_told() {
    let cache = scratch("sweep-missing");
    let output = assay(&cache, &["relu", "--quick", "--reference", "cmd:exit 3"]);
    assert_eq!(output.status.code(), Some(4));
    let said = text(&output.stderr);
    assert!(
        said.contains("ended (exit status: 3)") && said.contains("docs/references.md"),
        "{said}"
    );
    let output = command(&cache, &["relu", "--quick", "--reference", "mlx"])
        .env("ASSAY_PYTHON", "/bin/false")
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stderr).contains("pip install"),
        "{}",
        text(&output.stderr)
    );
    let output = assay(&cache, &["relu", "--reference", "numpy"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Waits until something holds, or says what did not.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn entries(cache: &Path) -> usize {
    let sweeps = std::fs::read_dir(cache.join("sweeps"));
    let folders = sweeps.into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    let whole = files
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|e| e == "json"));
    whole.count()
}

fn kill(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("gone");
}

#[test]
fn a_killed_sweep_goes_on_and_leaves_no_lock() {
    let cache = scratch("sweep-resume");
    let kernels = ["relu", "cumsum", "softmax", "layer_norm", "sqr_mm"];
    let mut arguments = kernels.to_vec();
    arguments.extend(["--quick", "--format", "json"]);
    if no_clang(&assay(&cache, &["relu", "--quick", "--no-time"])) {
        return;
    }
    let mut first = command(&cache, &arguments);
    let first = first
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    // The seed and at least two kernels.
    until("two kernels are finished", || entries(&cache) >= 3);
    kill(first);
    let before = entries(&cache) - 1;
    arguments.push("--resume");
    let output = assay(&cache, &arguments);
    let report = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = report["kernels"].as_array().expect("rows");
    assert_eq!(rows.len(), 11, "{before} were known");
    assert!(rows.iter().all(|row| row["right"] == true));
    assert_eq!(entries(&cache), 0, "a finished sweep leaves nothing");
    assert!(
        !text(&output.stderr).contains("waiting"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn one_benchmark_waits_for_another() {
    let cache = scratch("sweep-lock");
    if no_clang(&assay(&cache, &["relu", "--quick", "--no-time"])) {
        return;
    }
    let mut first = command(&cache, &["relu", "--quick", "--iters", "1000000"]);
    let first = first
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let lock = cache.join("bench-cpu.lock");
    until("the lock is taken", || {
        std::fs::metadata(&lock).is_ok_and(|file| file.len() > 0)
    });
    let mut second = command(&cache, &["cumsum", "--quick", "--seed", "1"]);
    let second = second
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    std::thread::sleep(Duration::from_millis(700));
    kill(first);
    let output = second.wait_with_output().expect("ended");
    let said = text(&output.stderr);
    assert!(
        said.contains("waiting: another benchmark is measuring (process ") && said.contains("relu"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn a_plan_is_shown_and_not_run() {
    let cache = scratch("sweep-plan");
    let output = assay(
        &cache,
        &[
            "softmax",
            "--dry-run",
            "--sizes",
            "reference",
            "--format",
            "json",
        ],
    );
    let plan = json(&output);
    assert_eq!(plan["schema"]["name"], "assay.bench-plan");
    let kernels = plan["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 3);
    assert_eq!(kernels[0]["dispatches"][0]["groups"], 1024);
    assert_eq!(
        kernels[0]["arguments"][0]["shape"],
        serde_json::json!([1024, 1024])
    );
}

#[test]
fn a_profile_says_what_a_kernel_needs() {
    let cache = scratch("sweep-profile");
    let output = assay(
        &cache,
        &[
            "relu",
            "--quick",
            "--no-time",
            "--profile",
            "--chip",
            "m1",
            "--format",
            "json",
        ],
    );
    if no_clang(&output) {
        return;
    }
    let pass = &json(&output)["kernels"][0]["profile"][0];
    assert_eq!(
        (&pass["function"], &pass["chip"]),
        (&"relu_f32".into(), &"m1".into())
    );
    let figures = &pass["figures"];
    assert!(
        figures["half_registers"]
            .as_u64()
            .is_some_and(|count| count > 4),
        "{pass}"
    );
    assert!(
        figures["threads_per_core"]
            .as_u64()
            .is_some_and(|count| count >= 256),
        "{pass}"
    );
    assert!(figures["verdict"].is_string(), "{pass}");
}

#[test]
fn a_new_kernel_works_from_the_start() {
    let cache = scratch("sweep-new");
    let into = cache.join("mine");
    let into = into.to_string_lossy();
    let new = ["new", "my_softmax", "--like", "softmax", "--into", &into];
    let output = assay(&cache, &new);
    if no_clang(&output) {
        return;
    }
    let said = fine(&output);
    assert!(said.contains("my_softmax f32  right"), "{said}");
    let again = assay(&cache, &new);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("is there already"),
        "{}",
        text(&again.stderr)
    );
    let output = assay(&cache, &["new", "My-Softmax"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_gpu_is_not_invented() {
    if cfg!(target_os = "macos") {
        return;
    }
    let output = assay(&scratch("sweep-gpu"), &["relu", "--device", "metal"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stderr).contains("needs a Mac"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn reports_fit_narrow_terminals() {
    let cache = scratch("sweep-narrow");
    for arguments in [&["relu", "softmax"][..], &["softmax"][..]] {
        let mut all = arguments.to_vec();
        all.extend(["--quick", "--reference", "oracle", "--profile", "--no-save"]);
        let mut narrow = command(&cache, &all);
        let output = narrow.env("COLUMNS", "50").output().expect("assay runs");
        if no_clang(&output) {
            return;
        }
        let said = text(&output.stdout);
        let long: Vec<&str> = said
            .lines()
            .filter(|line| line.chars().count() > 50)
            .collect();
        assert!(long.is_empty(), "{long:#?}\n{said}");
    }
}

#[test]
fn references_are_timed_alone() {
    let cache = scratch("sweep-alone");
    let alone = [
        "softmax",
        "--reference",
        "oracle",
        "--reference-only",
        "--quick",
        "--dtype",
        "f32",
    ];
    let output = assay(&cache, &alone);
    if no_clang(&output) {
        return;
    }
    let said = fine(&output);
    assert!(
        said.contains("oracle") && said.contains("samples"),
        "{said}"
    );
    assert!(!said.contains("  kernel "), "{said}");
    let output = assay(&cache, &[&alone[..], &["--format", "json"]].concat());
    let row = json(&output)["kernels"][0].clone();
    assert!(row["time"].is_null(), "{row}");
    assert_eq!(row["references"][0]["name"], "oracle");
    assert!(
        row["references"][0]["figures"]["median_ms"].as_f64() > Some(0.0),
        "{row}"
    );
    assert!(!cache.join("board.db").exists(), "nothing is saved");
    let output = assay(
        &cache,
        &["softmax", "--reference", "none", "--reference-only"],
    );
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// What a command printed, without the breaks of its lines.
fn words(output: &Output) -> String {
    let said = text(&output.stdout);
    let words: Vec<&str> = said.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn a_new_operation_brings_its_own_oracle() {
    let cache = scratch("sweep-oracles");
    let into = cache.join("mine");
    let shown = into.to_string_lossy();
    for kind in ["expression", "program", "python"] {
        let name = format!("by_{kind}");
        let output = assay(&cache, &["new", &name, "--oracle", kind, "--into", &shown]);
        if no_clang(&output) {
            return;
        }
        // Without a NumPy the kernel is refused, and says what to do.
        if kind == "python" && words(&output).contains("pip install numpy") {
            continue;
        }
        let said = fine(&output);
        assert!(said.contains(&format!("{name} f32  right")), "{said}");
    }
    // An oracle that is wrong is noticed, whatever it is written in.
    let described = into.join("common/by_expression/kernel.toml");
    let whole = std::fs::read_to_string(&described).expect("read");
    std::fs::write(&described, whole.replace("max(x[i, j], 0)", "abs(x[i, j])")).expect("written");
    let output = assay(
        &cache,
        &["by_expression", "--kernels", &shown, "--quick", "--no-time"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    std::fs::write(&described, whole.replace("x[i, j]", "z[i, j]")).expect("written");
    let output = assay(
        &cache,
        &["by_expression", "--kernels", &shown, "--quick", "--no-time"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    let said = words(&output);
    assert!(said.contains("there is no \"z\""), "{said}");
}
