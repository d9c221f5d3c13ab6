//! The documentation is true: its commands are run, its generated pages are current, its links lead somewhere.
//!
//! In a `console` block a line that starts with `$ ` is a command, run by `sh` in
//! the workspace's root with this build of `assay` first on the path. The lines
//! under it are its output, exactly; only figures of outputs that hold times of this machine (`host`) or name its clang
//! are compared as figures, whatever they are. A command without output lines only has to succeed. A command that ends
//! with status 4 needs something this machine lacks (a clang, say) and is skipped. Blocks
//! of another kind (`sh`) are shown, not run: they install or take long. `BLESS=1` writes outputs that changed.
//!
//! `docs/commands.md`, `docs/findings.md` and `docs/glossary.md` are made from the program itself: `BLESS=1` writes them.

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

/// A line without its figures, and without the CPU's name, where they are this machine's.
fn masked(line: &str) -> String {
    if line.starts_with("CPU ") {
        return "CPU".to_owned();
    }
    let mut out = String::new();
    let mut inside = false;
    // Columns are as wide as their figures.
    let mut blank = false;
    let mut before = ' ';
    for character in line.chars() {
        let of_figure = matches!(character, '.' | ',' | 'e') || (character, before) == ('-', 'e');
        let part = character.is_ascii_digit() || (inside && of_figure);
        before = character;
        match (part, character) {
            (true, _) if !inside => out.push('#'),
            (true, _) => {}
            (false, ' ') if blank => {}
            // A unit changes with its figure.
            (false, 'n' | 'µ' | 'm') if out.ends_with("# ") => {}
            (false, other) => out.push(other),
        }
        (inside, blank) = (part, character == ' ');
    }
    out
}

/// Returns true if the output is what is shown.
fn fits(shown: &[String], actual: &[&str]) -> bool {
    // A table of times: what is above it says whose they are.
    let all = actual.iter().any(|line| line.starts_with("host times"));
    let same = |(shown, actual): (&String, &&str)| {
        let masks = (all || of_this_machine(actual)) && masked(shown) == masked(actual);
        masks || shown == actual
    };
    shown.len() == actual.len() && shown.iter().zip(actual).all(same)
}

/// Returns true if figures of a line are this machine's, or change from run to run.
fn of_this_machine(line: &str) -> bool {
    ["(host", "clang version", "on this CPU", "by seed"]
        .iter()
        .any(|word| line.contains(word))
}

/// Runs the commands of a document, in order.
fn run_commands(document: &str) {
    let text = std::fs::read_to_string(root().join(document)).expect("a document");
    let steps = steps(&text);
    // What needs a package registry is run and compared by a script; what no registry has, by hand.
    let is_elsewhere = ["programs.sh", "by hand"]
        .iter()
        .any(|who| text.contains(&format!("```text {who}: ")));
    assert!(
        !steps.is_empty() || is_elsewhere,
        "{document} shows no commands"
    );
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
    let mut wrong = Vec::new();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut moved = 0;
    for step in steps {
        let output = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(root())
            .env("PATH", &path)
            .env("COLUMNS", "80")
            .env("ASSAY_BOARD", tour.path().join("board.db"))
            .env("ASSAY_ATTEMPTS", tour.path().join("attempts.db"))
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
        let fine = match step.expected.is_empty() {
            true => output.status.success(),
            false => fits(&step.expected, &actual),
        };
        if fine {
            continue;
        }
        wrong.push(format!(
            "{document}:{}: `{}` ended with {} and printed\n{stdout}{stderr}",
            step.line, step.command, output.status,
        ));
        if !step.expected.is_empty() {
            let from = (step.line as isize + moved) as usize;
            let after = from + step.expected.len();
            lines.splice(from..after, actual.iter().map(|line| (*line).to_owned()));
            moved += actual.len() as isize - step.expected.len() as isize;
        }
    }
    if std::env::var_os("BLESS").is_some() && moved_or_changed(&text, &lines) {
        std::fs::write(root().join(document), lines.join("\n") + "\n").expect("writable");
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn moved_or_changed(text: &str, lines: &[String]) -> bool {
    text.lines().ne(lines.iter().map(String::as_str))
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
fn only_figures_of_this_machine_may_differ() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a 1"), &["a 1"]));
    assert!(!fits(&lines("a 1"), &["a 2"]));
    assert!(fits(&lines("91.3 µs (host)"), &["1.2 ms (host)"]));
    let board = |time: &str| {
        lines(&format!(
            "CPU A, 2 threads\nhost times of a CPU\nrelu {time}"
        ))
    };
    let other = ["CPU B, 8 threads", "host times of a CPU", "relu 4.2e-3 s"];
    assert!(fits(&board("0.1 s"), &other));
    assert!(!fits(&board("0.1 s wrong"), &other));
    // One line of a machine does not excuse the others.
    assert!(!fits(
        &lines("1 ms (host)\nsum 3"),
        &["2 ms (host)", "sum 4"]
    ));
    assert!(!fits(&lines("host  f(32)"), &["host  f(64)"]));
    assert!(!fits(&lines("91.3 µs (host)"), &["1.2 ms (host), wrong"]));
}

#[test]
fn no_output_is_shortened() {
    for document in documents() {
        let name = document.display().to_string();
        let text = std::fs::read_to_string(&document).expect("readable");
        for step in steps(&text) {
            // `<FILE>...` of a usage line means that there may be several.
            let is_cut = |line: &&String| line.trim() == "..." || line.contains(" ...");
            let dots = step.expected.iter().find(is_cut);
            assert!(dots.is_none(), "{name}:{}: {}", step.line, step.command);
        }
    }
}
