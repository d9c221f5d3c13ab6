//! Where there are no files and no processes: files in memory, and a clang that is called, not started.
//!
//! In a page clang is a WebAssembly module like this one. Whoever loaded it says how it is called ([`call_with`]); what a
//! [`Cache`](crate::cache) keeps lies in a table, of which a call gets the files that its arguments name.

use crate::compiler::Run;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The content of a file.
pub type Content = Arc<[u8]>;

/// What a call of clang gave.
#[derive(Debug)]
pub struct Called {
    /// Whether it ended without an error.
    pub success: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
}

/// Calls clang with arguments, standard input and files.
pub type Call = fn(&[String], &[u8], &[(PathBuf, Content)]) -> Result<Called>;

static CALL: OnceLock<Call> = OnceLock::new();
static FILES: Mutex<BTreeMap<PathBuf, Content>> = Mutex::new(BTreeMap::new());

/// Says how clang is called; the first to say it counts.
pub fn call_with(call: Call) {
    CALL.get_or_init(|| call);
}

/// All files below a folder.
pub fn files_below(folder: &Path) -> Vec<(PathBuf, Content)> {
    let files = files();
    let inside = files.iter().filter(|(path, _)| path.starts_with(folder));
    let inside = inside.map(|(path, content)| (path.clone(), Arc::clone(content)));
    inside.collect()
}

/// Keeps a file that was made before.
pub fn keep(path: PathBuf, content: Vec<u8>) {
    files().insert(path, content.into());
}

fn files() -> MutexGuard<'static, BTreeMap<PathBuf, Content>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How clang is called, if somebody has said it.
pub(crate) fn call() -> Option<Call> {
    CALL.get().copied()
}

/// Calls clang with the files that its arguments name, or that lie in folders that they name.
pub(crate) fn run(call: Call, arguments: &[String], input: &[u8]) -> Result<Run> {
    let named = |path: &Path| {
        let mut folders = path.ancestors().filter(|it| it.parent().is_some());
        folders.any(|it| {
            let name = it.display().to_string();
            arguments.iter().any(|argument| argument.ends_with(&name))
        })
    };
    let all = files_below(Path::new("/"));
    let given: Vec<_> = all.into_iter().filter(|(path, _)| named(path)).collect();
    let called = call(arguments, input, &given)?;
    Ok(Run {
        success: called.success,
        ended: match called.success {
            true => "exit status: 0".to_owned(),
            false => "exit status: 1".to_owned(),
        },
        stdout: called.stdout,
        stderr: called.stderr,
    })
}

// What `cache` asks of `std::fs`, by the same names.

pub(crate) fn exists(path: impl AsRef<Path>) -> Result<bool> {
    Ok(files().contains_key(path.as_ref()))
}

pub(crate) fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let found = files().get(path.as_ref()).map(|content| content.to_vec());
    found.ok_or_else(|| ErrorKind::NotFound.into())
}

pub(crate) fn write(path: impl AsRef<Path>, content: &[u8]) -> Result<()> {
    keep(path.as_ref().to_owned(), content.to_vec());
    Ok(())
}

pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let mut files = files();
    let content = files.remove(from.as_ref()).ok_or(ErrorKind::NotFound)?;
    files.insert(to.as_ref().to_owned(), content);
    Ok(())
}

pub(crate) fn remove_file(path: impl AsRef<Path>) -> Result<()> {
    let removed = files().remove(path.as_ref());
    removed
        .map(|_| ())
        .ok_or_else(|| ErrorKind::NotFound.into())
}

/// Folders are only names here.
pub(crate) fn create_dir_all(_: impl AsRef<Path>) -> Result<()> {
    Ok(())
}

/// Nothing here is old enough to be removed: a page lives for some hours.
pub(crate) fn read_dir(_: impl AsRef<Path>) -> Result<std::fs::ReadDir> {
    Err(ErrorKind::Unsupported.into())
}
