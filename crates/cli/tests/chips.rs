//! `assay chips` from the outside.

use serde_json::Value;
use std::process::{Command, Output};

fn chips(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("chips")
        .args(arguments)
        .output()
        .expect("assay runs")
}

fn json(arguments: &[&str]) -> Value {
    let output = chips(&[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_generation_is_there_and_unknown_is_absent() {
    let document = json(&[]);
    assert_eq!(document["schema"]["name"], "assay.chips");
    let chips = document["chips"].as_array().expect("chips");
    for name in ["m1", "m1-ultra", "m2", "m3-max", "m4-pro", "m5"] {
        assert!(chips.iter().any(|chip| chip["name"] == name), "{name}");
    }
    let m4 = chips.iter().find(|chip| chip["name"] == "m4").expect("m4");
    assert_eq!(m4["figures"]["dram_gbs"]["value"], 120.0);
    assert_eq!(m4["figures"]["clock_ghz"]["value"], 1.578);
    assert_eq!(m4["figures"].get("l1_kib"), None);
    assert_eq!(m4["has_costs"], false);
}

#[test]
fn every_figure_names_a_listed_source() {
    let document = json(&["--costs", "measured"]);
    let ids: Vec<&Value> = document["sources"]
        .as_array()
        .expect("sources")
        .iter()
        .map(|source| &source["id"])
        .collect();
    for chip in document["chips"].as_array().expect("chips") {
        for figure in chip["figures"].as_object().expect("figures").values() {
            assert!(ids.contains(&&figure["source"]), "{figure}");
        }
    }
    for row in document["costs"]["rows"].as_array().expect("rows") {
        assert!(ids.contains(&&row["source"]), "{row}");
    }
}

#[test]
fn a_figure_can_be_replaced() {
    let document = json(&["m2", "--set", "clock_ghz=1.4", "--set", "cores=8"]);
    let figures = &document["chips"][0]["figures"];
    assert_eq!(figures["clock_ghz"]["value"], 1.4);
    assert_eq!(figures["clock_ghz"]["source"], "user");
    assert_eq!(figures["cores"]["value"], 8.0);
    for bad in ["clock=1", "clock_ghz", "clock_ghz=0", "cores=1.5"] {
        let output = chips(&["m2", "--set", bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn the_two_cost_tables_disagree_on_purpose() {
    let cycles = |table: &str| {
        let document = json(&["m1", "--costs", table]);
        let rows = document["costs"]["rows"].as_array().expect("rows").clone();
        let row = rows.into_iter().find(|row| row["key"] == "convert");
        row.expect("convert")["cycles"].clone()
    };
    assert_eq!(cycles("measured"), 4.0);
    assert_eq!(cycles("mesa"), 0.0);
}

#[test]
fn cycles_of_newer_chips_are_refused_with_what_is_available() {
    let output = chips(&["m3", "--costs", "measured"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    for part in ["Apple M3", "10 GPU cores", "102.4 GB/s", "m1, m1-pro"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn names_are_forgiving_and_wrong_ones_list_the_right_ones() {
    assert!(stdout(&chips(&["M1 Pro"])).contains("Apple M1 Pro"));
    let output = chips(&["m7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("m1, m1-pro"));
    assert_eq!(chips(&["--costs", "guess"]).status.code(), Some(2));
}

#[test]
fn the_check_passes_and_names_what_is_unknown() {
    let output = chips(&["--check"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("every instruction has a cost or a reason why not"));
    assert!(text.contains("device_store"));
    let document = json(&["--check"]);
    assert_eq!(
        document["check"]["faults"].as_array().map(Vec::len),
        Some(0)
    );
}
