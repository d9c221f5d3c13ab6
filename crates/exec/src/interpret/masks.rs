//! Which lanes of a batch are active.
//!
//! The only functions that change a lane's mask are [`Masks::start`], [`Masks::set`] and [`Masks::return_active`]; control
//! operations ([`super::control_ops`]) call them through [`Batch::set_masks`](super::Batch::set_masks).

use super::MAX_SIMDGROUPS;
use std::hash::{Hash, Hasher};

/// A mask of 32 lanes for each simdgroup of a batch.
pub(crate) type BatchMask = [u32; MAX_SIMDGROUPS];

/// No lane.
pub(super) const NONE: BatchMask = [0; MAX_SIMDGROUPS];

/// The simdgroups between the first and the last that have active lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Active {
    pub(super) first: usize,
    pub(super) count: usize,
    /// True if all lanes of these simdgroups are active.
    pub(super) full: bool,
}

impl Active {
    #[inline(always)]
    fn of(masks: &BatchMask) -> Self {
        let (some, all) = some_and_all(masks);
        if some == 0 {
            return Self::default();
        }
        let first = some.trailing_zeros();
        let count = 32 - some.leading_zeros() - first;
        Self {
            first: first as usize,
            count: count as usize,
            full: all >> first == (1 << count) - 1,
        }
    }

    #[inline(always)]
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

/// The masks of a batch: who is active, who waits in which slot of the control stack, who has returned.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    lanes: BatchMask,
    pub(super) active: Active,
    /// True if all lanes are active except dead ones.
    pub(super) whole: bool,
    /// True if results may be [lazy](super::lazy): their lanes need not be materialised.
    pub(super) allow_lazy: bool,
    /// Lanes that wait for others at the end of an `if`, scope or loop, by slot.
    pub(super) slots: Vec<BatchMask>,
    /// Lanes that have a thread.
    present: BatchMask,
    /// Lanes whose thread has returned.
    returned: BatchMask,
    /// Lanes that no operation reads any more.
    dead: BatchMask,
    /// True if the program has shuffles that may read inactive lanes.
    reads_inactive: bool,
    simdgroups: usize,
}

impl Masks {
    pub(super) fn new(slots: u32, reads_inactive: bool, simdgroups: usize) -> Self {
        Self {
            lanes: NONE,
            active: Active::default(),
            whole: false,
            allow_lazy: false,
            slots: vec![NONE; slots as usize],
            present: NONE,
            returned: NONE,
            dead: NONE,
            reads_inactive,
            simdgroups,
        }
    }

    /// All lanes that have a thread are active: threads from number `first` on, of `threads` altogether.
    pub(super) fn start(&mut self, first: u32, threads: u32) {
        for at in 0..MAX_SIMDGROUPS {
            let left = threads.saturating_sub(first + at as u32 * 32).min(32);
            let present = ((1u64 << left) - 1) as u32;
            self.present[at] = if at < self.simdgroups { present } else { 0 };
        }
        self.returned = NONE;
        self.find_dead();
        self.set(self.present);
    }

    /// The masks of one simdgroup alone.
    pub(super) fn split(&self, at: usize) -> Self {
        let own = |masks: &BatchMask, others: u32| {
            let mut own = [others; MAX_SIMDGROUPS];
            own[0] = masks[at & (MAX_SIMDGROUPS - 1)];
            own
        };
        let (lanes, dead) = (own(&self.lanes, 0), own(&self.dead, !0));
        let whole = is_whole(&lanes, &dead);
        Self {
            lanes,
            active: Active::of(&lanes),
            whole,
            allow_lazy: !self.reads_inactive || whole,
            slots: self.slots.iter().map(|slot| own(slot, 0)).collect(),
            present: own(&self.present, 0),
            returned: own(&self.returned, 0),
            dead,
            reads_inactive: self.reads_inactive,
            simdgroups: 1,
        }
    }

    /// The active lanes of all simdgroups.
    #[inline(always)]
    pub(super) fn all(&self) -> BatchMask {
        self.lanes
    }

    /// The active lanes of a simdgroup.
    #[inline(always)]
    pub(super) fn of(&self, simdgroup: usize) -> u32 {
        self.lanes[simdgroup & (MAX_SIMDGROUPS - 1)]
    }

    /// Makes exactly these lanes active.
    #[inline(always)]
    pub(super) fn set(&mut self, lanes: BatchMask) {
        self.lanes = lanes;
        self.active = Active::of(&lanes);
        self.whole = is_whole(&lanes, &self.dead);
        if self.reads_inactive {
            self.allow_lazy = self.whole;
        }
    }

    /// The threads of the active lanes return.
    pub(super) fn return_active(&mut self) {
        self.returned = union(self.returned, self.lanes);
        self.find_dead();
        self.set(NONE);
    }

    /// After threads began or returned.
    fn find_dead(&mut self) {
        if self.reads_inactive {
            self.dead = [!0; MAX_SIMDGROUPS];
            self.dead
                .iter_mut()
                .take(self.simdgroups)
                .for_each(|dead| *dead = 0);
        } else {
            // Also right for simdgroups that the batch does not have: none of their lanes is present.
            for at in 0..MAX_SIMDGROUPS {
                self.dead[at] = !self.present[at] | self.returned[at];
            }
        }
        self.allow_lazy = !self.reads_inactive;
    }

    /// Adds the masks to a hash: where threads are, and who waits for whom.
    pub(super) fn hash(&self, hasher: &mut impl Hasher) {
        (&self.lanes, &self.slots, &self.returned).hash(hasher);
    }

    /// Returns true if no lane is active.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.active.count == 0
    }

    /// Returns true if a simdgroup has threads left but no active lanes.
    pub(super) fn has_absent(&self) -> bool {
        let left = difference(self.present, self.returned);
        let (some_left, _) = some_and_all(&left);
        let (some_active, _) = some_and_all(&self.lanes);
        some_left & !some_active != 0
    }

    /// Returns true if a simdgroup has no threads left.
    pub(super) fn has_ended(&self, simdgroup: usize) -> bool {
        let at = simdgroup & (MAX_SIMDGROUPS - 1);
        self.present[at] & !self.returned[at] == 0
    }

    /// For each simdgroup the active lanes, and those that have a thread.
    pub(super) fn with_present(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let masks = self.lanes.iter().zip(&self.present).take(self.simdgroups);
        masks.map(|(&lanes, &present)| (lanes, present))
    }

    /// The lanes of a simdgroup that have not returned but are inactive. With `quad`, only those in quadgroups that have
    /// active lanes.
    pub(super) fn waiting(&self, simdgroup: usize, quad: bool) -> u32 {
        let at = simdgroup & (MAX_SIMDGROUPS - 1);
        let lanes = self.lanes[at];
        let left = self.present[at] & !self.returned[at] & !lanes;
        if quad { left & quads_of(lanes) } else { left }
    }
}

/// The lanes of either.
#[inline(always)]
pub(super) fn union(mut a: BatchMask, b: BatchMask) -> BatchMask {
    for at in 0..MAX_SIMDGROUPS {
        a[at] |= b[at];
    }
    a
}

/// The lanes of `a` that are not in `b`.
#[inline(always)]
pub(super) fn difference(mut a: BatchMask, b: BatchMask) -> BatchMask {
    for at in 0..MAX_SIMDGROUPS {
        a[at] &= !b[at];
    }
    a
}

/// A bit for each simdgroup that has active lanes, and for each whose lanes are all active.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn some_and_all(masks: &BatchMask) -> (u32, u32) {
    use std::arch::x86_64::{
        __m128i, _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_ps,
        _mm_set1_epi32,
    };
    let equal = |to: i32| {
        let start: *const __m128i = masks.as_ptr().cast();
        // SAFETY: every CPU of this architecture has SSE2; both halves are in the array.
        unsafe {
            let half = |at: usize| {
                let equal = _mm_cmpeq_epi32(_mm_loadu_si128(start.add(at)), _mm_set1_epi32(to));
                _mm_movemask_ps(_mm_castsi128_ps(equal)) as u32
            };
            half(0) | half(1) << 4
        }
    };
    (equal(0) ^ 0xff, equal(-1))
}

/// A bit for each simdgroup that has active lanes, and for each whose lanes are all active.
#[cfg(any(not(target_arch = "x86_64"), miri))]
#[inline(always)]
fn some_and_all(masks: &BatchMask) -> (u32, u32) {
    let (mut some, mut all) = (0u32, 0u32);
    for (at, &mask) in masks.iter().enumerate() {
        some |= u32::from(mask != 0) << at;
        all |= u32::from(mask == !0) << at;
    }
    (some, all)
}

/// Returns true if all lanes are active except dead ones.
#[inline(always)]
fn is_whole(masks: &BatchMask, dead: &BatchMask) -> bool {
    let mut missing = 0;
    for at in 0..MAX_SIMDGROUPS {
        missing |= !(masks[at] | dead[at]);
    }
    missing == 0
}

/// All lanes of the quadgroups that some of these lanes are in.
fn quads_of(lanes: u32) -> u32 {
    let firsts = (lanes | lanes >> 1 | lanes >> 2 | lanes >> 3) & 0x1111_1111;
    firsts * 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadgroups_of_lanes() {
        assert_eq!(quads_of(0), 0);
        assert_eq!(quads_of(0b1000), 0b1111);
        assert_eq!(quads_of(0x8001_0020), 0xf00f_00f0);
    }

    #[test]
    fn lanes_without_a_thread_are_dead_and_the_batch_is_whole_without_them() {
        let mut masks = Masks::new(0, false, 2);
        masks.start(32, 70);
        assert_eq!(masks.all()[..3], [!0, 0b11_1111, 0]);
        assert!(masks.whole && masks.allow_lazy && !masks.active.full);
        assert_eq!(masks.active.range(), 0..2);
        masks.return_active();
        assert!(masks.is_idle() && masks.has_ended(0) && masks.has_ended(1));
    }
}
