//! The process that runs jobs for a worker, one after the other.
//!
//! It reads a [`Task`] per line from standard input and writes a [`Done`] per line to standard output. It is confined to one
//! folder, which has the job's inputs and nothing else, and limited in memory. When the worker is gone, standard input ends and
//! the process kills itself with everything it has started.

use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::{api, child, confine, toolchain};
use assay_fleet::{Ending, Job, Runner};
use assay_msl::beneath::Folders;
use assay_sweep::{HOLDERS, OUTCOMES};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

/// Run jobs told on standard input: what a worker starts
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The only folder that may be read and written
    #[arg(long)]
    folder: PathBuf,

    /// GiB of memory
    #[arg(long)]
    memory: u64,
}

/// What a process is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    line: Vec<String>,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
struct Done {
    code: u8,
    output: String,
    error: Option<String>,
    outcomes: String,
}

/// Bytes of verified runs that one job may leave.
const LARGEST_OUTCOMES: u64 = 64 << 20;

pub(super) fn run(args: &Args) -> CommandResult {
    let folder = args.folder.canonicalize()?;
    std::env::set_current_dir(&folder)?;
    child::limit_memory(args.memory << 30);
    // Looked for before the confinement: the compiler is not inside the folder.
    let _ = toolchain::find();
    confine::to(vec![folder.clone()]);
    let (send, tasks) = crossbeam_channel::unbounded::<String>();
    let own = folder.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
        // The worker was killed: one that lives kills this process before it lets go of its input.
        let _ = std::fs::remove_dir_all(own);
        child::end();
    });
    for line in tasks {
        let task: Task = serde_json::from_str(&line)
            .map_err(|error| Failure::usage(format!("this is for a worker alone: {error}")))?;
        let done = work(&task, &folder);
        let mut text = serde_json::to_vec(&done)
            .map_err(|error| Failure::new(Kind::Input, format!("no JSON: {error}")))?;
        text.push(b'\n');
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&text)?;
        stdout.flush()?;
    }
    Ok(Outcome::Fine)
}

fn work(task: &Task, folder: &Path) -> Done {
    let line: Vec<std::ffi::OsString> = task.line.iter().map(Into::into).collect();
    let answer = api::call(&line, Vec::new());
    let outcomes = Folders::new([folder]).read(&folder.join(OUTCOMES), LARGEST_OUTCOMES);
    let outcomes = String::from_utf8(outcomes.unwrap_or_default()).unwrap_or_default();
    Done {
        code: answer.code,
        output: String::from_utf8_lossy(&answer.output).into_owned(),
        error: answer.error,
        outcomes,
    }
}

/// Runs jobs in a process that is used again until something goes wrong with it, or it is old.
pub(super) struct Children {
    pub(super) device: &'static str,
    /// GiB.
    pub(super) memory: u64,
    folder: tempfile::TempDir,
    process: Option<Process>,
}

/// Jobs after which a process is replaced: whatever a command leaves behind in it does not grow for ever.
const OLD: u32 = 200;
/// Bytes of an answer that are read.
const LARGEST_ANSWER: u64 = 256 << 20;

struct Process {
    child: Option<Child>,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    jobs: u32,
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child::kill(child);
        }
    }
}

impl Children {
    pub(super) fn new(device: &'static str, memory: u64) -> Result<Self, Failure> {
        Ok(Self {
            device,
            memory,
            folder: super::folder::make()?,
            process: None,
        })
    }

    fn start(&self) -> Result<Process, String> {
        let mut command = child::program().map_err(|failure| failure.message)?;
        command
            .args(["fleet", "child", "--memory"])
            .arg(self.memory.to_string())
            .arg("--folder")
            .arg(self.folder.path());
        let started = |error: std::io::Error| format!("cannot start a process: {error}");
        let mut child = command.spawn().map_err(started)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a process without input or output".to_owned());
        };
        Ok(Process {
            child: Some(child),
            stdin,
            stdout: BufReader::new(stdout),
            jobs: 0,
        })
    }

    /// Makes the folder hold this job's inputs and nothing else.
    fn prepare(&self, job: &Job, inputs: &[(String, Vec<u8>)]) -> std::io::Result<()> {
        for entry in std::fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            if path.is_dir() {
                std::fs::remove_dir_all(path)?;
            } else {
                std::fs::remove_file(path)?;
            }
        }
        for (name, bytes) in inputs {
            // Names are plain: the job was checked.
            std::fs::write(self.folder.path().join(name), bytes)?;
        }
        if !job.extra.is_empty() {
            std::fs::write(self.folder.path().join(HOLDERS), &job.extra)?;
        }
        Ok(())
    }

    /// The job's line, with what this worker adds.
    fn line(&self, job: &Job) -> Vec<String> {
        let mut line = job.line.clone();
        let is = |name: &str| line.first().is_some_and(|command| command == name);
        let timed = !line.iter().any(|word| word == "--no-time");
        if is("bench") {
            line.push(format!("--device={}", self.device));
            if timed {
                line.push("--board=capsule:.".to_owned());
            }
        } else if is("run") && self.device == "metal" {
            line.push("--device=metal".to_owned());
        }
        line
    }
}

impl Runner for Children {
    async fn run(&mut self, job: Job, inputs: Vec<(String, Vec<u8>)>) -> Result<Ending, String> {
        self.prepare(&job, &inputs)
            .map_err(|error| format!("the folder of jobs: {error}"))?;
        drop(inputs);
        // Taken out: if this future is dropped, so is the process.
        let mut process = match self.process.take().filter(|process| process.jobs < OLD) {
            Some(process) => process,
            None => self.start()?,
        };
        let mut text = serde_json::to_vec(&Task {
            line: self.line(&job),
        })
        .map_err(|error| error.to_string())?;
        text.push(b'\n');
        let ended = |error: std::io::Error| format!("its process: {error}");
        process.stdin.write_all(&text).await.map_err(ended)?;
        process.stdin.flush().await.map_err(ended)?;
        let mut answer = Vec::new();
        let mut stdout = tokio::io::AsyncReadExt::take(&mut process.stdout, LARGEST_ANSWER);
        stdout.read_until(b'\n', &mut answer).await.map_err(ended)?;
        let done: Done = serde_json::from_slice(&answer).map_err(|_| {
            "its process ended without an answer: out of memory, or the GPU was lost".to_owned()
        })?;
        process.jobs += 1;
        self.process = Some(process);
        Ok(Ending::Done {
            code: done.code,
            output: done.output,
            error: done.error,
            outcomes: done.outcomes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{HOLDERS, OUTCOMES};

    #[test]
    fn no_input_has_a_name_of_ours() {
        assert_eq!(assay_fleet::RESERVED, [HOLDERS, OUTCOMES]);
    }
}
