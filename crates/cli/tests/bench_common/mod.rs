//! What the tests of `assay bench` share: a cache and a board of their own, and what was said as text.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // What an earlier run left.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// `assay bench`, with whatever it keeps in a folder.
pub(crate) fn command(kept: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.arg("bench").args(arguments);
    command.env("ASSAY_BOARD", kept.join("board.db"));
    command.env("ASSAY_CACHE", kept).env("COLUMNS", "80");
    command.env_remove("NO_COLOR").env_remove("ASSAY_PYTHON");
    command
}

pub(crate) fn assay(kept: &Path, arguments: &[&str]) -> Output {
    command(kept, arguments).output().expect("assay runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether the machine lacks a clang; the test then says so and passes.
pub(crate) fn no_clang(output: &Output) -> bool {
    let missing = output.status.code() == Some(4);
    if missing {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    missing
}
