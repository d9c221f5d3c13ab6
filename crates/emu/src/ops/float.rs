//! Float arithmetic and conversions. The meaning of every operation is `assay-num`'s;
//! here it is applied to rows.

use crate::arith;
use crate::op::{Arith, Dest, FloatSource, FloatUnary, LANES, Part, Row};
use crate::simdgroup::Simdgroup;

/// A source as single-precision bits, its modifiers applied; denormals are not flushed
/// yet. Halves hold half-precision numbers.
#[inline(always)]
pub(crate) fn single<'a>(
    simdgroup: &'a Simdgroup,
    pool: &'a [Row],
    from: FloatSource,
    space: &'a mut Row,
) -> &'a Row {
    let row = simdgroup.row(pool, from.source.row);
    if from.source.part == Part::Whole && !from.abs && !from.neg {
        return row;
    }
    *space = match from.source.part {
        Part::Whole => *row,
        Part::Low | Part::LowSigned => row.map(|bits| arith::f16_to_f32(bits as u16).to_bits()),
        Part::High | Part::HighSigned => {
            row.map(|bits| arith::f16_to_f32((bits >> 16) as u16).to_bits())
        }
    };
    modify(space, from, 0x8000_0000);
    space
}

/// A source as half-precision bits, its modifiers applied.
#[inline(always)]
pub(crate) fn half(simdgroup: &Simdgroup, pool: &[Row], from: FloatSource) -> Row {
    let mut space = Row::ZERO;
    let mut value = *simdgroup.read(pool, from.source, &mut space);
    modify(&mut value, from, 0x8000);
    value
}

#[inline(always)]
fn modify(row: &mut Row, from: FloatSource, sign: u32) {
    if from.abs {
        *row = row.map(|bits| bits & !sign);
    }
    if from.neg {
        *row = row.map(|bits| bits ^ sign);
    }
}

/// Saturates and rounds single-precision results to the destination.
#[inline(always)]
pub(crate) fn finish(result: Row, to: Dest, saturate: bool) -> Row {
    let result = if saturate {
        result.map(arith::saturate)
    } else {
        result
    };
    if to.part == Part::Whole {
        result
    } else {
        result.map(|bits| u32::from(arith::f32_to_f16(f32::from_bits(bits))))
    }
}

/// a × b + c, rounded once to single precision.
#[inline(always)]
pub(crate) fn fma(a: &Row, b: &Row, c: &Row) -> Row {
    let mut out = Row::ZERO;
    for lane in 0..LANES {
        out.0[lane] = arith::fma(a.0[lane], b.0[lane], c.0[lane]);
    }
    out
}

/// a + b or a × b in single precision.
#[inline(always)]
pub(crate) fn binary(op: Arith, a: &Row, b: &Row) -> Row {
    match op {
        Arith::Add => a.zip(b, arith::add),
        Arith::Mul => a.zip(b, arith::mul),
    }
}

/// a × b + c, rounded once to half precision.
#[inline(always)]
pub(crate) fn half_fma(a: &Row, b: &Row, c: &Row, saturate: bool) -> Row {
    let mut out = Row::ZERO;
    for lane in 0..LANES {
        let (a, b, c) = (a.0[lane] as u16, b.0[lane] as u16, c.0[lane] as u16);
        out.0[lane] = u32::from(arith::half_fma(a, b, c));
    }
    saturate_half(out, saturate)
}

/// a + b or a × b in half precision.
#[inline(always)]
pub(crate) fn half_binary(op: Arith, a: &Row, b: &Row, saturate: bool) -> Row {
    let result = match op {
        Arith::Add => a.zip(b, |a, b| u32::from(arith::half_add(a as u16, b as u16))),
        Arith::Mul => a.zip(b, |a, b| u32::from(arith::half_mul(a as u16, b as u16))),
    };
    saturate_half(result, saturate)
}

#[inline(always)]
fn saturate_half(result: Row, saturate: bool) -> Row {
    if saturate {
        result.map(|bits| u32::from(arith::half_saturate(bits as u16)))
    } else {
        result
    }
}

/// Rounding to integral values and transcendentals, in single precision.
pub(crate) fn unary(op: FloatUnary, a: &Row) -> Row {
    let f: fn(u32) -> u32 = match op {
        FloatUnary::Floor => arith::floor,
        FloatUnary::Ceil => arith::ceil,
        FloatUnary::Trunc => arith::trunc,
        FloatUnary::Rint => arith::rint,
        FloatUnary::Rcp => arith::rcp,
        FloatUnary::Rsqrt => arith::rsqrt,
        FloatUnary::RsqrtSpecial => arith::rsqrt_special,
        FloatUnary::SinPt1 => arith::sin_pt_1,
        FloatUnary::SinPt2 => arith::sin_pt_2,
        FloatUnary::Log2 => arith::log2,
        FloatUnary::Exp2 => arith::exp2,
    };
    a.map(f)
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

/// Denormals to zero, as comparisons see them.
#[inline(always)]
pub(crate) fn flush(row: &Row) -> Row {
    row.map(arith::flush)
}
