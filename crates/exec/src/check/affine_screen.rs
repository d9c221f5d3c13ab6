//! Screening of affine accesses: all simdgroups of a batch at once.

use super::Space;
use super::screen::Screen;
use super::screen_marks::{Marks, Row, mark, read_row, read_row_by_all, write_row};
use crate::interpret::observer::{AccessEvent, AffineAddresses};
use crate::memory::{Action, OFFSET_MASK};
use std::ops::Range;

/// The simdgroups that run: their numbers in the threadgroup.
type Running = Range<usize>;

impl Screen<'_> {
    /// Compares an access of all lanes of all simdgroups with the marks of its region; nothing if that is to be done one by one.
    #[inline(always)]
    pub(super) fn agrees_as_batch(
        &mut self,
        event: &AccessEvent<'_>,
        marks: &mut Marks,
        space: Space,
    ) -> Option<bool> {
        let (sum, running) = (event.affine.as_ref()?, event.batch.all_running()?);
        let (length, step) = (event.runs.length as usize, event.runs.step);
        let pieces = event.size >> self.shift;
        let whole = pieces.is_power_of_two() && pieces << self.shift == event.size;
        if !whole
            || event.observed_bytes() != event.size
            || length == 0
            || (step != 0 && step != event.size)
        {
            return None;
        }
        let reads = event.action == Action::Read;
        if !self.are_in_order_alike(running.clone(), space) || (step == 0 && !reads) {
            return None;
        }
        self.marked = true;
        match reads {
            true if running.len() > 1 && sum.is_shared() => {
                Some(self.read_by_all(event, sum, running, marks, space))
            }
            true if step == 0 => Some(self.read_numbers(event, sum, running, marks, space)),
            _ if length == 32 && sum.is_progression() => {
                let lanes = running.len() * 32;
                let right = self.row(event, sum, (running.start, 0, lanes), marks, space);
                // Perhaps lanes store the same.
                (right || reads).then_some(right)
            }
            _ => {
                for simdgroup in running {
                    for lane in (0..32).step_by(length) {
                        if !self.row(event, sum, (simdgroup, lane, length), marks, space) {
                            return reads.then_some(false);
                        }
                    }
                }
                Some(true)
            }
        }
    }

    /// Returns true if the lanes of all these simdgroups were last in order at the same time.
    #[inline(always)]
    fn are_in_order_alike(&self, running: Running, space: Space) -> bool {
        let first = self.times.ordered(running.start, space);
        running
            .skip(1)
            .all(|simdgroup| self.times.ordered(simdgroup, space) == first)
    }

    /// The pieces of some numbers from that of a lane on.
    #[inline(always)]
    fn pieces_from(
        &self,
        event: &AccessEvent<'_>,
        sum: &AffineAddresses,
        (simdgroup, lane, numbers): (usize, usize, usize),
    ) -> Range<usize> {
        let address = sum.address(simdgroup - event.batch.first_simdgroup, lane);
        let start = ((address & OFFSET_MASK) >> self.shift) as usize;
        start..start + numbers * (event.size >> self.shift) as usize
    }

    /// Numbers side by side, of so many lanes from one on.
    #[inline(always)]
    fn row(
        &mut self,
        event: &AccessEvent<'_>,
        sum: &AffineAddresses,
        (simdgroup, lane, lanes): (usize, usize, usize),
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let pieces = self.pieces_from(event, sum, (simdgroup, lane, lanes));
        let Some((writers, readers)) = marks.of(pieces) else {
            return false;
        };
        let order = self.order_of(simdgroup, space);
        let row = Row {
            writers,
            readers,
            own: mark(self.now, (simdgroup * 32 + lane) as u32),
            per: (event.size >> self.shift).trailing_zeros(),
        };
        let level = self.program.level;
        match event.action {
            Action::Read => !read_row(level, &order, row),
            _ => !write_row(level, &order, row),
        }
    }

    /// What all simdgroups read alike.
    #[inline(always)]
    fn read_by_all(
        &mut self,
        event: &AccessEvent<'_>,
        sum: &AffineAddresses,
        running: Running,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let length = event.runs.length as usize;
        let numbers = if event.runs.step == 0 { 1 } else { length };
        let order = self.order_of(running.start, space);
        let own = mark(self.now, running.start as u32 * 32);
        let mut before = None;
        for lane in (0..32).step_by(length) {
            let pieces = self.pieces_from(event, sum, (running.start, lane, numbers));
            if before == Some(pieces.start) {
                continue;
            }
            before = Some(pieces.start);
            let Some((writers, readers)) = marks.of(pieces) else {
                return false;
            };
            let row = Row {
                writers,
                readers,
                own,
                per: 0,
            };
            if read_row_by_all(self.program.level, &order, row) {
                return false;
            }
        }
        true
    }

    /// One number for each run of lanes.
    #[inline(always)]
    fn read_numbers(
        &mut self,
        event: &AccessEvent<'_>,
        sum: &AffineAddresses,
        running: Running,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let length = event.runs.length as usize;
        let order = self.order_of(running.start, space);
        let mut doubt = false;
        for simdgroup in running {
            for lane in (0..32).step_by(length) {
                let pieces = self.pieces_from(event, sum, (simdgroup, lane, 1));
                let own = mark(self.now, (simdgroup * 32 + lane) as u32);
                let Some((writers, readers)) = marks.of(pieces) else {
                    return false;
                };
                for (&writer, reader) in writers.iter().zip(readers) {
                    doubt |= order.read(writer, reader, own, true);
                }
            }
        }
        !doubt
    }
}
