//! Finds command lines in what the program prints.
//!
//! Examples of help are taken whole. Elsewhere a line begins with `assay` and a command, and ends where the words stop to look
//! like flags, files, placeholders or values; between backticks it is what stands there.

use super::{Group, Line, root, table};
use std::collections::{BTreeMap, BTreeSet};

/// What tells the words of a command line from those of a sentence.
struct Grammar {
    /// `profile`, `trace report`.
    commands: BTreeSet<String>,
    /// Options whose next word is their value.
    takes_value: BTreeSet<String>,
}

impl Grammar {
    fn of(help: &str) -> Grammar {
        let heading = |line: &str| line.trim_start_matches('#').trim_start().to_owned();
        let of_help = help
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(heading);
        let commands = of_help.filter_map(|line| Some(line.strip_prefix("assay ")?.to_owned()));
        let options = help.lines().filter_map(|line| {
            let option = line.split_once("--")?.1;
            let (name, rest) = option.split_once(' ')?;
            rest.starts_with('<').then(|| format!("--{name}"))
        });
        Grammar {
            commands: commands.collect(),
            takes_value: options.chain(["-f", "-o"].map(str::to_owned)).collect(),
        }
    }

    /// The command whose folder a line runs in: the section's, or that of one of its subcommands.
    fn owner<'a>(&'a self, section: &'a str, line: &str) -> &'a str {
        let inner = self.commands.iter().filter(|command| {
            let starts = line
                .strip_prefix("assay ")
                .and_then(|rest| rest.strip_prefix(&***command));
            let ends = starts.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
            ends && command.starts_with(&format!("{section} "))
        });
        inner
            .max_by_key(|command| command.len())
            .map_or(section, String::as_str)
    }

    /// The lines of a text, and whether each is all of a cell.
    fn lines(&self, text: &str) -> Vec<(String, bool)> {
        // A form of lines is not a line.
        if text.starts_with("Usage: ") {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (at, part) in text.split('`').enumerate() {
            let part = part.trim();
            if at % 2 == 0 {
                found.extend(self.bare(part));
            } else if part.starts_with("assay ") {
                let line: Vec<&str> = part.split_whitespace().collect();
                found.push((line.join(" "), false));
            }
        }
        found
    }

    /// Lines between words of a sentence.
    fn bare(&self, text: &str) -> Vec<(String, bool)> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let start = at;
            at += 1;
            if words[start].trim_start_matches(['(', '"']) != "assay" {
                continue;
            }
            let (line, end) = self.line(&words[at..]);
            at += end;
            if !line.is_empty() {
                let whole = start == 0 && at == words.len();
                found.push((format!("assay {}", line.join(" ")), whole));
            }
        }
        found
    }

    /// The words after `assay` that belong to its line, and how many were looked at.
    fn line(&self, words: &[&str]) -> (Vec<String>, usize) {
        let mut line: Vec<String> = Vec::new();
        for (at, raw) in words.iter().enumerate() {
            let word = raw.trim_end_matches([',', ';', '.', ':', ')', '"']);
            let before = line.last().map_or("", String::as_str);
            let named = line.join(" ");
            let is_open = before.matches('\'').count() % 2 == 1;
            let is_command = self.commands.contains(format!("{named} {word}").trim());
            let is_word = named == "explain" && word.starts_with(|c: char| c.is_lowercase());
            let belongs = is_open
                || is_command
                || is_word
                || self.takes_value.contains(before)
                || looks_like_argument(word);
            if !belongs || word.is_empty() {
                return (line, at);
            }
            line.push(word.to_owned());
            if word != *raw {
                return (line, at + 1);
            }
        }
        (line, words.len())
    }
}

/// Returns true for flags, files, values, words in quotes and placeholders.
fn looks_like_argument(word: &str) -> bool {
    let is_placeholder = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
    let is_flag = word.starts_with('-') && word.len() > 1;
    let inside = word.get(1..).unwrap_or_default();
    is_placeholder || is_flag || word.starts_with('\'') || inside.contains(['.', '/', '='])
}

/// The blocks of examples of a help text, and the text without them.
fn examples(help: &str) -> (Vec<String>, String) {
    let joined = help
        .lines()
        .fold(String::new(), |all, line| match all.strip_suffix("\\\n") {
            Some(before) => format!("{before}{}\n", line.trim_start()),
            None => format!("{all}{line}\n"),
        });
    let (mut lines, mut rest, mut inside) = (Vec::new(), String::new(), false);
    for line in joined.lines() {
        inside = (inside && !line.is_empty()) || line.starts_with("Example");
        match line.strip_prefix("  ").filter(|_| inside) {
            Some(example) => lines.push(example.to_owned()),
            None => rest += &format!("{line}\n"),
        }
    }
    let is_command = |line: &String| !line.starts_with('#');
    let without_remark = |line: String| {
        line.split(" # ")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let lines = lines.into_iter().filter(is_command).map(without_remark);
    (lines.collect(), rest)
}

/// Groups of lines, each line once; nothing without a clang, which errors of wrong inputs need.
pub(crate) fn collected() -> Option<Vec<Group>> {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).expect("a page");
    // Test `readme` says that this page is what --help prints.
    let help = read("docs/commands.md");
    let grammar = Grammar::of(&help);
    let mut groups = Groups::default();
    for section in help.split("\n#").skip(1) {
        let (heading, text) = section.split_once('\n').expect("a heading");
        let name = heading.trim_start_matches('#').trim();
        let command = name.strip_prefix("assay ").unwrap_or("assay");
        let (lines, rest) = examples(text);
        for line in lines {
            groups.add(grammar.owner(command, &line), command, &line);
        }
        for paragraph in rest.split("\n\n") {
            groups.add_of(&grammar, "pages", command, paragraph);
        }
    }
    for name in ["findings.md", "glossary.md"] {
        for paragraph in read(&format!("docs/{name}")).split("\n\n") {
            groups.add_of(&grammar, "pages", name, paragraph);
        }
    }
    for rule in assay_rewrite::recipe::rules() {
        for paragraph in rule.page().split("\n\n") {
            groups.add_of(&grammar, "pages", rule.id, paragraph);
        }
    }
    let folder = root().join("crates/cli/tests/screens");
    for (name, text) in texts(&folder) {
        for row in text.lines() {
            for cell in row.split("  ").flat_map(|cell| cell.split(" · ")) {
                groups.add_of(&grammar, "screens", &name, cell.trim());
            }
        }
    }
    for (name, text) in errors()? {
        for paragraph in text.split('\n') {
            groups.add_of(&grammar, "errors", &name, paragraph);
        }
    }
    Some(groups.finished())
}

/// Files of a folder with their texts, by name.
fn texts(folder: &std::path::Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = paths.map(|path| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read_to_string(&path).expect("a text"))
    });
    named.collect()
}

/// What is said about every wrong input, with the line that has it.
fn errors() -> Option<Vec<(String, String)>> {
    let folder = root().join("crates/cli/tests/wrong_inputs");
    let list = std::fs::read_to_string(folder.join("list.txt")).expect("the list");
    let doctor = assay_metal::api::call(&["doctor".into()], Vec::new());
    if doctor.code == 4 {
        return None;
    }
    let mut said = Vec::new();
    for line in list.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = super::world::assay(line, &folder);
        let text = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        said.push((format!("assay {line}"), text.concat()));
    }
    Some(said)
}

/// Lines by group, while they are collected.
#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    seen: BTreeSet<(String, String)>,
}

impl Groups {
    fn add(&mut self, group: &str, from: &str, text: &str) {
        let text = filled(text);
        if !self.seen.insert((group.to_owned(), text.clone())) {
            return;
        }
        let line = Line {
            text,
            from: from.to_owned(),
        };
        match self.groups.iter_mut().find(|one| one.name == group) {
            Some(one) => one.lines.push(line),
            None => self.groups.push(Group {
                name: group.to_owned(),
                lines: vec![line],
            }),
        }
    }

    /// Adds the lines of a text. One inside a sentence may leave out what it is about.
    fn add_of(&mut self, grammar: &Grammar, group: &str, from: &str, text: &str) {
        for (line, whole) in grammar.lines(text) {
            let line = match whole {
                true => line,
                false => completed(&line, grammar),
            };
            // A gate is of a repository.
            let group = match line.starts_with("assay gate") {
                true => grammar.owner("gate", &line),
                false => group,
            };
            self.add(group, from, &line);
        }
    }

    /// Large groups last as long as all others: they begin first, and lines of sentences may run in any order.
    fn finished(self) -> Vec<Group> {
        const MOST: usize = 25;
        let mut groups = Vec::new();
        for group in self.groups {
            match group.name.as_str() {
                "pages" | "screens" | "errors" => {
                    for lines in group.lines.chunks(MOST) {
                        let name = group.name.clone();
                        groups.push(Group {
                            name,
                            lines: lines.to_vec(),
                        });
                    }
                }
                _ => groups.push(group),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.lines.len()));
        groups
    }
}

/// A line with its placeholders filled in.
fn filled(line: &str) -> String {
    let rows = table("words.tsv");
    let of = |command: &str, word: &str| {
        let row = rows.iter().find(|row| {
            let is_of = row[0] == "*" || line.starts_with(&format!("assay {} ", row[0]));
            is_of && row[1] == word && !word.starts_with('-')
        });
        row.map_or(command.to_owned(), |row| row[2].clone())
    };
    let words = line.split(' ').map(|word| of(word, word));
    words.collect::<Vec<String>>().join(" ")
}

/// A line of a sentence, with what its command is about if it names nothing.
fn completed(line: &str, grammar: &Grammar) -> String {
    let mut before = "";
    let mut named = String::new();
    let mut has_operand = false;
    for word in line.split(' ').skip(1) {
        let longer = format!("{named} {word}").trim().to_owned();
        if grammar.commands.contains(&longer) {
            named = longer;
        } else if !word.starts_with('-') && !grammar.takes_value.contains(before) {
            has_operand = true;
        }
        before = word;
    }
    let rows = table("words.tsv");
    let value = |word: &str| {
        let row = rows.iter().find(|row| row[0] == named && row[1] == word);
        row.map_or(String::new(), |row| format!(" {}", row[2]))
    };
    let of_option = match before.starts_with("--") {
        true => value(before),
        false => String::new(),
    };
    let operand = match has_operand {
        true => String::new(),
        false => value(""),
    };
    format!("{line}{of_option}{operand}")
}
