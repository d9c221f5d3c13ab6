//! Folders that this process is confined to, when it works for strangers.
//!
//! A server that runs commands for others starts a process for each (`assay mcp`, `assay fleet worker`), and that process
//! confines itself before it looks at anything: files outside the folders are neither opened nor written, and a source may not
//! include them. [`assay_msl::beneath`] says how a path is opened then.

use crate::failure::Failure;
use assay_msl::beneath::Folders;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static FOLDERS: OnceLock<Folders> = OnceLock::new();

/// Confines this process, once and for all.
#[cfg(any(feature = "mcp", feature = "fleet"))]
pub(crate) fn to(folders: Vec<PathBuf>) {
    // The first caller had the right to.
    let _ = FOLDERS.set(Folders::new(folders));
}

/// The folders of this process, if it is confined.
pub(crate) fn allowed() -> Option<&'static Folders> {
    FOLDERS.get()
}

/// Their real paths.
pub(crate) fn folders() -> Option<Vec<PathBuf>> {
    allowed().map(|folders| folders.paths().to_vec())
}

/// Refuses a path outside the folders of this process.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    match allowed() {
        Some(folders) => Ok(folders.real(path).map(drop)?),
        None => Ok(()),
    }
}

/// Opens a file to be read, in a confined process only a plain one inside its folders.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    match allowed() {
        Some(folders) => Ok(folders.open(path)?),
        None => File::open(path).map_err(|error| {
            let failure = Failure::input(format!("cannot read {}: {error}", path.display()));
            match near(path, &error) {
                Some(near) => failure.advice(format!("did you mean {}?", near.display())),
                None => failure,
            }
        }),
    }
}

/// Names of a folder that are looked at for the one that was meant.
const MOST_NAMES: usize = 10_000;

/// The file of the same folder that may have been meant by a name that is not there.
fn near(path: &Path, error: &std::io::Error) -> Option<PathBuf> {
    if error.kind() != std::io::ErrorKind::NotFound {
        return None;
    }
    let wanted = path.file_name()?.to_str()?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = files
        .take(MOST_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let found = assay_report::nearest::nearest(names.iter().map(String::as_str), wanted, 1);
    Some(path.with_file_name(found.first()?))
}

/// Returns true if a file can be opened, which in a confined process is asked only inside its folders.
pub(crate) fn has_file(path: &Path) -> bool {
    match allowed() {
        Some(folders) => folders.open(path).is_ok(),
        None => path.is_file(),
    }
}

/// Bytes of a text that another file names.
const LARGEST_TEXT: u64 = 64 << 20;

/// The text of a plain file that another file names: a source that bitcode was made of, an include.
pub(crate) fn read_to_string(path: &Path) -> Option<String> {
    let everything;
    let folders = match allowed() {
        Some(folders) => folders,
        None => {
            everything = Folders::new(["/"]);
            &everything
        }
    };
    String::from_utf8(folders.read(path, LARGEST_TEXT).ok()?).ok()
}
