//! `assay predict` from the outside. Bitcode that comes with the project needs no compiler.

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
        "Twice as much",
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
fn every_chip_has_a_time_or_a_reason() {
    let output = file(&format!("{SAXPY} --grid 1048576 --chip all --format json"));
    let document = json(&output);
    let count = |name: &str| document[name].as_array().map_or(0, Vec::len);
    assert_eq!(
        count("predictions") + count("refused"),
        assay_chip::chips().len()
    );
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
    check(file(SAXPY), 2, "needs a launch");
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
    // A chip whose clock nobody has published.
    check(file(&format!("{SAXPY} --grid 4 --chip m5")), 2, "clock");
}
