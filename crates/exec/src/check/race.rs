//! Which accesses race.
//!
//! Two accesses without order race if one of them changes the value. A store of the value that memory holds already changes
//! nothing, so it is recorded among the reads: a thread that changes the value races with it, and other accesses are
//! reported as a race that did no harm with these inputs, unless all of them are the same store. A thread that reads a value
//! which it has stored itself reads its own, even if others stored the same value too.

use super::record::{Atomics, Mark, Record, Sharers};
use super::{ReportKind, Space};
use crate::code::{Op, Program};
use crate::memory::Action;

/// The access that is compared with records.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub(super) program: &'a Program,
    pub(super) mark: Mark,
    /// Bytes accessed.
    pub(super) size: u32,
    pub(super) space: Space,
    /// When the threadgroup started and last met, and when the simdgroup was last in order.
    pub(super) started: u32,
    pub(super) met: u32,
    pub(super) ordered: u32,
    /// When the threadgroup last met, whatever memory the barrier ordered.
    pub(super) met_at_all: u32,
}

/// The error of an access: its kind and the other access.
pub(super) type Wrong = Option<(ReportKind, Mark, Action)>;

/// The kind of a race in which the value changes, or not.
const fn race(changes: bool) -> ReportKind {
    match changes {
        true => ReportKind::Race,
        false => ReportKind::EqualRace,
    }
}

/// The action that a mark among the readers stands for.
fn action_of(reader: Mark) -> Action {
    match (reader.is_atomic(), reader.is_store()) {
        (true, _) => Action::Atomic,
        (_, true) => Action::Write,
        _ => Action::Read,
    }
}

impl Asker<'_> {
    /// Returns true if an access of the same threadgroup may happen at the same time as mine.
    #[inline(always)]
    fn clashes(&self, other: Mark) -> bool {
        if other.time() < self.met || other.thread() == self.mark.thread() {
            return false;
        }
        other.simdgroup() != self.mark.simdgroup() || other.time() >= self.ordered
    }

    /// Returns true if a read of the threadgroup may happen at the same time as my write, or after it.
    ///
    /// A barrier that orders only threadgroup memory still makes all threads wait (Metal Shading Language Specification,
    /// "Threadgroup and SIMD-group Synchronization Functions": every thread must reach it before any goes on). A read of
    /// device memory before it can only be later than a write after it if it was put off past the barrier, and what
    /// has been read cannot be put off where it is needed before: to decide a branch, or stored to memory that the barrier
    /// does order. Such reads are [anchored](crate::code::Transfer::anchored).
    #[inline(always)]
    fn clashes_with_read(&self, read: Mark) -> bool {
        self.clashes(read) && !self.is_anchored(read)
    }

    #[cold]
    fn is_anchored(&self, read: Mark) -> bool {
        let done = read.time() < self.met_at_all && !read.is_atomic() && !read.is_store();
        let op = read.position().and_then(|at| self.program.ops.get(at));
        let transfer = match op {
            Some(Op::Load { transfer }) => self.program.transfers.get(*transfer as usize),
            _ => None,
        };
        done && self.space == Space::Device && transfer.is_some_and(|transfer| transfer.anchored)
    }

    /// Returns true if an access is another threadgroup's.
    #[inline(always)]
    fn is_outside(&self, other: Mark) -> bool {
        other.time() < self.started && !other.is_none()
    }

    /// Returns true if an access is another threadgroup's that can reach the same memory.
    #[inline(always)]
    fn is_outside_of_device(&self, other: Mark) -> bool {
        self.space != Space::Threadgroup && self.is_outside(other)
    }

    /// Returns true if the memory was written in this threadgroup.
    #[inline(always)]
    pub(super) fn is_written(&self, record: &Record, atomics: Atomics) -> bool {
        record.writer.time().max(atomics.last.time()) >= self.started
    }

    /// Looks at a record before a read and notes it.
    #[inline(always)]
    pub(super) fn read(&self, record: &mut Record, atomics: Atomics) -> Wrong {
        let wrong = self.plain_writer(record).or_else(|| self.atomics(atomics));
        self.note_reader(record, self.mark);
        wrong
    }

    /// The same before an atomic read.
    #[inline(always)]
    pub(super) fn read_atomic(&self, record: &mut Record) -> Wrong {
        let wrong = self.plain_writer(record);
        let mark = self.mark.atomic();
        let plain = record.reader.time() >= self.met && !record.reader.is_atomic();
        if !plain {
            self.note_reader(record, mark);
        } else if record.second.time() < self.met || record.second.is_atomic() {
            // Atomic writes must still find who reads without.
            record.second = mark;
        }
        wrong
    }

    /// A plain write that a read may happen at the same time as.
    #[inline(always)]
    fn plain_writer(&self, record: &Record) -> Wrong {
        let writer = record.writer;
        if self.is_outside(writer) {
            let shared = self.space != Space::Threadgroup;
            return shared.then_some((ReportKind::GroupRace, writer, Action::Write));
        }
        let wrong = self.clashes(writer) && !record.sharers.have(self.mark);
        wrong.then_some((race(writer.flag()), writer, Action::Write))
    }

    /// An atomic write that a plain access may happen at the same time as.
    #[inline(always)]
    fn atomics(&self, atomics: Atomics) -> Wrong {
        let mut all = [atomics.last, atomics.beside].into_iter();
        let other = all.find(|&mark| mark.time() >= self.started && self.clashes(mark));
        other.map(|mark| (ReportKind::Race, mark, Action::Atomic))
    }

    #[inline(always)]
    fn note_reader(&self, record: &mut Record, mark: Mark) {
        let reader = record.reader;
        if reader.time() >= self.started && reader.simdgroup() == mark.simdgroup() {
            if reader.time() < self.ordered {
                record.reader = mark;
            } else if reader.thread() != mark.thread() {
                record.reader = reader.flagged(true);
                record.beside = mark;
            }
        } else {
            if self.is_outside(reader) {
                record.outside = reader;
            } else {
                record.second = reader;
            }
            record.reader = mark;
        }
    }

    /// Looks at a record before a plain write (`changes`: of another value) and notes it.
    #[inline(always)]
    pub(super) fn write(&self, record: &mut Record, atomics: Atomics, changes: bool) -> Wrong {
        let writer = record.writer;
        let own = writer.time() >= self.started;
        let same_operation = writer.position() == self.mark.position();
        let again = own && record.sharers.have(self.mark);
        let harmless = !changes && (same_operation || again);
        let mut wrong = None;
        if self.is_outside_of_device(writer) {
            wrong = (!harmless).then_some((ReportKind::GroupRace, writer, Action::Write));
        } else if self.clashes(writer) && !harmless {
            wrong = Some((race(changes || writer.flag()), writer, Action::Write));
        }
        if wrong.is_none() {
            wrong = match self.is_outside_of_device(atomics.last) {
                true => Some((ReportKind::GroupRace, atomics.last, Action::Atomic)),
                false => self.atomics(atomics),
            };
        }
        if wrong.is_none() {
            wrong = self.outside_readers(record, changes);
        }
        if wrong.is_none() && changes {
            wrong = self.readers(record, false);
        }
        if wrong.is_none() && !changes {
            wrong = self.reader_before_change(record);
        }
        if wrong.is_none() && !changes && !same_operation {
            wrong = self.readers_of_equal(record);
        }
        if changes {
            let own = |mark: &Mark| mark.time() >= self.met && mark.thread() == self.mark.thread();
            let read = record.readers().iter().any(own);
            record.writer = self.mark.flagged(true).after_reading(read);
            record.sharers = Sharers::only(self.mark);
        } else if !own {
            // Who wrote it in another threadgroup may have changed it: then so has who stores the same here.
            record.writer = self.mark.flagged(writer.flag());
            record.sharers = Sharers::only(self.mark);
        } else {
            self.note_reader(record, self.mark.stored());
            record.sharers.add(self.mark);
        }
        wrong
    }

    /// Looks at a record before an atomic write and notes it.
    #[inline(always)]
    pub(super) fn write_atomic(&self, record: &Record, atomics: &mut Atomics) -> Wrong {
        let writer = record.writer;
        let wrong = if self.is_outside_of_device(writer) {
            Some((ReportKind::GroupRace, writer, Action::Write))
        } else if self.clashes(writer) {
            Some((ReportKind::Race, writer, Action::Write))
        } else {
            self.other_width(*atomics)
                .or_else(|| self.readers(record, true))
        };
        let Atomics { last, beside, .. } = *atomics;
        if last.time() >= self.met && last.thread() != self.mark.thread() {
            let simdgroup = self.mark.simdgroup();
            let kept = beside.time() >= self.met && beside.simdgroup() != simdgroup;
            if last.simdgroup() != simdgroup || !kept {
                atomics.beside = last;
            }
        }
        atomics.last = self.mark.atomic();
        atomics.size = self.size;
        wrong
    }

    /// The last atomic write, if it was of another width: operations are atomic only among those of their own.
    #[inline(always)]
    fn other_width(&self, atomics: Atomics) -> Wrong {
        let other = atomics.last;
        if other.is_none() || atomics.size == self.size {
            return None;
        }
        if self.is_outside_of_device(other) {
            return Some((ReportKind::GroupRace, other, Action::Atomic));
        }
        let clash = other.time() >= self.started && self.clashes(other);
        clash.then_some((ReportKind::Race, other, Action::Atomic))
    }

    /// The read of the thread that made the last change, if a store of the same value might have come before it.
    #[inline(always)]
    fn reader_before_change(&self, record: &Record) -> Wrong {
        let writer = record.writer;
        let again = record.sharers.have(self.mark);
        if !(writer.flag() && writer.is_after_reading() && self.clashes(writer)) || again {
            return None;
        }
        let other = record.readers().into_iter().find(|&mark| {
            let of_writer = mark.thread() == writer.thread() && mark.time() <= writer.time();
            of_writer && self.clashes_with_read(mark)
        });
        other.map(|mark| (ReportKind::Race, mark, action_of(mark)))
    }

    /// Reads that a store of the value that is there may happen at the same time as.
    #[inline(always)]
    fn readers_of_equal(&self, record: &Record) -> Wrong {
        let other = record.readers().into_iter().find(|&mark| {
            let alike = mark.is_store() && mark.position() == self.mark.position();
            mark.time() >= self.started && self.clashes_with_read(mark) && !alike
        });
        other.map(|mark| (ReportKind::EqualRace, mark, action_of(mark)))
    }

    /// Reads of other threadgroups that a plain write may happen at the same time as.
    #[inline(always)]
    fn outside_readers(&self, record: &Record, changes: bool) -> Wrong {
        let all = [record.reader, record.second, record.outside].into_iter();
        let mut outside = all.filter(|&mark| self.is_outside_of_device(mark));
        let other = outside.find(|mark| {
            let same_operation = mark.position() == self.mark.position();
            changes || !(mark.is_store() && same_operation)
        });
        other.map(|mark| (ReportKind::GroupRace, mark, action_of(mark)))
    }

    /// Reads of the threadgroup that a write may happen at the same time as.
    #[inline(always)]
    fn readers(&self, record: &Record, atomic: bool) -> Wrong {
        let other = record.readers().into_iter().find(|&mark| {
            let harmless = atomic && mark.is_atomic();
            mark.time() >= self.started && self.clashes_with_read(mark) && !harmless
        });
        other.map(|mark| (ReportKind::Race, mark, action_of(mark)))
    }
}
