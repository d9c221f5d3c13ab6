//! Simdgroups that run in step.
//!
//! An operation is decoded once for several simdgroups of a threadgroup: their registers lie side by side, and a lane
//! function runs over all of them. Each simdgroup has its own mask, so they may part like lanes do; one without active
//! lanes is passed over. All of them reach a barrier together, or the batch is [split](Batch::split) and each
//! simdgroup goes its own way.

use super::known::{FILLED, Known, Scratch};
use super::row::STREAMS;
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

/// Whether all lanes are active but those nothing is read from.
#[inline(always)]
fn is_whole(masks: &Masks, unread: &Masks) -> bool {
    let mut missing = 0;
    for at in 0..MOST {
        missing |= !(masks[at] | unread[at]);
    }
    missing == 0
}

/// The registers and the control state of some simdgroups.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Registers, for each those of all simdgroups.
    pub(super) narrow: Vec<Aligned<Narrow>>,
    pub(super) wide: Vec<Aligned<Wide>>,
    /// What is known of them besides.
    pub(super) known_n: Known,
    pub(super) known_w: Known,
    /// What was found out about filled narrow registers as indices, and about wide ones as addresses, where that still holds.
    pub(super) indices: Vec<Indices>,
    pub(super) spans: Vec<Span>,
    pub(super) scratch: Box<Scratch>,
    /// The end of what the CPU was last asked for, of each region.
    pub(super) asked: [usize; STREAMS],
    pub(super) slots: Vec<Masks>,
    masks: Masks,
    pub(super) active: Active,
    /// Whether all lanes are active that something may still be read from.
    pub(super) whole: bool,
    /// Whether results may be described without being filled.
    pub(super) free: bool,
    /// Lanes that have a thread, and those whose thread has returned.
    present: Masks,
    returned: Masks,
    /// Lanes that nothing is read from any more.
    unread: Masks,
    /// Whether inactive lanes are read from.
    reads_inactive: bool,
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
            known_n: Known::new(program.narrow),
            known_w: Known::new(program.wide),
            indices: vec![Indices::UNKNOWN; program.narrow as usize],
            spans: vec![Span::UNKNOWN; program.wide as usize],
            scratch: Box::new(Scratch::EMPTY),
            asked: [0; STREAMS],
            slots: vec![[0; MOST]; program.slots as usize],
            masks: [0; MOST],
            active: Active::default(),
            whole: false,
            free: false,
            present: [0; MOST],
            returned: [0; MOST],
            unread: [0; MOST],
            reads_inactive: program.reads_inactive,
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
                self.known_w.constant(reg.index, bits);
            } else {
                self.narrow[place(reg.index)].fill(Aligned([bits as u32; 32]));
                self.known_n.constant(reg.index, u64::from(bits as u32));
            }
        }
        for &(index, address) in pointers {
            self.wide[place(index)].fill(Aligned([address; 32]));
            self.known_w.constant(index, address);
        }
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
        self.known_n.restart();
        self.known_w.restart();
        self.returned = [0; MOST];
        self.forget_unread();
        self.set_masks(self.present);
        self.position = 0;
        self.steps = program.ops.len() as u64;
        self.finished = self.is_idle();
        self.at_barrier = false;
    }

    /// One batch for each simdgroup. Those that have active lanes stand at a barrier.
    pub(crate) fn split(&mut self) -> Vec<Self> {
        self.fill_all();
        let batch = &*self;
        let unread = |at: usize| {
            let mut own = [!0; MOST];
            own[0] = batch.unread[at];
            own
        };
        let part = |at: usize| {
            let of = |masks: &Masks| {
                let mut own = [0; MOST];
                own[0] = masks[at];
                own
            };
            let masks = of(&batch.masks);
            Self {
                narrow: batch
                    .narrow
                    .iter()
                    .skip(at)
                    .step_by(batch.len)
                    .copied()
                    .collect(),
                wide: batch
                    .wide
                    .iter()
                    .skip(at)
                    .step_by(batch.len)
                    .copied()
                    .collect(),
                known_n: batch.known_n.apart(),
                known_w: batch.known_w.apart(),
                indices: vec![Indices::UNKNOWN; batch.indices.len()],
                spans: vec![Span::UNKNOWN; batch.spans.len()],
                scratch: Box::new(Scratch::EMPTY),
                asked: [0; STREAMS],
                slots: batch.slots.iter().map(of).collect(),
                masks,
                active: Active::of(&masks),
                whole: is_whole(&masks, &unread(at)),
                free: !batch.reads_inactive || is_whole(&masks, &unread(at)),
                present: of(&batch.present),
                returned: of(&batch.returned),
                unread: unread(at),
                reads_inactive: batch.reads_inactive,
                len: 1,
                number: batch.number + at,
                current: 0,
                position: batch.position,
                steps: batch.steps,
                finished: batch.present[at] & !batch.returned[at] == 0,
                at_barrier: masks[0] != 0,
            }
        };
        (0..batch.len).map(part).collect()
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
        self.whole = is_whole(&masks, &self.unread);
        if self.reads_inactive {
            self.free = self.whole;
            if !self.free {
                self.fill_all();
            }
        }
    }

    /// After threads began or returned.
    fn forget_unread(&mut self) {
        self.unread = [!0; MOST];
        for at in 0..self.len {
            self.unread[at] = match self.reads_inactive {
                true => 0,
                false => !self.present[at] | self.returned[at],
            };
        }
        self.free = !self.reads_inactive;
    }

    /// No lane is active.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.active.count == 0
    }

    /// Active lanes of the current simdgroup.
    #[inline(always)]
    pub(crate) fn mask(&self) -> u32 {
        self.masks[self.current & (MOST - 1)]
    }

    #[inline(always)]
    pub(crate) fn mask_of(&self, simdgroup: usize) -> u32 {
        self.masks[simdgroup & (MOST - 1)]
    }

    pub(super) fn return_active(&mut self) {
        self.returned = both(self.returned, self.masks);
        self.forget_unread();
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

    /// The lanes of a simdgroup that have not ended but are not active, in the quadgroups of those that are if only these
    /// are meant.
    pub(crate) fn waiting(&self, at: usize, quad: bool) -> u32 {
        let at = at & (MOST - 1);
        let mask = self.masks[at];
        let left = self.present[at] & !self.returned[at] & !mask;
        match quad {
            true => left & quads_of(mask),
            false => left,
        }
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
        debug_assert!(self.known_n.state(index) & FILLED != 0);
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
        self.known_n.set(index, FILLED);
        // SAFETY: as above.
        unsafe { &mut self.narrow.get_unchecked_mut(at).0 }
    }

    /// A wide register of a simdgroup.
    #[inline(always)]
    pub(super) fn w_of(&self, index: u32, simdgroup: usize) -> &Wide {
        debug_assert!(self.known_w.state(index) & FILLED != 0);
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
        self.known_w.set(index, FILLED);
        // SAFETY: as above.
        unsafe { &mut self.wide.get_unchecked_mut(at).0 }
    }

    /// The narrow registers of all simdgroups, to be filled.
    #[inline(always)]
    pub(super) fn all_n(&mut self, index: u32) -> &mut [Narrow] {
        let (start, len) = (index as usize * self.len, self.len);
        match self.narrow.get_mut(start..start + len) {
            // SAFETY: a register is as large as its alignment allows, so there is nothing between them.
            Some(own) => unsafe { std::slice::from_raw_parts_mut(own.as_mut_ptr().cast(), len) },
            None => &mut [],
        }
    }

    /// The wide registers of all simdgroups, to be filled.
    #[inline(always)]
    pub(super) fn all_w(&mut self, index: u32) -> &mut [Wide] {
        let (start, len) = (index as usize * self.len, self.len);
        match self.wide.get_mut(start..start + len) {
            // SAFETY: as above.
            Some(own) => unsafe { std::slice::from_raw_parts_mut(own.as_mut_ptr().cast(), len) },
            None => &mut [],
        }
    }

    /// The narrow registers of the active simdgroups, to be read.
    #[inline(always)]
    pub(super) fn ns(&self, index: u32) -> *const Narrow {
        debug_assert!(self.known_n.state(index) & FILLED != 0);
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.narrow.len());
        self.narrow.as_ptr().wrapping_add(at).cast()
    }

    /// The same to be written.
    #[inline(always)]
    pub(super) fn ns_mut(&mut self, index: u32) -> *mut Narrow {
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.narrow.len());
        self.known_n.set(index, FILLED);
        self.narrow.as_mut_ptr().wrapping_add(at).cast()
    }

    /// The wide registers of the active simdgroups, to be read.
    #[inline(always)]
    pub(super) fn ws(&self, index: u32) -> *const Wide {
        debug_assert!(self.known_w.state(index) & FILLED != 0);
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.wide.len());
        self.wide.as_ptr().wrapping_add(at).cast()
    }

    /// The same to be written.
    #[inline(always)]
    pub(super) fn ws_mut(&mut self, index: u32) -> *mut Wide {
        let at = self.at(index, self.active.first);
        debug_assert!(at + self.active.count <= self.wide.len());
        self.known_w.set(index, FILLED);
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

/// All lanes of the quadgroups that some of these lanes are in.
fn quads_of(lanes: u32) -> u32 {
    let firsts = (lanes | lanes >> 1 | lanes >> 2 | lanes >> 3) & 0x1111_1111;
    firsts * 15
}

#[cfg(test)]
mod tests {
    #[test]
    fn quadgroups_of_lanes() {
        assert_eq!(super::quads_of(0), 0);
        assert_eq!(super::quads_of(0b1000), 0b1111);
        assert_eq!(super::quads_of(0x8001_0020), 0xf00f_00f0);
    }
}
