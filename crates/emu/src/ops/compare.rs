//! Comparisons.

use crate::arith;
use crate::op::{Compared, LANES, Row};
use crate::ops::float::modifiers;
use crate::simdgroup::{CHUNK, CHUNKS, Cells, Chunk, Simdgroup};
use assay_agx::{Compare, Condition, FloatOrder, Order};

/// All ones.
#[inline(always)]
fn mask(holds: bool) -> u32 {
    0u32.wrapping_sub(u32::from(holds))
}

/// Leaves all ones in the lanes where a comparison holds, else zero, in the
/// simdgroup's spare row for outcomes.
#[inline(always)]
pub(crate) fn compare<const VECTOR: bool>(
    simdgroup: &Simdgroup,
    condition: Condition,
    compared: Compared,
) {
    let invert = mask(condition.negate);
    let out = simdgroup.outcome();
    macro_rules! each {
        ($rows_a:expr, $rows_b:expr, |$a:ident, $b:ident| $holds:expr) => {{
            let (rows_a, rows_b): (&Cells, &Cells) = ($rows_a, $rows_b);
            for chunk in 0..CHUNKS {
                let (a, b) = (rows_a[chunk].get().0, rows_b[chunk].get().0);
                let mut holds = [0; CHUNK];
                for n in 0..CHUNK {
                    let ($a, $b) = (a[n], b[n]);
                    holds[n] = mask($holds) ^ invert;
                }
                out[chunk].set(Chunk(holds));
            }
        }};
    }
    match compared {
        Compared::Int(a, b) => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            match condition.compare {
                Compare::Unsigned(Order::Less) => each!(a, b, |a, b| a < b),
                Compare::Unsigned(Order::Greater) => each!(a, b, |a, b| a > b),
                Compare::Signed(Order::Less) => each!(a, b, |a, b| (a as i32) < b as i32),
                Compare::Signed(Order::Greater) => each!(a, b, |a, b| a as i32 > b as i32),
                Compare::Test => each!(a, b, |a, b| a & b != 0),
                _ => each!(a, b, |a, b| a == b),
            }
        }
        Compared::Float(a, b) => {
            let ((keep_a, flip_a), (keep_b, flip_b)) = (modifiers(a), modifiers(b));
            let rows_a = simdgroup.float_operand::<VECTOR>(a.source, 0);
            let rows_b = simdgroup.float_operand::<VECTOR>(b.source, 1);
            macro_rules! floats {
                (|$a:ident, $b:ident| $holds:expr) => {
                    each!(rows_a, rows_b, |a, b| {
                        let $a = f32::from_bits(arith::flush(a & keep_a ^ flip_a));
                        let $b = f32::from_bits(arith::flush(b & keep_b ^ flip_b));
                        $holds
                    })
                };
            }
            match condition.compare {
                Compare::Float(FloatOrder::Less) => floats!(|a, b| a < b),
                Compare::Float(FloatOrder::Greater) => floats!(|a, b| a > b),
                Compare::Float(FloatOrder::LessEqual) => floats!(|a, b| a <= b),
                Compare::Float(FloatOrder::GreaterEqual) => floats!(|a, b| a >= b),
                Compare::Float(FloatOrder::LessOrNan) => floats!(|a, b| (a < b) | b.is_nan()),
                Compare::Float(FloatOrder::GreaterOrNan) => floats!(|a, b| (a > b) | b.is_nan()),
                _ => floats!(|a, b| a == b),
            }
        }
    }
}

/// One bit per lane: whether its value is not zero.
#[inline(always)]
pub(crate) fn to_bits(holds: &Row) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(holds.0[lane] != 0) << lane;
    }
    bits
}
