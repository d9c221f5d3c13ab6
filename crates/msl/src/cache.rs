//! What is kept on disk between compilations: header stubs, precompiled headers and the bitcode of sources.
//!
//! Everything is named by a hash of its content and of the compiler, and appears under
//! its name only when complete, so that several processes may start at once: each
//! writes its own copy and the last rename wins, with the same content.

use crate::compiler::Compiler;
use crate::headers;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

#[cfg(target_arch = "wasm32")]
use crate::memory as fs;
#[cfg(not(target_arch = "wasm32"))]
use std::fs;

/// Precompiled headers kept; the oldest go first. Each takes about 10 MB.
const KEEP: usize = 8;

/// Descriptions of allowed folders kept, a few hundred bytes each.
const KEEP_OVERLAYS: usize = 256;

/// Bitcode of files that were linked.
const KEEP_LINKED: usize = 64;

/// Bytes of bitcode kept; the oldest go first. A large library of kernels takes about 10 MB.
const KEEP_BITCODE: u64 = 256 << 20;

/// Part of the name of kept bitcode; changes with the layout of its file.
const LAYOUT: &str = "2: code, warnings, length, hash";

/// A folder for what is kept.
#[derive(Clone, Debug)]
pub(crate) struct Cache<'a> {
    folder: &'a Path,
}

impl<'a> Cache<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        Cache { folder }
    }

    /// The folder with a file for every header a kernel may include, and the macro header.
    pub(crate) fn stubs(&self) -> io::Result<PathBuf> {
        let files = headers::include_files().flat_map(|(name, text)| [name, text]);
        let key: Vec<&str> = files.chain([headers::MACROS]).collect();
        let key = hash(&key);
        let folder = self.folder.join(format!("include-{key}"));
        if Cache::has(&folder.join(".complete")) {
            return Ok(folder);
        }
        for (name, text) in headers::include_files() {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            write_whole(&path, text.as_bytes())?;
        }
        write_whole(&folder.join("metal_macros"), headers::MACROS.as_bytes())?;
        write_whole(&folder.join(".complete"), b"")?;
        Ok(folder)
    }

    /// Returns true if a file is there.
    pub(crate) fn has(path: &Path) -> bool {
        fs::exists(path).unwrap_or(false)
    }

    /// A file with this text, named by it.
    pub(crate) fn overlay(&self, text: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join("files");
        let path = folder.join(format!("files-{}.yaml", hash(&[text])));
        if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(path);
        }
        fs::create_dir_all(&folder)?;
        write_whole(&path, text.as_bytes())?;
        Cache::new(&folder).tidy("files-", ".yaml", KEEP_OVERLAYS);
        Ok(path)
    }

    /// A file with this bitcode, named by it, for clang to link.
    pub(crate) fn linked(&self, code: &[u8]) -> io::Result<PathBuf> {
        let folder = self.folder.join("linked");
        let path = folder.join(format!("part-{}.bc", hash(&[code])));
        if fs::read(&path).is_ok_and(|there| there == code) {
            return Ok(path);
        }
        fs::create_dir_all(&folder)?;
        write_whole(&path, code)?;
        Cache::new(&folder).tidy("part-", ".bc", KEEP_LINKED);
        Ok(path)
    }

    /// Where the precompiled header for these options is, whether or not it exists.
    pub(crate) fn precompiled(
        &self,
        compiler: &Compiler,
        options: &[String],
        library: &str,
    ) -> PathBuf {
        let program = compiler.program.display().to_string();
        let key = hash(&[
            program.as_str(),
            &compiler.arguments.join("\n"),
            &compiler.identity,
            &options.join("\n"),
            library,
        ]);
        self.folder.join("headers").join(format!("metal-{key}.pch"))
    }

    /// Where the bitcode of a rewritten source is, whether or not it exists. The text has every include and macro
    /// expanded, so that it, the header's key and the options decide the result.
    pub(crate) fn bitcode(&self, header: &Path, arguments: &[String], text: &str) -> PathBuf {
        let header = header.file_name().unwrap_or_default().to_string_lossy();
        let key = hash(&[LAYOUT, &header, arguments.join("\n").as_str(), text]);
        self.folder.join(format!("code-{key}.bc"))
    }

    /// Keeps bitcode and what the compiler said about it, with lengths and a hash at the end. Failure costs time on the next
    /// run, nothing else.
    pub(crate) fn keep(&self, path: &Path, code: &[u8], output: &str) {
        let length = (code.len() as u64).to_le_bytes();
        let content = [code, output.as_bytes(), &length].concat();
        let check = hash(&[content.as_slice()]);
        let content = [content.as_slice(), check.as_bytes()].concat();
        if write_whole(path, &content).is_ok() {
            self.tidy_bitcode();
        }
    }

    /// The bitcode that was kept, and what the compiler said; `None` when there is none or its hash says that it is damaged.
    pub(crate) fn kept(path: &Path) -> Option<(Vec<u8>, String)> {
        let mut content = fs::read(path).ok()?;
        let expected = content.split_off(content.len().checked_sub(HASH_DIGITS)?);
        if hash(&[content.as_slice()]).as_bytes() != expected {
            return None;
        }
        let length = content.split_off(content.len().checked_sub(size_of::<u64>())?);
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let length = usize::try_from(length).ok()?;
        let output = content.get(length..)?.to_vec();
        content.truncate(length);
        Some((content, String::from_utf8(output).ok()?))
    }

    /// Removes the oldest bitcode beyond [`KEEP_BITCODE`].
    fn tidy_bitcode(&self) {
        let mut files = self.files("code-", ".bc");
        files.reverse();
        let mut kept = 0u64;
        for (_, bytes, path) in files {
            kept = kept.saturating_add(bytes);
            if kept > KEEP_BITCODE {
                // Another process may have removed it already.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Our files of a kind, oldest first: time, size, path.
    fn files(&self, start: &str, end: &str) -> Vec<(SystemTime, u64, PathBuf)> {
        let entries = fs::read_dir(self.folder).into_iter().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let ours = name.starts_with(start) && name.ends_with(end);
                let metadata = entry.metadata().ok().filter(|_| ours)?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        files
    }

    /// A name beside `path` that no other process uses.
    fn temporary(path: &Path) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        // WebAssembly knows no processes, and no other one writes.
        let process = match cfg!(target_arch = "wasm32") {
            true => 0,
            false => std::process::id(),
        };
        name.push(format!(".{process}-{number}.tmp"));
        path.with_file_name(name)
    }

    /// Keeps a precompiled header.
    pub(crate) fn keep_header(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(self.folder);
        fs::create_dir_all(folder)?;
        write_whole(path, content)?;
        Cache::new(folder).tidy("metal-", ".pch", KEEP);
        Ok(())
    }

    /// Removes the oldest files of a kind.
    fn tidy(&self, start: &str, end: &str, keep: usize) {
        let files = self.files(start, end);
        let surplus = files.len().saturating_sub(keep);
        for (_, _, path) in files.into_iter().take(surplus) {
            // Another process may have removed it already.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes a file that is complete or absent.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = Cache::temporary(path);
    fs::write(&temporary, content)?;
    fs::rename(&temporary, path)
}

/// Digits of a [`hash`].
const HASH_DIGITS: usize = 32;

/// A 128-bit hash (FNV-1a) of several texts, in hexadecimal.
fn hash<T: AsRef<[u8]>>(texts: &[T]) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for text in texts {
        for byte in text.as_ref().iter().chain(&[0]) {
            state = (state ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }
    format!("{state:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_separates_texts_and_is_fnv() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash::<&str>(&[]), "6c62272e07bb014262b821756295c58d");
    }
}
