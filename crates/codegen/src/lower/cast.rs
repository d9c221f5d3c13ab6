//! Conversions.

use super::operand::{FloatSrc, Src, choice, width_of};
use super::select::{Done, Lowerer};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, List, Op, Width};
use assay_ssa::{BinaryOp, CastOp, InstData, Scalar, Type, Value};

/// Numbers of conversions.
mod mode {
    pub(super) const U8_TO_F: u8 = 0;
    pub(super) const S8_TO_F: u8 = 1;
    pub(super) const F_TO_U16: u8 = 4;
    pub(super) const F_TO_S16: u8 = 5;
    pub(super) const U16_TO_F: u8 = 6;
    pub(super) const S16_TO_F: u8 = 7;
    pub(super) const F_TO_U32: u8 = 8;
    pub(super) const F_TO_S32: u8 = 9;
    pub(super) const U32_TO_F: u8 = 10;
    pub(super) const S32_TO_F: u8 = 11;
}

impl Lowerer<'_> {
    pub(super) fn convert_inst(&mut self, mode: u8, nearest: bool, dest: Slice, a: Operand) {
        let inst = Inst::new(Op::Convert)
            .with(Field::Mode, choice(List::ConvertMode, mode))
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::A, a)
            .with(Field::Round, choice(List::Round, u8::from(nearest)));
        self.push(inst);
    }

    /// A single that only this rounds to a half: the operation that makes it can write the half, rounded twice like this.
    /// Returns true if that was done.
    fn rounded_result(&mut self, arg: Value, lane: u32, dest: Slice) -> Done<bool> {
        if self.scalar_type(arg) != Some(Scalar::F32) || !self.is_made_here(arg) {
            return Ok(false);
        }
        // Of a vector, each number is rounded by this conversion alone if nothing stands between the two.
        let direct = self.uses[arg] == 1 && self.definition(arg, lane)? == Some((arg, lane));
        let behind = match direct {
            true => self.function.def_data(arg).map(|data| (*data, lane)),
            false => self.behind_once(arg, lane)?,
        };
        match behind {
            Some((InstData::Binary { op, args, .. }, at))
                if matches!(op, BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul) =>
            {
                self.float_binary(op, Scalar::F32, args, at, dest)?;
            }
            Some((InstData::Ternary { args, .. }, at)) => {
                self.float_ternary(Scalar::F32, args, at, dest)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns true if the instruction behind a value is in the block being selected.
    fn is_made_here(&self, value: Value) -> bool {
        let inst = self.function.def_inst(value);
        inst.is_some_and(|inst| self.inst_blocks[inst] == self.block)
    }

    /// One number of a conversion.
    pub(super) fn cast(
        &mut self,
        op: CastOp,
        arg: Value,
        result: Type,
        lane: u32,
        dest: Slice,
    ) -> Done {
        let number = |ty: Type| match ty.is_pointer() {
            true => Some(Scalar::I64),
            false => ty.element(),
        };
        let (Some(from), Some(to)) = (number(self.function.ty(arg)), number(result)) else {
            return self.unsupported(format!("a conversion to {result}"));
        };
        match op {
            CastOp::Trunc => {
                let src = self.src(arg, lane)?.part(0, Width::W16);
                self.mask_into(dest, src, to.mask());
            }
            CastOp::ZExt | CastOp::IntToPtr | CastOp::PtrToInt => {
                let src = self.src(arg, lane)?;
                self.zero_extend_into(dest, src);
            }
            CastOp::SExt => {
                let src = self.src(arg, lane)?;
                self.sign_extend_into(dest, src, from, to);
            }
            CastOp::FConvert if (from, to) == (Scalar::BF16, Scalar::F32) => {
                let src = self.src(arg, lane)?;
                self.widen_brain_into(dest, src);
            }
            CastOp::FConvert if to == Scalar::F16 && self.rounded_result(arg, lane, dest)? => {}
            CastOp::FConvert => {
                let single = match from {
                    Scalar::BF16 => self.brain_single(arg, lane)?,
                    _ => self.float(arg, lane)?,
                };
                match to {
                    Scalar::BF16 => {
                        let single = self.as_single(single);
                        self.round_to_brain(dest, single);
                    }
                    _ => self.float_move(dest, single),
                }
            }
            CastOp::FToU | CastOp::FToS => {
                let source = self.single(arg, lane)?;
                self.float_to_int(source, to, op == CastOp::FToS, dest)?;
            }
            CastOp::UToF | CastOp::SToF => {
                self.int_to_float(arg, lane, (from, to), op == CastOp::SToF, dest)?;
            }
            CastOp::Bitcast => return self.repack(arg, from, to, lane, dest),
            CastOp::SpaceCast => return self.unsupported("a pointer of an unknown address space"),
        }
        Ok(())
    }

    /// A float as a single in a register or uniform of 32 bits.
    pub(super) fn as_single(&mut self, source: FloatSrc) -> Src {
        if source.src.width() == Width::W32 {
            return self.settled(source);
        }
        let single = self.temp(Width::W32);
        self.float_move(single, source);
        Src::Reg(single)
    }

    pub(super) fn zero_extend_into(&mut self, dest: Slice, src: Src) {
        let part = |half: u8, width: Width| Slice {
            half: dest.half + half,
            width,
            count: 1,
            ..dest
        };
        let zero = |width| Src::Const(0, width);
        match (src.width(), dest.width) {
            (Width::W16, Width::W32) => {
                // One instruction, where putting halves together takes two.
                let a = self.operand(src);
                self.bitop(super::integer::arithmetic::OR, dest, a, Self::nought());
            }
            (Width::W16, Width::W64) => {
                let low = part(0, Width::W32);
                self.zero_extend_into(low, src);
                self.copy(part(2, Width::W32), zero(Width::W32));
            }
            (Width::W32, Width::W64) => self.copies(&[
                (part(0, Width::W32), src),
                (part(2, Width::W32), zero(Width::W32)),
            ]),
            (from, to) if from.halves() > to.halves() => {
                self.copy(dest, src.part(0, to));
            }
            _ => self.copy(dest, src),
        }
    }

    fn sign_extend_into(&mut self, dest: Slice, src: Src, from: Scalar, to: Scalar) {
        let mut src = src;
        let bits = from.bits();
        if bits < 16 {
            if dest.width == Width::W16 {
                let wide = self.sign_extended(src, bits);
                return match to {
                    Scalar::I8 => self.mask_into(dest, wide, 0xff),
                    _ => self.copy(dest, wide),
                };
            }
            if bits == 1 && dest.width == Width::W32 {
                // 0 − bit
                return self.sub_into(dest, Src::Const(0, Width::W32), src);
            }
            src = self.sign_extended(src, bits);
        }
        // An addition extends its sources with their sign.
        let zero = Self::bare(Src::Const(0, Width::W16));
        let source = super::operand::IntSrc { src, sx: true };
        let (a, b) = (self.int_operand(source), self.int_operand(zero));
        self.op(Op::Iadd, dest, &[a, b]);
    }

    fn float_to_int(&mut self, source: FloatSrc, to: Scalar, signed: bool, dest: Slice) -> Done {
        // A conversion has no place for signs.
        let src = self.settled(source);
        let operand = self.float_operand(FloatSrc::plain(src));
        let mode = match (width_of(to), signed) {
            (Width::W16, false) => mode::F_TO_U16,
            (Width::W16, true) => mode::F_TO_S16,
            (Width::W32, false) => mode::F_TO_U32,
            (Width::W32, true) => mode::F_TO_S32,
            (Width::W64, _) => return self.float_to_wide(src, signed, dest),
        };
        let operand = match operand {
            // Float immediates are no operand of a conversion.
            Operand::Fixed(_) => super::operand::used(self.reg(src)),
            other => other,
        };
        if to.bits() >= 16 {
            self.convert_inst(mode, false, dest, operand);
            return Ok(());
        }
        // Clamped to the narrow range after the conversion.
        let wide = self.temp(Width::W16);
        self.convert_inst(mode, false, wide, operand);
        self.clamp_narrow(dest, Src::Reg(wide), to, signed);
        Ok(())
    }

    /// A 16-bit number clamped to 8 bits or one.
    fn clamp_narrow(&mut self, dest: Slice, src: Src, to: Scalar, signed: bool) {
        let constant = |value: i64| Src::Const(value as u64 & 0xffff, Width::W16);
        let bits = to.bits();
        if !signed {
            let most = constant(to.mask() as i64);
            let test = self.int_compare(assay_ssa::IntCond::Ult, src, most);
            return self.select_into(dest, test, src, most);
        }
        let (low, high) = (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1);
        let above = self.temp(Width::W16);
        let test = self.int_compare(assay_ssa::IntCond::Slt, src, constant(high));
        self.select_into(above, test, src, constant(high));
        let both = self.temp(Width::W16);
        let test = self.int_compare(assay_ssa::IntCond::Sgt, Src::Reg(above), constant(low));
        self.select_into(both, test, Src::Reg(above), constant(low));
        self.mask_into(dest, Src::Reg(both), to.mask());
    }

    fn int_to_float(
        &mut self,
        arg: Value,
        lane: u32,
        (from, to): (Scalar, Scalar),
        signed: bool,
        dest: Slice,
    ) -> Done {
        if from == Scalar::I64 {
            return self.wide_to_float(arg, lane, to, signed, dest);
        }
        let source = self.int(arg, lane, signed)?;
        let taken = source.src.width() != width_of(from);
        let single = self.single_dest(to, dest);
        let mode = match (source.src.width(), from, signed) {
            // What was extended on the way is converted from where it came.
            (Width::W16, _, _) if taken => {
                if source.sx {
                    mode::S16_TO_F
                } else {
                    mode::U16_TO_F
                }
            }
            (_, Scalar::I1, true) => {
                let wide = self.sign_extended(source.src, 1);
                let operand = self.operand(wide);
                self.convert_inst(mode::S16_TO_F, true, single, operand);
                self.single_done(to, dest, single);
                return Ok(());
            }
            (_, Scalar::I8, false) => mode::U8_TO_F,
            (_, Scalar::I8, true) => mode::S8_TO_F,
            (Width::W16, _, false) => mode::U16_TO_F,
            (Width::W16, _, true) => mode::S16_TO_F,
            (_, _, false) => mode::U32_TO_F,
            (_, _, true) => mode::S32_TO_F,
        };
        let operand = self.operand(source.src);
        self.convert_inst(mode, true, single, operand);
        self.single_done(to, dest, single);
        Ok(())
    }

    /// Bits put together from narrower numbers.
    fn repack(&mut self, arg: Value, from: Scalar, to: Scalar, lane: u32, dest: Slice) -> Done {
        let (source, target) = (from.bits(), to.bits());
        if source == 1 || target == 1 {
            return self.unsupported("a vector of truth values seen as bits");
        }
        if source >= 16 && target > source {
            let ratio = target / source;
            let mut pairs = Vec::new();
            for index in 0..ratio {
                let part = Slice {
                    half: dest.half + (index * source / 16) as u8,
                    width: width_of(from),
                    count: 1,
                    ..dest
                };
                pairs.push((part, self.src(arg, lane * ratio + index)?));
            }
            self.copies(&pairs);
            return Ok(());
        }
        if source == 8 && target > 8 {
            // Pairs of bytes first.
            let ratio = target / 8;
            let mut pairs = Vec::new();
            for index in (0..ratio).step_by(2) {
                let low = self.src(arg, lane * ratio + index)?;
                let high = self.src(arg, lane * ratio + index + 1)?;
                let both = self.temp(Width::W16);
                let (a, b) = (self.operand(low), self.operand(high));
                self.op(Op::Bfi, both, &[a, b, super::operand::imm(8)]);
                let part = Slice {
                    half: dest.half + (index / 2) as u8,
                    width: Width::W16,
                    count: 1,
                    ..dest
                };
                pairs.push((part, Src::Reg(both)));
            }
            self.copies(&pairs);
            return Ok(());
        }
        // A byte of something wider.
        let ratio = source / 8;
        let byte = lane % ratio;
        let half = self
            .src(arg, lane / ratio)?
            .part((byte / 2) as u8, Width::W16);
        if byte.is_multiple_of(2) {
            self.mask_into(dest, half, 0xff);
        } else {
            self.shr_into(dest, half, Src::Const(8, Width::W16));
        }
        Ok(())
    }
}
