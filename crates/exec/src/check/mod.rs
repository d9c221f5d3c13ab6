//! Finds errors that a kernel mostly gets away with: see [`Program::check`].
//!
//! Every piece of writable memory has a [record](record::Record) of who wrote and read it last; an access is compared with it
//! before it happens. A piece is as large as the smallest number the program accesses, so neighbouring numbers
//! are distinguished. Threadgroups run one after the other, in order, so the reports are the same every time; whether
//! two accesses are ordered does not depend on the order in which they happened to run, only on what lies between them.
//!
//! Most kernels are correct, and do not come that far: a [screening run](screen) with simdgroups in step finds them correct.
//! Only a dispatch that screening doubts is run again, with full records.
//!
//! A program made for it (`assay_opt::pipeline::Checks`, [`Options::guards`](crate::Options)) says more: its objects lie
//! apart, so that an overrun of one is not an access of the next, and it expects what must be true of variables and
//! arithmetic ([`Op::Expect`]).
//!
//! Known limits: barriers of quadgroups count as barriers of the simdgroup; [fences] order threadgroups only; of many
//! threads that read a number before another writes it, one or two are remembered.

mod affine_screen;
mod divergent_barrier;
mod fences;
mod footprint;
mod lane_screen;
mod order;
mod race;
mod record;
mod report;
mod screen;
mod screen_marks;
mod shadow;
mod written;

pub(crate) use fences::FENCE;
pub use footprint::{Bytes, Footprint};
pub use report::{Location, Party, Report, ReportKind};

use crate::bindings::Bindings;
use crate::code::{BulkCopy, Objects, Op, Program};
use crate::collective::Collective;
use crate::dispatch::{Job, Limits};
use crate::error::RunError;
use crate::geometry::Grid;
use crate::interpret::observer::{AccessEvent, Observer, TextureEvent};
use crate::interpret::{Batch, ExecutionContext};
use crate::memory::{Action, OFFSET_BITS, THREAD, THREADGROUP};
use crate::position::GridPosition;
use crate::texture::{Resource, TextureError};
use assay_opt::expectation::Expectation;
use assay_ssa::AtomicOp;
use divergent_barrier::Waiting;
use fences::Fences;
use order::Times;
use record::Mark;
use screen::Screen;
use shadow::Shadow;
use std::collections::BTreeSet;

/// Most reports of one kind, so that a hundred uninitialised reads do not hide a race.
const MAX_REPORTS: usize = 100;

impl Program {
    /// Runs the kernel over a grid and reports what it did that it must not: accesses outside buffers, misaligned ones, reads
    /// of memory that was never written, races, barriers and shuffles without all their threads. Each is reported
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
        self.check_with(grid, bindings, limits, None, |job, footprint| {
            Screen::new(job).finds_right(job, footprint)
        })
    }

    /// The same, and gives the bytes of buffers that were accessed.
    pub fn check_watching(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
        footprint: &mut Footprint,
    ) -> Result<Vec<Report>, RunError> {
        self.check_with(grid, bindings, limits, Some(footprint), |job, footprint| {
            Screen::new(job).finds_right(job, footprint)
        })
    }

    /// The same without the screening run that most kernels pass: each simdgroup by itself, all its registers materialised.
    /// Tests compare the two.
    #[doc(hidden)]
    pub fn check_plainly(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
    ) -> Result<Vec<Report>, RunError> {
        self.check_with(grid, bindings, limits, None, |_, _| false)
    }

    fn check_with(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
        mut footprint: Option<&mut Footprint>,
        is_right: impl Fn(&Job<'_>, Option<&mut Footprint>) -> bool,
    ) -> Result<Vec<Report>, RunError> {
        grid.check(self.max_threads)?;
        let job = self.job(grid, bindings, limits)?;
        let granule = self.smallest_access().min(job.smallest_texel());
        job.check_memory(1, 1, Checker::memory(&job, granule))?;
        // Screening does not know what orders texture accesses, how wide atomic operations were, nor which buffers held nothing.
        if self.textures.is_empty()
            && !job.regions.iter().any(|region| region.unwritten)
            && !self.mixes_atomics()
            && is_right(&job, footprint.as_deref_mut())
        {
            return Ok(Vec::new());
        }
        let mut checker = Checker::new(&job, granule);
        checker.footprint = footprint.is_some().then(Footprint::default);
        let mut worker = job.worker_in_turn();
        for group in 0..job.groups() {
            job.run_group_alone(&mut worker, group, &mut checker)?;
        }
        if let (Some(footprint), Some(found)) = (footprint, checker.footprint) {
            *footprint = found;
        }
        let mut reports = checker.reports;
        forget_told_races(&mut reports);
        forget_told_indices(&mut reports);
        Ok(reports)
    }

    /// Returns true if what an access does depends on what memory holds: all but stores and atomic exchanges do.
    fn reads_memory(&self, position: usize) -> bool {
        match self.ops.get(position) {
            Some(Op::Store { .. }) => false,
            Some(Op::Atomic { update, .. }) => update.0 != AtomicOp::Exchange,
            _ => true,
        }
    }

    /// Returns true if the program has atomic operations of several widths.
    fn mixes_atomics(&self) -> bool {
        let operations = self.ops.iter().filter_map(|op| match op {
            Op::Atomic { cell, .. } | Op::CompareExchange { cell, .. } => Some(cell.bytes()),
            _ => None,
        });
        let atomic = self.transfers.iter().filter(|transfer| transfer.atomic);
        let mut widths = operations.chain(atomic.map(|transfer| transfer.cell.bytes()));
        let first = widths.next();
        widths.any(|width| Some(width) != first)
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

/// The kinds of memory that barriers order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Device = 0,
    Threadgroup = 1,
    Texture = 2,
}

/// Metal's `mem_flags`.
const MEM_DEVICE: u8 = 1;
const MEM_THREADGROUP: u8 = 2;
const MEM_TEXTURE: u8 = 4;

/// The observer that checks.
struct Checker<'a> {
    program: &'a Program,
    grid: &'a Grid,
    shadow: Shadow,
    /// The present; counts what orders accesses.
    now: u32,
    /// When the threadgroup started.
    started: u32,
    times: Times<u32>,
    /// When the lanes of each simdgroup last ordered their accesses to textures.
    fenced: Vec<u32>,
    /// When each threadgroup started.
    starts: Vec<u32>,
    reports: Vec<Report>,
    known: BTreeSet<(ReportKind, usize, usize)>,
    waiting: Waiting,
    fences: Fences,
    /// The objects of threadgroup memory, if guard zones lie between them.
    threadgroup_objects: Option<Objects>,
    /// The bytes that were accessed, if they are wanted.
    footprint: Option<Footprint>,
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
            fenced: vec![0; job.simdgroups() as usize],
            starts: Vec::new(),
            reports: Vec::new(),
            known: BTreeSet::new(),
            waiting: Waiting::default(),
            fences: Fences::default(),
            threadgroup_objects: job.threadgroup_objects.clone(),
            footprint: None,
        }
    }

    /// The objects of a region, if guard zones lie between them.
    fn objects(&self, region: u64) -> Option<&Objects> {
        match region {
            THREAD => self.program.guarded.as_ref().map(|all| &all.thread),
            THREADGROUP => self.threadgroup_objects.as_ref(),
            _ => None,
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
        let report = (kind, position, other);
        if self.known.contains(&report) {
            return false;
        }
        let of_this_kind = (kind, 0, 0)..=(kind, usize::MAX, usize::MAX);
        self.known.range(of_this_kind).count() < MAX_REPORTS && self.known.insert(report)
    }

    #[cold]
    fn report(
        &mut self,
        kind: ReportKind,
        event: &AccessEvent<'_>,
        lane: usize,
        other: Option<(Mark, Action)>,
    ) {
        let other_position = other.and_then(|(mark, _)| mark.position());
        if !self.is_new(kind, event.position, other_position.unwrap_or(usize::MAX)) {
            return;
        }
        let address = event.address(lane);
        let (region, mut offset) = event.context.memory.locate(address);
        let mut target = region.map_or("no buffer", |region| &region.name).to_owned();
        let objects = self.objects(address >> OFFSET_BITS);
        let object = objects.and_then(|objects| objects.before(offset.try_into().ok()?));
        if let Some(object) = object {
            offset -= i64::from(object.start);
            target = match object.name.as_str() {
                "" => format!("a variable of {} bytes in {target}", object.len),
                name => format!("\"{name}\" ({} bytes) in {target}", object.len),
            };
        }
        let texel = region.and_then(|region| match region.resource {
            Some(Resource::Texture { layout, .. }) => {
                let offset = u64::try_from(offset).unwrap_or(0);
                Some(layout.describe(layout.texel_at(offset)))
            }
            _ => None,
        });
        let location = Location {
            texel,
            target,
            buffer: region.and_then(|region| region.buffer),
            offset,
            size: event.size,
            action: event.action.name(),
        };
        let party = |(mark, action): (Mark, Action)| Party {
            place: mark.position().and_then(|at| self.program.place(at)),
            thread: self.thread_of(mark),
            action: action.name(),
        };
        let report = Report {
            kind,
            kernel: self.program.name.clone(),
            place: self.program.place(event.position),
            callers: self.program.callers(event.position),
            thread: event.context.grid_position.thread(lane as u32),
            location: Some(location),
            detail: None,
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
                callers: self.program.callers(position),
                thread,
                location: None,
                detail: None,
                other: None,
            });
        }
    }

    /// Lanes do something: reports those that went past a barrier of their simdgroup.
    #[inline(always)]
    fn look_who_waited(&mut self, simdgroup: usize, lanes: u32, grid_position: &GridPosition<'_>) {
        while let Some((barrier, lane)) = self.waiting.went_past(simdgroup, lanes) {
            let grid_position = GridPosition {
                simdgroup: simdgroup as u32,
                ..*grid_position
            };
            let thread = grid_position.thread(lane);
            self.report_thread(ReportKind::DivergentBarrier, barrier, thread);
        }
    }

    fn set_ordered(&mut self, simdgroup: usize, flags: u8) {
        let now = self.tick();
        self.times.order(simdgroup, flags, now);
    }
}

impl Observer for Checker<'_> {
    const OBSERVES: bool = true;
    const LAZY: bool = false;

    fn on_threadgroup_start(&mut self, _number: u64) {
        self.started = self.tick();
        self.starts.push(self.started);
        self.shadow.start(&self.program.padding, self.started);
        let met = self.tick();
        self.times.start(met);
        self.waiting.clear();
        self.fences.start();
    }

    fn on_access(&mut self, event: &AccessEvent<'_>) -> u32 {
        self.look_who_waited(
            event.simdgroup_in_threadgroup(),
            event.mask,
            &event.context.grid_position,
        );
        let allowed = self.check_access(event);
        if let Some(footprint) = &mut self.footprint {
            footprint.add(event, allowed);
        }
        allowed
    }

    fn on_texture_error(&mut self, event: &TextureEvent<'_>) {
        let kind = match event.error {
            TextureError::Outside => ReportKind::TextureOutOfBounds,
            TextureError::Unsuitable => ReportKind::UnsuitableTexture,
        };
        if self.is_new(kind, event.position, usize::MAX) {
            self.reports.push(Report {
                kind,
                kernel: self.program.name.clone(),
                place: self.program.place(event.position),
                callers: self.program.callers(event.position),
                thread: event.context.grid_position.thread(event.lane as u32),
                location: None,
                detail: Some(event.message.to_owned()),
                other: None,
            });
        }
    }

    fn on_texture_fence(&mut self, batch: &Batch) {
        let now = self.tick();
        let simdgroup = batch.first_simdgroup + batch.progress.current;
        if let Some(fenced) = self.fenced.get_mut(simdgroup) {
            *fenced = now;
        }
    }

    fn on_simdgroup_barrier(&mut self, batch: &Batch, flags: u8, position: usize) {
        if flags & FENCE != 0 {
            return self.on_fence(batch, flags);
        }
        let quad = is_of_quadgroup(self.program, position);
        for at in batch.running() {
            let simdgroup = batch.first_simdgroup + at;
            self.waiting
                .note(simdgroup, batch.waiting(at, quad), position);
            self.set_ordered(simdgroup, flags);
        }
    }

    fn on_matrix(&mut self, context: &ExecutionContext<'_>, batch: &Batch, position: usize) {
        let mask = batch.mask();
        if mask != !0 {
            let thread = context.grid_position.thread(mask.trailing_zeros());
            self.report_thread(ReportKind::PartialMatrix, position, thread);
        }
    }

    fn on_collective(
        &mut self,
        context: &ExecutionContext<'_>,
        batch: &Batch,
        collective: &Collective,
        position: usize,
    ) {
        let simdgroup = context.grid_position.simdgroup as usize;
        self.look_who_waited(simdgroup, batch.mask(), &context.grid_position);
        self.set_ordered(simdgroup, !0);
        if let Some(lane) = batch.reads_inactive_lane(collective) {
            let thread = context.grid_position.thread(lane as u32);
            self.report_thread(ReportKind::InactiveLane, position, thread);
        }
    }

    fn on_broken_expectation(
        &mut self,
        context: &ExecutionContext<'_>,
        lanes: u32,
        position: usize,
    ) {
        if let Some(Op::Expect { rule, .. }) = self.program.ops.get(position) {
            let thread = context.grid_position.thread(lanes.trailing_zeros());
            let known = self.reports.len();
            self.report_thread(ReportKind::of(*rule), position, thread);
            if *rule == Expectation::IndexInArray
                && let Some(report) = self.reports.get_mut(known)
            {
                report.detail = Some("an index outside its array".to_owned());
            }
        }
    }

    fn on_threadgroup_barrier(&mut self, batches: &[Batch], grid_position: &GridPosition<'_>) {
        let Some(barrier) = batches.iter().find_map(Batch::barrier) else {
            return;
        };
        if let Some((simdgroup, lane)) = missing_at(batches, barrier) {
            let grid_position = GridPosition {
                simdgroup: simdgroup as u32,
                ..*grid_position
            };
            let thread = grid_position.thread(lane);
            self.report_thread(ReportKind::DivergentBarrier, barrier, thread);
        }
        for (simdgroup, mask, _) in batches.iter().flat_map(Batch::lanes) {
            self.look_who_waited(simdgroup, mask, grid_position);
        }
        let flags = barrier_flags(self.program, barrier);
        let now = self.tick();
        self.times.meet(flags, now);
    }
}

/// Removes races of equal values between operations that race with other values, too.
fn forget_told_races(reports: &mut Vec<Report>) {
    let sides = |report: &Report| {
        let other = report.other.as_ref().and_then(|other| other.place.clone());
        let mut sides = [report.place.clone(), other];
        sides.sort();
        sides
    };
    let races = reports.iter().filter(|r| r.kind == ReportKind::Race);
    let told: BTreeSet<[Option<String>; 2]> = races.map(sides).collect();
    reports.retain(|r| r.kind != ReportKind::EqualRace || !told.contains(&sides(r)));
}

/// Removes what is known of an index alone where the access that it led to is reported, too.
fn forget_told_indices(reports: &mut Vec<Report>) {
    let outside = |report: &&Report| report.kind == ReportKind::OutOfBounds;
    let accesses = reports.iter().filter(outside);
    let accesses = accesses.filter(|report| report.location.is_some());
    let told: BTreeSet<(Option<String>, Vec<String>)> = accesses
        .map(|report| (report.place.clone(), report.callers.clone()))
        .collect();
    reports.retain(|report| {
        let index_alone = outside(&report) && report.location.is_none();
        !(index_alone && told.contains(&(report.place.clone(), report.callers.clone())))
    });
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

/// Returns true if a barrier is one of quadgroups.
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
