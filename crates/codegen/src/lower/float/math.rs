//! Composed mathematics: `assay-num`'s functions over a machine that writes instructions
//! down instead of computing.

use crate::lower::operand::{Condition, FloatSrc, Src, float_code};
use crate::lower::select::{Code, Done, Lowerer, straight};
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_num::machine::Machine;
use assay_num::math::expand;
use assay_ssa::builtin::{Builtin, BuiltinCall};
use assay_ssa::{Scalar, Value};
use std::cell::RefCell;

/// A machine that writes down.
struct Writer<'l, 'a> {
    lowerer: RefCell<&'l mut Lowerer<'a>>,
}

/// A comparison that has not been made yet.
#[derive(Clone, Copy)]
struct Truth {
    code: u8,
    a: FloatSrc,
    b: FloatSrc,
}

impl Writer<'_, '_> {
    fn op(&self, op: Op, sources: &[FloatSrc]) -> FloatSrc {
        let mut lowerer = self.lowerer.borrow_mut();
        let dest = lowerer.temp(Width::W32);
        lowerer.float_op(op, dest, sources);
        FloatSrc::plain(Src::Reg(dest))
    }

    fn known(source: FloatSrc) -> Option<f32> {
        let bits = source
            .src
            .known()
            .filter(|_| source.src.width() == Width::W32)? as u32;
        let bits = if source.abs { bits & 0x7fff_ffff } else { bits };
        Some(f32::from_bits(bits ^ u32::from(source.neg) << 31))
    }

    /// A float as it is, in 32 bits.
    fn bits(&self, source: FloatSrc) -> Src {
        self.lowerer.borrow_mut().as_single(source)
    }
}

impl Machine for Writer<'_, '_> {
    type Float = FloatSrc;
    type Truth = Truth;

    fn constant(&self, value: f32) -> FloatSrc {
        FloatSrc::plain(Src::Const(u64::from(value.to_bits()), Width::W32))
    }
    fn add(&self, a: FloatSrc, b: FloatSrc) -> FloatSrc {
        self.op(Op::Fadd32, &[a, b])
    }
    fn sub(&self, a: FloatSrc, b: FloatSrc) -> FloatSrc {
        self.op(Op::Fadd32, &[a, b.negated()])
    }
    fn mul(&self, a: FloatSrc, b: FloatSrc) -> FloatSrc {
        if let (Some(x), Some(y)) = (Self::known(a), Self::known(b)) {
            return self.constant(assay_num::single::mul(x, y));
        }
        self.op(Op::Fmul32, &[a, b])
    }
    fn fma(&self, a: FloatSrc, b: FloatSrc, c: FloatSrc) -> FloatSrc {
        self.op(Op::Fmadd32, &[a, b, c])
    }
    fn neg(&self, a: FloatSrc) -> FloatSrc {
        a.negated()
    }
    fn abs(&self, a: FloatSrc) -> FloatSrc {
        a.magnitude()
    }
    fn copysign(&self, a: FloatSrc, b: FloatSrc) -> FloatSrc {
        if let (Some(x), Some(y)) = (Self::known(a), Self::known(b)) {
            return self.constant(x.copysign(y));
        }
        // The low bits of the first put into the second: one bit-field insertion, in 16 bits if both are halves.
        if let Some(magnitude) = Self::known(a)
            && b.src.width() == Width::W16
            && !b.is_modified()
            && assay_num::f16_to_f32(assay_num::f32_to_f16(magnitude)) == magnitude
        {
            let half = u64::from(assay_num::f32_to_f16(magnitude));
            let mut lowerer = self.lowerer.borrow_mut();
            let dest = lowerer.temp(Width::W16);
            lowerer.insert_low(dest, b.src, Src::Const(half, Width::W16), 15);
            return FloatSrc::plain(Src::Reg(dest));
        }
        let (magnitude, sign) = (
            self.bits(FloatSrc {
                abs: false,
                neg: false,
                ..a
            }),
            self.bits(b),
        );
        let mut lowerer = self.lowerer.borrow_mut();
        let dest = lowerer.temp(Width::W32);
        lowerer.insert_low(dest, sign, magnitude, 31);
        FloatSrc::plain(Src::Reg(dest))
    }
    fn floor(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Floor, &[a])
    }
    fn trunc(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Trunc, &[a])
    }
    fn rint(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Rint, &[a])
    }
    fn rcp(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Rcp, &[a])
    }
    fn rsqrt(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Rsqrt, &[a])
    }
    fn rsqrt_special(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::RsqrtSpecial, &[a])
    }
    fn exp2(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Exp2, &[a])
    }
    fn log2(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::Log2, &[a])
    }
    fn sin_pt_1(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::SinPt1, &[a])
    }
    fn sin_pt_2(&self, a: FloatSrc) -> FloatSrc {
        self.op(Op::SinPt2, &[a])
    }
    fn less(&self, a: FloatSrc, b: FloatSrc) -> Truth {
        let code = float_code::LESS;
        Truth { code, a, b }
    }
    fn equal(&self, a: FloatSrc, b: FloatSrc) -> Truth {
        let code = float_code::EQUAL;
        Truth { code, a, b }
    }
    fn select(&self, truth: Truth, yes: FloatSrc, no: FloatSrc) -> FloatSrc {
        let (yes, no) = (self.bits(yes), self.bits(no));
        let mut lowerer = self.lowerer.borrow_mut();
        let test: Condition = lowerer.float_compare(truth.code, false, truth.a, truth.b);
        let dest = lowerer.temp(Width::W32);
        lowerer.select_into(dest, test, yes, no);
        FloatSrc::plain(Src::Reg(dest))
    }
    fn flip_by_last_bit(&self, a: FloatSrc, bits: FloatSrc) -> FloatSrc {
        let (value, bits) = (self.bits(a), self.bits(bits));
        let mut lowerer = self.lowerer.borrow_mut();
        let sign = lowerer.temp(Width::W32);
        lowerer.shl_into(sign, bits, Src::Const(31, Width::W16));
        let dest = lowerer.temp(Width::W32);
        let (value, sign) = (lowerer.operand(value), lowerer.operand(Src::Reg(sign)));
        lowerer.bitop(crate::lower::integer::arithmetic::XOR, dest, value, sign);
        FloatSrc::plain(Src::Reg(dest))
    }
    fn near_or_far(
        &self,
        x: FloatSrc,
        limit: f32,
        near: [FloatSrc; 3],
        far: impl FnOnce(&Self) -> [FloatSrc; 3],
    ) -> [FloatSrc; 3] {
        // No half reaches a limit that halves do not have, and of a constant it is known.
        let largest_half = 65_504.0;
        let is_half = x.src.width() == Width::W16;
        if (is_half && limit > largest_half) || Self::known(x).is_some_and(|x| x.abs() < limit) {
            return near;
        }
        let results = near.map(|value| {
            let value = self.bits(value);
            let mut lowerer = self.lowerer.borrow_mut();
            let result = lowerer.temp(Width::W32);
            lowerer.copy(result, value);
            result
        });
        let limit = self.constant(limit);
        let (condition, before) = {
            let mut lowerer = self.lowerer.borrow_mut();
            let code = float_code::GREATER_EQUAL;
            let condition = lowerer.float_compare(code, false, x.magnitude(), limit);
            (condition, std::mem::take(&mut lowerer.out))
        };
        for (result, value) in results.into_iter().zip(far(self)) {
            let value = self.bits(value);
            self.lowerer.borrow_mut().copy(result, value);
        }
        let mut lowerer = self.lowerer.borrow_mut();
        let body = straight(std::mem::replace(&mut lowerer.out, before));
        lowerer.out.push(Code::When { condition, body });
        results.map(|result| FloatSrc::plain(Src::Reg(result)))
    }
    fn far_parts(&self, x: FloatSrc) -> [FloatSrc; 4] {
        let bits = self.bits(x);
        self.lowerer.borrow_mut().far_parts(bits)
    }
    fn split(&self, a: FloatSrc) -> (FloatSrc, FloatSrc) {
        let bits = self.bits(a);
        let mut lowerer = self.lowerer.borrow_mut();
        let above = lowerer.temp(Width::W32);
        lowerer.sub_into(above, bits, Src::Const(0x3f35_04f3, Width::W32));
        let top = lowerer.temp(Width::W32);
        lowerer.mask_into(top, Src::Reg(above), 0xff80_0000);
        let mantissa = lowerer.temp(Width::W32);
        lowerer.sub_into(mantissa, bits, Src::Reg(top));
        let number = lowerer.temp(Width::W32);
        lowerer.asr_into(number, Src::Reg(above), Src::Const(23, Width::W16));
        let exponent = lowerer.temp(Width::W32);
        let operand = lowerer.operand(Src::Reg(number));
        lowerer.convert_inst(11, true, exponent, operand);
        (
            FloatSrc::plain(Src::Reg(mantissa)),
            FloatSrc::plain(Src::Reg(exponent)),
        )
    }
}

impl<'a> Lowerer<'a> {
    fn writer<'l>(&'l mut self) -> Writer<'l, 'a> {
        Writer {
            lowerer: RefCell::new(self),
        }
    }

    /// `a / b`, correctly rounded, to the width of `dest`.
    pub(in crate::lower) fn divide_floats(
        &mut self,
        half: bool,
        a: FloatSrc,
        b: FloatSrc,
        dest: Slice,
    ) {
        let result = if half {
            expand::divide_of_half(&self.writer(), a, b)
        } else {
            expand::divide(&self.writer(), a, b)
        };
        self.finish_single(dest, result);
    }

    /// A single-precision result in `dest`, rounded if that is narrower.
    pub(in crate::lower) fn finish_single(&mut self, dest: Slice, result: FloatSrc) {
        // The last instruction can write to where the result belongs.
        if let Src::Reg(slice) = result.src
            && !result.is_modified()
            && let Some(Code::Inst(inst)) = self.out.last_mut()
            && !matches!(inst.opcode, crate::mir::Opcode::ParallelCopy)
        {
            let rounds = dest.width == Width::W32
                || matches!(
                    inst.opcode,
                    crate::mir::Opcode::Machine {
                        op: Op::Fadd32
                            | Op::Fmul32
                            | Op::Fmadd32
                            | Op::Floor
                            | Op::Ceil
                            | Op::Trunc
                            | Op::Rint
                            | Op::Rcp
                            | Op::Rsqrt
                            | Op::RsqrtSpecial
                            | Op::Exp2
                            | Op::Log2
                            | Op::SinPt1
                            | Op::SinPt2,
                        ..
                    }
                );
            if rounds {
                for (_, operand) in &mut inst.operands {
                    if *operand == crate::mir::Operand::Def(slice) {
                        *operand = crate::mir::Operand::Def(dest);
                        return;
                    }
                }
            }
        }
        match dest.width {
            Width::W16 => self.float_move(dest, result),
            _ if result.src.width() == Width::W16 => self.float_move(dest, result),
            _ => self.settle_into(dest, result),
        }
    }

    /// One number of a function of floats; nothing if it is not such a function.
    pub(in crate::lower) fn math(
        &mut self,
        call: BuiltinCall,
        scalar: Scalar,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let mut sources = Vec::with_capacity(3);
        for &arg in args {
            let lanes = u32::from(self.function.ty(arg).lanes());
            sources.push(self.single(arg, lane.min(lanes.saturating_sub(1)))?);
        }
        let fast = call.fast;
        let writer = self.writer();
        let result = match sources[..] {
            [x] => unary(&writer, call.builtin, scalar, fast, x),
            [x, y] => binary(&writer, call.builtin, scalar, fast, x, y),
            [x, y, z] => ternary(&writer, call.builtin, fast, x, y, z),
            _ => None,
        };
        let Some(result) = result else {
            return Ok(false);
        };
        let single = self.single_dest(scalar, dest);
        self.finish_single(single, result);
        self.single_done(scalar, dest, single);
        Ok(true)
    }

    /// A function of whole vectors; nothing if it is not such a function.
    pub(in crate::lower) fn geometry(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Value,
    ) -> Done<bool> {
        let Some(&first) = args.first() else {
            return Ok(false);
        };
        let scalar = self.scalar_type(first).unwrap_or(Scalar::F32);
        let width = u32::from(self.function.ty(first).lanes());
        let mut numbers: Vec<Vec<FloatSrc>> = Vec::new();
        for &arg in args {
            let mut list = Vec::new();
            for lane in 0..width {
                list.push(self.single(arg, lane)?);
            }
            numbers.push(list);
        }
        let needed = self.needed(result);
        let writer = self.writer();
        let values: Vec<FloatSrc> = match (call.builtin, &numbers[..]) {
            (Builtin::Dot, [a, b]) => vec![expand::dot(&writer, a, b)],
            (Builtin::Length, [a]) => vec![expand::length(&writer, a, call.fast)],
            (Builtin::LengthSquared, [a]) => vec![expand::dot(&writer, a, a)],
            (Builtin::Distance | Builtin::DistanceSquared, [a, b]) => {
                let apart = a.iter().zip(b).map(|(&x, &y)| writer.sub(x, y));
                let apart: Vec<FloatSrc> = apart.collect();
                match call.builtin {
                    Builtin::Distance => vec![expand::length(&writer, &apart, call.fast)],
                    _ => vec![expand::dot(&writer, &apart, &apart)],
                }
            }
            (Builtin::Cross, [a, b]) if width == 3 => {
                expand::cross(&writer, [a[0], a[1], a[2]], [b[0], b[1], b[2]]).to_vec()
            }
            (Builtin::Normalize, [a]) => {
                let factor = expand::normalizing_factor(&writer, a);
                a.iter().map(|&x| writer.mul(x, factor)).collect()
            }
            _ => return Ok(false),
        };
        for (lane, dest) in needed {
            if let Some(&value) = values.get(lane as usize) {
                let value = self.as_single(value);
                self.narrow_into(dest, scalar, value);
            }
        }
        Ok(true)
    }
}

type Float = FloatSrc;

fn unary(
    w: &Writer<'_, '_>,
    builtin: Builtin,
    scalar: Scalar,
    fast: bool,
    x: Float,
) -> Option<Float> {
    let half = scalar != Scalar::F32;
    Some(match (builtin, fast) {
        (Builtin::Sin, true) if half => expand::reduced_sin(w, x),
        (Builtin::Cos, true) if half => expand::reduced_cos(w, x),
        (Builtin::Tan, true) if half => expand::reduced_tan(w, x),
        (Builtin::Asin, true) if half => expand::fast_asin_of_half(w, x),
        (Builtin::Atan, true) if half => expand::fast_atan_of_half(w, x),
        (Builtin::Tanh, true) if half => expand::fast_tanh_of_half(w, x),
        (Builtin::Asinh, true) if half => expand::fast_asinh_of_half(w, x),
        (Builtin::Round, true) if half => expand::fast_round_of_half(w, x),
        // In half the short versions give the bits of the precise ones, which num's tests show for all.
        (Builtin::Exp, false) if scalar == Scalar::F16 => expand::fast_exp(w, x),
        (Builtin::Exp10, false) if scalar == Scalar::F16 => expand::fast_exp10(w, x),
        (Builtin::Log, false) if scalar == Scalar::F16 => expand::fast_log(w, x),
        (Builtin::Asin, false) if scalar == Scalar::F16 => expand::fast_asin(w, x),
        (Builtin::Cosh, false) if scalar == Scalar::F16 => expand::fast_cosh(w, x),
        (Builtin::Sqrt, false) if scalar == Scalar::F16 => expand::sqrt_of_half(w, x),
        // No half is far from zero.
        (Builtin::Sin, false) if scalar == Scalar::F16 => expand::near_sin(w, x),
        (Builtin::Cos, false) if scalar == Scalar::F16 => expand::near_cos(w, x),
        (Builtin::Tan, false) if scalar == Scalar::F16 => expand::near_tan(w, x),
        (Builtin::Exp, true) => expand::fast_exp(w, x),
        (Builtin::Exp10, true) => expand::fast_exp10(w, x),
        (Builtin::Log, true) => expand::fast_log(w, x),
        (Builtin::Log10, true) => expand::fast_log10(w, x),
        (Builtin::Sqrt, true) => expand::fast_sqrt(w, x),
        (Builtin::Sin, true) => expand::fast_sin(w, x),
        (Builtin::Cos, true) => expand::fast_cos(w, x),
        (Builtin::Tan, true) => expand::fast_tan(w, x),
        (Builtin::Sinpi, true) => expand::fast_sinpi(w, x),
        (Builtin::Cospi, true) => expand::fast_cospi(w, x),
        (Builtin::Tanpi, true) => expand::fast_tanpi(w, x),
        (Builtin::Asin, true) => expand::fast_asin(w, x),
        (Builtin::Acos, true) => expand::fast_acos(w, x),
        (Builtin::Atan, true) => expand::fast_atan(w, x),
        (Builtin::Sinh, true) => expand::fast_sinh(w, x),
        (Builtin::Cosh, true) => expand::fast_cosh(w, x),
        (Builtin::Tanh, true) => expand::fast_tanh(w, x),
        (Builtin::Asinh, true) => expand::fast_asinh(w, x),
        (Builtin::Acosh, true) => expand::fast_acosh(w, x),
        (Builtin::Atanh, true) => expand::fast_atanh(w, x),
        (Builtin::Round, true) => expand::fast_round(w, x),
        (Builtin::Sin, _) => expand::sin(w, x),
        (Builtin::Cos, _) => expand::cos(w, x),
        (Builtin::Tan, _) => expand::tan(w, x),
        (Builtin::Asin, _) => expand::asin(w, x),
        (Builtin::Acos, _) => expand::acos(w, x),
        (Builtin::Atan, _) => expand::atan(w, x),
        (Builtin::Sinh, _) => expand::sinh(w, x),
        (Builtin::Cosh, _) => expand::cosh(w, x),
        (Builtin::Tanh, _) => expand::tanh(w, x),
        (Builtin::Asinh, _) => expand::asinh(w, x),
        (Builtin::Acosh, _) => expand::acosh(w, x),
        (Builtin::Atanh, _) => expand::atanh(w, x),
        (Builtin::Sinpi, _) => expand::sinpi(w, x),
        (Builtin::Cospi, _) => expand::cospi(w, x),
        (Builtin::Tanpi, _) => expand::tanpi(w, x),
        (Builtin::Exp, _) => expand::exp(w, x),
        (Builtin::Exp2, _) => w.exp2(x),
        (Builtin::Exp10, _) => expand::exp10(w, x),
        (Builtin::Log, _) => expand::log(w, x),
        (Builtin::Log2, _) => w.log2(x),
        (Builtin::Log10, _) => expand::log10(w, x),
        (Builtin::Sqrt, _) => expand::sqrt(w, x),
        (Builtin::Rsqrt, _) => w.rsqrt(x),
        (Builtin::Recip, _) => w.rcp(x),
        (Builtin::Floor, _) => w.floor(x),
        (Builtin::Ceil, _) => w.op(Op::Ceil, &[x]),
        (Builtin::Trunc, _) => w.trunc(x),
        (Builtin::Rint, _) => w.rint(x),
        (Builtin::Round, _) => expand::round(w, x),
        (Builtin::Fract, _) => fract(w, x),
        (Builtin::Sign, _) => sign(w, x),
        _ => return None,
    })
}

fn binary(
    w: &Writer<'_, '_>,
    builtin: Builtin,
    scalar: Scalar,
    fast: bool,
    x: Float,
    y: Float,
) -> Option<Float> {
    let half = scalar != Scalar::F32;
    Some(match (builtin, fast) {
        (Builtin::Atan2, true) if half => expand::fast_atan2_of_half(w, x, y),
        (Builtin::Divide, false) if scalar == Scalar::F16 => expand::divide_of_half(w, x, y),
        (Builtin::Pow | Builtin::Powr, true) => expand::fast_pow(w, x, y),
        (Builtin::Divide, true) => expand::fast_divide(w, x, y),
        (Builtin::Atan2, true) => expand::fast_atan2(w, x, y),
        (Builtin::Fmod, true) => expand::fast_remainder(w, x, y),
        (Builtin::Pow, _) => expand::pow(w, x, y),
        (Builtin::Powr, _) => expand::powr(w, x, y),
        (Builtin::Divide, _) => expand::divide(w, x, y),
        (Builtin::Atan2, _) => expand::atan2(w, x, y),
        (Builtin::Step, _) => expand::step(w, x, y),
        _ => return None,
    })
}

fn ternary(
    w: &Writer<'_, '_>,
    builtin: Builtin,
    fast: bool,
    x: Float,
    y: Float,
    z: Float,
) -> Option<Float> {
    Some(match builtin {
        Builtin::Mix => expand::mix(w, x, y, z),
        Builtin::Smoothstep => expand::smoothstep(w, x, y, z, fast),
        _ => return None,
    })
}

/// `x - floor(x)`, below 1; 0 for infinities.
fn fract(w: &Writer<'_, '_>, x: Float) -> Float {
    let part = w.sub(x, w.floor(x));
    let most = w.constant(f32::from_bits(0x3f7f_ffff));
    let below = w.select(w.less(part, w.constant(1.0)), part, most);
    let below = w.select_nan(part, part, below);
    let zero = w.copysign(w.constant(0.0), x);
    let infinite = w.equal(w.abs(x), w.constant(f32::INFINITY));
    w.select(infinite, zero, below)
}

/// 1, −1, or the zero itself; 0 for NaN.
fn sign(w: &Writer<'_, '_>, x: Float) -> Float {
    let zero = w.constant(0.0);
    // A denormal is a zero.
    let flushed = w.add(x, w.constant(-0.0));
    let itself = w.select_nan(x, zero, flushed);
    let below = w.select(w.less(x, zero), w.constant(-1.0), itself);
    w.select(w.less(zero, x), w.constant(1.0), below)
}
