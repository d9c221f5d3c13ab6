//! What was found out about a file's kernels, kept in the cache folder under a hash of everything it depends on.
//!
//! A second run of the gate, or a run on a commit that changed two files of a hundred, compiles, predicts and runs only
//! what is not here. Both trees of a comparison share entries: a file that a pull request leaves alone is looked at once.

use crate::toolchain;
use assay_gate::{FileFailure, Kernel};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of kept entries; the oldest go first.
const KEEP: u64 = 64 << 20;

/// What is known of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) failure: Option<FileFailure>,
    pub(super) kernels: Vec<Kernel>,
}

/// The folder of the gate.
pub(super) fn folder() -> PathBuf {
    toolchain::cache_folder().join("gate")
}

/// This program, so that another build asks again: version, size and time of its file.
pub(super) fn this_program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let metadata = std::fs::metadata(path).ok();
    let time = metadata
        .as_ref()
        .and_then(|metadata| metadata.modified().ok());
    let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{} {} {}",
        env!("CARGO_PKG_VERSION"),
        metadata.map_or(0, |metadata| metadata.len()),
        time.map_or(0, |time| time.as_secs())
    )
}

/// The entry of a key; none if there is none or it cannot be read.
pub(super) fn get(key: &str) -> Option<Entry> {
    let bytes = std::fs::read(path(key)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Keeps an entry. Failure costs time on the next run, nothing else.
pub(super) fn put(key: &str, entry: &Entry) {
    let path = path(key);
    let Some(folder) = path.parent() else { return };
    let Ok(bytes) = serde_json::to_vec(entry) else {
        return;
    };
    let _ = std::fs::create_dir_all(folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(folder))
        .and_then(|file| {
            std::fs::write(file.path(), bytes)?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        });
}

fn path(key: &str) -> PathBuf {
    folder().join("kernels").join(format!("{key}.json"))
}

/// Removes the oldest entries beyond [`KEEP`].
pub(super) fn tidy() {
    let mut files = aged(&folder().join("kernels"));
    files.reverse();
    let mut kept = 0u64;
    for (_, bytes, path) in files {
        kept = kept.saturating_add(bytes);
        if kept > KEEP {
            // Another process may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Keeps the folders that were used last.
pub(super) fn tidy_folders(folder: &Path, keep: usize) {
    let mut folders = aged(folder);
    folders.retain(|(_, _, path)| path.join(".complete").is_file());
    for (time, _, path) in &mut folders {
        let used = std::fs::metadata(path.join(".complete")).and_then(|m| m.modified());
        *time = used.unwrap_or(*time);
    }
    folders.sort();
    let surplus = folders.len().saturating_sub(keep);
    for (_, _, path) in folders.into_iter().take(surplus) {
        let _ = std::fs::remove_dir_all(path);
    }
}

/// What is in a folder, oldest first: time, size, path.
fn aged(folder: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let entries = entries.filter_map(Result::ok).filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len(), entry.path()))
    });
    let mut all: Vec<_> = entries.collect();
    all.sort();
    all
}
