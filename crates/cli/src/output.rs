//! Where results go: standard output, or a file that is complete or absent.
//!
//! A plain file named by `-o` is written beside its final place and renamed at the end, so an interrupted or failed
//! command leaves the old file, never half a new one. Behind a symbolic link it is the link's target that is replaced.
//! What is no plain file (a device, a FIFO, `>(…)` of a shell) is written to as it is.

use crate::confine;
use crate::failure::Failure;
use crate::interrupt;
use crate::terminal::Visible;
use assay_msl::beneath::Folders;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, IsTerminal, Stdout, Write};
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
    Terminal(BufWriter<Visible<Stdout>>),
    /// A device, a FIFO or a socket.
    Special(BufWriter<Named>),
    Memory(Captured),
    File {
        writer: BufWriter<tempfile::NamedTempFile>,
        path: PathBuf,
        /// What was there before.
        before: Option<Metadata>,
    },
}

/// A file whose errors name it.
pub(crate) struct Named {
    file: File,
    path: PathBuf,
}

impl Named {
    fn told(&self, error: std::io::Error) -> std::io::Error {
        let text = format!("cannot write {}: {error}", self.path.display());
        std::io::Error::new(error.kind(), text)
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.told(error))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush().map_err(|error| self.told(error))
    }
}

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 16;

impl Output {
    /// A process that works for others makes new files in its folders and replaces none.
    fn confined(folders: &Folders, path: &Path) -> Result<Output, Failure> {
        let named = Named {
            file: folders.create(path)?,
            path: path.to_owned(),
        };
        Ok(Output::Special(BufWriter::with_capacity(BUFFER, named)))
    }

    pub(crate) fn open(path: Option<&Path>) -> Result<Output, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            let stdout = std::io::stdout();
            return Ok(match stdout.is_terminal() {
                true => Output::Terminal(BufWriter::with_capacity(BUFFER, Visible::new(stdout))),
                false => Output::Stdout(BufWriter::with_capacity(BUFFER, stdout)),
            });
        };
        if let Some(folders) = confine::allowed() {
            return Self::confined(folders, path);
        }
        let refused = |why: &str| Failure::input(format!("cannot write {}: {why}", path.display()));
        let before = std::fs::metadata(path).ok();
        match &before {
            Some(before) if before.is_dir() => return Err(refused("it is a folder")),
            Some(before) if !before.is_file() => {
                let file = OpenOptions::new().write(true).open(path);
                let file = file.map_err(|error| refused(&error.to_string()))?;
                let named = Named {
                    file,
                    path: path.to_owned(),
                };
                return Ok(Output::Special(BufWriter::with_capacity(BUFFER, named)));
            }
            _ => {}
        }
        let path = target(path).map_err(|error| refused(&error.to_string()))?;
        let file = temporary_beside(&path).map_err(|error| {
            // The library adds the path of a temporary file nobody asked for.
            let text = error.to_string();
            refused(text.rsplit_once(" at path ").map_or(&*text, |(why, _)| why))
        })?;
        interrupt::remove_on_interrupt(file.path());
        Ok(Output::File {
            writer: BufWriter::with_capacity(BUFFER, file),
            path,
            before,
        })
    }

    /// Flushes, and gives a file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Output::Stdout(mut writer) => Ok(writer.flush()?),
            Output::Terminal(mut writer) => Ok(writer.flush()?),
            Output::Special(mut writer) => Ok(writer.flush()?),
            Output::Memory(_) => Ok(()),
            Output::File {
                writer,
                path,
                before,
            } => {
                let fail = |error: std::io::Error| {
                    Failure::input(format!("cannot write {}: {error}", path.display()))
                };
                let file = writer
                    .into_inner()
                    .map_err(|error| fail(error.into_error()))?;
                if let Some(before) = before {
                    // Failure leaves the permissions of a new file.
                    let _ = file.as_file().set_permissions(before.permissions());
                }
                file.persist(&path).map_err(|error| fail(error.error))?;
                Ok(())
            }
        }
    }
}

/// Symbolic links that are followed at most.
const MOST_LINKS: usize = 40;

/// Where a path leads through symbolic links; the last need not exist.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = std::fs::read_link(&path) else {
            return Ok(path);
        };
        path = match path.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    Err(std::io::Error::other("too many symbolic links"))
}

/// A new file in the folder of another, with the permissions any new file gets.
fn temporary_beside(path: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".assay-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the user's mask takes away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Output::Stdout(writer) => writer.write(bytes),
            Output::Terminal(writer) => writer.write(bytes),
            Output::Special(writer) => writer.write(bytes),
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
            Output::Terminal(writer) => writer.flush(),
            Output::Special(writer) => writer.flush(),
            Output::Memory(_) => Ok(()),
            Output::File { writer, .. } => writer.flush(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn write(path: &Path, text: &str) {
        let mut output = Output::open(Some(path)).unwrap_or_else(|error| panic!("{error:?}"));
        output.write_all(text.as_bytes()).unwrap();
        output.finish().unwrap_or_else(|error| panic!("{error:?}"));
    }

    #[test]
    fn a_fifo_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path).unwrap()
        });
        write(&path, "through");
        assert_eq!(reader.join().unwrap(), "through");
        assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_device_that_is_full_is_named() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let mut output = Output::open(Some(full)).unwrap_or_else(|error| panic!("{error:?}"));
        output.write_all(b"text").unwrap();
        let error = output.finish().expect_err("no room");
        assert!(
            error.message.starts_with("cannot write /dev/full: "),
            "{error:?}"
        );
    }

    #[test]
    fn the_target_of_a_link_is_replaced_and_not_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        symlink("file", &link).unwrap();
        // At first the link leads nowhere.
        for text in ["first", "second"] {
            write(&link, text);
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(Output::open(Some(&circle)).is_err());
    }

    #[test]
    fn permissions_are_those_of_the_file_before_or_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
        write(&ours, "");
        File::create(&other).unwrap();
        assert_eq!(mode(&ours), mode(&other));
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o640)).unwrap();
        write(&ours, "again");
        assert_eq!(mode(&ours), 0o640);
        assert!(Output::open(Some(folder.path())).is_err());
    }
}
