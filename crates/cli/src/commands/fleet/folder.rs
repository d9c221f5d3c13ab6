//! The folder that a worker's jobs run in.
//!
//! A worker that ends removes its folder, and so does its child process when the worker is killed. What a machine that lost its
//! power leaves is found by name at the next start: the name has the worker's process id.

use std::path::{Path, PathBuf};

/// What names of such folders begin with.
const PREFIX: &str = "assay-job-";

/// Makes a folder, after folders of workers that are no more were removed.
pub(super) fn make() -> std::io::Result<tempfile::TempDir> {
    let place = std::env::temp_dir();
    for folder in stale(&place) {
        // Somebody else's folder stays: it is theirs to remove.
        let _ = std::fs::remove_dir_all(folder);
    }
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir_in(place)
}

/// Folders whose worker is gone.
fn stale(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        let name = entry.file_name();
        let id = name.to_str().and_then(worker);
        id.is_some_and(|id| !is_running(id)) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    folders.map(|entry| entry.path()).collect()
}

/// The process id in a folder's name.
fn worker(name: &str) -> Option<i32> {
    let (id, rest) = name.strip_prefix(PREFIX)?.split_once('-')?;
    id.parse().ok().filter(|id| *id > 0 && !rest.is_empty())
}

#[cfg(unix)]
fn is_running(id: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let Some(id) = Pid::from_raw(id) else {
        return false;
    };
    // A process that may not be signalled is there all the same.
    !matches!(test_kill_process(id), Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_workers_that_are_gone_are_stale() {
        let place = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let gone = ended.id();
        ended.wait().unwrap();
        let own = std::process::id();
        let names = [
            format!("assay-job-{gone}-abc"),
            format!("assay-job-{own}-abc"),
            "assay-job-abc".to_owned(),
            "assay-job-0-abc".to_owned(),
            format!("other-{gone}-abc"),
        ];
        for name in &names {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        std::fs::write(place.path().join(format!("assay-job-{gone}-file")), "").unwrap();
        assert_eq!(stale(place.path()), [place.path().join(&names[0])]);
    }
}
