//! Who touched a piece of memory, and when.
//!
//! Time goes on with everything that orders accesses: the start of a threadgroup, a barrier, an operation that makes lanes
//! wait for each other. Whether two accesses are ordered is then a comparison of times.

/// An access: when, by which operation, by which thread of the threadgroup that ran then. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark(u64);

const POSITION_BITS: u32 = 20;
const THREAD_BITS: u32 = 10;

impl Mark {
    pub(super) const NONE: Self = Self(0);

    /// `time` counts from 1.
    #[inline(always)]
    pub(super) fn new(time: u32, position: usize, thread: u32) -> Self {
        let last = (1u64 << POSITION_BITS) - 1;
        let position = (position as u64).min(last);
        Self(u64::from(time) << 32 | position << (THREAD_BITS + 2) | u64::from(thread) << 2)
    }

    /// The same access, and the value changed (of a write), or another thread did the same (of a read).
    #[inline(always)]
    pub(super) fn flagged(self, flag: bool) -> Self {
        Self(self.0 | u64::from(flag))
    }

    #[inline(always)]
    pub(super) fn atomic(self, atomic: bool) -> Self {
        Self(self.0 | u64::from(atomic) << 1)
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
        let position = (self.0 >> (THREAD_BITS + 2)) as usize & ((1 << POSITION_BITS) - 1);
        (position < (1 << POSITION_BITS) - 1).then_some(position)
    }

    #[inline(always)]
    pub(super) fn thread(self) -> u32 {
        (self.0 >> 2) as u32 & ((1 << THREAD_BITS) - 1)
    }

    #[inline(always)]
    pub(super) fn simdgroup(self) -> u32 {
        self.thread() / 32
    }

    #[inline(always)]
    pub(super) fn flag(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline(always)]
    pub(super) fn is_atomic(self) -> bool {
        self.0 & 2 != 0
    }
}

/// What is remembered about one piece of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// The last write; flagged if it changed the value.
    pub(super) writer: Mark,
    /// The last simdgroup that read it; flagged if several of its threads did since they were last ordered.
    pub(super) reader: Mark,
    /// Another thread of that simdgroup, if flagged.
    pub(super) beside: Mark,
    /// The last other simdgroup of the threadgroup that read it.
    pub(super) second: Mark,
    /// A read by another threadgroup.
    pub(super) outside: Mark,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_keeps_what_it_was_given() {
        let mark = Mark::new(u32::MAX, 12_345, 1023).flagged(true);
        assert_eq!((mark.time(), mark.thread()), (u32::MAX, 1023));
        assert_eq!(mark.position(), Some(12_345));
        assert!(mark.flag() && !mark.is_atomic() && !mark.is_none());
        assert_eq!(Mark::new(1, usize::MAX, 0).position(), None);
    }
}
