//! Instructions that look at other lanes: shuffles, reductions, scans, matrices.

use crate::arith;
use crate::op::{LANES, Row};
use assay_agx::{ReduceOp, Scope, Shuffle, ShuffleKind};
use assay_num::reduce::{self as reduction, MINMAX_IDENTITY, PRODUCT_IDENTITY, SUM_IDENTITY};
use assay_num::{matrix, single};

/// Which lane each lane reads in a shuffle.
///
/// A shuffle over the simdgroup moves whole quads: every quad offers *one* arrangement
/// of its four values, chosen by the low two bits of all four of its own lanes' `b`
/// (combined by OR, whether they are active or not), and a lane picks a quad. Code for
/// a general shuffle therefore asks four times with equal low bits. A lane that asks
/// for one outside gets its own value.
pub(crate) fn sources(shuffle: Shuffle, b: &Row) -> [u8; LANES] {
    let mut from = [0; LANES];
    for (lane, place) in from.iter_mut().enumerate() {
        *place = match shuffle.scope {
            Some(Scope::Quad) => in_quad(shuffle, lane, b.0[lane]),
            _ => in_simdgroup(shuffle, lane, b),
        } as u8;
    }
    from
}

/// The lane a shuffle names, before quads are considered.
fn wanted(shuffle: Shuffle, lane: usize, b: u32, lanes: i64) -> Option<usize> {
    let (at, b) = (lane as i64, i64::from(b & 0xffff));
    let target = match shuffle.kind {
        ShuffleKind::Index => b,
        ShuffleKind::Xor => at ^ b,
        ShuffleKind::Up if shuffle.rotate => (at - b).rem_euclid(lanes),
        ShuffleKind::Up => at - b,
        ShuffleKind::Down if shuffle.rotate => (at + b).rem_euclid(lanes),
        ShuffleKind::Down => at + b,
    };
    (0..lanes).contains(&target).then_some(target as usize)
}

fn in_quad(shuffle: Shuffle, lane: usize, b: u32) -> usize {
    let start = lane & !3;
    wanted(shuffle, lane & 3, b, 4).map_or(lane, |target| start + target)
}

fn in_simdgroup(shuffle: Shuffle, lane: usize, b: &Row) -> usize {
    let Some(target) = wanted(shuffle, lane, b.0[lane], LANES as i64) else {
        return lane;
    };
    let quad = target & !3;
    let low = (b.0[quad] | b.0[quad + 1] | b.0[quad + 2] | b.0[quad + 3]) as usize & 3;
    let place = match shuffle.kind {
        ShuffleKind::Index => low,
        ShuffleKind::Xor => (lane & 3) ^ low,
        ShuffleKind::Up => (lane & 3).wrapping_sub(low) & 3,
        ShuffleKind::Down => ((lane & 3) + low) & 3,
    };
    quad + place
}

/// What a shuffle gives.
pub(crate) fn shuffle(a: &Row, from: &[u8; LANES]) -> Row {
    Row(from.map(|lane| a.0[usize::from(lane) % LANES]))
}

/// How wide the values of a reduction are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Widths {
    /// The source is a half register.
    pub(crate) half_source: bool,
    /// The destination is.
    pub(crate) half_result: bool,
}

/// A reduction over the active lanes of each quad or of the simdgroup; `prefix` gives
/// each lane the combination of the active lanes before it.
pub(crate) fn reduce(
    a: &Row,
    active: u32,
    op: ReduceOp,
    scope: Scope,
    prefix: bool,
    widths: Widths,
) -> Row {
    let over = Over {
        active,
        scope,
        prefix,
    };
    match op {
        ReduceOp::And => over.ints(a, u32::MAX, |a, b| a & b),
        ReduceOp::Or => over.ints(a, 0, |a, b| a | b),
        ReduceOp::Xor => over.ints(a, 0, |a, b| a ^ b),
        ReduceOp::IntegerAdd => over.ints(a, 0, u32::wrapping_add),
        ReduceOp::UnsignedMin => over.ints(a, u32::MAX, u32::min),
        ReduceOp::UnsignedMax => over.ints(a, 0, u32::max),
        ReduceOp::SignedMin | ReduceOp::SignedMax => signed(over, a, op, widths),
        ReduceOp::FloatAdd => floats(over, a, widths, SUM_IDENTITY, 0.0, single::add),
        ReduceOp::FloatMul => floats(over, a, widths, PRODUCT_IDENTITY, 1.0, single::mul),
        ReduceOp::FloatMin => floats(over, a, widths, MINMAX_IDENTITY, f32::INFINITY, single::min),
        ReduceOp::FloatMax => floats(
            over,
            a,
            widths,
            MINMAX_IDENTITY,
            f32::NEG_INFINITY,
            single::max,
        ),
    }
}

/// Which lanes a reduction combines, and for whom.
#[derive(Clone, Copy)]
struct Over {
    active: u32,
    scope: Scope,
    prefix: bool,
}

impl Over {
    fn ints(self, a: &Row, identity: u32, combine: impl Fn(u32, u32) -> u32) -> Row {
        Row(self.all(&a.0, identity, identity, combine))
    }

    /// `first` is what a scan gives the first active lane.
    fn all<T: Copy>(
        self,
        values: &[T; LANES],
        identity: T,
        first: T,
        combine: impl Fn(T, T) -> T,
    ) -> [T; LANES] {
        match (self.prefix, self.scope) {
            (true, Scope::Simd) => {
                reduction::exclusive(values, self.active, identity, first, LANES, combine)
            }
            (true, Scope::Quad) => {
                reduction::exclusive(values, self.active, identity, first, 4, combine)
            }
            (false, Scope::Simd) => {
                [reduction::reduce(values, self.active, identity, combine); LANES]
            }
            (false, Scope::Quad) => reduction::reduce_quads(values, self.active, identity, combine),
        }
    }
}

fn signed(over: Over, a: &Row, op: ReduceOp, widths: Widths) -> Row {
    let values = a.0.map(|value| match widths.half_source {
        true => i32::from(value as u16 as i16),
        false => value as i32,
    });
    let (low, high) = match widths.half_result {
        true => (i32::from(i16::MIN), i32::from(i16::MAX)),
        false => (i32::MIN, i32::MAX),
    };
    let result = match op {
        ReduceOp::SignedMin => over.all(&values, high, high, i32::min),
        _ => over.all(&values, low, low, i32::max),
    };
    Row(result.map(|value| value as u32))
}

/// Floats are combined in single precision, or rounded to half at every step when
/// source and destination are halves.
fn floats(
    over: Over,
    a: &Row,
    widths: Widths,
    identity: f32,
    first: f32,
    combine: impl Fn(f32, f32) -> f32,
) -> Row {
    let values = a.0.map(|value| match widths.half_source {
        true => arith::f16_to_f32(value as u16),
        false => f32::from_bits(value),
    });
    let rounds = widths.half_source && widths.half_result;
    let result = over.all(&values, identity, first, |a, b| match rounds {
        true => arith::f16_to_f32(arith::f32_to_f16(combine(a, b))),
        false => combine(a, b),
    });
    Row(result.map(|value| match widths.half_result {
        true => u32::from(arith::f32_to_f16(value)),
        false => value.to_bits(),
    }))
}

/// The two values each lane holds of a matrix, as bits.
pub(crate) type Pair = [[u32; LANES]; 2];

/// A × B + C on singles.
#[inline(always)]
pub(crate) fn multiply(a: &Pair, b: &Pair, c: &Pair) -> Pair {
    let (a, b, c) = (singles(a), singles(b), singles(c));
    let product = matrix::multiply_add(&a, &b, &c);
    matrix::scatter(&product).map(|row| row.map(f32::to_bits))
}

#[inline(always)]
fn singles(pair: &Pair) -> [[f32; 8]; 8] {
    matrix::gather(&pair.map(|row| row.map(f32::from_bits)))
}

/// A × B + C on halves.
#[inline(always)]
pub(crate) fn multiply_half(a: &Pair, b: &Pair, c: &Pair) -> Pair {
    let tile = |pair: &Pair| matrix::gather(&pair.map(|row| row.map(|bits| bits as u16)));
    let product = matrix::multiply_add_half(&tile(a), &tile(b), &tile(c));
    matrix::scatter(&product).map(|row| row.map(u32::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(usize) -> u32) -> Row {
        let mut row = Row::ZERO;
        for lane in 0..LANES {
            row.0[lane] = f(lane);
        }
        row
    }

    fn simd(kind: ShuffleKind) -> Shuffle {
        Shuffle {
            scope: Some(Scope::Simd),
            kind,
            rotate: false,
        }
    }

    #[test]
    fn uniform_shuffles_move_every_lane_by_the_same_distance() {
        for distance in 0..32usize {
            let b = Row::splat(distance as u32);
            let down = sources(simd(ShuffleKind::Down), &b);
            let up = sources(simd(ShuffleKind::Up), &b);
            let xor = sources(simd(ShuffleKind::Xor), &b);
            for lane in 0..LANES {
                let expected = if lane + distance < 32 {
                    lane + distance
                } else {
                    lane
                };
                assert_eq!(usize::from(down[lane]), expected);
                assert_eq!(
                    usize::from(up[lane]),
                    lane.checked_sub(distance).unwrap_or(lane)
                );
                assert_eq!(usize::from(xor[lane]), lane ^ distance);
            }
        }
    }

    #[test]
    fn a_quad_offers_one_value_to_an_indexed_shuffle() {
        // Lane 0 asks for lane 5; quad 1 offers lane 4 + (low bits of its own four).
        let b = lanes(|lane| match lane {
            0 => 5,
            6 => 2,
            _ => 0,
        });
        assert_eq!(sources(simd(ShuffleKind::Index), &b)[0], 6);
        assert_eq!(sources(simd(ShuffleKind::Index), &Row::splat(40))[9], 9);
    }

    #[test]
    fn scans_are_exclusive_and_skip_inactive_lanes() {
        let widths = Widths {
            half_source: false,
            half_result: false,
        };
        let a = lanes(|lane| lane as u32 + 1);
        let scan = reduce(&a, 0b1011, ReduceOp::IntegerAdd, Scope::Simd, true, widths);
        assert_eq!(scan.0[..5], [0, 1, 3, 3, 7]);
        let quads = reduce(
            &a,
            u32::MAX,
            ReduceOp::UnsignedMax,
            Scope::Quad,
            false,
            widths,
        );
        assert_eq!(quads.0[..9], [4, 4, 4, 4, 8, 8, 8, 8, 12]);
    }
}
