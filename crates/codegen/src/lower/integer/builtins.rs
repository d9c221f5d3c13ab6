//! Builtins on integers.
//!
//! Numbers of fewer than 32 bits are widened as their sign says, computed in 32 bits and
//! cut.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{Condition, IntSrc, Src, imm};
use crate::lower::select::{Done, Lowerer};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Op, Operand as Fixed, Width};
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};
use assay_ssa::{BinaryOp, IntCond, Scalar, Value};

impl Lowerer<'_> {
    /// `dest = base` with its low `bits` bits replaced by those of `insert`.
    pub(in crate::lower) fn insert_low(&mut self, dest: Slice, base: Src, insert: Src, bits: u32) {
        let (a, b) = (self.operand(base), self.operand(insert));
        let inst = Inst::new(Op::Bfi)
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::A, a)
            .with(Field::B, b)
            .with(Field::C, imm(0))
            .with(Field::BitMask, Operand::Fixed(Fixed::BitMask(bits as u8)));
        self.push(inst);
    }

    /// A number of at most 32 bits in 32 bits.
    pub(in crate::lower) fn in_word(&mut self, src: Src, scalar: Scalar, signed: bool) -> Src {
        if src.width() == Width::W32 {
            return src;
        }
        if let Some(bits) = src.known() {
            let number = match signed {
                true => assay_num::int::signed(bits, scalar.bits()) as u64,
                false => bits,
            };
            return Src::Const(number & 0xffff_ffff, Width::W32);
        }
        let src = match signed && scalar.bits() < 16 {
            true => self.sign_extended(src, scalar.bits()),
            false => src,
        };
        let wide = self.temp(Width::W32);
        match signed {
            true => {
                let operand = self.int_operand(IntSrc { src, sx: true });
                self.op(Op::Iadd, wide, &[operand, imm(0)]);
            }
            false => self.zero_extend_into(wide, src),
        }
        Src::Reg(wide)
    }

    /// The low bits of a 32-bit result.
    pub(in crate::lower) fn cut_into(&mut self, dest: Slice, src: Src, scalar: Scalar) {
        match scalar {
            Scalar::I32 => self.copy(dest, src),
            Scalar::I16 => self.copy(dest, src.part(0, Width::W16)),
            _ => self.mask_into(dest, src.part(0, Width::W16), scalar.mask()),
        }
    }

    /// One number of a builtin on integers; nothing if there is no code for it.
    pub(in crate::lower) fn integer(
        &mut self,
        call: BuiltinCall,
        scalar: Scalar,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let signed = call.sign == Sign::Signed || call.builtin == Builtin::Abs;
        let mut numbers = Vec::with_capacity(4);
        for &arg in args {
            let lanes = u32::from(self.function.ty(arg).lanes());
            numbers.push(self.src(arg, lane.min(lanes.saturating_sub(1)))?);
        }
        if scalar == Scalar::I64 {
            return Ok(self.wide_integer(call.builtin, signed, &numbers, dest));
        }
        // Choices need no widening where comparisons extend halves themselves.
        if matches!(scalar, Scalar::I16 | Scalar::I32)
            && let (Builtin::Min | Builtin::Max, &[a, b]) = (call.builtin, &numbers[..])
        {
            self.extreme(dest, call.builtin == Builtin::Min, signed, a, b);
            return Ok(true);
        }
        let words: Vec<Src> = args
            .iter()
            .zip(&numbers)
            .map(|(&arg, &src)| {
                let own = self.scalar_type(arg).unwrap_or(scalar);
                match own {
                    Scalar::I64 => src.low(),
                    _ => self.in_word(src, own, signed),
                }
            })
            .collect();
        let Some(result) = self.integer_word(call.builtin, signed, scalar, &words) else {
            return Ok(false);
        };
        self.cut_into(dest, result, scalar);
        Ok(true)
    }

    /// The least or greatest, of any width.
    fn extreme(&mut self, dest: Slice, least: bool, signed: bool, a: Src, b: Src) {
        let cond = match (least, signed) {
            (true, true) => IntCond::Slt,
            (true, false) => IntCond::Ult,
            // Of equal ones either will do.
            (false, true) => IntCond::Sgt,
            (false, false) => IntCond::Ugt,
        };
        let test = self.compare_numbers(cond, a, b);
        self.choose_into(dest, test, a, b);
    }

    /// A comparison of two numbers of 16, 32 or 64 bits.
    fn compare_numbers(&mut self, cond: IntCond, a: Src, b: Src) -> Condition {
        match a.width() {
            Width::W64 => self.wide_compare(cond, a, b),
            _ => self.int_compare(cond, a, b),
        }
    }

    /// −1, 0 or 1 of type `to`, as the first number is less, the same or greater.
    pub(in crate::lower) fn three_way(
        &mut self,
        signed: bool,
        args: [Value; 2],
        lane: u32,
        to: Scalar,
        dest: Slice,
    ) -> Done {
        let [mut a, mut b] = [self.src(args[0], lane)?, self.src(args[1], lane)?];
        if signed && self.scalar_type(args[0]) == Some(Scalar::I8) {
            a = self.in_word(a, Scalar::I8, true);
            b = self.in_word(b, Scalar::I8, true);
        }
        let (less, greater) = match signed {
            true => (IntCond::Slt, IntCond::Sgt),
            false => (IntCond::Ult, IntCond::Ugt),
        };
        let number = |bits: u64| Src::Const(bits, dest.width);
        let above = self.temp(dest.width);
        let test = self.compare_numbers(greater, a, b);
        self.choose_into(above, test, number(1), number(0));
        let test = self.compare_numbers(less, a, b);
        self.choose_into(dest, test, number(to.mask()), Src::Reg(above));
        Ok(())
    }

    pub(in crate::lower) fn extreme_word(
        &mut self,
        least: bool,
        signed: bool,
        a: Src,
        b: Src,
    ) -> Src {
        let dest = self.temp(Width::W32);
        self.extreme(dest, least, signed, a, b);
        Src::Reg(dest)
    }

    /// Builtins that give back one of their operands, of 32 or 64 bits; false if it is
    /// no such builtin.
    pub(in crate::lower) fn chosen_integer(
        &mut self,
        builtin: Builtin,
        signed: bool,
        numbers: &[Src],
        dest: Slice,
    ) -> bool {
        let first = self.temp(dest.width);
        match (builtin, numbers) {
            (Builtin::Min, &[a, b]) => self.extreme(dest, true, signed, a, b),
            (Builtin::Max, &[a, b]) => self.extreme(dest, false, signed, a, b),
            (Builtin::Min3, &[a, b, c]) => {
                self.extreme(first, true, signed, a, b);
                self.extreme(dest, true, signed, Src::Reg(first), c);
            }
            (Builtin::Max3, &[a, b, c]) => {
                self.extreme(first, false, signed, a, b);
                self.extreme(dest, false, signed, Src::Reg(first), c);
            }
            (Builtin::Clamp, &[a, low, high]) => {
                self.extreme(first, false, signed, a, low);
                self.extreme(dest, true, signed, Src::Reg(first), high);
            }
            (Builtin::Median3, &[a, b, c]) => {
                let (most, inner) = (self.temp(dest.width), self.temp(dest.width));
                self.extreme(first, true, signed, a, b);
                self.extreme(most, false, signed, a, b);
                self.extreme(inner, true, signed, Src::Reg(most), c);
                self.extreme(dest, false, signed, Src::Reg(first), Src::Reg(inner));
            }
            _ => return false,
        }
        true
    }

    pub(in crate::lower) fn integer_word(
        &mut self,
        builtin: Builtin,
        signed: bool,
        scalar: Scalar,
        words: &[Src],
    ) -> Option<Src> {
        let bits = scalar.bits();
        let constant = |value: u64| Src::Const(value & 0xffff_ffff, Width::W32);
        let zero = constant(0);
        let dest = self.temp(Width::W32);
        if self.chosen_integer(builtin, signed, words, dest) {
            return Some(Src::Reg(dest));
        }
        match (builtin, words) {
            (Builtin::Abs, &[a]) => {
                let negated = self.temp(Width::W32);
                self.sub_into(negated, zero, a);
                self.extreme(dest, false, true, a, Src::Reg(negated));
            }
            (Builtin::AbsDiff, &[a, b]) => {
                let (one, other) = (self.temp(Width::W32), self.temp(Width::W32));
                self.sub_into(one, a, b);
                self.sub_into(other, b, a);
                let cond = if signed { IntCond::Slt } else { IntCond::Ult };
                let test = self.int_compare(cond, a, b);
                self.select_into(dest, test, Src::Reg(other), Src::Reg(one));
            }
            (Builtin::AddSat | Builtin::SubSat, &[a, b]) => {
                let op = if builtin == Builtin::AddSat {
                    Op::Iadd
                } else {
                    Op::Isub
                };
                return Some(self.saturated_sum(op, signed, scalar, a, b));
            }
            (Builtin::HAdd | Builtin::RHAdd, &[a, b]) => {
                // In 64 bits nothing is lost.
                let sum = self.temp(Width::W64);
                let source = |src| IntSrc { src, sx: signed };
                self.wide_sum(Op::Iadd, sum, source(a), source(b), 0);
                let mut total = sum;
                if builtin == Builtin::RHAdd {
                    total = self.temp(Width::W64);
                    let one = Self::bare(constant(1));
                    self.wide_sum(Op::Iadd, total, Self::bare(Src::Reg(sum)), one, 0);
                }
                let halved = self.temp(Width::W64);
                let by = Src::Const(1, Width::W16);
                self.wide_shift_into(BinaryOp::LShr, halved, Src::Reg(total), by);
                return Some(Src::Reg(word(halved, 0)));
            }
            (Builtin::MulHi | Builtin::MadHi, &[a, b, ..]) => {
                let high = if bits == 32 {
                    self.mul_high(a, b, signed)
                } else {
                    let product = self.temp(Width::W32);
                    self.mul_add_into(product, a, b, zero);
                    let by = Src::Const(u64::from(bits), Width::W16);
                    let high = self.temp(Width::W32);
                    self.shr_into(high, Src::Reg(product), by);
                    Src::Reg(high)
                };
                match words.get(2) {
                    Some(&c) => self.add_into(dest, high, c),
                    None => return Some(high),
                }
            }
            (Builtin::MadSat, &[a, b, c]) => {
                return Some(self.saturated_product(signed, scalar, [a, b, c]));
            }
            (Builtin::Mul24 | Builtin::Mad24, &[a, b, ..]) => {
                let (a, b) = (self.low_24(a, signed), self.low_24(b, signed));
                let c = words.get(2).copied().unwrap_or(zero);
                self.mul_add_into(dest, a, b, c);
            }
            (Builtin::PopCount, &[a]) => {
                let operand = self.operand(a);
                self.op(Op::Popcount, dest, &[operand]);
            }
            (Builtin::ReverseBits, &[a]) => {
                let operand = self.operand(a);
                if bits == 32 {
                    self.op(Op::Bitrev, dest, &[operand]);
                } else {
                    let all = self.temp(Width::W32);
                    self.op(Op::Bitrev, all, &[operand]);
                    let by = Src::Const(u64::from(32 - bits), Width::W16);
                    self.shr_into(dest, Src::Reg(all), by);
                }
            }
            (Builtin::Clz, &[a, ..]) => {
                // bits − 1 − highest; for zero the highest is −1.
                let highest = self.temp(Width::W32);
                let operand = self.operand(a);
                self.op(Op::Ffs, highest, &[operand]);
                self.sub_into(dest, constant(u64::from(bits - 1)), Src::Reg(highest));
            }
            (Builtin::Ctz, &[a, ..]) => {
                // The highest of the lowest set bit; for zero, the width.
                let negated = self.temp(Width::W32);
                self.sub_into(negated, zero, a);
                let lowest = self.temp(Width::W32);
                let (p, q) = (self.operand(a), self.operand(Src::Reg(negated)));
                self.bitop(crate::lower::integer::arithmetic::AND, lowest, p, q);
                let place = self.temp(Width::W32);
                let operand = self.operand(Src::Reg(lowest));
                self.op(Op::Ffs, place, &[operand]);
                let test = self.int_compare(IntCond::Eq, a, zero);
                self.select_into(dest, test, constant(u64::from(bits)), Src::Reg(place));
            }
            (Builtin::Rotate, &[a, amount]) => {
                return self.funnel_shift(scalar, a, a, amount, true);
            }
            (Builtin::FunnelLeft, &[high, low, amount]) => {
                return self.funnel_shift(scalar, high, low, amount, true);
            }
            (Builtin::FunnelRight, &[high, low, amount]) => {
                return self.funnel_shift(scalar, high, low, amount, false);
            }
            (Builtin::ByteSwap, &[a]) if bits >= 16 => {
                return Some(self.byte_swapped(a, bits));
            }
            (Builtin::NormalizePredicate, &[a]) => {
                let test = self.int_compare(IntCond::Ne, a, zero);
                self.select_into(dest, test, constant(1), zero);
            }
            (Builtin::ExtractBits, &[a, offset, count]) if bits == 32 => {
                return self.extracted(a, offset, count, signed);
            }
            (Builtin::InsertBits, &[base, insert, offset, count]) if bits == 32 => {
                return self.inserted(base, insert, offset, count);
            }
            _ => return None,
        }
        Some(Src::Reg(dest))
    }

    fn saturated_sum(&mut self, op: Op, signed: bool, scalar: Scalar, a: Src, b: Src) -> Src {
        let dest = self.temp(Width::W32);
        let source = |src| IntSrc { src, sx: signed };
        if scalar == Scalar::I32 {
            let (a, b) = (self.int_operand(source(a)), self.int_operand(source(b)));
            self.op(op, dest, &[a, b]);
            if let Some(crate::lower::select::Code::Inst(inst)) = self.out.last_mut()
                && let crate::mir::Opcode::Machine { saturate, .. } = &mut inst.opcode
            {
                *saturate = true;
            }
            return Src::Reg(dest);
        }
        // Exact in 32 bits, then clamped.
        let sum = self.temp(Width::W32);
        match op {
            Op::Iadd => self.add_into(sum, a, b),
            _ => self.sub_into(sum, a, b),
        }
        let (low, high) = limits(signed, scalar);
        let above = self.extreme_word(false, true, Src::Reg(sum), low);
        self.extreme(dest, true, true, above, high);
        Src::Reg(dest)
    }

    /// `a * b + c`, saturated.
    fn saturated_product(&mut self, signed: bool, scalar: Scalar, [a, b, c]: [Src; 3]) -> Src {
        let dest = self.temp(Width::W32);
        if scalar == Scalar::I32 {
            // Exact in 64 bits.
            let exact = self.temp(Width::W64);
            let source = |src| IntSrc { src, sx: signed };
            self.wide_mul_add(exact, source(a), source(b), source(c));
            let (low, high) = (Src::Reg(word(exact, 0)), Src::Reg(word(exact, 1)));
            let by = Src::Const(31, Width::W16);
            let (above, limit) = match signed {
                false => (
                    Src::Const(0, Width::W32),
                    Src::Const(0xffff_ffff, Width::W32),
                ),
                true => {
                    let sign = self.temp(Width::W32);
                    self.asr_into(sign, low, by);
                    (Src::Reg(sign), self.limit_of_sign(high))
                }
            };
            let fits = self.int_compare(IntCond::Eq, high, above);
            self.select_into(dest, fits, low, limit);
            return Src::Reg(dest);
        }
        // Exact in 32 bits, with their sign or without.
        let exact = self.temp(Width::W32);
        self.mul_add_into(exact, a, b, c);
        let (low, high) = limits(signed, scalar);
        let above = match signed {
            true => self.extreme_word(false, true, Src::Reg(exact), low),
            false => Src::Reg(exact),
        };
        self.extreme(dest, true, signed, above, high);
        Src::Reg(dest)
    }

    /// The upper word of the largest number, or of the smallest where `word` is negative.
    pub(in crate::lower) fn limit_of_sign(&mut self, word: Src) -> Src {
        let (sign, limit) = (self.temp(Width::W32), self.temp(Width::W32));
        self.asr_into(sign, word, Src::Const(31, Width::W16));
        let (a, b) = (
            self.operand(Src::Reg(sign)),
            self.operand(Src::Const(0x7fff_ffff, Width::W32)),
        );
        self.bitop(crate::lower::integer::arithmetic::XOR, limit, a, b);
        Src::Reg(limit)
    }

    fn low_24(&mut self, a: Src, signed: bool) -> Src {
        let low = self.temp(Width::W32);
        if !signed {
            self.mask_into(low, a, 0xff_ffff);
            return Src::Reg(low);
        }
        let by = Src::Const(8, Width::W16);
        let up = self.temp(Width::W32);
        self.shl_into(up, a, by);
        self.asr_into(low, Src::Reg(up), by);
        Src::Reg(low)
    }
}

/// The smallest and the largest number of a type, in 32 bits.
fn limits(signed: bool, scalar: Scalar) -> (Src, Src) {
    let bits = scalar.bits();
    let (low, high) = match signed {
        true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        false => (0, scalar.mask() as i64),
    };
    let constant = |value: i64| Src::Const(u64::from(value as u32), Width::W32);
    (constant(low), constant(high))
}
