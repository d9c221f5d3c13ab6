//! A reference in a process of its own.

use super::protocol::{Precision, Prepare, Reply, Request, VERSION};
use super::{Clock, Error, Reference};
use crate::oracle::Tensor;
use crate::registry::{Case, CaseArgument, CaseRole};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The numbers of an output, and their scales.
type Answer = (Vec<f64>, Option<Vec<f64>>);

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest answer, in bytes.
const LONGEST: u64 = 1 << 20;
/// How much of what it says on standard error is kept.
const KEPT: usize = 2000;

/// A program that answers requests, one JSON object per line.
#[derive(Debug)]
pub struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Vec<u8>>,
    complaints: Arc<Mutex<Vec<u8>>>,
    folder: PathBuf,
    name: String,
    clock: Clock,
    /// Bytes of each output of what was prepared.
    prepared: Vec<(usize, Vec<usize>)>,
    patience: Duration,
}

impl Process {
    /// Starts a program and greets it. Data go through files in `folder`, which must be there and ours.
    pub fn start(command: Command, folder: &Path) -> Result<Self, Error> {
        Self::start_with(command, folder, PATIENCE)
    }

    /// The same with another limit for each answer.
    pub fn start_with(
        mut command: Command,
        folder: &Path,
        patience: Duration,
    ) -> Result<Self, Error> {
        let shown = command.get_program().to_string_lossy().into_owned();
        let gone = |why: String| Error::Gone {
            name: shown.clone(),
            why,
        };
        // A group of its own, so that whatever it starts ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| gone(format!("cannot be started: {error}")))?;
        let (Some(requests), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(gone("has no standard input or output".to_owned()));
        };
        let mut process = Self {
            child,
            requests,
            answers: lines(stdout),
            complaints: tail(stderr),
            folder: folder.to_owned(),
            name: shown.clone(),
            clock: Clock::Host,
            prepared: Vec::new(),
            patience,
        };
        let hello = process.ask(&Request::Hello { protocol: VERSION })?;
        if hello.protocol != Some(VERSION) {
            let why = match hello.protocol {
                Some(other) => format!("speaks version {other} of the protocol, not {VERSION}"),
                None => "does not say which version of the protocol it speaks".to_owned(),
            };
            return Err(gone(why));
        }
        process.name = hello.name.unwrap_or(shown);
        process.clock = hello.clock.unwrap_or(Clock::Host);
        Ok(process)
    }

    /// Gives it the name by which it was asked for. A program may say what it is, and that is told beside it, but it may
    /// not pass for something else.
    pub fn called(mut self, name: &str) -> Self {
        const LONGEST_NAME: usize = 60;
        let cut = |text: &str| -> String { text.chars().take(LONGEST_NAME).collect() };
        self.name = format!("{} (says \"{}\")", cut(name), cut(&self.name));
        self
    }

    fn ask(&mut self, request: &Request<'_>) -> Result<Reply, Error> {
        let mut line = serde_json::to_vec(request).map_err(|error| self.gone(error.to_string()))?;
        line.push(b'\n');
        let sent = self.requests.write_all(&line);
        if sent.and_then(|()| self.requests.flush()).is_err() {
            return Err(self.ended());
        }
        let line = match self.answers.recv_timeout(self.patience) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                // Whatever it says later would be taken for another answer.
                self.kill();
                let seconds = self.patience.as_secs_f64();
                return Err(self.gone(format!("gave no answer within {seconds} s")));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
        };
        let reply: Reply = serde_json::from_slice(&line).map_err(|error| {
            let shown: String = String::from_utf8_lossy(&line).chars().take(200).collect();
            self.gone(format!("answered {shown:?}, which is no answer: {error}"))
        })?;
        let why = |reply: Reply| reply.why.unwrap_or_else(|| "does not say why".to_owned());
        match (reply.ok, reply.unsupported) {
            (true, _) => Ok(reply),
            (false, true) => Err(Error::Unsupported {
                name: self.name.clone(),
                why: why(reply),
            }),
            (false, false) => Err(self.failed(why(reply))),
        }
    }

    /// Ends it, and whatever it has started.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            // A group that is gone is what is wanted.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
    }

    fn failed(&self, why: String) -> Error {
        Error::Failed {
            name: self.name.clone(),
            why,
        }
    }

    fn gone(&self, why: String) -> Error {
        Error::Gone {
            name: self.name.clone(),
            why,
        }
    }

    /// It is no more: how it ended and the last it said.
    fn ended(&mut self) -> Error {
        // The pipe closes a moment before the process is gone.
        std::thread::sleep(Duration::from_millis(50));
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!(" ({status})"),
            _ => String::new(),
        };
        let said = match self.complaints.lock() {
            Ok(said) => String::from_utf8_lossy(&said).trim().to_owned(),
            Err(_) => String::new(),
        };
        let last = said.lines().last().unwrap_or_default();
        match last.is_empty() {
            true => self.gone(format!("ended{status}")),
            false => self.gone(format!("ended{status}: {last}")),
        }
    }

    /// Asks it as an oracle: the numbers of each output in double precision, and their scales if it says any.
    pub(crate) fn answers(&mut self, case: &Case, inputs: &[Tensor]) -> Result<Vec<Answer>, Error> {
        const SET: usize = 0;
        self.prepare_in(Precision::Double, SET, case, inputs)?;
        let outputs: Vec<&CaseArgument> = outputs(case).collect();
        let files = self.output_files(outputs.len(), "output");
        let scales = self.output_files(outputs.len(), "scale");
        self.ask(&Request::Outputs {
            set: SET,
            files: &files,
            scales: &scales,
        })?;
        let mut answers = Vec::new();
        for ((argument, file), scale) in outputs.into_iter().zip(&files).zip(&scales) {
            let size = argument.elements() * Precision::Double.size(argument.dtype);
            let values = Precision::Double.decode(argument.dtype, &self.take_file(file, size)?);
            let scale = match scale.exists() {
                true => {
                    let bytes = self.take_file(scale, argument.elements() * size_of::<f64>())?;
                    let (numbers, _) = bytes.as_chunks();
                    let numbers = numbers.iter().map(|one| f64::from_le_bytes(*one).abs());
                    Some(numbers.collect())
                }
                false => None,
            };
            answers.push((values, scale));
        }
        self.forget()?;
        Ok(answers)
    }

    fn prepare_in(
        &mut self,
        precision: Precision,
        set: usize,
        case: &Case,
        inputs: &[Tensor],
    ) -> Result<(), Error> {
        let folder = self.folder.clone();
        let (message, files) = Prepare::new(set, case, inputs, &folder, precision);
        for (path, bytes) in &files {
            self.write(path, bytes)?;
        }
        let asked = self.ask(&Request::Prepare(Box::new(message)));
        for (path, _) in &files {
            // A file that is left is removed with the folder.
            let _ = std::fs::remove_file(path);
        }
        asked?;
        let sizes = outputs(case)
            .map(|argument| argument.elements() * precision.size(argument.dtype))
            .collect();
        self.prepared.retain(|(known, _)| *known != set);
        self.prepared.push((set, sizes));
        Ok(())
    }

    fn output_files(&self, count: usize, word: &str) -> Vec<PathBuf> {
        let names = (0..count).map(|place| format!("{word}-{place}"));
        names.map(|name| self.folder.join(name)).collect()
    }

    /// The bytes of a file that it wrote, which must be so many; the file is removed.
    fn take_file(&self, path: &Path, size: usize) -> Result<Vec<u8>, Error> {
        let bytes = std::fs::File::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(size as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let bytes = bytes.map_err(|error| self.failed(format!("{}: {error}", path.display())))?;
        let _ = std::fs::remove_file(path);
        match bytes.len() == size {
            true => Ok(bytes),
            false => {
                let written = bytes.len();
                Err(self.failed(format!("wrote {written} bytes where {size} belong")))
            }
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        std::fs::write(path, bytes)
            .map_err(|error| self.failed(format!("{}: {error}", path.display())))
    }
}

impl Reference for Process {
    fn name(&self) -> &str {
        &self.name
    }

    fn clock(&self) -> Clock {
        self.clock
    }

    fn prepare(&mut self, set: usize, case: &Case, inputs: &[Tensor]) -> Result<(), Error> {
        self.prepare_in(Precision::Own, set, case, inputs)
    }

    fn run(&mut self, set: usize, times: usize) -> Result<f64, Error> {
        let reply = self.ask(&Request::Run { set, times })?;
        let seconds = reply
            .seconds
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        seconds.ok_or_else(|| self.failed("gave no time in seconds".to_owned()))
    }

    fn outputs(&mut self, set: usize) -> Result<Vec<Vec<u8>>, Error> {
        let known = self.prepared.iter().find(|(known, _)| *known == set);
        let sizes = known.map(|(_, sizes)| sizes.clone()).unwrap_or_default();
        let files = self.output_files(sizes.len(), "output");
        self.ask(&Request::Outputs {
            set,
            files: &files,
            scales: &[],
        })?;
        let outputs = files.iter().zip(sizes);
        outputs
            .map(|(path, size)| self.take_file(path, size))
            .collect()
    }

    fn forget(&mut self) -> Result<(), Error> {
        self.prepared.clear();
        self.ask(&Request::Forget).map(|_| ())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that waits for requests has nothing to lose.
        self.kill();
        let _ = self.child.wait();
    }
}

fn outputs(case: &Case) -> impl Iterator<Item = &CaseArgument> {
    let outputs = case.arguments.iter();
    outputs.filter(|argument| matches!(argument.role, CaseRole::Output { .. }))
}

/// Lines as they come, read by a thread of their own so that waiting for one can end.
fn lines(stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) || sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The end of what is said on standard error.
fn tail(mut stderr: ChildStderr) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut piece = [0; 512];
        while let Ok(count @ 1..) = stderr.read(&mut piece) {
            let Ok(mut kept) = keeper.lock() else { return };
            kept.extend(piece.iter().take(count));
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
    });
    kept
}
