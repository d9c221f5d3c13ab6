//! Integer division and remainder, from an estimate of the reciprocal.
//!
//! For unsigned 32-bit numbers: `z = 2³² / y` is estimated in single precision, from
//! slightly below, and improved by one step of Newton's iteration in integers; then
//! `x · z >> 32` is the quotient or at most two less, which two corrections repair.

use super::operand::{Condition, FloatSrc, IntSrc, Src};
use super::select::{Done, Lowerer};
use super::wide::word;
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{BinaryOp, IntCond, Scalar};

const ZERO: Src = Src::Const(0, Width::W32);

impl Lowerer<'_> {
    /// A division or remainder of at most 32 bits.
    pub(super) fn divide_into(
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
        let wide = self.temp(Width::W32);
        match signed {
            false => self.zero_extend_into(wide, src),
            true => {
                let source = IntSrc { src, sx: true };
                let operand = self.int_operand(source);
                self.op(Op::Iadd, wide, &[operand, super::operand::imm(0)]);
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
        self.bitop(super::int::XOR, differ, p, q);
        let negative = self.int_compare(IntCond::Slt, Src::Reg(differ), ZERO);
        self.select_into(signed, negative, Src::Reg(negated), result);
        // By zero: −1, whatever the sign.
        let known = b.known().is_some_and(|bits| bits != 0);
        if known {
            return Src::Reg(signed);
        }
        let checked = self.temp(Width::W32);
        let by_zero = self.int_compare(IntCond::Eq, b, ZERO);
        let all = Src::Const(u64::from(u32::MAX), Width::W32);
        self.select_into(checked, by_zero, all, Src::Reg(signed));
        Src::Reg(checked)
    }

    /// The upper half of a product.
    pub(super) fn mul_high(&mut self, a: Src, b: Src, signed: bool) -> Src {
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

    /// 64-bit division.
    pub(super) fn wide_divide_into(
        &mut self,
        op: BinaryOp,
        _a: Src,
        _b: Src,
        _dest: Slice,
    ) -> Done {
        self.unsupported(format!("a 64-bit {}", op.name()))
    }
}
