//! Where results go: standard output, or a file that is complete or absent.
//!
//! A file named by `-o` is written beside its final place and renamed at the end,
//! so an interrupted or failed command leaves the old file, never half a new one.

use crate::failure::Failure;
use crate::interrupt;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A result kept in memory, for a program that calls a command as a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// What was written.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn append(&self, bytes: &[u8]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
    }
}

/// A result being written.
pub(crate) enum Output {
    Stdout(BufWriter<Stdout>),
    Memory(Captured),
    File {
        writer: BufWriter<tempfile::NamedTempFile>,
        path: PathBuf,
    },
}

impl Output {
    pub(crate) fn open(path: Option<&Path>) -> Result<Output, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Output::Stdout(BufWriter::with_capacity(
                1 << 16,
                std::io::stdout(),
            )));
        };
        let folder = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".assay-")
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| {
                // The library adds the path of a temporary file nobody asked for.
                let text = error.to_string();
                let why = text.rsplit_once(" at path ").map_or(&*text, |(why, _)| why);
                Failure::input(format!("cannot write {}: {why}", path.display()))
            })?;
        interrupt::remove_on_interrupt(file.path());
        Ok(Output::File {
            writer: BufWriter::with_capacity(1 << 16, file),
            path: path.to_owned(),
        })
    }

    /// Flushes, and gives a file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Output::Stdout(mut writer) => Ok(writer.flush()?),
            Output::Memory(_) => Ok(()),
            Output::File { writer, path } => {
                let fail = |error: std::io::Error| {
                    Failure::input(format!("cannot write {}: {error}", path.display()))
                };
                let file = writer
                    .into_inner()
                    .map_err(|error| fail(error.into_error()))?;
                set_ordinary_permissions(&file);
                file.persist(&path).map_err(|error| fail(error.error))?;
                Ok(())
            }
        }
    }
}

/// Temporary files are private; a result has the permissions any new file gets.
fn set_ordinary_permissions(file: &tempfile::NamedTempFile) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Failure leaves the file private, which is safe.
        let _ = std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644));
    }
    #[cfg(not(unix))]
    let _ = file;
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Output::Stdout(writer) => writer.write(bytes),
            Output::Memory(captured) => {
                captured.append(bytes);
                Ok(bytes.len())
            }
            Output::File { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Output::Stdout(writer) => writer.flush(),
            Output::Memory(_) => Ok(()),
            Output::File { writer, .. } => writer.flush(),
        }
    }
}
