//! Operations on described operands: whether the result could be described too.
//!
//! Each either describes its result and is done, or leaves everything as it was.

use super::batch::Batch;
use super::known::{LINEAR, Scratch, TRUTH, UNIFORM};
use super::linear::{Linear, Reading};
use super::threshold::{Holds, first_of_row};
use super::{MOST, Surroundings};
use crate::code::{Index, Op};
use crate::lanes::{Compare, N1, N2, N3, Narrowing, Rule, W1, W2, Widen, apart, ballot};
use assay_ssa::IntCond;

impl Batch {
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
        if let Rule::Compare(cond) = rule
            && of_b & UNIFORM != 0
            && self.compare_row(cond, d, a, b)
        {
            return true;
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
        let reading = if cond.is_signed() {
            Reading::Signed
        } else {
            Reading::Unsigned
        };
        let sums = [first, second];
        self.compare(cond, d, &sums, reading, |scratch, at| {
            let [result, left, right, _] = &mut scratch.narrow;
            first.write_narrow(std::slice::from_mut(left), at);
            second.write_narrow(std::slice::from_mut(right), at);
            // SAFETY: as above.
            unsafe { f(result, left, right, 1) };
        });
        true
    }

    /// Compares numbers that rise evenly with one number; whether they are that.
    #[inline(always)]
    fn compare_row(&mut self, cond: IntCond, d: u32, a: u32, b: u32) -> bool {
        let (row, signed) = (self.known_n.linear(a), cond.is_signed());
        let part = self.active.range();
        let Some(first) = first_of_row(row, part.end * 32, signed) else {
            return false;
        };
        let with = self.known_n.linear(b).base as u32;
        let with = match signed {
            true => i64::from(with as i32),
            false => i64::from(with),
        };
        let holds = Holds::of(cond, first, row.shape.parts[0].into(), with);
        match holds.for_all(part.start as i64 * 32, part.end as i64 * 32) {
            Some(holds) => self.known_n.describe(d, &Linear::uniform(holds.into())),
            None => self.known_n.describe_truth(d, &holds.masks()),
        }
        true
    }

    /// Adds two described numbers of which one is the same in all lanes; whether they are that.
    #[inline(always)]
    pub(super) fn add_uniform(&mut self, d: u32, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (self.known_n.state(a), self.known_n.state(b));
        if !self.free || of_a & of_b & LINEAR == 0 || (of_a | of_b) & UNIFORM == 0 {
            return false;
        }
        let base = self
            .known_n
            .linear(a)
            .base
            .wrapping_add(self.known_n.linear(b).base);
        let shape = if of_b & UNIFORM != 0 { a } else { b };
        self.known_n
            .move_to(d, shape, u64::from(base as u32), of_a & of_b & UNIFORM);
        true
    }

    /// Compares sums. Of a simdgroup whose bounds decide nothing, `lanes` leaves each lane's answer in the first narrow
    /// register.
    #[inline(always)]
    fn compare(
        &mut self,
        cond: IntCond,
        d: u32,
        [a, b]: &[Linear; 2],
        reading: Reading,
        mut lanes: impl FnMut(&mut Scratch, usize),
    ) {
        let part = self.part();
        if let Some(holds) = decide(cond, a.bounds(part, reading), b.bounds(part, reading)) {
            self.known_n.describe(d, &Linear::uniform(holds.into()));
            return;
        }
        let mut masks = [0; MOST];
        for at in self.active.range() {
            let part = (at as u8, 1);
            let decided = decide(cond, a.bounds(part, reading), b.bounds(part, reading));
            masks[at & (MOST - 1)] = match decided {
                Some(true) => !0,
                Some(false) => 0,
                None => {
                    lanes(&mut self.scratch, at);
                    ballot::<0>(&self.scratch.narrow[0])
                }
            };
        }
        self.known_n.describe_truth(d, &masks);
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
            signed: cond.is_signed(),
        };
        let sums = [first, second];
        self.compare(cond, d, &sums, reading, |scratch, at| {
            let ([left, right, _], [result, ..]) = (&mut scratch.wide, &mut scratch.narrow);
            first.write_wide(std::slice::from_mut(left), at);
            second.write_wide(std::slice::from_mut(right), at);
            // SAFETY: as above.
            unsafe { f(result, left, right, 1) };
        });
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
