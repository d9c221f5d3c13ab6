//! One benchmark at a time.
//!
//! Two that run at once measure each other. Whoever measures holds a lock on a file; the system takes it back when the
//! process ends, however it ends, so a lock is never left behind.
//!
//! ```
//! use assay_bench::lock::{self, Taken};
//! let path = std::env::temp_dir().join(format!("assay-lock-{}", std::process::id()));
//! let held = lock::take(&path, "softmax")?;
//! assert!(matches!(held, Taken::Held(_)));
//! let Taken::Busy(holder) = lock::take(&path, "relu")? else { return Err("two at once".into()) };
//! assert!(holder.contains("softmax"));
//! drop(held);
//! assert!(matches!(lock::take(&path, "relu")?, Taken::Held(_)));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// What came of asking for the lock.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Held(Lock),
    /// Someone else has it: who, in words.
    Busy(String),
}

/// Most bytes that are read of who holds it.
const LONGEST: u64 = 200;

/// Asks for the lock and does not wait. `what` is what others are told.
pub fn take(path: &Path, what: &str) -> io::Result<Taken> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {
            // What is written here is only for people; the lock itself is the system's.
            file.set_len(0)?;
            writeln!(file, "process {}, {what}", std::process::id())?;
            Ok(Taken::Held(Lock { _file: file }))
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = Vec::new();
            file.seek(SeekFrom::Start(0))?;
            file.take(LONGEST).read_to_end(&mut holder)?;
            let holder = String::from_utf8_lossy(&holder).trim().to_owned();
            Ok(Taken::Busy(match holder.is_empty() {
                true => "another process".to_owned(),
                false => holder,
            }))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}
