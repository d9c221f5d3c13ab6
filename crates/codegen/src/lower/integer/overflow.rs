//! Sums, differences and products that say whether they left their type.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{Condition, IntSrc, Src};
use crate::lower::select::{Done, Lowerer};
use assay_agx::{Op, Width};
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};
use assay_ssa::{IntCond, Scalar, Value};

const ZERO: Src = Src::Const(0, Width::W32);

impl Lowerer<'_> {
    /// The numbers of such a result, wrapped, and behind them the truth values.
    pub(in crate::lower) fn overflowing(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Value,
    ) -> Done<bool> {
        let &[a, b] = args else { return Ok(false) };
        let Some(scalar) = self.scalar_type(a) else {
            return Ok(false);
        };
        let signed = call.sign == Sign::Signed;
        let lanes = u32::from(self.function.ty(a).lanes()).max(1);
        for (place, dest) in self.needed(result) {
            let lane = place % lanes;
            let numbers = [self.src(a, lane)?, self.src(b, lane)?];
            let (wrapped, beyond) = match scalar {
                Scalar::I64 => self.pair_and_overflow(call.builtin, signed, numbers),
                Scalar::I32 => self.word_and_overflow(call.builtin, signed, numbers),
                _ => self.part_and_overflow(call.builtin, signed, scalar, numbers),
            };
            match place < lanes {
                true => self.copy(dest, wrapped),
                false => self.truth_into(dest, beyond),
            }
        }
        Ok(true)
    }

    /// Of 8 or 16 bits: exact in 32.
    fn part_and_overflow(
        &mut self,
        builtin: Builtin,
        signed: bool,
        scalar: Scalar,
        numbers: [Src; 2],
    ) -> (Src, Condition) {
        let [a, b] = numbers.map(|number| self.in_word(number, scalar, signed));
        let exact = self.temp(Width::W32);
        match builtin {
            Builtin::AddOverflow => self.add_into(exact, a, b),
            Builtin::SubOverflow => self.sub_into(exact, a, b),
            _ => self.mul_add_into(exact, a, b, ZERO),
        }
        let wrapped = self.temp(Width::W16);
        self.cut_into(wrapped, Src::Reg(exact), scalar);
        let again = self.in_word(Src::Reg(wrapped), scalar, signed);
        let beyond = self.int_compare(IntCond::Ne, again, Src::Reg(exact));
        (Src::Reg(wrapped), beyond)
    }

    /// Of 32 bits: exact in 64.
    fn word_and_overflow(
        &mut self,
        builtin: Builtin,
        signed: bool,
        numbers: [Src; 2],
    ) -> (Src, Condition) {
        let [a, b] = numbers.map(|src| IntSrc { src, sx: signed });
        let exact = self.temp(Width::W64);
        match builtin {
            Builtin::AddOverflow => self.wide_sum(Op::Iadd, exact, a, b, 0),
            Builtin::SubOverflow => self.wide_sum(Op::Isub, exact, a, b, 0),
            _ => self.wide_mul_add(exact, a, b, Self::bare(ZERO)),
        }
        let (low, high) = (Src::Reg(word(exact, 0)), Src::Reg(word(exact, 1)));
        let mut above = ZERO;
        if signed {
            let sign = self.temp(Width::W32);
            self.asr_into(sign, low, Src::Const(31, Width::W16));
            above = Src::Reg(sign);
        }
        (low, self.int_compare(IntCond::Ne, high, above))
    }

    fn pair_and_overflow(
        &mut self,
        builtin: Builtin,
        signed: bool,
        [a, b]: [Src; 2],
    ) -> (Src, Condition) {
        let wrapped = self.temp(Width::W64);
        let op = match builtin {
            Builtin::AddOverflow => Op::Iadd,
            Builtin::SubOverflow => Op::Isub,
            _ => {
                let upper = self.temp(Width::W64);
                self.wide_high(upper, signed, a, b);
                self.wide_mul_into(wrapped, a, b);
                let beyond = self.wide_product_leaves(signed, upper, wrapped);
                return (Src::Reg(wrapped), beyond);
            }
        };
        self.wide_sum(op, wrapped, Self::bare(a), Self::bare(b), 0);
        let beyond = self.wide_sum_leaves(op, signed, [a, b], wrapped);
        (Src::Reg(wrapped), beyond)
    }
}
