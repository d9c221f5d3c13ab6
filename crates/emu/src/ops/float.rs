//! Float arithmetic and conversions. The meaning of every operation is `assay-num`'s;
//! here it is applied to rows.

use crate::arith;
use crate::op::{Dest, FloatSource, FloatUnary, LANES, Part, Row};
use crate::simdgroup::Simdgroup;

/// The bits that a source's modifiers keep, and those they flip.
#[inline(always)]
pub(crate) fn modifiers(from: FloatSource) -> (u32, u32) {
    let sign = 0x8000_0000u32;
    let keep = if from.abs { !sign } else { u32::MAX };
    (keep, if from.neg { sign } else { 0 })
}

/// A source as single-precision bits, its modifiers applied; denormals are not flushed
/// yet. Halves hold half-precision numbers.
pub(crate) fn single(simdgroup: &Simdgroup, from: FloatSource) -> Row {
    let value = simdgroup.read(from.source);
    let (keep, flip) = modifiers(from);
    match from.source.part {
        Part::Whole => value.map(|bits| bits & keep ^ flip),
        _ => value.map(|bits| arith::f16_to_f32(bits as u16).to_bits() & keep ^ flip),
    }
}

/// A source as half-precision bits, its modifiers applied.
#[inline(always)]
pub(crate) fn half(simdgroup: &Simdgroup, from: FloatSource) -> Row {
    let (keep, flip) = modifiers(from);
    let value = simdgroup.read(from.source);
    value.map(|bits| bits & (keep >> 16) ^ flip >> 16)
}

/// Saturates and rounds single-precision results to the destination.
pub(crate) fn finish(result: Row, to: Dest, saturate: bool) -> Row {
    result.map(|bits| finish_one(bits, to, saturate))
}

#[inline(always)]
pub(crate) fn finish_one(bits: u32, to: Dest, saturate: bool) -> u32 {
    let bits = if saturate {
        arith::saturate(bits)
    } else {
        bits
    };
    if to.part == Part::Whole {
        bits
    } else {
        u32::from(arith::f32_to_f16(f32::from_bits(bits)))
    }
}

/// Writes a single-precision function of three sources.
macro_rules! write_singles {
    ($simdgroup:expr, $to:expr, [$a:expr, $b:expr, $c:expr], $saturate:expr,
     |$x:ident, $y:ident, $z:ident| $value:expr) => {{
        use $crate::ops::float::{finish_one, modifiers};
        use $crate::simdgroup::write_lanes;
        let (a, b, c) = ($a, $b, $c);
        let rows_a = $simdgroup.float_operand(a.source, 0);
        let rows_b = $simdgroup.float_operand(b.source, 1);
        let rows_c = $simdgroup.float_operand(c.source, 2);
        let (keep_a, flip_a) = modifiers(a);
        let (keep_b, flip_b) = modifiers(b);
        let (keep_c, flip_c) = modifiers(c);
        if $to.part == $crate::op::Part::Whole && !$saturate {
            write_lanes!($simdgroup, $to, [rows_a, rows_b, rows_c], |a, b, c| {
                let ($x, $y, $z) = (
                    a & keep_a ^ flip_a,
                    b & keep_b ^ flip_b,
                    c & keep_c ^ flip_c,
                );
                $value
            });
        } else {
            write_lanes!($simdgroup, $to, [rows_a, rows_b, rows_c], |a, b, c| {
                let ($x, $y, $z) = (
                    a & keep_a ^ flip_a,
                    b & keep_b ^ flip_b,
                    c & keep_c ^ flip_c,
                );
                finish_one($value, $to, $saturate)
            });
        }
    }};
}
pub(crate) use write_singles;

/// Writes a half-precision function of three sources.
macro_rules! write_halves {
    ($simdgroup:expr, $to:expr, [$a:expr, $b:expr, $c:expr], $saturate:expr,
     |$x:ident, $y:ident, $z:ident| $value:expr) => {{
        use $crate::ops::float::modifiers;
        use $crate::simdgroup::write_lanes;
        let (a, b, c) = ($a, $b, $c);
        let rows_a = $simdgroup.operand(a.source, 0);
        let rows_b = $simdgroup.operand(b.source, 1);
        let rows_c = $simdgroup.operand(c.source, 2);
        let (keep_a, flip_a) = modifiers(a);
        let (keep_b, flip_b) = modifiers(b);
        let (keep_c, flip_c) = modifiers(c);
        write_lanes!($simdgroup, $to, [rows_a, rows_b, rows_c], |a, b, c| {
            let $x = (a & (keep_a >> 16) ^ flip_a >> 16) as u16;
            let $y = (b & (keep_b >> 16) ^ flip_b >> 16) as u16;
            let $z = (c & (keep_c >> 16) ^ flip_c >> 16) as u16;
            let value = $value;
            u32::from(if $saturate {
                arith::half_saturate(value)
            } else {
                value
            })
        });
    }};
}
pub(crate) use write_halves;

/// Rounding to integral values and transcendentals, in single precision.
pub(crate) fn unary(op: FloatUnary, a: &Row) -> Row {
    #[cfg(target_arch = "x86_64")]
    if crate::host::has_avx2_and_fma() {
        // SAFETY: the processor has the features the function is compiled for.
        return unsafe { unary_avx2(op, a) };
    }
    unary_anywhere(op, a)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn unary_avx2(op: FloatUnary, a: &Row) -> Row {
    unary_anywhere(op, a)
}

#[inline(always)]
fn unary_anywhere(op: FloatUnary, a: &Row) -> Row {
    macro_rules! each {
        ($function:path) => {{
            let mut out = Row::ZERO;
            for lane in 0..LANES {
                out.0[lane] = $function(a.0[lane]);
            }
            out
        }};
    }
    match op {
        FloatUnary::Floor => each!(arith::floor),
        FloatUnary::Ceil => each!(arith::ceil),
        FloatUnary::Trunc => each!(arith::trunc),
        FloatUnary::Rint => each!(arith::rint),
        FloatUnary::Rcp => each!(arith::rcp),
        FloatUnary::Rsqrt => each!(arith::rsqrt),
        FloatUnary::RsqrtSpecial => each!(arith::rsqrt_special),
        FloatUnary::SinPt1 => each!(arith::sin_pt_1),
        FloatUnary::SinPt2 => each!(arith::sin_pt_2),
        FloatUnary::Log2 => each!(arith::log2),
        FloatUnary::Exp2 => each!(arith::exp2),
    }
}

/// Integers of `bits` bits to floats of the destination's size.
pub(crate) fn from_int(a: &Row, bits: u8, signed: bool, nearest: bool, to: Dest) -> Row {
    let wide = to.part == Part::Whole;
    a.map(|value| arith::int_to_float(value, u32::from(bits), signed, nearest, wide))
}

/// Floats to integers of `bits` bits, saturating; NaN becomes zero.
pub(crate) fn to_int(a: &Row, bits: u8, signed: bool, nearest: bool) -> Row {
    a.map(|value| arith::float_to_int(value, u32::from(bits), signed, nearest))
}
