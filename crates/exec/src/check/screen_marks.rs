//! Marks of screening: short records of the last accesses to a piece of memory, compared a row at a time.
//!
//! A mark is when and by which thread of the threadgroup that ran then. Of the writers the last is kept. Of the readers since a
//! barrier it is enough to know one thread, or that there were several of one simdgroup, or of more: a thread that writes
//! after those has one of them in its way. All marks are positive, so that comparing them is one instruction.

use crate::simd::{SimdLevel, simd_variants};
use std::ops::Range;

/// Bits below the time.
const BITS: u32 = 12;
const THREAD: i32 = 0x3ff;
const SIMDGROUP: i32 = 0x3e0;
/// Of a writer: it was an atomic operation.
const ATOMIC: i32 = 1 << 10;
/// Of a writer: several threads wrote, of whatever simdgroups.
const SHARED: i32 = 1 << 11;
/// Of a reader: several threads of its simdgroup.
const SEVERAL: i32 = 1 << 10;
/// Of a reader: several simdgroups of its threadgroup.
const MANY: i32 = 1 << 11;
/// Readers of several threadgroups.
const EVERYWHERE: i32 = i32::MAX;

/// Of a writer: memory that nothing may access. Every access finds a write that it is not in order with.
pub(super) const BARRED: i32 = i32::MAX & !ATOMIC;

/// The last time there is.
pub(super) const LAST: i32 = (1 << (31 - BITS)) - 2;

/// A moment, as it stands in a mark.
pub(super) const fn moment(time: i32) -> i32 {
    time << BITS
}

/// The mark of a thread of the threadgroup.
pub(super) fn mark(time: i32, thread: u32) -> i32 {
    moment(time) | (thread as i32 & THREAD)
}

/// The thread of a writer's mark, if it was made at that time.
pub(super) fn thread_at(mark: i32, time: i32) -> Option<u32> {
    (mark >> BITS == time).then_some((mark & THREAD) as u32)
}

/// Who touched each piece of some memory.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) writers: Vec<i32>,
    pub(super) readers: Vec<i32>,
}

impl Marks {
    pub(super) fn new(pieces: usize) -> Self {
        Self {
            writers: vec![0; pieces],
            readers: vec![0; pieces],
        }
    }

    /// The writers and readers of some pieces.
    #[inline(always)]
    pub(super) fn of(&mut self, pieces: Range<usize>) -> Option<(&mut [i32], &mut [i32])> {
        let writers = self.writers.get_mut(pieces.clone())?;
        Some((writers, self.readers.get_mut(pieces)?))
    }

    /// Makes all marks those of one earlier time.
    pub(super) fn age(&mut self) {
        for mark in self.writers.iter_mut().filter(|mark| **mark != 0) {
            *mark = moment(1) | (*mark & ATOMIC);
        }
        let read = |mark: &&mut i32| **mark != 0 && **mark != EVERYWHERE;
        for mark in self.readers.iter_mut().filter(read) {
            *mark = moment(1);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.writers.fill(0);
        self.readers.fill(0);
    }
}

/// When things were last in order for a simdgroup, as moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// When the threadgroup started, when it last met at a barrier, and when the lanes of the simdgroup were last in order.
    pub(super) started: i32,
    pub(super) met: i32,
    pub(super) ordered: i32,
    /// True if other threadgroups can reach the memory.
    pub(super) device: bool,
}

impl Order {
    /// Returns true if a write of the same threadgroup may happen at the same time as an access, of `own` or of several of its simdgroup.
    #[inline(always)]
    fn clashes(&self, writer: i32, own: i32, several: bool) -> bool {
        let (differ, shared) = (writer ^ own, writer & SHARED != 0);
        (writer >= self.met)
            & (several | shared | (differ & THREAD != 0))
            & (shared | (differ & SIMDGROUP != 0) | (writer >= self.ordered))
    }

    /// Returns true if reads of the same threadgroup may happen at the same time as a write.
    #[inline(always)]
    fn clashes_with_readers(&self, reader: i32, own: i32) -> bool {
        let differ = reader ^ own;
        let other = (differ & SIMDGROUP != 0) | (reader & MANY != 0);
        let several = (differ & THREAD != 0) | (reader & SEVERAL != 0);
        (reader >= self.met) & (other | (several & (reader >= self.ordered)))
    }

    /// Returns true if a mark is another threadgroup's.
    #[inline(always)]
    fn is_outside(&self, mark: i32) -> bool {
        self.device & (mark != 0) & (mark < self.started)
    }

    /// Returns true if a mark is that of threadgroup memory that was never written.
    #[inline(always)]
    pub(super) fn is_unwritten(&self, writer: i32) -> bool {
        !self.device & (writer < self.started)
    }

    /// Returns true if a read might be wrong.
    #[inline(always)]
    fn doubts_read(&self, writer: i32, own: i32, several: bool) -> bool {
        let outside = self.is_outside(writer) & (writer & ATOMIC == 0);
        outside | self.is_unwritten(writer) | self.clashes(writer, own, several)
    }

    /// Returns true if a write might be wrong. Equal values are not looked at.
    #[inline(always)]
    fn doubts_write(&self, writer: i32, reader: i32, own: i32) -> bool {
        self.is_outside(writer)
            | self.clashes(writer, own, false)
            | self.doubts_readers(reader, own)
    }

    /// Returns true if a write might be wrong because of who read before.
    #[inline(always)]
    pub(super) fn doubts_readers(&self, reader: i32, own: i32) -> bool {
        self.is_outside(reader) | self.clashes_with_readers(reader, own)
    }

    #[inline(always)]
    fn doubts_atomic(&self, writer: i32, reader: i32, own: i32) -> bool {
        let plain = writer & ATOMIC == 0;
        (plain & (self.is_outside(writer) | self.clashes(writer, own, false)))
            | self.clashes_with_readers(reader, own)
    }

    /// The readers of a piece after one more read.
    #[inline(always)]
    fn readers(&self, before: i32, own: i32) -> i32 {
        let differ = before ^ own;
        let more = if differ & THREAD == 0 {
            before
        } else {
            SEVERAL
        };
        let in_order = before < self.ordered;
        let same = if in_order { own } else { own | more & SEVERAL };
        let other = (differ & SIMDGROUP != 0) | (before & MANY != 0);
        let now = if other { own | MANY } else { same };
        let now = if before < self.met { own } else { now };
        let everywhere = self.is_outside(before) | (before == EVERYWHERE);
        if everywhere { EVERYWHERE } else { now }
    }

    /// Notes a read of one piece, by a lane or by several of its simdgroup. Returns true if it might be a race.
    #[inline(always)]
    pub(super) fn read(&self, writer: i32, reader: &mut i32, own: i32, several: bool) -> bool {
        let doubt = self.doubts_read(writer, own, several);
        let after = self.readers(*reader, own);
        *reader = after | if several { SEVERAL } else { 0 };
        doubt
    }

    /// Returns true if a write of one piece might be wrong.
    #[inline(always)]
    pub(super) fn write(&self, writer: i32, reader: i32, own: i32) -> bool {
        self.doubts_write(writer, reader, own)
    }

    /// Notes an atomic access of one piece. Returns true if it might be a race.
    #[inline(always)]
    pub(super) fn atomic(&self, writer: &mut i32, reader: i32, own: i32) -> bool {
        let (doubt, before) = (self.doubts_atomic(*writer, reader, own), *writer);
        let since = if self.device { self.started } else { self.met };
        let plain = before >= since && before & ATOMIC == 0;
        let others = (before ^ own) & THREAD != 0 || before & SHARED != 0;
        *writer = match () {
            // A plain write of the thread stays one, for others that it is not in order with.
            () if plain => own,
            () if before >= self.met && others => own | ATOMIC | SHARED,
            () => own | ATOMIC,
        };
        doubt
    }

    /// The mark of a thread that has written the same as others before it.
    pub(super) const fn shared(own: i32) -> i32 {
        own | SHARED
    }
}

/// A row of pieces that lanes side by side access, `1 << per` pieces each. `own` is the mark of the first lane.
pub(super) struct Row<'a> {
    pub(super) writers: &'a mut [i32],
    pub(super) readers: &'a mut [i32],
    pub(super) own: i32,
    pub(super) per: u32,
}

/// A function over a row, compiled for each level of vector instructions.
macro_rules! over_row {
    ($(#[$about:meta])* $name:ident, $body:ident) => {
        $(#[$about])*
        pub(super) fn $name(level: SimdLevel, order: &Order, row: Row<'_>) -> bool {
            let variants = simd_variants!([] (order: &Order, row: Row<'_>) -> bool, |_simd| $body(order, row));
            // SAFETY: a level exists only where the CPU has its instructions.
            unsafe { variants.select(level)(order, row) }
        }
    };
}

over_row!(
    /// Notes the reads of a row. Returns true if one might be wrong.
    read_row, read_each
);
over_row!(
    /// Notes the reads of a row by several simdgroups, each of all of it. Returns true if one might be wrong.
    read_row_by_all, read_each_by_all
);
over_row!(
    /// Notes the writes of a row, unless one of them might be wrong. Returns true if so.
    write_row, write_each
);

#[inline(always)]
fn read_each(order: &Order, row: Row<'_>) -> bool {
    let (writers, readers) = (row.writers, row.readers);
    let mut doubt = 0;
    for (piece, (&mut writer, reader)) in writers.iter_mut().zip(readers).enumerate() {
        let own = row.own + (piece >> row.per) as i32;
        doubt |= i32::from(order.read(writer, reader, own, false));
    }
    doubt != 0
}

#[inline(always)]
fn read_each_by_all(order: &Order, row: Row<'_>) -> bool {
    let mut doubt = 0;
    for (&mut writer, reader) in row.writers.iter_mut().zip(row.readers) {
        let outside = order.is_outside(writer) & (writer & ATOMIC == 0);
        // Whichever thread wrote, one of the readers is of another simdgroup.
        let wrong = outside | order.is_unwritten(writer) | (writer >= order.met);
        doubt |= i32::from(wrong);
        let everywhere = order.is_outside(*reader) | (*reader == EVERYWHERE);
        *reader = if everywhere {
            EVERYWHERE
        } else {
            row.own | SEVERAL | MANY
        };
    }
    doubt != 0
}

#[inline(always)]
fn write_each(order: &Order, row: Row<'_>) -> bool {
    let (writers, readers) = (row.writers, row.readers);
    let mut doubt = 0;
    for (piece, (&mut writer, &mut reader)) in writers.iter_mut().zip(readers).enumerate() {
        let own = row.own + (piece >> row.per) as i32;
        doubt |= i32::from(order.write(writer, reader, own));
    }
    if doubt != 0 {
        return true;
    }
    for (piece, writer) in writers.iter_mut().enumerate() {
        *writer = row.own + (piece >> row.per) as i32;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A threadgroup that started at 2 and met at 4; the simdgroup was in order at 6.
    const ORDER: Order = Order {
        started: moment(2),
        met: moment(4),
        ordered: moment(6),
        device: false,
    };

    fn readers(reads: &[(i32, u32)]) -> i32 {
        let mut readers = 0;
        for &(time, thread) in reads {
            readers = ORDER.readers(readers, mark(time, thread));
        }
        readers
    }

    #[test]
    fn who_wrote_decides_about_a_read() {
        let doubts = |time, thread, by| ORDER.doubts_read(mark(time, thread), mark(7, by), false);
        assert!(doubts(1, 5, 5), "of the threadgroup before");
        assert!(!doubts(3, 40, 5), "before the barrier");
        assert!(doubts(5, 40, 5), "another simdgroup, after the barrier");
        assert!(!doubts(5, 6, 5), "another lane, before they were in order");
        assert!(doubts(6, 6, 5), "another lane, after that");
        assert!(!doubts(7, 5, 5), "its own");
        assert!(
            ORDER.doubts_read(mark(7, 5), mark(7, 5), true),
            "not only its own"
        );
    }

    #[test]
    fn a_write_sees_all_who_read() {
        let doubts = |reads: &[(i32, u32)], by| ORDER.doubts_write(0, readers(reads), mark(8, by));
        assert!(!doubts(&[(3, 40), (3, 5)], 5), "before the barrier");
        assert!(!doubts(&[(7, 5), (8, 5)], 5), "its own");
        assert!(doubts(&[(7, 6), (8, 5)], 5), "another lane, then its own");
        assert!(
            !doubts(&[(5, 6), (8, 5)], 5),
            "another lane, before they were in order"
        );
        assert!(
            doubts(&[(5, 40), (8, 5)], 5),
            "another simdgroup, then its own"
        );
        assert!(
            doubts(&[(8, 5), (8, 40), (8, 41)], 5),
            "others after its own"
        );
    }

    #[test]
    fn device_memory_remembers_other_threadgroups() {
        let device = Order {
            device: true,
            ..ORDER
        };
        let own = mark(7, 5);
        assert!(!device.doubts_read(0, own, false), "nobody wrote it");
        assert!(device.doubts_read(mark(1, 5), own, false));
        assert!(!device.doubts_read(mark(1, 5) | ATOMIC, own, false));
        let read = device.readers(mark(1, 5), own);
        assert!(device.doubts_write(0, read, own), "read outside, then here");
        let mut marks = Marks::new(1);
        marks.writers[0] = mark(LAST / 2, 7) | ATOMIC;
        marks.readers[0] = read;
        marks.age();
        assert!(!device.doubts_read(marks.writers[0], own, false));
        assert!(device.doubts_write(0, marks.readers[0], own));
    }
}
