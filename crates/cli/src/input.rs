//! Where bytes come from: a mapped file, or standard input.
//!
//! Streams (pipes, standard input, device files) may never end, so they are read up to [`LARGEST_STREAM`]; a regular file
//! is mapped whatever its size. A program that calls commands as functions may [`lend`] bytes under names.

use crate::confine;
use crate::failure::Failure;
use assay_front::Bytes;
use std::cell::RefCell;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes read of a stream; the largest libraries of kernels we know have less than half.
const LARGEST_STREAM: u64 = 512 << 20;

thread_local! {
    /// Inputs in memory, by the path that names them. Commands open their inputs in the thread that runs them.
    static LENT: RefCell<Vec<(PathBuf, Bytes)>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` with inputs in memory: a path that names one of them means its bytes, whatever files there are.
pub(crate) fn lend<T>(inputs: Vec<(PathBuf, Bytes)>, work: impl FnOnce() -> T) -> T {
    let before = LENT.replace(inputs);
    let result = work();
    LENT.set(before);
    result
}

/// The bytes that were lent under a path.
pub(crate) fn lent(path: &Path) -> Option<Bytes> {
    LENT.with_borrow(|inputs| {
        let found = inputs.iter().find(|(name, _)| name == path);
        found.map(|(_, bytes)| bytes.clone())
    })
}

/// Opens `path`; `-` is standard input. Files are mapped, not copied.
pub(crate) fn open(path: &Path) -> Result<Bytes, Failure> {
    if let Some(bytes) = lent(path) {
        return Ok(bytes);
    }
    if path.as_os_str() == "-" {
        return stream(std::io::stdin().lock(), "standard input");
    }
    let fail =
        |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.display()));
    let file = confine::open(path)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(Failure::input(format!("{} is a folder", path.display()))
            .advice("name a file inside it"));
    }
    if !metadata.is_file() || metadata.len() == 0 {
        // Pipes and device files cannot be mapped, nor can an empty file.
        return stream(&file, &path.display().to_string());
    }
    // SAFETY: the map is read-only and lives as long as the borrow of its bytes. A
    // file truncated by another program meanwhile ends this one with SIGBUS, the
    // usual bargain of mapped input; no memory of ours is affected.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
    Ok(Bytes::new(map))
}

/// Reads a stream to its end, or to [`LARGEST_STREAM`]: devices and pipes may have no end.
fn stream(from: impl Read, name: &str) -> Result<Bytes, Failure> {
    let mut bytes = Vec::new();
    let read = from.take(LARGEST_STREAM + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    if read as u64 > LARGEST_STREAM {
        let most = LARGEST_STREAM >> 20;
        let message =
            format!("{name} gives more than {most} MiB, the most that is read of a pipe or device");
        return Err(Failure::input(message)
            .advice("store it in a file: files are read whatever their size"));
    }
    Ok(Bytes::from(bytes))
}
