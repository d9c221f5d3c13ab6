//! A first look that finds a right kernel right, and fast.
//!
//! Simdgroups run in step, marks are short and rows of them are looked at together; memory that nobody writes has none. Whatever
//! might be wrong is left to the [`Checker`](super::Checker), which starts over from the same memory and knows
//! what to say. So this may doubt too much but never too little: it takes every write for one that changes something, except
//! that lanes may store the same in one operation.

use super::marks::{LAST, Marks, Order, Row, mark, moment, read_row, thread_at, write_row};
use super::order::Times;
use super::written::{Written, bytes_of, put_back};
use super::{Space, barrier_flags, is_of_quadgroup, missing_at};
use crate::code::{Padding, Program};
use crate::collective::Collective;
use crate::dispatch::Job;
use crate::interpret::watch::{Seen, Watch};
use crate::interpret::{Batch, Surroundings};
use crate::lanes::lanes_of;
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};
use crate::position::Standpoint;

/// What was found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    /// A region is written that was taken not to be.
    Writes(usize),
    Doubtful,
}

pub(super) struct Quick<'a> {
    pub(super) program: &'a Program,
    /// Bytes of a mark's piece of memory, as a power of two.
    pub(super) shift: u32,
    /// By region; nothing for those that are only read.
    shared: Vec<Option<Written>>,
    threadgroup: Marks,
    /// Which pieces of thread memory were written: by simdgroup, then by piece, a bit for each lane.
    threads: Vec<Vec<u32>>,
    /// The present, and whether a mark was made in it.
    pub(super) now: i32,
    pub(super) marked: bool,
    /// When the threadgroup started.
    started: i32,
    pub(super) times: Times<i32>,
    verdict: Verdict,
}

impl<'a> Quick<'a> {
    pub(super) fn new(job: &Job<'a>) -> Self {
        let program = job.program;
        let sizes = program.writes().map(|(_, bytes)| bytes);
        let granule = sizes.min().unwrap_or(4).min(4);
        let pieces = |bytes: u64| bytes.div_ceil(granule.into()) as usize;
        let frame = pieces(program.frame.into());
        let mut quick = Self {
            program,
            shift: granule.trailing_zeros(),
            shared: job.regions.iter().map(|_| None).collect(),
            threadgroup: Marks::new(pieces(job.threadgroup_bytes.into())),
            threads: vec![vec![0; frame]; job.simdgroups() as usize],
            now: 0,
            marked: false,
            started: 0,
            times: Times::new(job.simdgroups() as usize, 0),
            verdict: Verdict::Right,
        };
        for pointer in program.writes().map(|(pointer, _)| pointer) {
            let bound = job.pointers.iter().find(|(reg, _)| *reg == pointer);
            if let Some((_, address)) = bound {
                quick.expect_writes(job, (address >> OFFSET_BITS) as usize);
            }
        }
        quick
    }

    /// Whether the dispatch is surely right. If not, memory is as it was before.
    pub(super) fn finds_right(mut self, job: &Job<'a>) -> bool {
        loop {
            match self.look(job) {
                Verdict::Right => return true,
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
            let ended = job.run_group(&mut worker, group, self);
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
                before: bytes_of(region).to_vec(),
            });
        }
    }

    /// Starts over: memory is as it was before the dispatch.
    fn restore(&mut self, job: &Job<'a>) {
        for (written, region) in self.shared.iter_mut().zip(&job.regions) {
            if let Some(written) = written {
                put_back(region, &written.before);
                written.marks.clear();
            }
        }
        self.threadgroup.clear();
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
            device: space == Space::Device,
        }
    }

    /// Whether an access is surely right.
    #[inline(always)]
    fn is_right(&mut self, seen: &Seen<'_>) -> bool {
        if seen.size == 0 || seen.mask == 0 {
            return true;
        }
        if !seen.is_aligned() {
            return false;
        }
        if !seen.inside {
            return self.is_right_by_lanes(seen);
        }
        let number = seen.address(0) >> OFFSET_BITS;
        match number {
            THREADGROUP => {
                let mut marks = std::mem::take(&mut self.threadgroup);
                let right = self.agrees(seen, seen.mask, &mut marks, Space::Threadgroup);
                self.threadgroup = marks;
                right
            }
            THREAD => self.was_written(seen, seen.mask),
            _ => self.is_right_in_region(seen, seen.mask, number as usize),
        }
    }

    fn is_right_in_region(&mut self, seen: &Seen<'_>, mask: u32, number: usize) -> bool {
        let Some(slot) = self.shared.get_mut(number) else {
            return false;
        };
        let Some(written) = slot else {
            if seen.action == Action::Read {
                return true;
            }
            self.verdict = Verdict::Writes(number);
            return false;
        };
        let mut marks = std::mem::take(&mut written.marks);
        let right = self.agrees(seen, mask, &mut marks, Space::Device);
        if let Some(Some(written)) = self.shared.get_mut(number) {
            written.marks = marks;
        }
        right
    }

    /// Lanes whose addresses may be anywhere.
    #[inline(never)]
    fn is_right_by_lanes(&mut self, seen: &Seen<'_>) -> bool {
        let memory = &seen.around.of_simdgroup(seen.simdgroup()).memory;
        lanes_of(seen.mask).all(|lane| {
            let address = seen.address(lane);
            if memory.place(address, seen.size, lane, seen.action).is_err() {
                return false;
            }
            match address >> OFFSET_BITS {
                THREADGROUP => {
                    let mut marks = std::mem::take(&mut self.threadgroup);
                    let right =
                        self.agrees_by_lanes(seen, 1 << lane, &mut marks, Space::Threadgroup);
                    self.threadgroup = marks;
                    right
                }
                THREAD => self.was_written(seen, 1 << lane),
                number => self.is_right_in_region(seen, 1 << lane, number as usize),
            }
        })
    }

    /// Compares lanes that access one region, in bounds, with its marks.
    #[inline(always)]
    fn agrees(&mut self, seen: &Seen<'_>, mask: u32, marks: &mut Marks, space: Space) -> bool {
        let (length, step) = (seen.form.length, seen.form.step);
        if length == 0 || seen.effect() == Action::Atomic || (step != 0 && step != seen.size) {
            return self.agrees_by_lanes(seen, mask, marks, space);
        }
        let mut left = mask;
        while left != 0 {
            let first = left.trailing_zeros();
            let end = (first / length + 1) * length;
            // Lanes of this run, up to the next that is not active or, of one address, all of them.
            let run = left & ((1u64 << end) - 1) as u32;
            let lanes = if step == 0 {
                run
            } else {
                let count = (!(u64::from(run) >> first)).trailing_zeros();
                (((1u64 << count) - 1) << first) as u32
            };
            let right = if step == 0 {
                self.agrees_at_one(seen, lanes, marks, space)
            } else {
                self.agrees_in_row(seen, lanes, marks, space)
            };
            if !right {
                return false;
            }
            left &= !lanes;
        }
        true
    }

    /// Lanes side by side that access numbers side by side.
    #[inline(always)]
    fn agrees_in_row(
        &mut self,
        seen: &Seen<'_>,
        lanes: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let pieces = seen.size >> self.shift;
        if !pieces.is_power_of_two() || pieces << self.shift != seen.size {
            return self.agrees_by_lanes(seen, lanes, marks, space);
        }
        let (first, simdgroup) = (lanes.trailing_zeros(), seen.simdgroup());
        let start = ((seen.address(first as usize) & OFFSET_MASK) >> self.shift) as usize;
        let end = start + (lanes.count_ones() * pieces) as usize;
        let Some((writers, readers)) = marks.of(start..end) else {
            return false;
        };
        let order = self.order_of(simdgroup, space);
        let row = Row {
            writers,
            readers,
            own: mark(self.now, simdgroup as u32 * 32 + first),
            per: pieces.trailing_zeros(),
        };
        self.marked = true;
        let level = self.program.level;
        let (doubt, by_lanes) = match seen.action {
            // It might be about bytes that nobody looks at.
            Action::Read => (read_row(level, &order, row), seen.wanted() < seen.size),
            _ => (write_row(level, &order, row), true),
        };
        !doubt || by_lanes && self.agrees_by_lanes(seen, lanes, marks, space)
    }

    /// Lanes that access the same number.
    #[inline(always)]
    fn agrees_at_one(
        &mut self,
        seen: &Seen<'_>,
        lanes: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        if seen.action != Action::Read {
            return self.agrees_by_lanes(seen, lanes, marks, space);
        }
        let (lane, simdgroup) = (lanes.trailing_zeros(), seen.simdgroup());
        let order = self.order_of(simdgroup, space);
        let own = mark(self.now, simdgroup as u32 * 32 + lane);
        let several = lanes & (lanes - 1) != 0;
        let (start, end) = self.pieces(seen, lane as usize);
        let Some((writers, readers)) = marks.of(start..end) else {
            return false;
        };
        self.marked = true;
        let mut doubt = false;
        for (&writer, reader) in writers.iter().zip(readers) {
            doubt |= order.read(writer, reader, own, several);
        }
        !doubt
    }

    /// One lane after the other.
    #[inline(never)]
    fn agrees_by_lanes(
        &mut self,
        seen: &Seen<'_>,
        lanes: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let simdgroup = seen.simdgroup();
        let order = self.order_of(simdgroup, space);
        let effect = seen.effect();
        self.marked = true;
        for lane in lanes_of(lanes) {
            let own = mark(self.now, simdgroup as u32 * 32 + lane as u32);
            let (start, end) = self.pieces(seen, lane);
            let Some((writers, readers)) = marks.of(start..end) else {
                return false;
            };
            for (writer, reader) in writers.iter_mut().zip(readers) {
                let doubt = match effect {
                    Action::Read => order.read(*writer, reader, own, false),
                    Action::Atomic => {
                        let reads = seen.action == Action::Read;
                        (reads && order.is_unwritten(*writer)) || order.atomic(writer, *reader, own)
                    }
                    Action::Write => {
                        let doubt = order.write(*writer, *reader, own);
                        let same = doubt
                            && !order.doubts_readers(*reader, own)
                            && self.stores_the_same(seen, lane, *writer);
                        *writer = if same { Order::shared(own) } else { own };
                        doubt && !same
                    }
                };
                if doubt {
                    return false;
                }
            }
        }
        true
    }

    /// The pieces of memory a lane accesses.
    #[inline(always)]
    fn pieces(&self, seen: &Seen<'_>, lane: usize) -> (usize, usize) {
        let offset = seen.address(lane) & OFFSET_MASK;
        let last = (offset + u64::from(seen.wanted()) - 1) >> self.shift;
        ((offset >> self.shift) as usize, last as usize + 1)
    }

    /// Whether the last writer was a lane before this one that stores the same number to the same address by the same
    /// operation.
    #[cold]
    fn stores_the_same(&self, seen: &Seen<'_>, lane: usize, writer: i32) -> bool {
        let Some(thread) = thread_at(writer, self.now) else {
            return false;
        };
        let (simdgroup, before) = (thread as usize / 32, thread as usize % 32);
        let Some(at) = simdgroup.checked_sub(seen.group.number) else {
            return false;
        };
        (at, before) < (seen.at, lane) && seen.stores_the_same((at, before), lane)
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

    /// Thread memory: only what was never written matters.
    fn was_written(&mut self, seen: &Seen<'_>, lanes: u32) -> bool {
        let simdgroup = seen.simdgroup();
        for lane in lanes_of(lanes) {
            let (start, end) = self.pieces(seen, lane);
            let frame = self.threads.get_mut(simdgroup);
            let Some(pieces) = frame.and_then(|frame| frame.get_mut(start..end)) else {
                return false;
            };
            if seen.action != Action::Read {
                pieces.iter_mut().for_each(|written| *written |= 1 << lane);
            } else if pieces.iter().any(|written| written >> lane & 1 == 0) {
                return false;
            }
        }
        true
    }
}

impl Watch for Quick<'_> {
    const ACTIVE: bool = true;
    const DESCRIBES: bool = true;

    fn start(&mut self, _number: u64) {
        if self.now > LAST / 2 {
            for written in self.shared.iter_mut().flatten() {
                written.marks.age();
            }
            self.threadgroup.clear();
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
    fn access(&mut self, seen: &Seen<'_>) -> u32 {
        if self.verdict == Verdict::Right && self.is_right(seen) {
            return seen.mask;
        }
        if self.verdict == Verdict::Right {
            self.verdict = Verdict::Doubtful;
        }
        0
    }

    #[inline(always)]
    fn access_by_all(&mut self, seen: &Seen<'_>) -> bool {
        let plain = seen.effect() != Action::Atomic && seen.align <= seen.cell.bytes();
        if self.verdict != Verdict::Right || !plain || seen.sum.is_none() {
            return false;
        }
        let (number, reads) = (seen.address(0) >> OFFSET_BITS, seen.action == Action::Read);
        let found = match number {
            THREAD => None,
            THREADGROUP => {
                let mut marks = std::mem::take(&mut self.threadgroup);
                let found = self.agrees_together(seen, &mut marks, Space::Threadgroup);
                self.threadgroup = marks;
                found
            }
            _ => match self.shared.get_mut(number as usize) {
                Some(None) => reads.then_some(true),
                Some(Some(written)) => {
                    let mut marks = std::mem::take(&mut written.marks);
                    let found = self.agrees_together(seen, &mut marks, Space::Device);
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
        found == Some(true)
    }

    fn stops(&self) -> bool {
        self.verdict != Verdict::Right
    }

    fn order(&mut self, group: &Batch, flags: u8, position: usize) {
        let quad = is_of_quadgroup(self.program, position);
        for at in group.running() {
            if group.waiting(at, quad) != 0 {
                self.verdict = Verdict::Doubtful;
            }
            self.set_ordered(group.number + at, flags);
        }
    }

    fn matrix(&mut self, _around: &Surroundings<'_>, group: &Batch, _position: usize) {
        if group.mask() != !0 {
            self.verdict = Verdict::Doubtful;
        }
    }

    fn collective(
        &mut self,
        around: &Surroundings<'_>,
        group: &Batch,
        collective: &Collective,
        _position: usize,
    ) {
        self.set_ordered(around.standpoint.simdgroup as usize, !0);
        if group.reads_inactive_lane(collective).is_some() {
            self.verdict = Verdict::Doubtful;
        }
    }

    fn meet(&mut self, batches: &[Batch], _standpoint: &Standpoint<'_>) {
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
