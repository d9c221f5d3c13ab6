//! Programs that `assay gate` holds. A shell script stands for a program: it leaves the recording of a real one where Metal would.

use crate::repository::{cache, edit, git, text, write};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const CONFIG: &str = "chips = ['m2', 'm4-max']\n\n[[program]]\nname = 'chain'\nbuild = 'cp program.sh program'\nrun = './program 4'\n";

/// What a program does that records like one of the examples.
fn program(recording: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces");
    format!(
        "#!/bin/sh\ncp {}/{recording}.recording \"$ASSAY_METAL_RECORD\"\n",
        examples.canonicalize().expect("examples").display()
    )
}

/// A line of what was reported.
const FAULT: &str = "echo '{\"kind\":\"fault\",\"rule\":\"out-of-bounds\",\"text\":\"a write\",\"kernel\":\"sine\"}' >> \"$ASSAY_METAL_REPORT\"\n";

/// A repository whose program is fused, with a base on `main` and the work on `change`.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path();
    write(work, "assay.toml", CONFIG);
    write(work, "program.sh", &program("fused"));
    write(work, ".gitignore", "program\n");
    git(work, &["init", "-q"]);
    git(work, &["add", "-A"]);
    git(work, &["update-index", "--chmod=+x", "program.sh"]);
    git(work, &["commit", "-q", "-m", "A program"]);
    git(work, &["checkout", "-q", "-b", "change"]);
    make_executable(work);
    folder
}

fn make_executable(work: &Path) {
    let status = Command::new("chmod")
        .args(["+x", "program.sh"])
        .current_dir(work)
        .status();
    assert!(status.expect("chmod").success());
}

fn gate(work: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["gate", "--against", "main"])
        .args(arguments)
        .current_dir(work)
        .env("ASSAY_CACHE", cache())
        // The scripts do not load it; it must only be there.
        .env("ASSAY_METAL_LIBRARY", work.join("assay.toml"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "160")
        .output()
        .expect("assay runs")
}

/// Gates a change of the program; rules and messages of what does not hold, and the report. None without a clang.
fn held(change: impl FnOnce(&Path), arguments: &[&str]) -> Option<(Vec<String>, String, Value)> {
    let folder = repository();
    let work = folder.path();
    change(work);
    let output = gate(work, &[&["--format", "json"], arguments].concat());
    if output.status.code() == Some(4) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return None;
    }
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    let problems = report["problems"].as_array().expect("problems").iter();
    let told = |key: &str, one: &Value| one[key].as_str().expect("a text").to_owned();
    let rules = problems.clone().map(|one| told("rule", one)).collect();
    let messages: Vec<String> = problems.map(|one| told("message", one)).collect();
    assert_eq!(report["passed"] == true, messages.is_empty());
    let code = i32::from(!messages.is_empty());
    assert_eq!(output.status.code(), Some(code));
    Some((rules, messages.join("\n"), report))
}

fn rewrite(work: &Path, text: &str) {
    write(work, "program.sh", text);
    make_executable(work);
}

#[test]
fn a_program_that_is_as_before_passes_and_has_bands() {
    let Some((rules, _, report)) = held(|_| (), &["--programs"]) else {
        return;
    };
    assert!(rules.is_empty(), "{report:#}");
    let program = &report["programs"][0];
    assert_eq!(
        (&program["name"], &program["outcome"]),
        (&"chain".into(), &"same".into())
    );
    let time = &program["differences"][0];
    assert_eq!(
        (&time["figure"], &time["chip"]),
        (&"time".into(), &"m2".into())
    );
    let number = |value: &Value| value.as_f64().expect("a number");
    assert_eq!(time["before"], time["after"]);
    assert!(
        number(&time["band"][0]) < number(&time["after"])
            && number(&time["after"]) < number(&time["band"][1])
    );
    assert_eq!(program["differences"][2]["after"], 64.0);
    assert_eq!(report["summary"]["programs"], 1);
}

#[test]
fn a_slower_program_with_more_dispatches_and_bytes_fails() {
    let slower = |work: &Path| rewrite(work, &program("eager"));
    let Some((rules, messages, _)) = held(slower, &["--programs"]) else {
        return;
    };
    assert_eq!(
        rules,
        [
            "program-slower",
            "program-slower",
            "program-grew",
            "program-grew"
        ]
    );
    assert!(
        messages.contains("dispatches grew from 64 to 160 (+150.0 %, allowed 0 %)"),
        "{messages}"
    );
    assert!(messages.contains("time m4-max grew from"), "{messages}");
    assert!(messages.contains("bytes grew from"), "{messages}");
    // A program of the command line has limits of its own.
    let named = [
        "--program",
        "mine=./program.sh",
        "--fail-on",
        "dispatches:200%",
    ];
    let Some((rules, _, report)) = held(slower, &named) else {
        return;
    };
    assert!(rules.is_empty(), "{report:#}");
    assert_eq!(report["programs"][0]["name"], "mine");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("programs are not run: 1 of assay.toml"),
        "{notes}"
    );
}

#[test]
fn a_faulty_program_fails_unless_it_was_faulty_before() {
    let faulty = |work: &Path| rewrite(work, &(program("fused") + FAULT));
    let Some((rules, messages, _)) = held(faulty, &["--programs"]) else {
        return;
    };
    assert_eq!(rules, ["program-faults"]);
    assert_eq!(messages, "1 report, 0 before: out-of-bounds: a write");
    // As a checked run ends that has reports.
    let checked = |work: &Path| rewrite(work, &(program("fused") + FAULT + "exit 1\n"));
    let named = ["--program", "mine=./program.sh", "--check"];
    let Some((rules, ..)) = held(checked, &named) else {
        return;
    };
    assert_eq!(rules, ["program-faults"]);
    let Some((rules, ..)) = held(checked, &named[..2]) else {
        return;
    };
    assert_eq!(rules, ["program-fails"]);
    let both = |work: &Path| {
        faulty(work);
        git(work, &["commit", "-q", "-am", "A fault"]);
        git(work, &["branch", "-f", "main"]);
    };
    let Some((rules, ..)) = held(both, &["--programs"]) else {
        return;
    };
    assert!(rules.is_empty());
}

#[test]
fn a_program_that_fails_or_uses_no_metal_says_so() {
    let cases = [
        (
            "#!/bin/sh\necho no model >&2\nexit 3\n",
            "it does not run: it ended with 3; it printed: no model",
        ),
        ("#!/bin/sh\n", "it commits no work to Metal"),
    ];
    for (text, expected) in cases {
        let Some((rules, messages, _)) = held(|work| rewrite(work, text), &["--programs"]) else {
            return;
        };
        assert_eq!(rules, ["program-fails"]);
        assert!(messages.contains(expected), "{messages}");
    }
    let gone = |work: &Path| std::fs::remove_file(work.join("program.sh")).expect("removed");
    let Some((_, messages, _)) = held(gone, &["--programs"]) else {
        return;
    };
    assert!(
        messages.contains("it cannot be built: it ended with 1"),
        "{messages}"
    );
    // What never ends is ended, with all that it started.
    let limit = |work: &Path| {
        edit(
            work,
            "assay.toml",
            "run = './program 4'",
            "run = 'sleep 100 & sleep 100'\nmax_seconds = 0.2",
        );
        git(work, &["commit", "-q", "-am", "Endless"]);
        git(work, &["branch", "-f", "main"]);
    };
    let Some((rules, messages, _)) = held(limit, &["--programs"]) else {
        return;
    };
    assert_eq!(rules, ["program-fails"]);
    assert!(
        messages.contains("it was ended after 0.2 s (max_seconds)"),
        "{messages}"
    );
}

#[test]
fn a_pull_request_cannot_say_what_is_run() {
    let another = |work: &Path| {
        edit(
            work,
            "assay.toml",
            "./program 4",
            "touch run-by-the-head; ./program 4",
        );
        let new = "\n[[program]]\nname = 'new'\nrun = 'touch run-by-the-head'\n";
        let old = std::fs::read_to_string(work.join("assay.toml")).expect("a file");
        write(work, "assay.toml", &(old + new));
    };
    let folder = repository();
    another(folder.path());
    let output = gate(folder.path(), &["--programs"]);
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let told = text(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(!folder.path().join("run-by-the-head").exists());
    for line in [
        "assay.toml:6: error: configuration changed: program chain is another; the base's counts [configuration-weakened]",
        "assay.toml:9: program new is new; it is not run before the base has it",
        "chain    time m2",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    // Nothing runs that is not asked for.
    let before = repository();
    edit(before.path(), "program.sh", "cp ", "touch was-run; cp ");
    git(before.path(), &["commit", "-q", "-am", "Leaves a mark"]);
    let output = gate(before.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(!before.path().join("was-run").exists());
    assert!(
        text(&output).contains("--programs runs them"),
        "{}",
        text(&output)
    );
}

#[test]
fn every_form_of_the_report_has_the_program() {
    let folder = repository();
    rewrite(folder.path(), &program("eager"));
    let names = [
        "markdown=r.md",
        "html=r.html",
        "junit=r.xml",
        "sarif=r.sarif",
        "github=r.txt",
    ];
    let mut arguments = vec!["--programs"];
    arguments.extend(names.iter().flat_map(|name| ["--also", name]));
    let output = gate(folder.path(), &arguments);
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a report");
    for (name, expected) in [
        ("r.md", "| `chain` | time m2 |"),
        ("r.html", "./program 4"),
        ("r.xml", "<testcase classname=\"programs\" name=\"chain\">"),
        ("r.sarif", "program-grew"),
        (
            "r.txt",
            "::error file=assay.toml,line=4,title=chain%3A program-slower::time m2 grew",
        ),
    ] {
        assert!(read(name).contains(expected), "{name}: {}", read(name));
    }
    assert!(
        text(&output).contains("; 1 program, 1 failed"),
        "{}",
        text(&output)
    );
}
