//! A source with everything it may include, as a hash: what its kernels depend on, without asking a compiler.
//!
//! Every `#include` and `__has_include` counts, whatever conditions stand around it, so that the hash depends on more files than
//! a compiler reads and never on fewer. Headers are looked for afresh each time: one that appears earlier in
//! the search path changes the hash. A name made by a macro cannot be followed; such a source has no hash.

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
    folders: &[PathBuf],
    before: &[PathBuf],
) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<PathBuf> = before.to_vec();
    open.push(file.to_owned());
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let Some(bytes) = tree.bytes_at(&path) else {
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

fn includes(text: &str) -> impl Iterator<Item = Include<'_>> {
    let directives = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let words = ["include_next", "include", "import"];
        let rest = words.iter().find_map(|word| rest.strip_prefix(word))?;
        let after_word = rest.starts_with([' ', '\t', '"', '<', '/', '\\']);
        after_word.then(|| named(rest.trim_start()).unwrap_or(Include::Computed))
    });
    let questions = text.split("__has_include").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("_next").unwrap_or(rest).trim_start();
        named(rest.strip_prefix('(')?.trim_start())
    });
    directives.chain(questions)
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
        let text = "#include \"a.h\" // x\n  # include <b/c.h>\n#import \"d.h\"\n#if __has_include(\"e.h\")\n\
                    #include NAME\n#includes\n// #include \"f.h\" is prose\n#pragma once\n";
        let all: Vec<_> = includes(text).collect();
        let expected = [
            Include::Quoted("a.h"),
            Include::Angled("b/c.h"),
            Include::Quoted("d.h"),
            Include::Computed,
            Include::Quoted("e.h"),
        ];
        assert_eq!(all, expected);
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
            assert!(add(&mut hash, &tree, &root.join("k.metal"), &folders, &[]));
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
        assert!(!add(
            &mut Fingerprint::default(),
            &tree,
            &root.join("one/b.h"),
            &folders,
            &[]
        ));
    }
}
