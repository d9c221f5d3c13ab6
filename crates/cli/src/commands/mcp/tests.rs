//! What becomes of parameters, as facts.

use super::Limits;
use super::arguments::{Call, call};
use super::tools::{Kind, TOOLS, named};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn understood(tool: &str, given: Value) -> Result<Call, Failure> {
    let Value::Object(given) = given else {
        panic!("parameters are an object");
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .canonicalize()
        .unwrap();
    let limits = Limits {
        roots: vec![folder],
        timeout: Duration::from_secs(9),
        jobs: 1,
        memory: 0,
    };
    call(named(tool).expect("a tool"), &given, &limits)
}

fn line(tool: &str, given: Value) -> Vec<String> {
    let understood = understood(tool, given);
    understood
        .unwrap_or_else(|failure| panic!("{failure:?}"))
        .job
        .line
}

#[test]
fn parameters_become_flags_in_one_word_each() {
    let given = json!({ "text": "kernel", "function": "k", "launch": "--grid 4 --threadgroup=2", "print": ["0", "1:4"],
                        "defines": ["A=1"], "check": true, "counts": false, "max_steps": 7 });
    let expected = [
        "run",
        "--format=json",
        "--function=k",
        "--grid=4",
        "--threadgroup=2",
        "--check",
        "--print=0",
        "--print=1:4",
        "--max-steps=7",
        "-DA=1",
        "kernel.metal",
    ];
    assert_eq!(line("run", given), expected);
    let injected = json!({ "text": "kernel", "function": "--baseline=/etc/passwd" });
    assert!(line("profile", injected).contains(&"--function=--baseline=/etc/passwd".to_owned()));
}

#[test]
fn a_comparison_is_two_command_lines() {
    let given = json!({ "before_text": "a", "after_text": "b", "buffers": [2], "function": "k", "after_function": "l",
                        "launch": "// assay: launch k --grid 4 --bytes 1=u32:3", "after_launch": "--grid 2" });
    let call = understood("compare", given).unwrap_or_else(|failure| panic!("{failure:?}"));
    let before = [
        "run",
        "--format=json",
        "--function=k",
        "--grid=4",
        "--bytes=1=u32:3",
        "before.metal",
    ];
    assert_eq!(call.job.line, before);
    assert_eq!(
        call.job.after,
        [
            "run",
            "--format=json",
            "--function=l",
            "--grid=2",
            "after.metal"
        ]
    );
    assert_eq!(call.job.buffers, [2]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (tool, given) in [
        ("profile", json!({})),
        ("profile", json!({ "path": "Cargo.toml", "text": "kernel" })),
        ("profile", json!({ "path": "../Cargo.toml" })),
        ("profile", json!({ "path": "src" })),
        ("profile", json!({ "path": 3 })),
        ("profile", json!({ "text": "kernel", "colour": "red" })),
        ("run", json!({ "text": "kernel", "launch": "--grid" })),
        (
            "run",
            json!({ "text": "kernel", "launch": "--grid 1 --out 0=x.npy" }),
        ),
        ("run", json!({ "text": "kernel", "max_steps": 0 })),
        ("run", json!({ "text": "kernel", "check": "yes" })),
        (
            "compare",
            json!({ "before_text": "a", "after_text": "b", "buffers": [] }),
        ),
        (
            "compare",
            json!({ "before_text": "a", "after_text": "b", "buffers": [-1] }),
        ),
        ("explain", json!({ "rule": "--help" })),
        (
            "rewrite",
            json!({ "text": "kernel", "list": true, "output": "Cargo.toml" }),
        ),
        (
            "rewrite",
            json!({ "text": "kernel", "list": true, "output": "../x.metal" }),
        ),
    ] {
        assert!(understood(tool, given.clone()).is_err(), "{tool} {given}");
    }
    let patient = understood("run", json!({ "text": "kernel", "timeout_seconds": 999 }));
    assert_eq!(patient.unwrap().timeout, Duration::from_secs(9));
}

#[test]
fn every_flag_of_the_table_is_one_of_its_command() {
    use clap::CommandFactory;
    let program = crate::app::Cli::command();
    for tool in TOOLS {
        let command = program.find_subcommand(tool.command[0]).expect("a command");
        let known = |flag: &str| {
            command.get_arguments().any(|argument| {
                argument
                    .get_long()
                    .is_some_and(|long| format!("--{long}") == flag)
                    || argument
                        .get_short()
                        .is_some_and(|short| format!("-{short}") == flag)
            })
        };
        let fixed = tool.command[1..]
            .iter()
            .map(|word| word.split('=').next().unwrap_or_default());
        let flags = tool
            .all_parameters()
            .filter_map(|parameter| match parameter.kind {
                Kind::Switch(flag) | Kind::Text(flag) | Kind::Texts(flag) | Kind::Number(flag) => {
                    Some(flag)
                }
                Kind::Folders(flag) | Kind::InputFlag(flag) => Some(flag),
                _ => None,
            });
        for flag in fixed.chain(flags) {
            assert!(known(flag), "{}: {flag}", tool.name);
        }
    }
}
