//! Values as operands: looking through conversions, signs and constants that an
//! instruction can take along.

use super::operand::{FloatSrc, IntSrc, Src, imm, mini, uniform, used};
use super::select::{Done, Lowerer};
use crate::mir::{Operand, Slice};
use assay_agx::{Modifiers, Operand as Fixed, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{BinaryOp, Callee, CastOp, InstData, Scalar, UnaryOp, Value};

use super::leaf::Leaf;

impl Lowerer<'_> {
    /// The definition a number comes from, when nothing is cut off on the way and the
    /// main program does not find it in uniforms.
    pub(super) fn definition(&mut self, value: Value, lane: u32) -> Done<Option<(Value, u32)>> {
        let leaf = self.resolve(value, lane)?;
        Ok(match leaf {
            Leaf::Part {
                value,
                lane,
                half: 0,
                width,
            } if !self.is_hoisted(value) && self.width(value, lane)? == width => {
                Some((value, lane))
            }
            _ => None,
        })
    }

    /// The instruction behind a number.
    pub(super) fn behind(&mut self, value: Value, lane: u32) -> Done<Option<(InstData, u32)>> {
        let Some((value, lane)) = self.definition(value, lane)? else {
            return Ok(None);
        };
        Ok(self.function.def_data(value).map(|data| (*data, lane)))
    }

    /// The same, if nobody else uses it: then its work may be done here.
    pub(super) fn behind_once(&mut self, value: Value, lane: u32) -> Done<Option<(InstData, u32)>> {
        let Some((value, lane)) = self.definition(value, lane)? else {
            return Ok(None);
        };
        let once = self.uses[value] == 1 && !self.function.ty(value).is_vector();
        let data = self.function.def_data(value).copied();
        Ok(data.filter(|_| once).map(|data| (data, lane)))
    }

    /// The type of the numbers of a value.
    pub(super) fn scalar_type(&self, value: Value) -> Option<Scalar> {
        self.function.ty(value).element()
    }

    /// A number as a float operand: signs and widening from half precision are free.
    pub(super) fn float(&mut self, value: Value, lane: u32) -> Done<FloatSrc> {
        let (mut value, mut lane) = (value, lane);
        let (mut abs, mut neg) = (false, false);
        while let Some((data, at)) = self.behind(value, lane)? {
            let arg = match data {
                InstData::Unary {
                    op: UnaryOp::FNeg,
                    arg,
                    ..
                } => {
                    neg ^= !abs;
                    arg
                }
                InstData::Call {
                    callee: Callee::Builtin(call),
                    args,
                    ..
                } if call.builtin == Builtin::Fabs => {
                    abs = true;
                    match self.function.list_values(args).first() {
                        Some(&arg) => arg,
                        None => break,
                    }
                }
                InstData::Cast {
                    op: CastOp::FConvert,
                    arg,
                    ..
                } if self.scalar_type(arg) == Some(Scalar::F16)
                    && self.scalar_type(value) == Some(Scalar::F32) =>
                {
                    arg
                }
                _ => break,
            };
            (value, lane) = (arg, at);
        }
        let src = self.src(value, lane)?;
        Ok(FloatSrc { src, abs, neg })
    }

    /// A number as an integer operand: extension from fewer bits and taking half of a word are free, with the sign
    /// only where the instruction can (`signs`).
    pub(super) fn int(&mut self, value: Value, lane: u32, signs: bool) -> Done<IntSrc> {
        let plain = |src| IntSrc { src, sx: false };
        if let Some((InstData::Cast { op, arg, .. }, at)) = self.behind(value, lane)? {
            let from = self.scalar_type(arg);
            match (op, from) {
                (CastOp::ZExt, Some(_)) => return Ok(plain(self.src(arg, at)?)),
                (CastOp::SExt, Some(Scalar::I16 | Scalar::I32)) if signs => {
                    let src = self.src(arg, at)?;
                    return Ok(IntSrc { src, sx: true });
                }
                _ => {}
            }
        }
        if let Some((InstData::Binary { op, args, .. }, at)) = self.behind(value, lane)?
            && self.scalar_type(value) == Some(Scalar::I32)
            && let Some(number) = self.function.const_splat(args[1])
        {
            // The halves of a word are registers of their own.
            let (half, sx) = match (op, number) {
                (BinaryOp::And, 0xffff) => (0, false),
                (BinaryOp::LShr, 16) => (1, false),
                (BinaryOp::AShr, 16) if signs => (1, true),
                _ => return Ok(plain(self.src(value, lane)?)),
            };
            let src = self.src(args[0], at)?.part(half, Width::W16);
            return Ok(IntSrc { src, sx });
        }
        Ok(plain(self.src(value, lane)?))
    }

    /// The operand of an integer source of at most 32 bits.
    pub(super) fn int_operand(&mut self, source: IntSrc) -> Operand {
        let mods = Modifiers {
            sx: source.sx,
            ..Modifiers::NONE
        };
        match source.src {
            Src::Const(bits @ 0..=255, _) => imm(bits as i64),
            // Zeros above need no room of their own.
            Src::Const(bits, Width::W32) if bits <= 0xffff && !source.sx => {
                self.constant_operand(bits, Width::W16, Modifiers::NONE)
            }
            Src::Const(bits, Width::W16) if source.sx => {
                let wide = bits as u16 as i16 as i32 as u32;
                self.constant_operand(u64::from(wide), Width::W32, Modifiers::NONE)
            }
            Src::Const(bits, width) => self.constant_operand(bits, width, mods),
            Src::Uniform(half, Width::W64) => {
                let slice = self.reg(Src::Uniform(half, Width::W64));
                Operand::Use(slice, mods)
            }
            Src::Uniform(half, width) => uniform(half, width, mods),
            Src::Reg(slice) => Operand::Use(slice, mods),
        }
    }

    /// An integer operand without extension flags.
    pub(super) fn operand(&mut self, src: Src) -> Operand {
        self.int_operand(IntSrc { src, sx: false })
    }

    /// The operand of a select's value: exactly as wide as the result.
    pub(super) fn select_operand(&mut self, src: Src) -> Operand {
        match src {
            Src::Const(bits @ 0..=255, _) => imm(bits as i64),
            Src::Const(bits, width) => self.constant_operand(bits, width, Modifiers::NONE),
            Src::Uniform(half, width) => uniform(half, width, Modifiers::NONE),
            Src::Reg(slice) => used(slice),
        }
    }

    /// The operand of a float source.
    pub(super) fn float_operand(&mut self, source: FloatSrc) -> Operand {
        let mods = source.modifiers();
        match source.src {
            Src::Const(bits, width) => {
                let sign = 1u64 << (width.bits() - 1);
                let mut bits = bits;
                if source.abs {
                    bits &= !sign;
                }
                if source.neg {
                    bits ^= sign;
                }
                let number = match width {
                    Width::W16 => assay_num::f16_to_f32(bits as u16),
                    _ => f32::from_bits(bits as u32),
                };
                match mini(number) {
                    Some(small) => Operand::Fixed(Fixed::Float(small, Modifiers::NONE)),
                    None => self.constant_operand(bits, width, Modifiers::NONE),
                }
            }
            Src::Uniform(half, width) => uniform(half, width, mods),
            Src::Reg(slice) => Operand::Use(slice, mods),
        }
    }

    /// A constant as a uniform, or in a register when those are used up.
    fn constant_operand(&mut self, bits: u64, width: Width, mods: Modifiers) -> Operand {
        if width != Width::W64
            && let Some(half) = self.layout.constant(bits, width)
        {
            return uniform(half, width, mods);
        }
        let slice = self.reg(Src::Const(bits, width));
        Operand::Use(slice, mods)
    }

    /// A float with its modifiers applied, in registers of its own if it has any.
    pub(super) fn settled(&mut self, source: FloatSrc) -> Src {
        if !source.is_modified() {
            return source.src;
        }
        let width = source.src.width();
        let sign = 1u64 << (width.bits() - 1);
        if let Src::Const(bits, _) = source.src {
            let bits = if source.abs { bits & !sign } else { bits };
            return Src::Const(if source.neg { bits ^ sign } else { bits }, width);
        }
        let dest = self.temp(width);
        self.settle_into(dest, source);
        Src::Reg(dest)
    }

    /// Writes a float with its modifiers applied.
    pub(super) fn settle_into(&mut self, dest: Slice, source: FloatSrc) {
        let width = source.src.width();
        let sign = 1u64 << (width.bits() - 1);
        let a = self.operand(source.src);
        let (mask, table) = match (source.abs, source.neg) {
            (false, false) => return self.copy(dest, source.src),
            (false, true) => (sign, super::integer::arithmetic::XOR),
            (true, false) => (sign - 1, super::integer::arithmetic::AND),
            (true, true) => (sign, super::integer::arithmetic::OR),
        };
        let b = self.operand(Src::Const(mask, width));
        self.bitop(table, dest, a, b);
    }
}
