//! Registers of which more is known than their lanes.
//!
//! A register is *filled* when its lanes hold its numbers. It may instead, or besides, be described: as a sum
//! ([`Linear`]), or, if it is a truth value, as the lanes for which it holds. What can be done with descriptions is; lanes
//! are written down when an operation wants them.
//!
//! A description is of all simdgroups of a batch, also of those without active lanes: nobody reads what an operation leaves
//! in a lane that did not take part in it. (Block parameters are another matter: a move changes active lanes only.)
//! In a program whose shuffles can read inactive lanes, nothing is described without being filled while lanes are parted.

use super::batch::{Batch, Masks};
use super::linear::{Linear, Reading};
use super::span::Part;
use super::{MOST, Surroundings};
use crate::code::{Index, Op, Program, Reg};
use crate::lanes::{
    Compare, N1, N2, N3, Narrow, Narrowing, Rule, W1, W2, Wide, Widen, apart, ballot,
};
use crate::matrix::MatrixOp;
use crate::operands::{Role, for_each_register};
use assay_ssa::IntCond;

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

    /// The same, if there is a sum.
    #[inline(always)]
    fn describe_some(&mut self, index: u32, linear: Option<Linear>) -> bool {
        if let Some(linear) = &linear {
            self.describe(index, linear);
        }
        linear.is_some()
    }

    /// Describes a register of truth values.
    #[inline(always)]
    fn describe_truth(&mut self, index: u32, masks: &Masks) {
        debug_assert!((index as usize) < self.notes.len());
        // SAFETY: as above.
        let note = unsafe { self.notes.get_unchecked_mut(index as usize) };
        note.shape.parts = masks.map(|mask| mask as i32);
        self.set(index, TRUTH);
    }

    #[inline(always)]
    fn masks(&self, index: u32) -> Masks {
        self.linear(index).shape.parts.map(|mask| mask as u32)
    }

    /// The lanes for which a described truth value holds.
    #[inline(always)]
    fn truth(&self, index: u32) -> Option<Masks> {
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
    fn copy(&mut self, to: u32, from: u32) -> bool {
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
    fn choice(&self, cond: u32, yes: u32, no: u32) -> Option<u32> {
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
    narrow: [Narrow; 4],
    wide: [Wide; 3],
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

    // ---- operations on described operands: whether the result could be described ----

    apart! {
        /// An operation that may do without lanes.
        fn known [] (&mut self, op: &Op) -> bool = known_at
    }

    #[inline(always)]
    fn known_at<const VECTOR: usize>(&mut self, op: &Op) -> bool {
        match *op {
            Op::N2 { f, rule, d, a, b } => self.ruled_n2(f, rule, d, a, b),
            Op::W2 { f, rule, d, a, b } => self.known_w2(f, rule, d, a, b),
            Op::Widen { f, rule, d, a } => self.known_widen(f, rule, d, a),
            Op::Narrowing { f, rule, d, a } => self.known_narrowing(f, rule, d, a),
            Op::Compare { f, rule, d, a, b } => self.known_compare(f, rule, d, a, b),
            Op::PtrAdd {
                d,
                base,
                index,
                kind,
                scale,
                offset,
            } => self.known_pointer([d, base, index], kind, scale, offset),
            Op::SelectNarrow { d, cond, yes, no } => {
                let chosen = self.known_n.choice(cond, yes, no);
                self.free && chosen.is_some_and(|chosen| self.known_n.copy(d, chosen))
            }
            Op::SelectWide { d, cond, yes, no } => {
                let chosen = self.known_n.choice(cond, yes, no);
                self.free && chosen.is_some_and(|chosen| self.known_w.copy(d, chosen))
            }
            _ => false,
        }
    }

    #[inline(always)]
    pub(super) fn known_n1(&mut self, f: N1, d: u32, a: u32) -> bool {
        if !self.free || self.known_n.state(a) & UNIFORM == 0 {
            return false;
        }
        let [result, first, ..] = &mut self.scratch.narrow;
        *first = [self.known_n.linear(a).base as u32; 32];
        // SAFETY: one simdgroup each; the functions were chosen for this CPU.
        unsafe { f(result, first, 1) };
        self.known_n.describe(d, &Linear::uniform(result[0].into()));
        true
    }

    #[inline(always)]
    pub(super) fn known_n2(&mut self, f: N2, d: u32, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (self.known_n.state(a), self.known_n.state(b));
        if !self.free || of_a & of_b & UNIFORM == 0 {
            return false;
        }
        let [result, first, second, _] = &mut self.scratch.narrow;
        *first = [self.known_n.linear(a).base as u32; 32];
        *second = [self.known_n.linear(b).base as u32; 32];
        // SAFETY: as above.
        unsafe { f(result, first, second, 1) };
        self.known_n.describe(d, &Linear::uniform(result[0].into()));
        true
    }

    #[inline(always)]
    pub(super) fn known_n3(&mut self, f: N3, d: u32, [a, b, c]: [u32; 3]) -> bool {
        let states = self.known_n.state(a) & self.known_n.state(b) & self.known_n.state(c);
        if !self.free || states & UNIFORM == 0 {
            return false;
        }
        let [result, first, second, third] = &mut self.scratch.narrow;
        *first = [self.known_n.linear(a).base as u32; 32];
        *second = [self.known_n.linear(b).base as u32; 32];
        *third = [self.known_n.linear(c).base as u32; 32];
        // SAFETY: as above.
        unsafe { f(result, first, second, third, 1) };
        self.known_n.describe(d, &Linear::uniform(result[0].into()));
        true
    }

    #[inline(always)]
    pub(super) fn known_w1(&mut self, f: W1, d: u32, a: u32) -> bool {
        if !self.free || self.known_w.state(a) & UNIFORM == 0 {
            return false;
        }
        let [result, first, _] = &mut self.scratch.wide;
        *first = [self.known_w.linear(a).base; 32];
        // SAFETY: as above.
        unsafe { f(result, first, 1) };
        self.known_w.describe(d, &Linear::uniform(result[0]));
        true
    }

    #[inline(always)]
    pub(super) fn known_w2(&mut self, f: W2, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let states = self.known_w.state(a) & self.known_w.state(b);
        if !self.free || states & LINEAR == 0 {
            return false;
        }
        let (first, second) = (*self.known_w.linear(a), *self.known_w.linear(b));
        if let Some(found) = Linear::wide(rule, &first, &second) {
            self.known_w.describe(d, &found);
            return true;
        }
        if states & UNIFORM == 0 {
            return false;
        }
        let [result, left, right] = &mut self.scratch.wide;
        (*left, *right) = ([first.base; 32], [second.base; 32]);
        // SAFETY: as above.
        unsafe { f(result, left, right, 1) };
        self.known_w.describe(d, &Linear::uniform(result[0]));
        true
    }

    #[inline(always)]
    pub(super) fn known_widen(&mut self, f: Widen, rule: Rule, d: u32, a: u32) -> bool {
        let state = self.known_n.state(a);
        if !self.free || state & LINEAR == 0 {
            return false;
        }
        let number = *self.known_n.linear(a);
        let found = match rule {
            Rule::ZeroExtend => number.widened(self.part(), false),
            Rule::SignExtend => number.widened(self.part(), true),
            _ if state & UNIFORM != 0 => {
                let ([result, ..], [first, ..]) =
                    (&mut self.scratch.wide, &mut self.scratch.narrow);
                *first = [number.base as u32; 32];
                // SAFETY: as above.
                unsafe { f(result, first, 1) };
                Some(Linear::uniform(result[0]))
            }
            _ => None,
        };
        self.known_w.describe_some(d, found)
    }

    #[inline(always)]
    pub(super) fn known_narrowing(&mut self, f: Narrowing, rule: Rule, d: u32, a: u32) -> bool {
        let state = self.known_w.state(a);
        if !self.free || state & LINEAR == 0 {
            return false;
        }
        let number = *self.known_w.linear(a);
        let found = match rule {
            Rule::Truncate => Some(number.narrowed()),
            _ if state & UNIFORM != 0 => {
                let ([first, ..], [result, ..]) =
                    (&mut self.scratch.wide, &mut self.scratch.narrow);
                *first = [number.base; 32];
                // SAFETY: as above.
                unsafe { f(result, first, 1) };
                Some(Linear::uniform(result[0].into()))
            }
            _ => None,
        };
        self.known_n.describe_some(d, found)
    }

    /// An operation whose rule says what becomes of described numbers.
    #[inline(always)]
    fn ruled_n2(&mut self, f: N2, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (self.known_n.state(a), self.known_n.state(b));
        if !self.free || of_a & (LINEAR | TRUTH) == 0 || of_b & (LINEAR | TRUTH) == 0 {
            return false;
        }
        if (of_a | of_b) & TRUTH != 0 {
            return self.ruled_truth(rule, d, a, b);
        }
        let (first, second) = (*self.known_n.linear(a), *self.known_n.linear(b));
        if of_a & of_b & UNIFORM != 0
            && let Some(number) = one(rule, first.base as u32, second.base as u32)
        {
            self.known_n.describe(d, &Linear::uniform(number.into()));
            return true;
        }
        let Rule::Compare(cond) = rule else {
            let found = Linear::narrow(rule, &first, &second);
            return self.known_n.describe_some(d, found);
        };
        let reading = if is_signed(cond) {
            Reading::Signed
        } else {
            Reading::Unsigned
        };
        let sums = [first, second];
        let mut undecided = self.compare(cond, d, &sums, reading);
        if undecided != 0 {
            let mut masks = self.known_n.masks(d);
            while undecided != 0 {
                let at = undecided.trailing_zeros() as usize;
                let [result, left, right, _] = &mut self.scratch.narrow;
                first.write_narrow(std::slice::from_mut(left), at);
                second.write_narrow(std::slice::from_mut(right), at);
                // SAFETY: as above.
                unsafe { f(result, left, right, 1) };
                masks[at & (MOST - 1)] = ballot::<0>(result);
                undecided &= undecided - 1;
            }
            self.known_n.describe_truth(d, &masks);
        }
        true
    }

    /// Compares sums; gives the simdgroups (a bit each) in which lanes differ, or may.
    #[inline(always)]
    fn compare(&mut self, cond: IntCond, d: u32, [a, b]: &[Linear; 2], reading: Reading) -> u32 {
        let part = self.part();
        if let Some(holds) = decide(cond, a.bounds(part, reading), b.bounds(part, reading)) {
            self.known_n.describe(d, &Linear::uniform(holds.into()));
            return 0;
        }
        let (mut masks, mut undecided) = ([0; MOST], 0);
        for at in self.active.range() {
            let part = (at as u8, 1);
            match decide(cond, a.bounds(part, reading), b.bounds(part, reading)) {
                Some(true) => masks[at & (MOST - 1)] = !0,
                Some(false) => {}
                None => undecided |= 1 << at,
            }
        }
        self.known_n.describe_truth(d, &masks);
        undecided
    }

    /// Truth values, joined.
    #[inline(always)]
    fn ruled_truth(&mut self, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let (Some(first), Some(second)) = (self.known_n.truth(a), self.known_n.truth(b)) else {
            return false;
        };
        let mut masks = first;
        for (mask, other) in masks.iter_mut().zip(second) {
            *mask = match rule {
                Rule::And => *mask & other,
                Rule::Or => *mask | other,
                Rule::Xor => *mask ^ other,
                _ => return false,
            };
        }
        self.known_n.describe_truth(d, &masks);
        true
    }

    #[inline(always)]
    pub(super) fn known_compare(&mut self, f: Compare, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let states = self.known_w.state(a) & self.known_w.state(b);
        let Rule::Compare(cond) = rule else {
            return false;
        };
        if !self.free || states & LINEAR == 0 {
            return false;
        }
        let (first, second) = (*self.known_w.linear(a), *self.known_w.linear(b));
        let reading = Reading::Wide {
            signed: is_signed(cond),
        };
        let sums = [first, second];
        let mut undecided = self.compare(cond, d, &sums, reading);
        if undecided != 0 {
            let mut masks = self.known_n.masks(d);
            while undecided != 0 {
                let at = undecided.trailing_zeros() as usize;
                let ([left, right, _], [result, ..]) =
                    (&mut self.scratch.wide, &mut self.scratch.narrow);
                first.write_wide(std::slice::from_mut(left), at);
                second.write_wide(std::slice::from_mut(right), at);
                // SAFETY: as above.
                unsafe { f(result, left, right, 1) };
                masks[at & (MOST - 1)] = ballot::<0>(result);
                undecided &= undecided - 1;
            }
            self.known_n.describe_truth(d, &masks);
        }
        true
    }

    /// `d = base + index * scale + offset`
    #[inline(always)]
    pub(super) fn known_pointer(
        &mut self,
        [d, base, index]: [u32; 3],
        kind: Index,
        scale: u32,
        offset: i64,
    ) -> bool {
        if !self.free || self.known_w.state(base) & LINEAR == 0 {
            return false;
        }
        let mut start = *self.known_w.linear(base);
        start.base = start.base.wrapping_add_signed(offset);
        let found = match kind {
            Index::None => Some(start),
            Index::Wide if self.known_w.state(index) & LINEAR != 0 => {
                start.plus_scaled(self.known_w.linear(index), scale.into())
            }
            Index::Narrow { bits, signed }
                if self.known_n.state(index) & LINEAR != 0 && (bits == 32 || !signed) =>
            {
                let index = self.known_n.linear(index).widened(self.part(), signed);
                index.and_then(|index| start.plus_scaled(&index, scale.into()))
            }
            _ => None,
        };
        self.known_w.describe_some(d, found)
    }

    /// A position, if it can be described.
    pub(super) fn known_position(&mut self, around: &Surroundings<'_>, op: &Op) -> bool {
        let Op::Position { which, axis, d } = *op else {
            return false;
        };
        let found = around.standpoint.described(which, axis.into(), self.len);
        match found {
            Some((base, parts)) if self.free && !d.wide => {
                self.known_n
                    .describe(d.index, &Linear::new(base.into(), parts));
                true
            }
            _ => false,
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

/// What a rule gives for a pair of 32-bit numbers.
#[inline(always)]
fn one(rule: Rule, a: u32, b: u32) -> Option<u32> {
    Some(match rule {
        Rule::Add => a.wrapping_add(b),
        Rule::Sub => a.wrapping_sub(b),
        Rule::Mul => a.wrapping_mul(b),
        Rule::Shl => a << (b & 31),
        Rule::LShr => a >> (b & 31),
        Rule::And => a & b,
        Rule::Or => a | b,
        Rule::Xor => a ^ b,
        Rule::Compare(cond) => {
            let (x, y) = (a as i32, b as i32);
            u32::from(match cond {
                IntCond::Eq => a == b,
                IntCond::Ne => a != b,
                IntCond::Ult => a < b,
                IntCond::Ule => a <= b,
                IntCond::Ugt => a > b,
                IntCond::Uge => a >= b,
                IntCond::Slt => x < y,
                IntCond::Sle => x <= y,
                IntCond::Sgt => x > y,
                IntCond::Sge => x >= y,
            })
        }
        _ => return None,
    })
}

#[inline(always)]
fn is_signed(cond: IntCond) -> bool {
    matches!(
        cond,
        IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge
    )
}

/// Whether a comparison holds for all numbers within bounds, or for none.
#[inline(always)]
fn decide(cond: IntCond, a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<bool> {
    let (a, b) = (a?, b?);
    let less = |a: (i64, i64), b: (i64, i64)| match () {
        () if a.1 < b.0 => Some(true),
        () if a.0 >= b.1 => Some(false),
        () => None,
    };
    let equal = || match () {
        () if a.1 < b.0 || b.1 < a.0 => Some(false),
        () if a.0 == a.1 && a == b => Some(true),
        () => None,
    };
    let not = |known: Option<bool>| known.map(|holds| !holds);
    match cond {
        IntCond::Eq => equal(),
        IntCond::Ne => not(equal()),
        IntCond::Ult | IntCond::Slt => less(a, b),
        IntCond::Ugt | IntCond::Sgt => less(b, a),
        IntCond::Ule | IntCond::Sle => not(less(b, a)),
        IntCond::Uge | IntCond::Sge => not(less(a, b)),
    }
}
