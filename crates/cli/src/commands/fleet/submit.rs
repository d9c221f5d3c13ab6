//! `--fleet` of other commands: a command line becomes jobs, and answers come back.

use super::access::FleetArgs;
use super::{failure, runtime};
use crate::context::Context;
use crate::failure::{Failure, Kind};
use crate::{input, interrupt};
use assay_fleet::allow::{self, Command, Names, Takes};
use assay_fleet::{
    Answer, Event, Fleet, Input, Job, Outstanding, PROTOCOL, Priority, Stop, Submission,
};
use crossbeam_channel::{RecvTimeoutError, Sender};
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Flags that are about here and not about the job; true if a value follows.
const LOCAL: [(&str, bool); 18] = [
    ("--fleet", true),
    ("--chips", true),
    ("--pools", true),
    ("--fresh", false),
    ("--runs", true),
    ("--priority", true),
    ("--job-timeout", true),
    ("--key", true),
    ("--user", true),
    ("--ca", true),
    ("--board", true),
    ("--no-save", false),
    ("--quiet", false),
    ("--verbose", false),
    ("-q", false),
    ("-v", false),
    ("--set", true),
    ("--all", false),
];

/// A command line for other machines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Flags in the form of jobs, `--flag=value`.
    pub(crate) flags: Vec<String>,
    /// What stood without a flag.
    pub(crate) names: Vec<String>,
    /// Files, by the names that the job gives them.
    pub(crate) inputs: Vec<Input>,
    /// Bytes of those that are large.
    pub(crate) objects: Vec<Vec<u8>>,
}

impl Line {
    /// From the words after the command's name. Files that are named are read.
    pub(crate) fn read(command: &str, words: &[OsString]) -> Result<Self, Failure> {
        let command = allow::command(command)
            .ok_or_else(|| Failure::usage(format!("assay {command} cannot be sent elsewhere")))?;
        let mut line = Self::default();
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                line.name(command, &word)?;
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            if let Some((_, takes)) = LOCAL.iter().find(|(name, _)| *name == flag) {
                if *takes && value.is_none() {
                    words.next();
                }
                continue;
            }
            let known = command
                .flags
                .iter()
                .find(|one| one.name == flag || one.short == flag);
            let Some(known) = known.filter(|_| !flag.is_empty()) else {
                return Err(Failure::usage(format!("{flag} cannot be sent to another machine"))
                    .advice("a job can only compile and run kernels; leave it out, or run it here without --fleet"));
            };
            let takes = !matches!(known.takes, Takes::Nothing | Takes::MaybeWord);
            let value = if takes {
                value.or_else(|| words.next())
            } else {
                value
            };
            line.flag(known.name, known.takes, value)?;
        }
        Ok(line)
    }

    fn name(&mut self, command: &Command, word: &str) -> Result<(), Failure> {
        let name = match command.names {
            Names::Kernels => word.to_owned(),
            Names::Input => self.file(Path::new(word))?,
        };
        self.names.push(name);
        Ok(())
    }

    fn flag(&mut self, name: &str, takes: Takes, value: Option<String>) -> Result<(), Failure> {
        let Some(value) = value else {
            self.flags.push(name.to_owned());
            return Ok(());
        };
        let value = match takes {
            Takes::Input => self.file(Path::new(&value))?,
            Takes::Contents => match allow::contents(&value) {
                Some(contents) if !allow::is_generated(contents) => {
                    let file = allow::file(contents);
                    let sent = self.file(Path::new(file))?;
                    let start = value.len() - contents.len();
                    let rest = contents.get(file.len()..).unwrap_or_default();
                    format!("{}{sent}{rest}", value.get(..start).unwrap_or_default())
                }
                _ => value,
            },
            _ => value,
        };
        self.flags.push(format!("{name}={value}"));
        Ok(())
    }

    /// Takes a file along, and returns the name it has in the job.
    fn file(&mut self, path: &Path) -> Result<String, Failure> {
        let bytes = input::open(path)?;
        let ending = path.extension().map_or(String::new(), |ending| {
            format!(".{}", ending.to_string_lossy())
        });
        let name = format!("input{}{ending}", self.inputs.len());
        self.bytes(&name, &bytes);
        Ok(name)
    }

    /// Takes bytes along.
    pub(crate) fn bytes(&mut self, name: &str, bytes: &[u8]) {
        let input = Input::new(name, bytes);
        if input.inline.is_none() {
            self.objects.push(bytes.to_vec());
        }
        self.inputs.push(input);
    }

    /// A job of it.
    pub(crate) fn job(&self, args: &FleetArgs, words: Vec<String>, pool: &str) -> Submission {
        Submission {
            job: Job {
                protocol: PROTOCOL,
                id: String::new(),
                submitter: String::new(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pool: pool.to_owned(),
                priority: args.priority.map_or(Priority::Normal, Into::into),
                line: words,
                inputs: self.inputs.clone(),
                extra: String::new(),
                timeout: args.job_timeout.unwrap_or(600),
                fresh: args.fresh || args.runs > 1,
            },
            objects: self.objects.clone(),
        }
    }
}

/// A connection for the time of a command.
pub(crate) struct Session {
    runtime: tokio::runtime::Runtime,
    fleet: Fleet,
}

/// Jobs of one command that wait for an answer at a time: more would only be kept here and there.
const WINDOW: usize = 2000;

impl Session {
    pub(crate) fn open(args: &FleetArgs) -> Result<Self, Failure> {
        let server = args.fleet.clone().unwrap_or_default();
        let access = args.identity.access(server)?;
        let runtime = runtime()?;
        let fleet = runtime.block_on(Fleet::connect(&access)).map_err(failure)?;
        Ok(Self { runtime, fleet })
    }

    /// The pools that were asked for; those of the server if none were.
    pub(crate) fn pools(&self, args: &FleetArgs) -> Result<Vec<String>, Failure> {
        let known = self.runtime.block_on(self.fleet.pools()).map_err(failure)?;
        if let Some(pool) = args.chips.iter().find(|pool| !known.contains(pool)) {
            return Err(Failure::usage(format!("the server has no pool {pool}"))
                .advice(format!("it has {}", known.join(", "))));
        }
        let pools = if args.chips.is_empty() {
            known
        } else {
            args.chips.clone()
        };
        if pools.is_empty() {
            return Err(failure(assay_fleet::Error::NotSetUp("pool".to_owned())));
        }
        self.check_workers(&pools)?;
        Ok(pools)
    }

    /// Refuses pools whose workers are all of another version; says which have nobody.
    fn check_workers(&self, pools: &[String]) -> Result<(), Failure> {
        let workers = self
            .runtime
            .block_on(self.fleet.workers())
            .map_err(failure)?;
        let own = env!("CARGO_PKG_VERSION");
        for pool in pools {
            let mut there = workers
                .iter()
                .filter(|worker| worker.pool == *pool)
                .peekable();
            if there.peek().is_none() {
                continue;
            }
            let versions: Vec<&str> = there.map(|one| one.machine.version.as_str()).collect();
            if !versions
                .iter()
                .any(|version| assay_fleet::compatible(own, version))
            {
                return Err(Failure::new(
                    Kind::Missing,
                    format!(
                        "workers of {pool} have assay {}, and this is {own}",
                        versions.join(", ")
                    ),
                )
                .advice("upgrade the older of the two to the same version"));
            }
        }
        Ok(())
    }

    /// Submits jobs and hands over each answer as it comes. Ctrl-C cancels what has no answer, and what was answered stays.
    ///
    /// The broker's client runs in a thread of its own: whoever takes an answer may write to a database, whose client has a
    /// runtime too.
    pub(crate) fn evaluate(
        &self,
        submissions: Vec<Submission>,
        context: &Context,
        mut take: impl FnMut(usize, Answer) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        interrupt::cooperate();
        let bar = progress(submissions.len(), context);
        let (ask, stop) = Stop::new();
        let (send, events) = crossbeam_channel::bounded(EVENTS);
        let mut failed = None;
        let outstanding = std::thread::scope(|scope| {
            let thread = scope.spawn(move || self.run(submissions, &stop, &send));
            loop {
                match events.recv_timeout(Duration::from_millis(100)) {
                    Ok(Event::Answered(place, answer)) => {
                        bar.inc(1);
                        if let Err(failure) = take(place, *answer) {
                            failed.get_or_insert(failure);
                        }
                    }
                    Ok(event) => show(&bar, &event),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if interrupt::requested() || failed.is_some() {
                    // Nobody listens any more when the thread is done.
                    let _ = ask.send(true);
                }
            }
            thread.join()
        });
        bar.finish_and_clear();
        if let Some(failure) = failed {
            return Err(failure);
        }
        let outstanding =
            outstanding.map_err(|_| Failure::new(Kind::Missing, "the fleet's client failed"))?;
        let outstanding = outstanding.map_err(failure)?;
        if outstanding.0.is_empty() {
            return Ok(());
        }
        Err(Failure::new(
            Kind::Interrupted,
            format!("stopped; {} jobs were cancelled", outstanding.0.len()),
        )
        .advice("what was answered is kept: the same command takes it from there"))
    }

    fn run(
        &self,
        submissions: Vec<Submission>,
        stop: &Stop,
        send: &Sender<Event>,
    ) -> Result<Outstanding, assay_fleet::Error> {
        self.runtime.block_on(async {
            let mut tell = |event| {
                // Whoever no longer listens has failed, and says so.
                let _ = send.send(event);
            };
            let left = self
                .fleet
                .evaluate(submissions, WINDOW, stop, &mut tell)
                .await?;
            for (_, id) in &left.0 {
                // A job that is not cancelled is only run in vain.
                let _ = self.fleet.cancel(id).await;
            }
            Ok(left)
        })
    }
}

/// Events that wait to be taken: a slow board slows the submitter down instead of filling its memory.
const EVENTS: usize = 64;

fn show(bar: &ProgressBar, event: &Event) {
    bar.set_message(match event {
        Event::Queued { id, .. } => format!("queued {id}"),
        Event::Progress(_, progress) => {
            format!("on {} for {:.0} s", progress.worker, progress.seconds)
        }
        Event::Waiting(why) => format!("waiting: {why}"),
        Event::Answered(..) => return,
    });
}

fn progress(jobs: usize, context: &Context) -> ProgressBar {
    if !context.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(jobs as u64);
    let style = ProgressStyle::with_template("{pos} of {len} answered, {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, Failure> {
        let words: Vec<OsString> = text.split(' ').map(Into::into).collect();
        Line::read("bench", &words)
    }

    #[test]
    fn what_is_about_here_stays_here() {
        let read = line("softmax --quick --fleet nats://h --chips m1,m2 --sizes odd --iters=3 -q")
            .unwrap();
        assert_eq!(read.names, ["softmax"]);
        assert_eq!(read.flags, ["--quick", "--sizes=odd", "--iters=3"]);
        assert!(read.inputs.is_empty());
    }

    /// A word that clap takes for a command of its own would not be a kernel's name.
    #[test]
    fn commands_below_those_that_jobs_use_are_known() {
        use clap::CommandFactory;
        let program = crate::app::Cli::command();
        for known in &allow::COMMANDS {
            let command = program.find_subcommand(known.name).expect("a command");
            for below in command.get_subcommands() {
                let name = below.get_name();
                assert!(known.subcommands.contains(&name), "{} {name}", known.name);
            }
        }
    }

    #[test]
    fn what_is_more_than_a_kernel_is_refused() {
        for text in [
            "softmax --kernels /tmp",
            "softmax --device metal",
            "softmax --resume",
        ] {
            let failure = line(text).unwrap_err();
            assert!(
                failure.message.contains("another machine"),
                "{}",
                failure.message
            );
        }
    }
}
