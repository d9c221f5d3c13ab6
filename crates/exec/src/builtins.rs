//! Which lane function a builtin is, element by element.

use crate::arithmetic::{by_width, float, float2};
use crate::lanes::{LaneFn, each_lane};
use assay_num::math::{fast, precise};
use assay_num::{self as num, brain, half, hardware, int, single};
use assay_ssa::Scalar;
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};

/// A function of one float of any type: the single-precision one, rounded.
macro_rules! float1 {
    ($scalar:expr, $function:expr) => {
        match $scalar {
            Scalar::F32 => Some(each_lane!(N1 |a: u32| -> u32 { $function(float(a)).to_bits() })),
            Scalar::F16 => Some(each_lane!(N1 |a: u32| -> u32 { u32::from(half::lift(a as u16, |x| $function(x))) })),
            Scalar::BF16 => Some(each_lane!(N1 |a: u32| -> u32 { u32::from(brain::lift(a as u16, |x| $function(x))) })),
            _ => None,
        }
    };
}

macro_rules! lifted2 {
    ($scalar:expr, $function:path) => {
        float2!(
            $scalar,
            $function,
            (|a, b| half::lift2(a, b, |x, y| $function(x, y))),
            (|a, b| brain::lift2(a, b, |x, y| $function(x, y)))
        )
    };
}

macro_rules! float3 {
    ($scalar:expr, |$x:ident, $y:ident, $z:ident| $body:expr) => {
        match $scalar {
            Scalar::F32 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
                let ($x, $y, $z) = (float(a), float(b), float(c));
                let result: f32 = $body;
                result.to_bits()
            })),
            Scalar::F16 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
                let ($x, $y, $z) = (num::f16_to_f32(a as u16), num::f16_to_f32(b as u16), num::f16_to_f32(c as u16));
                let result: f32 = $body;
                u32::from(num::f32_to_f16(result))
            })),
            Scalar::BF16 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
                let ($x, $y, $z) = (num::bf16_to_f32(a as u16), num::bf16_to_f32(b as u16), num::bf16_to_f32(c as u16));
                let result: f32 = $body;
                u32::from(num::f32_to_bf16(result))
            })),
            _ => None,
        }
    };
}

/// A test of a float.
macro_rules! test1 {
    ($scalar:expr, |$x:ident| $body:expr) => {
        match $scalar {
            Scalar::F32 => Some(each_lane!(N1 |a: u32| -> u32 { let $x = float(a); u32::from($body) })),
            Scalar::F16 => Some(each_lane!(N1 |a: u32| -> u32 { let $x = num::f16_to_f32(a as u16); u32::from($body) })),
            Scalar::BF16 => Some(each_lane!(N1 |a: u32| -> u32 { let $x = num::bf16_to_f32(a as u16); u32::from($body) })),
            _ => None,
        }
    };
}

/// The lane function of a builtin whose elements do not mix; nothing for others.
pub(crate) fn elementwise(call: BuiltinCall, scalar: Scalar) -> Option<LaneFn> {
    if scalar.is_float() {
        fast_function(call, scalar)
            .or_else(|| transcendental(call.builtin, scalar))
            .or_else(|| rounding(call.builtin, scalar))
            .or_else(|| choosing(call.builtin, scalar))
            .or_else(|| test(call.builtin, scalar))
    } else {
        integer(call, scalar).or_else(|| bits(call.builtin, scalar))
    }
}

fn fast_function(call: BuiltinCall, scalar: Scalar) -> Option<LaneFn> {
    if !call.fast || scalar != Scalar::F32 {
        return None;
    }
    match call.builtin {
        Builtin::Exp => float1!(scalar, fast::exp),
        Builtin::Exp10 => float1!(scalar, fast::exp10),
        Builtin::Log => float1!(scalar, fast::log),
        Builtin::Log10 => float1!(scalar, fast::log10),
        Builtin::Pow | Builtin::Powr => lifted2!(scalar, fast::pow),
        Builtin::Sqrt => float1!(scalar, fast::sqrt),
        Builtin::Divide => lifted2!(scalar, fast::divide),
        Builtin::Sin => float1!(scalar, fast::sin),
        Builtin::Cos => float1!(scalar, fast::cos),
        Builtin::Tan => float1!(scalar, fast::tan),
        _ => None,
    }
}

fn transcendental(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    match builtin {
        Builtin::Sin => float1!(scalar, precise::sin),
        Builtin::Cos => float1!(scalar, precise::cos),
        Builtin::Tan => float1!(scalar, precise::tan),
        Builtin::Asin => float1!(scalar, precise::asin),
        Builtin::Acos => float1!(scalar, precise::acos),
        Builtin::Atan => float1!(scalar, precise::atan),
        Builtin::Atan2 => lifted2!(scalar, precise::atan2),
        Builtin::Sinh => float1!(scalar, precise::sinh),
        Builtin::Cosh => float1!(scalar, precise::cosh),
        Builtin::Tanh => float1!(scalar, precise::tanh),
        Builtin::Asinh => float1!(scalar, precise::asinh),
        Builtin::Acosh => float1!(scalar, precise::acosh),
        Builtin::Atanh => float1!(scalar, precise::atanh),
        Builtin::Sinpi => float1!(scalar, precise::sinpi),
        Builtin::Cospi => float1!(scalar, precise::cospi),
        Builtin::Tanpi => float1!(scalar, precise::tanpi),
        Builtin::Exp => float1!(scalar, precise::exp),
        Builtin::Exp2 => float1!(scalar, hardware::exp2),
        Builtin::Exp10 => float1!(scalar, precise::exp10),
        Builtin::Log => float1!(scalar, precise::log),
        Builtin::Log2 => float1!(scalar, hardware::log2),
        Builtin::Log10 => float1!(scalar, precise::log10),
        Builtin::Pow => lifted2!(scalar, precise::pow),
        Builtin::Powr => lifted2!(scalar, precise::powr),
        Builtin::Sqrt => float1!(scalar, single::sqrt),
        Builtin::Rsqrt => float1!(scalar, hardware::rsqrt),
        Builtin::Recip => float1!(scalar, hardware::rcp),
        Builtin::Divide => float2!(scalar, single::div, half::div, brain::div),
        _ => None,
    }
}

fn rounding(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    match builtin {
        Builtin::Fabs => match scalar {
            Scalar::F32 => Some(each_lane!(N1 |a: u32| -> u32 { a & 0x7fff_ffff })),
            _ => Some(each_lane!(N1 |a: u32| -> u32 { a & 0x7fff })),
        },
        Builtin::Floor => float1!(scalar, single::floor),
        Builtin::Ceil => float1!(scalar, single::ceil),
        Builtin::Trunc => float1!(scalar, single::trunc),
        Builtin::Round => float1!(scalar, single::round),
        Builtin::Rint => float1!(scalar, single::rint),
        Builtin::Fract => float1!(scalar, single::fract),
        Builtin::Sign => float1!(scalar, single::sign),
        Builtin::Saturate => float1!(scalar, single::saturate),
        Builtin::Fmod => lifted2!(scalar, single::rem),
        Builtin::Remainder => lifted2!(scalar, num::parts::remainder),
        Builtin::Fdim => lifted2!(scalar, num::parts::dim),
        Builtin::Copysign => match scalar {
            Scalar::F32 => {
                Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a & 0x7fff_ffff | b & 0x8000_0000 }))
            }
            _ => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a & 0x7fff | b & 0x8000 })),
        },
        Builtin::Nextafter => match scalar {
            Scalar::F32 => lifted2!(scalar, single::next_after),
            Scalar::F16 => Some(
                each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from(half::next_after(a as u16, b as u16)) }),
            ),
            Scalar::BF16 => Some(
                each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from(brain::next_after(a as u16, b as u16)) }),
            ),
            _ => None,
        },
        _ => None,
    }
}

fn choosing(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    match builtin {
        Builtin::Fmin => float2!(scalar, single::min, half::min, brain::min),
        Builtin::Fmax => float2!(scalar, single::max, half::max, brain::max),
        Builtin::Fminimum => lifted2!(scalar, single::minimum),
        Builtin::Fmaximum => lifted2!(scalar, single::maximum),
        Builtin::Fmin3 => float3!(scalar, |x, y, z| single::min(single::min(x, y), z)),
        Builtin::Fmax3 => float3!(scalar, |x, y, z| single::max(single::max(x, y), z)),
        Builtin::Fmedian3 => float3!(scalar, |x, y, z| single::max(
            single::min(x, y),
            single::min(single::max(x, y), z)
        )),
        Builtin::Fclamp => float3!(scalar, |x, low, high| single::clamp(x, low, high)),
        Builtin::Mix => float3!(scalar, |x, y, a| num::math::expand::mix(
            &num::machine::Host,
            x,
            y,
            a
        )),
        Builtin::Step => float2!(
            scalar,
            step,
            (|a, b| half::lift2(a, b, step)),
            (|a, b| brain::lift2(a, b, step))
        ),
        Builtin::Smoothstep => float3!(scalar, |low, high, x| num::math::expand::smoothstep(
            &num::machine::Host,
            low,
            high,
            x,
            false
        )),
        _ => None,
    }
}

#[inline(always)]
fn step(edge: f32, x: f32) -> f32 {
    num::math::expand::step(&num::machine::Host, edge, x)
}

fn test(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    match builtin {
        Builtin::IsFinite => test1!(scalar, |x| x.is_finite()),
        Builtin::IsInf => test1!(scalar, |x| x.is_infinite()),
        Builtin::IsNan => test1!(scalar, |x| x.is_nan()),
        Builtin::SignBit => test1!(scalar, |x| x.is_sign_negative()),
        Builtin::IsNormal if scalar == Scalar::F32 => test1!(scalar, |x| x.is_normal()),
        Builtin::IsOrdered => crate::arithmetic::float_compare(assay_ssa::FloatCond::Ord, scalar),
        Builtin::IsUnordered => crate::arithmetic::float_compare(assay_ssa::FloatCond::Uno, scalar),
        _ => None,
    }
}

/// Both readings of an integer function, chosen by the call's sign.
macro_rules! by_sign {
    ($sign:expr, $scalar:expr, |$a:ident, $b:ident, $bits:ident, $signed:ident| $body:expr) => {
        if $sign {
            by_width!($scalar, |$a, $b, $bits| {
                const $signed: bool = true;
                $body
            })
        } else {
            by_width!($scalar, |$a, $b, $bits| {
                const $signed: bool = false;
                $body
            })
        }
    };
}

fn integer(call: BuiltinCall, scalar: Scalar) -> Option<LaneFn> {
    // Metal's names carry a sign where it matters; one without is unsigned.
    let signed = call.sign == Sign::Signed;
    match call.builtin {
        Builtin::AbsDiff => by_sign!(signed, scalar, |a, b, bits, SIGNED| int::abs_diff(
            a, b, bits, SIGNED
        )),
        Builtin::AddSat => by_sign!(signed, scalar, |a, b, bits, SIGNED| int::add_sat(
            a, b, bits, SIGNED
        )),
        Builtin::SubSat => by_sign!(signed, scalar, |a, b, bits, SIGNED| int::sub_sat(
            a, b, bits, SIGNED
        )),
        Builtin::HAdd => by_sign!(signed, scalar, |a, b, bits, SIGNED| int::half_add(
            a, b, bits, SIGNED, false
        )),
        Builtin::RHAdd => by_sign!(signed, scalar, |a, b, bits, SIGNED| int::half_add(
            a, b, bits, SIGNED, true
        )),
        Builtin::Min => by_sign!(signed, scalar, |a, b, bits, SIGNED| if int::compare(
            a, b, bits, SIGNED
        ) < 0
        {
            a
        } else {
            b
        }),
        Builtin::Max => by_sign!(signed, scalar, |a, b, bits, SIGNED| if int::compare(
            a, b, bits, SIGNED
        ) < 0
        {
            b
        } else {
            a
        }),
        Builtin::MulHi => by_sign!(signed, scalar, |a, b, bits, SIGNED| int::mul_hi(
            a, b, bits, SIGNED
        )),
        Builtin::Mul24 if scalar == Scalar::I32 => {
            by_sign!(signed, scalar, |a, b, _bits, SIGNED| u64::from(int::mul24(
                a as u32, b as u32, SIGNED
            )))
        }
        Builtin::Rotate => by_width!(scalar, |a, b, bits| int::rotate(a, b, bits)),
        _ => None,
    }
}

/// A function of one integer, as one of two whose second is not looked at.
fn bits(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    macro_rules! one {
        (|$a:ident, $bits:ident| $body:expr) => {
            match scalar {
                Scalar::I1 => Some(each_lane!(N1 |a: u32| -> u32 { let ($a, $bits) = (u64::from(a), 1u32); ($body) as u32 })),
                Scalar::I8 => Some(each_lane!(N1 |a: u32| -> u32 { let ($a, $bits) = (u64::from(a), 8u32); ($body) as u32 })),
                Scalar::I16 => Some(each_lane!(N1 |a: u32| -> u32 { let ($a, $bits) = (u64::from(a), 16u32); ($body) as u32 })),
                Scalar::I32 => Some(each_lane!(N1 |a: u32| -> u32 { let ($a, $bits) = (u64::from(a), 32u32); ($body) as u32 })),
                Scalar::I64 => Some(each_lane!(W1 |a: u64| -> u64 { let ($a, $bits) = (a, 64u32); $body })),
                _ => None,
            }
        };
    }
    match builtin {
        Builtin::Abs => one!(|a, bits| int::abs(a, bits)),
        Builtin::PopCount => one!(|a, bits| int::popcount(a, bits)),
        Builtin::Clz => one!(|a, bits| int::clz(a, bits)),
        Builtin::Ctz => one!(|a, bits| int::ctz(a, bits)),
        Builtin::ReverseBits => one!(|a, bits| int::reverse_bits(a, bits)),
        Builtin::ByteSwap => one!(|a, bits| int::byte_swap(a, bits)),
        Builtin::NormalizePredicate => one!(|a, bits| u64::from(a & int::mask(bits) != 0)),
        _ => None,
    }
}

/// A function of a lane's numbers all together, on bit patterns.
pub(crate) type LaneKernel = fn(&LaneCall, &[u64], &mut [u64]);

/// What such a function needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneCall {
    pub(crate) call: BuiltinCall,
    /// Type of the elements.
    pub(crate) scalar: Scalar,
    /// Elements of the first argument.
    pub(crate) width: usize,
}

/// The function of a builtin that is not worth vector code: geometry, three-operand integers, packing, folds of vectors.
pub(crate) fn per_lane(builtin: Builtin) -> Option<LaneKernel> {
    use Builtin as B;
    Some(match builtin {
        B::Dot
        | B::Length
        | B::LengthSquared
        | B::Distance
        | B::DistanceSquared
        | B::Normalize
        | B::Cross => geometry,
        B::Min3
        | B::Max3
        | B::Median3
        | B::Clamp
        | B::MadHi
        | B::MadSat
        | B::Mad24
        | B::FunnelLeft
        | B::FunnelRight
        | B::ExtractBits
        | B::InsertBits => integer3,
        B::ReduceAdd
        | B::ReduceMul
        | B::ReduceAnd
        | B::ReduceOr
        | B::ReduceXor
        | B::ReduceMin
        | B::ReduceMax
        | B::All
        | B::Any => fold,
        B::ReduceFadd | B::ReduceFmul | B::ReduceFmin | B::ReduceFmax => float_fold,
        B::Ldexp => ldexp,
        B::Ilogb => ilogb,
        B::PackUnorm4x8
        | B::PackSnorm4x8
        | B::PackUnorm2x16
        | B::PackSnorm2x16
        | B::UnpackUnorm4x8
        | B::UnpackSnorm4x8
        | B::UnpackUnorm2x16
        | B::UnpackSnorm2x16 => packing,
        _ => return crate::rare::per_lane(builtin),
    })
}

pub(crate) fn widened(scalar: Scalar, bits: u64) -> f32 {
    match scalar {
        Scalar::F16 => num::f16_to_f32(bits as u16),
        Scalar::BF16 => num::bf16_to_f32(bits as u16),
        _ => f32::from_bits(bits as u32),
    }
}

pub(crate) fn narrowed(scalar: Scalar, value: f32) -> u64 {
    match scalar {
        Scalar::F16 => u64::from(num::f32_to_f16(value)),
        Scalar::BF16 => u64::from(num::f32_to_bf16(value)),
        _ => u64::from(value.to_bits()),
    }
}

fn geometry(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    use num::math::expand;
    let host = &num::machine::Host;
    let mut numbers = [0.0f32; 8];
    for (number, &bits) in numbers.iter_mut().zip(args) {
        *number = widened(what.scalar, bits);
    }
    let width = what.width.min(4);
    let (a, rest) = numbers.split_at(width);
    let b = &rest[..width];
    let mut difference = [0.0; 4];
    for (slot, (&x, &y)) in difference.iter_mut().zip(a.iter().zip(b)) {
        *slot = single::sub(x, y);
    }
    let difference = &difference[..width];
    let mut values = [0.0f32; 4];
    match what.call.builtin {
        Builtin::Dot => values[0] = expand::dot(host, a, b),
        Builtin::Length => values[0] = expand::length(host, a, what.call.fast),
        Builtin::LengthSquared => values[0] = expand::dot(host, a, a),
        Builtin::Distance => values[0] = expand::length(host, difference, what.call.fast),
        Builtin::DistanceSquared => values[0] = expand::dot(host, difference, difference),
        Builtin::Cross => {
            let cross = expand::cross(host, [a[0], a[1], a[2]], [b[0], b[1], b[2]]);
            values[..3].copy_from_slice(&cross);
        }
        _ => {
            let factor = expand::normalizing_factor(host, a);
            for (value, &x) in values.iter_mut().zip(a) {
                *value = single::mul(x, factor);
            }
        }
    }
    for (slot, value) in result.iter_mut().zip(values) {
        *slot = narrowed(what.scalar, value);
    }
}

fn integer3(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (bits, signed) = (what.scalar.bits(), what.call.sign == Sign::Signed);
    let (width, each) = (what.width, |index: usize| {
        args.get(index).copied().unwrap_or(0)
    });
    let less = |a, b| int::compare(a, b, bits, signed) < 0;
    let min = |a, b| if less(a, b) { a } else { b };
    let max = |a, b| if less(a, b) { b } else { a };
    for (lane, slot) in result.iter_mut().enumerate() {
        let (a, b, c) = (each(lane), each(width + lane), each(2 * width + lane));
        *slot = int::mask(bits)
            & match what.call.builtin {
                Builtin::Min3 => min(min(a, b), c),
                Builtin::Max3 => max(max(a, b), c),
                Builtin::Median3 => max(min(a, b), min(max(a, b), c)),
                Builtin::Clamp => min(max(a, b), c),
                Builtin::MadHi => int::mul_hi(a, b, bits, signed).wrapping_add(c),
                Builtin::MadSat => int::mad_sat(a, b, c, bits, signed),
                Builtin::Mad24 => u64::from(int::mul24(a as u32, b as u32, signed)).wrapping_add(c),
                Builtin::FunnelLeft => int::funnel_left(a, b, c, bits),
                Builtin::FunnelRight => int::funnel_right(a, b, c, bits),
                // The offset and the count are one number for all elements.
                Builtin::ExtractBits => {
                    int::extract_bits(a, each(width), each(width + 1), bits, signed)
                }
                _ => int::insert_bits(a, b, each(2 * width), each(2 * width + 1), bits),
            };
    }
}

fn fold(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (bits, signed) = (what.scalar.bits(), what.call.sign == Sign::Signed);
    let less = |a, b| int::compare(a, b, bits, signed) < 0;
    let combine = |a: u64, b: u64| match what.call.builtin {
        Builtin::ReduceAdd => a.wrapping_add(b),
        Builtin::ReduceMul => a.wrapping_mul(b),
        Builtin::ReduceAnd | Builtin::All => a & b,
        Builtin::ReduceOr | Builtin::Any => a | b,
        Builtin::ReduceXor => a ^ b,
        Builtin::ReduceMin => {
            if less(a, b) {
                a
            } else {
                b
            }
        }
        _ => {
            if less(a, b) {
                b
            } else {
                a
            }
        }
    };
    if let (Some(slot), Some(value)) = (result.first_mut(), args.iter().copied().reduce(combine)) {
        *slot = value & int::mask(bits);
    }
}

fn float_fold(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let numbers = args.iter().map(|&bits| widened(what.scalar, bits));
    let step = |a: f32, b: f32| {
        let value = match what.call.builtin {
            Builtin::ReduceFadd => single::add(a, b),
            Builtin::ReduceFmul => single::mul(a, b),
            Builtin::ReduceFmin => single::min(a, b),
            _ => single::max(a, b),
        };
        widened(what.scalar, narrowed(what.scalar, value))
    };
    if let (Some(slot), Some(value)) = (result.first_mut(), numbers.reduce(step)) {
        *slot = narrowed(what.scalar, value);
    }
}

fn ldexp(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    let (values, exponents) = args.split_at(what.width.min(args.len()));
    for (slot, (&value, &exponent)) in result.iter_mut().zip(values.iter().zip(exponents)) {
        let scaled = single::ldexp(widened(what.scalar, value), exponent as u32 as i32);
        *slot = narrowed(what.scalar, scaled);
    }
}

fn ilogb(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    for (slot, &value) in result.iter_mut().zip(args) {
        *slot = u64::from(single::ilogb(widened(what.scalar, value)) as u32);
    }
}

fn packing(what: &LaneCall, args: &[u64], result: &mut [u64]) {
    use num::pack;
    let number = |index: usize| {
        args.get(index)
            .map_or(0.0, |&bits| widened(what.scalar, bits))
    };
    let word = args.first().copied().unwrap_or(0) as u32;
    let (four, two) = (
        [number(0), number(1), number(2), number(3)],
        [number(0), number(1)],
    );
    let packed = match what.call.builtin {
        Builtin::PackUnorm4x8 => Some(pack::pack_unorm4x8(four)),
        Builtin::PackSnorm4x8 => Some(pack::pack_snorm4x8(four)),
        Builtin::PackUnorm2x16 => Some(pack::pack_unorm2x16(two)),
        Builtin::PackSnorm2x16 => Some(pack::pack_snorm2x16(two)),
        _ => None,
    };
    if let (Some(packed), Some(slot)) = (packed, result.first_mut()) {
        *slot = u64::from(packed);
        return;
    }
    let mut unpacked = [0.0; 4];
    match what.call.builtin {
        Builtin::UnpackUnorm4x8 => unpacked = pack::unpack_unorm4x8(word),
        Builtin::UnpackSnorm4x8 => unpacked = pack::unpack_snorm4x8(word),
        Builtin::UnpackUnorm2x16 => unpacked[..2].copy_from_slice(&pack::unpack_unorm2x16(word)),
        _ => unpacked[..2].copy_from_slice(&pack::unpack_snorm2x16(word)),
    }
    for (slot, value) in result.iter_mut().zip(unpacked) {
        *slot = narrowed(what.scalar, value);
    }
}
