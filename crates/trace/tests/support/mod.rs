//! What the tests share: fixtures and how they are loaded.
#![allow(dead_code, reason = "each test uses its part")]

use assay_trace::{LoadOptions, Loader, Recording};
use std::path::{Path, PathBuf};

/// The folder of a real recording.
pub(crate) fn fixture(name: &str) -> PathBuf {
    assay_fixtures::path("xctrace").join(name)
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
