//! Builtins of one thread: positions, tests, choices, vectors as a whole, packing.

use super::operand::{FloatSrc, Src, float_code, imm};
use super::select::{Done, Lowerer};
use crate::mir::{Inst, Memory, Slice};
use assay_agx::{Field, Op, Width};
use assay_ssa::builtin::{Builtin, BuiltinCall, Family, Sign};
use assay_ssa::{IntCond, Scalar, Value};

impl Lowerer<'_> {
    pub(super) fn builtin(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        match call.info().family {
            Family::Barrier => {
                self.barrier(call.builtin, args);
                return Ok(());
            }
            Family::Texture => return self.texture(call, args, result),
            Family::Matrix => return self.matrix(call.builtin, args, result),
            _ => {}
        }
        let Some(result) = result else {
            return self.unsupported(format!("the builtin {call}"));
        };
        let done = match call.info().family {
            Family::Position => self.position(call.builtin, result)?,
            Family::Simd | Family::Quad => self.across(call, args, result)?,
            Family::Geometric => self.geometry(call, args, result)?,
            Family::Pack => self.packing(call.builtin, args, result)?,
            Family::Vector => self.fold(call, args, result)?,
            _ if matches!(call.builtin, Builtin::All | Builtin::Any) => {
                self.fold(call, args, result)?
            }
            _ if matches!(
                call.builtin,
                Builtin::AddOverflow | Builtin::SubOverflow | Builtin::MulOverflow
            ) =>
            {
                self.overflowing(call, args, result)?
            }
            _ => self.each(call, args, result)?,
        };
        match done {
            true => Ok(()),
            false => self.unsupported(format!("the builtin {}", call.info().name)),
        }
    }

    fn barrier(&mut self, builtin: Builtin, args: &[Value]) {
        const DEVICE: u64 = assay_ssa::BarrierMemory::DEVICE as u64;
        const TEXTURE: u64 = assay_ssa::BarrierMemory::TEXTURE as u64;
        let flags = args.first().and_then(|&arg| self.function.const_bits(arg));
        let fence = Some(Memory {
            fence: true,
            ..Memory::default()
        });
        let shared = flags.is_none_or(|flags| flags & (DEVICE | TEXTURE) != 0);
        if shared && builtin != Builtin::SimdgroupBarrier {
            self.memory_fence();
        }
        // Lanes of a simdgroup run together, and memory is accessed in order.
        if builtin == Builtin::ThreadgroupBarrier {
            let mut inst = Inst::new(Op::ThreadgroupBarrier);
            inst.memory = fence;
            inst.convergent = true;
            self.push(inst);
        }
    }

    /// Orders accesses to memory that other threadgroups see.
    pub(super) fn memory_fence(&mut self) {
        let mut inst = Inst::new(Op::MemoryBarrier)
            .with(Field::BarrierA, imm(1))
            .with(Field::BarrierB, imm(2))
            .with(Field::BarrierC, imm(9));
        inst.memory = Some(Memory {
            fence: true,
            ..Memory::default()
        });
        inst.convergent = true;
        self.push(inst);
    }

    // ---- element by element ----

    fn each(&mut self, call: BuiltinCall, args: &[Value], result: Value) -> Done<bool> {
        let Some(scalar) = args.first().and_then(|&arg| self.scalar_type(arg)) else {
            return Ok(false);
        };
        for (lane, dest) in self.needed(result) {
            if let (Builtin::Compare3, &[a, b]) = (call.builtin, args) {
                let to = self.scalar_type(result).unwrap_or(scalar);
                self.three_way(call.sign == Sign::Signed, [a, b], lane, to, dest)?;
                continue;
            }
            let done = match scalar.is_float() {
                true => {
                    self.choice(call, scalar, args, lane, dest)?
                        || self.test(call.builtin, scalar, args, lane, dest)?
                        || self.math(call, scalar, args, lane, dest)?
                }
                false => self.integer(call, scalar, args, lane, dest)?,
            };
            if !done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where a float is compared and where it is taken from: brain floats differ.
    fn both(&mut self, scalar: Scalar, value: Value, lane: u32) -> Done<(FloatSrc, Src)> {
        let src = self.src(value, lane)?;
        Ok(self.comparable(scalar, src))
    }

    fn comparable(&mut self, scalar: Scalar, src: Src) -> (FloatSrc, Src) {
        let compared = match scalar {
            Scalar::BF16 => FloatSrc::plain(self.widen_brain(src)),
            _ => FloatSrc::plain(src),
        };
        (compared, src)
    }

    /// `a` where it is less (greater), or `b` is NaN; else `b`.
    fn extremum(&mut self, dest: Slice, less: bool, a: (FloatSrc, Src), b: (FloatSrc, Src)) {
        let code = match less {
            true => float_code::LESS_OR_NAN,
            false => float_code::GREATER_OR_NAN,
        };
        let test = self.float_compare(code, false, a.0, b.0);
        self.select_into(dest, test, a.1, b.1);
    }

    /// Builtins that give back one of their operands, or its bits.
    fn choice(
        &mut self,
        call: BuiltinCall,
        scalar: Scalar,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let builtin = call.builtin;
        match (builtin, args) {
            (Builtin::Fabs, &[x]) => {
                let src = self.src(x, lane)?;
                self.settle_into(dest, FloatSrc::plain(src).magnitude());
            }
            (Builtin::Copysign, &[x, y]) => {
                let (x, y) = (self.src(x, lane)?, self.src(y, lane)?);
                self.insert_low(dest, y, x, dest.width.bits() - 1);
            }
            (Builtin::Fmin | Builtin::Fmax, &[x, y]) => {
                let (x, y) = (self.both(scalar, x, lane)?, self.both(scalar, y, lane)?);
                self.extremum(dest, builtin == Builtin::Fmin, x, y);
            }
            (Builtin::Saturate, &[x]) => {
                let source = self.single(x, lane)?;
                let single = self.single_dest(scalar, dest);
                let nothing = FloatSrc::plain(super::float::arithmetic::NOTHING);
                self.saturated_op(Op::Fadd32, single, &[source, nothing]);
                self.single_done(scalar, dest, single);
            }
            (Builtin::Fmin3 | Builtin::Fmax3 | Builtin::Fmedian3 | Builtin::Fclamp, &[x, y, z]) => {
                let mut numbers = [Src::Const(0, dest.width); 3];
                for (number, value) in numbers.iter_mut().zip([x, y, z]) {
                    let lanes = u32::from(self.function.ty(value).lanes());
                    *number = self.src(value, lane.min(lanes.saturating_sub(1)))?;
                }
                self.of_three(builtin, scalar, numbers, dest);
            }
            (Builtin::Fminimum | Builtin::Fmaximum, &[x, y]) => {
                let (x, y) = (self.single(x, lane)?, self.single(y, lane)?);
                let chosen = self.ordered(builtin == Builtin::Fminimum, x, y);
                self.narrow_into(dest, scalar, chosen);
            }
            (Builtin::Fmod, &[x, y]) if !call.fast => {
                self.remainder(scalar, [x, y], lane, dest)?;
            }
            (Builtin::Ldexp, &[x, e]) => {
                let source = self.single(x, lane)?;
                let exponent = self.src(e, lane)?;
                let scaled = self.scaled(source, exponent);
                self.narrow_into(dest, scalar, scaled);
            }
            (Builtin::Ilogb, &[x]) => self.exponent(x, lane, dest)?,
            (Builtin::Nextafter, &[x, y]) => self.neighbour(scalar, [x, y], lane, dest)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// One of three numbers, chosen by minima and maxima in their own width.
    fn of_three(&mut self, builtin: Builtin, scalar: Scalar, numbers: [Src; 3], dest: Slice) {
        let [x, y, z] = numbers.map(|src| self.comparable(scalar, src));
        let first = self.temp(dest.width);
        match builtin {
            Builtin::Fmin3 | Builtin::Fmax3 | Builtin::Fclamp => {
                self.extremum(first, builtin == Builtin::Fmin3, x, y);
                let first = self.comparable(scalar, Src::Reg(first));
                self.extremum(dest, builtin != Builtin::Fmax3, first, z);
            }
            _ => {
                let (most, least) = (self.temp(dest.width), self.temp(dest.width));
                self.extremum(first, true, x, y);
                self.extremum(most, false, x, y);
                let most = self.comparable(scalar, Src::Reg(most));
                self.extremum(least, true, most, z);
                let [first, least] =
                    [first, least].map(|slice| self.comparable(scalar, Src::Reg(slice)));
                self.extremum(dest, false, first, least);
            }
        }
    }

    /// The smaller or larger, NaN if one is NaN, −0 below +0.
    fn ordered(&mut self, less: bool, x: FloatSrc, y: FloatSrc) -> Src {
        let nothing = FloatSrc::plain(super::float::arithmetic::NOTHING);
        let (a, b) = (self.temp(Width::W32), self.temp(Width::W32));
        self.float_op(Op::Fadd32, a, &[x, nothing]);
        self.float_op(Op::Fadd32, b, &[y, nothing]);
        let (x, y) = (FloatSrc::plain(Src::Reg(a)), FloatSrc::plain(Src::Reg(b)));
        let code = if less {
            float_code::LESS
        } else {
            float_code::GREATER
        };
        let apart = self.temp(Width::W32);
        let test = self.float_compare(code, false, x, y);
        self.select_into(apart, test, Src::Reg(a), Src::Reg(b));
        // Equal numbers differ in the sign of zero at most.
        let merged = self.temp(Width::W32);
        let table = if less {
            super::integer::arithmetic::OR
        } else {
            super::integer::arithmetic::AND
        };
        let (p, q) = (self.operand(Src::Reg(a)), self.operand(Src::Reg(b)));
        self.bitop(table, merged, p, q);
        let chosen = self.temp(Width::W32);
        let test = self.float_compare(float_code::EQUAL, false, x, y);
        self.select_into(chosen, test, Src::Reg(merged), Src::Reg(apart));
        // A sum with NaN is NaN, the one.
        let one_nan = Src::Const(u64::from(assay_num::NAN32.to_bits()), Width::W32);
        let first = self.temp(Width::W32);
        let test = self.float_compare(float_code::EQUAL, false, x, x);
        self.select_into(first, test, Src::Reg(chosen), one_nan);
        let last = self.temp(Width::W32);
        let test = self.float_compare(float_code::EQUAL, false, y, y);
        self.select_into(last, test, Src::Reg(first), one_nan);
        Src::Reg(last)
    }

    /// `x · 2^exponent`: three factors, of which only the last can round.
    fn scaled(&mut self, x: FloatSrc, exponent: Src) -> Src {
        let word = |value: i32| Src::Const(u64::from(value as u32), Width::W32);
        let (mut x, mut rest) = (x, exponent);
        for _ in 0..3 {
            let low = self.temp(Width::W32);
            let test = self.int_compare(IntCond::Sgt, rest, word(-126));
            self.select_into(low, test, rest, word(-126));
            let part = self.temp(Width::W32);
            let test = self.int_compare(IntCond::Slt, Src::Reg(low), word(127));
            self.select_into(part, test, Src::Reg(low), word(127));
            let left = self.temp(Width::W32);
            self.sub_into(left, rest, Src::Reg(part));
            rest = Src::Reg(left);
            let biased = self.temp(Width::W32);
            self.add_into(biased, Src::Reg(part), word(127));
            let factor = self.temp(Width::W32);
            self.shl_into(factor, Src::Reg(biased), Src::Const(23, Width::W16));
            let product = self.temp(Width::W32);
            let sources = [x, FloatSrc::plain(Src::Reg(factor))];
            self.float_op(Op::Fmul32, product, &sources);
            x = FloatSrc::plain(Src::Reg(product));
        }
        x.src
    }

    /// Tests of floats.
    fn test(
        &mut self,
        builtin: Builtin,
        scalar: Scalar,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let infinity = FloatSrc::plain(Src::Const(0x7f80_0000, Width::W32));
        let condition = match (builtin, args) {
            (Builtin::IsNan, &[x]) => {
                let x = self.single(x, lane)?;
                self.float_compare(float_code::EQUAL, true, x, x)
            }
            (Builtin::IsInf, &[x]) => {
                let x = self.single(x, lane)?.magnitude();
                self.float_compare(float_code::EQUAL, false, x, infinity)
            }
            (Builtin::IsFinite, &[x]) => {
                let x = self.single(x, lane)?.magnitude();
                self.float_compare(float_code::LESS, false, x, infinity)
            }
            (Builtin::IsNormal, &[x]) => {
                self.class_test(scalar, x, super::float::bits::NORMAL, lane, dest)?;
                return Ok(true);
            }
            (Builtin::IsClass, &[x, classes]) => {
                let Some(classes) = self.src_if_known(classes, 0)? else {
                    return Ok(false);
                };
                self.class_test(scalar, x, classes, lane, dest)?;
                return Ok(true);
            }
            (Builtin::SignBit, &[x]) => {
                let bits = self.src(x, lane)?;
                let zero = Src::Const(0, bits.width());
                let negative = self.int_compare(IntCond::Slt, bits, zero);
                if scalar != Scalar::F16 {
                    negative
                } else {
                    // Widening a half makes every NaN the positive one.
                    let sign = self.temp(Width::W16);
                    self.truth_into(sign, negative);
                    let x = FloatSrc::plain(bits);
                    let number = self.float_compare(float_code::EQUAL, false, x, x);
                    let real = self.temp(Width::W16);
                    let no = Src::Const(0, Width::W16);
                    self.select_into(real, number, Src::Reg(sign), no);
                    self.truth(Src::Reg(real))
                }
            }
            (Builtin::IsOrdered | Builtin::IsUnordered, &[x, y]) => {
                let (x, y) = (self.single(x, lane)?, self.single(y, lane)?);
                let first = self.temp(Width::W16);
                let test = self.float_compare(float_code::EQUAL, false, y, y);
                self.truth_into(first, test);
                let both = self.temp(Width::W16);
                let test = self.float_compare(float_code::EQUAL, false, x, x);
                let no = Src::Const(0, Width::W16);
                self.select_into(both, test, Src::Reg(first), no);
                let unordered = builtin == Builtin::IsUnordered;
                self.truth(Src::Reg(both)).inverted_if(unordered)
            }
            _ => return Ok(false),
        };
        self.truth_into(dest, condition);
        Ok(true)
    }

    // ---- vectors as a whole ----

    fn fold(&mut self, call: BuiltinCall, args: &[Value], result: Value) -> Done<bool> {
        let mut numbers = Vec::new();
        for &arg in args {
            for lane in 0..u32::from(self.function.ty(arg).lanes()) {
                numbers.push((arg, lane));
            }
        }
        let Some((_, dest)) = self.needed(result).first().copied() else {
            return Ok(true);
        };
        let Some(scalar) = args.first().and_then(|&arg| self.scalar_type(arg)) else {
            return Ok(false);
        };
        let Some((&(first, at), rest)) = numbers.split_first() else {
            return Ok(false);
        };
        let mut sum = self.src(first, at)?;
        for &(value, lane) in rest {
            let next = self.src(value, lane)?;
            let to = self.temp(dest.width);
            if !self.fold_step(call, scalar, sum, next, to)? {
                return Ok(false);
            }
            sum = Src::Reg(to);
        }
        self.copy(dest, sum);
        Ok(true)
    }

    fn fold_step(
        &mut self,
        call: BuiltinCall,
        scalar: Scalar,
        a: Src,
        b: Src,
        dest: Slice,
    ) -> Done<bool> {
        let signed = call.sign == Sign::Signed;
        let table = match call.builtin {
            Builtin::ReduceAnd | Builtin::All => Some(super::integer::arithmetic::AND),
            Builtin::ReduceOr | Builtin::Any => Some(super::integer::arithmetic::OR),
            Builtin::ReduceXor => Some(super::integer::arithmetic::XOR),
            _ => None,
        };
        if let Some(table) = table {
            if dest.width == Width::W64 {
                return Ok(false);
            }
            let (a, b) = (self.operand(a), self.operand(b));
            self.bitop(table, dest, a, b);
            return Ok(true);
        }
        let whole = matches!(scalar, Scalar::I16 | Scalar::I32);
        match call.builtin {
            Builtin::ReduceAdd if whole => self.add_into(dest, a, b),
            Builtin::ReduceMul if whole => {
                self.mul_add_into(dest, a, b, Src::Const(0, dest.width));
            }
            Builtin::ReduceMin | Builtin::ReduceMax if whole => {
                let cond = match (call.builtin == Builtin::ReduceMin, signed) {
                    (true, true) => IntCond::Slt,
                    (true, false) => IntCond::Ult,
                    (false, true) => IntCond::Sge,
                    (false, false) => IntCond::Uge,
                };
                let test = self.int_compare(cond, a, b);
                self.select_into(dest, test, a, b);
            }
            Builtin::ReduceFadd | Builtin::ReduceFmul if scalar != Scalar::BF16 => {
                let add = call.builtin == Builtin::ReduceFadd;
                // Rounded to the type at every step.
                let op = if add { Op::Fadd32 } else { Op::Fmul32 };
                self.float_op(op, dest, &[FloatSrc::plain(a), FloatSrc::plain(b)]);
            }
            Builtin::ReduceFmin | Builtin::ReduceFmax if scalar == Scalar::F32 => {
                let less = call.builtin == Builtin::ReduceFmin;
                let (x, y) = ((FloatSrc::plain(a), a), (FloatSrc::plain(b), b));
                self.extremum(dest, less, x, y);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
