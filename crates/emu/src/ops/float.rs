//! Float arithmetic and conversions. The meaning of every operation is `assay-num`'s;
//! here it is applied to rows.

use crate::arith;
use crate::op::{Dest, FloatSource, FloatUnary, LANES, Part, Row};
use crate::simdgroup::{Chunk, Simdgroup, fill, to_row, write_lanes};
use assay_num::Rounding;

/// The bits that a source's modifiers keep, and those they flip.
#[inline(always)]
pub(crate) fn modifiers(from: FloatSource) -> (u32, u32) {
    let sign = 0x8000_0000u32;
    let keep = if from.abs { !sign } else { u32::MAX };
    (keep, if from.neg { sign } else { 0 })
}

/// A source as single-precision bits, its modifiers applied; denormals are not flushed
/// yet. Halves hold half-precision numbers.
#[inline(always)]
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

/// Saturates and rounds the single-precision results in the simdgroup's spare row, and
/// writes them.
#[inline(always)]
pub(crate) fn finish<const VECTOR: bool>(simdgroup: &Simdgroup, to: Dest, saturate: bool) {
    let results = simdgroup.outcome();
    if saturate {
        for chunk in results {
            chunk.set(Chunk(chunk.get().0.map(arith::saturate)));
        }
    }
    if to.part == Part::Whole {
        write_lanes!(simdgroup, to, [results, results, results], |a, _b, _c| a);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if VECTOR {
        // SAFETY: `VECTOR` is true only where `has_vectors` was.
        unsafe { crate::ops::half::narrow_row(simdgroup, results, to) };
        return;
    }
    write_lanes!(simdgroup, to, [results, results, results], |a, _b, _c| {
        u32::from(arith::f32_to_f16(f32::from_bits(a)))
    });
}

/// Writes a single-precision function of three sources. `plain` says that no source has
/// modifiers, and that the result goes to a whole register as it is.
macro_rules! write_singles {
    ($simdgroup:expr, $to:expr, [$a:expr, $b:expr, $c:expr], ($plain:expr, $saturate:expr),
     |$x:ident, $y:ident, $z:ident| $value:expr) => {{
        use $crate::ops::float::{finish, modifiers};
        use $crate::simdgroup::{CHUNK, CHUNKS, Chunk, write_lanes};
        let (a, b, c) = ($a, $b, $c);
        let rows_a = $simdgroup.float_operand::<VECTOR>(a.source, 0);
        let rows_b = $simdgroup.float_operand::<VECTOR>(b.source, 1);
        let rows_c = $simdgroup.float_operand::<VECTOR>(c.source, 2);
        if $plain {
            write_lanes!($simdgroup, $to, [rows_a, rows_b, rows_c], |$x, $y, $z| {
                $value
            });
        } else {
            let (keep_a, flip_a) = modifiers(a);
            let (keep_b, flip_b) = modifiers(b);
            let (keep_c, flip_c) = modifiers(c);
            let results = $simdgroup.outcome();
            for chunk in 0..CHUNKS {
                let a = rows_a[chunk].get().0;
                let b = rows_b[chunk].get().0;
                let c = rows_c[chunk].get().0;
                let mut out = [0; CHUNK];
                for n in 0..CHUNK {
                    let ($x, $y, $z) = (
                        a[n] & keep_a ^ flip_a,
                        b[n] & keep_b ^ flip_b,
                        c[n] & keep_c ^ flip_c,
                    );
                    out[n] = $value;
                }
                results[chunk].set(Chunk(out));
            }
            finish::<VECTOR>($simdgroup, $to, $saturate);
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
#[inline(always)]
pub(crate) fn unary<const VECTOR: bool>(
    simdgroup: &Simdgroup,
    op: FloatUnary,
    to: Dest,
    a: FloatSource,
    saturate: bool,
) {
    let (keep, flip) = modifiers(a);
    let a = to_row(simdgroup.float_operand::<VECTOR>(a.source, 0));
    macro_rules! each {
        ($function:path) => {{
            let mut out = Row::ZERO;
            for lane in 0..LANES {
                out.0[lane] = $function(a.0[lane] & keep ^ flip);
            }
            fill(simdgroup.outcome(), &out);
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
    finish::<VECTOR>(simdgroup, to, saturate);
}

/// `f` of every lane, with what it is asked for known where the loop is compiled: each
/// combination is a loop of its own.
macro_rules! for_each_kind {
    ($row:expr, ($signed:expr, $nearest:expr), |$value:ident, $is_signed:ident, $rounding:ident| $result:expr) => {{
        macro_rules! kind {
            ($known_signed:expr, $known_rounding:expr) => {{
                let ($is_signed, $rounding) = ($known_signed, $known_rounding);
                let mut out = Row::ZERO;
                for lane in 0..LANES {
                    let $value = $row.0[lane];
                    out.0[lane] = $result;
                }
                out
            }};
        }
        match ($signed, $nearest) {
            (false, false) => kind!(false, Rounding::TowardZero),
            (false, true) => kind!(false, Rounding::NearestEven),
            (true, false) => kind!(true, Rounding::TowardZero),
            (true, true) => kind!(true, Rounding::NearestEven),
        }
    }};
}

/// Integers of `bits` bits to floats of the destination's size.
#[inline(always)]
pub(crate) fn from_int(a: &Row, bits: u8, signed: bool, nearest: bool, to: Dest) -> Row {
    let bits = u32::from(bits);
    match to.part {
        Part::Whole => for_each_kind!(a, (signed, nearest), |value, signed, rounding| {
            assay_num::int32_to_f32(value, bits, signed, rounding).to_bits()
        }),
        _ => for_each_kind!(a, (signed, nearest), |value, signed, rounding| {
            u32::from(assay_num::int32_to_f16(value, bits, signed, rounding))
        }),
    }
}

/// Floats to integers of `bits` bits, saturating; NaN becomes zero.
#[inline(always)]
pub(crate) fn to_int(a: &Row, bits: u8, signed: bool, nearest: bool) -> Row {
    let bits = u32::from(bits);
    for_each_kind!(a, (signed, nearest), |value, signed, rounding| {
        assay_num::f32_to_int32(f32::from_bits(value), bits, signed, rounding)
    })
}
