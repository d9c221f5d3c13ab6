//! Checking dispatches and running them.

use super::{CpuDevice, watch};
use crate::check;
use crate::dispatch::{Binding, Dispatch, Member};
use crate::error::{Error, Fault, FaultKind};
use crate::ids::{BufferId, PipelineId};
use crate::time::{Finished, Origin, Time};
use assay_exec::{Bindings, BoundTexture, Buffer, Grid, Limits, Program, RunError, Target};
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(not(target_arch = "wasm32"))]
use std::time::Instant;
#[cfg(target_arch = "wasm32")]
use web_time::Instant;

/// The first index of what only argument buffers name.
const FIRST_MEMBER: u32 = 1 << 16;

/// A dispatch that was found to be all right.
pub(super) struct Job<'a> {
    pipeline: PipelineId,
    grid: Grid,
    bindings: &'a [(u32, Binding)],
    members: &'a [Member],
    unwritten: &'a [u32],
}

/// A way to run a program: for its results, to check it, to count.
trait How<T>:
    FnOnce(&Program, &Grid, &mut Bindings, &Limits<'_>) -> Result<T, RunError> + Send
{
}

impl<T, F> How<T> for F where
    F: FnOnce(&Program, &Grid, &mut Bindings, &Limits<'_>) -> Result<T, RunError> + Send
{
}

/// How a dispatch ended before its end.
pub(super) enum Stop {
    Stopped,
    Failed(Error),
}

impl CpuDevice {
    /// Checks everything about a dispatch that can be known before it runs.
    pub(super) fn check<'a>(&self, dispatch: &'a Dispatch) -> Result<Job<'a>, Error> {
        let pipeline = self.pipelines.get(dispatch.pipeline)?;
        let kernel = &pipeline.facts;
        let threads = check::threads(dispatch.extent, dispatch.threadgroup, &self.facts, kernel)?;
        check::threadgroup_memory(dispatch.threadgroup_memory(), &self.facts, kernel)?;
        check::required(
            |place| dispatch.is_bound(place),
            kernel,
            pipeline.program.required(),
        )?;
        for (index, binding) in &dispatch.bindings {
            match binding {
                Binding::Buffer { buffer, offset } => {
                    let size = self.buffers.get(*buffer)?.len() as u64;
                    check::binding(kernel, *index, *offset, size)?;
                }
                Binding::Bytes(bytes) => {
                    let (size, limit) = (bytes.len(), self.facts.max_inline_bytes);
                    if size > limit as usize {
                        let why = format!(
                            "{size} bytes are more than the {limit} that can be bound without a buffer"
                        );
                        return Err(Error::Binding {
                            function: kernel.function.clone(),
                            index: *index,
                            why,
                        });
                    }
                    check::binding(kernel, *index, 0, size as u64)?;
                }
                Binding::Texture { buffer, layout, .. } => {
                    let size = self.buffers.get(*buffer)?.len() as u64;
                    let needed = layout.bytes();
                    if size < needed {
                        return Err(Error::Binding {
                            function: kernel.function.clone(),
                            index: *index,
                            why: format!("a texture of {layout} has {needed} bytes, not {size}"),
                        });
                    }
                }
                Binding::ThreadgroupMemory(_) | Binding::Sampler(_) => {}
            }
        }
        Ok(Job {
            pipeline: dispatch.pipeline,
            grid: Grid::threads(threads, dispatch.threadgroup),
            bindings: &dispatch.bindings,
            members: &dispatch.members,
            unwritten: &dispatch.unwritten,
        })
    }

    /// Runs the dispatches of a submission until one fails.
    pub(super) fn run_all(&mut self, jobs: &[Job<'_>]) -> Result<Finished, Error> {
        let start = Instant::now();
        let timeout = self.settings.timeout;
        let deadline = timeout.and_then(|timeout| start.checked_add(timeout));
        let request = self.settings.cancel.clone();
        let asked = || {
            let request = request.as_deref();
            request.is_some_and(|request| request.load(Ordering::Relaxed))
        };
        let mut dispatches = Vec::with_capacity(jobs.len());
        for (number, job) in jobs.iter().enumerate() {
            let began = Instant::now();
            let outcome = watch::watched(request.as_deref(), deadline, |stop| {
                self.run_one(number, job, stop)
            });
            match outcome {
                Ok(()) => dispatches.push(host(began)),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Stopped) if asked() => return Err(Error::Cancelled),
                Err(Stop::Stopped) => {
                    return Err(Error::TimeOut {
                        dispatch: number,
                        function: self.pipelines.get(job.pipeline)?.facts.function.clone(),
                        after: timeout.unwrap_or_default(),
                    });
                }
            }
        }
        Ok(Finished {
            total: Some(host(start)),
            dispatches,
        })
    }

    /// Runs one dispatch as [`Device::run`](crate::Device::run) would, slowly and in order, and says what it did that it
    /// must not: accesses outside buffers, memory read that nobody wrote, races, barriers and shuffles without all
    /// their threads. An access outside its buffer does not happen. Results are in the buffers afterwards.
    pub fn check_run(&mut self, dispatch: &Dispatch) -> Result<Vec<assay_exec::Report>, Error> {
        self.watched_run(dispatch, Program::check)
    }

    /// Runs one dispatch, or some of its threadgroups, slowly and in order, and counts what its simdgroups do. What was run
    /// is in the buffers afterwards.
    pub fn count_run(
        &mut self,
        dispatch: &Dispatch,
        sample: assay_exec::Sample,
    ) -> Result<assay_exec::Counts, Error> {
        self.watched_run(dispatch, |program, grid, bindings, limits| {
            program.count(grid, bindings, limits, sample)
        })
    }

    fn watched_run<T: Send>(&mut self, dispatch: &Dispatch, how: impl How<T>) -> Result<T, Error> {
        let job = self.check(dispatch)?;
        let request = self.settings.cancel.clone();
        let timeout = self.settings.timeout;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let outcome = watch::watched(request.as_deref(), deadline, |stop| {
            self.lend(0, &job, stop, how)
        });
        let asked = || {
            let request = request.as_deref();
            request.is_some_and(|request| request.load(Ordering::Relaxed))
        };
        match (outcome, timeout) {
            (Ok(result), _) => Ok(result),
            (Err(Stop::Failed(error)), _) => Err(error),
            (Err(Stop::Stopped), Some(after)) if !asked() => Err(Error::TimeOut {
                dispatch: 0,
                function: self.pipelines.get(job.pipeline)?.facts.function.clone(),
                after,
            }),
            (Err(Stop::Stopped), _) => Err(Error::Cancelled),
        }
    }

    fn run_one(&mut self, number: usize, job: &Job<'_>, stop: &AtomicBool) -> Result<(), Stop> {
        self.lend(number, job, stop, Program::run).map(|_| ())
    }

    /// Lends the buffers to the executor, runs, and takes them back.
    fn lend<T: Send>(
        &mut self,
        number: usize,
        job: &Job<'_>,
        stop: &AtomicBool,
        how: impl How<T>,
    ) -> Result<T, Stop> {
        let mut bindings = Bindings::new();
        let mut lent: Vec<(BufferId, u32)> = Vec::new();
        let mut textures: Vec<(BufferId, u32)> = Vec::new();
        // What only argument buffers name is bound behind the indices of arguments.
        let members = (FIRST_MEMBER..).zip(job.members);
        for (at, member) in members.clone() {
            let target = match member.binding {
                Binding::Texture { .. } => Target::Texture(at),
                Binding::Sampler(_) => Target::Sampler(at),
                _ => Target::Buffer(at),
            };
            bindings.set_member(member.index, member.offset, target, &member.name);
        }
        for &index in job.unwritten {
            bindings.set_unwritten(index);
        }
        let all = job
            .bindings
            .iter()
            .map(|(index, binding)| (*index, binding));
        for (index, binding) in all.chain(members.map(|(at, member)| (at, &member.binding))) {
            let index = &index;
            match binding {
                Binding::Bytes(bytes) => bindings.set(*index, Buffer::from_bytes(bytes)),
                Binding::ThreadgroupMemory(bytes) => {
                    bindings.set_threadgroup_memory(*index, *bytes);
                }
                Binding::Buffer { buffer, offset } => {
                    let owner = lent.iter().find(|(known, _)| known == buffer);
                    let owner = match owner {
                        Some(&(_, owner)) => owner,
                        None => {
                            let memory = self.buffers.get_mut(*buffer).map_err(Stop::Failed)?;
                            bindings.set(*index, std::mem::take(memory));
                            lent.push((*buffer, *index));
                            *index
                        }
                    };
                    bindings.share(*index, owner, *offset);
                }
                Binding::Sampler(sampler) => bindings.set_sampler(*index, *sampler),
                Binding::Texture {
                    buffer,
                    layout,
                    undefined,
                } => {
                    let owner = textures.iter().find(|(known, _)| known == buffer);
                    if let Some(&(_, owner)) = owner {
                        bindings.share_texture(*index, owner);
                        continue;
                    }
                    let memory = self.buffers.get_mut(*buffer).map_err(Stop::Failed)?;
                    let texture = BoundTexture {
                        layout: *layout,
                        texels: std::mem::take(memory),
                        undefined: *undefined,
                    };
                    bindings.set_texture(*index, texture);
                    textures.push((*buffer, *index));
                }
            }
        }
        let result = match self.pipelines.get(job.pipeline) {
            Ok(pipeline) => {
                let limits = Limits {
                    max_steps: self.settings.max_steps.unwrap_or(Limits::MOST_STEPS),
                    max_memory: self.max_memory(),
                    cancel: Some(stop),
                    finished: self.settings.finished.as_deref(),
                    backwards: self.backwards,
                    forgiven: None,
                };
                let run = || how(&pipeline.program, &job.grid, &mut bindings, &limits);
                let result = match &self.pool {
                    Some(pool) => pool.install(run),
                    None => run(),
                };
                result.map_err(|error| failure(error, number))
            }
            Err(error) => Err(Stop::Failed(error)),
        };
        for (buffer, index) in lent {
            if let (Ok(place), Some(memory)) = (self.buffers.get_mut(buffer), bindings.take(index))
            {
                *place = memory;
            }
        }
        for (buffer, index) in textures {
            let texture = bindings.take_texture(index);
            if let (Ok(place), Some(texture)) = (self.buffers.get_mut(buffer), texture) {
                *place = texture.texels;
            }
        }
        result
    }
}

fn host(start: Instant) -> Time {
    Time {
        length: start.elapsed(),
        origin: Origin::Host,
    }
}

pub(super) fn failure(error: RunError, dispatch: usize) -> Stop {
    let fault = match error {
        RunError::Fault(fault) if fault.kind == assay_exec::FaultKind::Cancelled => {
            return Stop::Stopped;
        }
        RunError::Fault(fault) => fault,
        RunError::TooLarge { needed, limit } => {
            return Stop::Failed(Error::OutOfMemory { needed, limit });
        }
        other => return Stop::Failed(Error::Grid(other.to_string())),
    };
    Stop::Failed(Error::Fault(Box::new(Fault {
        dispatch,
        function: fault.kernel.clone(),
        kind: kind(&fault.kind),
        what: fault.kind.to_string(),
        place: fault.place.clone(),
        thread: Some(fault.thread),
    })))
}

fn kind(kind: &assay_exec::FaultKind) -> FaultKind {
    use assay_exec::FaultKind as Exec;
    match kind {
        Exec::OutOfBounds { .. } | Exec::NoTarget { .. } => FaultKind::OutOfBounds,
        Exec::ReadOnly { .. } => FaultKind::ReadOnly,
        Exec::MisalignedAtomic { .. } => FaultKind::Misaligned,
        Exec::TooManySteps { .. } | Exec::NoProgress => FaultKind::TooManySteps,
        Exec::Unreachable => FaultKind::Unreachable,
        Exec::Texture { .. } => FaultKind::Other,
        Exec::Cancelled => FaultKind::Other,
    }
}
