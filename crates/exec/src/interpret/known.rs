//! Registers of which more is known than their lanes.
//!
//! A register is *filled* when its lanes hold its numbers. It may instead, or besides, be described: as a sum
//! ([`Linear`]), or, if it is a truth value, as the lanes for which it holds. What can be done with descriptions is; lanes
//! are written down when an operation wants them.
//!
//! A description is of all simdgroups of a batch, also of those without active lanes: nobody reads what an operation leaves
//! in a lane that did not take part in it. (Block parameters are another matter: a move changes active lanes only.)
//! In a program whose shuffles can read inactive lanes, nothing is described without being filled while lanes are parted.

use super::MOST;
use super::batch::{Batch, Masks};
use super::linear::Linear;
use super::span::Part;
use crate::code::{Op, Program, Reg};
use crate::lanes::{Narrow, Wide, ballot};
use crate::matrix::MatrixOp;
use crate::operands::{Role, for_each_register};

/// What holds of a register; at least one of the first three does.
pub(super) type State = u8;
/// The lanes have the numbers.
pub(super) const FILLED: State = 1;
/// The sum gives the numbers.
pub(super) const LINEAR: State = 2;
/// The numbers are 1 in the lanes of the masks and 0 in others.
pub(super) const TRUTH: State = 4;
/// All parts of the sum are zero.
pub(super) const UNIFORM: State = 8;
/// What was found out about the lanes as indices or addresses holds.
pub(super) const SEEN: State = 16;

/// What is known of the registers of a file. The states are kept apart: they change with every write.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) states: Vec<State>,
    /// Those of a batch that starts.
    first: Vec<State>,
    notes: Vec<Linear>,
}

impl Known {
    pub(super) fn new(registers: u32) -> Self {
        Self {
            states: vec![FILLED; registers as usize],
            first: vec![FILLED; registers as usize],
            notes: vec![Linear::uniform(0); registers as usize],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.states.len().min(self.notes.len())
    }

    /// Says that a register holds the same number in all lanes from the start.
    pub(super) fn constant(&mut self, index: u32, bits: u64) {
        let at = index as usize;
        if let (Some(first), Some(note)) = (self.first.get_mut(at), self.notes.get_mut(at)) {
            *first = FILLED | LINEAR | UNIFORM;
            *note = Linear::uniform(bits);
        }
    }

    pub(super) fn restart(&mut self) {
        self.states.copy_from_slice(&self.first);
    }

    /// What is known to each simdgroup of a batch by itself, all registers being filled.
    pub(super) fn apart(&self) -> Self {
        let own = |state: &State| match state & UNIFORM {
            0 => FILLED,
            _ => FILLED | LINEAR | UNIFORM,
        };
        Self {
            states: self.states.iter().map(own).collect(),
            ..self.clone()
        }
    }

    #[inline(always)]
    pub(super) fn state(&self, index: u32) -> State {
        debug_assert!((index as usize) < self.states.len());
        // SAFETY: all registers of a program exist (`compile::verify`), and there is a state for each (`run`).
        unsafe { *self.states.get_unchecked(index as usize) }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, index: u32, state: State) {
        debug_assert!((index as usize) < self.states.len());
        // SAFETY: as above.
        unsafe { *self.states.get_unchecked_mut(index as usize) = state };
    }

    #[inline(always)]
    pub(super) fn linear(&self, index: u32) -> &Linear {
        debug_assert!((index as usize) < self.notes.len());
        // SAFETY: as above; there are as many notes.
        unsafe { self.notes.get_unchecked(index as usize) }
    }

    /// Whether a register has a description.
    #[inline(always)]
    pub(super) fn described(&self, index: u32) -> bool {
        self.state(index) & (LINEAR | TRUTH) != 0
    }

    /// Describes a register by a sum.
    #[inline(always)]
    pub(super) fn describe(&mut self, index: u32, linear: &Linear) {
        let uniform = if linear.shape.uniform { UNIFORM } else { 0 };
        self.set(index, LINEAR | uniform);
        debug_assert!((index as usize) < self.notes.len());
        // SAFETY: as above.
        unsafe { *self.notes.get_unchecked_mut(index as usize) = *linear };
    }

    /// Describes a register by the sum of another from a new base.
    #[inline(always)]
    pub(super) fn move_to(&mut self, index: u32, from: u32, base: u64, uniform: State) {
        self.set(index, LINEAR | uniform);
        debug_assert!((index as usize) < self.notes.len());
        let shape = self.linear(from).shape;
        // SAFETY: as above.
        let note = unsafe { self.notes.get_unchecked_mut(index as usize) };
        note.base = base;
        if index != from {
            note.shape = shape;
        }
    }

    /// The same, if there is a sum.
    #[inline(always)]
    pub(super) fn describe_some(&mut self, index: u32, linear: Option<Linear>) -> bool {
        if let Some(linear) = &linear {
            self.describe(index, linear);
        }
        linear.is_some()
    }

    /// Describes a register of truth values.
    #[inline(always)]
    pub(super) fn describe_truth(&mut self, index: u32, masks: &Masks) {
        debug_assert!((index as usize) < self.notes.len());
        // SAFETY: as above.
        let note = unsafe { self.notes.get_unchecked_mut(index as usize) };
        note.shape.parts = masks.map(|mask| mask as i32);
        self.set(index, TRUTH);
    }

    #[inline(always)]
    pub(super) fn masks(&self, index: u32) -> Masks {
        self.linear(index).shape.parts.map(|mask| mask as u32)
    }

    /// The lanes for which a described truth value holds.
    #[inline(always)]
    pub(super) fn truth(&self, index: u32) -> Option<Masks> {
        match self.state(index) {
            state if state & TRUTH != 0 => Some(self.masks(index)),
            state if state & UNIFORM != 0 => match self.linear(index).base {
                0 => Some([0; MOST]),
                1 => Some([!0; MOST]),
                _ => None,
            },
            _ => None,
        }
    }

    /// Copies what is known, if it is a description.
    #[inline(always)]
    pub(super) fn copy(&mut self, to: u32, from: u32) -> bool {
        let state = self.state(from) & !(FILLED | SEEN);
        if state != 0 {
            let linear = *self.linear(from);
            self.describe(to, &linear);
            self.set(to, state);
        }
        state != 0
    }

    /// The register a condition chooses for all lanes alike.
    #[inline(always)]
    pub(super) fn choice(&self, cond: u32, yes: u32, no: u32) -> Option<u32> {
        let alike = self.state(cond) & UNIFORM != 0;
        let chosen = if self.linear(cond).base & 1 != 0 {
            yes
        } else {
            no
        };
        alike.then_some(chosen)
    }

    /// Passes a description on, if a move does no more than that: to all lanes, or to those that have it already.
    #[inline(always)]
    pub(super) fn shift(&mut self, whole: bool, to: u32, from: u32) -> bool {
        whole && self.copy(to, from) || self.same(to, from)
    }

    /// Whether two registers are the same sum.
    #[inline(always)]
    fn same(&self, a: u32, b: u32) -> bool {
        self.state(a) & self.state(b) & LINEAR != 0 && self.linear(a) == self.linear(b)
    }
}

/// Room for an operation on numbers that are the same in all lanes.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Scratch {
    pub(super) narrow: [Narrow; 4],
    pub(super) wide: [Wide; 3],
}

impl Scratch {
    pub(super) const EMPTY: Self = Self {
        narrow: [[0; 32]; 4],
        wide: [[0; 32]; 3],
    };
}

impl Batch {
    /// The simdgroups with active lanes.
    #[inline(always)]
    pub(super) fn part(&self) -> Part {
        (self.active.first as u8, self.active.count as u8)
    }

    // ---- filling ----

    /// Sees to it that the lanes of a narrow register hold its numbers.
    #[inline(always)]
    pub(super) fn need_n(&mut self, index: u32) {
        if self.known_n.state(index) & FILLED == 0 {
            self.fill_n(index);
        }
    }

    /// The same for a wide register.
    #[inline(always)]
    pub(super) fn need_w(&mut self, index: u32) {
        if self.known_w.state(index) & FILLED == 0 {
            self.fill_w(index);
        }
    }

    #[inline(never)]
    fn fill_n(&mut self, index: u32) {
        let (state, note) = (self.known_n.state(index), *self.known_n.linear(index));
        let registers = self.all_n(index);
        if state & TRUTH != 0 {
            for (register, mask) in registers.iter_mut().zip(note.shape.parts) {
                for (lane, number) in register.iter_mut().enumerate() {
                    *number = mask as u32 >> lane & 1;
                }
            }
        } else if state & UNIFORM != 0 {
            registers.fill([note.base as u32; 32]);
        } else {
            note.write_narrow(registers, 0);
        }
        self.known_n.set(index, state | FILLED);
    }

    #[inline(never)]
    fn fill_w(&mut self, index: u32) {
        let (state, note) = (self.known_w.state(index), *self.known_w.linear(index));
        note.write_wide(self.all_w(index), 0);
        self.known_w.set(index, state | FILLED);
    }

    /// Fills all registers.
    #[inline(never)]
    pub(super) fn fill_all(&mut self) {
        for index in 0..self.known_n.states.len() as u32 {
            self.need_n(index);
        }
        for index in 0..self.known_w.states.len() as u32 {
            self.need_w(index);
        }
    }

    /// Fills the registers an operation reads.
    #[inline(never)]
    pub(super) fn fill_operands(&mut self, program: &Program, op: &Op) {
        if let Op::Matrix { index } = op {
            return self.fill_matrices(program, program.matrices.get(*index as usize));
        }
        let _ = for_each_register(program, op, &mut |reg, role| match (role, reg.wide) {
            (Role::Reads, false) => self.need_n(reg.index),
            (Role::Reads, true) => self.need_w(reg.index),
            _ => {}
        });
    }

    /// Fills the matrices an operation reads. Where one lies in memory is read as it is known.
    fn fill_matrices(&mut self, program: &Program, op: Option<&MatrixOp>) {
        match op {
            Some(MatrixOp::Store { a, .. }) => a.iter().for_each(|&reg| self.need_n(reg)),
            Some(MatrixOp::Diagonal { value, .. }) => self.need_n(*value),
            Some(MatrixOp::Product { index }) => {
                if let Some(of) = program.products.get(*index as usize) {
                    let c = of.c.map(|(c, _)| c);
                    let all = [Some(of.a.0), Some(of.b.0), c].into_iter().flatten();
                    all.flatten().for_each(|reg| self.need_n(reg));
                }
            }
            _ => {}
        }
    }

    /// The number in a lane of a register of the current simdgroup, filled or not.
    pub(super) fn number(&self, reg: Reg, lane: usize) -> u64 {
        let known = if reg.wide {
            &self.known_w
        } else {
            &self.known_n
        };
        match known.state(reg.index) {
            state if state & FILLED != 0 => self.get(reg, lane),
            state if state & TRUTH != 0 => {
                let mask = known.masks(reg.index)[self.current & (MOST - 1)];
                u64::from(mask >> (lane & 31) & 1)
            }
            _ => known.linear(reg.index).at(self.current, lane),
        }
    }

    // ---- truth values ----

    /// The lanes for which a truth value holds, in simdgroups with active lanes.
    #[inline(always)]
    pub(super) fn holds<const VECTOR: usize>(&mut self, cond: u32) -> Masks {
        if let Some(masks) = self.known_n.truth(cond) {
            return masks;
        }
        self.need_n(cond);
        let mut holds = [0; MOST];
        for at in self.active.range() {
            holds[at & (MOST - 1)] = ballot::<VECTOR>(self.n_of(cond, at));
        }
        holds
    }
}
