//! Folders that commands are confined to, when they work for strangers.
//!
//! A server that runs commands for others starts a process for each (`assay mcp`), and that process confines
//! itself before it looks at anything: files outside the folders, by their real paths, are neither opened nor written, and
//! a source may not include them.
//!
//! A path that was checked may lead elsewhere a moment later. Files are therefore opened from the handle of their folder down,
//! one name at a time, and no name may be a link: what was a link when the path was checked has been resolved by then.

use crate::failure::Failure;
use std::fs::File;
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

/// Opens a file to be read, in a confined process only inside its folders.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let cannot =
        |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.display()));
    match FOLDERS.get() {
        Some(folders) => {
            let real = within(folders, path)?;
            beneath(folders, &real, Purpose::Read).map_err(cannot)
        }
        None => File::open(path).map_err(cannot),
    }
}

/// The text of a file that may be read.
pub(crate) fn read_to_string(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    open(path).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// Makes a file inside one of the folders that is not there yet, by its real path.
pub(crate) fn create(folders: &[PathBuf], real: &Path) -> std::io::Result<File> {
    beneath(folders, real, Purpose::Create)
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    Create,
}

/// Opens a file by its real path from the handle of the folder it lies in, without following a link.
#[cfg(unix)]
fn beneath(folders: &[PathBuf], real: &Path, purpose: Purpose) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags, openat};
    use std::path::Component;
    let outside = || std::io::Error::other("it is outside the allowed folders");
    let folder = folders.iter().find(|folder| real.starts_with(folder));
    let folder = folder.ok_or_else(outside)?;
    let mut names = Vec::new();
    for component in real
        .strip_prefix(folder)
        .map_err(|_| outside())?
        .components()
    {
        match component {
            Component::Normal(name) => names.push(name),
            _ => return Err(outside()),
        }
    }
    let last = names.pop().ok_or_else(outside)?;
    let down = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let mut handle = rustix::fs::open(folder, down, Mode::empty())?;
    for name in names {
        handle = openat(&handle, name, down, Mode::empty())?;
    }
    let (flags, mode) = match purpose {
        Purpose::Read => (OFlags::RDONLY, Mode::empty()),
        Purpose::Create => {
            let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            (new, Mode::from_raw_mode(0o666))
        }
    };
    let file = openat(
        &handle,
        last,
        flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        mode,
    )?;
    Ok(file.into())
}

/// Handles of folders are not to be had here.
#[cfg(not(unix))]
fn beneath(folders: &[PathBuf], real: &Path, purpose: Purpose) -> std::io::Result<File> {
    if !folders.iter().any(|folder| real.starts_with(folder)) {
        return Err(std::io::Error::other("it is outside the allowed folders"));
    }
    match purpose {
        Purpose::Read => File::open(real),
        Purpose::Create => File::options().write(true).create_new(true).open(real),
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
    /// Swaps a folder with a link to the outside as fast as it can, while files are read and made in it.
    #[test]
    fn a_folder_that_turns_into_a_link_leads_nowhere() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, outside) = (base.join("inside"), base.join("outside"));
        for (folder, text) in [(root.join("part"), "ours"), (outside.clone(), "secret")] {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("k.metal"), text).unwrap();
        }
        symlink(&outside, root.join("link")).unwrap();
        let (part, link, aside) = (root.join("part"), root.join("link"), root.join("aside"));
        let folders = [root.clone()];
        let done = AtomicBool::new(false);
        let (mut read, mut made) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for (from, to) in [
                        (&part, &aside),
                        (&link, &part),
                        (&part, &link),
                        (&aside, &part),
                    ] {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            });
            let before = std::time::Instant::now();
            let mut number = 0;
            while (read < 200 || made < 200) && before.elapsed().as_secs() < 20 {
                number += 1;
                if let Ok(real) = within(&folders, &part.join("k.metal"))
                    && let Ok(mut file) = beneath(&folders, &real, Purpose::Read)
                {
                    let mut text = String::new();
                    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
                    assert_eq!(text, "ours");
                    read += 1;
                }
                let new = part.join(format!("new-{number}.metal"));
                if let Ok(real) = within(&folders, &new)
                    && beneath(&folders, &real, Purpose::Create).is_ok()
                {
                    made += 1;
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(read > 0 && made > 0, "{read} {made}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    }
}
