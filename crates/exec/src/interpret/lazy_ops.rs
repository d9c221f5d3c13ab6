//! Operations on the formulas of lazy registers.
//!
//! Each function either gives its result a formula and returns true, or returns false and leaves everything as it was.

use super::affine::{Affine, Reading};
use super::lane_interval::{LaneInterval, first_of_progression};
use super::lazy::{AFFINE, PREDICATE, UNIFORM};
use super::registers::Scratch;
use super::{Batch, ExecutionContext, MAX_SIMDGROUPS};
use crate::code::{Index, Op};
use crate::lanes::{Compare, Lanes, N1, N2, N3, Narrowing, Rule, W1, W2, Widen, ballot};
use crate::simd::{Portable, Simd, outlined};
use assay_ssa::IntCond;

impl Batch {
    outlined! {
        /// Runs an operation on its operands' formulas. Returns false if that gives no formula for the result; then nothing
        /// has changed.
        fn try_lazy [] (&mut self, op: &Op) -> bool = try_lazy_at
    }

    #[inline(always)]
    fn try_lazy_at<S: Simd>(&mut self, _simd: S, op: &Op) -> bool {
        match *op {
            Op::N2 { f, rule, d, a, b } => self.integer_n2(f, rule, d, a, b),
            Op::W2 { f, rule, d, a, b } => self.lazy_w2(f, rule, d, a, b),
            Op::Widen { f, rule, d, a } => self.lazy_widen(f, rule, d, a),
            Op::Narrowing { f, rule, d, a } => self.lazy_narrowing(f, rule, d, a),
            Op::Compare { f, rule, d, a, b } => self.lazy_compare(f, rule, d, a, b),
            Op::PtrAdd {
                d,
                base,
                index,
                kind,
                scale,
                offset,
            } => self.lazy_pointer([d, base, index], kind, scale, offset),
            Op::SelectNarrow { d, cond, yes, no } => {
                let chosen = self.registers.narrow.lazy.uniform_choice(cond, yes, no);
                self.masks.allow_lazy
                    && chosen
                        .is_some_and(|chosen| self.registers.narrow.lazy.copy_formula(d, chosen))
            }
            Op::SelectWide { d, cond, yes, no } => {
                let chosen = self.registers.narrow.lazy.uniform_choice(cond, yes, no);
                self.masks.allow_lazy
                    && chosen.is_some_and(|chosen| self.registers.wide.lazy.copy_formula(d, chosen))
            }
            _ => false,
        }
    }

    #[inline(always)]
    pub(super) fn lazy_n1(&mut self, f: N1, d: u32, a: u32) -> bool {
        if !self.masks.allow_lazy || self.registers.narrow.lazy.state(a) & UNIFORM == 0 {
            return false;
        }
        let [result, first, ..] = &mut self.registers.scratch.narrow;
        *first = [self.registers.narrow.lazy.affine(a).base as u32; 32];
        // SAFETY: one simdgroup each; the functions were chosen for this CPU.
        unsafe { f(result, Lanes::same(first), 1) };
        self.registers
            .narrow
            .lazy
            .set_affine(d, &Affine::uniform(result[0].into()));
        true
    }

    #[inline(always)]
    pub(super) fn lazy_n2(&mut self, f: N2, d: u32, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (
            self.registers.narrow.lazy.state(a),
            self.registers.narrow.lazy.state(b),
        );
        if !self.masks.allow_lazy || of_a & of_b & UNIFORM == 0 {
            return false;
        }
        let [result, first, second, _] = &mut self.registers.scratch.narrow;
        *first = [self.registers.narrow.lazy.affine(a).base as u32; 32];
        *second = [self.registers.narrow.lazy.affine(b).base as u32; 32];
        // SAFETY: as above.
        unsafe { f(result, Lanes::same(first), Lanes::same(second), 1) };
        self.registers
            .narrow
            .lazy
            .set_affine(d, &Affine::uniform(result[0].into()));
        true
    }

    #[inline(always)]
    pub(super) fn lazy_n3(&mut self, f: N3, d: u32, [a, b, c]: [u32; 3]) -> bool {
        let states = self.registers.narrow.lazy.state(a)
            & self.registers.narrow.lazy.state(b)
            & self.registers.narrow.lazy.state(c);
        if !self.masks.allow_lazy || states & UNIFORM == 0 {
            return false;
        }
        let [result, first, second, third] = &mut self.registers.scratch.narrow;
        *first = [self.registers.narrow.lazy.affine(a).base as u32; 32];
        *second = [self.registers.narrow.lazy.affine(b).base as u32; 32];
        *third = [self.registers.narrow.lazy.affine(c).base as u32; 32];
        // SAFETY: as above.
        unsafe {
            f(
                result,
                Lanes::same(first),
                Lanes::same(second),
                Lanes::same(third),
                1,
            )
        };
        self.registers
            .narrow
            .lazy
            .set_affine(d, &Affine::uniform(result[0].into()));
        true
    }

    #[inline(always)]
    pub(super) fn lazy_w1(&mut self, f: W1, d: u32, a: u32) -> bool {
        if !self.masks.allow_lazy || self.registers.wide.lazy.state(a) & UNIFORM == 0 {
            return false;
        }
        let [result, first, _] = &mut self.registers.scratch.wide;
        *first = [self.registers.wide.lazy.affine(a).base; 32];
        // SAFETY: as above.
        unsafe { f(result, Lanes::same(first), 1) };
        self.registers
            .wide
            .lazy
            .set_affine(d, &Affine::uniform(result[0]));
        true
    }

    #[inline(always)]
    pub(super) fn lazy_w2(&mut self, f: W2, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let states = self.registers.wide.lazy.state(a) & self.registers.wide.lazy.state(b);
        if !self.masks.allow_lazy || states & AFFINE == 0 {
            return false;
        }
        let (first, second) = (
            *self.registers.wide.lazy.affine(a),
            *self.registers.wide.lazy.affine(b),
        );
        if let Some(found) = Affine::wide(rule, &first, &second) {
            self.registers.wide.lazy.set_affine(d, &found);
            return true;
        }
        if states & UNIFORM == 0 {
            return false;
        }
        let [result, left, right] = &mut self.registers.scratch.wide;
        (*left, *right) = ([first.base; 32], [second.base; 32]);
        // SAFETY: as above.
        unsafe { f(result, Lanes::same(left), Lanes::same(right), 1) };
        self.registers
            .wide
            .lazy
            .set_affine(d, &Affine::uniform(result[0]));
        true
    }

    #[inline(always)]
    pub(super) fn lazy_widen(&mut self, f: Widen, rule: Rule, d: u32, a: u32) -> bool {
        let state = self.registers.narrow.lazy.state(a);
        if !self.masks.allow_lazy || state & AFFINE == 0 {
            return false;
        }
        let number = *self.registers.narrow.lazy.affine(a);
        let found = match rule {
            Rule::ZeroExtend => number.widened(self.active_simdgroups(), false),
            Rule::SignExtend => number.widened(self.active_simdgroups(), true),
            _ if state & UNIFORM != 0 => {
                let ([result, ..], [first, ..]) = (
                    &mut self.registers.scratch.wide,
                    &mut self.registers.scratch.narrow,
                );
                *first = [number.base as u32; 32];
                // SAFETY: as above.
                unsafe { f(result, Lanes::same(first), 1) };
                Some(Affine::uniform(result[0]))
            }
            _ => None,
        };
        self.registers.wide.lazy.set_affine_if_found(d, found)
    }

    #[inline(always)]
    pub(super) fn lazy_narrowing(&mut self, f: Narrowing, rule: Rule, d: u32, a: u32) -> bool {
        let state = self.registers.wide.lazy.state(a);
        if !self.masks.allow_lazy || state & AFFINE == 0 {
            return false;
        }
        let number = *self.registers.wide.lazy.affine(a);
        let found = match rule {
            Rule::Truncate => Some(number.narrowed()),
            _ if state & UNIFORM != 0 => {
                let ([first, ..], [result, ..]) = (
                    &mut self.registers.scratch.wide,
                    &mut self.registers.scratch.narrow,
                );
                *first = [number.base; 32];
                // SAFETY: as above.
                unsafe { f(result, Lanes::same(first), 1) };
                Some(Affine::uniform(result[0].into()))
            }
            _ => None,
        };
        self.registers.narrow.lazy.set_affine_if_found(d, found)
    }

    /// An integer operation on two formulas.
    #[inline(always)]
    fn integer_n2(&mut self, f: N2, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (
            self.registers.narrow.lazy.state(a),
            self.registers.narrow.lazy.state(b),
        );
        if !self.masks.allow_lazy
            || of_a & (AFFINE | PREDICATE) == 0
            || of_b & (AFFINE | PREDICATE) == 0
        {
            return false;
        }
        if (of_a | of_b) & PREDICATE != 0 {
            return self.predicate_n2(rule, d, a, b);
        }
        if let Rule::Compare(cond) = rule
            && of_b & UNIFORM != 0
            && self.compare_progression(cond, d, a, b)
        {
            return true;
        }
        let (first, second) = (
            *self.registers.narrow.lazy.affine(a),
            *self.registers.narrow.lazy.affine(b),
        );
        if of_a & of_b & UNIFORM != 0
            && let Some(number) = one(rule, first.base as u32, second.base as u32)
        {
            self.registers
                .narrow
                .lazy
                .set_affine(d, &Affine::uniform(number.into()));
            return true;
        }
        let Rule::Compare(cond) = rule else {
            let found = Affine::narrow(rule, &first, &second);
            return self.registers.narrow.lazy.set_affine_if_found(d, found);
        };
        let reading = if cond.is_signed() {
            Reading::Signed
        } else {
            Reading::Unsigned
        };
        let values = [first, second];
        self.compare(cond, d, &values, reading, |scratch, at| {
            let [result, left, right, _] = &mut scratch.narrow;
            first.materialise_narrow(std::slice::from_mut(left), at);
            second.materialise_narrow(std::slice::from_mut(right), at);
            // SAFETY: as above.
            unsafe { f(result, Lanes::same(left), Lanes::same(right), 1) };
        });
        true
    }

    /// Compares an arithmetic progression with a uniform number; false if the operands are not that.
    #[inline(always)]
    fn compare_progression(&mut self, cond: IntCond, d: u32, a: u32, b: u32) -> bool {
        let (progression, signed) = (self.registers.narrow.lazy.affine(a), cond.is_signed());
        let active = self.masks.active.range();
        let Some(first) = first_of_progression(progression, active.end * 32, signed) else {
            return false;
        };
        let with = self.registers.narrow.lazy.affine(b).base as u32;
        let with = match signed {
            true => i64::from(with as i32),
            false => i64::from(with),
        };
        let holds = LaneInterval::of(cond, first, progression.strides.of_bit[0].into(), with);
        match holds.for_all(active.start as i64 * 32, active.end as i64 * 32) {
            Some(holds) => self
                .registers
                .narrow
                .lazy
                .set_affine(d, &Affine::uniform(holds.into())),
            None => self.registers.narrow.lazy.set_predicate(d, &holds.masks()),
        }
        true
    }

    /// Adds two affine values of which one is uniform; false if the operands are not that.
    #[inline(always)]
    pub(super) fn add_uniform(&mut self, d: u32, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (
            self.registers.narrow.lazy.state(a),
            self.registers.narrow.lazy.state(b),
        );
        if !self.masks.allow_lazy || of_a & of_b & AFFINE == 0 || (of_a | of_b) & UNIFORM == 0 {
            return false;
        }
        let lazy = &mut self.registers.narrow.lazy;
        let base = lazy.affine(a).base.wrapping_add(lazy.affine(b).base);
        let strides = if of_b & UNIFORM != 0 { a } else { b };
        lazy.set_moved(d, strides, u64::from(base as u32), of_a & of_b & UNIFORM);
        true
    }

    /// Compares affine values, by their bounds where these decide. For other simdgroups, `lanes` leaves each lane's result in the
    /// first narrow register of the scratch.
    #[inline(always)]
    fn compare(
        &mut self,
        cond: IntCond,
        d: u32,
        [a, b]: &[Affine; 2],
        reading: Reading,
        mut lanes: impl FnMut(&mut Scratch, usize),
    ) {
        let part = self.active_simdgroups();
        if let Some(holds) = decide(cond, a.bounds(part, reading), b.bounds(part, reading)) {
            self.registers
                .narrow
                .lazy
                .set_affine(d, &Affine::uniform(holds.into()));
            return;
        }
        let mut masks = [0; MAX_SIMDGROUPS];
        for at in self.masks.active.range() {
            let part = (at as u8, 1);
            let decided = decide(cond, a.bounds(part, reading), b.bounds(part, reading));
            masks[at & (MAX_SIMDGROUPS - 1)] = match decided {
                Some(true) => !0,
                Some(false) => 0,
                None => {
                    lanes(&mut self.registers.scratch, at);
                    ballot(Portable, &self.registers.scratch.narrow[0])
                }
            };
        }
        self.registers.narrow.lazy.set_predicate(d, &masks);
    }

    /// A bitwise operation on two predicates.
    #[inline(always)]
    fn predicate_n2(&mut self, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let (Some(first), Some(second)) = (
            self.registers.narrow.lazy.predicate(a),
            self.registers.narrow.lazy.predicate(b),
        ) else {
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
        self.registers.narrow.lazy.set_predicate(d, &masks);
        true
    }

    #[inline(always)]
    pub(super) fn lazy_compare(&mut self, f: Compare, rule: Rule, d: u32, a: u32, b: u32) -> bool {
        let states = self.registers.wide.lazy.state(a) & self.registers.wide.lazy.state(b);
        let Rule::Compare(cond) = rule else {
            return false;
        };
        if !self.masks.allow_lazy || states & AFFINE == 0 {
            return false;
        }
        let (first, second) = (
            *self.registers.wide.lazy.affine(a),
            *self.registers.wide.lazy.affine(b),
        );
        let reading = Reading::Wide {
            signed: cond.is_signed(),
        };
        let values = [first, second];
        self.compare(cond, d, &values, reading, |scratch, at| {
            let ([left, right, _], [result, ..]) = (&mut scratch.wide, &mut scratch.narrow);
            first.materialise_wide(std::slice::from_mut(left), at);
            second.materialise_wide(std::slice::from_mut(right), at);
            // SAFETY: as above.
            unsafe { f(result, Lanes::same(left), Lanes::same(right), 1) };
        });
        true
    }

    /// `d = base + index * scale + offset`
    #[inline(always)]
    pub(super) fn lazy_pointer(
        &mut self,
        [d, base, index]: [u32; 3],
        kind: Index,
        scale: u32,
        offset: i64,
    ) -> bool {
        if !self.masks.allow_lazy || self.registers.wide.lazy.state(base) & AFFINE == 0 {
            return false;
        }
        let mut start = *self.registers.wide.lazy.affine(base);
        start.base = start.base.wrapping_add_signed(offset);
        let found = match kind {
            Index::None => Some(start),
            Index::Wide if self.registers.wide.lazy.state(index) & AFFINE != 0 => {
                start.plus_scaled(self.registers.wide.lazy.affine(index), scale.into())
            }
            Index::Narrow { bits, signed }
                if self.registers.narrow.lazy.state(index) & AFFINE != 0
                    && (bits == 32 || !signed) =>
            {
                let index = self
                    .registers
                    .narrow
                    .lazy
                    .affine(index)
                    .widened(self.active_simdgroups(), signed);
                index.and_then(|index| start.plus_scaled(&index, scale.into()))
            }
            _ => None,
        };
        self.registers.wide.lazy.set_affine_if_found(d, found)
    }

    /// A position in the grid, if it is affine in the lane index.
    pub(super) fn lazy_position(&mut self, context: &ExecutionContext<'_>, op: &Op) -> bool {
        let Op::Position { which, axis, d } = *op else {
            return false;
        };
        let found = context
            .grid_position
            .affine(which, axis.into(), self.simdgroups);
        match found {
            Some((base, strides)) if self.masks.allow_lazy && !d.wide => {
                self.registers
                    .narrow
                    .lazy
                    .set_affine(d.index, &Affine::new(base.into(), strides));
                true
            }
            _ => false,
        }
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
        Rule::Compare(cond) => u32::from(cond.holds([a, b], [a as i32, b as i32])),
        _ => return None,
    })
}

/// Returns true if a comparison holds for all numbers within bounds, or for none.
#[inline(always)]
pub(crate) fn decide(cond: IntCond, a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<bool> {
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
