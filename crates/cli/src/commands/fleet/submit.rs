//! `--fleet` of other commands: jobs are submitted, and answers come back.

use super::access::{FleetArgs, OnInterrupt};
use super::{failure, runtime};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::interrupt;
use assay_fleet::{Answer, Event, Fleet, Outstanding, Stop, Submission};
use crossbeam_channel::{RecvTimeoutError, Sender};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// A connection for the time of a command.
pub(crate) struct Session {
    runtime: tokio::runtime::Runtime,
    fleet: Fleet,
    on_interrupt: OnInterrupt,
}

/// Jobs of one command that wait for an answer at a time: more would only be kept here and there.
const WINDOW: usize = 2000;

impl Session {
    pub(crate) fn open(args: &FleetArgs) -> Result<Self, Failure> {
        let server = args.fleet.clone().unwrap_or_default();
        let access = args.identity.access(server)?;
        let runtime = runtime()?;
        let fleet = runtime.block_on(Fleet::connect(&access)).map_err(failure)?;
        Ok(Self {
            runtime,
            fleet,
            on_interrupt: args.on_interrupt.unwrap_or_default(),
        })
    }

    /// The pools that were asked for; those of the server if none were.
    pub(crate) fn pools(
        &self,
        args: &FleetArgs,
        context: &Context,
    ) -> Result<Vec<String>, Failure> {
        let known = self.runtime.block_on(self.fleet.pools()).map_err(failure)?;
        if let Some(pool) = args.pools.iter().find(|pool| !known.contains(pool)) {
            return Err(Failure::usage(format!("the server has no pool {pool}"))
                .advice(format!("it has {}", known.join(", "))));
        }
        let pools = if args.pools.is_empty() {
            known
        } else {
            args.pools.clone()
        };
        if pools.is_empty() {
            return Err(failure(assay_fleet::Error::NotSetUp("pool".to_owned())));
        }
        self.check_workers(&pools, context)?;
        Ok(pools)
    }

    /// Refuses pools whose workers are all of another version; says which have nobody.
    fn check_workers(&self, pools: &[String], context: &Context) -> Result<(), Failure> {
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
                context.note(&format!(
                    "no worker of pool {pool} is there: its jobs wait until one is (assay fleet workers)"
                ));
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

    /// Submits jobs and leaves them: prints their names, a line each.
    pub(crate) fn detach(
        &self,
        submissions: Vec<Arc<Submission>>,
        context: &Context,
    ) -> CommandResult {
        interrupt::cooperate();
        let wanted = submissions.len();
        let bar = progress(wanted, context);
        let (ask, stop) = Stop::new();
        let mut output = context.output()?;
        let (mut queued, mut failed) = (0, None);
        let mut tell = |event: Event| {
            if let Event::Queued { id, .. } = &event {
                queued += 1;
                bar.set_position(queued);
                if let Err(error) = writeln!(output, "{id}") {
                    failed.get_or_insert(error);
                }
            }
            if interrupt::requested() || failed.is_some() {
                // Nobody listens any more when the last chunk is on its way.
                let _ = ask.send(true);
            }
            show(&bar, &event);
        };
        let sent = self
            .runtime
            .block_on(self.fleet.enqueue(submissions, &stop, &mut tell));
        bar.finish_and_clear();
        output.finish()?;
        sent.map_err(failure)?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if queued < wanted as u64 {
            return Err(Failure::new(
                Kind::Interrupted,
                format!("stopped; {queued} of {wanted} jobs were submitted"),
            )
            .advice("assay fleet cancel ID … cancels them"));
        }
        context.note(&format!(
            "{queued} jobs are submitted: assay fleet results ID … collects their answers"
        ));
        Ok(Outcome::Fine)
    }

    /// Submits jobs and hands over each answer as it comes. Ctrl-C cancels what has no answer, or leaves it, and what was
    /// answered stays.
    ///
    /// The broker's client runs in a thread of its own: whoever takes an answer may write to a database, whose client has a
    /// runtime too.
    pub(crate) fn evaluate(
        &self,
        submissions: Vec<Arc<Submission>>,
        context: &Context,
        mut take: impl FnMut(usize, Answer) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        interrupt::cooperate();
        let bar = progress(submissions.len(), context);
        let (ask, stop) = Stop::new();
        let (send, events) = crossbeam_channel::bounded(EVENTS);
        let (mut failed, mut waited) = (None, false);
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
                    Ok(event) => {
                        if let (Event::Waiting(why), false) = (&event, waited) {
                            waited = true;
                            bar.suspend(|| context.note(&format!("waiting: {why}")));
                        }
                        show(&bar, &event);
                    }
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
        Err(match self.on_interrupt {
            OnInterrupt::Cancel => Failure::new(
                Kind::Interrupted,
                format!("stopped; {} jobs were cancelled", outstanding.0.len()),
            )
            .advice("what was answered is kept: the same command takes it from there"),
            OnInterrupt::Detach => {
                let names: Vec<&str> = outstanding.0.iter().map(|(_, id)| id.as_str()).collect();
                let told = format!("detached from {} jobs that go on", names.len());
                Failure::new(Kind::Interrupted, told)
                    .advice(format!("assay fleet results {}", names.join(" ")))
            }
        })
    }

    fn run(
        &self,
        submissions: Vec<Arc<Submission>>,
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
            let cancelled = match self.on_interrupt {
                OnInterrupt::Cancel => left.0.as_slice(),
                OnInterrupt::Detach => &[],
            };
            for (_, id) in cancelled {
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
