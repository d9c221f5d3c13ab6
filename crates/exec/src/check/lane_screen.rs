//! Screening of one simdgroup's accesses: runs of lanes at once where their addresses follow each other, else lane by lane.

use super::Space;
use super::screen::{Screen, Verdict};
use super::screen_marks::{Marks, Order, Row, mark, read_row, thread_at, write_row};
use crate::interpret::observer::AccessEvent;
use crate::lanes::lanes_of;
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};

impl Screen<'_> {
    /// Returns true if an access is surely correct.
    #[inline(always)]
    pub(super) fn is_right(&mut self, event: &AccessEvent<'_>) -> bool {
        if event.size == 0 || event.mask == 0 {
            return true;
        }
        if !event.is_aligned() {
            return false;
        }
        if !event.inside {
            return self.is_right_by_lanes(event);
        }
        let number = event.address(0) >> OFFSET_BITS;
        match number {
            THREADGROUP => {
                let mut marks = std::mem::take(&mut self.threadgroup);
                let right = self.agrees(event, event.mask, &mut marks, Space::Threadgroup);
                self.threadgroup = marks;
                right
            }
            THREAD => self.was_written(event, event.mask),
            _ => self.is_right_in_region(event, event.mask, number as usize),
        }
    }

    fn is_right_in_region(&mut self, event: &AccessEvent<'_>, mask: u32, number: usize) -> bool {
        let Some(slot) = self.shared.get_mut(number) else {
            return false;
        };
        let Some(written) = slot else {
            if event.action == Action::Read {
                return true;
            }
            self.verdict = Verdict::Writes(number);
            return false;
        };
        let mut marks = std::mem::take(&mut written.marks);
        let right = self.agrees(event, mask, &mut marks, Space::Device);
        if let Some(Some(written)) = self.shared.get_mut(number) {
            written.marks = marks;
        }
        right
    }

    /// Lanes whose addresses may be anywhere.
    #[inline(never)]
    fn is_right_by_lanes(&mut self, event: &AccessEvent<'_>) -> bool {
        let memory = &event
            .context
            .of_simdgroup(event.simdgroup_in_threadgroup())
            .memory;
        lanes_of(event.mask).all(|lane| {
            let address = event.address(lane);
            if memory
                .place(address, event.size, lane, event.action)
                .is_err()
            {
                return false;
            }
            match address >> OFFSET_BITS {
                THREADGROUP => {
                    let mut marks = std::mem::take(&mut self.threadgroup);
                    let right =
                        self.agrees_by_lanes(event, 1 << lane, &mut marks, Space::Threadgroup);
                    self.threadgroup = marks;
                    right
                }
                THREAD => self.was_written(event, 1 << lane),
                number => self.is_right_in_region(event, 1 << lane, number as usize),
            }
        })
    }

    /// Compares lanes that access one region, in bounds, with its marks.
    #[inline(always)]
    fn agrees(
        &mut self,
        event: &AccessEvent<'_>,
        mask: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let (length, step) = (event.runs.length, event.runs.step);
        if length == 0 || event.effect() == Action::Atomic || (step != 0 && step != event.size) {
            return self.agrees_by_lanes(event, mask, marks, space);
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
                self.agrees_at_one(event, lanes, marks, space)
            } else {
                self.agrees_in_row(event, lanes, marks, space)
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
        event: &AccessEvent<'_>,
        lanes: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let pieces = event.size >> self.shift;
        if !pieces.is_power_of_two() || pieces << self.shift != event.size {
            return self.agrees_by_lanes(event, lanes, marks, space);
        }
        let (first, simdgroup) = (lanes.trailing_zeros(), event.simdgroup_in_threadgroup());
        let start = ((event.address(first as usize) & OFFSET_MASK) >> self.shift) as usize;
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
        let (doubt, by_lanes) = match event.action {
            // The doubt may be about bytes that nothing depends on.
            Action::Read => (
                read_row(level, &order, row),
                event.observed_bytes() < event.size,
            ),
            _ => (write_row(level, &order, row), true),
        };
        !doubt || by_lanes && self.agrees_by_lanes(event, lanes, marks, space)
    }

    /// Lanes that access the same number.
    #[inline(always)]
    fn agrees_at_one(
        &mut self,
        event: &AccessEvent<'_>,
        lanes: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        if event.action != Action::Read {
            return self.agrees_by_lanes(event, lanes, marks, space);
        }
        let (lane, simdgroup) = (lanes.trailing_zeros(), event.simdgroup_in_threadgroup());
        let order = self.order_of(simdgroup, space);
        let own = mark(self.now, simdgroup as u32 * 32 + lane);
        let several = lanes & (lanes - 1) != 0;
        let (start, end) = self.pieces(event, lane as usize);
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
        event: &AccessEvent<'_>,
        lanes: u32,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let simdgroup = event.simdgroup_in_threadgroup();
        let order = self.order_of(simdgroup, space);
        let effect = event.effect();
        self.marked = true;
        for lane in lanes_of(lanes) {
            let own = mark(self.now, simdgroup as u32 * 32 + lane as u32);
            let (start, end) = self.pieces(event, lane);
            let Some((writers, readers)) = marks.of(start..end) else {
                return false;
            };
            for (writer, reader) in writers.iter_mut().zip(readers) {
                let doubt = match effect {
                    Action::Read => order.read(*writer, reader, own, false),
                    Action::Atomic => {
                        let reads = self.program.reads_memory(event.position);
                        (reads && order.is_unwritten(*writer)) || order.atomic(writer, *reader, own)
                    }
                    Action::Write => {
                        let doubt = order.write(*writer, *reader, own);
                        let same = doubt
                            && !order.doubts_readers(*reader, own)
                            && self.stores_the_same(event, lane, *writer);
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
    fn pieces(&self, event: &AccessEvent<'_>, lane: usize) -> (usize, usize) {
        let offset = event.address(lane) & OFFSET_MASK;
        let last = (offset + u64::from(event.observed_bytes()) - 1) >> self.shift;
        ((offset >> self.shift) as usize, last as usize + 1)
    }

    /// Returns true if the last writer was a lane before this one that stores the same number to the same address by the same
    /// operation.
    #[cold]
    fn stores_the_same(&self, event: &AccessEvent<'_>, lane: usize, writer: i32) -> bool {
        let Some(thread) = thread_at(writer, self.now) else {
            return false;
        };
        let (simdgroup, before) = (thread as usize / 32, thread as usize % 32);
        let Some(at) = simdgroup.checked_sub(event.batch.first_simdgroup) else {
            return false;
        };
        (at, before) < (event.simdgroup, lane) && event.stores_the_same((at, before), lane)
    }

    /// Thread memory: only what was never written matters.
    fn was_written(&mut self, event: &AccessEvent<'_>, lanes: u32) -> bool {
        let simdgroup = event.simdgroup_in_threadgroup();
        for lane in lanes_of(lanes) {
            let (start, end) = self.pieces(event, lane);
            if self.is_thread_gap(start..end) {
                return false;
            }
            let frame = self.threads.get_mut(simdgroup);
            let Some(pieces) = frame.and_then(|frame| frame.get_mut(start..end)) else {
                return false;
            };
            if event.action != Action::Read {
                pieces.iter_mut().for_each(|written| *written |= 1 << lane);
            } else if pieces.iter().any(|written| written >> lane & 1 == 0) {
                return false;
            }
        }
        true
    }
}
