//! What a run of the compiler may use when the source is a stranger's: a template or a constant expression can keep a
//! compiler busy for days, and fill memory and disk.

use crate::compiler::Run;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of CPU time.
    pub cpu_seconds: u32,
    /// Seconds by the clock.
    pub wall_seconds: u32,
    /// MiB of address space, where the system can limit it.
    pub memory_mib: u32,
    /// MiB of output, and of every file it writes.
    pub output_mib: u32,
}

impl Limits {
    /// For sources that somebody unknown wrote: far more than any kernel needs.
    pub const STRANGER: Limits = Limits {
        cpu_seconds: 30,
        wall_seconds: 60,
        memory_mib: 4096,
        output_mib: 64,
    };

    /// A command that runs a program under these limits. The shell that sets them is told program and arguments as
    /// arguments: nothing of them is read as a command.
    pub(crate) fn command(&self, program: &Path) -> Command {
        if !cfg!(unix) {
            return Command::new(program);
        }
        let mut command = Command::new("/bin/sh");
        let set = format!(
            "ulimit -t {}; ulimit -v {} 2>/dev/null; ulimit -f {} 2>/dev/null; ulimit -c 0; exec \"$0\" \"$@\"",
            self.cpu_seconds,
            u64::from(self.memory_mib) << 10,
            u64::from(self.output_mib) << 11,
        );
        command.arg("-c").arg(set).arg(program);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    /// Runs a command whose streams are pipes, and ends it when it takes too long or says too much.
    pub(crate) fn run(&self, mut command: Command, input: &[u8]) -> std::io::Result<Run> {
        let most = u64::from(self.output_mib) << 20;
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if let Some(mut stdin) = stdin {
                    // A compiler that stops reading says why on its standard error.
                    let _ = stdin.write_all(input);
                }
            });
            let stdout = scope.spawn(move || bounded(stdout, most));
            let stderr = scope.spawn(move || bounded(stderr, most));
            let end = Instant::now() + Duration::from_secs(u64::from(self.wall_seconds));
            let status = loop {
                if let Some(status) = child.try_wait()? {
                    break Some(status);
                }
                if Instant::now() >= end {
                    end_group(child.id());
                    child.kill()?;
                    child.wait()?;
                    break None;
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            let nothing = || (Vec::new(), false);
            let (stdout, long) = stdout.join().unwrap_or_else(|_| nothing());
            let (stderr, wordy) = stderr.join().unwrap_or_else(|_| nothing());
            Ok(self.ended(status, stdout, stderr, long || wordy))
        })
    }

    fn ended(
        &self,
        status: Option<ExitStatus>,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
        too_long: bool,
    ) -> Run {
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        let refused = |why: String| Run {
            success: false,
            ended: why.clone(),
            stdout: Vec::new(),
            stderr: format!("error: {why}\n"),
        };
        if too_long {
            return refused(format!(
                "the compiler wrote more than {} MiB",
                self.output_mib
            ));
        }
        let Some(status) = status else {
            return refused(format!(
                "the compiler was stopped after {} s",
                self.wall_seconds
            ));
        };
        if status.code().is_none() || status.code().is_some_and(|code| code > 128) {
            return refused(format!(
                "the compiler was ended by its limits ({} s of CPU time, {} MiB of memory): {status}",
                self.cpu_seconds, self.memory_mib
            ));
        }
        Run {
            success: status.success(),
            ended: status.to_string(),
            stdout,
            stderr,
        }
    }
}

/// Ends a process with everything it started, which would keep its streams open.
fn end_group(id: u32) {
    if cfg!(unix) {
        let kill = format!("kill -9 -{id}");
        let _ = Command::new("/bin/sh").arg("-c").arg(kill).status();
    }
}

/// What a stream says, up to a limit; true if there is more. The rest is read and dropped, so that nobody waits.
fn bounded(stream: Option<impl Read>, most: u64) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let Some(mut stream) = stream else {
        return (bytes, false);
    };
    let _ = stream.by_ref().take(most).read_to_end(&mut bytes);
    let rest = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
    (bytes, rest > 0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::Compiler;

    fn limited(limits: Limits, script: &str) -> Run {
        let compiler = Compiler {
            arguments: vec!["-c".to_owned(), script.to_owned()],
            limits: Some(limits),
            ..Compiler::new("/bin/sh")
        };
        let none: [&str; 0] = [];
        compiler.run(none, b"input", None).unwrap()
    }

    const SMALL: Limits = Limits {
        cpu_seconds: 1,
        wall_seconds: 2,
        memory_mib: 512,
        output_mib: 1,
    };

    #[test]
    fn a_run_within_its_limits_is_a_run() {
        let run = limited(SMALL, "cat; echo said >&2");
        assert!(
            run.success && run.stdout == b"input" && run.stderr == "said\n",
            "{run:?}"
        );
    }

    #[test]
    fn time_and_output_are_limited() {
        let run = limited(SMALL, "sleep 60 & wait");
        assert!(run.stderr.contains("stopped after 2 s"), "{run:?}");
        let run = limited(SMALL, "yes | head -c 3000000");
        assert!(run.stderr.contains("more than 1 MiB"), "{run:?}");
        let run = limited(SMALL, "while :; do :; done");
        assert!(!run.success && run.stderr.contains("limits"), "{run:?}");
    }
}
