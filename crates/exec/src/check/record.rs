//! Records of the last accesses to a piece of memory.
//!
//! Time goes on with everything that orders accesses: the start of a threadgroup, a barrier, an operation that makes lanes
//! wait for each other. Whether two accesses are ordered is then a comparison of times.

/// An access: when, by which operation, by which thread of the threadgroup that ran then. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark(u64);

const POSITION_BITS: u32 = 19;
const THREAD_BITS: u32 = 10;
/// Bits below the thread.
const FLAG_BITS: u32 = 3;
const FLAG: u64 = 1;
const ATOMIC: u64 = 2;
const STORE: u64 = 4;
/// Of a writer.
const READ: u64 = 4;

impl Mark {
    pub(super) const NONE: Self = Self(0);

    /// `time` counts from 1.
    #[inline(always)]
    pub(super) fn new(time: u32, position: usize, thread: u32) -> Self {
        let last = (1u64 << POSITION_BITS) - 1;
        let position = (position as u64).min(last);
        Self(
            u64::from(time) << 32
                | position << (THREAD_BITS + FLAG_BITS)
                | u64::from(thread) << FLAG_BITS,
        )
    }

    /// The same access, and the value changed (of a write), or another thread did the same (of a read).
    #[inline(always)]
    pub(super) fn flagged(self, flag: bool) -> Self {
        Self(self.0 | if flag { FLAG } else { 0 })
    }

    /// The same access, and it was atomic.
    #[inline(always)]
    pub(super) fn atomic(self) -> Self {
        Self(self.0 | ATOMIC)
    }

    /// The same access, and it stored what was there already.
    #[inline(always)]
    pub(super) fn stored(self) -> Self {
        Self(self.0 | STORE)
    }

    /// The same write, by a thread that had read before (or not).
    #[inline(always)]
    pub(super) fn after_reading(self, read: bool) -> Self {
        Self(self.0 | if read { READ } else { 0 })
    }

    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(super) fn time(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The operation; nothing if the program is too long to say.
    pub(super) fn position(self) -> Option<usize> {
        let position = (self.0 >> (THREAD_BITS + FLAG_BITS)) as usize & ((1 << POSITION_BITS) - 1);
        (position < (1 << POSITION_BITS) - 1).then_some(position)
    }

    #[inline(always)]
    pub(super) fn thread(self) -> u32 {
        (self.0 >> FLAG_BITS) as u32 & ((1 << THREAD_BITS) - 1)
    }

    #[inline(always)]
    pub(super) fn simdgroup(self) -> u32 {
        self.thread() / 32
    }

    #[inline(always)]
    pub(super) fn flag(self) -> bool {
        self.0 & FLAG != 0
    }

    #[inline(always)]
    pub(super) fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    #[inline(always)]
    pub(super) fn is_after_reading(self) -> bool {
        self.0 & READ != 0
    }

    #[inline(always)]
    pub(super) fn is_store(self) -> bool {
        self.0 & STORE != 0
    }
}

/// What is remembered about one piece of memory, besides atomic writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// The last plain write that changed the value, flagged; or else the first of the threadgroup. Who of the threadgroup read
    /// before a change, and not in order with it, is the thread that made it, or a race.
    pub(super) writer: Mark,
    /// Who has stored that value since.
    pub(super) sharers: Sharers,
    /// The last simdgroup that read it, or stored what was there already; flagged if several of its threads did since they were
    /// last ordered.
    pub(super) reader: Mark,
    /// Another thread of that simdgroup, if flagged.
    pub(super) beside: Mark,
    /// The last other simdgroup of the threadgroup that read it.
    pub(super) second: Mark,
    /// A read by another threadgroup.
    pub(super) outside: Mark,
}

impl Record {
    /// Those that may be of the threadgroup.
    #[inline(always)]
    pub(super) fn readers(&self) -> [Mark; 3] {
        [self.reader, self.second, self.beside]
    }
}

/// Threads of a simdgroup, of those that have stored the same value the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sharers {
    simdgroup: u32,
    lanes: u32,
}

impl Sharers {
    /// Only the thread of a mark.
    #[inline(always)]
    pub(super) fn only(mark: Mark) -> Self {
        Self {
            simdgroup: mark.simdgroup(),
            lanes: 1 << (mark.thread() % 32),
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, mark: Mark) {
        let own = Self::only(mark);
        if own.simdgroup == self.simdgroup {
            self.lanes |= own.lanes;
        } else {
            *self = own;
        }
    }

    #[inline(always)]
    pub(super) fn have(self, mark: Mark) -> bool {
        let own = Self::only(mark);
        own.simdgroup == self.simdgroup && own.lanes & self.lanes != 0
    }
}

/// The atomic writes of one piece of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Atomics {
    pub(super) last: Mark,
    /// The last by another thread; by one of another simdgroup, if there was any since a barrier.
    pub(super) beside: Mark,
    /// Bytes of the last.
    pub(super) size: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_keeps_what_it_was_given() {
        let mark = Mark::new(u32::MAX, 12_345, 1023).flagged(true);
        assert_eq!((mark.time(), mark.thread()), (u32::MAX, 1023));
        assert_eq!(mark.position(), Some(12_345));
        assert!(mark.flag() && !mark.is_atomic() && !mark.is_store() && !mark.is_none());
        let mark = Mark::new(7, 3, 5).atomic().stored();
        assert_eq!((mark.position(), mark.thread()), (Some(3), 5));
        assert!(!mark.flag() && mark.is_atomic() && mark.is_store());
        assert_eq!(Mark::new(1, usize::MAX, 0).position(), None);
    }
}
