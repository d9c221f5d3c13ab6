//! Integer arithmetic up to 32 bits.
//!
//! Numbers of 8 bits and truth values live in half registers with zeros above them, and
//! every operation leaves them so.

use crate::lower::operand::{IntSrc, Src, imm};
use crate::lower::select::{Done, Lowerer, shift};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Op, Operand as Fixed, Width};
use assay_ssa::{BinaryOp, Flags, InstData, Scalar, Value};

/// Truth tables of `bitop`.
pub(in crate::lower) const AND: u8 = 0b1000;
pub(in crate::lower) const OR: u8 = 0b1110;
pub(in crate::lower) const XOR: u8 = 0b0110;
pub(in crate::lower) const NOT: u8 = 0b0101;
pub(in crate::lower) const AND_NOT: u8 = 0b0010;

/// The largest shift an addition can do on the side.
const FREE_SHIFT: u64 = 4;

impl Lowerer<'_> {
    pub(in crate::lower) fn bitop(&mut self, table: u8, dest: Slice, a: Operand, b: Operand) {
        let table = Operand::Fixed(Fixed::TruthTable(table));
        let inst = Inst::new(Op::Bitop)
            .with(Field::TruthTable, table)
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::A, a)
            .with(Field::B, b);
        self.push(inst);
    }

    /// `dest = a & mask` on 16 or 32 bits.
    pub(in crate::lower) fn mask_into(&mut self, dest: Slice, a: Src, mask: u64) {
        let (a, b) = (self.operand(a), self.operand(Src::Const(mask, dest.width)));
        self.bitop(AND, dest, a, b);
    }

    /// `dest = b << amount`.
    pub(in crate::lower) fn shl_into(&mut self, dest: Slice, b: Src, amount: Src) {
        if let Some(known) = amount.known()
            && known <= FREE_SHIFT
        {
            let inst = self.add_inst(Op::Iadd, dest, imm(0), b, known as u8);
            self.push(inst);
            return;
        }
        let (b, c) = (self.operand(b), self.operand(amount));
        self.op(Op::Bfi, dest, &[imm(0), b, c]);
    }

    /// `dest = b >> amount`, zeros coming in.
    pub(in crate::lower) fn shr_into(&mut self, dest: Slice, b: Src, amount: Src) {
        let (b, c) = (self.operand(b), self.operand(amount));
        self.op(Op::Bfeil, dest, &[imm(0), b, c]);
    }

    /// `dest = (b >> amount) & low bits`.
    pub(in crate::lower) fn extract_into(&mut self, dest: Slice, b: Src, amount: Src, bits: u32) {
        if bits == 0 || bits >= 32 {
            return self.shr_into(dest, b, amount);
        }
        let (b, c) = (self.operand(b), self.operand(amount));
        let inst = Inst::new(Op::Bfeil)
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::A, imm(0))
            .with(Field::B, b)
            .with(Field::C, c)
            .with(Field::BitMask, Operand::Fixed(Fixed::BitMask(bits as u8)));
        self.push(inst);
    }

    /// `dest = a >> amount`, the sign coming in.
    pub(in crate::lower) fn asr_into(&mut self, dest: Slice, a: Src, amount: Src) {
        let (a, b) = (self.operand(a), self.operand(amount));
        self.op(Op::Asr, dest, &[a, b]);
    }

    fn add_inst(&mut self, op: Op, dest: Slice, a: Operand, b: Src, by: u8) -> Inst {
        let b = self.operand(b);
        self.sum_inst(op, dest, a, b, by)
    }

    fn sum_inst(&self, op: Op, dest: Slice, a: Operand, b: Operand, by: u8) -> Inst {
        let inst = Inst::new(op)
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::A, a)
            .with(Field::B, b);
        if by == 0 {
            inst
        } else {
            inst.with(Field::Shift, shift(by))
        }
    }

    /// `dest = a + b` of numbers already at hand.
    pub(in crate::lower) fn add_into(&mut self, dest: Slice, a: Src, b: Src) {
        self.sum_into(Op::Iadd, dest, a, b);
    }

    /// `dest = a - b`.
    pub(in crate::lower) fn sub_into(&mut self, dest: Slice, a: Src, b: Src) {
        self.sum_into(Op::Isub, dest, a, b);
    }

    fn sum_into(&mut self, op: Op, dest: Slice, a: Src, b: Src) {
        let (op, b) = turned(op, b);
        let a = self.operand(a);
        let inst = self.add_inst(op, dest, a, b, 0);
        self.push(inst);
    }

    /// `dest = a * b + c`.
    pub(in crate::lower) fn mul_add_into(&mut self, dest: Slice, a: Src, b: Src, c: Src) {
        let sources = [self.operand(a), self.operand(b), self.operand(c)];
        self.op(Op::Imadd, dest, &sources);
    }

    /// One number of an integer operation of at most 32 bits.
    pub(in crate::lower) fn int_binary(
        &mut self,
        op: BinaryOp,
        flags: Flags,
        scalar: Scalar,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        if matches!(scalar, Scalar::I8 | Scalar::I1) {
            return self.narrow_binary(op, scalar, args, lane, dest);
        }
        match op {
            BinaryOp::Add => self.add(args, lane, dest),
            BinaryOp::Sub => self.sub(args, lane, dest),
            BinaryOp::Mul => {
                let a = self.int(args[0], lane, true)?;
                let b = self.int(args[1], lane, true)?;
                let sources = [self.int_operand(a), self.int_operand(b), imm(0)];
                self.op(Op::Imadd, dest, &sources);
                Ok(())
            }
            BinaryOp::And => self.and(args, lane, dest),
            BinaryOp::Or if flags.has(Flags::DISJOINT) => self.add(args, lane, dest),
            BinaryOp::Or | BinaryOp::Xor => self.or_xor(op, args, lane, dest),
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
                self.shift(op, scalar, args, lane, dest)
            }
            _ => {
                let (a, b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
                self.divide_into(op, scalar, a, b, dest)
            }
        }
    }

    /// A sum, with a product or a small left shift of one side taken along.
    fn add(&mut self, args: [Value; 2], lane: u32, dest: Slice) -> Done {
        for (one, other) in [(args[1], args[0]), (args[0], args[1])] {
            match self.behind_once(one, lane)? {
                Some((
                    InstData::Binary {
                        op: BinaryOp::Mul,
                        args: [a, b],
                        ..
                    },
                    at,
                )) => {
                    let (a, b) = (self.int(a, at, true)?, self.int(b, at, true)?);
                    let c = self.int(other, lane, true)?;
                    let sources = [
                        self.int_operand(a),
                        self.int_operand(b),
                        self.int_operand(c),
                    ];
                    self.op(Op::Imadd, dest, &sources);
                    return Ok(());
                }
                Some((
                    InstData::Binary {
                        op: BinaryOp::Shl,
                        args: [a, amount],
                        ..
                    },
                    at,
                )) => {
                    let by = self.src(amount, at)?.known();
                    if let Some(by @ 1..=FREE_SHIFT) = by {
                        let b = self.int(a, at, true)?;
                        let a = self.int(other, lane, true)?;
                        return self.sum(Op::Iadd, dest, a, b, by as u8);
                    }
                }
                _ => {}
            }
        }
        let (a, b) = (
            self.int(args[0], lane, true)?,
            self.int(args[1], lane, true)?,
        );
        self.sum(Op::Iadd, dest, a, b, 0)
    }

    fn sub(&mut self, args: [Value; 2], lane: u32, dest: Slice) -> Done {
        if let Some((
            InstData::Binary {
                op: BinaryOp::Shl,
                args: [b, amount],
                ..
            },
            at,
        )) = self.behind_once(args[1], lane)?
            && let Some(by @ 1..=FREE_SHIFT) = self.src(amount, at)?.known()
        {
            let (a, b) = (self.int(args[0], lane, true)?, self.int(b, at, true)?);
            return self.sum(Op::Isub, dest, a, b, by as u8);
        }
        let (a, b) = (
            self.int(args[0], lane, true)?,
            self.int(args[1], lane, true)?,
        );
        self.sum(Op::Isub, dest, a, b, 0)
    }

    pub(in crate::lower) fn sum(
        &mut self,
        op: Op,
        dest: Slice,
        a: IntSrc,
        b: IntSrc,
        by: u8,
    ) -> Done {
        let (op, b) = if by == 0 {
            let (op, src) = turned(op, b.src);
            (op, IntSrc { src, ..b })
        } else {
            (op, b)
        };
        let (a, b) = (self.int_operand(a), self.int_operand(b));
        let inst = self.sum_inst(op, dest, a, b, by);
        self.push(inst);
        Ok(())
    }

    fn and(&mut self, args: [Value; 2], lane: u32, dest: Slice) -> Done {
        for (one, other) in [(args[0], args[1]), (args[1], args[0])] {
            let mask = self.src_if_known(other, lane)?;
            if let Some(mask) = mask
                && (mask + 1).is_power_of_two()
                && let Some((
                    InstData::Binary {
                        op: BinaryOp::LShr,
                        args: [a, amount],
                        ..
                    },
                    at,
                )) = self.behind_once(one, lane)?
                && self.src_if_known(amount, at)?.is_some()
            {
                let (a, amount) = (self.src(a, at)?, self.src(amount, at)?);
                self.extract_into(dest, a, amount, mask.count_ones());
                return Ok(());
            }
            // a & !b
            if let Some(inner) = self.complement(one, lane)? {
                let (a, b) = (self.src(other, lane)?, self.src(inner.0, inner.1)?);
                let (a, b) = (self.operand(a), self.operand(b));
                self.bitop(AND_NOT, dest, a, b);
                return Ok(());
            }
        }
        let (a, b) = (
            self.int(args[0], lane, false)?,
            self.int(args[1], lane, false)?,
        );
        let (a, b) = (self.int_operand(a), self.int_operand(b));
        self.bitop(AND, dest, a, b);
        Ok(())
    }

    /// The number whose complement this is, if nobody else needs the complement.
    fn complement(&mut self, value: Value, lane: u32) -> Done<Option<(Value, u32)>> {
        let all = self.function.ty(value).element().map_or(0, Scalar::mask);
        if let Some((
            InstData::Binary {
                op: BinaryOp::Xor,
                args: [a, b],
                ..
            },
            at,
        )) = self.behind_once(value, lane)?
            && self.src_if_known(b, at)? == Some(all)
        {
            return Ok(Some((a, at)));
        }
        Ok(None)
    }

    /// A number, if it is a constant; asks for nothing.
    pub(in crate::lower) fn src_if_known(&mut self, value: Value, lane: u32) -> Done<Option<u64>> {
        Ok(match self.resolve(value, lane)? {
            crate::lower::leaf::Leaf::Const(bits, _) => Some(bits),
            _ => None,
        })
    }

    fn or_xor(&mut self, op: BinaryOp, args: [Value; 2], lane: u32, dest: Slice) -> Done {
        let a = self.int(args[0], lane, false)?;
        if op == BinaryOp::Xor
            && let Some(bits) = self.src_if_known(args[1], lane)?
            && bits == u64::MAX >> (64 - dest.width.bits())
        {
            let a = self.int_operand(a);
            self.bitop(NOT, dest, a, imm(0));
            return Ok(());
        }
        let b = self.int(args[1], lane, false)?;
        let (a, b) = (self.int_operand(a), self.int_operand(b));
        self.bitop(if op == BinaryOp::Or { OR } else { XOR }, dest, a, b);
        Ok(())
    }

    /// A shift amount modulo the width.
    pub(in crate::lower) fn amount(&mut self, value: Value, lane: u32, bits: u32) -> Done<Src> {
        let amount = self.src(value, lane)?;
        if let Some(known) = amount.known() {
            return Ok(Src::Const(known & u64::from(bits - 1), Width::W16));
        }
        if let Some((
            InstData::Binary {
                op: BinaryOp::And,
                args: [_, mask],
                ..
            },
            at,
        )) = self.behind(value, lane)?
            && self
                .src_if_known(mask, at)?
                .is_some_and(|mask| mask < u64::from(bits))
        {
            return Ok(amount.part(0, Width::W16));
        }
        let cut = self.temp(Width::W16);
        let low = amount.part(0, Width::W16);
        self.mask_into(cut, low, u64::from(bits - 1));
        Ok(Src::Reg(cut))
    }

    fn shift(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        let amount = self.amount(args[1], lane, scalar.bits())?;
        match op {
            BinaryOp::Shl => {
                let a = self.int(args[0], lane, false)?.src;
                self.shl_into(dest, a, amount);
            }
            BinaryOp::LShr => {
                let a = self.int(args[0], lane, false)?.src;
                self.shr_into(dest, a, amount);
            }
            _ => {
                // Halves are extended with their sign on the way in.
                let a = self.src(args[0], lane)?;
                self.asr_into(dest, a, amount);
            }
        }
        Ok(())
    }

    /// An 8-bit number with its sign in the half register above it.
    pub(in crate::lower) fn sign_extended(&mut self, src: Src, bits: u32) -> Src {
        let up = self.temp(Width::W16);
        let by = Src::Const(u64::from(16 - bits), Width::W16);
        self.shl_into(up, src, by);
        let down = self.temp(Width::W16);
        self.asr_into(down, Src::Reg(up), by);
        Src::Reg(down)
    }

    /// Arithmetic on 8-bit numbers and truth values: in 16 bits, then cut.
    fn narrow_binary(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        let bits = scalar.bits();
        if scalar == Scalar::I1 {
            return self.truth_binary(op, args, lane, dest);
        }
        let (mut a, mut b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
        let wide = self.temp(Width::W16);
        match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (a, b) = (self.operand(a), self.operand(b));
                let table = match op {
                    BinaryOp::And => AND,
                    BinaryOp::Or => OR,
                    _ => XOR,
                };
                self.bitop(table, dest, a, b);
                return Ok(());
            }
            BinaryOp::Add => self.add_into(wide, a, b),
            BinaryOp::Sub => self.sub_into(wide, a, b),
            BinaryOp::Mul => self.mul_add_into(wide, a, b, Src::Const(0, Width::W16)),
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
                let amount = self.amount(args[1], lane, bits)?;
                match op {
                    BinaryOp::Shl => self.shl_into(wide, a, amount),
                    BinaryOp::LShr => self.shr_into(wide, a, amount),
                    _ => {
                        a = self.sign_extended(a, bits);
                        self.asr_into(wide, a, amount);
                    }
                }
            }
            _ => {
                let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
                if signed {
                    a = self.sign_extended(a, bits);
                    b = self.sign_extended(b, bits);
                }
                self.divide_into(op, Scalar::I16, a, b, wide)?;
            }
        }
        self.mask_into(dest, Src::Reg(wide), scalar.mask());
        Ok(())
    }
}

/// A sum with a negative constant is a difference with a positive one.
fn turned(op: Op, b: Src) -> (Op, Src) {
    let Src::Const(bits, width) = b else {
        return (op, b);
    };
    let negated = crate::lower::operand::cut(bits.wrapping_neg(), width);
    if bits > 255 && negated <= 255 {
        let op = if op == Op::Iadd { Op::Isub } else { Op::Iadd };
        return (op, Src::Const(negated, width));
    }
    (op, b)
}
