//! Which lane function a builtin is, element by element.

mod per_lane;
pub(crate) mod uncommon;

pub(crate) use per_lane::{LaneCall, LaneKernel, narrowed, per_lane, widened};

use crate::arithmetic::{by_width, float, float2};
use crate::lanes::{LaneFn, each_lane};
use assay_num::math::{fast, fast_half, is_far, near, precise};
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

/// A function of an angle: all lanes at once where none is too large for that, else one by one.
macro_rules! near_or_far {
    ($near:path, $any:path) => {
        each_lane!(N1 |a: u32| -> u32 { $near(float(a)).to_bits() },
            unless |a| { is_far(float(a)) } then { $any(float(a)).to_bits() })
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

/// A function that gives back one of three floats, from one for each type.
macro_rules! chosen3 {
    ($scalar:expr, $single:path, $half:path, $brain:path) => {
        match $scalar {
            Scalar::F32 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
                $single(float(a), float(b), float(c)).to_bits()
            })),
            Scalar::F16 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
                u32::from($half(a as u16, b as u16, c as u16))
            })),
            Scalar::BF16 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
                u32::from($brain(a as u16, b as u16, c as u16))
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

/// Versions for fast math where they differ; halves and brain floats are widened, computed and rounded once.
fn fast_function(call: BuiltinCall, scalar: Scalar) -> Option<LaneFn> {
    if !call.fast {
        return None;
    }
    let half = scalar != Scalar::F32;
    match call.builtin {
        Builtin::Sin if half => float1!(scalar, fast_half::sin),
        Builtin::Cos if half => float1!(scalar, fast_half::cos),
        Builtin::Tan if half => float1!(scalar, fast_half::tan),
        Builtin::Asin if half => float1!(scalar, fast_half::asin),
        Builtin::Atan if half => float1!(scalar, fast_half::atan),
        Builtin::Tanh if half => float1!(scalar, fast_half::tanh),
        Builtin::Asinh if half => float1!(scalar, fast_half::asinh),
        Builtin::Round if half => float1!(scalar, fast_half::round),
        Builtin::Atan2 if half => lifted2!(scalar, fast_half::atan2),
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
        Builtin::Sinpi => float1!(scalar, fast::sinpi),
        Builtin::Cospi => float1!(scalar, fast::cospi),
        Builtin::Tanpi => float1!(scalar, fast::tanpi),
        Builtin::Asin => float1!(scalar, fast::asin),
        Builtin::Acos => float1!(scalar, fast::acos),
        Builtin::Atan => float1!(scalar, fast::atan),
        Builtin::Atan2 => lifted2!(scalar, fast::atan2),
        Builtin::Sinh => float1!(scalar, fast::sinh),
        Builtin::Cosh => float1!(scalar, fast::cosh),
        Builtin::Tanh => float1!(scalar, fast::tanh),
        Builtin::Asinh => float1!(scalar, fast::asinh),
        Builtin::Acosh => float1!(scalar, fast::acosh),
        Builtin::Atanh => float1!(scalar, fast::atanh),
        Builtin::Round => float1!(scalar, fast::round),
        Builtin::Fmod => lifted2!(scalar, fast::remainder),
        Builtin::Smoothstep => float3!(scalar, |low, high, x| num::math::expand::smoothstep(
            &num::machine::Host,
            low,
            high,
            x,
            true
        )),
        _ => None,
    }
}

fn transcendental(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    match builtin {
        Builtin::Sin if scalar == Scalar::F16 => float1!(scalar, near::sin),
        Builtin::Sin if scalar == Scalar::F32 => Some(near_or_far!(near::sin, precise::sin)),
        Builtin::Sin => float1!(scalar, precise::sin),
        Builtin::Cos if scalar == Scalar::F16 => float1!(scalar, near::cos),
        Builtin::Cos if scalar == Scalar::F32 => Some(near_or_far!(near::cos, precise::cos)),
        Builtin::Cos => float1!(scalar, precise::cos),
        Builtin::Tan if scalar == Scalar::F16 => float1!(scalar, near::tan),
        Builtin::Tan if scalar == Scalar::F32 => Some(near_or_far!(near::tan, precise::tan)),
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

pub(crate) fn choosing(builtin: Builtin, scalar: Scalar) -> Option<LaneFn> {
    match builtin {
        // Of two denormals or zeros these choose the second: so does the instruction, unless that one is denormal.
        Builtin::Fmin => float2!(
            scalar,
            single::min = _mm512_min_ps, denormals in [b] of |a, b|,
            half::min,
            brain::min
        ),
        Builtin::Fmax => float2!(
            scalar,
            single::max = _mm512_max_ps, denormals in [b] of |a, b|,
            half::max,
            brain::max
        ),
        Builtin::Fminimum => lifted2!(scalar, single::minimum),
        Builtin::Fmaximum => lifted2!(scalar, single::maximum),
        Builtin::Fmin3 => chosen3!(scalar, single::min3, half::min3, brain::min3),
        Builtin::Fmax3 => chosen3!(scalar, single::max3, half::max3, brain::max3),
        Builtin::Fmedian3 => chosen3!(scalar, single::median3, half::median3, brain::median3),
        Builtin::Fclamp => chosen3!(scalar, single::clamp, half::clamp, brain::clamp),
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
