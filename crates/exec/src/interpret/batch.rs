//! Simdgroups that run in step.
//!
//! An operation is decoded once for several simdgroups of a threadgroup: their registers lie side by side, and a lane
//! function runs over all of them. Each simdgroup has its own mask, so they may part like lanes do; one without active
//! lanes is passed over. All of them reach a barrier together, or the batch is [split](Batch::split) and each
//! simdgroup goes its own way.

use super::span::{Indices, Span};
use crate::code::{Program, Reg};
use crate::lanes::{Narrow, Wide};

/// Most simdgroups of a batch.
pub(crate) const MOST: usize = 8;

/// Bytes of registers a batch may have: they should stay in the nearest caches.
const CACHE: usize = 64 << 10;

/// Active lanes of each simdgroup.
pub(crate) type Masks = [u32; MOST];

/// A register at the start of a cache line: vector loads across two lines cost twice, and a load of what was just stored
/// more than that.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// The simdgroups between the first and the last that have active lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Active {
    pub(super) first: usize,
    pub(super) count: usize,
    /// Whether all their lanes are active.
    pub(super) full: bool,
}

impl Active {
    #[inline(always)]
    fn of(masks: &Masks) -> Self {
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

/// A bit for each simdgroup that has active lanes, and for each that has no others.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn some_and_all(masks: &Masks) -> (u32, u32) {
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

/// A bit for each simdgroup that has active lanes, and for each that has no others.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn some_and_all(masks: &Masks) -> (u32, u32) {
    let (mut some, mut all) = (0u32, 0u32);
    for (at, &mask) in masks.iter().enumerate() {
        some |= u32::from(mask != 0) << at;
        all |= u32::from(mask == !0) << at;
    }
    (some, all)
}

/// The registers and the control state of some simdgroups.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Registers, for each those of all simdgroups.
    pub(super) narrow: Vec<Aligned<Narrow>>,
    pub(super) wide: Vec<Aligned<Wide>>,
    /// What was found out about the narrow registers as indices, and whether it still holds. That is kept apart: it changes
    /// with every write, and to read it with what surrounds it would have to wait for the write.
    pub(super) indices: Vec<Indices>,
    pub(super) indices_hold: Vec<bool>,
    /// The same about the wide registers as addresses.
    pub(super) spans: Vec<Span>,
    pub(super) spans_hold: Vec<bool>,
    pub(super) slots: Vec<Masks>,
    masks: Masks,
    pub(super) active: Active,
    /// Lanes that have a thread, and those whose thread has returned.
    present: Masks,
    returned: Masks,
    /// How many simdgroups there are.
    pub(super) len: usize,
    /// The number of the first in its threadgroup.
    pub(crate) number: usize,
    /// The simdgroup an operation on one is about; after a fault, the one it happened in.
    pub(crate) current: usize,
    pub(super) position: usize,
    pub(super) steps: u64,
    pub(crate) finished: bool,
    /// Whether it waits for others.
    pub(crate) at_barrier: bool,
}

impl Batch {
    /// How many simdgroups of a threadgroup should run in step.
    pub(crate) fn size(program: &Program, simdgroups: usize) -> usize {
        if program.in_turn {
            return 1;
        }
        let registers = program.narrow as usize * 128 + program.wide as usize * 256;
        let most = (CACHE / registers.max(1)).clamp(1, MOST);
        simdgroups.div_ceil(simdgroups.div_ceil(most).max(1)).max(1)
    }

    pub(crate) fn new(
        program: &Program,
        pointers: &[(u32, u64)],
        number: usize,
        len: usize,
    ) -> Self {
        let len = len.clamp(1, MOST);
        let mut batch = Self {
            narrow: vec![Aligned([0; 32]); program.narrow as usize * len],
            wide: vec![Aligned([0; 32]); program.wide as usize * len],
            indices: vec![Indices::UNKNOWN; program.narrow as usize],
            indices_hold: vec![false; program.narrow as usize],
            spans: vec![Span::UNKNOWN; program.wide as usize],
            spans_hold: vec![false; program.wide as usize],
            slots: vec![[0; MOST]; program.slots as usize],
            masks: [0; MOST],
            active: Active::default(),
            present: [0; MOST],
            returned: [0; MOST],
            len,
            number,
            current: 0,
            position: 0,
            steps: 0,
            finished: true,
            at_barrier: false,
        };
        batch.fill_constants(program, pointers);
        batch
    }

    fn fill_constants(&mut self, program: &Program, pointers: &[(u32, u64)]) {
        let len = self.len;
        let place = |index: u32| index as usize * len..(index as usize + 1) * len;
        for &(reg, bits) in &program.constants {
            if reg.wide {
                self.wide[place(reg.index)].fill(Aligned([bits; 32]));
            } else {
                self.narrow[place(reg.index)].fill(Aligned([bits as u32; 32]));
            }
        }
        for &(index, address) in pointers {
            self.wide[place(index)].fill(Aligned([address; 32]));
        }
        self.spans_hold.fill(false);
        self.indices_hold.fill(false);
    }

    /// Prepares for a new threadgroup of so many threads.
    pub(crate) fn start(&mut self, program: &Program, pointers: &[(u32, u64)], threads: u32) {
        if program.reads_inactive {
            // Shuffles can see registers of inactive lanes; those must not hold what was run before.
            self.narrow.fill(Aligned([0; 32]));
            self.wide.fill(Aligned([0; 32]));
            self.fill_constants(program, pointers);
        }
        self.present = [0; MOST];
        for (at, present) in self.present.iter_mut().take(self.len).enumerate() {
            let before = (self.number + at) as u32 * 32;
            *present = match threads.saturating_sub(before) {
                0..32 => (1 << threads.saturating_sub(before)) - 1,
                _ => !0,
            };
        }
        self.returned = [0; MOST];
        self.set_masks(self.present);
        self.position = 0;
        self.steps = program.ops.len() as u64;
        self.finished = self.is_idle();
        self.at_barrier = false;
    }

    /// One batch for each simdgroup. Those that have active lanes stand at a barrier.
    pub(crate) fn split(&self) -> Vec<Self> {
        let part = |at: usize| {
            let of = |masks: &Masks| {
                let mut own = [0; MOST];
                own[0] = masks[at];
                own
            };
            let masks = of(&self.masks);
            Self {
                narrow: self
                    .narrow
                    .iter()
                    .skip(at)
                    .step_by(self.len)
                    .copied()
                    .collect(),
                wide: self
                    .wide
                    .iter()
                    .skip(at)
                    .step_by(self.len)
                    .copied()
                    .collect(),
                indices: vec![Indices::UNKNOWN; self.indices.len()],
                indices_hold: vec![false; self.indices.len()],
                spans: vec![Span::UNKNOWN; self.spans.len()],
                spans_hold: vec![false; self.spans.len()],
                slots: self.slots.iter().map(of).collect(),
                masks,
                active: Active::of(&masks),
                present: of(&self.present),
                returned: of(&self.returned),
                len: 1,
                number: self.number + at,
                current: 0,
                position: self.position,
                steps: self.steps,
                finished: self.present[at] & !self.returned[at] == 0,
                at_barrier: masks[0] != 0,
            }
        };
        (0..self.len).map(part).collect()
    }

    // ---- masks ----

    #[inline(always)]
    pub(super) fn masks(&self) -> Masks {
        self.masks
    }

    #[inline(always)]
    pub(super) fn set_masks(&mut self, masks: Masks) {
        self.masks = masks;
        self.active = Active::of(&masks);
    }

    /// No lane is active.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.active.count == 0
    }

    /// Active lanes of the current simdgroup.
    #[inline(always)]
    pub(super) fn mask(&self) -> u32 {
        self.masks[self.current & (MOST - 1)]
    }

    #[inline(always)]
    pub(crate) fn mask_of(&self, simdgroup: usize) -> u32 {
        self.masks[simdgroup & (MOST - 1)]
    }

    pub(super) fn return_active(&mut self) {
        self.returned = both(self.returned, self.masks);
        self.set_masks([0; MOST]);
    }

    /// Whether a simdgroup has threads left but no active lanes.
    pub(super) fn has_absent(&self) -> bool {
        let left = without(self.present, self.returned);
        let (some_left, _) = some_and_all(&left);
        let (some_active, _) = some_and_all(&self.masks);
        some_left & !some_active != 0
    }

    /// The simdgroups that have active lanes.
    pub(crate) fn running(&self) -> impl Iterator<Item = usize> + '_ {
        self.active.range().filter(|&at| self.mask_of(at) != 0)
    }

    /// The numbers in the threadgroup of the simdgroups that have active lanes, if all their lanes are.
    #[inline(always)]
    pub(crate) fn all_running(&self) -> Option<std::ops::Range<usize>> {
        let first = self.number + self.active.first;
        (self.active.full && self.active.count > 0).then(|| first..first + self.active.count)
    }

    /// For each simdgroup its number, the lanes that are active, and those that have a thread.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        let masks = self.masks.iter().zip(&self.present).take(self.len);
        masks
            .enumerate()
            .map(|(at, (&mask, &present))| (self.number + at, mask, present))
    }

    /// The barrier the batch stands at; nothing if it has ended.
    pub(crate) fn barrier(&self) -> Option<usize> {
        (!self.finished).then(|| self.position.saturating_sub(1))
    }

    // ---- registers ----

    /// Where the registers of an index begin, for the simdgroups from `first` on.
    #[inline(always)]
    fn at(&self, index: u32, first: usize) -> usize {
        debug_assert!(first < self.len);
        index as usize * self.len + first
    }

    /// A narrow register of a simdgroup.
    #[inline(always)]
    pub(super) fn n_of(&self, index: u32, simdgroup: usize) -> &Narrow {
        let at = self.at(index, simdgroup);
        debug_assert!(at < self.narrow.len());
        // SAFETY: all registers of a program exist (`compile::verify`), and the file has the program's size (`run`).
        unsafe { &self.narrow.get_unchecked(at).0 }
    }

    /// One to be written; what was known about it as an index is forgotten.
    #[inline(always)]
    pub(super) fn n_of_mut(&mut self, index: u32, simdgroup: usize) -> &mut Narrow {
        let at = self.at(index, simdgroup);
        debug_assert!(at < self.narrow.len());
        // SAFETY: as above; there are as many indices as registers.
        unsafe {
            *self.indices_hold.get_unchecked_mut(index as usize) = false;
            &mut self.narrow.get_unchecked_mut(at).0
        }
    }

    /// A wide register of a simdgroup.
    #[inline(always)]
    pub(super) fn w_of(&self, index: u32, simdgroup: usize) -> &Wide {
        let at = self.at(index, simdgroup);
        debug_assert!(at < self.wide.len());
        // SAFETY: as above.
        unsafe { &self.wide.get_unchecked(at).0 }
    }

    /// One to be written; what was known about it as an address is forgotten.
    #[inline(always)]
    pub(super) fn w_of_mut(&mut self, index: u32, simdgroup: usize) -> &mut Wide {
        let at = self.at(index, simdgroup);
        debug_assert!(at < self.wide.len());
        // SAFETY: as above; there are as many spans as registers.
        unsafe {
            *self.spans_hold.get_unchecked_mut(index as usize) = false;
            &mut self.wide.get_unchecked_mut(at).0
        }
    }

    /// The narrow registers of the active simdgroups, to be read.
    #[inline(always)]
    pub(super) fn ns(&self, index: u32) -> *const Narrow {
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.narrow.len());
        self.narrow.as_ptr().wrapping_add(at).cast()
    }

    /// The same to be written.
    #[inline(always)]
    pub(super) fn ns_mut(&mut self, index: u32) -> *mut Narrow {
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.narrow.len());
        // SAFETY: all registers of a program exist (`compile::verify`); there are as many indices.
        unsafe { *self.indices_hold.get_unchecked_mut(index as usize) = false };
        self.narrow.as_mut_ptr().wrapping_add(at).cast()
    }

    /// The wide registers of the active simdgroups, to be read.
    #[inline(always)]
    pub(super) fn ws(&self, index: u32) -> *const Wide {
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.wide.len());
        self.wide.as_ptr().wrapping_add(at).cast()
    }

    /// The same to be written.
    #[inline(always)]
    pub(super) fn ws_mut(&mut self, index: u32) -> *mut Wide {
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.wide.len());
        // SAFETY: as above; there are as many spans.
        unsafe { *self.spans_hold.get_unchecked_mut(index as usize) = false };
        self.wide.as_mut_ptr().wrapping_add(at).cast()
    }

    /// A register of the current simdgroup.
    #[inline(always)]
    pub(super) fn n(&self, index: u32) -> &Narrow {
        self.n_of(index, self.current)
    }

    #[inline(always)]
    pub(super) fn n_mut(&mut self, index: u32) -> &mut Narrow {
        self.n_of_mut(index, self.current)
    }

    #[inline(always)]
    pub(super) fn w(&self, index: u32) -> &Wide {
        self.w_of(index, self.current)
    }

    #[inline(always)]
    pub(super) fn w_mut(&mut self, index: u32) -> &mut Wide {
        self.w_of_mut(index, self.current)
    }

    /// The number of a lane of the current simdgroup.
    #[inline]
    pub(crate) fn get(&self, reg: Reg, lane: usize) -> u64 {
        if reg.wide {
            self.w(reg.index)[lane & 31]
        } else {
            u64::from(self.n(reg.index)[lane & 31])
        }
    }

    /// The number of a lane of a simdgroup.
    pub(crate) fn get_of(&self, reg: Reg, simdgroup: usize, lane: usize) -> u64 {
        let simdgroup = simdgroup.min(self.len - 1);
        if reg.wide {
            self.w_of(reg.index, simdgroup)[lane & 31]
        } else {
            u64::from(self.n_of(reg.index, simdgroup)[lane & 31])
        }
    }

    #[inline]
    pub(super) fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        if reg.wide {
            self.w_mut(reg.index)[lane & 31] = value;
        } else {
            self.n_mut(reg.index)[lane & 31] = value as u32;
        }
    }
}

/// The lanes of both.
#[inline(always)]
pub(super) fn both(mut a: Masks, b: Masks) -> Masks {
    for at in 0..MOST {
        a[at] |= b[at];
    }
    a
}

/// The lanes of one that are not in the other.
#[inline(always)]
pub(super) fn without(mut a: Masks, b: Masks) -> Masks {
    for at in 0..MOST {
        a[at] &= !b[at];
    }
    a
}
