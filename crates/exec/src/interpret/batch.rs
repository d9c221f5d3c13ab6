//! A batch: simdgroups that run in step.
//!
//! An operation is decoded once for several simdgroups: their registers lie side by side, and a lane function runs over all
//! of them. Each simdgroup has its own mask, so simdgroups may diverge as lanes do; one without active lanes is skipped. If
//! not all of them reach a barrier, the batch is [split](Batch::split) and each simdgroup runs alone.

use super::address_range::SimdgroupRange;
use super::contiguous::Prefetched;
use super::lazy::{MATERIALISED, PREDICATE};
use super::masks::{BatchMask, Masks};
use super::registers::Registers;
use crate::code::{Op, Program, Reg};
use crate::lanes::{Lanes, Narrow, Wide, ballot};
use crate::matrix::MatrixOp;
use crate::operands::{Role, for_each_register};
use crate::simd::Simd;
use std::hash::{Hash, Hasher};

/// Most simdgroups of a batch.
pub(crate) const MAX_SIMDGROUPS: usize = 8;

/// Bytes of registers a batch may have: they should stay in the nearest caches.
const CACHE: usize = 64 << 10;

/// The registers, masks and progress of some simdgroups.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) registers: Registers,
    pub(super) masks: Masks,
    pub(crate) progress: Progress,
    pub(super) prefetched: Prefetched,
    /// How many simdgroups there are.
    pub(super) simdgroups: usize,
    /// The number of the first in its threadgroup.
    pub(crate) first_simdgroup: usize,
}

/// How far a batch has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The simdgroup that an operation on a single one works on; after a fault, the one that faulted.
    pub(crate) current: usize,
    /// The operation to go on with.
    pub(super) next: usize,
    /// Operations run, counted when a loop starts over.
    pub(super) steps: u64,
    /// Where `steps` ends the turn of the batch, or the dispatch.
    pub(super) turn_end: u64,
    pub(crate) finished: bool,
    /// True if the batch waits at a barrier for others.
    pub(crate) at_barrier: bool,
}

impl Batch {
    /// How many simdgroups of a threadgroup should run in step.
    pub(crate) fn size(program: &Program, simdgroups: usize) -> usize {
        if program.in_turn {
            return 1;
        }
        let registers = program.narrow as usize * 128 + program.wide as usize * 256;
        let most = (CACHE / registers.max(1)).clamp(1, MAX_SIMDGROUPS);
        simdgroups.div_ceil(simdgroups.div_ceil(most).max(1)).max(1)
    }

    /// A batch of simdgroups from number `first_simdgroup` on. `pointers`: registers with the addresses they hold.
    pub(crate) fn new(
        program: &Program,
        pointers: &[(u32, u64)],
        first_simdgroup: usize,
        simdgroups: usize,
    ) -> Self {
        let simdgroups = simdgroups.clamp(1, MAX_SIMDGROUPS);
        Self {
            // SAFETY: a batch accesses the registers of the operations it runs, which are a verified program's with register
            // files of this size (`Batch::run` refuses others), and simdgroups below `simdgroups`: masks have no others.
            registers: unsafe { Registers::new(program, pointers, simdgroups) },
            masks: Masks::new(program.slots, program.reads_inactive, simdgroups),
            progress: Progress {
                current: 0,
                next: 0,
                steps: 0,
                turn_end: u64::MAX,
                finished: true,
                at_barrier: false,
            },
            prefetched: Prefetched::default(),
            simdgroups,
            first_simdgroup,
        }
    }

    /// Prepares for a new threadgroup of so many threads.
    pub(crate) fn start(&mut self, program: &Program, pointers: &[(u32, u64)], threads: u32) {
        self.registers.start(program, pointers);
        self.masks.start(self.first_simdgroup as u32 * 32, threads);
        self.materialise_if_read();
        self.progress = Progress {
            current: 0,
            next: 0,
            steps: program.ops.len() as u64,
            turn_end: u64::MAX,
            finished: self.masks.is_idle(),
            at_barrier: false,
        };
    }

    /// One batch for each simdgroup. Those that have active lanes wait at a barrier.
    pub(crate) fn split(&mut self) -> Vec<Self> {
        self.registers.materialise_all();
        let part = |at: usize| Self {
            registers: self.registers.split(at),
            masks: self.masks.split(at),
            progress: Progress {
                current: 0,
                finished: self.masks.has_ended(at),
                at_barrier: self.masks.of(at) != 0,
                ..self.progress
            },
            prefetched: Prefetched::default(),
            simdgroups: 1,
            first_simdgroup: self.first_simdgroup + at,
        };
        (0..self.simdgroups).map(part).collect()
    }

    /// The same within a loop: no simdgroup waits at a barrier, and those without active lanes go on as far as they can.
    pub(crate) fn split_in_loop(&mut self) -> Vec<Self> {
        let mut parts = self.split();
        for part in &mut parts {
            part.progress.at_barrier = false;
        }
        parts
    }

    // ---- turns ----

    /// Lets the batch run for so many steps, within the limit of the dispatch.
    pub(crate) fn start_turn(&mut self, turn: u64, most: u64) {
        self.progress.turn_end = self.progress.steps.saturating_add(turn).min(most);
    }

    /// How many simdgroups there are.
    pub(crate) fn simdgroups(&self) -> usize {
        self.simdgroups
    }

    /// Returns true if some of several simdgroups have threads left but no active lanes.
    pub(crate) fn is_parted(&self) -> bool {
        self.simdgroups > 1 && self.masks.has_absent()
    }

    /// Adds all that the next turn depends on, besides memory.
    pub(crate) fn hash(&mut self, hasher: &mut impl Hasher) {
        self.registers.materialise_all();
        self.registers.hash(hasher);
        self.masks.hash(hasher);
        let Progress {
            next,
            finished,
            at_barrier,
            ..
        } = self.progress;
        (next, finished, at_barrier).hash(hasher);
    }

    /// The first active thread, by its number in the threadgroup, and the operation to go on with; nothing if the batch
    /// has ended.
    pub(crate) fn stands_at(&self) -> Option<(u32, usize)> {
        if self.progress.finished || self.progress.at_barrier {
            return None;
        }
        let at = self.running().next().unwrap_or(0);
        let lane = self.mask_of(at).trailing_zeros() & 31;
        let thread = (self.first_simdgroup + at) as u32 * 32 + lane;
        Some((thread, self.progress.next))
    }

    // ---- masks ----

    /// Makes exactly these lanes active.
    #[inline(always)]
    pub(super) fn set_masks(&mut self, masks: BatchMask) {
        self.masks.set(masks);
        self.materialise_if_read();
    }

    /// The threads of the active lanes return.
    pub(super) fn return_active(&mut self) {
        self.masks.return_active();
        self.materialise_if_read();
    }

    /// Materialises all registers if inactive lanes may be read.
    #[inline(always)]
    fn materialise_if_read(&mut self) {
        if !self.masks.allow_lazy {
            self.registers.materialise_all();
        }
    }

    /// Active lanes of the current simdgroup.
    #[inline(always)]
    pub(crate) fn mask(&self) -> u32 {
        self.masks.of(self.progress.current)
    }

    /// Active lanes of a simdgroup of the batch.
    #[inline(always)]
    pub(crate) fn mask_of(&self, simdgroup: usize) -> u32 {
        self.masks.of(simdgroup)
    }

    /// The simdgroups that have active lanes, and those between them.
    #[inline(always)]
    pub(super) fn active_simdgroups(&self) -> SimdgroupRange {
        (self.masks.active.first as u8, self.masks.active.count as u8)
    }

    /// The simdgroups of the batch that have active lanes.
    pub(crate) fn running(&self) -> impl Iterator<Item = usize> + '_ {
        let active = self.masks.active.range();
        active.filter(|&at| self.mask_of(at) != 0)
    }

    /// The numbers in the threadgroup of the simdgroups that have active lanes, if all lanes of them are active.
    #[inline(always)]
    pub(crate) fn all_running(&self) -> Option<std::ops::Range<usize>> {
        let active = self.masks.active;
        let first = self.first_simdgroup + active.first;
        (active.full && active.count > 0).then(|| first..first + active.count)
    }

    /// For each simdgroup its number in the threadgroup, the lanes that are active, and those that have a thread.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        let masks = self.masks.with_present().enumerate();
        masks.map(|(at, (mask, present))| (self.first_simdgroup + at, mask, present))
    }

    /// The lanes of a simdgroup that have not returned but are inactive. With `quad`, only those in quadgroups that have
    /// active lanes.
    pub(crate) fn waiting(&self, simdgroup: usize, quad: bool) -> u32 {
        self.masks.waiting(simdgroup, quad)
    }

    /// The barrier the batch stands at; nothing if it has ended.
    pub(crate) fn barrier(&self) -> Option<usize> {
        (!self.progress.finished).then(|| self.progress.next.saturating_sub(1))
    }

    /// The lanes for which a truth value holds, in simdgroups with active lanes.
    #[inline(always)]
    pub(super) fn holds<S: Simd>(&mut self, simd: S, cond: u32) -> BatchMask {
        let narrow = &mut self.registers.narrow;
        if let Some(masks) = narrow.lazy.predicate(cond) {
            return masks;
        }
        narrow.materialise(cond);
        let mut holds = [0; MAX_SIMDGROUPS];
        for at in self.masks.active.range() {
            holds[at & (MAX_SIMDGROUPS - 1)] = ballot(simd, narrow.of(cond, at));
        }
        holds
    }

    // ---- registers ----

    /// A narrow register of the active simdgroups, to be read.
    #[inline(always)]
    pub(super) fn narrow_ptr(&self, index: u32) -> *const Narrow {
        self.registers.narrow.ptr(index, self.masks.active.first)
    }

    /// A narrow register of the active simdgroups, as an operand.
    #[inline(always)]
    pub(super) fn narrow_lanes(&self, index: u32) -> Lanes<Narrow> {
        Lanes::each(self.narrow_ptr(index))
    }

    /// A narrow register of the active simdgroups, to be written.
    #[inline(always)]
    pub(super) fn narrow_ptr_mut(&mut self, index: u32) -> *mut Narrow {
        let first = self.masks.active.first;
        self.registers.narrow.ptr_mut(index, first)
    }

    /// A wide register of the active simdgroups, to be read.
    #[inline(always)]
    pub(super) fn wide_ptr(&self, index: u32) -> *const Wide {
        self.registers.wide.ptr(index, self.masks.active.first)
    }

    /// A wide register of the active simdgroups, as an operand.
    #[inline(always)]
    pub(super) fn wide_lanes(&self, index: u32) -> Lanes<Wide> {
        Lanes::each(self.wide_ptr(index))
    }

    /// A wide register of the active simdgroups, to be written.
    #[inline(always)]
    pub(super) fn wide_ptr_mut(&mut self, index: u32) -> *mut Wide {
        let first = self.masks.active.first;
        self.registers.wide.ptr_mut(index, first)
    }

    /// A narrow register of the current simdgroup.
    #[inline(always)]
    pub(super) fn narrow(&self, index: u32) -> &Narrow {
        self.registers.narrow.of(index, self.progress.current)
    }

    #[inline(always)]
    pub(super) fn narrow_mut(&mut self, index: u32) -> &mut Narrow {
        self.registers.narrow.of_mut(index, self.progress.current)
    }

    /// A wide register of the current simdgroup.
    #[inline(always)]
    pub(super) fn wide(&self, index: u32) -> &Wide {
        self.registers.wide.of(index, self.progress.current)
    }

    /// The number in a lane of a materialised register of the current simdgroup.
    #[inline]
    pub(crate) fn get(&self, reg: Reg, lane: usize) -> u64 {
        self.get_of(reg, self.progress.current, lane)
    }

    /// The number in a lane of a materialised register of a simdgroup.
    #[inline]
    pub(crate) fn get_of(&self, reg: Reg, simdgroup: usize, lane: usize) -> u64 {
        let simdgroup = simdgroup.min(self.simdgroups - 1);
        if reg.wide {
            self.registers.wide.of(reg.index, simdgroup)[lane & 31]
        } else {
            u64::from(self.registers.narrow.of(reg.index, simdgroup)[lane & 31])
        }
    }

    /// The number in a lane of any register of the current simdgroup, lazy or not.
    pub(super) fn evaluate(&self, reg: Reg, lane: usize) -> u64 {
        let lazy = if reg.wide {
            &self.registers.wide.lazy
        } else {
            &self.registers.narrow.lazy
        };
        let current = self.progress.current;
        match lazy.state(reg.index) {
            state if state & MATERIALISED != 0 => self.get(reg, lane),
            state if state & PREDICATE != 0 => {
                let mask = lazy.predicate_mask(reg.index)[current & (MAX_SIMDGROUPS - 1)];
                u64::from(mask >> (lane & 31) & 1)
            }
            _ => lazy.affine(reg.index).at(current, lane),
        }
    }

    /// Writes a lane of a register of the current simdgroup.
    #[inline]
    pub(super) fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        let current = self.progress.current;
        if reg.wide {
            self.registers.wide.of_mut(reg.index, current)[lane & 31] = value;
        } else {
            self.registers.narrow.of_mut(reg.index, current)[lane & 31] = value as u32;
        }
    }

    /// Materialises the registers an operation reads.
    #[inline(never)]
    pub(super) fn materialise_operands(&mut self, program: &Program, op: &Op) {
        if let Op::Matrix { index } = op {
            return self.materialise_matrices(program, program.matrices.get(*index as usize));
        }
        // Errors are impossible: `compile::verify` has visited the same registers.
        let _ = for_each_register(program, op, &mut |reg, role| {
            if role == Role::Reads {
                self.registers.materialise(reg);
            }
        });
    }

    /// Materialises the matrices an operation reads. Its address is [evaluated](Self::evaluate) instead.
    fn materialise_matrices(&mut self, program: &Program, op: Option<&MatrixOp>) {
        let narrow = &mut self.registers.narrow;
        match op {
            Some(MatrixOp::Store { a, .. }) => a.iter().for_each(|&reg| narrow.materialise(reg)),
            Some(MatrixOp::Diagonal { value, .. }) => narrow.materialise(*value),
            Some(MatrixOp::Product { index }) => {
                if let Some(of) = program.products.get(*index as usize) {
                    let c = of.c.map(|(c, _)| c);
                    let all = [Some(of.a.0), Some(of.b.0), c].into_iter().flatten();
                    all.flatten().for_each(|reg| narrow.materialise(reg));
                }
            }
            _ => {}
        }
    }
}
