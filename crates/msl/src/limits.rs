//! What a run of the compiler may use when the source is a stranger's: a template or a constant expression can keep a
//! compiler busy for days, and fill memory and disk.

use crate::compiler::Run;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
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
}

/// A command that runs a program. Where the limits of a process cannot be set from outside, a shell sets them, which is told
/// program and arguments as arguments: nothing of them is read as a command.
pub(crate) fn command(program: &Path, limits: Option<&Limits>) -> Command {
    #[cfg(all(unix, not(target_os = "linux")))]
    if let Some(limits) = limits {
        let set = format!(
            "ulimit -t {}; ulimit -v {} 2>/dev/null; ulimit -f {} 2>/dev/null; ulimit -c 0; exec \"$0\" \"$@\"",
            limits.cpu_seconds,
            u64::from(limits.memory_mib) << 10,
            u64::from(limits.output_mib) << 11,
        );
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(set).arg(program);
        return grouped(command);
    }
    let mut command = Command::new(program);
    // No files for others, no report about a crash, and no other program to explain one.
    command
        .env("TMPDIR", "/dev/null")
        .env("LLVM_DISABLE_CRASH_REPORT", "1")
        .env("LLVM_DISABLE_SYMBOLIZATION", "1");
    match limits {
        Some(_) => grouped(command),
        None => command,
    }
}

/// The leader of a group of processes, so that what it starts ends with it.
fn grouped(command: Command) -> Command {
    #[cfg(unix)]
    let command = {
        let mut command = command;
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    };
    command
}

/// Sets the limits of a process that waits for its input.
#[cfg(target_os = "linux")]
fn limit(child: &Child, limits: &Limits) -> std::io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let id = Pid::from_child(child);
    let mib = |mib: u32| u64::from(mib) << 20;
    for (resource, soft, hard) in [
        // A second to be told apart by: the first limit has a signal of its own.
        (
            Resource::Cpu,
            limits.cpu_seconds.into(),
            u64::from(limits.cpu_seconds) + 1,
        ),
        (Resource::As, mib(limits.memory_mib), mib(limits.memory_mib)),
        (
            Resource::Fsize,
            mib(limits.output_mib),
            mib(limits.output_mib),
        ),
        (Resource::Core, 0, 0),
    ] {
        let limit = Rlimit {
            current: Some(soft),
            maximum: Some(hard),
        };
        match prlimit(Some(id), resource, limit) {
            // A lower limit that stands already is fine too; a process that is gone needs none.
            Ok(_) | Err(rustix::io::Errno::PERM | rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn limit(_: &Child, _: &Limits) -> std::io::Result<()> {
    Ok(())
}

/// What a stream said.
enum Told {
    Output(Vec<u8>),
    Errors(Vec<u8>),
    /// More than it may.
    TooLong,
}

/// Why a run was ended before its end.
#[derive(Clone, Copy, Debug)]
enum Stopped {
    TooLong,
    TooLate,
}

/// Feeds a process whose streams are pipes and reads what it says. It is ended at once when it says too much or its time is up;
/// nothing that it started is waited for.
pub(crate) fn watch(
    mut child: Child,
    input: &[u8],
    limits: Option<Limits>,
) -> std::io::Result<Run> {
    if let Some(limits) = &limits
        && let Err(error) = limit(&child, limits)
    {
        end(&mut child);
        return Err(error);
    }
    let most = limits.map_or(u64::MAX - 1, |limits| u64::from(limits.output_mib) << 20);
    let end_of_time =
        limits.map(|limits| Instant::now() + Duration::from_secs(u64::from(limits.wall_seconds)));
    let (tell, told) = mpsc::channel();
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        std::thread::spawn(move || {
            // A compiler that stops reading says why on its standard error.
            let _ = stdin.write_all(&input);
        });
    }
    listen(child.stdout.take(), most, tell.clone(), Told::Output);
    listen(child.stderr.take(), most, tell, Told::Errors);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut stopped = None;
    for _ in 0..2 {
        let next = match end_of_time {
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(end) => told.recv_timeout(end.saturating_duration_since(Instant::now())),
        };
        match next {
            Ok(Told::Output(bytes)) => stdout = bytes,
            Ok(Told::Errors(bytes)) => stderr = bytes,
            Ok(Told::TooLong) => stopped = Some(Stopped::TooLong),
            Err(RecvTimeoutError::Timeout) => stopped = Some(Stopped::TooLate),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        if stopped.is_some() {
            break;
        }
    }
    let status = match stopped {
        Some(_) => None,
        None => wait(&mut child, end_of_time)?,
    };
    if status.is_none() {
        end(&mut child);
    }
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    let ended = match (status, stopped) {
        (_, Some(stopped)) => Err(stopped),
        (None, None) => Err(Stopped::TooLate),
        (Some(status), None) => Ok(status),
    };
    Ok(described(ended, stdout, stderr, limits.as_ref()))
}

/// Reads a stream in a thread of its own up to a limit.
fn listen(
    stream: Option<impl Read + Send + 'static>,
    most: u64,
    tell: Sender<Told>,
    told: fn(Vec<u8>) -> Told,
) {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(most + 1).read_to_end(&mut bytes);
        }
        let long = bytes.len() as u64 > most;
        // Nobody listens any more when the other stream said too much.
        let _ = tell.send(if long { Told::TooLong } else { told(bytes) });
    });
}

/// How a process ended that has closed its streams; nothing if it goes on until its time is up.
fn wait(child: &mut Child, end: Option<Instant>) -> std::io::Result<Option<ExitStatus>> {
    let Some(end) = end else {
        return child.wait().map(Some);
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Ends a process with everything it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn described(
    ended: Result<ExitStatus, Stopped>,
    stdout: Vec<u8>,
    stderr: String,
    limits: Option<&Limits>,
) -> Run {
    let failed = |why: String| Run {
        success: false,
        ended: why.clone(),
        stdout: Vec::new(),
        stderr: format!("error: {why}\n"),
    };
    let (output, seconds) = limits.map_or((0, 0), |l| (l.output_mib, l.wall_seconds));
    let status = match ended {
        Ok(status) => status,
        Err(Stopped::TooLong) => {
            return failed(format!("the compiler wrote more than {output} MiB"));
        }
        Err(Stopped::TooLate) => {
            return failed(format!("the compiler was stopped after {seconds} s"));
        }
    };
    if status.code() == Some(FATAL) {
        return failed("the compiler crashed, by a fatal error of its own".to_owned());
    }
    if let Some(signal) = signal_of(status) {
        return failed(death(signal, &stderr, limits));
    }
    Run {
        success: status.success(),
        ended: status.to_string(),
        stdout,
        stderr,
    }
}

/// The signal that ended a process. A compiler that catches its own crash ends with 128 and the signal, as shells do.
fn signal_of(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Some(signal);
    }
    status
        .code()
        .filter(|code| (129..160).contains(code))
        .map(|code| code - 128)
}

/// Signals by name.
const SIGNALS: [(i32, &str); 9] = [
    (if cfg!(target_os = "linux") { 7 } else { 10 }, "SIGBUS"),
    (2, "SIGINT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

/// How LLVM ends after an error that it cannot report in a source.
const FATAL: i32 = 70;

/// More CPU time than allowed.
const CPU_TIME: i32 = 24;

/// A file larger than allowed.
const FILE_SIZE: i32 = 25;

fn death(signal: i32, stderr: &str, limits: Option<&Limits>) -> String {
    if let Some(limits) = limits {
        let memory = ["out of memory", "bad_alloc", "Cannot allocate memory"];
        if memory.iter().any(|words| stderr.contains(words)) {
            return format!(
                "the compiler needs more than {} MiB of memory",
                limits.memory_mib
            );
        }
        match signal {
            CPU_TIME => {
                return format!(
                    "the compiler was stopped after {} s of CPU time",
                    limits.cpu_seconds
                );
            }
            FILE_SIZE => return format!("the compiler wrote more than {} MiB", limits.output_mib),
            _ => {}
        }
    }
    let name = SIGNALS.iter().find(|(number, _)| *number == signal);
    let name = name.map_or_else(
        || format!("signal {signal}"),
        |(_, name)| (*name).to_owned(),
    );
    match signal {
        2 | 9 | 15 => format!("the compiler was killed ({name})"),
        _ => format!("the compiler crashed ({name})"),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::Compiler;
    use crate::sandbox::Access;

    /// A shell for a compiler. It starts other programs, which no compiler may in a sandbox.
    fn limited(limits: Limits, script: &str) -> Run {
        let compiler = Compiler {
            arguments: vec!["-c".to_owned(), script.to_owned()],
            limits: Some(limits),
            confined: false,
            ..Compiler::new("/bin/sh")
        };
        let none: [&str; 0] = [];
        compiler
            .run(none, b"input", Access::Only(Vec::new()))
            .unwrap()
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
    fn time_and_output_are_limited_and_nothing_is_waited_for() {
        let took = |script: &str, words: &str| {
            let before = Instant::now();
            let run = limited(SMALL, script);
            assert!(!run.success && run.stderr.contains(words), "{run:?}");
            before.elapsed()
        };
        let time = took("sleep 60 & wait", "stopped after 2 s");
        assert!(time < Duration::from_secs(4), "{time:?}");
        // A program that it started keeps the streams open.
        let time = took("sleep 60 &", "stopped after 2 s");
        assert!(time < Duration::from_secs(4), "{time:?}");
        let time = took("yes & sleep 60", "more than 1 MiB");
        assert!(time < Duration::from_secs(2), "{time:?}");
        let time = took("exec >&- 2>&-; sleep 60", "stopped after 2 s");
        assert!(time < Duration::from_secs(4), "{time:?}");
        // A busy machine takes its time to give a second of it.
        let patient = Limits {
            wall_seconds: 60,
            ..SMALL
        };
        let run = limited(patient, "while :; do :; done");
        assert!(run.stderr.contains("1 s of CPU time"), "{run:?}");
    }

    #[test]
    fn a_crash_is_called_one() {
        for (script, words) in [
            ("kill -SEGV $$", "the compiler crashed (SIGSEGV)"),
            ("exit 139", "the compiler crashed (SIGSEGV)"),
            ("kill -ABRT $$", "the compiler crashed (SIGABRT)"),
            (
                "echo LLVM ERROR: out of memory >&2; kill -ABRT $$",
                "more than 512 MiB of memory",
            ),
            ("kill -KILL $$", "the compiler was killed (SIGKILL)"),
        ] {
            let run = limited(SMALL, script);
            assert!(
                !run.success && run.stderr.contains(words),
                "{script}: {run:?}"
            );
        }
    }
}
