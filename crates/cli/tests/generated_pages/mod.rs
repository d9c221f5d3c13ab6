//! Pages of the guide that are made from the program.

use crate::root;
use serde_json::Value;
use std::fmt::Write as _;
use std::process::Command;

fn assay(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .env("COLUMNS", "100")
        .output()
        .expect("assay runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Compares a page with what is in `docs`; with `BLESS=1` writes it there.
#[track_caller]
fn check(name: &str, page: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).expect("writable");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/{name} is not current: BLESS=1 cargo test --test readme"
    );
}

/// The commands that a help text lists.
fn subcommands(words: &[&str], help: &str) -> Vec<String> {
    // The program's own are in groups, a line each.
    let of_program = words.is_empty().then(|| assay(&[]));
    let help = of_program.as_deref().unwrap_or(help);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.flat_map(|line| {
        let mut names = line.split_whitespace();
        match words.is_empty() {
            true => names.skip(1).collect::<Vec<_>>(),
            false => names.next().into_iter().collect(),
        }
    });
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn add_command(page: &mut String, words: &[&str]) {
    let mut arguments = words.to_vec();
    arguments.push("--help");
    let help = assay(&arguments);
    let level = "#".repeat(1 + words.len().max(1));
    let name = [&["assay"], words].concat().join(" ");
    let text: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let _ = write!(
        page,
        "\n{level} {name}\n\n```text\n{}\n```\n",
        text.join("\n")
    );
    for name in subcommands(words, &help) {
        add_command(page, &[words, &[name.as_str()]].concat());
    }
}

#[test]
fn the_page_of_commands_is_their_help() {
    let mut page = String::from("# Commands\n\nWhat `assay COMMAND --help` prints.\n");
    add_command(&mut page, &[]);
    check("commands.md", &page);
}

#[test]
fn the_page_of_findings_is_their_manual() {
    let rules: Value =
        serde_json::from_str(&assay(&["explain", "--format", "json"])).expect("JSON");
    let mut page = String::from(
        "# Findings\n\nWhat `assay explain RULE` prints, for every rule of `profile`, `trace` and `gate`.\n",
    );
    for rule in rules["rules"].as_array().expect("rules") {
        if rule["command"] == "word" {
            continue;
        }
        let text = |key: &str| rule[key].as_str().expect("a text").to_owned();
        let body = text("page")
            .replace("\n## ", "\n### ")
            .replace("\n# ", "\n### ");
        let body = body
            .strip_prefix("## ")
            .map_or(body.clone(), |rest| format!("### {rest}"));
        let _ = write!(page, "\n## {}\n\n{}\n", text("id"), body.trim_end());
    }
    check("findings.md", &page);
}

#[test]
fn the_glossary_is_every_word_of_reports() {
    let rules: Value =
        serde_json::from_str(&assay(&["explain", "--format", "json"])).expect("JSON");
    let mut page = String::from(
        "# Glossary\n\nWhat `assay explain WORD` prints of words in reports that are not [rules](findings.md) or\n\
         [recipes](recipes.md).\n",
    );
    for rule in rules["rules"].as_array().expect("rules") {
        if rule["command"] == "word" {
            let text = rule["page"].as_str().expect("a text");
            let (name, body) = text.split_once("\n\n").expect("a heading");
            let _ = write!(page, "\n## {name}\n\n{}\n", body.trim_end());
        }
    }
    check("glossary.md", &page);
}
