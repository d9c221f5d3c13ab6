//! What the tests share: fixtures, if they are there.
#![allow(
    dead_code,
    clippy::print_stderr,
    reason = "each test uses its part; a skipped test says so"
)]

use assay_trace::{LoadOptions, Loader, Recording};
use std::path::{Path, PathBuf};

/// The folder of a real recording, or `None` (said aloud) where fixtures are absent.
pub(crate) fn fixture(name: &str) -> Option<PathBuf> {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/fixtures/xctrace"
    );
    let folder = Path::new(root).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no fixture {}", folder.display());
    None
}

/// Loads every file of a folder.
pub(crate) fn load_folder(folder: &Path) -> Recording {
    let mut loader = Loader::new(LoadOptions::default());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for file in files {
        let bytes = std::fs::read(&file).expect("a readable file");
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        loader
            .add(&name, &bytes.as_slice(), &mut |_| {})
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    loader.finish().expect("a recording")
}

/// Loads documents given as text.
pub(crate) fn load_texts(texts: &[&str]) -> Recording {
    let mut loader = Loader::new(LoadOptions::default());
    for (index, text) in texts.iter().enumerate() {
        loader
            .add(&format!("input {index}"), &text.as_bytes(), &mut |_| {})
            .unwrap_or_else(|error| panic!("input {index}: {error}"));
    }
    loader.finish().expect("a recording")
}
