//! Conversions between 64-bit integers and floats.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{FloatSrc, Src};
use crate::lower::select::{Done, Lowerer};
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{BinaryOp, IntCond, Scalar, Value};

const ZERO: Src = Src::Const(0, Width::W32);

impl Lowerer<'_> {
    /// A 64-bit number as a float, rounded once.
    pub(in crate::lower) fn wide_to_float(
        &mut self,
        arg: Value,
        lane: u32,
        to: Scalar,
        signed: bool,
        dest: Slice,
    ) -> Done {
        if let Some(narrow) = self.narrow_factor(arg, lane)?
            && narrow.src.width() == Width::W32
            && narrow.sx == signed
        {
            let single = self.single_dest(to, dest);
            let operand = self.operand(narrow.src);
            let mode = if signed { 11 } else { 10 };
            self.convert_inst(mode, true, single, operand);
            self.single_done(to, dest, single);
            return Ok(());
        }
        let a = self.src(arg, lane)?;
        let (magnitude, negative) = match signed {
            true => {
                let (magnitude, negative) = self.wide_magnitude(a);
                (magnitude, Some(negative))
            }
            false => (a, None),
        };
        // Normalised so that the highest bit is bit 63; the rest below 32 bits is folded
        // into the last bit, so that one rounding remains.
        let zeros = self.wide_leading_zeros(magnitude);
        let shifted = self.temp(Width::W64);
        self.wide_shift_into(BinaryOp::Shl, shifted, magnitude, zeros);
        let rest = self.int_compare(IntCond::Ne, Src::Reg(word(shifted, 0)), ZERO);
        let sticky = self.temp(Width::W32);
        self.select_into(sticky, rest, Src::Const(1, Width::W32), ZERO);
        let top = self.temp(Width::W32);
        let (x, y) = (
            self.operand(Src::Reg(word(shifted, 1))),
            self.operand(Src::Reg(sticky)),
        );
        self.bitop(crate::lower::integer::arithmetic::OR, top, x, y);
        let float = self.temp(Width::W32);
        let operand = self.operand(Src::Reg(top));
        self.convert_inst(10, true, float, operand);
        // float · 2^(32 − zeros), exact: an exponent is added.
        let exponent = self.temp(Width::W32);
        self.sub_into(exponent, Src::Const(32, Width::W32), zeros);
        let field = self.temp(Width::W32);
        self.shl_into(field, Src::Reg(exponent), Src::Const(23, Width::W16));
        let scaled = self.temp(Width::W32);
        self.add_into(scaled, Src::Reg(float), Src::Reg(field));
        let nonzero = self.temp(Width::W32);
        let test = self.int_compare(IntCond::Eq, Src::Reg(top), ZERO);
        self.select_into(nonzero, test, ZERO, Src::Reg(scaled));
        let signed_result = match negative {
            None => nonzero,
            Some(negative) => {
                let flipped = self.temp(Width::W32);
                self.settle_into(flipped, FloatSrc::plain(Src::Reg(nonzero)).negated());
                let result = self.temp(Width::W32);
                self.select_into(result, negative, Src::Reg(flipped), Src::Reg(nonzero));
                result
            }
        };
        self.narrow_into(dest, to, Src::Reg(signed_result));
        Ok(())
    }

    /// Leading zeros of a 64-bit number, 63 at most.
    pub(in crate::lower) fn wide_leading_zeros(&mut self, a: Src) -> Src {
        // 31 − highest of high, or 63 − highest of low.
        let highest = |lowerer: &mut Self, src: Src| {
            let found = lowerer.temp(Width::W16);
            let operand = lowerer.operand(src);
            lowerer.op(Op::Ffs, found, &[operand]);
            Src::Reg(found)
        };
        let (of_high, of_low) = (highest(self, a.high()), highest(self, a.low()));
        let by = |amount: u64| Src::Const(amount, Width::W16);
        let upper = self.temp(Width::W16);
        self.sub_into(upper, by(31), of_high);
        let lower = self.temp(Width::W16);
        self.sub_into(lower, by(63), of_low);
        let zeros = self.temp(Width::W16);
        let test = self.int_compare(IntCond::Eq, a.high(), ZERO);
        self.select_into(zeros, test, Src::Reg(lower), Src::Reg(upper));
        let cut = self.temp(Width::W16);
        self.mask_into(cut, Src::Reg(zeros), 63);
        Src::Reg(cut)
    }

    /// A single as a 64-bit integer, saturating; NaN gives 0.
    pub(in crate::lower) fn float_to_wide(&mut self, src: Src, signed: bool, dest: Slice) -> Done {
        let single = self.as_single(FloatSrc::plain(src));
        let magnitude = FloatSrc::plain(single).magnitude();
        // high = trunc(|x| · 2⁻³²), low = trunc(|x| − high · 2³²): both exact.
        let constant = |value: f32| FloatSrc::plain(Src::Const(value.to_bits().into(), Width::W32));
        let whole = self.temp(Width::W32);
        self.float_op(Op::Trunc, whole, &[magnitude]);
        let scaled = self.temp(Width::W32);
        let whole = FloatSrc::plain(Src::Reg(whole));
        self.float_op(Op::Fmul32, scaled, &[whole, constant(2f32.powi(-32))]);
        let upper = self.temp(Width::W32);
        self.float_op(Op::Trunc, upper, &[FloatSrc::plain(Src::Reg(scaled))]);
        let lower = self.temp(Width::W32);
        let upper = FloatSrc::plain(Src::Reg(upper));
        let sources = [upper.negated(), constant(2f32.powi(32)), whole];
        self.float_op(Op::Fmadd32, lower, &sources);
        let pair = self.temp(Width::W64);
        for (index, part) in [(0, Src::Reg(lower)), (1, upper.src)] {
            let operand = self.operand(part);
            self.convert_inst(8, false, word(pair, index), operand);
        }
        let big = if signed { 2f32.powi(63) } else { 2f32.powi(64) };
        let most = if signed { i64::MAX as u64 } else { u64::MAX };
        let clamped = self.temp(Width::W64);
        let test = self.float_compare(
            crate::lower::operand::float_code::GREATER_EQUAL,
            false,
            magnitude,
            constant(big),
        );
        let limit = Src::Const(most, Width::W64);
        let limit = Src::Reg(self.reg(limit));
        self.choose_into(clamped, test, limit, Src::Reg(pair));
        let zero = Src::Const(0, Width::W64);
        let negative = self.float_compare(
            crate::lower::operand::float_code::LESS,
            false,
            FloatSrc::plain(single),
            constant(0.0),
        );
        if !signed {
            self.choose_into(dest, negative, zero, Src::Reg(clamped));
            return Ok(());
        }
        let flipped = self.temp(Width::W64);
        self.wide_negate(flipped, Src::Reg(clamped));
        // The lowest number is one further than the highest.
        let lowest = self.temp(Width::W64);
        let floor = Src::Const(1 << 63, Width::W64);
        let floor = Src::Reg(self.reg(floor));
        self.choose_into(lowest, test, floor, Src::Reg(flipped));
        self.choose_into(dest, negative, Src::Reg(lowest), Src::Reg(clamped));
        Ok(())
    }
}
