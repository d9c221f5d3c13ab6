//! Executions that were made before, in a folder.

use crate::kernels::Executed;
use std::path::{Path, PathBuf};

/// A folder of executions, each in a file named by its key. Several processes may use it at once: a file appears complete.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Bytes of a file at most.
const LARGEST: u64 = 64 << 20;

impl Store {
    /// A folder, which is made when something is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Store {
        Store {
            folder: folder.into(),
        }
    }

    /// What was kept under a key. A file that is damaged is as if it were not there.
    pub fn get(&self, key: &str) -> Option<Executed> {
        let path = self.path(key);
        let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST);
        let executed: Executed =
            serde_json::from_slice(&std::fs::read(path).ok().filter(|_| small)?).ok()?;
        executed.execution.fault().is_none().then_some(executed)
    }

    /// Keeps an execution. Failure costs time on the next run, nothing else.
    pub fn keep(&self, key: &str, executed: &Executed) {
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.folder)?;
            let path = self.path(key);
            let part = path.with_extension(format!("{}.part", std::process::id()));
            std::fs::write(&part, serde_json::to_vec(executed)?)?;
            std::fs::rename(part, path)
        };
        let _ = write();
    }

    fn path(&self, key: &str) -> PathBuf {
        Path::new(&self.folder).join(format!("{key}.json"))
    }
}
