//! Recordings of programs on the command line: what is modelled says so, damage says where.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/traces")
        .join(name)
}

fn trace(arguments: &[&str], input: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("trace")
        .args(arguments)
        .arg(input)
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("assay runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_recording_is_modelled_on_every_chip_that_is_asked_for() {
    let report = || {
        trace(
            &[
                "report",
                "--chip",
                "m1,m4-max",
                "--step",
                "4",
                "--format",
                "json",
            ],
            &example("eager.recording"),
        )
    };
    let output = report();
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["recording"]["time_source"], "modelled");
    let program = &document["program"];
    assert_eq!(program["basis"], "modelled");
    assert_eq!(
        (&program["dispatches"], &program["launches"]),
        (&160.into(), &5.into())
    );
    assert_eq!(program["unpredicted"], Value::Array(Vec::new()));
    let chips = program["chips"].as_array().expect("chips");
    assert_eq!(
        (&chips[0]["chip"], &chips[1]["chip"]),
        (&"m1".into(), &"m4-max".into())
    );
    assert_eq!(
        (&chips[0]["stand_in"], &chips[1]["stand_in"]),
        (&false.into(), &true.into())
    );
    let times = |name: &str| chips[0][name].as_f64().expect("a time");
    assert!(times("low_ms") < times("gpu_ms") && times("gpu_ms") < times("high_ms"));
    let steps = &program["steps"];
    assert_eq!(
        (&steps["count"], &steps["dispatches"]),
        (&4.into(), &40.0.into())
    );
    assert_eq!(output.stdout, report().stdout, "the same each time");
}

#[test]
fn the_first_screen_fits_a_terminal() {
    let output = trace(
        &["report", "--chip", "m2,m4-max"],
        &example("eager.recording"),
    );
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let screen = text(&output.stdout);
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    assert!(screen.contains("modelled"), "{screen}");
}

#[test]
fn a_damaged_recording_is_exit_3_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("damaged.recording");
    let mut bytes = std::fs::read(example("fused.recording")).expect("a recording");
    bytes[40] ^= 1;
    std::fs::write(&place, &bytes).expect("a file");
    let output = trace(&["report"], &place);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(
        said.contains("the recording is damaged at byte 17"),
        "{said}"
    );
    bytes[8] = 200;
    std::fs::write(&place, &bytes).expect("a file");
    let said = text(&trace(&["report"], &place).stderr);
    assert!(said.contains("a recording of version 200"), "{said}");
}

#[test]
fn a_recording_is_not_mixed_with_other_inputs() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/xctrace/baseline");
    let tables = tables.display().to_string();
    let output = trace(&["report", &tables], &example("fused.recording"));
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("cannot be mixed"), "{said}");
}
