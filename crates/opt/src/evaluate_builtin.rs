//! What a builtin gives for known scalar operands, as bits.
//!
//! As in [`evaluate`](crate::evaluate), the arithmetic is `assay-num`'s. Builtins that are
//! not here are not folded.

use crate::evaluate::{narrowed, signed, widened};
use assay_num::math::{fast, fast_half, precise};
use assay_num::{self as num, brain, half, hardware, int, single};
use assay_ssa::Scalar;
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};

/// The result of a call; `scalar` is the type of its first operand.
pub fn builtin(call: BuiltinCall, scalar: Scalar, args: &[u64]) -> Option<u64> {
    match (scalar.is_float(), args) {
        (true, &[a]) => test(call.builtin, scalar, a).or_else(|| float1(call, scalar, a)),
        (true, &[a, b]) => float2(call, scalar, a, b),
        (true, &[a, b, c]) => float3(call, scalar, [a, b, c]),
        (false, &[a]) => int1(call.builtin, scalar, a),
        (false, &[a, b]) => int2(call, scalar, a, b),
        (false, &[a, b, c]) => int3(call, scalar, [a, b, c]),
        _ => None,
    }
}

/// A function of singles for any float type: widened, computed, rounded once.
fn lift(scalar: Scalar, a: u64, function: impl Fn(f32) -> f32) -> Option<u64> {
    Some(match scalar {
        Scalar::F32 => u64::from(function(f32::from_bits(a as u32)).to_bits()),
        Scalar::F16 => u64::from(half::lift(a as u16, function)),
        Scalar::BF16 => u64::from(brain::lift(a as u16, function)),
        _ => return None,
    })
}

fn lift2(scalar: Scalar, a: u64, b: u64, function: impl Fn(f32, f32) -> f32) -> Option<u64> {
    Some(match scalar {
        Scalar::F32 => {
            let [x, y] = [a, b].map(|bits| f32::from_bits(bits as u32));
            u64::from(function(x, y).to_bits())
        }
        Scalar::F16 => u64::from(half::lift2(a as u16, b as u16, function)),
        Scalar::BF16 => u64::from(brain::lift2(a as u16, b as u16, function)),
        _ => return None,
    })
}

fn float1(call: BuiltinCall, scalar: Scalar, a: u64) -> Option<u64> {
    type Function = fn(f32) -> f32;
    let half = scalar != Scalar::F32;
    let approximate: Option<Function> = match call.builtin {
        Builtin::Sin if half => Some(fast_half::sin),
        Builtin::Cos if half => Some(fast_half::cos),
        Builtin::Tan if half => Some(fast_half::tan),
        Builtin::Asin if half => Some(fast_half::asin),
        Builtin::Atan if half => Some(fast_half::atan),
        Builtin::Tanh if half => Some(fast_half::tanh),
        Builtin::Asinh if half => Some(fast_half::asinh),
        Builtin::Round if half => Some(fast_half::round),
        Builtin::Exp => Some(fast::exp),
        Builtin::Exp10 => Some(fast::exp10),
        Builtin::Log => Some(fast::log),
        Builtin::Log10 => Some(fast::log10),
        Builtin::Sqrt => Some(fast::sqrt),
        Builtin::Sin => Some(fast::sin),
        Builtin::Cos => Some(fast::cos),
        Builtin::Tan => Some(fast::tan),
        Builtin::Sinpi => Some(fast::sinpi),
        Builtin::Cospi => Some(fast::cospi),
        Builtin::Tanpi => Some(fast::tanpi),
        Builtin::Asin => Some(fast::asin),
        Builtin::Acos => Some(fast::acos),
        Builtin::Atan => Some(fast::atan),
        Builtin::Sinh => Some(fast::sinh),
        Builtin::Cosh => Some(fast::cosh),
        Builtin::Tanh => Some(fast::tanh),
        Builtin::Asinh => Some(fast::asinh),
        Builtin::Acosh => Some(fast::acosh),
        Builtin::Atanh => Some(fast::atanh),
        Builtin::Round => Some(fast::round),
        _ => None,
    };
    if let Some(function) = approximate.filter(|_| call.fast) {
        return lift(scalar, a, function);
    }
    let function: Function = match call.builtin {
        Builtin::Sin => precise::sin,
        Builtin::Cos => precise::cos,
        Builtin::Tan => precise::tan,
        Builtin::Asin => precise::asin,
        Builtin::Acos => precise::acos,
        Builtin::Atan => precise::atan,
        Builtin::Sinh => precise::sinh,
        Builtin::Cosh => precise::cosh,
        Builtin::Tanh => precise::tanh,
        Builtin::Asinh => precise::asinh,
        Builtin::Acosh => precise::acosh,
        Builtin::Atanh => precise::atanh,
        Builtin::Sinpi => precise::sinpi,
        Builtin::Cospi => precise::cospi,
        Builtin::Tanpi => precise::tanpi,
        Builtin::Exp => precise::exp,
        Builtin::Exp2 => hardware::exp2,
        Builtin::Exp10 => precise::exp10,
        Builtin::Log => precise::log,
        Builtin::Log2 => hardware::log2,
        Builtin::Log10 => precise::log10,
        Builtin::Sqrt => single::sqrt,
        Builtin::Rsqrt => hardware::rsqrt,
        Builtin::Recip => hardware::rcp,
        Builtin::Floor => single::floor,
        Builtin::Ceil => single::ceil,
        Builtin::Trunc => single::trunc,
        Builtin::Round => single::round,
        Builtin::Rint => single::rint,
        Builtin::Fract => single::fract,
        Builtin::Sign => single::sign,
        Builtin::Saturate => single::saturate,
        Builtin::Fabs => return Some(a & (scalar.mask() >> 1)),
        _ => return None,
    };
    lift(scalar, a, function)
}

fn float2(call: BuiltinCall, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    type Function = fn(f32, f32) -> f32;
    let sign = scalar.mask() ^ (scalar.mask() >> 1);
    let approximate = call.fast;
    let (x, y) = (a as u16, b as u16);
    let function: Function = match (call.builtin, scalar) {
        (Builtin::Copysign, _) => return Some(a & !sign | b & sign),
        (Builtin::Pow | Builtin::Powr, _) if approximate => fast::pow,
        (Builtin::Divide, _) if approximate => fast::divide,
        (Builtin::Atan2, Scalar::F32) if approximate => fast::atan2,
        (Builtin::Atan2, _) if approximate => fast_half::atan2,
        (Builtin::Fmod, _) if approximate => fast::remainder,
        (Builtin::Divide, Scalar::F16) => return Some(u64::from(half::div(x, y))),
        (Builtin::Divide, Scalar::BF16) => return Some(u64::from(brain::div(x, y))),
        (Builtin::Divide, _) => single::div,
        (Builtin::Pow, _) => precise::pow,
        (Builtin::Powr, _) => precise::powr,
        (Builtin::Atan2, _) => precise::atan2,
        (Builtin::Fmod, _) => single::rem,
        (Builtin::Fmin, Scalar::F16) => return Some(u64::from(half::min(x, y))),
        (Builtin::Fmin, Scalar::BF16) => return Some(u64::from(brain::min(x, y))),
        (Builtin::Fmin, _) => single::min,
        (Builtin::Fmax, Scalar::F16) => return Some(u64::from(half::max(x, y))),
        (Builtin::Fmax, Scalar::BF16) => return Some(u64::from(brain::max(x, y))),
        (Builtin::Fmax, _) => single::max,
        (Builtin::Fminimum, _) => single::minimum,
        (Builtin::Fmaximum, _) => single::maximum,
        (Builtin::Step, _) => |edge, x| num::math::expand::step(&num::machine::Host, edge, x),
        _ => return None,
    };
    lift2(scalar, a, b, function)
}

fn float3(call: BuiltinCall, scalar: Scalar, args: [u64; 3]) -> Option<u64> {
    if let Some(chosen) = one_of_three(call.builtin, scalar, args) {
        return Some(chosen);
    }
    let host = &num::machine::Host;
    let x = widened(scalar, args[0])?;
    let y = widened(scalar, args[1])?;
    let z = widened(scalar, args[2])?;
    let value = match call.builtin {
        Builtin::Mix => num::math::expand::mix(host, x, y, z),
        Builtin::Smoothstep => num::math::expand::smoothstep(host, x, y, z, call.fast),
        _ => return None,
    };
    narrowed(scalar, value)
}

/// Functions that give back one of their operands unchanged.
fn one_of_three(builtin: Builtin, scalar: Scalar, args: [u64; 3]) -> Option<u64> {
    macro_rules! chosen {
        ($function:ident) => {{
            let [x, y, z] = args.map(|bits| f32::from_bits(bits as u32));
            let [a, b, c] = args.map(|bits| bits as u16);
            match scalar {
                Scalar::F32 => u64::from(single::$function(x, y, z).to_bits()),
                Scalar::F16 => u64::from(half::$function(a, b, c)),
                Scalar::BF16 => u64::from(brain::$function(a, b, c)),
                _ => return None,
            }
        }};
    }
    Some(match builtin {
        Builtin::Fmin3 => chosen!(min3),
        Builtin::Fmax3 => chosen!(max3),
        Builtin::Fmedian3 => chosen!(median3),
        Builtin::Fclamp => chosen!(clamp),
        _ => return None,
    })
}

fn test(builtin: Builtin, scalar: Scalar, a: u64) -> Option<u64> {
    let x = widened(scalar, a)?;
    let holds = match builtin {
        Builtin::IsFinite => x.is_finite(),
        Builtin::IsInf => x.is_infinite(),
        Builtin::IsNan => x.is_nan(),
        Builtin::SignBit => x.is_sign_negative(),
        Builtin::IsNormal if scalar == Scalar::F32 => x.is_normal(),
        _ => return None,
    };
    Some(u64::from(holds))
}

fn int1(builtin: Builtin, scalar: Scalar, a: u64) -> Option<u64> {
    let bits = scalar.bits();
    Some(match builtin {
        Builtin::Abs => int::abs(a, bits),
        Builtin::PopCount => int::popcount(a, bits),
        Builtin::Clz => int::clz(a, bits),
        Builtin::Ctz => int::ctz(a, bits),
        Builtin::ReverseBits => int::reverse_bits(a, bits),
        Builtin::ByteSwap => int::byte_swap(a, bits),
        Builtin::NormalizePredicate => u64::from(a & int::mask(bits) != 0),
        _ => return None,
    })
}

fn int2(call: BuiltinCall, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    let (bits, is_signed) = (scalar.bits(), call.sign == Sign::Signed);
    let less = int::compare(a, b, bits, is_signed) < 0;
    Some(match call.builtin {
        // The second operand only says whether zero may be asked about.
        Builtin::Clz | Builtin::Ctz => return int1(call.builtin, scalar, a),
        Builtin::Min => {
            if less {
                a
            } else {
                b
            }
        }
        Builtin::Max => {
            if less {
                b
            } else {
                a
            }
        }
        Builtin::AbsDiff => int::abs_diff(a, b, bits, is_signed),
        Builtin::AddSat => int::add_sat(a, b, bits, is_signed),
        Builtin::SubSat => int::sub_sat(a, b, bits, is_signed),
        Builtin::HAdd => int::half_add(a, b, bits, is_signed, false),
        Builtin::RHAdd => int::half_add(a, b, bits, is_signed, true),
        Builtin::MulHi => int::mul_hi(a, b, bits, is_signed),
        Builtin::Mul24 if scalar == Scalar::I32 => {
            u64::from(int::mul24(a as u32, b as u32, is_signed))
        }
        Builtin::Rotate => int::rotate(a, b, bits),
        _ => return None,
    })
}

fn int3(call: BuiltinCall, scalar: Scalar, [a, b, c]: [u64; 3]) -> Option<u64> {
    let (bits, is_signed) = (scalar.bits(), call.sign == Sign::Signed);
    let order = |value: u64| match is_signed {
        true => i128::from(signed(scalar, value)),
        false => i128::from(value),
    };
    let min = |a, b| if order(a) < order(b) { a } else { b };
    let max = |a, b| if order(a) < order(b) { b } else { a };
    let value = match call.builtin {
        Builtin::Min3 => min(min(a, b), c),
        Builtin::Max3 => max(max(a, b), c),
        Builtin::Median3 => max(min(a, b), min(max(a, b), c)),
        Builtin::Clamp => min(max(a, b), c),
        Builtin::MadHi => int::mul_hi(a, b, bits, is_signed).wrapping_add(c),
        Builtin::MadSat => int::mad_sat(a, b, c, bits, is_signed),
        Builtin::FunnelLeft => int::funnel_left(a, b, c, bits),
        Builtin::FunnelRight => int::funnel_right(a, b, c, bits),
        Builtin::ExtractBits => int::extract_bits(a, b, c, bits, is_signed),
        _ => return None,
    };
    Some(value & scalar.mask())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(call: BuiltinCall, args: &[f32]) -> Option<f32> {
        let args: Vec<u64> = args.iter().map(|arg| u64::from(arg.to_bits())).collect();
        builtin(call, Scalar::F32, &args).map(|bits| f32::from_bits(bits as u32))
    }

    #[test]
    fn functions_of_constants_are_computed() {
        assert_eq!(float(Builtin::Sqrt.call(), &[9.0]), Some(3.0));
        assert_eq!(float(Builtin::Fmax.call(), &[1.0, f32::NAN]), Some(1.0));
        assert_eq!(float(Builtin::Copysign.call(), &[2.0, -0.0]), Some(-2.0));
        assert_eq!(
            builtin(Builtin::Min.signed(), Scalar::I32, &[5, 0xffff_ffff]),
            Some(0xffff_ffff)
        );
        assert_eq!(
            builtin(Builtin::Min.unsigned(), Scalar::I32, &[5, 0xffff_ffff]),
            Some(5)
        );
        assert_eq!(builtin(Builtin::Clz.call(), Scalar::I8, &[1, 0]), Some(7));
    }

    #[test]
    fn approximate_functions_are_computed_approximately() {
        let x = 0.7f32;
        assert_eq!(float(Builtin::Exp.fast(), &[x]), Some(fast::exp(x)));
        assert_eq!(float(Builtin::Exp.call(), &[x]), Some(precise::exp(x)));
    }
}
