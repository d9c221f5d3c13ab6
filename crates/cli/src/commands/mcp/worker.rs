//! The process that runs one call.
//!
//! The server writes a [`Job`] as one line to its standard input and reads [`Message`]s from its standard output, a line each:
//! steps of the work as it goes on, and at last what came of it. The process confines itself to the allowed folders and limits its memory before it looks at anything. It leads a process group of its
//! own, compilers included, which the server kills when the time is over or the client cancels; if the server dies, standard
//! input ends and the group kills itself.

use super::tools::SCRATCH;
use super::{Limits, broken, compare};
use crate::api;
use crate::child;
use crate::confine;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::progress::{self, Step};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin};

/// What a process is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) roots: Vec<PathBuf>,
    /// Bytes of memory.
    pub(super) memory: u64,
    /// A command line without the program's name.
    pub(super) line: Vec<String>,
    /// The second command line of a comparison.
    pub(super) after: Vec<String>,
    /// The buffers to compare; none when nothing is compared.
    pub(super) buffers: Vec<u32>,
    pub(super) inputs: Vec<Input>,
}

/// A file that exists as text only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) text: String,
}

/// What a process says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    /// It goes on.
    Step(Step),
    /// It has ended.
    Done(Done),
}

impl Message {
    /// Writes the message to standard output, in one piece whatever other threads write.
    fn send(&self) -> Result<(), Failure> {
        let mut line = serde_json::to_string(self).map_err(|error| broken("no JSON", error))?;
        line.push('\n');
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(line.as_bytes())?;
        Ok(stdout.flush()?)
    }
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// The exit code of the command.
    pub(super) code: u8,
    /// What it printed.
    pub(super) output: String,
    /// The document `assay.error`, if it failed.
    pub(super) error: Option<String>,
}

impl From<api::Answer> for Done {
    fn from(answer: api::Answer) -> Done {
        Done {
            code: answer.code,
            output: String::from_utf8_lossy(&answer.output).into_owned(),
            error: answer.error,
        }
    }
}

impl From<Failure> for Done {
    fn from(failure: Failure) -> Done {
        Done {
            code: crate::failure::status(failure.kind),
            output: String::new(),
            error: Some(crate::failure::to_json(&failure)),
        }
    }
}

impl Job {
    /// Runs a command line with the job's texts.
    pub(super) fn run(&self, line: &[String]) -> Done {
        let scratch = match scratch(line) {
            Ok(scratch) => scratch,
            Err(error) => return Failure::from(error).into(),
        };
        let place = scratch
            .as_ref()
            .map(|folder| folder.path().display().to_string());
        let line: Vec<OsString> = line
            .iter()
            .map(|word| match &place {
                Some(place) if word.starts_with(ATTEMPTS) => word.replace(SCRATCH, place).into(),
                _ => word.into(),
            })
            .collect();
        let inputs = self.inputs.iter().map(|input| {
            let bytes = input.text.as_bytes().to_vec();
            (PathBuf::from(&input.name), bytes.into())
        });
        api::call(&line, inputs.collect()).into()
    }
}

/// The only flag that names a folder of its own.
const ATTEMPTS: &str = "--attempts=";

/// A folder for a command line that wants one.
fn scratch(line: &[String]) -> std::io::Result<Option<tempfile::TempDir>> {
    let wanted = line.iter().any(|word| word.starts_with(ATTEMPTS));
    wanted.then(tempfile::tempdir).transpose()
}

/// `assay mcp --worker`: one job.
pub(super) fn work() -> CommandResult {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line)
        .map_err(|error| Failure::usage(format!("--worker is for the server alone: {error}")))?;
    drop(line);
    child::end_with_input();
    child::limit_memory(job.memory);
    tell_steps();
    if let Some(root) = job.roots.first() {
        std::env::set_current_dir(root)?;
    }
    let done = if job.buffers.is_empty() {
        confine::to(job.roots.clone());
        job.run(&job.line)
    } else {
        compare::run(&job).unwrap_or_else(Done::from)
    };
    Message::Done(done).send()?;
    Ok(Outcome::Fine)
}

/// The shortest time between two counts of the same stage.
const BETWEEN_COUNTS: Duration = Duration::from_millis(200);

/// Passes steps on: every stage, and counts that have changed, as often as a person can read them.
fn tell_steps() {
    let last: Mutex<Option<(Instant, Step)>> = Mutex::new(None);
    progress::listen(Box::new(move |step| {
        if let Some(count) = step.count {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let total = |step: &Step| step.count.map(|count| count.total);
            let same_stage = last
                .as_ref()
                .filter(|(_, told)| total(told) == total(&step));
            if let Some((at, told)) = same_stage {
                let is_soon = at.elapsed() < BETWEEN_COUNTS && count.done < count.total;
                if is_soon || *told == step {
                    return;
                }
            }
            *last = Some((Instant::now(), step.clone()));
        }
        // If the server is gone, so is this process in a moment.
        let _ = Message::Step(step).send();
    }));
}

/// A process that runs a job, from the server's side.
#[derive(Debug)]
pub(super) struct Process {
    /// There until the process is dropped.
    child: Option<Child>,
    /// As long as it is open the process lives.
    stdin: Option<ChildStdin>,
}

/// Bytes of an answer that are read.
const LARGEST_ANSWER: u64 = 256 << 20;

impl Process {
    /// Starts a process for a job.
    pub(super) fn start(limits: &Limits) -> Result<Process, Failure> {
        let mut command = child::program()?;
        command.args(["mcp", "--worker"]);
        if let Some(root) = limits.roots.first() {
            command.current_dir(root);
        }
        let mut child = command
            .spawn()
            .map_err(|error| broken("cannot start a process", error))?;
        let stdin = child.stdin.take();
        Ok(Process {
            child: Some(child),
            stdin,
        })
    }

    /// Hands the job over, passes its steps on and waits for what comes of it.
    pub(super) async fn finish(
        &mut self,
        job: &Job,
        mut on_step: impl FnMut(Step),
    ) -> Result<Done, Failure> {
        let ended = |error: std::io::Error| broken("the process of the call", error);
        let mut line = serde_json::to_vec(job).map_err(|error| broken("no JSON", error))?;
        line.push(b'\n');
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(&line).await.map_err(ended)?;
            stdin.flush().await.map_err(ended)?;
        }
        drop(line);
        let child = self.child.as_mut();
        if let Some(stdout) = child.and_then(|child| child.stdout.as_mut()) {
            let mut stdout = BufReader::new(stdout.take(LARGEST_ANSWER));
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).await.map_err(ended)? > 0 {
                match serde_json::from_slice(&line) {
                    Ok(Message::Step(step)) => on_step(step),
                    Ok(Message::Done(done)) => return Ok(done),
                    Err(_) => break,
                }
                line.clear();
            }
        }
        Err(
            Failure::input("the call ended without an answer: it may have run out of memory")
                .advice("use smaller sizes, or start the server with a larger --memory"),
        )
    }
}

/// Ends the process and all it has started.
impl Drop for Process {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else {
            return;
        };
        child::kill(child);
    }
}
