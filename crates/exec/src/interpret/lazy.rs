//! Lazy registers: kept as formulas, materialised on demand.
//!
//! A register is *materialised* when its lanes hold its numbers. It may instead, or besides, have a formula: an [affine
//! value](super::affine), or, if it is a truth value, a *predicate*: the mask of the lanes for which it holds.
//! [Operations on formulas](super::lazy_ops) give formulas where they can; lanes are written when an operation needs them
//! ([`RegisterFile::materialise`](super::registers::RegisterFile::materialise)).
//!
//! A formula covers all simdgroups of a batch, also those without active lanes: no operation reads what another leaves in an
//! inactive lane. (Block parameters are different: a move changes active lanes only.) In a program whose shuffles can read
//! inactive lanes, every register is materialised while lanes diverge.

use super::MAX_SIMDGROUPS;
use super::affine::Affine;
use super::masks::BatchMask;

/// What holds of a register, as flags; at least one of the first three is set.
pub(super) type State = u8;
/// The lanes hold the numbers.
pub(super) const MATERIALISED: State = 1;
/// The affine formula gives the numbers.
pub(super) const AFFINE: State = 2;
/// The numbers are 1 in the lanes of the mask and 0 in others.
pub(super) const PREDICATE: State = 4;
/// Beside [`AFFINE`]: all strides are zero.
pub(super) const UNIFORM: State = 8;
/// The range found for the lanes, as indices or addresses, is up to date.
pub(super) const ANALYSED: State = 16;

/// The formulas of a register file. States are kept apart from formulas: they change with every write.
#[derive(Clone, Debug)]
pub(super) struct LazyRegisters {
    states: Vec<State>,
    /// The states a threadgroup starts with.
    initial: Vec<State>,
    /// Affine values; those of predicates hold the mask in place of the strides.
    formulas: Vec<Affine>,
}

impl LazyRegisters {
    /// # Safety
    /// Every index given to a method must be less than `registers`: methods do not check it.
    pub(super) unsafe fn new(registers: usize) -> Self {
        Self {
            states: vec![MATERIALISED; registers],
            initial: vec![MATERIALISED; registers],
            formulas: vec![Affine::uniform(0); registers],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.states.len().min(self.formulas.len())
    }

    /// Declares that a register starts every threadgroup with the same number in all lanes.
    pub(super) fn set_constant(&mut self, index: u32, bits: u64) {
        let at = index as usize;
        if let (Some(initial), Some(formula)) =
            (self.initial.get_mut(at), self.formulas.get_mut(at))
        {
            *initial = MATERIALISED | AFFINE | UNIFORM;
            *formula = Affine::uniform(bits);
        }
    }

    pub(super) fn restart(&mut self) {
        self.states.copy_from_slice(&self.initial);
    }

    /// The formulas that hold for one simdgroup of a batch alone, all registers being materialised.
    pub(super) fn split(&self) -> Self {
        let own = |state: &State| match state & UNIFORM {
            0 => MATERIALISED,
            _ => MATERIALISED | AFFINE | UNIFORM,
        };
        Self {
            states: self.states.iter().map(own).collect(),
            ..self.clone()
        }
    }

    #[inline(always)]
    pub(super) fn state(&self, index: u32) -> State {
        debug_assert!((index as usize) < self.states.len());
        // SAFETY: the register exists, by the contract of `new`.
        unsafe { *self.states.get_unchecked(index as usize) }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, index: u32, state: State) {
        debug_assert!((index as usize) < self.states.len());
        // SAFETY: as above.
        unsafe { *self.states.get_unchecked_mut(index as usize) = state };
    }

    #[inline(always)]
    pub(super) fn affine(&self, index: u32) -> &Affine {
        debug_assert!((index as usize) < self.formulas.len());
        // SAFETY: as above; there are as many formulas.
        unsafe { self.formulas.get_unchecked(index as usize) }
    }

    #[inline(always)]
    fn affine_mut(&mut self, index: u32) -> &mut Affine {
        debug_assert!((index as usize) < self.formulas.len());
        // SAFETY: as above.
        unsafe { self.formulas.get_unchecked_mut(index as usize) }
    }

    /// Returns true if a register has a formula.
    #[inline(always)]
    pub(super) fn has_formula(&self, index: u32) -> bool {
        self.state(index) & (AFFINE | PREDICATE) != 0
    }

    /// Makes a register an affine value.
    #[inline(always)]
    pub(super) fn set_affine(&mut self, index: u32, affine: &Affine) {
        let uniform = if affine.strides.uniform { UNIFORM } else { 0 };
        self.set(index, AFFINE | uniform);
        *self.affine_mut(index) = *affine;
    }

    /// Makes a register an affine value, if there is one. Returns true if so.
    #[inline(always)]
    pub(super) fn set_affine_if_found(&mut self, index: u32, affine: Option<Affine>) -> bool {
        if let Some(affine) = &affine {
            self.set_affine(index, affine);
        }
        affine.is_some()
    }

    /// Makes a register an affine value with the strides of another register. `uniform` is [`UNIFORM`] if they are zero.
    #[inline(always)]
    pub(super) fn set_moved(&mut self, index: u32, from: u32, base: u64, uniform: State) {
        self.set(index, AFFINE | uniform);
        let strides = self.affine(from).strides;
        let formula = self.affine_mut(index);
        formula.base = base;
        if index != from {
            formula.strides = strides;
        }
    }

    /// Makes a register a predicate.
    #[inline(always)]
    pub(super) fn set_predicate(&mut self, index: u32, mask: &BatchMask) {
        let formula = self.affine_mut(index);
        formula.strides.of_bit = mask.map(|mask| mask as i32);
        self.set(index, PREDICATE);
    }

    /// The mask of a register that is a predicate.
    #[inline(always)]
    pub(super) fn predicate_mask(&self, index: u32) -> BatchMask {
        self.affine(index).strides.of_bit.map(|mask| mask as u32)
    }

    /// The lanes for which a truth value holds, if a formula tells.
    #[inline(always)]
    pub(super) fn predicate(&self, index: u32) -> Option<BatchMask> {
        match self.state(index) {
            state if state & PREDICATE != 0 => Some(self.predicate_mask(index)),
            state if state & UNIFORM != 0 => match self.affine(index).base {
                0 => Some([0; MAX_SIMDGROUPS]),
                1 => Some([!0; MAX_SIMDGROUPS]),
                _ => None,
            },
            _ => None,
        }
    }

    /// Copies a register's formula. Returns false if it has none.
    #[inline(always)]
    pub(super) fn copy_formula(&mut self, to: u32, from: u32) -> bool {
        let state = self.state(from) & !(MATERIALISED | ANALYSED);
        if state != 0 {
            let formula = *self.affine(from);
            self.set_affine(to, &formula);
            self.set(to, state);
        }
        state != 0
    }

    /// The register that a uniform condition selects; nothing if the condition may differ between lanes.
    #[inline(always)]
    pub(super) fn uniform_choice(&self, cond: u32, yes: u32, no: u32) -> Option<u32> {
        let uniform = self.state(cond) & UNIFORM != 0;
        let chosen = if self.affine(cond).base & 1 != 0 {
            yes
        } else {
            no
        };
        uniform.then_some(chosen)
    }

    /// Moves a formula, if that is all a move has to do: `whole` says that it is to all lanes that are ever read, or else the
    /// target has the same formula already. Returns true if so.
    #[inline(always)]
    pub(super) fn move_formula(&mut self, whole: bool, to: u32, from: u32) -> bool {
        whole && self.copy_formula(to, from) || self.is_same_affine(to, from)
    }

    #[inline(always)]
    fn is_same_affine(&self, a: u32, b: u32) -> bool {
        self.state(a) & self.state(b) & AFFINE != 0 && self.affine(a) == self.affine(b)
    }
}
