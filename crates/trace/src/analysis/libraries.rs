//! Libraries the target used: those given, and files it loaded that are not the system's.

use super::document::LibraryVersion;
use super::view::View;
use crate::libraries::{GivenLibrary, version_in_path};
use std::collections::BTreeMap;

/// Files listed.
const MOST: usize = 40;

/// Folders of the system, whose version is that of macOS.
const SYSTEM: [&str; 3] = ["/System/", "/usr/lib/", "/Library/Apple/"];

pub(crate) fn list(view: &View<'_>, given: &[GivenLibrary]) -> Vec<LibraryVersion> {
    let mut rows: Vec<LibraryVersion> = given
        .iter()
        .map(|library| LibraryVersion {
            name: library.name.clone(),
            version: Some(library.version.clone()),
            source: library.source.clone(),
        })
        .collect();
    let mut loaded: BTreeMap<&str, &str> = BTreeMap::new();
    for load in &view.recording.events.libraries {
        let path = view.text(load.path);
        let system = SYSTEM.iter().any(|folder| path.starts_with(folder));
        if (load.pid.is_none() || view.is_target(load.pid)) && !system {
            let file = path.rsplit('/').next().unwrap_or(path);
            loaded.entry(file).or_insert(path);
        }
    }
    let from_path = |(file, path): (&str, &str)| LibraryVersion {
        name: file.to_owned(),
        version: version_in_path(path).map(str::to_owned),
        source: path.to_owned(),
    };
    rows.extend(loaded.into_iter().map(from_path).take(MOST));
    rows
}
