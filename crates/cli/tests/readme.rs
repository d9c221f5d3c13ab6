//! The documentation is true: its commands are run, its generated pages are current, its links lead somewhere.
//!
//! In a `console` block a line that starts with `$ ` is a command, run by `sh` in
//! the workspace's root with this build of `assay` first on the path. The lines
//! under it are its output; `...` stands for any number of lines, and inside a line
//! for any text. A command without output lines only has to succeed. A command that ends
//! with status 4 needs something this machine lacks (a clang, say) and is skipped. Blocks
//! of another kind (`sh`) are shown, not run: they install or take long.
//!
//! `docs/commands.md` and `docs/findings.md` are made from the program itself: `BLESS=1` writes them.

mod generated_pages;

use std::path::{Path, PathBuf};
use std::process::Command;

struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            steps.push(Step {
                line: index + 1,
                command: command.to_owned(),
                expected: Vec::new(),
            });
        } else if inside && let Some(step) = steps.last_mut() {
            step.expected.push(line.to_owned());
        }
    }
    steps
}

/// Whether `actual` fits `pattern`, where `...` matches any text.
fn line_fits(pattern: &str, actual: &str) -> bool {
    let mut pieces = pattern.split("...");
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn lines_fit(pattern: &[String], actual: &[&str]) -> bool {
    match pattern.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=actual.len()).any(|skipped| lines_fit(rest, &actual[skipped..]))
        }
        Some((first, rest)) => match actual.split_first() {
            Some((line, others)) => line_fits(first, line) && lines_fit(rest, others),
            None => false,
        },
    }
}

/// Runs the commands of a document, in order.
fn run_commands(document: &str) {
    let text = std::fs::read_to_string(root().join(document)).expect("a document");
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{document} shows no commands");
    let folder = Path::new(env!("CARGO_BIN_EXE_assay"))
        .parent()
        .expect("a folder");
    let path = format!(
        "{}:{}",
        folder.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    // A tour starts with an empty board, not with the user's.
    let tour = tempfile::tempdir().expect("a folder");
    for step in steps {
        let output = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(root())
            .env("PATH", &path)
            .env("COLUMNS", "100")
            .env("ASSAY_BOARD", tour.path().join("board.db"))
            .output()
            .expect("sh runs");
        if output.status.code() == Some(4) {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
            continue;
        }
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        // With the result in a file a terminal shows what is said about it.
        let seen = if stdout.is_empty() { &stderr } else { &stdout };
        let actual: Vec<&str> = seen.trim_end().lines().map(str::trim_end).collect();
        let shown = step
            .expected
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>();
        let fits = if shown.is_empty() {
            output.status.success()
        } else {
            lines_fit(&shown, &actual)
        };
        assert!(
            fits,
            "{document}:{}: `{}` ended with {} and printed\n{stdout}{stderr}",
            step.line, step.command, output.status,
        );
    }
}

#[test]
fn the_commands_print_what_the_readme_shows() {
    run_commands("README.md");
}

#[test]
fn the_commands_print_what_the_guide_shows() {
    let chapters = std::fs::read_dir(root().join("docs/guide")).expect("the guide");
    let mut names: Vec<String> = chapters
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    for name in names {
        run_commands(&format!("docs/guide/{name}"));
    }
}

/// Every document of the repository that links to others.
fn documents() -> Vec<PathBuf> {
    let folders = [
        "",
        "docs",
        "docs/guide",
        "crates/codegen",
        "crates/timing",
        "fixtures",
        "crates/bench/kernels",
    ];
    let files = folders
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(root().join(folder)).expect("a folder"))
        .filter_map(|entry| Some(entry.ok()?.path()));
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

#[test]
fn links_lead_to_files_that_exist() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("readable");
        let folder = document.parent().expect("a folder");
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || file.is_empty();
            if !elsewhere && !folder.join(file).exists() {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn an_ellipsis_stands_for_text_and_for_lines() {
    assert!(line_fits("a ... c", "a b c"));
    assert!(!line_fits("a ... c", "a b d"));
    assert!(line_fits("a", "a"));
    assert!(!line_fits("a", "ab"));
    let pattern = ["x".to_owned(), "...".to_owned(), "z".to_owned()];
    assert!(lines_fit(&pattern, &["x", "y", "y", "z"]));
    assert!(!lines_fit(&pattern, &["x", "y"]));
}
