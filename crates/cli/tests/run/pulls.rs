//! Sixty pull requests as data: hostile ones fail at the right line, harmless ones pass.

use crate::repository::{assay, git, text, write};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Lines that are replaced, and those in their place.
type Change = (Vec<String>, Vec<String>);

/// A pull request: its name, what is expected, and its edits.
struct Pull {
    name: String,
    problems: Vec<String>,
    /// What of a file is changed, by the file.
    edits: Vec<(String, Vec<Change>)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/pulls")
}

fn read(file: &str) -> Vec<Pull> {
    let text = std::fs::read_to_string(folder().join(file)).expect("pull requests");
    let mut pulls: Vec<Pull> = Vec::new();
    let mut adding = false;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("== ") {
            let (name, problems) = head.split_once(": ").unwrap_or((head, ""));
            let problems = problems.split("; ").filter(|it| !it.is_empty());
            pulls.push(Pull {
                name: name.to_owned(),
                problems: problems.map(str::to_owned).collect(),
                edits: Vec::new(),
            });
            continue;
        }
        let Some(pull) = pulls.last_mut() else {
            continue;
        };
        if let Some(what) = line.strip_prefix("@ ") {
            pull.edits.push((what.to_owned(), Vec::new()));
            adding = true;
            continue;
        }
        let Some((_, changes)) = pull.edits.last_mut() else {
            continue;
        };
        if let Some(removed) = line.strip_prefix('-') {
            if adding {
                changes.push((Vec::new(), Vec::new()));
            }
            adding = false;
            changes
                .last_mut()
                .expect("a change")
                .0
                .push(removed.to_owned());
        } else if let Some(added) = line.strip_prefix('+') {
            if changes.is_empty() {
                changes.push((Vec::new(), Vec::new()));
            }
            adding = true;
            changes
                .last_mut()
                .expect("a change")
                .1
                .push(added.to_owned());
        }
    }
    pulls
}

impl Pull {
    fn apply(&self, work: &Path) {
        for (what, changes) in &self.edits {
            let words: Vec<&str> = what.split(' ').collect();
            match words[..] {
                ["new", file] => write(work, file, &(changes[0].1.join("\n") + "\n")),
                ["gone", file] => std::fs::remove_file(work.join(file)).expect("removed"),
                ["moved", from, to] => {
                    let to = work.join(to);
                    std::fs::create_dir_all(to.parent().expect("a folder")).expect("made");
                    std::fs::rename(work.join(from), to).expect("moved");
                }
                [file] => {
                    let mut text = std::fs::read_to_string(work.join(file)).expect("a file");
                    for (from, to) in changes {
                        let (from, to) = (from.join("\n"), to.join("\n"));
                        assert!(text.contains(&from), "{}: {file} has no {from}", self.name);
                        text = text.replacen(&from, &to, 1);
                    }
                    write(work, file, &text);
                }
                _ => panic!("{}: {what}", self.name),
            }
        }
    }

    /// What is not as expected.
    fn wrong(&self, origin: &Path) -> Option<String> {
        let place = tempfile::tempdir().expect("a folder");
        let source = origin.display().to_string();
        git(place.path(), &["clone", "-q", &source, "work"]);
        let work = place.path().join("work");
        self.apply(&work);
        let output = assay(&work, &["gate", "--against", "HEAD", "--format", "json"]);
        let name = &self.name;
        let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
            return Some(format!("{name}: no report: {}", text(&output)));
        };
        let problems = report["problems"].as_array().expect("problems").iter();
        let found: Vec<String> = problems
            .map(|problem| {
                let (rule, place) = (&problem["rule"], &problem["place"]);
                let (rule, file) = (rule.as_str().expect("a rule"), place["file"].as_str());
                format!("{rule} {}:{}", file.expect("a file"), place["line"])
            })
            .collect();
        let code = i32::from(!self.problems.is_empty());
        if found == self.problems && output.status.code() == Some(code) {
            return None;
        }
        let messages: Vec<String> = report["problems"]
            .as_array()
            .expect("problems")
            .iter()
            .map(|problem| format!("    {}", problem["message"]))
            .collect();
        Some(format!(
            "{name}: {}\n  expected {}\n{}",
            found.join("; "),
            self.problems.join("; "),
            messages.join("\n")
        ))
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("copied")),
        }
    }
}

#[test]
fn hostile_pull_requests_fail_at_the_right_line_and_harmless_ones_pass() {
    let place = tempfile::tempdir().expect("a folder");
    let origin = place.path().join("origin");
    copy(&folder().join("base"), &origin);
    git(&origin, &["init", "-q"]);
    git(&origin, &["add", "-A"]);
    git(&origin, &["commit", "-q", "-m", "Kernels"]);
    let first = assay(&origin, &["gate"]);
    if first.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    assert_eq!(first.status.code(), Some(0), "{}", text(&first));
    let (hostile, harmless) = (read("hostile.txt"), read("harmless.txt"));
    assert!(hostile.len() >= 30 && harmless.len() >= 30);
    assert!(hostile.iter().all(|pull| !pull.problems.is_empty()));
    let open = Mutex::new(hostile.into_iter().chain(harmless).collect::<Vec<_>>());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(pull) = open.lock().expect("a lock").pop() else {
                        return;
                    };
                    wrong.lock().expect("a lock").extend(pull.wrong(&origin));
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a lock");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
