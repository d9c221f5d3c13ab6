//! What a sweep has finished, so that an interrupted one can go on.
//!
//! A folder with one file per finished piece of work. Each is written beside its place and renamed, so whatever ends the
//! process, a file is whole or not there. A journal belongs to one way of measuring, its key: with another key it is
//! empty.
//!
//! ```
//! use assay_bench::journal::Journal;
//! let folder = std::env::temp_dir().join(format!("assay-journal-{}", std::process::id()));
//! let mut journal = Journal::fresh(&folder, "quick, cpu")?;
//! journal.put("softmax f32", &serde_json::json!({"right": true}))?;
//! // … the process ends here …
//! let journal = Journal::resume(&folder, "quick, cpu")?;
//! assert_eq!(journal.get("softmax f32"), Some(serde_json::json!({"right": true})));
//! assert_eq!(Journal::resume(&folder, "thorough, cpu")?.get("softmax f32"), None);
//! journal.finish()?;
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::registry::hash;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Results of a sweep that is under way.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Held by all that use the journal; who holds it alone may remove it.
    users: Option<File>,
}

/// Largest entry that is read back.
const LARGEST: u64 = 64 << 20;

impl Journal {
    /// What an interrupted sweep of this key left; an empty one if there was none.
    pub fn resume(folder: &Path, key: &str) -> io::Result<Self> {
        let folder = folder.join(hash(key));
        std::fs::create_dir_all(&folder)?;
        let users = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.with_extension("users"))?;
        users.lock_shared()?;
        Ok(Self {
            folder,
            users: Some(users),
        })
    }

    /// An empty one; what was left is dropped.
    pub fn fresh(folder: &Path, key: &str) -> io::Result<Self> {
        match std::fs::remove_dir_all(folder.join(hash(key))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Self::resume(folder, key),
        }
    }

    /// A finished piece of work; nothing when it is not there or cannot be read, and is then done again.
    pub fn get(&self, name: &str) -> Option<Value> {
        let path = self.path(name);
        let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST);
        let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Notes a finished piece of work.
    pub fn put(&mut self, name: &str, value: &Value) -> io::Result<()> {
        let path = self.path(name);
        // Another sweep that starts over may have taken the folder away.
        std::fs::create_dir_all(&self.folder)?;
        let unfinished = path.with_extension(format!("{}.part", std::process::id()));
        std::fs::write(&unfinished, serde_json::to_vec(value)?)?;
        std::fs::rename(unfinished, path)
    }

    /// The sweep is complete: there is nothing to go on with. Where another one still uses the journal, that one removes
    /// it.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(users) = self.users.take() {
            users.unlock()?;
            if users.try_lock().is_err() {
                return Ok(());
            }
        }
        std::fs::remove_dir_all(&self.folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", hash(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_entry_is_none() {
        let folder = std::env::temp_dir().join(format!("assay-half-{}", std::process::id()));
        let mut journal = Journal::fresh(&folder, "key").unwrap();
        journal.put("a", &Value::from(1)).unwrap();
        std::fs::write(journal.path("b"), b"{\"ri").unwrap();
        std::fs::write(journal.path("c").with_extension("7.part"), b"{}").unwrap();
        let journal = Journal::resume(&folder, "key").unwrap();
        assert_eq!(journal.get("a"), Some(Value::from(1)));
        assert_eq!((journal.get("b"), journal.get("c")), (None, None));
        assert_eq!(Journal::fresh(&folder, "key").unwrap().get("a"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
