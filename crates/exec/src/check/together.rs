//! The quick look at accesses of all simdgroups that run in step, where their addresses are a sum.

use super::Space;
use super::marks::{Marks, Row, mark, read_row, read_row_together, write_row};
use super::quick::Quick;
use crate::interpret::watch::{Seen, Sum};
use crate::memory::{Action, OFFSET_MASK};
use std::ops::Range;

/// The simdgroups that run: their numbers in the threadgroup.
type Running = Range<usize>;

impl Quick<'_> {
    /// Compares an access of all lanes of all simdgroups with the marks of its region; nothing if that is to be done one by one.
    #[inline(always)]
    pub(super) fn agrees_together(
        &mut self,
        seen: &Seen<'_>,
        marks: &mut Marks,
        space: Space,
    ) -> Option<bool> {
        let (sum, running) = (seen.sum.as_ref()?, seen.group.all_running()?);
        let (length, step) = (seen.form.length as usize, seen.form.step);
        let pieces = seen.size >> self.shift;
        let whole = pieces.is_power_of_two() && pieces << self.shift == seen.size;
        if !whole || seen.wanted() != seen.size || length == 0 || (step != 0 && step != seen.size) {
            return None;
        }
        let reads = seen.action == Action::Read;
        if !self.are_in_order_alike(running.clone(), space) || (step == 0 && !reads) {
            return None;
        }
        self.marked = true;
        match reads {
            true if running.len() > 1 && sum.is_shared() => {
                Some(self.read_by_all(seen, sum, running, marks, space))
            }
            true if step == 0 => Some(self.read_numbers(seen, sum, running, marks, space)),
            _ if length == 32 && sum.is_row() => {
                let lanes = running.len() * 32;
                let right = self.row(seen, sum, (running.start, 0, lanes), marks, space);
                // Perhaps lanes store the same.
                (right || reads).then_some(right)
            }
            _ => {
                for simdgroup in running {
                    for lane in (0..32).step_by(length) {
                        if !self.row(seen, sum, (simdgroup, lane, length), marks, space) {
                            return reads.then_some(false);
                        }
                    }
                }
                Some(true)
            }
        }
    }

    /// Whether the lanes of all these simdgroups were last in order at the same time.
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
        seen: &Seen<'_>,
        sum: &Sum,
        (simdgroup, lane, numbers): (usize, usize, usize),
    ) -> Range<usize> {
        let address = sum.address(simdgroup - seen.group.number, lane);
        let start = ((address & OFFSET_MASK) >> self.shift) as usize;
        start..start + numbers * (seen.size >> self.shift) as usize
    }

    /// Numbers side by side, of so many lanes from one on.
    #[inline(always)]
    fn row(
        &mut self,
        seen: &Seen<'_>,
        sum: &Sum,
        (simdgroup, lane, lanes): (usize, usize, usize),
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let pieces = self.pieces_from(seen, sum, (simdgroup, lane, lanes));
        let Some((writers, readers)) = marks.of(pieces) else {
            return false;
        };
        let order = self.order_of(simdgroup, space);
        let row = Row {
            writers,
            readers,
            own: mark(self.now, (simdgroup * 32 + lane) as u32),
            per: (seen.size >> self.shift).trailing_zeros(),
        };
        let level = self.program.level;
        match seen.action {
            Action::Read => !read_row(level, &order, row),
            _ => !write_row(level, &order, row),
        }
    }

    /// What all simdgroups read alike.
    #[inline(always)]
    fn read_by_all(
        &mut self,
        seen: &Seen<'_>,
        sum: &Sum,
        running: Running,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let length = seen.form.length as usize;
        let numbers = if seen.form.step == 0 { 1 } else { length };
        let order = self.order_of(running.start, space);
        let own = mark(self.now, running.start as u32 * 32);
        let mut before = None;
        for lane in (0..32).step_by(length) {
            let pieces = self.pieces_from(seen, sum, (running.start, lane, numbers));
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
            if read_row_together(self.program.level, &order, row) {
                return false;
            }
        }
        true
    }

    /// One number for each run of lanes.
    #[inline(always)]
    fn read_numbers(
        &mut self,
        seen: &Seen<'_>,
        sum: &Sum,
        running: Running,
        marks: &mut Marks,
        space: Space,
    ) -> bool {
        let length = seen.form.length as usize;
        let order = self.order_of(running.start, space);
        let mut doubt = false;
        for simdgroup in running {
            for lane in (0..32).step_by(length) {
                let pieces = self.pieces_from(seen, sum, (simdgroup, lane, 1));
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
