//! What an operation gives for known scalar operands, as bits.
//!
//! Numbers are the bits of their type, upper bits zero. The arithmetic is `assay-num`'s;
//! this file only says which function an operation is.

use assay_num as num;
use assay_ssa::{
    BinaryOp, Callee, CastOp, FloatCond, Function, Inst, InstData, IntCond, Scalar, TernaryOp,
    TypeKind, UnaryOp, Value,
};

/// What a scalar instruction gives, `known` saying what its operands are; nothing if one that
/// matters is not known, or there is no fixed answer.
pub fn instruction(
    function: &Function,
    inst: Inst,
    mut known: impl FnMut(Value) -> Option<u64>,
) -> Option<u64> {
    let scalar = |value: Value| match function.ty(value).kind() {
        TypeKind::Scalar(scalar) => Some(scalar),
        _ => None,
    };
    match *function.inst(inst) {
        InstData::Unary { op, arg, .. } => Some(unary(op, scalar(arg)?, known(arg)?)),
        InstData::Binary {
            op, args: [a, b], ..
        } => binary(op, scalar(a)?, known(a)?, known(b)?),
        InstData::Ternary {
            op,
            args: [a, b, c],
            ..
        } => ternary(op, scalar(a)?, [known(a)?, known(b)?, known(c)?]),
        InstData::IntCompare {
            cond, args: [a, b], ..
        } => Some(u64::from(int_compare(
            cond,
            scalar(a)?,
            known(a)?,
            known(b)?,
        ))),
        InstData::FloatCompare {
            cond, args: [a, b], ..
        } => float_compare(cond, scalar(a)?, known(a)?, known(b)?).map(u64::from),
        InstData::Select {
            cond,
            args: [yes, no],
            ..
        } => {
            scalar(yes)?;
            let chosen = if known(cond)? & 1 == 1 { yes } else { no };
            known(chosen)
        }
        InstData::Cast { op, arg, .. } => cast(
            op,
            scalar(arg)?,
            scalar(function.result(inst)?)?,
            known(arg)?,
        ),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } => {
            use assay_ssa::builtin::Fold;
            let result = scalar(function.result(inst)?)?;
            match call.info().fold {
                Fold::Number(number) => Some(number & result.mask()),
                Fold::Constant => {
                    let args = function.list_values(args);
                    let first = scalar(*args.first()?)?;
                    let mut bits = [0; 4];
                    let bits = bits.get_mut(..args.len())?;
                    for (slot, &arg) in bits.iter_mut().zip(args) {
                        scalar(arg)?;
                        *slot = known(arg)?;
                    }
                    crate::evaluate_builtin::builtin(call, first, bits)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn bits_of(value: f32) -> u64 {
    u64::from(value.to_bits())
}

/// The signed number that `bits` are.
pub fn signed(scalar: Scalar, bits: u64) -> i64 {
    let shift = 64 - scalar.bits();
    (bits << shift) as i64 >> shift
}

/// `op` of one operand.
pub fn unary(op: UnaryOp, scalar: Scalar, bits: u64) -> u64 {
    match op {
        UnaryOp::FNeg => bits ^ (1 << (scalar.bits() - 1)),
        UnaryOp::Freeze => bits,
    }
}

/// `op` of two operands; nothing for what has no fixed answer.
pub fn binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    if op.is_float() {
        return float_binary(op, scalar, a, b);
    }
    let width = u64::from(scalar.bits());
    let (sa, sb) = (signed(scalar, a), signed(scalar, b));
    let amount = (b % width) as u32;
    let value = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        BinaryOp::URem => a.checked_rem(b).unwrap_or(a),
        BinaryOp::SDiv => match sb {
            0 => u64::MAX,
            _ => sa.wrapping_div(sb) as u64,
        },
        BinaryOp::SRem => match sb {
            0 => a,
            _ => sa.wrapping_rem(sb) as u64,
        },
        BinaryOp::Shl => a << amount,
        BinaryOp::LShr => a >> amount,
        BinaryOp::AShr => (sa >> amount) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        _ => return None,
    };
    Some(value & scalar.mask())
}

fn float_binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    use num::{brain, half, single};
    let (x, y) = (a as u16, b as u16);
    Some(match (scalar, op) {
        (Scalar::F32, BinaryOp::FAdd) => bits_of(single::add(f32_of(a), f32_of(b))),
        (Scalar::F32, BinaryOp::FSub) => bits_of(single::sub(f32_of(a), f32_of(b))),
        (Scalar::F32, BinaryOp::FMul) => bits_of(single::mul(f32_of(a), f32_of(b))),
        (Scalar::F32, BinaryOp::FDiv) => bits_of(single::div(f32_of(a), f32_of(b))),
        (Scalar::F32, BinaryOp::FRem) => bits_of(single::rem(f32_of(a), f32_of(b))),
        (Scalar::F16, BinaryOp::FAdd) => u64::from(half::add(x, y)),
        (Scalar::F16, BinaryOp::FSub) => u64::from(half::sub(x, y)),
        (Scalar::F16, BinaryOp::FMul) => u64::from(half::mul(x, y)),
        (Scalar::F16, BinaryOp::FDiv) => u64::from(half::div(x, y)),
        (Scalar::F16, BinaryOp::FRem) => u64::from(half::rem(x, y)),
        (Scalar::BF16, BinaryOp::FAdd) => u64::from(brain::add(x, y)),
        (Scalar::BF16, BinaryOp::FSub) => u64::from(brain::sub(x, y)),
        (Scalar::BF16, BinaryOp::FMul) => u64::from(brain::mul(x, y)),
        (Scalar::BF16, BinaryOp::FDiv) => u64::from(brain::div(x, y)),
        (Scalar::BF16, BinaryOp::FRem) => u64::from(brain::lift2(x, y, single::rem)),
        _ => return None,
    })
}

/// `op` of three operands. An unfused multiply-add is left to whoever decides about fusing.
pub fn ternary(op: TernaryOp, scalar: Scalar, [a, b, c]: [u64; 3]) -> Option<u64> {
    if op != TernaryOp::Fma {
        return None;
    }
    Some(match scalar {
        Scalar::F32 => bits_of(num::single::fma(f32_of(a), f32_of(b), f32_of(c))),
        Scalar::F16 => u64::from(num::half::fma(a as u16, b as u16, c as u16)),
        Scalar::BF16 => u64::from(num::brain::fma(a as u16, b as u16, c as u16)),
        _ => return None,
    })
}

/// Whether an integer comparison holds.
pub fn int_compare(cond: IntCond, scalar: Scalar, a: u64, b: u64) -> bool {
    cond.holds([a, b], [signed(scalar, a), signed(scalar, b)])
}

/// The number a float of any width is, exactly.
pub fn widened(scalar: Scalar, bits: u64) -> Option<f32> {
    match scalar {
        Scalar::F32 => Some(f32_of(bits)),
        Scalar::F16 => Some(num::f16_to_f32(bits as u16)),
        Scalar::BF16 => Some(num::bf16_to_f32(bits as u16)),
        _ => None,
    }
}

/// Whether a float comparison holds.
pub fn float_compare(cond: FloatCond, scalar: Scalar, a: u64, b: u64) -> Option<bool> {
    use num::single::{equal, less, less_equal};
    let (x, y) = (widened(scalar, a)?, widened(scalar, b)?);
    let unordered = x.is_nan() || y.is_nan();
    Some(match cond {
        FloatCond::False => false,
        FloatCond::True => true,
        FloatCond::Oeq => equal(x, y),
        FloatCond::Ogt => less(y, x),
        FloatCond::Oge => less_equal(y, x),
        FloatCond::Olt => less(x, y),
        FloatCond::Ole => less_equal(x, y),
        FloatCond::One => less(x, y) || less(y, x),
        FloatCond::Ord => !unordered,
        FloatCond::Uno => unordered,
        FloatCond::Ueq => unordered || equal(x, y),
        FloatCond::Ugt => unordered || less(y, x),
        FloatCond::Uge => unordered || less_equal(y, x),
        FloatCond::Ult => unordered || less(x, y),
        FloatCond::Ule => unordered || less_equal(x, y),
        FloatCond::Une => !equal(x, y),
    })
}

/// A conversion between scalars; nothing for pointers.
pub fn cast(op: CastOp, from: Scalar, to: Scalar, bits: u64) -> Option<u64> {
    let rounding = num::Rounding::NearestEven;
    let mask = to.mask();
    Some(match op {
        CastOp::Trunc | CastOp::ZExt => bits & mask,
        CastOp::SExt => signed(from, bits) as u64 & mask,
        CastOp::Bitcast => bits,
        CastOp::FConvert => narrowed(to, widened(from, bits)?)?,
        CastOp::FToU | CastOp::FToS => {
            let is_signed = op == CastOp::FToS;
            num::f32_to_int(
                widened(from, bits)?,
                to.bits(),
                is_signed,
                num::Rounding::TowardZero,
            ) & mask
        }
        CastOp::UToF | CastOp::SToF => {
            let is_signed = op == CastOp::SToF;
            match to {
                Scalar::F32 => bits_of(num::int_to_f32(bits, from.bits(), is_signed, rounding)),
                Scalar::F16 => u64::from(num::int_to_f16(bits, from.bits(), is_signed, rounding)),
                Scalar::BF16 => {
                    let single = num::int_to_f32(bits, from.bits(), is_signed, rounding);
                    u64::from(num::f32_to_bf16(single))
                }
                _ => return None,
            }
        }
        CastOp::PtrToInt | CastOp::IntToPtr | CastOp::SpaceCast => return None,
    })
}

/// A float rounded to a width.
pub fn narrowed(to: Scalar, value: f32) -> Option<u64> {
    match to {
        Scalar::F32 => Some(bits_of(value)),
        Scalar::F16 => Some(u64::from(num::f32_to_f16(value))),
        Scalar::BF16 => Some(u64::from(num::f32_to_bf16(value))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_at_their_own_width() {
        assert_eq!(binary(BinaryOp::Add, Scalar::I8, 0xff, 1), Some(0));
        assert_eq!(binary(BinaryOp::Mul, Scalar::I16, 0x100, 0x100), Some(0));
        assert_eq!(binary(BinaryOp::AShr, Scalar::I8, 0x80, 1), Some(0xc0));
        assert_eq!(binary(BinaryOp::Shl, Scalar::I32, 1, 33), Some(2));
    }

    #[test]
    fn division_by_zero_has_the_answers_the_program_form_defines() {
        assert_eq!(binary(BinaryOp::UDiv, Scalar::I32, 5, 0), Some(0xffff_ffff));
        assert_eq!(binary(BinaryOp::SDiv, Scalar::I32, 5, 0), Some(0xffff_ffff));
        assert_eq!(binary(BinaryOp::SRem, Scalar::I32, 5, 0), Some(5));
        let least = 0x8000_0000;
        assert_eq!(
            binary(BinaryOp::SDiv, Scalar::I32, least, 0xffff_ffff),
            Some(least)
        );
    }

    #[test]
    fn conversions_saturate_and_round() {
        let f = |value: f32| u64::from(value.to_bits());
        assert_eq!(
            cast(CastOp::FToU, Scalar::F32, Scalar::I8, f(300.0)),
            Some(255)
        );
        assert_eq!(
            cast(CastOp::FToS, Scalar::F32, Scalar::I32, f(f32::NAN)),
            Some(0)
        );
        assert_eq!(
            cast(CastOp::SToF, Scalar::I8, Scalar::F32, 0xff),
            Some(f(-1.0))
        );
        assert_eq!(
            cast(CastOp::FConvert, Scalar::F32, Scalar::F16, f(1.0)),
            Some(0x3c00)
        );
        assert_eq!(
            cast(CastOp::SExt, Scalar::I1, Scalar::I32, 1),
            Some(0xffff_ffff)
        );
    }

    #[test]
    fn comparisons_with_nan_are_unordered() {
        let nan = u64::from(f32::NAN.to_bits());
        assert_eq!(
            float_compare(FloatCond::Olt, Scalar::F32, nan, 0),
            Some(false)
        );
        assert_eq!(
            float_compare(FloatCond::Ult, Scalar::F32, nan, 0),
            Some(true)
        );
        assert_eq!(
            float_compare(FloatCond::Une, Scalar::F32, nan, nan),
            Some(true)
        );
    }
}
