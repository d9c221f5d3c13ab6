//! Processes of this program that run commands for others: agents (`assay mcp`) and fleets (`assay fleet worker`).
//!
//! Such a process leads a process group of its own, compilers included. Whoever started it kills the group when the time is
//! over; if that one dies, standard input ends and the group kills itself.

use crate::failure::{Failure, Kind};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// This program, to be started for others: it leads a process group, is spoken to by pipes, and does not outlive its handle. In
/// the Python package it is a module of the interpreter.
pub(crate) fn program() -> Result<Command, Failure> {
    let this = std::env::current_exe()
        .map_err(|error| Failure::new(Kind::Missing, format!("this program: {error}")))?;
    // The interpreter of a framework, as macOS has them, is a file called `Python` that does not know its environment: the
    // package says which program to start.
    let named = crate::folders::variable("ASSAY_INTERPRETER");
    let python = named.is_some() || is_python(&this);
    let mut command = Command::new(named.unwrap_or(this));
    if python {
        command.args(["-m", "assay"]);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

fn is_python(program: &Path) -> bool {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    stem.to_ascii_lowercase().starts_with("python")
}

/// Ends this process and all it has started when standard input ends.
pub(crate) fn end_with_input() {
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().lock().read(&mut rest), Ok(read) if read > 0) {}
        end();
    });
}

/// Ends this process and all it has started.
pub(crate) fn end() {
    #[cfg(unix)]
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::KILL);
    #[allow(clippy::exit, reason = "nobody is left to report to")]
    std::process::exit(1);
}

/// Limits the memory of this process, where the system can.
#[cfg(target_os = "linux")]
pub(crate) fn limit_memory(bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // A lower limit that stands already is fine too.
    let _ = setrlimit(Resource::As, limit);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn limit_memory(_: u64) {}

/// Ends a process and all it has started.
pub(crate) fn kill(mut child: Child) {
    #[cfg(unix)]
    if let Some(id) = child.id()
        && let Some(id) = rustix::process::Pid::from_raw(id.cast_signed())
    {
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
    let _ = child.start_kill();
    // Somebody has to ask how it ended, or the system keeps it.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { child.wait().await });
    }
}

#[cfg(test)]
mod tests {
    use super::is_python;
    use std::path::Path;

    #[test]
    fn interpreters_are_known_by_their_files() {
        let framework = "/opt/homebrew/Frameworks/Python.framework/Versions/3.12/Resources/Python.app/Contents/MacOS/Python";
        for path in ["/usr/bin/python3.12", framework] {
            assert!(is_python(Path::new(path)), "{path}");
        }
        assert!(!is_python(Path::new("/usr/local/bin/assay")));
    }
}
