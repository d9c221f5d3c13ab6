//! A source with everything it may include, as a hash: what its kernels depend on, without asking a compiler.
//!
//! Every `#include` and `__has_include` counts, whatever conditions stand around it, so that the hash depends on more files than
//! a compiler reads and never on fewer: a header that the hash does not know of could change and be taken for what was examined
//! before. Headers are looked for afresh each time: one that appears earlier in the search path changes the hash. A name made by a
//! macro, or a directive spelt over two lines, cannot be followed; such a source has no hash.

use super::tree::Tree;
use assay_tune::fingerprint::Fingerprint;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that one source may include.
const MOST_FILES: usize = 20_000;

/// Adds a source and what it includes to a hash; false if there is an include that cannot be followed.
pub(super) fn add(
    hash: &mut Fingerprint,
    tree: &Tree,
    file: &Path,
    (folders, before): (&[PathBuf], &[PathBuf]),
    other: &Tree,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<PathBuf> = before.to_vec();
    open.push(file.to_owned());
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        // A commit's sources may include what only the work tree has, a submodule's headers.
        let bytes = tree.bytes_at(&path).or_else(|| other.bytes_at(&path));
        let Some(bytes) = bytes else {
            continue;
        };
        if seen.len() > MOST_FILES {
            return false;
        }
        hash.add(tree.relative(&path.display().to_string()).as_bytes());
        hash.add(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        for include in includes(&text) {
            let name = match include {
                Include::Computed => return false,
                Include::Quoted(name) | Include::Angled(name) => name,
            };
            let beside = path
                .parent()
                .filter(|_| matches!(include, Include::Quoted(_)));
            let places = beside
                .into_iter()
                .chain(folders.iter().map(PathBuf::as_path));
            let mut places = places.map(|folder| folder.join(name));
            if let Some(found) = places.find(|place| place.is_file()) {
                open.push(plain(&found));
            }
        }
    }
    true
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Include<'t> {
    Quoted(&'t str),
    Angled(&'t str),
    /// By a macro.
    Computed,
}

/// What a text includes, or asks for. Whatever clang could take for a directive counts, in comments and literals too.
fn includes(text: &str) -> Vec<Include<'_>> {
    let mut found: Vec<Include<'_>> = Vec::new();
    // A line that goes on hides words, and so do names made of pieces.
    let hidden = text.contains("\\\n") || text.contains("\\\r") || text.contains("??/");
    let spliced = hidden && split_words(text);
    found.extend(spliced.then_some(Include::Computed));
    for (at, mark) in ["#", "%:", "??="]
        .iter()
        .flat_map(|mark| text.match_indices(mark))
    {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        let before = line.trim_end_matches(|c: char| !c.is_ascii_graphic());
        if !(before.is_empty() || before.ends_with("*/")) {
            continue;
        }
        let rest = without_space(&text[at + mark.len()..]);
        let words = ["include_next", "include", "import", "embed"];
        let Some(rest) = words.iter().find_map(|word| rest.strip_prefix(word)) else {
            continue;
        };
        if !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            found.push(named(rest.trim_start()).unwrap_or(Include::Computed));
        }
    }
    for (at, word) in text.match_indices("__has_") {
        let rest = &text[at + word.len()..];
        let Some(rest) = rest.strip_prefix("include") else {
            // The word may be made of two.
            let whole = rest.starts_with(|c: char| c.is_ascii_lowercase());
            found.extend((!whole).then_some(Include::Computed));
            continue;
        };
        let rest = rest.strip_prefix("_next").unwrap_or(rest).trim_start();
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        match rest.strip_prefix('(') {
            Some(rest) => found.push(named(rest.trim_start()).unwrap_or(Include::Computed)),
            // Whether there is such a question is no question about a file; another name for it is one.
            None if line.contains("define") && !line.contains("defined") => {
                found.push(Include::Computed);
            }
            None => {}
        }
    }
    found
}

/// Returns true if a line that goes on may split a word of [`includes`]: one ends or starts where the line does.
fn split_words(text: &str) -> bool {
    let mut lines = text.split('\n').peekable();
    let mut splits = false;
    while let (Some(line), Some(next)) = (lines.next(), lines.peek()) {
        let line = line.trim_end();
        let Some(line) = line.strip_suffix('\\').or(line.strip_suffix("??/")) else {
            continue;
        };
        let end = |c: char| c.is_ascii_alphanumeric() || "_#%?/*".contains(c);
        // A directive whose rest stands on the next line.
        let directive = line.trim_start().starts_with(['#', '%', '?']) && !line.contains("define");
        splits |= line.ends_with(end) && next.starts_with(end) || directive;
    }
    splits
}

/// The text behind spaces and comments.
fn without_space(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_graphic());
        match rest.strip_prefix("/*").map(|rest| rest.split_once("*/")) {
            Some(Some((_, after))) => rest = after,
            Some(None) | None => return rest,
        }
    }
}

fn named(text: &str) -> Option<Include<'_>> {
    if let Some(rest) = text.strip_prefix('"') {
        return rest.split_once('"').map(|(name, _)| Include::Quoted(name));
    }
    let rest = text.strip_prefix('<')?;
    rest.split_once('>').map(|(name, _)| Include::Angled(name))
}

/// A path without `.` and `..`, so that a file is seen once.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_include_is_seen() {
        use Include::{Angled, Computed, Quoted};
        for (text, expected) in [
            ("#include \"a.h\" // x", Quoted("a.h")),
            ("  # include <b/c.h>", Angled("b/c.h")),
            ("#import \"d.h\"", Quoted("d.h")),
            ("#if __has_include(\"e.h\")", Quoted("e.h")),
            ("#if __has_include_next ( <f.h> )", Angled("f.h")),
            ("#include NAME", Computed),
            ("%:include \"g.h\"", Quoted("g.h")),
            ("/* a\n b */ # /* c\n d */ include \"h.h\"", Quoted("h.h")),
            ("#/**/include_next<i.h>", Angled("i.h")),
            ("\u{a0}#include \"j.h\"", Quoted("j.h")),
            ("#inc\\\nlude \"k.h\"", Computed),
            ("#include \\\n\"l.h\"", Computed),
            ("#define ASKS __has_include", Computed),
            ("#if P(__has_, include)(\"m.h\")", Computed),
            ("#if __has_include(NAME)", Computed),
        ] {
            let all = includes(text);
            assert!(all.contains(&expected), "{text:?}: {all:?}");
        }
        for text in [
            "#includes",
            "// #include \"f.h\" is prose",
            "#pragma once",
            "#ifdef __has_include",
            "#if defined(__has_include) && __has_attribute(x)",
            "#define BOTH(a, b) \\\n    a + b",
            "float include = 1;",
        ] {
            assert_eq!(includes(text), [], "{text:?}");
        }
    }

    #[test]
    fn a_header_of_a_header_changes_the_hash_and_so_does_one_that_hides_another() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let tree = Tree {
            top: root.clone(),
            root: root.clone(),
            files: Vec::new(),
        };
        let hash = || {
            let mut hash = Fingerprint::default();
            let folders = [root.join("one"), root.join("two")];
            let named: (&[PathBuf], &[PathBuf]) = (&folders, &[]);
            assert!(add(&mut hash, &tree, &root.join("k.metal"), named, &tree));
            hash.text()
        };
        write("k.metal", "#include \"two/a.h\"\n#include <metal_stdlib>\n");
        write("two/a.h", "#include <b.h>\n");
        write("two/b.h", "first\n");
        let first = hash();
        write("two/b.h", "second\n");
        let second = hash();
        write("one/b.h", "second\n");
        let third = hash();
        assert!(first != second && second != third);
        write("two/b.h", "not read any more\n");
        assert_eq!(hash(), third);
        write("one/b.h", "#include WHO\n");
        let folders = [root.join("one")];
        let named: (&[PathBuf], &[PathBuf]) = (&folders, &[]);
        let mut hash = Fingerprint::default();
        assert!(!add(&mut hash, &tree, &root.join("one/b.h"), named, &tree));
    }
}
