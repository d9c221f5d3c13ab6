//! Builtins on 64-bit integers.

use super::operand::Src;
use super::select::Lowerer;
use super::wide::word;
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{IntCond, Scalar};

impl Lowerer<'_> {
    /// Builtins on 64-bit numbers.
    pub(super) fn wide_integer(
        &mut self,
        builtin: Builtin,
        signed: bool,
        numbers: &[Src],
        dest: Slice,
    ) -> bool {
        let zero = Src::Const(0, Width::W32);
        match (builtin, numbers) {
            (Builtin::Min | Builtin::Max, &[a, b]) => {
                let cond = match (builtin == Builtin::Min, signed) {
                    (true, true) => IntCond::Slt,
                    (true, false) => IntCond::Ult,
                    (false, true) => IntCond::Sgt,
                    (false, false) => IntCond::Ugt,
                };
                let test = self.wide_compare(cond, a, b);
                self.choose_into(dest, test, a, b);
            }
            (Builtin::Abs, &[a]) => {
                let (magnitude, _) = self.wide_magnitude(a);
                self.copy(dest, magnitude);
            }
            (Builtin::PopCount, &[a]) => {
                let counts: Vec<Slice> = [a.low(), a.high()]
                    .into_iter()
                    .map(|part| {
                        let count = self.temp(Width::W32);
                        let operand = self.operand(part);
                        self.op(Op::Popcount, count, &[operand]);
                        count
                    })
                    .collect();
                let sum = self.temp(Width::W32);
                self.add_into(sum, Src::Reg(counts[0]), Src::Reg(counts[1]));
                self.zero_extend_into(dest, Src::Reg(sum));
            }
            (Builtin::Clz | Builtin::Ctz, &[a, ..]) => {
                // Zeros of the part that is looked at first, or 32 and those of the other.
                let (first, other) = match builtin {
                    Builtin::Clz => (a.high(), a.low()),
                    _ => (a.low(), a.high()),
                };
                let mut zeros = |part| self.integer_word(builtin, false, Scalar::I32, &[part]);
                let (Some(near), Some(far)) = (zeros(first), zeros(other)) else {
                    return false;
                };
                let beyond = self.temp(Width::W32);
                self.add_into(beyond, far, Src::Const(32, Width::W32));
                let test = self.int_compare(IntCond::Eq, first, zero);
                let count = self.temp(Width::W32);
                self.select_into(count, test, Src::Reg(beyond), near);
                self.zero_extend_into(dest, Src::Reg(count));
            }
            (Builtin::ReverseBits, &[a]) => {
                for (place, part) in [(0, a.high()), (1, a.low())] {
                    let operand = self.operand(part);
                    self.op(Op::Bitrev, word(dest, place), &[operand]);
                }
            }
            (Builtin::MulHi, &[a, b]) if !signed => {
                self.wide_mul_high(dest, a, b);
            }
            (Builtin::NormalizePredicate, &[a]) => {
                let test = self.wide_compare(IntCond::Ne, a, Src::Const(0, Width::W64));
                let one = self.temp(Width::W32);
                self.select_into(one, test, Src::Const(1, Width::W32), zero);
                self.zero_extend_into(dest, Src::Reg(one));
            }
            _ => return false,
        }
        true
    }

    /// The upper 64 bits of a product.
    pub(super) fn wide_mul_high(&mut self, dest: Slice, a: Src, b: Src) {
        let zero = Self::bare(Src::Const(0, Width::W32));
        let high_of = |pair: Slice| Self::bare(Src::Reg(word(pair, 1)));
        let low = self.temp(Width::W64);
        self.wide_mul_add(low, Self::bare(a.low()), Self::bare(b.low()), zero);
        // None of these sums leaves 64 bits.
        let middle = self.temp(Width::W64);
        self.wide_mul_add(
            middle,
            Self::bare(a.low()),
            Self::bare(b.high()),
            high_of(low),
        );
        let other = self.temp(Width::W64);
        let lower = Self::bare(Src::Reg(word(middle, 0)));
        self.wide_mul_add(other, Self::bare(a.high()), Self::bare(b.low()), lower);
        let top = self.temp(Width::W64);
        self.wide_mul_add(
            top,
            Self::bare(a.high()),
            Self::bare(b.high()),
            high_of(middle),
        );
        let top = Self::bare(Src::Reg(top));
        self.wide_sum(Op::Iadd, dest, top, high_of(other), 0);
    }
}
