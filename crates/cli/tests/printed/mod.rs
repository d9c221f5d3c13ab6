//! Lines that the program prints, and the folders in which they run.

pub(crate) mod lines;
pub(crate) mod world;

use std::path::{Path, PathBuf};

/// A command line as it is printed, with placeholders filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The line.
    pub(crate) text: String,
    /// Who prints it.
    pub(crate) from: String,
}

/// Lines that run in one folder, one after the other: a later one may name what an earlier one wrote.
#[derive(Debug)]
pub(crate) struct Group {
    /// `profile`, or `trace report`: the help; `screens`, `pages` or `errors`.
    pub(crate) name: String,
    /// Its lines.
    pub(crate) lines: Vec<Line>,
}

/// Whether lines that are marked slow run, too.
pub(crate) fn runs_all() -> bool {
    std::env::var("ASSAY_PRINTED").is_ok_and(|what| what == "all")
}

/// The workspace.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace")
}

/// Rows of a table beside this file: cells between tabs; `#` begins a comment.
pub(crate) fn table(name: &str) -> Vec<Vec<String>> {
    let path = root().join("crates/cli/tests/printed").join(name);
    let text = std::fs::read_to_string(&path).expect("a table");
    let rows = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| row.split('\t').map(str::to_owned).collect())
        .collect()
}
