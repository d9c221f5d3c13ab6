//! What holds for every command: exit codes, JSON errors, closed pipes, colour, files.

use std::io::Read;
use std::process::{Command, Output, Stdio};

fn assay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .output()
        .expect("assay runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn help_goes_to_standard_output_and_documents_the_exit_codes() {
    let output = assay(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for line in [
        "0    fine",
        "1    the thing examined failed",
        "2    bad usage",
        "3    bad or unreadable",
    ] {
        assert!(stdout(&output).contains(line), "{line} is missing");
    }
}

#[test]
fn every_command_has_an_example_in_its_help() {
    let help = stdout(&assay(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "look:").skip(1);
    let names: Vec<&str> = commands
        .take_while(|line| !line.starts_with("Common options"))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() >= 25, "{help}");
    for name in names {
        let help = stdout(&assay(&[name, "--help"]));
        assert!(
            help.contains("Example"),
            "`assay {name} --help` shows no example"
        );
        assert!(
            help.contains(&format!("  assay {name}")),
            "the example is not of {name}"
        );
    }
}

#[test]
fn bad_usage_is_exit_code_two_on_standard_error() {
    let output = assay(&["no-such-command"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-command"));
}

#[test]
fn errors_are_json_when_json_was_asked_for() {
    for arguments in [
        ["no-such-command", "--format", "json"],
        ["nothing", "--format=json", "x"],
    ] {
        let output = assay(&arguments);
        assert_eq!(output.status.code(), Some(2));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["schema"]["name"], "assay.error");
        assert_eq!(document["error"]["exit_code"], 2);
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("assay runs");
    drop(child.stdout.take());
    let mut complaint = String::new();
    child
        .stderr
        .take()
        .expect("stderr")
        .read_to_string(&mut complaint)
        .expect("text");
    let status = child.wait().expect("ends");
    assert_eq!(complaint, "");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn completions_and_manual_come_from_the_same_definitions() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&assay(&["completions", shell])).contains("completions"));
    }
    assert!(stdout(&assay(&["man"])).contains(".TH assay 1"));
    let page = stdout(&assay(&["man", "completions"]));
    assert!(page.contains("assay\\-completions"), "{page}");
    assert!(stdout(&assay(&["man", "trace", "report"])).contains(".TH assay-trace-report 1"));
    assert_eq!(assay(&["man", "nothing"]).status.code(), Some(2));
    assert_eq!(assay(&["man", "trace", "nothing"]).status.code(), Some(2));
}

#[test]
fn a_result_file_is_complete_or_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("assay.1");
    let path = file.to_str().expect("text");
    assert_eq!(assay(&["man", "-o", path]).status.code(), Some(0));
    assert!(
        std::fs::read_to_string(&file)
            .expect("written")
            .contains(".TH assay")
    );
    assert_eq!(
        assay(&["man", "nothing", "-o", path]).status.code(),
        Some(2)
    );
    assert!(
        std::fs::read_to_string(&file)
            .expect("kept")
            .contains(".TH assay")
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("folder").count(),
        1,
        "nothing is left over"
    );
    assert_eq!(
        assay(&["man", "-o", "/nonexistent/x"]).status.code(),
        Some(3)
    );
}
