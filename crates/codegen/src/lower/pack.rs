//! Normalised integers in a word.

use super::operand::{FloatSrc, Src, float_code, imm, used};
use super::select::{Done, Lowerer};
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{Scalar, Value};

fn constant(value: f32) -> FloatSrc {
    FloatSrc::plain(Src::Const(u64::from(value.to_bits()), Width::W32))
}

impl Lowerer<'_> {
    /// A packing or unpacking; nothing if there is no code for it.
    pub(super) fn packing(
        &mut self,
        builtin: Builtin,
        args: &[Value],
        result: Value,
    ) -> Done<bool> {
        let (count, signed, packs) = match builtin {
            Builtin::PackUnorm4x8 => (4, false, true),
            Builtin::PackSnorm4x8 => (4, true, true),
            Builtin::PackUnorm2x16 => (2, false, true),
            Builtin::PackSnorm2x16 => (2, true, true),
            Builtin::UnpackUnorm4x8 => (4, false, false),
            Builtin::UnpackSnorm4x8 => (4, true, false),
            Builtin::UnpackUnorm2x16 => (2, false, false),
            Builtin::UnpackSnorm2x16 => (2, true, false),
            _ => return Ok(false),
        };
        let Some(&arg) = args.first() else {
            return Ok(false);
        };
        if packs {
            self.pack(arg, count, signed, result)?;
        } else {
            self.unpack(arg, count, signed, result)?;
        }
        Ok(true)
    }

    fn pack(&mut self, arg: Value, count: u32, signed: bool, result: Value) -> Done {
        let bits = 32 / count;
        let largest = (1u32 << (bits - u32::from(signed))) - 1;
        let Some((_, dest)) = self.needed(result).first().copied() else {
            return Ok(());
        };
        let mut word = Src::Const(0, Width::W32);
        for lane in 0..count {
            let source = self.single(arg, lane)?;
            let clamped = self.clamped(source, signed);
            let scaled = self.temp(Width::W32);
            self.float_op(Op::Fmul32, scaled, &[clamped, constant(largest as f32)]);
            let whole = self.temp(Width::W32);
            self.float_op(Op::Rint, whole, &[FloatSrc::plain(Src::Reg(scaled))]);
            let number = self.temp(Width::W32);
            self.convert_inst(if signed { 9 } else { 8 }, false, number, used(whole));
            let field = self.temp(Width::W32);
            self.mask_into(field, Src::Reg(number), u64::from(u32::MAX >> (32 - bits)));
            // What is below stays.
            let next = if lane + 1 == count {
                dest
            } else {
                self.temp(Width::W32)
            };
            let sources = [self.operand(word), used(field), imm(i64::from(lane * bits))];
            self.op(Op::Bfi, next, &sources);
            word = Src::Reg(next);
        }
        Ok(())
    }

    /// In [0, 1] or [−1, 1]; NaN becomes 0.
    fn clamped(&mut self, source: FloatSrc, signed: bool) -> FloatSrc {
        let clamped = self.temp(Width::W32);
        if !signed {
            let nothing = FloatSrc::plain(super::float::arithmetic::NOTHING);
            self.saturated_op(Op::Fadd32, clamped, &[source, nothing]);
            return FloatSrc::plain(Src::Reg(clamped));
        }
        let single = self.as_single(source);
        let number = FloatSrc::plain(single);
        let real = self.temp(Width::W32);
        let test = self.float_compare(float_code::EQUAL, false, number, number);
        self.select_into(real, test, single, Src::Const(0, Width::W32));
        let (low, high) = (constant(-1.0), constant(1.0));
        let above = self.temp(Width::W32);
        let real = FloatSrc::plain(Src::Reg(real));
        let test = self.float_compare(float_code::GREATER, false, real, low);
        self.select_into(above, test, real.src, low.src);
        let above = FloatSrc::plain(Src::Reg(above));
        let test = self.float_compare(float_code::LESS, false, above, high);
        self.select_into(clamped, test, above.src, high.src);
        FloatSrc::plain(Src::Reg(clamped))
    }

    fn unpack(&mut self, arg: Value, count: u32, signed: bool, result: Value) -> Done {
        let bits = 32 / count;
        let largest = (1u32 << (bits - u32::from(signed))) - 1;
        let scalar = self.scalar_type(result).unwrap_or(Scalar::F32);
        let word = self.scalar(arg)?;
        for (lane, dest) in self.needed(result) {
            let at = Src::Const(u64::from(lane * bits), Width::W16);
            let field = self.temp(Width::W32);
            self.extract_into(field, word, at, bits);
            let number = self.extended(field, bits, signed);
            let single = self.temp(Width::W32);
            let mode = if signed { 11 } else { 10 };
            self.convert_inst(mode, true, single, used(number));
            let quotient = self.over(FloatSrc::plain(Src::Reg(single)), largest as f32);
            let value = match signed {
                false => quotient,
                true => {
                    // The lowest number is −1 too.
                    let low = constant(-1.0);
                    let above = self.temp(Width::W32);
                    let source = FloatSrc::plain(quotient);
                    let test = self.float_compare(float_code::GREATER, false, source, low);
                    self.select_into(above, test, quotient, low.src);
                    Src::Reg(above)
                }
            };
            self.narrow_into(dest, scalar, value);
        }
        Ok(())
    }

    fn extended(&mut self, field: Slice, bits: u32, signed: bool) -> Slice {
        if !signed {
            return field;
        }
        let by = Src::Const(u64::from(32 - bits), Width::W16);
        let (up, down) = (self.temp(Width::W32), self.temp(Width::W32));
        self.shl_into(up, Src::Reg(field), by);
        self.asr_into(down, Src::Reg(up), by);
        down
    }

    /// A quotient of an integer of up to 16 bits and a constant, correctly rounded: a
    /// product with the reciprocal and one correction (Markstein).
    fn over(&mut self, x: FloatSrc, divisor: f32) -> Src {
        let inverse = constant(1.0 / divisor);
        let first = self.temp(Width::W32);
        self.float_op(Op::Fmul32, first, &[x, inverse]);
        let first = FloatSrc::plain(Src::Reg(first));
        let rest = self.temp(Width::W32);
        let sources = [first.negated(), constant(divisor), x];
        self.float_op(Op::Fmadd32, rest, &sources);
        let quotient = self.temp(Width::W32);
        let rest = FloatSrc::plain(Src::Reg(rest));
        self.float_op(Op::Fmadd32, quotient, &[rest, inverse, first]);
        Src::Reg(quotient)
    }
}
