//! Which lane function an arithmetic instruction is.
//!
//! Nothing is computed here: the functions are `assay-num`'s.

use crate::lanes::{LaneFn, Rule, each_lane};
use crate::single_lanes::single_lanes;
use assay_num::{self as num, Rounding, brain, half, int, single};
use assay_ssa::{BinaryOp, CastOp, FloatCond, IntCond, Scalar, TernaryOp};

#[inline(always)]
pub(crate) fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// A function of 64-bit operands in terms of one on any width, by the width.
macro_rules! by_width {
    ($scalar:expr, |$a:ident, $b:ident, $bits:ident| $body:expr) => {
        match $scalar {
            Scalar::I1 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { by_width!(@one a b 1, $a, $b, $bits, $body) as u32 })),
            Scalar::I8 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { by_width!(@one a b 8, $a, $b, $bits, $body) as u32 })),
            Scalar::I16 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { by_width!(@one a b 16, $a, $b, $bits, $body) as u32 })),
            Scalar::I32 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { by_width!(@one a b 32, $a, $b, $bits, $body) as u32 })),
            Scalar::I64 => Some(each_lane!(W2 |a: u64, b: u64| -> u64 { by_width!(@one a b 64, $a, $b, $bits, $body) })),
            _ => None,
        }
    };
    (@one $x:ident $y:ident $width:literal, $a:ident, $b:ident, $bits:ident, $body:expr) => {{
        let ($a, $b, $bits): (u64, u64, u32) = ($x as u64, $y as u64, $width);
        let result: u64 = $body;
        result & int::mask($bits)
    }};
}
pub(crate) use by_width;

/// An operation on two numbers.
pub(crate) fn binary(op: BinaryOp, scalar: Scalar) -> Option<LaneFn> {
    if op.is_float() {
        return float_binary(op, scalar);
    }
    // What most index arithmetic is, in its plainest form.
    if scalar == Scalar::I32 {
        let plain = match op {
            BinaryOp::Add => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a.wrapping_add(b) })),
            BinaryOp::Sub => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a.wrapping_sub(b) })),
            BinaryOp::Mul => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a.wrapping_mul(b) })),
            BinaryOp::Shl => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a << (b & 31) })),
            BinaryOp::LShr => Some(each_lane!(N2 |a: u32, b: u32| -> u32 { a >> (b & 31) })),
            BinaryOp::AShr => {
                Some(each_lane!(N2 |a: u32, b: u32| -> u32 { ((a as i32) >> (b & 31)) as u32 }))
            }
            _ => None,
        };
        if plain.is_some() {
            return plain;
        }
    }
    match op {
        BinaryOp::Add => by_width!(scalar, |a, b, _bits| a.wrapping_add(b)),
        BinaryOp::Sub => by_width!(scalar, |a, b, _bits| a.wrapping_sub(b)),
        BinaryOp::Mul => by_width!(scalar, |a, b, _bits| a.wrapping_mul(b)),
        BinaryOp::UDiv => by_width!(scalar, |a, b, bits| int::udiv(a, b, bits)),
        BinaryOp::SDiv => by_width!(scalar, |a, b, bits| int::sdiv(a, b, bits)),
        BinaryOp::URem => by_width!(scalar, |a, b, bits| int::urem(a, b, bits)),
        BinaryOp::SRem => by_width!(scalar, |a, b, bits| int::srem(a, b, bits)),
        BinaryOp::Shl => by_width!(scalar, |a, b, bits| int::shl(a, b, bits)),
        BinaryOp::LShr => by_width!(scalar, |a, b, bits| int::lshr(a, b, bits)),
        BinaryOp::AShr => by_width!(scalar, |a, b, bits| int::ashr(a, b, bits)),
        BinaryOp::And => by_width!(scalar, |a, b, _bits| a & b),
        BinaryOp::Or => by_width!(scalar, |a, b, _bits| a | b),
        BinaryOp::Xor => by_width!(scalar, |a, b, _bits| a ^ b),
        _ => None,
    }
}

/// The integer operation that [`binary`] performs, for affine operands.
pub(crate) fn binary_rule(op: BinaryOp, scalar: Scalar) -> Rule {
    let full = matches!(scalar, Scalar::I32 | Scalar::I64);
    match op {
        // These leave no upper bits in a narrower number.
        BinaryOp::And => Rule::And,
        BinaryOp::Or => Rule::Or,
        BinaryOp::Xor => Rule::Xor,
        BinaryOp::Add if full => Rule::Add,
        BinaryOp::Sub if full => Rule::Sub,
        BinaryOp::Mul if full => Rule::Mul,
        BinaryOp::Shl if full => Rule::Shl,
        BinaryOp::LShr if full => Rule::LShr,
        _ => Rule::Other,
    }
}

/// What [`int_compare`] does.
pub(crate) fn compare_rule(cond: IntCond, scalar: Scalar) -> Rule {
    match scalar {
        Scalar::I32 | Scalar::I64 => Rule::Compare(cond),
        Scalar::I8 | Scalar::I16 if !cond.is_signed() => Rule::Compare(cond),
        _ => Rule::Other,
    }
}

/// What [`cast`] does.
pub(crate) fn cast_rule(op: CastOp, from: Scalar, to: Scalar) -> Rule {
    match (op, from, to) {
        (CastOp::ZExt, _, Scalar::I64) => Rule::ZeroExtend,
        (CastOp::SExt, Scalar::I32, Scalar::I64) => Rule::SignExtend,
        (CastOp::Trunc, Scalar::I64, Scalar::I32) => Rule::Truncate,
        _ => Rule::Other,
    }
}

/// A function of two floats of any type, from one for each. With `single::add = _mm512_add_ps` the CPU has an instruction for it:
/// see [`single_lanes!`](crate::single_lanes).
macro_rules! float2 {
    ($scalar:expr, $single:path = $instruction:ident, $half:expr, $brain:expr) => {
        float2!($scalar, $single = $instruction, denormals in [a, b] of |a, b|, $half, $brain)
    };
    ($scalar:expr, $single:path = $instruction:ident, denormals in $checked:tt of |$a:ident, $b:ident|, $half:expr, $brain:expr) => {
        match $scalar {
            Scalar::F32 => Some($crate::single_lanes::single_lanes!(
                N2 |$a, $b| $single, $instruction, denormals in $checked
            )),
            other => float2!(@narrow other, $half, $brain),
        }
    };
    ($scalar:expr, $single:path, $half:expr, $brain:expr) => {
        match $scalar {
            Scalar::F32 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 {
                $single(float(a), float(b)).to_bits()
            })),
            other => float2!(@narrow other, $half, $brain),
        }
    };
    (@narrow $scalar:expr, $half:expr, $brain:expr) => {
        match $scalar {
            Scalar::F16 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 {
                u32::from($half(a as u16, b as u16))
            })),
            Scalar::BF16 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 {
                u32::from($brain(a as u16, b as u16))
            })),
            _ => None,
        }
    };
}
pub(crate) use float2;

fn float_binary(op: BinaryOp, scalar: Scalar) -> Option<LaneFn> {
    match op {
        BinaryOp::FAdd => float2!(scalar, single::add = _mm512_add_ps, half::add, brain::add),
        BinaryOp::FSub => float2!(scalar, single::sub = _mm512_sub_ps, half::sub, brain::sub),
        BinaryOp::FMul => float2!(scalar, single::mul = _mm512_mul_ps, half::mul, brain::mul),
        BinaryOp::FDiv => float2!(scalar, single::div, half::div, brain::div),
        BinaryOp::FRem => float2!(
            scalar,
            single::rem,
            half::rem,
            (|a, b| brain::lift2(a, b, single::rem))
        ),
        _ => None,
    }
}

/// The same as [`binary`] for operands without denormals, where that is less work.
pub(crate) fn binary_flushed(op: BinaryOp, scalar: Scalar) -> Option<LaneFn> {
    use single::flushed;
    macro_rules! plain {
        ($function:path, $instruction:ident) => {
            Some(single_lanes!(N2 |a, b| $function, $instruction, denormals in []))
        };
    }
    match (op, scalar) {
        (BinaryOp::FAdd, Scalar::F32) => plain!(flushed::add, _mm512_add_ps),
        (BinaryOp::FSub, Scalar::F32) => plain!(flushed::sub, _mm512_sub_ps),
        (BinaryOp::FMul, Scalar::F32) => plain!(flushed::mul, _mm512_mul_ps),
        _ => None,
    }
}

/// A sign flipped.
pub(crate) fn negate(scalar: Scalar) -> Option<LaneFn> {
    match scalar {
        Scalar::F32 => Some(each_lane!(N1 |a: u32| -> u32 { a ^ 0x8000_0000 })),
        Scalar::F16 | Scalar::BF16 => Some(each_lane!(N1 |a: u32| -> u32 { a ^ 0x8000 })),
        _ => None,
    }
}

/// `a * b + c`. One that may be fused or not is: the hardware's multiply-add is.
pub(crate) fn ternary(op: TernaryOp, scalar: Scalar) -> Option<LaneFn> {
    let (TernaryOp::Fma | TernaryOp::MulAdd) = op;
    match scalar {
        Scalar::F32 => Some(single_lanes!(
            N3 |a, b, c| single::fma, _mm512_fmadd_ps, denormals in [a, b, c]
        )),
        Scalar::F16 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
            u32::from(half::fma(a as u16, b as u16, c as u16))
        })),
        Scalar::BF16 => Some(each_lane!(N3 |a: u32, b: u32, c: u32| -> u32 {
            u32::from(brain::fma(a as u16, b as u16, c as u16))
        })),
        _ => None,
    }
}

/// The same as [`ternary`] for operands of which some have no denormals, where that is less work.
pub(crate) fn ternary_flushed(scalar: Scalar, [a, b, c]: [bool; 3]) -> Option<LaneFn> {
    match (scalar, a && b, c) {
        (Scalar::F32, true, true) => Some(single_lanes!(
            N3 |a, b, c| single::flushed::fma, _mm512_fmadd_ps, denormals in []
        )),
        (Scalar::F32, false, true) => Some(single_lanes!(
            N3 |a, b, c| single::fma, _mm512_fmadd_ps, denormals in [a, b]
        )),
        _ => None,
    }
}

/// A comparison of integers (or pointers, as 64-bit ones).
pub(crate) fn int_compare(cond: IntCond, scalar: Scalar) -> Option<LaneFn> {
    macro_rules! signed {
        ($op:tt) => {
            match scalar {
                Scalar::I1 => each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from(((a << 31) as i32) $op ((b << 31) as i32)) }),
                Scalar::I8 => each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from((a as i8) $op (b as i8)) }),
                Scalar::I16 => each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from((a as i16) $op (b as i16)) }),
                Scalar::I64 => each_lane!(Compare |a: u64, b: u64| -> u32 { u32::from((a as i64) $op (b as i64)) }),
                _ => each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from((a as i32) $op (b as i32)) }),
            }
        };
    }
    macro_rules! unsigned {
        ($op:tt) => {
            match scalar {
                Scalar::I64 => each_lane!(Compare |a: u64, b: u64| -> u32 { u32::from(a $op b) }),
                _ => each_lane!(N2 |a: u32, b: u32| -> u32 { u32::from(a $op b) }),
            }
        };
    }
    if scalar.is_float() {
        return None;
    }
    Some(match cond {
        IntCond::Eq => unsigned!(==),
        IntCond::Ne => unsigned!(!=),
        IntCond::Ult => unsigned!(<),
        IntCond::Ule => unsigned!(<=),
        IntCond::Ugt => unsigned!(>),
        IntCond::Uge => unsigned!(>=),
        IntCond::Slt => signed!(<),
        IntCond::Sle => signed!(<=),
        IntCond::Sgt => signed!(>),
        IntCond::Sge => signed!(>=),
    })
}

/// A comparison of floats.
pub(crate) fn float_compare(cond: FloatCond, scalar: Scalar) -> Option<LaneFn> {
    macro_rules! compare {
        (|$x:ident, $y:ident| $body:expr) => {
            match scalar {
                Scalar::F32 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 {
                    let ($x, $y) = (float(a), float(b));
                    u32::from($body)
                })),
                Scalar::F16 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 {
                    let ($x, $y) = (num::f16_to_f32(a as u16), num::f16_to_f32(b as u16));
                    u32::from($body)
                })),
                Scalar::BF16 => Some(each_lane!(N2 |a: u32, b: u32| -> u32 {
                    let ($x, $y) = (num::bf16_to_f32(a as u16), num::bf16_to_f32(b as u16));
                    u32::from($body)
                })),
                _ => None,
            }
        };
    }
    use single::{equal, less, less_equal};
    match cond {
        FloatCond::False => compare!(|_x, _y| false),
        FloatCond::True => compare!(|_x, _y| true),
        FloatCond::Oeq => compare!(|x, y| equal(x, y)),
        FloatCond::Ogt => compare!(|x, y| less(y, x)),
        FloatCond::Oge => compare!(|x, y| less_equal(y, x)),
        FloatCond::Olt => compare!(|x, y| less(x, y)),
        FloatCond::Ole => compare!(|x, y| less_equal(x, y)),
        FloatCond::One => compare!(|x, y| less(x, y) | less(y, x)),
        FloatCond::Ord => compare!(|x, y| !(x.is_nan() | y.is_nan())),
        FloatCond::Uno => compare!(|x, y| x.is_nan() | y.is_nan()),
        FloatCond::Ueq => compare!(|x, y| !(less(x, y) | less(y, x))),
        FloatCond::Ugt => compare!(|x, y| !less_equal(x, y)),
        FloatCond::Uge => compare!(|x, y| !less(x, y)),
        FloatCond::Ult => compare!(|x, y| !less_equal(y, x)),
        FloatCond::Ule => compare!(|x, y| !less(y, x)),
        FloatCond::Une => compare!(|x, y| !equal(x, y)),
    }
}

/// A conversion that computes something; those that keep the register are the compiler's.
pub(crate) fn cast(op: CastOp, from: Scalar, to: Scalar) -> Option<LaneFn> {
    match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr => zero_extend(from, to),
        CastOp::SExt => sign_extend(from, to),
        CastOp::FConvert => float_convert(from, to),
        CastOp::FToU => float_to_int(from, to, false),
        CastOp::FToS => float_to_int(from, to, true),
        CastOp::UToF => int_to_float(from, to, false),
        CastOp::SToF => int_to_float(from, to, true),
        CastOp::Bitcast | CastOp::SpaceCast => None,
    }
}

fn zero_extend(from: Scalar, to: Scalar) -> Option<LaneFn> {
    let wide = |scalar| scalar == Scalar::I64;
    Some(match (wide(from), wide(to)) {
        (false, true) => each_lane!(Widen |a: u32| -> u64 { u64::from(a) }),
        (true, true) => each_lane!(W1 |a: u64| -> u64 { a }),
        (true, false) => match to {
            Scalar::I1 => each_lane!(Narrowing |a: u64| -> u32 { a as u32 & 1 }),
            Scalar::I8 => each_lane!(Narrowing |a: u64| -> u32 { a as u32 & 0xff }),
            Scalar::I16 => each_lane!(Narrowing |a: u64| -> u32 { a as u32 & 0xffff }),
            _ => each_lane!(Narrowing |a: u64| -> u32 { a as u32 }),
        },
        (false, false) => match to {
            Scalar::I1 => each_lane!(N1 |a: u32| -> u32 { a & 1 }),
            Scalar::I8 => each_lane!(N1 |a: u32| -> u32 { a & 0xff }),
            Scalar::I16 => each_lane!(N1 |a: u32| -> u32 { a & 0xffff }),
            _ => each_lane!(N1 |a: u32| -> u32 { a }),
        },
    })
}

fn sign_extend(from: Scalar, to: Scalar) -> Option<LaneFn> {
    macro_rules! extend {
        ($shift:literal) => {
            match to {
                Scalar::I64 => each_lane!(Widen |a: u32| -> u64 { i64::from((a << $shift) as i32 >> $shift) as u64 }),
                Scalar::I16 => each_lane!(N1 |a: u32| -> u32 { ((a << $shift) as i32 >> $shift) as u32 & 0xffff }),
                Scalar::I8 => each_lane!(N1 |a: u32| -> u32 { ((a << $shift) as i32 >> $shift) as u32 & 0xff }),
                _ => each_lane!(N1 |a: u32| -> u32 { ((a << $shift) as i32 >> $shift) as u32 }),
            }
        };
    }
    match from {
        Scalar::I1 => Some(extend!(31)),
        Scalar::I8 => Some(extend!(24)),
        Scalar::I16 => Some(extend!(16)),
        Scalar::I32 => Some(extend!(0)),
        _ => None,
    }
}

fn float_convert(from: Scalar, to: Scalar) -> Option<LaneFn> {
    use Scalar::{BF16, F16, F32};
    Some(match (from, to) {
        (F16, F32) => each_lane!(N1 |a: u32| -> u32 { num::f16_to_f32(a as u16).to_bits() }),
        (BF16, F32) => each_lane!(N1 |a: u32| -> u32 { num::bf16_to_f32(a as u16).to_bits() }),
        (F32, F16) => each_lane!(N1 |a: u32| -> u32 { u32::from(num::f32_to_f16(float(a))) }),
        (F32, BF16) => each_lane!(N1 |a: u32| -> u32 { u32::from(num::f32_to_bf16(float(a))) }),
        (BF16, F16) => {
            each_lane!(N1 |a: u32| -> u32 { u32::from(num::f32_to_f16(num::bf16_to_f32(a as u16))) })
        }
        (F16, BF16) => {
            each_lane!(N1 |a: u32| -> u32 { u32::from(num::f32_to_bf16(num::f16_to_f32(a as u16))) })
        }
        (F32, F32) | (F16, F16) | (BF16, BF16) => each_lane!(N1 |a: u32| -> u32 { a }),
        _ => return None,
    })
}

fn float_to_int(from: Scalar, to: Scalar, signed: bool) -> Option<LaneFn> {
    macro_rules! convert {
        ($widen:expr, $bits:literal, $signed:literal) => {
            each_lane!(N1 |a: u32| -> u32 {
                num::f32_to_int($widen(a), $bits, $signed, Rounding::TowardZero) as u32 & int::mask($bits) as u32
            })
        };
        ($widen:expr, $signed:literal) => {
            match to {
                Scalar::I1 => Some(convert!($widen, 1, $signed)),
                Scalar::I8 => Some(convert!($widen, 8, $signed)),
                Scalar::I16 => Some(convert!($widen, 16, $signed)),
                Scalar::I32 => Some(convert!($widen, 32, $signed)),
                Scalar::I64 => Some(each_lane!(Widen |a: u32| -> u64 {
                    num::f32_to_int($widen(a), 64, $signed, Rounding::TowardZero)
                })),
                _ => None,
            }
        };
        ($widen:expr) => {
            if signed { convert!($widen, true) } else { convert!($widen, false) }
        };
    }
    match from {
        Scalar::F32 => convert!(float),
        Scalar::F16 => convert!((|a: u32| num::f16_to_f32(a as u16))),
        Scalar::BF16 => convert!((|a: u32| num::bf16_to_f32(a as u16))),
        _ => None,
    }
}

fn int_to_float(from: Scalar, to: Scalar, signed: bool) -> Option<LaneFn> {
    macro_rules! convert {
        ($bits:literal, $signed:literal, $finish:expr) => {
            each_lane!(N1 |a: u32| -> u32 { $finish(a as u64, $bits, $signed) })
        };
        ($signed:literal, $finish:expr) => {
            match from {
                Scalar::I1 => Some(convert!(1, $signed, $finish)),
                Scalar::I8 => Some(convert!(8, $signed, $finish)),
                Scalar::I16 => Some(convert!(16, $signed, $finish)),
                Scalar::I32 => Some(convert!(32, $signed, $finish)),
                Scalar::I64 => Some(each_lane!(Narrowing |a: u64| -> u32 { $finish(a, 64, $signed) })),
                _ => None,
            }
        };
        ($finish:expr) => {
            if signed { convert!(true, $finish) } else { convert!(false, $finish) }
        };
    }
    match to {
        Scalar::F32 => convert!(to_single),
        Scalar::F16 => convert!(to_half),
        Scalar::BF16 => convert!(to_brain),
        _ => None,
    }
}

#[inline(always)]
fn to_single(value: u64, bits: u32, signed: bool) -> u32 {
    num::int_to_f32(value, bits, signed, Rounding::NearestEven).to_bits()
}

#[inline(always)]
fn to_half(value: u64, bits: u32, signed: bool) -> u32 {
    u32::from(num::int_to_f16(value, bits, signed, Rounding::NearestEven))
}

#[inline(always)]
fn to_brain(value: u64, bits: u32, signed: bool) -> u32 {
    let single = num::int_to_f32(value, bits, signed, Rounding::NearestEven);
    u32::from(num::f32_to_bf16(single))
}
