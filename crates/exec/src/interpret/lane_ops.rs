//! Operations on whole registers, one function per operand shape.
//!
//! Each tries its operands' [formulas](super::lazy) first. Where these give no formula for the result, the operands are
//! materialised and the lane function runs over all active simdgroups.

use super::Batch;
use super::observer::Observer;
use crate::code::{Index, Op};
use crate::lanes::{Compare, N1, N2, N3, Narrowing, Rule, W1, W2, Widen};
use crate::simd::Simd;

// SAFETY of the calls below: lane functions are the variants for the program's level, which the CPU can run
// (`SimdLevel`); all registers of a verified program exist (`compile::verify`), for all simdgroups of the batch (`Batch::run`).

impl Batch {
    #[inline(always)]
    pub(super) fn apply_n1<O: Observer>(&mut self, f: N1, d: u32, a: u32) {
        if O::LAZY {
            if self.lazy_n1(f, d, a) {
                return;
            }
            self.registers.narrow.materialise(a);
        }
        let a = self.narrow_lanes(a);
        let (d, count) = (self.narrow_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, count) };
    }

    #[inline(always)]
    pub(super) fn apply_n2<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        op: &Op,
        (f, rule): (N2, Rule),
        [d, a, b]: [u32; 3],
    ) {
        if O::LAZY {
            if rule == Rule::Add && self.add_uniform(d, a, b) {
                return;
            }
            let lazy = &self.registers.narrow.lazy;
            if lazy.has_formula(a)
                && lazy.has_formula(b)
                && (rule != Rule::Other && self.try_lazy(simd, op) || self.lazy_n2(f, d, a, b))
            {
                return;
            }
            self.registers.narrow.materialise(a);
            self.registers.narrow.materialise(b);
        }
        let (a, b) = (self.narrow_lanes(a), self.narrow_lanes(b));
        let (d, count) = (self.narrow_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, b, count) };
    }

    #[inline(always)]
    pub(super) fn apply_n3<O: Observer>(&mut self, f: N3, d: u32, [a, b, c]: [u32; 3]) {
        if O::LAZY {
            if self.lazy_n3(f, d, [a, b, c]) {
                return;
            }
            self.registers.narrow.materialise(a);
            self.registers.narrow.materialise(b);
            self.registers.narrow.materialise(c);
        }
        let (a, b, c) = (
            self.narrow_lanes(a),
            self.narrow_lanes(b),
            self.narrow_lanes(c),
        );
        let (d, count) = (self.narrow_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, b, c, count) };
    }

    #[inline(always)]
    pub(super) fn apply_w1<O: Observer>(&mut self, f: W1, d: u32, a: u32) {
        if O::LAZY {
            if self.lazy_w1(f, d, a) {
                return;
            }
            self.registers.wide.materialise(a);
        }
        let a = self.wide_lanes(a);
        let (d, count) = (self.wide_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, count) };
    }

    #[inline(always)]
    pub(super) fn apply_w2<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        op: &Op,
        f: W2,
        [d, a, b]: [u32; 3],
    ) {
        if O::LAZY && self.try_lazy_wide(simd, op, a, b) {
            return;
        }
        let (a, b) = (self.wide_lanes(a), self.wide_lanes(b));
        let (d, count) = (self.wide_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, b, count) };
    }

    #[inline(always)]
    pub(super) fn apply_compare<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        op: &Op,
        f: Compare,
        [d, a, b]: [u32; 3],
    ) {
        if O::LAZY && self.try_lazy_wide(simd, op, a, b) {
            return;
        }
        let (a, b) = (self.wide_lanes(a), self.wide_lanes(b));
        let (d, count) = (self.narrow_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, b, count) };
    }

    /// An operation on the formulas of two wide registers. Returns false if it gives no formula; then both are materialised.
    #[inline(always)]
    fn try_lazy_wide<S: Simd>(&mut self, simd: S, op: &Op, a: u32, b: u32) -> bool {
        let lazy = &self.registers.wide.lazy;
        if lazy.has_formula(a) && lazy.has_formula(b) && self.try_lazy(simd, op) {
            return true;
        }
        self.registers.wide.materialise(a);
        self.registers.wide.materialise(b);
        false
    }

    #[inline(always)]
    pub(super) fn apply_widen<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        op: &Op,
        f: Widen,
        [d, a]: [u32; 2],
    ) {
        if O::LAZY {
            if self.registers.narrow.lazy.has_formula(a) && self.try_lazy(simd, op) {
                return;
            }
            self.registers.narrow.materialise(a);
        }
        let a = self.narrow_lanes(a);
        let (d, count) = (self.wide_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, count) };
    }

    #[inline(always)]
    pub(super) fn apply_narrowing<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        op: &Op,
        f: Narrowing,
        [d, a]: [u32; 2],
    ) {
        if O::LAZY {
            if self.registers.wide.lazy.has_formula(a) && self.try_lazy(simd, op) {
                return;
            }
            self.registers.wide.materialise(a);
        }
        let a = self.wide_lanes(a);
        let (d, count) = (self.narrow_ptr_mut(d), self.masks.active.count);
        // SAFETY: see above.
        unsafe { f(d, a, count) };
    }

    /// `d = base + index * scale + offset`
    #[inline(always)]
    pub(super) fn apply_ptr_add<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        op: &Op,
        [d, base, index]: [u32; 3],
        kind: Index,
        (scale, offset): (u32, i64),
    ) {
        if O::LAZY {
            if self.registers.wide.lazy.has_formula(base) && self.try_lazy(simd, op) {
                return;
            }
            self.registers.wide.materialise(base);
            match kind {
                Index::None => {}
                Index::Wide => self.registers.wide.materialise(index),
                Index::Narrow { .. } => self.registers.narrow.materialise(index),
            }
        }
        self.pointer(d, base, index, kind, scale, offset);
    }
}
