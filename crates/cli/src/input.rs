//! Where bytes come from: a mapped file, or standard input.

use crate::failure::Failure;
use assay_front::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Opens `path`; `-` is standard input. Files are mapped, not copied.
pub(crate) fn open(path: &Path) -> Result<Bytes, Failure> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::input(format!("cannot read standard input: {error}")))?;
        return Ok(Bytes::from(bytes));
    }
    let fail =
        |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(Failure::input(format!("{} is a folder", path.display()))
            .advice("name a file inside it"));
    }
    if !metadata.is_file() || metadata.len() == 0 {
        // Pipes and device files cannot be mapped, nor can an empty file.
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes).map_err(fail)?;
        return Ok(Bytes::from(bytes));
    }
    // SAFETY: the map is read-only and lives as long as the borrow of its bytes. A
    // file truncated by another program meanwhile ends this one with SIGBUS, the
    // usual bargain of mapped input; no memory of ours is affected.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
    Ok(Bytes::new(map))
}
