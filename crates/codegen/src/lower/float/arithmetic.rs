//! Float arithmetic.
//!
//! Brain floats are computed in single precision and rounded after every operation: a
//! brain float is the upper half of a register whose lower half is zero.

use crate::lower::operand::{FloatSrc, Src, imm};
use crate::lower::select::{Done, Lowerer};
use crate::mir::{Inst, Opcode, Operand, Slice};
use assay_agx::{Field, Op, Width};
use assay_ssa::{BinaryOp, Scalar, UnaryOp, Value};

/// −0.0: what an addition leaves every number as it is with.
pub(in crate::lower) const NOTHING: Src = Src::Const(0x8000_0000, Width::W32);

impl Lowerer<'_> {
    /// A float operation on sources at hand.
    pub(in crate::lower) fn float_op(&mut self, op: Op, dest: Slice, sources: &[FloatSrc]) {
        let mut inst = Inst::new(op).with(Field::Dest, Operand::Def(dest));
        for (field, &source) in [Field::A, Field::B, Field::C].into_iter().zip(sources) {
            let operand = self.float_operand(source);
            inst = inst.with(field, operand);
        }
        self.push(inst);
    }

    /// The same with the result clamped to [0, 1].
    pub(in crate::lower) fn saturated_op(&mut self, op: Op, dest: Slice, sources: &[FloatSrc]) {
        self.float_op(op, dest, sources);
        if let Some(crate::lower::select::Code::Inst(inst)) = self.out.last_mut()
            && let Opcode::Machine { saturate, .. } = &mut inst.opcode
        {
            *saturate = true;
        }
    }

    /// Converts between half and single precision, whichever `dest` is.
    pub(in crate::lower) fn float_move(&mut self, dest: Slice, source: FloatSrc) {
        self.float_op(Op::Fadd32, dest, &[source, FloatSrc::plain(NOTHING)]);
    }

    /// One number of a float operation with two operands.
    pub(in crate::lower) fn float_binary(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        if op == BinaryOp::FRem {
            return self.remainder(scalar, args, lane, dest);
        }
        if scalar == Scalar::BF16 {
            let (a, b) = (
                self.brain_single(args[0], lane)?,
                self.brain_single(args[1], lane)?,
            );
            let single = self.temp(Width::W32);
            self.binary_into(op, Scalar::F32, a, b, single)?;
            self.round_to_brain(dest, Src::Reg(single));
            return Ok(());
        }
        let (a, b) = (self.float(args[0], lane)?, self.float(args[1], lane)?);
        self.binary_into(op, scalar, a, b, dest)
    }

    fn binary_into(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        a: FloatSrc,
        b: FloatSrc,
        dest: Slice,
    ) -> Done {
        let half = scalar == Scalar::F16;
        let (add, mul) = match half {
            true => (Op::Fadd16, Op::Fmul16),
            false => (Op::Fadd32, Op::Fmul32),
        };
        match op {
            BinaryOp::FAdd => self.float_op(add, dest, &[a, b]),
            BinaryOp::FSub => self.float_op(add, dest, &[a, b.negated()]),
            BinaryOp::FMul => self.float_op(mul, dest, &[a, b]),
            BinaryOp::FDiv => self.divide_floats(half, a, b, dest),
            _ => return self.malformed("a float operation on integers"),
        }
        Ok(())
    }

    /// One number of a multiply-add.
    pub(in crate::lower) fn float_ternary(
        &mut self,
        scalar: Scalar,
        args: [Value; 3],
        lane: u32,
        dest: Slice,
    ) -> Done {
        if scalar == Scalar::BF16 {
            let [a, b, c] = args;
            let sources = [
                self.brain_single(a, lane)?,
                self.brain_single(b, lane)?,
                self.brain_single(c, lane)?,
            ];
            let single = self.temp(Width::W32);
            self.float_op(Op::Fmadd32, single, &sources);
            self.round_to_brain(dest, Src::Reg(single));
            return Ok(());
        }
        let op = match scalar {
            Scalar::F16 => Op::Fmadd16,
            _ => Op::Fmadd32,
        };
        let sources = [
            self.float(args[0], lane)?,
            self.float(args[1], lane)?,
            self.float(args[2], lane)?,
        ];
        self.float_op(op, dest, &sources);
        Ok(())
    }

    /// One number of a negation that nobody could take along.
    pub(in crate::lower) fn float_unary(
        &mut self,
        op: UnaryOp,
        arg: Value,
        lane: u32,
        dest: Slice,
    ) -> Done {
        match op {
            UnaryOp::FNeg => {
                let src = self.src(arg, lane)?;
                self.settle_into(dest, FloatSrc::plain(src).negated());
            }
            UnaryOp::Freeze => {
                let src = self.src(arg, lane)?;
                self.copy(dest, src);
            }
        }
        Ok(())
    }

    // ---- brain floats ----

    /// A brain float as a single.
    pub(in crate::lower) fn brain_single(&mut self, value: Value, lane: u32) -> Done<FloatSrc> {
        let src = self.src(value, lane)?;
        Ok(FloatSrc::plain(self.widen_brain(src)))
    }

    pub(in crate::lower) fn widen_brain(&mut self, src: Src) -> Src {
        if let Src::Const(bits, _) = src {
            return Src::Const(bits << 16, Width::W32);
        }
        let wide = self.temp(Width::W32);
        self.widen_brain_into(wide, src);
        Src::Reg(wide)
    }

    pub(in crate::lower) fn widen_brain_into(&mut self, dest: Slice, src: Src) {
        let half = |at: u8| Slice {
            half: dest.half + at,
            width: Width::W16,
            ..dest
        };
        self.copies(&[(half(0), Src::Const(0, Width::W16)), (half(1), src)]);
    }

    /// A single rounded to a brain float, to nearest even; NaN becomes the one NaN.
    pub(in crate::lower) fn round_to_brain(&mut self, dest: Slice, single: Src) {
        if let Src::Const(bits, _) = single {
            let brain = assay_num::f32_to_bf16(f32::from_bits(bits as u32));
            return self.copy(dest, Src::Const(u64::from(brain), Width::W16));
        }
        // bits + 0x7fff + the bit that will be the last
        let last = self.temp(Width::W16);
        let high = single.part(1, Width::W16);
        self.mask_into(last, high, 1);
        let biased = self.temp(Width::W32);
        self.add_into(biased, single, Src::Const(0x7fff, Width::W32));
        let rounded = self.temp(Width::W32);
        self.add_into(rounded, Src::Reg(biased), Src::Reg(last));
        let number = FloatSrc::plain(single);
        let test = self.float_compare(
            crate::lower::operand::float_code::EQUAL,
            false,
            number,
            number,
        );
        let upper = Src::Reg(rounded).part(1, Width::W16);
        self.select_into(dest, test, upper, Src::Const(0x7fc0, Width::W16));
    }

    /// A single rounded to what `scalar` is.
    pub(in crate::lower) fn narrow_into(&mut self, dest: Slice, scalar: Scalar, single: Src) {
        match scalar {
            Scalar::F16 => self.float_move(dest, FloatSrc::plain(single)),
            Scalar::BF16 => self.round_to_brain(dest, single),
            _ => self.copy(dest, single),
        }
    }

    /// A number of any float type as a source of a single-precision operation.
    pub(in crate::lower) fn single(&mut self, value: Value, lane: u32) -> Done<FloatSrc> {
        match self.scalar_type(value) {
            Some(Scalar::BF16) => self.brain_single(value, lane),
            _ => self.float(value, lane),
        }
    }

    /// Where a single-precision result for a `scalar` goes first: into `dest` itself
    /// when the operation can round to it.
    pub(in crate::lower) fn single_dest(&mut self, scalar: Scalar, dest: Slice) -> Slice {
        match scalar {
            Scalar::BF16 => self.temp(Width::W32),
            _ => dest,
        }
    }

    /// Finishes what [`Self::single_dest`] began.
    pub(in crate::lower) fn single_done(&mut self, scalar: Scalar, dest: Slice, single: Slice) {
        if scalar == Scalar::BF16 {
            self.round_to_brain(dest, Src::Reg(single));
        }
    }

    /// An integer zero, for sources that do not matter.
    pub(in crate::lower) const fn nought() -> Operand {
        imm(0)
    }
}
