//! `assay predict` and `assay tune` from the outside. Bitcode that comes with the project needs no compiler.

#[path = "predict/tune.rs"]
mod tune;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../air/tests/fixtures/clang-19.bc")
}

fn predict(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .arg("predict")
        .args(arguments.split_whitespace())
        .output()
        .expect("assay runs")
}

fn file(arguments: &str) -> Output {
    predict(&format!("{} {arguments}", kernels().display()))
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

const SAXPY: &str = "-f saxpy --threadgroup 256 --buffer 0=random:f32:1073741824 \
                     --buffer 1=random:f32:1073741824 --bytes 2=i32:1073741824";

#[test]
fn a_prediction_says_time_band_reason_and_where_the_time_goes() {
    let output = file(&format!("{SAXPY} --grid 1048576"));
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "saxpy on m2",
        "limited by",
        "modelled",
        "Where the time goes",
        "if doubled",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn terms_add_up_and_the_band_holds_the_time() {
    let output = file(&format!("{SAXPY} --grid 1048576 --format json"));
    let document = json(&output);
    assert_eq!(document["schema"]["name"], "assay.predict");
    let predicted = &document["predictions"][0];
    let number = |name: &str| predicted[name].as_f64().expect("a number");
    let terms = predicted["terms"].as_array().expect("terms");
    let sum: f64 = terms.iter().filter_map(|term| term["us"].as_f64()).sum();
    assert!((sum / number("time_us") - 1.0).abs() < 0.01, "{predicted}");
    assert!(number("low_us") < number("time_us") && number("time_us") < number("high_us"));
    assert_eq!(predicted["basis"], "modelled");
    assert_eq!(predicted["state"], "warm");
}

#[test]
fn a_billion_threads_are_a_thousand_times_a_million() {
    let time = |grid: &str| {
        let document = json(&file(&format!("{SAXPY} --grid {grid} --format json")));
        let predicted = &document["predictions"][0];
        assert!(predicted["sampled"].as_u64().expect("a number") <= 64);
        predicted["time_us"].as_f64().expect("a time")
    };
    let (million, billion) = (time("1048576"), time("1073741824"));
    let ratio = billion / million;
    assert!((300.0..3000.0).contains(&ratio), "{million} {billion}");
}

#[test]
fn every_chip_has_a_time() {
    let output = file(&format!("{SAXPY} --grid 1048576 --chip all --format json"));
    let document = json(&output);
    let count = |name: &str| document[name].as_array().map_or(0, Vec::len);
    assert_eq!(count("predictions"), assay_chip::chips().len());
    assert_eq!(count("refused"), 0);
    let stand_in = |predicted: &&Value| predicted["chip"] == "m3";
    let predictions = document["predictions"].as_array().expect("predictions");
    let m3 = predictions
        .iter()
        .find(stand_in)
        .expect("a prediction for m3");
    assert!(m3["code"].as_str().expect("code").contains("stand-in"));
}

#[test]
fn more_bandwidth_makes_a_stream_faster() {
    let time = |more: &str| {
        let document = json(&file(&format!(
            "{SAXPY} --grid 16777216 --format json {more}"
        )));
        document["predictions"][0]["time_us"]
            .as_f64()
            .expect("a time")
    };
    assert!(time("--what-if dram_gbs=400 --what-if slc_bytes_per_cycle=60") < 0.9 * time(""));
    assert!(time("--cold") >= time(""));
}

#[test]
fn bad_input_is_explained() {
    let check = |output: Output, code: i32, part: &str| {
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(part), "{text}");
    };
    check(file(&format!("{SAXPY} --grid 0")), 2, "no threads");
    check(
        file("-f saxpy --grid 4096 --threadgroup 2048 --bytes 2=i32:4"),
        2,
        "2048 threads is too large",
    );
    check(file("-f specialised_f32"), 2, "none can be guessed");
    check(file(SAXPY), 2, "write its --grid");
    check(
        file(&format!("{SAXPY} --grid 4 --chip m9")),
        2,
        "no chip named",
    );
    check(
        file(&format!("{SAXPY} --grid 4 --what-if speed=2")),
        2,
        "--what-if",
    );
    check(predict("no_such_kernel"), 2, "no_such_kernel");
    check(predict(""), 2, "no kernel is named");
    // A buffer that is too short for the grid.
    let short = "-f saxpy --grid 4096 --threadgroup 256 --buffer 0=zeros:f32:16 \
                 --buffer 1=zeros:f32:16 --bytes 2=i32:4096";
    check(file(short), 3, "which has 64 bytes");
    // A figure of the chip that no prediction looks at.
    let unused = format!("{SAXPY} --grid 4 --what-if lanes_per_core=256");
    check(file(&unused), 2, "no predicted time depends on");
}

/// The same for Metal source; nothing, said aloud, on a machine without a clang.
fn compiling(arguments: &[&str]) -> Option<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .current_dir(root)
        .args(arguments)
        .output()
        .expect("assay runs");
    if output.status.code() == Some(4) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return None;
    }
    Some(output)
}

fn example(name: &str) -> String {
    format!("examples/kernels/{name}.metal")
}

#[test]
fn a_page_has_the_picture_and_a_timeline_is_written_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("core.json");
    let output = file(&format!(
        "{SAXPY} --grid 65536 --format html --timeline {}",
        trace.display()
    ));
    let page = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "Where the time goes",
        "Twice as much",
        "id=core-data",
        "A row is a place for a simdgroup",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let trace = std::fs::read(trace).expect("a trace");
    let trace: Value = serde_json::from_slice(&trace).expect("JSON");
    assert!(
        trace["traceEvents"]
            .as_array()
            .is_some_and(|all| all.len() > 100)
    );
    let two = file(&format!(
        "{SAXPY} --grid 65536 --chip m1,m2 --timeline /nowhere/x.json"
    ));
    assert_eq!(two.status.code(), Some(2), "{}", stderr(&two));
}

#[test]
fn diff_leads_with_predicted_times_and_calls_the_ladder() {
    // The band of the first pair includes 1.
    let ladder = [
        ("matmul_naive", "matmul_tiled", "probably-faster"),
        ("matmul_tiled", "matmul_reg4x4", "faster"),
    ];
    for (before, after, call) in ladder {
        let (before, after) = (example(before), example(after));
        let Some(output) = compiling(&["diff", &before, &after, "--format", "json"]) else {
            return;
        };
        let document = json(&output);
        let predicted = &document["kernels"][0]["predicted"];
        assert_eq!(predicted["call"], call, "{after}: {predicted}");
        assert!(
            predicted["speedup"]
                .as_f64()
                .is_some_and(|ratio| ratio > 1.0)
        );
    }
    let (naive, tiled) = (example("matmul_naive"), example("matmul_tiled"));
    let Some(worse) = compiling(&["diff", &tiled, &naive, "--fail-on", "hurt"]) else {
        return;
    };
    let text = stdout(&worse);
    assert_eq!(worse.status.code(), Some(1), "{text}");
    let first = text.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("matmul_tiled → matmul_naive on m2"),
        "{text}"
    );
    assert!(
        text.contains("slower") && text.contains("load/store unit"),
        "{text}"
    );
    let Some(same) = compiling(&["diff", &tiled, &tiled]) else {
        return;
    };
    assert!(
        stdout(&same).contains("1.00 times as fast: tie"),
        "{}",
        stdout(&same)
    );
    let Some(page) = compiling(&["diff", &naive, &tiled, "--format", "html"]) else {
        return;
    };
    assert!(stdout(&page).contains("Terms that changed"));
}

#[test]
fn renamed_variables_are_a_tie() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tiled = root.join(example("matmul_tiled"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(&tiled);
    let text = std::fs::read_to_string(source).expect("the example");
    let other = folder.path().join("other.metal");
    std::fs::write(&other, text.replace("acc", "total").replace("sa[", "left[")).expect("written");
    let (tiled, other) = (tiled.display().to_string(), other.display().to_string());
    let Some(output) = compiling(&["diff", &tiled, &other, "--format", "json"]) else {
        return;
    };
    assert_eq!(json(&output)["kernels"][0]["predicted"]["call"], "tie");
}

#[test]
fn where_no_launch_can_be_guessed_diff_says_what_decides_and_counts_nothing() {
    let kernels = kernels().display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .env("COLUMNS", "100")
        .args(["diff", &kernels, &kernels, "-f", "specialised_f32", "--all"])
        .output()
        .expect("assay runs");
    let text = stdout(&output);
    assert!(
        text.contains("what decides") && text.contains("what explains"),
        "{text}"
    );
    assert!(!text.contains("helped,"), "{text}");
}

#[test]
fn flags_of_one_side_are_its_own() {
    let (tiled, blocked) = (example("matmul_tiled"), example("matmul_reg4x4"));
    let Some(output) = compiling(&[
        "diff",
        &tiled,
        &blocked,
        "--before-launch",
        "--grid 512,512 --threadgroup 16,16 --bytes 3=u32:512 --bytes 4=u32:512 --bytes 5=u32:512",
        "--after-launch",
        "--grid 128,128 --threadgroup 16,16 --bytes 3=u32:512 --bytes 4=u32:512",
        "--chip",
        "m1-max",
    ]) else {
        return;
    };
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("on m1-max"), "{text}");
    assert!(text.contains("buffers left out: 0, 1, 2"), "{text}");
}

#[test]
fn a_size_that_is_not_given_is_named_before_accesses_go_astray() {
    let naive = example("matmul_naive");
    let launch = ["--grid", "64,64", "--threadgroup", "16,16"];
    for sizes in [&["3=u32:64"][..], &["3=u32:64", "4=u32:64"]] {
        let bytes = sizes.iter().flat_map(|size| ["--bytes", *size]);
        let line: Vec<&str> = ["predict", &naive]
            .into_iter()
            .chain(launch)
            .chain(bytes)
            .collect();
        let Some(output) = compiling(&line) else {
            return;
        };
        let text = stderr(&output);
        assert!(text.contains("matmul_naive needs a value for"), "{text}");
        assert!(!text.contains("device_load"), "{text}");
    }
}

#[test]
fn a_changed_copy_gets_the_launch_of_its_original() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.metal");
    let tiled = example("matmul_tiled");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(&tiled);
    let text = std::fs::read_to_string(source).expect("the example");
    let bare: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("assay: launch"))
        .collect();
    assert!(bare.len() < text.lines().count(), "it has a launch");
    std::fs::write(&copy, bare.join("\n")).expect("written");
    let copy = copy.display().to_string();
    for pair in [[&tiled, &copy], [&copy, &tiled]] {
        let Some(output) = compiling(&["diff", pair[0], pair[1]]) else {
            return;
        };
        let (text, notes) = (stdout(&output), stderr(&output));
        assert!(text.contains("predicted time"), "{text}{notes}");
        assert!(
            notes.contains("copy.metal has no launch; it gets that of"),
            "{notes}"
        );
    }
}

#[test]
fn a_profile_with_a_launch_leads_with_the_time_and_its_lines() {
    let naive = example("matmul_naive");
    let Some(output) = compiling(&["profile", &naive]) else {
        return;
    };
    let text = stdout(&output);
    assert!(text.starts_with("matmul_naive on m2"), "{text}");
    let hot = text
        .lines()
        .find(|line| line.contains("acc += A[row * K + k]"));
    assert!(
        hot.is_some_and(|line| line.contains("load/store unit")),
        "{text}"
    );
    let Some(output) = compiling(&["profile", &naive, "--format", "json"]) else {
        return;
    };
    let document = json(&output);
    let predicted = &document["profiles"][0]["predicted"];
    let lines = predicted["lines"].as_array().expect("lines");
    let sum: f64 = lines.iter().filter_map(|line| line["us"].as_f64()).sum();
    let whole = predicted["time_us"].as_f64().expect("a time");
    assert!((0.9..=1.001).contains(&(sum / whole)), "{sum} of {whole}");
    // A product of 1024³ multiply-adds.
    let flops = predicted["work"]["flops"].as_f64().expect("counted");
    assert!((0.999..1.02).contains(&(flops / 2f64.powi(31))), "{flops}");
    let gflops = predicted["rates"]["gflops"].as_f64().expect("a rate");
    assert!(
        (0.99..1.01).contains(&(gflops * whole * 1e3 / flops)),
        "{gflops}"
    );
    assert!(text.contains("% of peak"), "{text}");
    let Some(page) = compiling(&["profile", &naive, "--format", "html"]) else {
        return;
    };
    assert!(stdout(&page).contains("shares of the predicted time"));
}

#[test]
fn calibration_finds_the_constants_of_a_simulated_chip() {
    let folder = tempfile::tempdir().expect("a folder");
    let chip_file = folder.path().join("m2.tsv");
    let chip_file = chip_file.display().to_string();
    let changes = [
        ("launch_us", 4.1),
        ("between_us", 2.6),
        ("issue_efficiency", 0.8),
        ("matrix32_cycles", 16.4),
        ("reduction_cycles", 11.0),
        ("request_cycles", 1.3),
        ("access_cycles", 2.1),
        ("local_row_cycles", 2.2),
        ("local_conflict_cycles", 1.1),
        ("local_latency", 37.0),
        ("barrier_cycles", 52.0),
        ("atomic_latency", 240.0),
        ("l1_share", 0.8),
        ("l2_share", 1.3),
        ("slc_share", 0.75),
        ("l1_latency", 82.0),
        ("l2_latency", 160.0),
        ("slc_latency_ns", 280.0),
        ("dram_latency_ns", 390.0),
        ("l2_bytes_per_cycle", 45.0),
        ("slc_ratio", 2.4),
        ("dram_efficiency", 0.8),
        ("group_cycles", 120.0),
        ("simdgroup_cycles", 18.0),
    ];
    let mut arguments = vec!["calibrate", "--chip", "m2", "--chip-file", &chip_file];
    let simulated: Vec<String> = changes
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for change in &simulated {
        arguments.extend(["--simulate", change]);
    }
    arguments.extend(["--format", "json"]);
    let Some(output) = compiling(&arguments) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let constants = document["constants"].as_array().expect("constants");
    let mut wrong = Vec::new();
    for (name, value) in changes {
        let found = constants.iter().find(|one| one["name"] == name);
        let found = found
            .and_then(|one| one["value"].as_f64())
            .unwrap_or(f64::NAN);
        let close = (found / value).ln().abs() < TOLERANCE;
        if !close {
            wrong.push(format!("{name}: {found:.3}, simulated {value}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", document["constants"]);
    // Predictions with the file use what was found.
    let text = stdout(&file(&format!(
        "{SAXPY} --grid 65536 --chip m2 --chip-file {chip_file}"
    )));
    assert!(text.contains("constants of Apple M2 from"), "{text}");
    let other = file(&format!(
        "{SAXPY} --grid 4 --chip m1 --chip-file {chip_file}"
    ));
    assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
}

/// How far a constant may be off: the model rounds what it executes to three digits.
const TOLERANCE: f64 = 0.05;

#[cfg(not(target_os = "macos"))]
#[test]
fn calibration_without_a_gpu_says_what_to_do() {
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("calibrate")
        .output()
        .expect("assay runs");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("--chip-file"), "{text}");
}

#[test]
fn a_broken_chip_file_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m2.tsv");
    std::fs::write(&path, "m2\tspeed\t3\t3\t3\tmeasured\tx\ty\n").expect("written");
    let output = file(&format!("{SAXPY} --grid 4 --chip-file {}", path.display()));
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
}
