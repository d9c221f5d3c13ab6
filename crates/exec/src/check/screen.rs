//! Screening: a fast run that finds correct kernels correct.
//!
//! Simdgroups run in step, marks are short and rows of them are compared at once; memory that is never written has none. Whatever
//! might be an error is left to the [`Checker`](super::Checker), which starts over from the same memory and makes the reports. So
//! screening may doubt too much but never too little: every write counts as one that changes memory, except that lanes
//! may store the same number in one operation.

use super::footprint::Footprint;
use super::order::Times;
use super::screen_marks::{BARRED, LAST, Marks, Order, mark, moment};
use super::written::Written;
use super::{FENCE, Space, barrier_flags, is_of_quadgroup, missing_at};
use crate::code::{Padding, Program};
use crate::collective::Collective;
use crate::dispatch::Job;
use crate::interpret::observer::{AccessEvent, Observer};
use crate::interpret::{Batch, ExecutionContext};
use crate::memory::{Action, OFFSET_BITS, THREAD, THREADGROUP};
use crate::position::GridPosition;
use std::ops::Range;

/// What was found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    /// A region is written that was taken not to be.
    Writes(usize),
    Doubtful,
}

pub(super) struct Screen<'a> {
    pub(super) program: &'a Program,
    /// Bytes of a mark's piece of memory, as a power of two.
    pub(super) shift: u32,
    /// By region; nothing for those that are only read.
    pub(super) shared: Vec<Option<Written>>,
    pub(super) threadgroup: Marks,
    /// Which pieces of thread memory were written: by simdgroup, then by piece, a bit for each lane.
    pub(super) threads: Vec<Vec<u32>>,
    /// Pieces that no object has: of threadgroup memory, and of thread memory.
    threadgroup_gaps: Vec<Range<u32>>,
    thread_gaps: Vec<bool>,
    /// The present; `marked` is true if a mark was made in it.
    pub(super) now: i32,
    pub(super) marked: bool,
    /// When the threadgroup started.
    started: i32,
    pub(super) times: Times<i32>,
    pub(super) verdict: Verdict,
    /// The bytes that were accessed, if they are wanted.
    footprint: Option<Footprint>,
}

impl<'a> Screen<'a> {
    pub(super) fn new(job: &Job<'a>) -> Self {
        let program = job.program;
        let sizes = program.writes().map(|(_, bytes)| bytes);
        let granule = sizes.min().unwrap_or(4).min(4);
        let pieces = |bytes: u64| bytes.div_ceil(granule.into()) as usize;
        let frame = pieces(program.frame.into());
        let shift = granule.trailing_zeros();
        let mut thread_gaps = Vec::new();
        if let Some(guarded) = &program.guarded {
            thread_gaps.resize(frame, false);
            let gaps = guarded.thread.gaps(program.frame);
            for pieces in Padding::pieces(&gaps, shift) {
                thread_gaps.get_mut(pieces).unwrap_or_default().fill(true);
            }
        }
        let objects = job.threadgroup_objects.as_ref();
        let mut screen = Self {
            program,
            shift,
            shared: job.regions.iter().map(|_| None).collect(),
            threadgroup: Marks::new(pieces(job.threadgroup_bytes.into())),
            threads: vec![vec![0; frame]; job.simdgroups() as usize],
            threadgroup_gaps: objects
                .map(|objects| objects.gaps(job.threadgroup_bytes))
                .unwrap_or_default(),
            thread_gaps,
            now: 0,
            marked: false,
            started: 0,
            times: Times::new(job.simdgroups() as usize, 0),
            verdict: Verdict::Right,
            footprint: None,
        };
        for pointer in program.writes().map(|(pointer, _)| pointer) {
            let bound = job.pointers.iter().find(|(reg, _)| *reg == pointer);
            if let Some((_, address)) = bound {
                screen.expect_writes(job, (address >> OFFSET_BITS) as usize);
            }
        }
        screen.clear_threadgroup();
        screen
    }

    /// Returns true if the dispatch is surely correct, and gives its footprint if that is wanted. If not, memory is as it was
    /// before.
    pub(super) fn finds_right(mut self, job: &Job<'a>, footprint: Option<&mut Footprint>) -> bool {
        let wanted = footprint.is_some();
        loop {
            self.footprint = wanted.then(Footprint::default);
            match self.look(job) {
                Verdict::Right => {
                    if let (Some(footprint), Some(found)) = (footprint, self.footprint) {
                        *footprint = found;
                    }
                    return true;
                }
                Verdict::Writes(number) => {
                    self.restore(job);
                    self.expect_writes(job, number);
                }
                Verdict::Doubtful => {
                    self.restore(job);
                    return false;
                }
            }
        }
    }

    fn look(&mut self, job: &Job<'a>) -> Verdict {
        let mut worker = job.worker();
        for group in 0..job.groups() {
            let ended = job.run_group_alone(&mut worker, group, self);
            if self.verdict != Verdict::Right {
                return self.verdict;
            }
            if ended.is_err() {
                return Verdict::Doubtful;
            }
        }
        Verdict::Right
    }

    fn expect_writes(&mut self, job: &Job<'a>, number: usize) {
        let (Some(slot), Some(region)) = (self.shared.get_mut(number), job.regions.get(number))
        else {
            return;
        };
        if slot.is_none() && region.writable {
            *slot = Some(Written {
                marks: Marks::new((region.len as usize).div_ceil(1 << self.shift)),
                // SAFETY: no threadgroup runs now.
                before: unsafe { region.bytes() }.to_vec(),
            });
        }
    }

    /// Starts over: memory is as it was before the dispatch.
    fn restore(&mut self, job: &Job<'a>) {
        for (written, region) in self.shared.iter_mut().zip(&job.regions) {
            if let Some(written) = written {
                // SAFETY: no threadgroup runs now.
                unsafe { region.restore(&written.before) };
                written.marks.clear();
            }
        }
        self.clear_threadgroup();
        self.now = 0;
        self.verdict = Verdict::Right;
    }

    /// The present; a later one than that of any mark.
    fn tick(&mut self) -> i32 {
        self.now = (self.now + i32::from(self.marked)).min(LAST);
        self.marked = false;
        if self.now >= LAST {
            self.verdict = Verdict::Doubtful;
        }
        self.now
    }

    fn set_ordered(&mut self, simdgroup: usize, flags: u8) {
        let now = self.tick();
        self.times.order(simdgroup, flags, now);
    }

    pub(super) fn order_of(&self, simdgroup: usize, space: Space) -> Order {
        let ordered = self.times.ordered(simdgroup, space);
        Order {
            started: moment(self.started),
            met: moment(self.times.met(space)),
            ordered: ordered.map_or(0, moment),
            device: space != Space::Threadgroup,
        }
    }

    /// Forgets who accessed threadgroup memory, and bars what lies between its objects.
    fn clear_threadgroup(&mut self) {
        self.threadgroup.clear();
        for pieces in Padding::pieces(&self.threadgroup_gaps, self.shift) {
            let writers = self.threadgroup.writers.get_mut(pieces);
            writers.unwrap_or_default().fill(BARRED);
        }
    }

    /// Returns true if pieces of thread memory belong to no object.
    pub(super) fn is_thread_gap(&self, pieces: Range<usize>) -> bool {
        let gaps = self.thread_gaps.get(pieces).unwrap_or_default();
        gaps.contains(&true)
    }

    /// Forgets what threads wrote to their own memory. Padding counts as written.
    fn write_padding(&mut self) {
        let padding = &self.program.padding;
        for frame in &mut self.threads {
            frame.fill(0);
            for pieces in Padding::pieces(&padding.thread, self.shift) {
                frame.get_mut(pieces).unwrap_or_default().fill(!0);
            }
        }
        let own = mark(self.now, 0);
        for pieces in Padding::pieces(&padding.threadgroup, self.shift) {
            let writers = self.threadgroup.writers.get_mut(pieces);
            writers.unwrap_or_default().fill(own);
        }
    }
}

impl Observer for Screen<'_> {
    const OBSERVES: bool = true;
    const LAZY: bool = true;

    fn on_threadgroup_start(&mut self, _number: u64) {
        if self.now > LAST / 2 {
            for written in self.shared.iter_mut().flatten() {
                written.marks.age();
            }
            self.clear_threadgroup();
            self.now = 1;
        }
        self.now += 1;
        self.started = self.now;
        self.write_padding();
        self.now += 1;
        self.marked = false;
        self.times.start(self.now);
    }

    #[inline(always)]
    fn on_access(&mut self, event: &AccessEvent<'_>) -> u32 {
        if self.verdict == Verdict::Right && self.is_right(event) {
            if let Some(footprint) = &mut self.footprint {
                footprint.add(event, event.mask);
            }
            return event.mask;
        }
        if self.verdict == Verdict::Right {
            self.verdict = Verdict::Doubtful;
        }
        0
    }

    #[inline(always)]
    fn on_batch_access(&mut self, event: &AccessEvent<'_>) -> bool {
        let plain = event.effect() != Action::Atomic && event.align <= event.cell.bytes();
        if self.verdict != Verdict::Right || !plain || event.affine.is_none() {
            return false;
        }
        let (number, reads) = (
            event.address(0) >> OFFSET_BITS,
            event.action == Action::Read,
        );
        let found = match number {
            THREAD => None,
            THREADGROUP => {
                let mut marks = std::mem::take(&mut self.threadgroup);
                let found = self.agrees_as_batch(event, &mut marks, Space::Threadgroup);
                self.threadgroup = marks;
                found
            }
            _ => match self.shared.get_mut(number as usize) {
                Some(None) => reads.then_some(true),
                Some(Some(written)) => {
                    let mut marks = std::mem::take(&mut written.marks);
                    let found = self.agrees_as_batch(event, &mut marks, Space::Device);
                    if let Some(Some(written)) = self.shared.get_mut(number as usize) {
                        written.marks = marks;
                    }
                    found
                }
                None => None,
            },
        };
        if found == Some(false) {
            self.verdict = Verdict::Doubtful;
        }
        if found == Some(true)
            && let Some(footprint) = &mut self.footprint
        {
            footprint.add_batch(event);
        }
        found == Some(true)
    }

    fn wants_stop(&self) -> bool {
        self.verdict != Verdict::Right
    }

    fn on_simdgroup_barrier(&mut self, batch: &Batch, flags: u8, position: usize) {
        // What a fence orders is doubted here, and found out later.
        if flags & FENCE != 0 {
            return;
        }
        let quad = is_of_quadgroup(self.program, position);
        for at in batch.running() {
            if batch.waiting(at, quad) != 0 {
                self.verdict = Verdict::Doubtful;
            }
            self.set_ordered(batch.first_simdgroup + at, flags);
        }
    }

    fn on_matrix(&mut self, _context: &ExecutionContext<'_>, batch: &Batch, _position: usize) {
        if batch.mask() != !0 {
            self.verdict = Verdict::Doubtful;
        }
    }

    fn on_collective(
        &mut self,
        context: &ExecutionContext<'_>,
        batch: &Batch,
        collective: &Collective,
        _position: usize,
    ) {
        self.set_ordered(context.grid_position.simdgroup as usize, !0);
        if batch.reads_inactive_lane(collective).is_some() {
            self.verdict = Verdict::Doubtful;
        }
    }

    fn on_broken_expectation(
        &mut self,
        _context: &ExecutionContext<'_>,
        _lanes: u32,
        _position: usize,
    ) {
        self.verdict = Verdict::Doubtful;
    }

    fn on_threadgroup_barrier(&mut self, batches: &[Batch], _standpoint: &GridPosition<'_>) {
        let Some(barrier) = batches.iter().find_map(Batch::barrier) else {
            return;
        };
        if missing_at(batches, barrier).is_some() {
            self.verdict = Verdict::Doubtful;
        }
        let flags = barrier_flags(self.program, barrier);
        let now = self.tick();
        self.times.meet(flags, now);
    }
}
