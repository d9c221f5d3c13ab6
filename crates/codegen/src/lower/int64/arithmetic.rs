//! 64-bit integers: additions and products of 32-bit numbers are instructions, the rest
//! is made of 32-bit ones.

use crate::lower::operand::{Condition, IntSrc, Src};
use crate::lower::select::{Done, Lowerer, shift};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Modifiers, Op, Width};
use assay_ssa::{BinaryOp, CastOp, InstData, IntCond, Scalar, Value};

const ZERO: Src = Src::Const(0, Width::W32);

/// A word of a pair.
pub(in crate::lower) fn word(pair: Slice, index: u8) -> Slice {
    Slice {
        half: pair.half + 2 * index,
        width: Width::W32,
        count: 1,
        ..pair
    }
}

impl Lowerer<'_> {
    /// A source of a 64-bit addition.
    pub(in crate::lower) fn wide_operand(&mut self, source: IntSrc) -> Operand {
        let mods = Modifiers {
            sx: source.sx,
            ..Modifiers::NONE
        };
        match source.src {
            // Zeros above are what a narrower source has anyway.
            Src::Const(bits, Width::W64) if bits <= u64::from(u32::MAX) => {
                self.operand(Src::Const(bits, Width::W32))
            }
            Src::Const(bits, Width::W64) if bits as i64 as i32 as i64 as u64 == bits => {
                let low = Src::Const(bits & 0xffff_ffff, Width::W32);
                match self.operand(low) {
                    Operand::Use(slice, _) => Operand::Use(
                        slice,
                        Modifiers {
                            sx: true,
                            ..Modifiers::NONE
                        },
                    ),
                    Operand::Uniform(uniform) => Operand::Uniform(uniform.mods(Modifiers {
                        sx: true,
                        ..Modifiers::NONE
                    })),
                    other => other,
                }
            }
            Src::Const(_, Width::W64) | Src::Uniform(_, Width::W64) => {
                Operand::Use(self.reg(source.src), mods)
            }
            _ => self.int_operand(source),
        }
    }

    /// `dest = a ± (b << by)` on 64 bits.
    pub(in crate::lower) fn wide_sum(&mut self, op: Op, dest: Slice, a: IntSrc, b: IntSrc, by: u8) {
        let (mut op, mut b) = (op, b);
        if let Src::Const(bits, Width::W64) = b.src
            && by == 0
            && bits.wrapping_neg() <= 255
            && bits != 0
        {
            op = if op == Op::Iadd { Op::Isub } else { Op::Iadd };
            b.src = Src::Const(bits.wrapping_neg(), Width::W64);
        }
        let (a, b) = (self.wide_operand(a), self.wide_operand(b));
        let mut inst = Inst::new(op)
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::A, a)
            .with(Field::B, b);
        if by != 0 {
            inst = inst.with(Field::Shift, shift(by));
        }
        self.push(inst);
    }

    /// `dest = a * b + c`: the factors have at most 32 bits.
    pub(in crate::lower) fn wide_mul_add(&mut self, dest: Slice, a: IntSrc, b: IntSrc, c: IntSrc) {
        let c = self.wide_operand(c);
        let (a, b) = (self.int_operand(a), self.int_operand(b));
        self.op(Op::Imadd, dest, &[a, b, c]);
    }

    /// A 64-bit number, or the narrower one it was extended from.
    pub(in crate::lower) fn wide_source(&mut self, value: Value, lane: u32) -> Done<IntSrc> {
        self.int(value, lane, true)
    }

    /// A number that was extended to 64 bits from at most 32, before that.
    pub(in crate::lower) fn narrow_factor(
        &mut self,
        value: Value,
        lane: u32,
    ) -> Done<Option<IntSrc>> {
        if let Some((InstData::Cast { op, arg, .. }, at)) = self.behind(value, lane)? {
            let extends = match op {
                CastOp::ZExt => true,
                CastOp::SExt => {
                    matches!(self.scalar_type(arg), Some(Scalar::I16 | Scalar::I32))
                }
                _ => false,
            };
            if extends {
                let src = self.src(arg, at)?;
                let sx = op == CastOp::SExt;
                return Ok(Some(IntSrc { src, sx }));
            }
        }
        Ok(match self.src_if_known(value, lane)? {
            Some(bits) if bits <= u64::from(u32::MAX) => {
                Some(Self::bare(Src::Const(bits, Width::W32)))
            }
            _ => None,
        })
    }

    /// One number of a 64-bit operation.
    pub(in crate::lower) fn wide_binary(
        &mut self,
        op: BinaryOp,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        match op {
            BinaryOp::Add => self.wide_add(args, lane, dest),
            BinaryOp::Sub => {
                let a = self.wide_source(args[0], lane)?;
                let b = self.wide_source(args[1], lane)?;
                self.wide_sum(Op::Isub, dest, a, b, 0);
                Ok(())
            }
            BinaryOp::Mul => {
                let (a, b) = (
                    self.narrow_factor(args[0], lane)?,
                    self.narrow_factor(args[1], lane)?,
                );
                if let (Some(a), Some(b)) = (a, b) {
                    self.wide_mul_add(dest, a, b, Self::bare(ZERO));
                    return Ok(());
                }
                let (a, b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
                self.wide_mul_into(dest, a, b);
                Ok(())
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (a, b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
                self.wide_logic(op, dest, a, b);
                Ok(())
            }
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
                let a = self.src(args[0], lane)?;
                let amount = self.amount(args[1], lane, 64)?;
                self.wide_shift_into(op, dest, a, amount);
                Ok(())
            }
            _ => {
                let (a, b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
                self.wide_divide_into(op, a, b, dest)
            }
        }
    }

    /// A bitwise function, word by word.
    pub(in crate::lower) fn wide_logic(&mut self, op: BinaryOp, dest: Slice, a: Src, b: Src) {
        let table = match op {
            BinaryOp::And => crate::lower::integer::arithmetic::AND,
            BinaryOp::Or => crate::lower::integer::arithmetic::OR,
            _ => crate::lower::integer::arithmetic::XOR,
        };
        for half in [0, 1] {
            let (x, y) = (a.part(2 * half, Width::W32), b.part(2 * half, Width::W32));
            let (x, y) = (self.operand(x), self.operand(y));
            self.bitop(table, word(dest, half), x, y);
        }
    }

    fn wide_add(&mut self, args: [Value; 2], lane: u32, dest: Slice) -> Done {
        for (one, other) in [(args[1], args[0]), (args[0], args[1])] {
            if let Some((
                InstData::Binary {
                    op: BinaryOp::Mul,
                    args: [a, b],
                    ..
                },
                at,
            )) = self.behind_once(one, lane)?
                && let (Some(a), Some(b)) = (self.narrow_factor(a, at)?, self.narrow_factor(b, at)?)
            {
                let c = self.wide_source(other, lane)?;
                self.wide_mul_add(dest, a, b, c);
                return Ok(());
            }
        }
        let (a, b) = (
            self.wide_source(args[0], lane)?,
            self.wide_source(args[1], lane)?,
        );
        self.wide_sum(Op::Iadd, dest, a, b, 0);
        Ok(())
    }

    /// The low 64 bits of a product.
    pub(in crate::lower) fn wide_mul_into(&mut self, dest: Slice, a: Src, b: Src) {
        let low = self.temp(Width::W64);
        self.wide_mul_add(
            low,
            Self::bare(a.low()),
            Self::bare(b.low()),
            Self::bare(ZERO),
        );
        let cross = self.temp(Width::W32);
        self.mul_add_into(cross, a.low(), b.high(), Src::Reg(word(low, 1)));
        let top = self.temp(Width::W32);
        self.mul_add_into(top, a.high(), b.low(), Src::Reg(cross));
        self.copies(&[
            (word(dest, 0), Src::Reg(word(low, 0))),
            (word(dest, 1), Src::Reg(top)),
        ]);
    }

    /// 32 bits of `high:low` from bit `amount` on, which is at most 32.
    pub(in crate::lower) fn funnel(&mut self, dest: Slice, low: Src, high: Src, amount: Src) {
        let sources = [self.operand(low), self.operand(high), self.operand(amount)];
        self.op(Op::Extr, dest, &sources);
    }

    /// A shift by an amount below 64.
    pub(in crate::lower) fn wide_shift_into(
        &mut self,
        op: BinaryOp,
        dest: Slice,
        a: Src,
        amount: Src,
    ) {
        let (low, high) = (a.low(), a.high());
        let by = |amount: u64| Src::Const(amount, Width::W16);
        if let Some(known) = amount.known() {
            return self.known_wide_shift(op, dest, (low, high), known);
        }
        // Shifts of 32 and more give zero (or the sign); negative amounts count modulo 128.
        let rest = self.temp(Width::W16);
        self.sub_into(rest, by(32), amount);
        let over = self.temp(Width::W16);
        self.sub_into(over, amount, by(32));
        let far = self.int_compare(IntCond::Ugt, amount, by(31));
        let (low_out, high_out) = (word(dest, 0), word(dest, 1));
        let near = self.temp(Width::W32);
        let beyond = self.temp(Width::W32);
        match op {
            BinaryOp::Shl => {
                // high = (high:low) >> (32 − amount), which is right up to 32.
                self.funnel(near, low, high, Src::Reg(rest));
                self.shl_into(beyond, low, Src::Reg(over));
                let first = self.temp(Width::W32);
                self.shl_into(first, low, amount);
                self.select_into(high_out, far, Src::Reg(beyond), Src::Reg(near));
                self.copy(low_out, Src::Reg(first));
            }
            BinaryOp::LShr => {
                self.funnel(near, low, high, amount);
                let first = self.temp(Width::W32);
                self.shr_into(first, high, amount);
                self.copies(&[(low_out, Src::Reg(near)), (high_out, Src::Reg(first))]);
            }
            _ => {
                self.funnel(near, low, high, amount);
                self.asr_into(beyond, high, Src::Reg(over));
                let first = self.temp(Width::W32);
                self.asr_into(first, high, amount);
                self.select_into(low_out, far, Src::Reg(beyond), Src::Reg(near));
                self.copy(high_out, Src::Reg(first));
            }
        }
    }

    fn known_wide_shift(
        &mut self,
        op: BinaryOp,
        dest: Slice,
        (low, high): (Src, Src),
        amount: u64,
    ) {
        let by = |amount: u64| Src::Const(amount, Width::W16);
        let (low_out, high_out) = (word(dest, 0), word(dest, 1));
        let (first, second) = (self.temp(Width::W32), self.temp(Width::W32));
        match (op, amount) {
            (_, 0) => return self.copies(&[(low_out, low), (high_out, high)]),
            (BinaryOp::Shl, 1..=31) => {
                self.shl_into(first, low, by(amount));
                self.funnel(second, low, high, by(32 - amount));
            }
            (BinaryOp::Shl, _) => {
                self.shl_into(second, low, by(amount - 32));
                return self.copies(&[(low_out, ZERO), (high_out, Src::Reg(second))]);
            }
            (BinaryOp::LShr, 1..=31) => {
                self.funnel(first, low, high, by(amount));
                self.shr_into(second, high, by(amount));
            }
            (BinaryOp::LShr, _) => {
                self.shr_into(first, high, by(amount - 32));
                return self.copies(&[(low_out, Src::Reg(first)), (high_out, ZERO)]);
            }
            (_, 1..=31) => {
                self.funnel(first, low, high, by(amount));
                self.asr_into(second, high, by(amount));
            }
            _ => {
                self.asr_into(first, high, by(amount - 32));
                self.asr_into(second, high, by(31));
            }
        }
        self.copies(&[(low_out, Src::Reg(first)), (high_out, Src::Reg(second))]);
    }

    /// A comparison of 64-bit numbers.
    pub(in crate::lower) fn wide_condition(
        &mut self,
        cond: IntCond,
        args: [Value; 2],
        lane: u32,
    ) -> Done<Condition> {
        let (a, b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
        Ok(self.wide_compare(cond, a, b))
    }

    pub(in crate::lower) fn wide_compare(&mut self, cond: IntCond, a: Src, b: Src) -> Condition {
        let truth = |holds: bool| Src::Const(u64::from(holds), Width::W16);
        if matches!(cond, IntCond::Eq | IntCond::Ne) {
            let low = self.temp(Width::W16);
            let test = self.int_compare(IntCond::Eq, a.low(), b.low());
            self.select_into(low, test, truth(true), truth(false));
            let both = self.temp(Width::W16);
            let test = self.int_compare(IntCond::Eq, a.high(), b.high());
            self.select_into(both, test, Src::Reg(low), truth(false));
            let condition = self.truth(Src::Reg(both));
            return condition.inverted_if(cond == IntCond::Ne);
        }
        let below = match cond {
            IntCond::Slt => IntCond::Ult,
            IntCond::Sle => IntCond::Ule,
            IntCond::Sgt => IntCond::Ugt,
            IntCond::Sge => IntCond::Uge,
            other => other,
        };
        let low = self.temp(Width::W16);
        let test = self.int_compare(below, a.low(), b.low());
        self.truth_into(low, test);
        let high = self.temp(Width::W16);
        let test = self.int_compare(cond, a.high(), b.high());
        self.truth_into(high, test);
        let both = self.temp(Width::W16);
        let test = self.int_compare(IntCond::Eq, a.high(), b.high());
        self.select_into(both, test, Src::Reg(low), Src::Reg(high));
        self.truth(Src::Reg(both))
    }

    /// `−a`.
    pub(in crate::lower) fn wide_negate(&mut self, dest: Slice, a: Src) {
        self.wide_sum(Op::Isub, dest, Self::bare(ZERO), Self::bare(a), 0);
    }

    /// The magnitude of a signed number, and the condition that it was negative.
    pub(in crate::lower) fn wide_magnitude(&mut self, a: Src) -> (Src, Condition) {
        let negated = self.temp(Width::W64);
        self.wide_negate(negated, a);
        let negative = self.int_compare(IntCond::Slt, a.high(), ZERO);
        let result = self.temp(Width::W64);
        self.choose_into(result, negative, Src::Reg(negated), a);
        (Src::Reg(result), negative)
    }
}
