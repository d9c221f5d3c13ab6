//! Runs a program over a grid: threadgroups in parallel, simdgroups in turns.

use crate::bindings::Bindings;
use crate::buffer::Buffer;
use crate::code::{Objects, Pointer, Program};
use crate::error::{Fault, FaultKind, Forgiven, RunError};
use crate::geometry::Grid;
use crate::group_batching::GroupBatches;
use crate::interpret::observer::Observer;
use crate::interpret::{Batch, ExecutionContext, Stop, Trap};
use crate::memory::{OFFSET_BITS, Region, THREADGROUP, View};
#[cfg(feature = "native")]
use crate::native::Parts;
use crate::position::GridPosition;
use crate::stream::Plan;
use crate::texture::Resource;
use crate::turns::{TURN, Turn};
use assay_ssa::Binding;
use std::hash::Hasher;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// When a dispatch is stopped or refused.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Operations a simdgroup may run, counted when a loop starts over. Simdgroups that run in step are counted together: an
    /// operation counts once for all of them, also for those that have left the loop. A program without
    /// loops is never stopped; one that [waits for ever](FaultKind::NoProgress) is found out before.
    pub max_steps: u64,
    /// Bytes of working memory (registers, thread and threadgroup memory of all workers).
    pub max_memory: u64,
    /// Looked at when a threadgroup starts and when a loop starts over; set it to stop the dispatch.
    pub cancel: Option<&'a AtomicBool>,
    /// Counts the threadgroups that have ended, for whoever wants to show how far the dispatch is.
    pub finished: Option<&'a AtomicU64>,
    /// Threadgroups run one after the other from the last to the first. Metal promises no order, so a kernel whose result
    /// depends on it is wrong.
    pub backwards: bool,
    /// Keeps faults that are to be gone on after; without it the first ends the dispatch.
    pub forgiven: Option<&'a Forgiven>,
}

impl Limits<'_> {
    /// Steps nobody waits for: a simdgroup takes a quarter of an hour or more for them here. Every dispatch has a limit.
    pub const MOST_STEPS: u64 = 1 << 36;
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            max_steps: Self::MOST_STEPS,
            max_memory: 8 << 30,
            cancel: None,
            finished: None,
            backwards: false,
            forgiven: None,
        }
    }
}

/// Statistics of a finished dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Threadgroups run.
    pub threadgroups: u64,
    /// Threads run.
    pub threads: u64,
}

/// A dispatch: what its workers share.
pub(crate) struct Job<'a> {
    pub(crate) program: &'a Program,
    pub(crate) grid: &'a Grid,
    pub(crate) limits: &'a Limits<'a>,
    pub(crate) regions: Vec<Region>,
    pub(crate) pointers: Vec<(u32, u64)>,
    /// Addresses of buffers that have a region already, by index.
    pub(crate) placed: Vec<(u32, u64)>,
    /// Handles of textures that have a region already, by index.
    pub(crate) placed_textures: Vec<(u32, u64)>,
    pub(crate) threadgroup_bytes: u32,
    /// The objects of threadgroup memory, if guard zones lie between them.
    pub(crate) threadgroup_objects: Option<Objects>,
    /// Operations of a batch before others get a turn.
    pub(crate) turn: u64,
}

/// One worker's memory, kept from threadgroup to threadgroup.
pub(crate) struct Worker {
    batches: Vec<Batch>,
    frames: Vec<Buffer>,
    threadgroup: Buffer,
}

/// Why a round of batches ended.
enum Round {
    /// All that have not ended stand at a barrier.
    Barrier,
    /// One is in a loop, and its turn is over.
    TurnOver,
    Finished,
}

impl Worker {
    /// Adds all that the next turn depends on, besides the memory that threadgroups share.
    pub(crate) fn hash(&mut self, hasher: &mut impl Hasher) {
        for batch in &mut self.batches {
            batch.hash(hasher);
        }
        for buffer in self.frames.iter().chain([&self.threadgroup]) {
            hasher.write(buffer.bytes());
        }
    }

    /// The first thread that has not ended, by its number in the threadgroup, and the operation it stands at.
    pub(crate) fn stands_at(&self) -> Option<(u32, usize)> {
        self.batches.iter().find_map(Batch::stands_at)
    }
}

impl Program {
    /// Runs the kernel over a grid. What it writes is in the bindings afterwards, also after a fault.
    pub fn run(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
    ) -> Result<Statistics, RunError> {
        grid.check(self.max_threads)?;
        let job = self.job(grid, bindings, limits)?;
        let workers = rayon::current_num_threads() as u64;
        let batches = GroupBatches::of(self, grid, job.threadgroup_bytes, workers);
        job.check_memory(workers, batches.size, 0)?;
        let groups = job.groups();
        let finished = || Statistics {
            threadgroups: groups,
            threads: grid.threads.iter().map(|&n| u64::from(n)).product(),
        };
        if let Some(plan) = Plan::of(&job) {
            plan.run()?;
            return Ok(finished());
        }
        // Machine code runs a threadgroup to its end, whoever waits for another.
        #[cfg(feature = "native")]
        let native = job.turn == u64::MAX && !limits.backwards;
        let mut done = 0;
        #[cfg(feature = "native")]
        let mut parts = Parts::new(workers);
        while done < batches.count() {
            #[cfg(feature = "native")]
            if let Some(code) = self.native.code(grid.threadgroup).filter(|_| native) {
                let first = batches.get(done).0;
                drop(job);
                return self.native.run((&code, first), grid, bindings, limits);
            }
            #[cfg(feature = "native")]
            let start = std::time::Instant::now();
            #[cfg(feature = "native")]
            let end = match native && self.native.may_come(grid.threadgroup) {
                true => done.saturating_add(parts.size()).min(batches.count()),
                false => batches.count(),
            };
            #[cfg(not(feature = "native"))]
            let end = batches.count();
            job.run_batches(&batches, done..end)?;
            done = end;
            #[cfg(feature = "native")]
            if native {
                parts.took(start.elapsed());
                self.native.note(grid.threadgroup, start.elapsed());
            }
        }
        Ok(finished())
    }

    pub(crate) fn job<'a>(
        &'a self,
        grid: &'a Grid,
        bindings: &mut Bindings,
        limits: &'a Limits<'a>,
    ) -> Result<Job<'a>, RunError> {
        let mut job = Job {
            program: self,
            grid,
            limits,
            regions: vec![Region::nothing()],
            pointers: Vec::new(),
            placed: Vec::new(),
            placed_textures: Vec::new(),
            threadgroup_bytes: self.threadgroup_end,
            threadgroup_objects: self.guarded.as_ref().map(|all| all.threadgroup.clone()),
            turn: match self.may_spin() {
                true => TURN,
                false => u64::MAX,
            },
        };
        job.place_residents(bindings)?;
        for &(reg, pointer) in &self.pointers {
            let address = match pointer {
                Pointer::Static(offset) => THREADGROUP << OFFSET_BITS | u64::from(offset),
                Pointer::Threadgroup(index) => job.threadgroup(bindings, index)?,
                Pointer::Buffer(index) => job.buffer(bindings, index)?,
                Pointer::Constant(index) => job.constant(index),
                Pointer::Texture(index) => job.texture(bindings, index)?,
                Pointer::Sampler(index) => job.sampler(bindings, index)?,
            };
            job.pointers.push((reg, address));
        }
        job.place_members(bindings)?;
        Ok(job)
    }

    pub(crate) fn argument_name(&self, binding: Binding) -> String {
        let found = self
            .arguments
            .iter()
            .find(|argument| argument.binding == binding);
        found.map_or(String::new(), |argument| argument.name.clone())
    }
}

impl Job<'_> {
    /// The address of a new region.
    pub(crate) fn region(&mut self, region: Region) -> u64 {
        self.regions.push(region);
        (self.regions.len() as u64 - 1) << OFFSET_BITS
    }

    /// Bytes of the smallest texel of a texture, or four.
    pub(crate) fn smallest_texel(&self) -> u32 {
        let texels = self.regions.iter().map(|region| match region.resource {
            Some(Resource::Texture { layout, .. }) => layout.format.bytes,
            _ => 4,
        });
        texels.min().unwrap_or(4).min(4)
    }

    /// Threadgroups of the grid.
    pub(crate) fn groups(&self) -> u64 {
        let counts = self.grid.group_counts();
        counts.iter().map(|&n| u64::from(n)).product()
    }

    /// Simdgroups of a whole threadgroup.
    pub(crate) fn simdgroups(&self) -> u64 {
        let threads: u64 = self
            .grid
            .threadgroup
            .iter()
            .map(|&n| u64::from(n))
            .product();
        threads.div_ceil(32)
    }

    /// Refuses a job that needs too much memory for so many workers, each with so many threadgroups, and `more` bytes
    /// besides.
    pub(crate) fn check_memory(
        &self,
        workers: u64,
        groups: u64,
        more: u64,
    ) -> Result<(), RunError> {
        let needed = self
            .worker_bytes(groups)
            .saturating_mul(workers)
            .saturating_add(more);
        if needed > self.limits.max_memory {
            return Err(RunError::TooLarge {
                needed,
                limit: self.limits.max_memory,
            });
        }
        Ok(())
    }

    /// Memory for a worker whose simdgroups run in step as far as that goes.
    pub(crate) fn worker(&self) -> Worker {
        let simdgroups = self.simdgroups() as usize;
        self.worker_of(simdgroups, Batch::size(self.program, simdgroups))
    }

    /// Memory for a worker that runs several threadgroups in one batch.
    pub(crate) fn batching_worker(&self, batches: &GroupBatches) -> Worker {
        let simdgroups = self.simdgroups() as usize * batches.size as usize;
        self.worker_of(simdgroups, Batch::size(self.program, simdgroups))
    }

    /// Memory for a worker whose simdgroups run by themselves, one after the other.
    pub(crate) fn worker_in_turn(&self) -> Worker {
        self.worker_of(self.simdgroups() as usize, 1)
    }

    /// Memory for so many simdgroups in batches.
    fn worker_of(&self, count: usize, batch: usize) -> Worker {
        let frame = self.program.frame as usize * 32;
        let new = |number: usize| {
            Batch::new(
                self.program,
                &self.pointers,
                number,
                batch.min(count - number),
            )
        };
        Worker {
            batches: (0..count).step_by(batch).map(new).collect(),
            frames: match frame {
                0 => Vec::new(),
                _ => (0..count).map(|_| Buffer::zeroed(frame)).collect(),
            },
            threadgroup: Buffer::zeroed(self.threadgroup_bytes as usize),
        }
    }

    /// Bytes of working memory of a worker with so many threadgroups.
    pub(crate) fn worker_bytes(&self, groups: u64) -> u64 {
        let p = self.program;
        let registers = u64::from(p.narrow) * 128 + u64::from(p.wide) * 256;
        let simdgroup = registers + u64::from(p.frame) * 32;
        simdgroup * self.simdgroups() * groups + u64::from(self.threadgroup_bytes)
    }

    /// Starts threadgroups that follow each other, those after the first whole like it.
    pub(crate) fn start_groups<O: Observer>(
        &self,
        worker: &mut Worker,
        number: u64,
        count: u64,
        observer: &mut O,
    ) -> Result<(), Box<Fault>> {
        let group = self.grid.group(number);
        let cancelled = |cancel: &AtomicBool| cancel.load(Ordering::Relaxed);
        if self.limits.cancel.is_some_and(cancelled) {
            return Err(Box::new(Fault {
                kernel: self.program.name.clone(),
                kind: FaultKind::Cancelled,
                place: None,
                thread: group.origin,
            }));
        }
        let threads = group.threads() * count as u32;
        worker.threadgroup.bytes_mut().fill(0);
        for frame in &mut worker.frames {
            frame.bytes_mut().fill(0);
        }
        for batch in &mut worker.batches {
            batch.start(self.program, &self.pointers, threads);
        }
        observer.on_threadgroup_start(number);
        Ok(())
    }

    /// Runs threadgroups that have started: each batch of simdgroups until a barrier, its end or the end of its turn, one
    /// after the other, until all have ended, or none gets on without a turn.
    pub(crate) fn take_turn<O: Observer>(
        &self,
        worker: &mut Worker,
        number: u64,
        count: u64,
        observer: &mut O,
    ) -> Result<Turn, Box<Fault>> {
        let (base, len) = (worker.threadgroup.as_mut_ptr(), worker.threadgroup.len());
        // SAFETY: the worker's memory is only accessed through the region until the turn is over.
        let threadgroup = unsafe { Region::shared(base, len, true, "threadgroup memory") };
        let frame_bytes = self.program.frame;
        let frames = worker.frames.iter_mut().map(|frame| {
            // SAFETY: as above; a frame has 32 times as many bytes (`worker_of`).
            unsafe { Region::per_lane(frame.as_mut_ptr(), frame_bytes, "thread memory") }
        });
        let frames: Vec<Region> = frames.collect();
        let context = ExecutionContext {
            program: self.program,
            memory: View {
                shared: &self.regions,
                threadgroup: &threadgroup,
                thread: &Region::nothing(),
            },
            frames: &frames,
            grid_position: GridPosition {
                grid: self.grid,
                group: self.grid.group(number),
                number,
                simdgroups: self.simdgroups() as u32,
                simdgroup: 0,
            },
            alone: false,
            max_steps: self.limits.max_steps,
            cancel: self.limits.cancel,
            forgiven: self.limits.forgiven,
        };
        for batch in &mut worker.batches {
            batch.start_turn(self.turn, self.limits.max_steps);
        }
        loop {
            match self.run_round(&mut worker.batches, &context, observer)? {
                Round::Barrier => {
                    observer.on_threadgroup_barrier(&worker.batches, &context.grid_position);
                }
                Round::TurnOver => return Ok(Turn::Over),
                Round::Finished => break,
            }
        }
        if let Some(finished) = self.limits.finished {
            finished.fetch_add(count, Ordering::Relaxed);
        }
        Ok(Turn::Finished)
    }

    /// Runs every batch to its next barrier, its end or the end of its turn.
    fn run_round<O: Observer>(
        &self,
        batches: &mut Vec<Batch>,
        context: &ExecutionContext<'_>,
        observer: &mut O,
    ) -> Result<Round, Box<Fault>> {
        let (mut next, mut over) = (0, false);
        while next < batches.len() {
            let alone = batches.len() == 1;
            let batch = &mut batches[next];
            if batch.progress.finished || batch.progress.at_barrier {
                next += 1;
                continue;
            }
            let context = ExecutionContext {
                alone,
                ..context.of(batch)
            };
            let stop = batch.run(&context, observer);
            match stop.map_err(|trap| self.fault(trap, &context.of(batch)))? {
                Stop::Barrier => batch.progress.at_barrier = true,
                Stop::Finished => {}
                Stop::Parted => {
                    let parts = batch.split();
                    batches.splice(next..=next, parts);
                }
                Stop::TurnOver => {
                    over = true;
                    if batch.is_parted() {
                        // Simdgroups that others wait for may be among those without active lanes.
                        let count = batch.simdgroups();
                        let parts = batch.split_in_loop();
                        batches.splice(next..=next, parts);
                        next += count;
                    } else {
                        next += 1;
                    }
                }
            }
        }
        if over {
            return Ok(Round::TurnOver);
        }
        let mut left = false;
        for batch in batches {
            batch.progress.at_barrier = false;
            left |= !batch.progress.finished;
        }
        Ok(match left {
            true => Round::Barrier,
            false => Round::Finished,
        })
    }

    pub(crate) fn fault(&self, trap: Trap, context: &ExecutionContext<'_>) -> Box<Fault> {
        Box::new(context.fault(trap.kind, trap.position, trap.lane))
    }
}
