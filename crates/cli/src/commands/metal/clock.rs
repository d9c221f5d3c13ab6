//! The modelled clock of a run: processes write what they commit to a socket, as a recording, and are told its times on the chip.

use crate::failure::Failure;
use crate::prediction::Choice;
use crate::{source, toolchain};
use assay_engine::Workspace;
use assay_predict::Target;
use assay_program::{Clock, Store};
use assay_recording::Reader;
use serde_json::json;
use std::io::{BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A socket that is answered as long as this process runs.
pub(super) struct Served {
    folder: tempfile::TempDir,
}

impl Served {
    /// Where the socket is.
    pub(super) fn path(&self) -> PathBuf {
        socket(self.folder.path())
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("clock")
}

/// Answers with times on a chip.
pub(super) fn serve(chip: &str) -> Result<Served, Failure> {
    let choice = Choice {
        chips: chip,
        what_if: &[],
        chip_file: None,
    };
    let target = choice.targets()?.into_iter().next();
    let target = Arc::new(target.ok_or_else(|| Failure::usage("--chip names no chip"))?);
    let folder = tempfile::tempdir()?;
    let listener = UnixListener::bind(socket(folder.path()))?;
    let chip = match target.is_stand_in() {
        true => format!("{chip} (with code for M1 and M2 as a stand-in)"),
        false => chip.to_owned(),
    };
    std::thread::spawn(move || {
        for process in listener.incoming().map_while(Result::ok) {
            let (target, chip) = (Arc::clone(&target), chip.clone());
            // A process that goes away in the middle of a line has no use for an answer.
            std::thread::spawn(move || follow(process, &target, &chip).ok());
        }
    });
    Ok(Served { folder })
}

/// Follows a process to its end.
fn follow(
    mut process: UnixStream,
    target: &Target,
    chip: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let workspace = Workspace {
        // The terminal is the program's.
        begun: |_| {},
        ..source::workspace()
    };
    let store = Store::new(toolchain::cache_folder().join("executions"));
    let mut clock = Clock::new(target, &workspace, Some(&store));
    writeln!(process, "{}", json!({ "chip": chip }))?;
    let mut reader = Reader::new(BufReader::new(process.try_clone()?))?;
    while let Some(event) = reader.next_event()? {
        if let Some(timed) = clock.add(event) {
            writeln!(process, "{}", serde_json::to_string(&timed)?)?;
        }
    }
    Ok(())
}
