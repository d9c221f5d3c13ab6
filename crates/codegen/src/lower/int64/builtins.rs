//! Builtins on 64-bit integers.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{Condition, IntSrc, Src, imm, used};
use crate::lower::select::Lowerer;
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{BinaryOp, IntCond, Scalar};

impl Lowerer<'_> {
    /// Builtins on 64-bit numbers.
    pub(in crate::lower) fn wide_integer(
        &mut self,
        builtin: Builtin,
        signed: bool,
        numbers: &[Src],
        dest: Slice,
    ) -> bool {
        let zero = Src::Const(0, Width::W32);
        if self.chosen_integer(builtin, signed, numbers, dest)
            || self.wide_arithmetic(builtin, signed, numbers, dest)
        {
            return true;
        }
        match (builtin, numbers) {
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
            (Builtin::ByteSwap, &[a]) => {
                let (low, high) = (
                    self.byte_swapped(a.high(), 32),
                    self.byte_swapped(a.low(), 32),
                );
                self.copies(&[(word(dest, 0), low), (word(dest, 1), high)]);
            }
            (Builtin::Rotate, &[a, amount]) => {
                self.wide_funnel_shift(dest, a, a, amount, true);
            }
            (Builtin::FunnelLeft | Builtin::FunnelRight, &[high, low, amount]) => {
                let left = builtin == Builtin::FunnelLeft;
                self.wide_funnel_shift(dest, high, low, amount, left);
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

    fn wide_arithmetic(
        &mut self,
        builtin: Builtin,
        signed: bool,
        numbers: &[Src],
        dest: Slice,
    ) -> bool {
        match (builtin, numbers) {
            (Builtin::Abs, &[a]) => {
                let (magnitude, _) = self.wide_magnitude(a);
                self.copy(dest, magnitude);
            }
            (Builtin::AbsDiff, &[a, b]) => {
                let (one, other) = (self.temp(Width::W64), self.temp(Width::W64));
                self.wide_sum(Op::Isub, one, Self::bare(a), Self::bare(b), 0);
                self.wide_sum(Op::Isub, other, Self::bare(b), Self::bare(a), 0);
                let cond = if signed { IntCond::Slt } else { IntCond::Ult };
                let test = self.wide_compare(cond, a, b);
                self.choose_into(dest, test, Src::Reg(other), Src::Reg(one));
            }
            (Builtin::AddSat | Builtin::SubSat, &[a, b]) => {
                let op = match builtin {
                    Builtin::AddSat => Op::Iadd,
                    _ => Op::Isub,
                };
                self.wide_saturated_sum(dest, op, signed, a, b);
            }
            (Builtin::HAdd | Builtin::RHAdd, &[a, b]) => {
                // What both have, or either has, and half of what one has: no carry.
                let up = builtin == Builtin::RHAdd;
                let (common, apart) = (self.temp(Width::W64), self.temp(Width::W64));
                let logic = if up { BinaryOp::Or } else { BinaryOp::And };
                self.wide_logic(logic, common, a, b);
                self.wide_logic(BinaryOp::Xor, apart, a, b);
                let halved = self.temp(Width::W64);
                let shift = if signed {
                    BinaryOp::AShr
                } else {
                    BinaryOp::LShr
                };
                let by = Src::Const(1, Width::W16);
                self.wide_shift_into(shift, halved, Src::Reg(apart), by);
                let (a, b) = (Src::Reg(common), Src::Reg(halved));
                let op = if up { Op::Isub } else { Op::Iadd };
                self.wide_sum(op, dest, Self::bare(a), Self::bare(b), 0);
            }
            (Builtin::MulHi, &[a, b]) => self.wide_high(dest, signed, a, b),
            (Builtin::MadHi, &[a, b, c]) => {
                let high = self.temp(Width::W64);
                self.wide_high(high, signed, a, b);
                self.wide_sum(Op::Iadd, dest, Self::bare(Src::Reg(high)), Self::bare(c), 0);
            }
            (Builtin::MadSat, &[a, b, c]) => {
                self.wide_saturated_product(dest, signed, [a, b, c]);
            }
            _ => return false,
        }
        true
    }

    /// The upper 64 bits of a product.
    pub(in crate::lower) fn wide_mul_high(&mut self, dest: Slice, a: Src, b: Src) {
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

    /// The upper 64 bits of a product, signed or not.
    pub(in crate::lower) fn wide_high(&mut self, dest: Slice, signed: bool, a: Src, b: Src) {
        if !signed {
            return self.wide_mul_high(dest, a, b);
        }
        // A negative factor is its bits less 2⁶⁴: the other factor too much in this half.
        let mut high = self.temp(Width::W64);
        self.wide_mul_high(high, a, b);
        for (one, other, last) in [(a, b, false), (b, a, true)] {
            let sign = self.temp(Width::W32);
            self.asr_into(sign, one.high(), Src::Const(31, Width::W16));
            let excess = self.temp(Width::W64);
            for half in [0, 1] {
                let (x, y) = (other.part(2 * half, Width::W32), Src::Reg(sign));
                let (x, y) = (self.operand(x), self.operand(y));
                self.bitop(
                    crate::lower::integer::arithmetic::AND,
                    word(excess, half),
                    x,
                    y,
                );
            }
            let to = if last { dest } else { self.temp(Width::W64) };
            let (x, y) = (Src::Reg(high), Src::Reg(excess));
            self.wide_sum(Op::Isub, to, Self::bare(x), Self::bare(y), 0);
            high = to;
        }
    }

    /// `a ± b`; what does not fit becomes the limit it passed.
    fn wide_saturated_sum(&mut self, dest: Slice, op: Op, signed: bool, a: Src, b: Src) {
        let sum = self.temp(Width::W64);
        self.wide_sum(op, sum, Self::bare(a), Self::bare(b), 0);
        let beyond = self.wide_sum_leaves(op, signed, [a, b], sum);
        let limit = match (signed, op) {
            (true, _) => self.wide_limit_of_sign(a.high()),
            (false, Op::Iadd) => Src::Const(u64::MAX, Width::W64),
            (false, _) => Src::Const(0, Width::W64),
        };
        self.choose_into(dest, beyond, limit, Src::Reg(sum));
    }

    /// Whether `sum`, which is `a ± b` in 64 bits, is not what it should be.
    pub(in crate::lower) fn wide_sum_leaves(
        &mut self,
        op: Op,
        signed: bool,
        [a, b]: [Src; 2],
        sum: Slice,
    ) -> Condition {
        match (signed, op) {
            (false, Op::Iadd) => return self.wide_compare(IntCond::Ult, Src::Reg(sum), a),
            (false, _) => return self.wide_compare(IntCond::Ult, a, b),
            _ => {}
        }
        // The sign changed, though b goes the way of a: signs of a ^ sum and of a ^ b.
        let (turned, apart) = (self.temp(Width::W32), self.temp(Width::W32));
        let (x, y) = (self.operand(a.high()), self.operand(Src::Reg(word(sum, 1))));
        self.bitop(crate::lower::integer::arithmetic::XOR, turned, x, y);
        let (x, y) = (self.operand(a.high()), self.operand(b.high()));
        self.bitop(crate::lower::integer::arithmetic::XOR, apart, x, y);
        let both = self.temp(Width::W32);
        let table = match op {
            Op::Iadd => crate::lower::integer::arithmetic::AND_NOT,
            _ => crate::lower::integer::arithmetic::AND,
        };
        self.bitop(table, both, used(turned), used(apart));
        self.int_compare(IntCond::Slt, Src::Reg(both), Src::Const(0, Width::W32))
    }

    /// Whether one of the words of `upper`, the upper half of a number of 128 bits, is not
    /// what the lower half needs it to be: its sign, or zero.
    pub(in crate::lower) fn wide_product_leaves(
        &mut self,
        signed: bool,
        upper: Slice,
        lower: Slice,
    ) -> Condition {
        let zero = Src::Const(0, Width::W32);
        let expected = match signed {
            false => zero,
            true => {
                let sign = self.temp(Width::W32);
                let by = Src::Const(31, Width::W16);
                self.asr_into(sign, Src::Reg(word(lower, 1)), by);
                Src::Reg(sign)
            }
        };
        let apart = [self.temp(Width::W32), self.temp(Width::W32)];
        for (half, &to) in apart.iter().enumerate() {
            let part = Src::Reg(word(upper, half as u8));
            let (x, y) = (self.operand(part), self.operand(expected));
            self.bitop(crate::lower::integer::arithmetic::XOR, to, x, y);
        }
        let either = self.temp(Width::W32);
        self.bitop(
            crate::lower::integer::arithmetic::OR,
            either,
            used(apart[0]),
            used(apart[1]),
        );
        self.int_compare(IntCond::Ne, Src::Reg(either), zero)
    }

    /// The largest signed number, or the smallest where the word `upper` is negative.
    fn wide_limit_of_sign(&mut self, upper: Src) -> Src {
        let high = self.limit_of_sign(upper);
        let low = self.temp(Width::W32);
        self.asr_into(low, high, Src::Const(31, Width::W16));
        let limit = self.temp(Width::W64);
        let operand = self.operand(Src::Reg(low));
        self.bitop(
            crate::lower::integer::arithmetic::NOT,
            word(limit, 0),
            operand,
            imm(0),
        );
        self.copy(word(limit, 1), high);
        Src::Reg(limit)
    }

    /// `a * b + c`, saturated: exact in 128 bits, of which the upper half must be nothing
    /// but the sign of the lower.
    fn wide_saturated_product(&mut self, dest: Slice, signed: bool, [a, b, c]: [Src; 3]) {
        let (high, low) = (self.temp(Width::W64), self.temp(Width::W64));
        self.wide_high(high, signed, a, b);
        self.wide_mul_into(low, a, b);
        let sum = self.temp(Width::W64);
        self.wide_sum(Op::Iadd, sum, Self::bare(Src::Reg(low)), Self::bare(c), 0);
        let carries = self.wide_compare(IntCond::Ult, Src::Reg(sum), Src::Reg(low));
        let carry = self.temp(Width::W32);
        let (one, zero) = (Src::Const(1, Width::W32), Src::Const(0, Width::W32));
        self.select_into(carry, carries, one, zero);
        let mut upper = self.temp(Width::W64);
        let (x, y) = (Src::Reg(high), Src::Reg(carry));
        self.wide_sum(Op::Iadd, upper, Self::bare(x), Self::bare(y), 0);
        let mut limit = Src::Const(u64::MAX, Width::W64);
        if signed {
            let sign = self.temp(Width::W32);
            self.asr_into(sign, c.high(), Src::Const(31, Width::W16));
            let total = self.temp(Width::W64);
            let extended = IntSrc {
                src: Src::Reg(sign),
                sx: true,
            };
            self.wide_sum(Op::Iadd, total, Self::bare(Src::Reg(upper)), extended, 0);
            upper = total;
            limit = self.wide_limit_of_sign(Src::Reg(word(upper, 1)));
        }
        let beyond = self.wide_product_leaves(signed, upper, sum);
        self.choose_into(dest, beyond, limit, Src::Reg(sum));
    }
}
