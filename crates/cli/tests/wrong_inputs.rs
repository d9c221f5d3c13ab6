//! Wrong inputs, each with what the message must name and what must cure it (`wrong_inputs/list.txt`).
//!
//! Commands run in this process, in the folder of the list, whose files they name. An entry is a command line, a part of
//! the message that names the cause, and a part of message or advice that is a command, an edit or a choice that cures it.

use std::ffi::OsString;
use std::path::Path;

struct Entry<'t> {
    line: &'t str,
    says: &'t str,
    cure: &'t str,
}

fn entries(list: &str) -> Vec<Entry<'_>> {
    let blocks = list.split("\n\n").filter(|block| block.contains("$ "));
    let of = |block: &'_ str, mark: &str| -> Option<std::ops::Range<usize>> {
        let start = block.find(mark)? + mark.len();
        let end = block[start..]
            .find('\n')
            .map_or(block.len(), |end| start + end);
        Some(start..end)
    };
    blocks
        .map(|block| {
            let part = |mark| {
                &block[of(block, mark).unwrap_or_else(|| panic!("{mark} is missing: {block}"))]
            };
            Entry {
                line: part("$ "),
                says: part("says: "),
                cure: part("cure: "),
            }
        })
        .collect()
}

/// Words of a command line, where `'…'` is one.
fn words(line: &str) -> Vec<OsString> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("one").push(c),
        }
    }
    words.into_iter().map(OsString::from).collect()
}

/// Message and advice of a failure, or what was printed by a command that fails in its report.
fn told(answer: &assay_metal::api::Answer) -> String {
    let Some(error) = &answer.error else {
        return String::from_utf8_lossy(&answer.output).into_owned();
    };
    let error: serde_json::Value = serde_json::from_str(error).expect("a document");
    let part = |name: &str| error["error"][name].as_str().unwrap_or_default().to_owned();
    format!("{}\n{}", part("message"), part("advice"))
}

#[test]
fn every_wrong_input_is_named_and_cured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong_inputs");
    let list = std::fs::read_to_string(folder.join("list.txt")).expect("the list");
    let entries = entries(&list);
    assert!(entries.len() >= 90, "{} entries", entries.len());
    let doctor = assay_metal::api::call(&["doctor".into()], Vec::new());
    if doctor.code == 4 {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    std::env::set_current_dir(&folder).expect("the folder");
    let mut wrong = Vec::new();
    for Entry { line, says, cure } in &entries {
        let answer = assay_metal::api::call(&words(line), Vec::new());
        let text = told(&answer);
        if answer.code == 0 || !text.contains(says) || !text.contains(cure) {
            wrong.push(format!(
                "$ assay {line}\n  exit {}\n  wanted: {says} / {cure}\n{text}",
                answer.code
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        entries.len(),
        wrong.join("\n")
    );
}
