//! Integer division and remainder, from an estimate of the reciprocal.
//!
//! For unsigned 32-bit numbers: `z = 2³² / y` is estimated in single precision, from
//! slightly below, and improved by one step of Newton's iteration in integers; then
//! `x · z >> 32` is the quotient or at most two less, which two corrections repair.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{Condition, FloatSrc, IntSrc, Src};
use crate::lower::select::{Done, Lowerer};
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{BinaryOp, IntCond, Scalar};

const ZERO: Src = Src::Const(0, Width::W32);
const ALL: Src = Src::Const(u64::MAX, Width::W64);

impl Lowerer<'_> {
    /// A division or remainder of at most 32 bits.
    pub(in crate::lower) fn divide_into(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        a: Src,
        b: Src,
        dest: Slice,
    ) -> Done {
        let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
        let quotient = matches!(op, BinaryOp::UDiv | BinaryOp::SDiv);
        let (a, b) = (
            self.widened(a, scalar, signed),
            self.widened(b, scalar, signed),
        );
        let result = match signed {
            false => self.unsigned_divide(a, b, quotient),
            true => self.signed_divide(a, b, quotient),
        };
        self.copy(dest, result.part(0, dest.width));
        Ok(())
    }

    fn widened(&mut self, src: Src, scalar: Scalar, signed: bool) -> Src {
        if scalar == Scalar::I32 {
            return src;
        }
        if let Some(bits) = src.known() {
            let number = match signed {
                true => assay_num::int::signed(bits, scalar.bits()) as u32,
                false => (bits & scalar.mask()) as u32,
            };
            return Src::Const(u64::from(number), Width::W32);
        }
        let wide = self.temp(Width::W32);
        match signed {
            false => self.zero_extend_into(wide, src),
            true => {
                let source = IntSrc { src, sx: true };
                let operand = self.int_operand(source);
                self.op(Op::Iadd, wide, &[operand, crate::lower::operand::imm(0)]);
            }
        }
        Src::Reg(wide)
    }

    fn magnitude(&mut self, a: Src) -> (Src, Condition) {
        let negated = self.temp(Width::W32);
        self.sub_into(negated, ZERO, a);
        let negative = self.int_compare(IntCond::Slt, a, ZERO);
        let result = self.temp(Width::W32);
        self.select_into(result, negative, Src::Reg(negated), a);
        (Src::Reg(result), negative)
    }

    fn signed_divide(&mut self, a: Src, b: Src, quotient: bool) -> Src {
        if let Some(divisor) = b.known().map(|bits| bits as u32 as i32)
            && divisor != 0
        {
            return self.signed_divide_by_known(a, divisor, quotient);
        }
        let ((x, a_negative), (y, _)) = (self.magnitude(a), self.magnitude(b));
        let result = self.unsigned_divide(x, y, quotient);
        let negated = self.temp(Width::W32);
        self.sub_into(negated, ZERO, result);
        let signed = self.temp(Width::W32);
        if !quotient {
            self.select_into(signed, a_negative, Src::Reg(negated), result);
            return Src::Reg(signed);
        }
        let differ = self.temp(Width::W32);
        let (p, q) = (self.operand(a), self.operand(b));
        self.bitop(crate::lower::integer::arithmetic::XOR, differ, p, q);
        let negative = self.int_compare(IntCond::Slt, Src::Reg(differ), ZERO);
        self.select_into(signed, negative, Src::Reg(negated), result);
        // By zero: −1, whatever the sign.
        let checked = self.temp(Width::W32);
        let by_zero = self.int_compare(IntCond::Eq, b, ZERO);
        let all = Src::Const(u64::from(u32::MAX), Width::W32);
        self.select_into(checked, by_zero, all, Src::Reg(signed));
        Src::Reg(checked)
    }

    /// The upper half of a product.
    pub(in crate::lower) fn mul_high(&mut self, a: Src, b: Src, signed: bool) -> Src {
        let product = self.temp(Width::W64);
        let source = |src| IntSrc { src, sx: signed };
        self.wide_mul_add(product, source(a), source(b), Self::bare(ZERO));
        Src::Reg(word(product, 1))
    }

    fn unsigned_divide(&mut self, x: Src, y: Src, quotient: bool) -> Src {
        if let Some(divisor) = y.known()
            && divisor != 0
        {
            return self.divide_by_known(x, divisor as u32, quotient);
        }
        let float = self.temp(Width::W32);
        let operand = self.operand(y);
        self.convert_inst(10, true, float, operand);
        let reciprocal = self.temp(Width::W32);
        self.float_op(Op::Rcp, reciprocal, &[FloatSrc::plain(Src::Reg(float))]);
        // 2³² less a little, so that the estimate is never too large.
        let scaled = self.temp(Width::W32);
        let below = FloatSrc::plain(Src::Const(0x4f7f_fffe, Width::W32));
        let sources = [FloatSrc::plain(Src::Reg(reciprocal)), below];
        self.float_op(Op::Fmul32, scaled, &sources);
        let estimate = self.temp(Width::W32);
        let operand = self.operand(Src::Reg(scaled));
        self.convert_inst(8, false, estimate, operand);
        // z += z · (−y · z) >> 32
        let negated = self.temp(Width::W32);
        self.sub_into(negated, ZERO, y);
        let error = self.temp(Width::W32);
        self.mul_add_into(error, Src::Reg(negated), Src::Reg(estimate), ZERO);
        let step = self.mul_high(Src::Reg(estimate), Src::Reg(error), false);
        let better = self.temp(Width::W32);
        self.add_into(better, Src::Reg(estimate), step);
        let q = self.mul_high(x, Src::Reg(better), false);
        let rest = self.temp(Width::W32);
        self.mul_add_into(rest, Src::Reg(negated), q, x);
        self.corrected(x, y, q, Src::Reg(rest), quotient)
    }

    /// Two corrections of a quotient that may be too small, and division by zero.
    fn corrected(&mut self, x: Src, y: Src, q: Src, rest: Src, quotient: bool) -> Src {
        let (mut q, mut rest) = (q, rest);
        for last in [false, true] {
            let enough = self.int_compare(IntCond::Uge, rest, y);
            if quotient {
                let more = self.temp(Width::W32);
                self.add_into(more, q, Src::Const(1, Width::W32));
                let chosen = self.temp(Width::W32);
                self.select_into(chosen, enough, Src::Reg(more), q);
                q = Src::Reg(chosen);
            }
            if !(quotient && last) {
                let less = self.temp(Width::W32);
                self.sub_into(less, rest, y);
                let chosen = self.temp(Width::W32);
                self.select_into(chosen, enough, Src::Reg(less), rest);
                rest = Src::Reg(chosen);
            }
        }
        let by_zero = self.int_compare(IntCond::Eq, y, ZERO);
        let result = self.temp(Width::W32);
        match quotient {
            true => {
                let all = Src::Const(u64::from(u32::MAX), Width::W32);
                self.select_into(result, by_zero, all, q);
            }
            false => self.select_into(result, by_zero, x, rest),
        }
        Src::Reg(result)
    }

    /// Division by a constant: a product with its reciprocal (Granlund and Montgomery).
    fn divide_by_known(&mut self, x: Src, divisor: u32, quotient: bool) -> Src {
        let q = self.quotient_by_known(x, divisor);
        if quotient {
            return q;
        }
        if divisor.is_power_of_two() {
            let rest = self.temp(Width::W32);
            self.mask_into(rest, x, u64::from(divisor - 1));
            return Src::Reg(rest);
        }
        let rest = self.temp(Width::W32);
        let negated = Src::Const(u64::from(divisor.wrapping_neg()), Width::W32);
        self.mul_add_into(rest, q, negated, x);
        Src::Reg(rest)
    }

    fn quotient_by_known(&mut self, x: Src, divisor: u32) -> Src {
        let by = |amount: u32| Src::Const(u64::from(amount), Width::W16);
        if divisor == 1 {
            return x;
        }
        let q = self.temp(Width::W32);
        if divisor.is_power_of_two() {
            self.shr_into(q, x, by(divisor.trailing_zeros()));
            return Src::Reg(q);
        }
        // The smallest shift for which ⌈2^(32+s) / d⌉ is close enough; the factor then has
        // up to 33 bits, of which the highest is added separately.
        let shift = 32 - (divisor - 1).leading_zeros();
        let power = 1u128 << (32 + shift);
        let factor = power.div_ceil(u128::from(divisor));
        let low = Src::Const((factor & 0xffff_ffff) as u64, Width::W32);
        let high = self.mul_high(x, low, false);
        // q = (((x − h) >> 1) + h) >> (shift − 1)
        let difference = self.temp(Width::W32);
        self.sub_into(difference, x, high);
        let halved = self.temp(Width::W32);
        self.shr_into(halved, Src::Reg(difference), by(1));
        let sum = self.temp(Width::W32);
        self.add_into(sum, Src::Reg(halved), high);
        self.shr_into(q, Src::Reg(sum), by(shift - 1));
        Src::Reg(q)
    }

    /// Signed division by a constant, towards zero.
    fn signed_divide_by_known(&mut self, x: Src, divisor: i32, quotient: bool) -> Src {
        let magnitude = divisor.unsigned_abs();
        let q = self.signed_quotient_by_known(x, magnitude);
        let result = self.temp(Width::W32);
        if !quotient {
            let negated = Src::Const(u64::from(magnitude.wrapping_neg()), Width::W32);
            self.mul_add_into(result, q, negated, x);
            return Src::Reg(result);
        }
        if divisor > 0 {
            return q;
        }
        self.sub_into(result, ZERO, q);
        Src::Reg(result)
    }

    /// The same method with a signed product.
    fn signed_quotient_by_known(&mut self, x: Src, divisor: u32) -> Src {
        let by = |amount: u32| Src::Const(u64::from(amount), Width::W16);
        if divisor == 1 {
            return x;
        }
        let shift = 32 - (divisor - 1).leading_zeros();
        let q = self.temp(Width::W32);
        let sum = self.temp(Width::W32);
        if divisor.is_power_of_two() {
            // Negative numbers are rounded up.
            let (sign, almost) = (self.temp(Width::W32), self.temp(Width::W32));
            self.asr_into(sign, x, by(31));
            self.shr_into(almost, Src::Reg(sign), by(32 - shift));
            self.add_into(sum, x, Src::Reg(almost));
            self.asr_into(q, Src::Reg(sum), by(shift));
            return Src::Reg(q);
        }
        // q = ((x · m >> 32) + x >> (s − 1)) + (x < 0), m = ⌊2^(31+s) / d⌋ + 1 − 2³²
        let factor = (1u64 << (31 + shift)) / u64::from(divisor) + 1;
        let low = Src::Const(factor & 0xffff_ffff, Width::W32);
        let high = self.mul_high(x, low, true);
        self.add_into(sum, high, x);
        let floor = self.temp(Width::W32);
        self.asr_into(floor, Src::Reg(sum), by(shift - 1));
        let negative = self.temp(Width::W32);
        self.shr_into(negative, x, by(31));
        self.add_into(q, Src::Reg(floor), Src::Reg(negative));
        Src::Reg(q)
    }

    /// 64-bit division.
    pub(in crate::lower) fn wide_divide_into(
        &mut self,
        op: BinaryOp,
        a: Src,
        b: Src,
        dest: Slice,
    ) -> Done {
        let quotient = matches!(op, BinaryOp::UDiv | BinaryOp::SDiv);
        if matches!(op, BinaryOp::UDiv | BinaryOp::URem) {
            let result = self.wide_unsigned_divide(a, b, quotient);
            self.copy(dest, result);
            return Ok(());
        }
        let ((x, a_negative), (y, _)) = (self.wide_magnitude(a), self.wide_magnitude(b));
        let result = self.wide_unsigned_divide(x, y, quotient);
        let negated = self.temp(Width::W64);
        self.wide_negate(negated, result);
        if !quotient {
            self.choose_into(dest, a_negative, Src::Reg(negated), result);
            return Ok(());
        }
        let differ = self.temp(Width::W32);
        let (p, q) = (self.operand(a.high()), self.operand(b.high()));
        self.bitop(crate::lower::integer::arithmetic::XOR, differ, p, q);
        let negative = self.int_compare(IntCond::Slt, Src::Reg(differ), ZERO);
        let signed = self.temp(Width::W64);
        self.choose_into(signed, negative, Src::Reg(negated), result);
        self.unless_zero(dest, b, ALL, Src::Reg(signed));
        Ok(())
    }

    /// `dest = divisor == 0 ? otherwise : result`.
    fn unless_zero(&mut self, dest: Slice, divisor: Src, otherwise: Src, result: Src) {
        if divisor.known().is_some_and(|bits| bits != 0) {
            return self.copy(dest, result);
        }
        let by_zero = self.wide_compare(IntCond::Eq, divisor, Src::Const(0, Width::W64));
        let otherwise = Src::Reg(self.reg(otherwise));
        self.choose_into(dest, by_zero, otherwise, result);
    }

    /// The same way as for 32 bits, with an estimate of `2⁶⁴ / y` and two steps.
    fn wide_unsigned_divide(&mut self, x: Src, y: Src, quotient: bool) -> Src {
        let mut reciprocal = self.wide_reciprocal(y);
        let negated = self.temp(Width::W64);
        self.wide_negate(negated, y);
        for _ in 0..2 {
            let error = self.temp(Width::W64);
            self.wide_mul_into(error, Src::Reg(negated), reciprocal);
            let step = self.temp(Width::W64);
            self.wide_mul_high(step, reciprocal, Src::Reg(error));
            let better = self.temp(Width::W64);
            let (p, q) = (Self::bare(reciprocal), Self::bare(Src::Reg(step)));
            self.wide_sum(Op::Iadd, better, p, q, 0);
            reciprocal = Src::Reg(better);
        }
        let estimate = self.temp(Width::W64);
        self.wide_mul_high(estimate, x, reciprocal);
        let product = self.temp(Width::W64);
        self.wide_mul_into(product, Src::Reg(estimate), y);
        let rest = self.temp(Width::W64);
        let (p, q) = (Self::bare(x), Self::bare(Src::Reg(product)));
        self.wide_sum(Op::Isub, rest, p, q, 0);
        let (mut q, mut rest) = (Src::Reg(estimate), Src::Reg(rest));
        let one = Self::bare(Src::Const(1, Width::W32));
        for last in [false, true] {
            let enough = self.wide_compare(IntCond::Uge, rest, y);
            if quotient {
                let more = self.temp(Width::W64);
                self.wide_sum(Op::Iadd, more, Self::bare(q), one, 0);
                let chosen = self.temp(Width::W64);
                self.choose_into(chosen, enough, Src::Reg(more), q);
                q = Src::Reg(chosen);
            }
            if !(quotient && last) {
                let less = self.temp(Width::W64);
                self.wide_sum(Op::Isub, less, Self::bare(rest), Self::bare(y), 0);
                let chosen = self.temp(Width::W64);
                self.choose_into(chosen, enough, Src::Reg(less), rest);
                rest = Src::Reg(chosen);
            }
        }
        let result = self.temp(Width::W64);
        match quotient {
            true => self.unless_zero(result, y, ALL, q),
            false => self.unless_zero(result, y, x, rest),
        }
        Src::Reg(result)
    }

    /// `2⁶⁴ / y` estimated in single precision, from slightly below.
    fn wide_reciprocal(&mut self, y: Src) -> Src {
        let float = |bits: u64| FloatSrc::plain(Src::Const(bits, Width::W32));
        let (low, high) = (self.temp(Width::W32), self.temp(Width::W32));
        for (part, to) in [(y.low(), low), (y.high(), high)] {
            let operand = self.operand(part);
            self.convert_inst(10, true, to, operand);
        }
        let (low, high) = (
            FloatSrc::plain(Src::Reg(low)),
            FloatSrc::plain(Src::Reg(high)),
        );
        let whole = self.temp(Width::W32);
        self.float_op(Op::Fmadd32, whole, &[high, float(0x4f80_0000), low]);
        let inverse = self.temp(Width::W32);
        self.float_op(Op::Rcp, inverse, &[FloatSrc::plain(Src::Reg(whole))]);
        let scaled = self.temp(Width::W32);
        let inverse = FloatSrc::plain(Src::Reg(inverse));
        self.float_op(Op::Fmul32, scaled, &[inverse, float(0x5f7f_fffc)]);
        let scaled = FloatSrc::plain(Src::Reg(scaled));
        let upper = self.temp(Width::W32);
        self.float_op(Op::Fmul32, upper, &[scaled, float(0x2f80_0000)]);
        let top = self.temp(Width::W32);
        self.float_op(Op::Trunc, top, &[FloatSrc::plain(Src::Reg(upper))]);
        let top = FloatSrc::plain(Src::Reg(top));
        let lower = self.temp(Width::W32);
        self.float_op(Op::Fmadd32, lower, &[top, float(0xcf80_0000), scaled]);
        let estimate = self.temp(Width::W64);
        for (index, part) in [(0, Src::Reg(lower)), (1, top.src)] {
            let operand = self.operand(part);
            self.convert_inst(8, false, word(estimate, index), operand);
        }
        Src::Reg(estimate)
    }
}
