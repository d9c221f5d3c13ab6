//! Comparisons.

use crate::op::{LANES, Row};
use assay_agx::{Compare, Condition, FloatOrder, Order};

/// All ones.
#[inline(always)]
fn mask(holds: bool) -> u32 {
    0u32.wrapping_sub(u32::from(holds))
}

/// All ones in the lanes where the comparison holds, else zero. Floats come as single
/// precision bits, denormals flushed; signed integers sign-extended.
#[inline(always)]
pub(crate) fn compare(condition: Condition, a: &Row, b: &Row) -> Row {
    let holds = match condition.compare {
        Compare::Unsigned(Order::Equal) | Compare::Signed(Order::Equal) => {
            a.zip(b, |a, b| mask(a == b))
        }
        Compare::Unsigned(Order::Less) => a.zip(b, |a, b| mask(a < b)),
        Compare::Unsigned(Order::Greater) => a.zip(b, |a, b| mask(a > b)),
        Compare::Signed(Order::Less) => a.zip(b, |a, b| mask((a as i32) < b as i32)),
        Compare::Signed(Order::Greater) => a.zip(b, |a, b| mask(a as i32 > b as i32)),
        Compare::Float(order) => floats(order, a, b),
        Compare::Unknown(_) => Row::ZERO,
    };
    if condition.negate {
        holds.map(|holds| !holds)
    } else {
        holds
    }
}

#[inline(always)]
fn floats(order: FloatOrder, a: &Row, b: &Row) -> Row {
    let f = f32::from_bits;
    match order {
        FloatOrder::Equal => a.zip(b, |a, b| mask(f(a) == f(b))),
        FloatOrder::Less => a.zip(b, |a, b| mask(f(a) < f(b))),
        FloatOrder::Greater => a.zip(b, |a, b| mask(f(a) > f(b))),
        FloatOrder::LessEqual => a.zip(b, |a, b| mask(f(a) <= f(b))),
        FloatOrder::GreaterEqual => a.zip(b, |a, b| mask(f(a) >= f(b))),
        FloatOrder::LessOrNan => a.zip(b, |a, b| mask(f(a) < f(b) || f(b).is_nan())),
        FloatOrder::GreaterOrNan => a.zip(b, |a, b| mask(f(a) > f(b) || f(b).is_nan())),
    }
}

/// `x` where the comparison holds, else `y`.
#[inline(always)]
pub(crate) fn select(holds: &Row, x: &Row, y: &Row) -> Row {
    let mut out = Row::ZERO;
    for lane in 0..LANES {
        let chosen = holds.0[lane];
        out.0[lane] = x.0[lane] & chosen | y.0[lane] & !chosen;
    }
    out
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
