//! Finds what a kernel must not do and mostly gets away with: see [`Program::check`].
//!
//! Every piece of writable memory has a [record](mark::Record) of who wrote and read it last; an access is compared with it
//! before it happens. A piece is as large as the smallest number the program accesses, so neighbouring numbers
//! are told apart. Threadgroups run one after the other, in order, so the reports are the same every time; whether
//! two accesses are ordered does not depend on the order in which they happened to run, only on what lies between them.
//!
//! A right kernel, and that is most of them, does not come that far: a [quick look](quick) with simdgroups in step finds it
//! right. Only what that doubts is run again.
//!
//! Known limits: barriers of quadgroups count as barriers of the simdgroup; a fence orders nothing; of many
//! threads that read a number before another writes it, one or two are remembered.

mod mark;
mod marks;
mod order;
mod quick;
mod race;
mod report;
mod shadow;
mod together;
mod waiting;
mod written;

pub use report::{Location, Party, Report, ReportKind};

use crate::code::{BulkCopy, Op, Program};
use crate::collective::Collective;
use crate::dispatch::{Bindings, Job, Limits};
use crate::error::RunError;
use crate::geometry::Grid;
use crate::interpret::watch::{Seen, Watch};
use crate::interpret::{Batch, Surroundings};
use crate::memory::Action;
use crate::position::Standpoint;
use mark::Mark;
use order::Times;
use quick::Quick;
use shadow::Shadow;
use std::collections::BTreeSet;
use waiting::Waiting;

/// Most reports of one dispatch.
const MAX_REPORTS: usize = 100;

impl Program {
    /// Runs the kernel over a grid and reports what it did that it must not: accesses outside buffers, misaligned ones, reads
    /// of memory nobody has written, races, barriers and shuffles without all their threads. Each is reported
    /// once for a pair of operations, in the order found. An access outside its buffer does not happen; a read of it gives
    /// zero.
    ///
    /// What is left are errors that end a dispatch: limits, unreachable code.
    pub fn check(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
    ) -> Result<Vec<Report>, RunError> {
        self.check_with(grid, bindings, limits, |job| {
            Quick::new(job).finds_right(job)
        })
    }

    /// The same without the quick look that most kernels pass: each simdgroup by itself, all its registers written down.
    /// Tests compare with it what runs in other ways.
    #[doc(hidden)]
    pub fn check_plainly(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
    ) -> Result<Vec<Report>, RunError> {
        self.check_with(grid, bindings, limits, |_| false)
    }

    fn check_with(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
        is_right: impl Fn(&Job<'_>) -> bool,
    ) -> Result<Vec<Report>, RunError> {
        grid.check(self.max_threads)?;
        let job = self.job(grid, bindings, limits)?;
        let granule = self.smallest_access();
        job.check_memory(1, 1, Checker::memory(&job, granule))?;
        if is_right(&job) {
            return Ok(Vec::new());
        }
        let mut checker = Checker::new(&job, granule);
        let mut worker = job.worker_in_turn();
        for group in 0..job.groups() {
            job.run_group(&mut worker, group, &mut checker)?;
        }
        Ok(checker.reports)
    }

    /// Bytes of the smallest number the program accesses.
    fn smallest_access(&self) -> u32 {
        let transfers = self.transfers.iter().map(|t| t.cell.bytes());
        let others = self.ops.iter().map(|op| match op {
            Op::MemCopy { .. } | Op::MemSet { .. } => 1,
            Op::Matrix { .. } => 2,
            Op::BulkCopy { index } => {
                let copy = self.copies.get(*index as usize);
                copy.map_or(1, BulkCopy::unit)
            }
            _ => 4,
        });
        transfers.chain(others).min().unwrap_or(4).min(4)
    }
}

/// The two kinds of memory that barriers order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Device = 0,
    Threadgroup = 1,
}

/// Metal's `mem_flags`.
const MEM_DEVICE: u8 = 1;
const MEM_THREADGROUP: u8 = 2;

/// The watch that checks.
struct Checker<'a> {
    program: &'a Program,
    grid: &'a Grid,
    shadow: Shadow,
    /// The present; counts what orders accesses.
    now: u32,
    /// When the threadgroup started.
    started: u32,
    times: Times<u32>,
    /// When each threadgroup started.
    starts: Vec<u32>,
    reports: Vec<Report>,
    known: BTreeSet<(ReportKind, usize, usize)>,
    waiting: Waiting,
}

impl<'a> Checker<'a> {
    /// Bytes of records needed.
    fn memory(job: &Job<'a>, granule: u32) -> u64 {
        Shadow::memory(job, granule)
    }

    fn new(job: &Job<'a>, granule: u32) -> Self {
        Self {
            program: job.program,
            grid: job.grid,
            shadow: Shadow::new(job, granule),
            now: 0,
            started: 0,
            times: Times::new(job.simdgroups() as usize, 0),
            starts: Vec::new(),
            reports: Vec::new(),
            known: BTreeSet::new(),
            waiting: Waiting::default(),
        }
    }

    fn tick(&mut self) -> u32 {
        self.now = self.now.saturating_add(1);
        self.now
    }

    /// Position in the grid of the thread a mark names.
    fn thread_of(&self, mark: Mark) -> [u32; 3] {
        let group = self.starts.partition_point(|&start| start <= mark.time());
        let group = self.grid.group(group.saturating_sub(1) as u64);
        let local = group.thread(mark.thread());
        std::array::from_fn(|axis| group.origin[axis].wrapping_add(local[axis]))
    }

    fn is_new(&mut self, kind: ReportKind, position: usize, other: usize) -> bool {
        self.reports.len() < MAX_REPORTS && self.known.insert((kind, position, other))
    }

    #[cold]
    fn report(
        &mut self,
        kind: ReportKind,
        seen: &Seen<'_>,
        lane: usize,
        other: Option<(Mark, Action)>,
    ) {
        let other_position = other.and_then(|(mark, _)| mark.position());
        if !self.is_new(kind, seen.position, other_position.unwrap_or(usize::MAX)) {
            return;
        }
        let address = seen.address(lane);
        let (region, offset) = seen.around.memory.locate(address);
        let target = region.map_or("no buffer", |region| &region.name);
        let location = Location {
            target: target.to_owned(),
            buffer: region.and_then(|region| region.buffer),
            offset,
            size: seen.size,
            action: seen.action.name(),
        };
        let party = |(mark, action): (Mark, Action)| Party {
            place: mark.position().and_then(|at| self.program.place(at)),
            thread: self.thread_of(mark),
            action: action.name(),
        };
        let report = Report {
            kind,
            kernel: self.program.name.clone(),
            place: self.program.place(seen.position),
            thread: seen.around.standpoint.thread(lane as u32),
            location: Some(location),
            other: other.map(party),
        };
        self.reports.push(report);
    }

    /// A report without memory.
    #[cold]
    fn report_thread(&mut self, kind: ReportKind, position: usize, thread: [u32; 3]) {
        if self.is_new(kind, position, usize::MAX) {
            self.reports.push(Report {
                kind,
                kernel: self.program.name.clone(),
                place: self.program.place(position),
                thread,
                location: None,
                other: None,
            });
        }
    }

    /// Lanes do something: whether one of them went past a barrier of its simdgroup.
    #[inline(always)]
    fn look_who_waited(&mut self, simdgroup: usize, lanes: u32, standpoint: &Standpoint<'_>) {
        while let Some((barrier, lane)) = self.waiting.went_past(simdgroup, lanes) {
            let standpoint = Standpoint {
                simdgroup: simdgroup as u32,
                ..*standpoint
            };
            let thread = standpoint.thread(lane);
            self.report_thread(ReportKind::DivergentBarrier, barrier, thread);
        }
    }

    fn set_ordered(&mut self, simdgroup: usize, flags: u8) {
        let now = self.tick();
        self.times.order(simdgroup, flags, now);
    }
}

impl Watch for Checker<'_> {
    const ACTIVE: bool = true;
    const DESCRIBES: bool = false;

    fn start(&mut self, _number: u64) {
        self.started = self.tick();
        self.starts.push(self.started);
        self.shadow.start(&self.program.padding, self.started);
        let met = self.tick();
        self.times.start(met);
        self.waiting.clear();
    }

    fn access(&mut self, seen: &Seen<'_>) -> u32 {
        self.look_who_waited(seen.simdgroup(), seen.mask, &seen.around.standpoint);
        self.check_access(seen)
    }

    fn order(&mut self, group: &Batch, flags: u8, position: usize) {
        let quad = is_of_quadgroup(self.program, position);
        for at in group.running() {
            let simdgroup = group.number + at;
            self.waiting
                .note(simdgroup, group.waiting(at, quad), position);
            self.set_ordered(simdgroup, flags);
        }
    }

    fn matrix(&mut self, around: &Surroundings<'_>, group: &Batch, position: usize) {
        let mask = group.mask();
        if mask != !0 {
            let thread = around.standpoint.thread(mask.trailing_zeros());
            self.report_thread(ReportKind::PartialMatrix, position, thread);
        }
    }

    fn collective(
        &mut self,
        around: &Surroundings<'_>,
        group: &Batch,
        collective: &Collective,
        position: usize,
    ) {
        let simdgroup = around.standpoint.simdgroup as usize;
        self.look_who_waited(simdgroup, group.mask(), &around.standpoint);
        self.set_ordered(simdgroup, !0);
        if let Some(lane) = group.reads_inactive_lane(collective) {
            let thread = around.standpoint.thread(lane as u32);
            self.report_thread(ReportKind::InactiveLane, position, thread);
        }
    }

    fn meet(&mut self, batches: &[Batch], standpoint: &Standpoint<'_>) {
        let Some(barrier) = batches.iter().find_map(Batch::barrier) else {
            return;
        };
        if let Some((simdgroup, lane)) = missing_at(batches, barrier) {
            let standpoint = Standpoint {
                simdgroup: simdgroup as u32,
                ..*standpoint
            };
            let thread = standpoint.thread(lane);
            self.report_thread(ReportKind::DivergentBarrier, barrier, thread);
        }
        for (simdgroup, mask, _) in batches.iter().flat_map(Batch::lanes) {
            self.look_who_waited(simdgroup, mask, standpoint);
        }
        let flags = barrier_flags(self.program, barrier);
        let now = self.tick();
        self.times.meet(flags, now);
    }
}

/// The simdgroup and lane of the first thread that is not at a barrier.
fn missing_at(batches: &[Batch], barrier: usize) -> Option<(usize, u32)> {
    batches.iter().find_map(|batch| {
        let there = batch.barrier() == Some(barrier);
        batch.lanes().find_map(|(simdgroup, mask, present)| {
            let missing = if there { present & !mask } else { present };
            (missing != 0).then(|| (simdgroup, missing.trailing_zeros()))
        })
    })
}

/// Whether a barrier is one of quadgroups.
fn is_of_quadgroup(program: &Program, barrier: usize) -> bool {
    matches!(program.ops.get(barrier), Some(Op::Order { quad: true, .. }))
}

/// The kinds of memory a barrier orders.
fn barrier_flags(program: &Program, barrier: usize) -> u8 {
    match program.ops.get(barrier) {
        Some(Op::Barrier { flags }) => *flags,
        _ => 0,
    }
}
