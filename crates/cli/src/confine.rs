//! Folders that commands are confined to, when they work for strangers.
//!
//! A server that runs commands for others starts a process for each (`assay mcp`), and that process confines
//! itself before it looks at anything: files outside the folders, by their real paths, are neither opened nor written, and
//! a source may not include them.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Confines this process, once and for all.
#[cfg(any(feature = "mcp", feature = "fleet"))]
pub(crate) fn to(folders: Vec<PathBuf>) {
    // Whoever was first had the right to.
    let _ = FOLDERS.set(folders);
}

/// The folders of this process, if it is confined.
pub(crate) fn folders() -> Option<Vec<PathBuf>> {
    FOLDERS.get().cloned()
}

/// Refuses a path outside the folders of this process.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    match FOLDERS.get() {
        Some(folders) => within(folders, path).map(drop),
        None => Ok(()),
    }
}

/// The real path of a file that exists or is to be made, if it lies in one of the folders, whose paths are real.
pub(crate) fn within(folders: &[PathBuf], path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let missing = |error: std::io::Error| Failure::input(format!("cannot read {shown}: {error}"));
    let real = match std::fs::symlink_metadata(path) {
        Ok(_) => path.canonicalize().map_err(missing)?,
        // A file to be made: its folder must be there.
        Err(error) => match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => {
                let parent = if parent.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    parent
                };
                parent
                    .canonicalize()
                    .map_err(|_| missing(error))?
                    .join(name)
            }
            _ => return Err(missing(error)),
        },
    };
    if folders.iter().any(|folder| real.starts_with(folder)) {
        return Ok(real);
    }
    let names: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    Err(
        Failure::input(format!("{shown} is outside the allowed folders")).advice(format!(
            "allowed: {}; the server's --root adds others",
            names.join(", ")
        )),
    )
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_really_lies_inside_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, outside) = (base.join("inside"), base.join("outside"));
        for folder in [&root, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("k.metal"), "").unwrap();
        }
        symlink(outside.join("k.metal"), root.join("link.metal")).unwrap();
        symlink(&outside, root.join("folder")).unwrap();
        symlink("../outside/new.metal", root.join("dangling.metal")).unwrap();
        symlink("k.metal", root.join("inner.metal")).unwrap();
        let folders = [root.clone()];
        let fine = |name: &str| within(&folders, &root.join(name)).is_ok();
        assert!(
            fine("k.metal")
                && fine("new.metal")
                && fine("inner.metal")
                && fine("../inside/k.metal")
        );
        for bad in [
            "../outside/k.metal",
            "link.metal",
            "folder/k.metal",
            "folder/new.metal",
            "dangling.metal",
            "/etc/passwd",
            "no/such/folder/k.metal",
            "..",
        ] {
            assert!(!fine(bad), "{bad}");
        }
        // A neighbour whose name starts alike is another folder.
        std::fs::create_dir(base.join("inside2")).unwrap();
        assert!(!fine("../inside2/new.metal"));
    }
}
