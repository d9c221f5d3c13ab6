//! What may be left out of a command line, filled in before it is parsed: `assay FILE` profiles the file, `--json` is
//! `--format json`, the name after `-o` chooses the format, and a second Metal source is linked with the first.

use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The line in full. `program` knows which commands there are and which formats each has.
pub(crate) fn expand(mut line: Vec<OsString>, program: &Command) -> Vec<OsString> {
    if names_a_file(&line, program) {
        line.insert(1, "profile".into());
    }
    let Some((command, after)) = command_of(&line, program) else {
        return line;
    };
    let end = line.iter().position(|word| word == "--");
    let end = end.unwrap_or(line.len());
    for word in &mut line[after.min(end)..end] {
        if word == "--json" && !has_option(command, "json") {
            *word = "--format=json".into();
        }
    }
    link_sources(&mut line, command, after);
    let end = line.iter().position(|word| word == "--");
    let end = end.unwrap_or(line.len());
    let own = &line[after.min(end)..end];
    let says_format = own.iter().any(|word| {
        word.to_str()
            .is_some_and(|word| word.starts_with("--format"))
    });
    if !says_format && let Some(format) = out(own).and_then(|path| format_of(path, command)) {
        line.insert(after, format!("--format={format}").into());
    }
    line
}

/// `profile A.metal B.metal` is `profile A.metal --link B.metal`, where a command takes one file.
fn link_sources(line: &mut Vec<OsString>, command: &Command, after: usize) {
    let one_file = command.get_positionals().count() == 1
        && command
            .get_positionals()
            .all(|file| matches!(file.get_action(), ArgAction::Set));
    if !one_file || !has_option(command, "link") {
        return;
    }
    let (mut at, mut sources) = (after, 0);
    while let Some(word) = line.get(at).filter(|word| *word != "--") {
        let text = word.to_string_lossy();
        if text.starts_with('-') && text.len() > 1 {
            // Of every command, so not among its own arguments.
            let takes = text == "-o" || text == "--out" || takes_next(command, &text);
            at += 1 + usize::from(takes);
            continue;
        }
        let is_source = Path::new(word)
            .extension()
            .is_some_and(|end| end == "metal");
        sources += usize::from(is_source);
        if is_source && sources > 1 {
            line.insert(at, "--link".into());
            at += 1;
        }
        at += 1;
    }
}

/// Returns true if an option has its value in the next word.
fn takes_next(command: &Command, word: &str) -> bool {
    let long = word.strip_prefix("--");
    let named = |arg: &&Arg| match long {
        Some(name) => arg.get_long() == Some(name),
        None => arg
            .get_short()
            .is_some_and(|short| word[1..] == *short.to_string()),
    };
    let takes = |arg: &Arg| {
        matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
            && !arg.is_require_equals_set()
    };
    command.get_arguments().find(named).is_some_and(takes)
}

/// Returns true if the first word is not a command and not an option, and leads to a file or looks like one.
fn names_a_file(line: &[OsString], program: &Command) -> bool {
    let Some(word) = line.get(1) else {
        return false;
    };
    let text = word.to_string_lossy();
    if text.starts_with('-') || text == "help" || program.find_subcommand(word).is_some() {
        return false;
    }
    let path = Path::new(word);
    path.is_file() || path.extension().is_some()
}

/// The innermost command that the line names, and where its own words begin.
fn command_of<'a>(line: &[OsString], program: &'a Command) -> Option<(&'a Command, usize)> {
    let mut found = (program.find_subcommand(line.get(1)?)?, 2);
    while let Some(inner) = line
        .get(found.1)
        .and_then(|word| found.0.find_subcommand(word))
    {
        found = (inner, found.1 + 1);
    }
    Some(found)
}

fn has_option(command: &Command, name: &str) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_long() == Some(name))
}

/// The file that `-o` or `--out` names.
fn out(words: &[OsString]) -> Option<&OsStr> {
    for (at, word) in words.iter().enumerate() {
        if word == "-o" || word == "--out" {
            return words.get(at + 1).map(OsString::as_os_str);
        }
        let text = word.to_str().unwrap_or_default();
        if let Some(rest) = text.strip_prefix("--out=") {
            return Some(OsStr::new(rest));
        }
    }
    None
}

/// The format of a command that a file's name stands for.
fn format_of(path: &OsStr, command: &Command) -> Option<&'static str> {
    let format = match Path::new(path).extension()?.to_str()? {
        "html" | "htm" => "html",
        "json" => "json",
        "jsonl" => "jsonl",
        "md" => "markdown",
        "csv" => "csv",
        "dot" => "dot",
        _ => return None,
    };
    let option = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some("format"))?;
    let known = option.get_possible_values();
    known
        .iter()
        .any(|value| value.get_name() == format)
        .then_some(format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let program = crate::app::Cli::command();
        assert_eq!(expand(words(line), &program), words(expected));
    }

    #[test]
    fn a_file_is_profiled() {
        check("assay softmax.metal", "assay profile softmax.metal");
        check("assay softmax", "assay softmax");
        check("assay help.metal --full", "assay profile help.metal --full");
        check("assay --version", "assay --version");
    }

    #[test]
    fn a_second_source_is_linked() {
        check(
            "assay profile a.metal b.metal -f k c.metal",
            "assay profile a.metal --link b.metal -f k --link c.metal",
        );
        check(
            "assay a.metal b.metal",
            "assay profile a.metal --link b.metal",
        );
        check(
            "assay profile a.metal --link b.metal -o c.metal",
            "assay profile a.metal --link b.metal -o c.metal",
        );
        check("assay diff a.metal b.metal", "assay diff a.metal b.metal");
        check("assay run --check a.metal", "assay run --check a.metal");
    }

    #[test]
    fn json_is_a_format_before_the_program_that_is_run() {
        check("assay chips --json", "assay chips --format=json");
        check(
            "assay trace record --json -- p --json",
            "assay trace record --format=json -- p --json",
        );
    }

    #[test]
    fn the_name_of_the_result_chooses_the_format() {
        check(
            "assay profile a.metal -o a.html",
            "assay profile --format=html a.metal -o a.html",
        );
        check(
            "assay board export -o b.json",
            "assay board export --format=json -o b.json",
        );
        check(
            "assay profile a.metal -o a.html --format dot",
            "assay profile a.metal -o a.html --format dot",
        );
        check(
            "assay compile a.metal -o a.air",
            "assay compile a.metal -o a.air",
        );
    }
}
