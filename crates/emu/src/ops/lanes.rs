//! Instructions that look at other lanes: shuffles, reductions, scans, matrices.

use crate::arith;
use crate::op::{LANES, Row};
use assay_agx::{ReduceOp, Scope, Shuffle, ShuffleKind};

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
        ShuffleKind::Down => (lane & 3) + low & 3,
    };
    quad + place
}

/// What a shuffle gives.
pub(crate) fn shuffle(a: &Row, from: &[u8; LANES]) -> Row {
    let mut out = Row::ZERO;
    for lane in 0..LANES {
        out.0[lane] = a.0[usize::from(from[lane]) % LANES];
    }
    out
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
///
/// Lanes are combined in ascending order. The order the hardware uses for floats is
/// not known; results differ from it by rounding.
pub(crate) fn reduce(
    a: &Row,
    active: u32,
    op: ReduceOp,
    scope: Scope,
    prefix: bool,
    widths: Widths,
) -> Row {
    let size = match scope {
        Scope::Quad => 4,
        Scope::Simd => LANES,
    };
    let mut out = Row::ZERO;
    for start in (0..LANES).step_by(size) {
        let mut total = identity(op, widths);
        let mut first = true;
        for lane in start..start + size {
            if prefix {
                out.0[lane] = narrow(op, total, widths);
            }
            if active >> lane & 1 == 0 {
                continue;
            }
            let value = widen(op, a.0[lane], widths);
            // Starting from the first value keeps a negative zero.
            total = if first && !prefix { value } else { combine(op, total, value, widths) };
            first = false;
        }
        if !prefix {
            for lane in start..start + size {
                out.0[lane] = narrow(op, total, widths);
            }
        }
    }
    out
}

fn is_float(op: ReduceOp) -> bool {
    matches!(
        op,
        ReduceOp::FloatAdd | ReduceOp::FloatMul | ReduceOp::FloatMin | ReduceOp::FloatMax
    )
}

/// A source value as the reduction computes with it: floats as singles.
fn widen(op: ReduceOp, value: u32, widths: Widths) -> u32 {
    let signed = matches!(op, ReduceOp::SignedMin | ReduceOp::SignedMax);
    match widths.half_source {
        true if is_float(op) => arith::f16_to_f32(value as u16).to_bits(),
        true if signed => value as u16 as i16 as u32,
        _ => value,
    }
}

fn narrow(op: ReduceOp, value: u32, widths: Widths) -> u32 {
    if is_float(op) && widths.half_result {
        u32::from(arith::f32_to_f16(f32::from_bits(value)))
    } else {
        value
    }
}

fn identity(op: ReduceOp, widths: Widths) -> u32 {
    let half = widths.half_result;
    match op {
        ReduceOp::And | ReduceOp::UnsignedMin => u32::MAX,
        ReduceOp::Or | ReduceOp::Xor | ReduceOp::IntegerAdd | ReduceOp::UnsignedMax => 0,
        ReduceOp::SignedMin if half => i16::MAX as u32,
        ReduceOp::SignedMin => i32::MAX as u32,
        ReduceOp::SignedMax if half => i16::MIN as u32,
        ReduceOp::SignedMax => i32::MIN as u32,
        ReduceOp::FloatAdd => 0,
        ReduceOp::FloatMul => 1f32.to_bits(),
        ReduceOp::FloatMin => f32::INFINITY.to_bits(),
        ReduceOp::FloatMax => f32::NEG_INFINITY.to_bits(),
    }
}

fn combine(op: ReduceOp, total: u32, value: u32, widths: Widths) -> u32 {
    let result = match op {
        ReduceOp::And => total & value,
        ReduceOp::Or => total | value,
        ReduceOp::Xor => total ^ value,
        ReduceOp::IntegerAdd => total.wrapping_add(value),
        ReduceOp::UnsignedMin => total.min(value),
        ReduceOp::UnsignedMax => total.max(value),
        ReduceOp::SignedMin => (total as i32).min(value as i32) as u32,
        ReduceOp::SignedMax => (total as i32).max(value as i32) as u32,
        ReduceOp::FloatAdd => arith::add(total, value),
        ReduceOp::FloatMul => arith::mul(total, value),
        ReduceOp::FloatMin => arith::min(total, value),
        ReduceOp::FloatMax => arith::max(total, value),
    };
    // A half-precision reduction rounds at every step.
    if is_float(op) && widths.half_source && widths.half_result {
        arith::f16_to_f32(arith::f32_to_f16(f32::from_bits(result))).to_bits()
    } else {
        result
    }
}

/// Rows and columns of a matrix tile.
const SIDE: usize = 8;

/// An 8×8 tile as singles.
pub(crate) type Tile = [[u32; SIDE]; SIDE];

/// Where a lane's two elements are: row, and column of the first.
fn place(lane: usize) -> (usize, usize) {
    let quarter = lane >> 3;
    let row = (quarter >> 1) * 4 + (lane >> 1 & 3);
    let column = (quarter & 1) * 4 + (lane & 1) * 2;
    (row, column)
}

/// A tile from the two values each lane holds.
pub(crate) fn tile(first: &Row, second: &Row) -> Tile {
    let mut tile = [[0; SIDE]; SIDE];
    for lane in 0..LANES {
        let (row, column) = place(lane);
        tile[row][column] = first.0[lane];
        tile[row][column + 1] = second.0[lane];
    }
    tile
}

/// A × B + C, as the two values each lane holds.
pub(crate) fn multiply(a: &Tile, b: &Tile, c: &Tile) -> (Row, Row) {
    let (mut first, mut second) = (Row::ZERO, Row::ZERO);
    for lane in 0..LANES {
        let (row, column) = place(lane);
        let element = |column: usize| {
            (0..SIDE).fold(c[row][column], |sum, k| {
                arith::fma(a[row][k], b[k][column], sum)
            })
        };
        first.0[lane] = element(column);
        second.0[lane] = element(column + 1);
    }
    (first, second)
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
        Shuffle { scope: Some(Scope::Simd), kind, rotate: false }
    }

    #[test]
    fn uniform_shuffles_move_every_lane_by_the_same_distance() {
        for distance in 0..32usize {
            let b = Row::splat(distance as u32);
            let down = sources(simd(ShuffleKind::Down), &b);
            let up = sources(simd(ShuffleKind::Up), &b);
            let xor = sources(simd(ShuffleKind::Xor), &b);
            for lane in 0..LANES {
                let expected = if lane + distance < 32 { lane + distance } else { lane };
                assert_eq!(usize::from(down[lane]), expected);
                assert_eq!(usize::from(up[lane]), lane.checked_sub(distance).unwrap_or(lane));
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
        let widths = Widths { half_source: false, half_result: false };
        let a = lanes(|lane| lane as u32 + 1);
        let scan = reduce(&a, 0b1011, ReduceOp::IntegerAdd, Scope::Simd, true, widths);
        assert_eq!(scan.0[..5], [0, 1, 3, 3, 7]);
        let quads = reduce(&a, u32::MAX, ReduceOp::UnsignedMax, Scope::Quad, false, widths);
        assert_eq!(quads.0[..9], [4, 4, 4, 4, 8, 8, 8, 8, 12]);
    }

    #[test]
    fn a_matrix_times_the_identity_is_itself() {
        let a = lanes(|lane| (lane as f32).to_bits());
        let b = lanes(|lane| (-(lane as f32)).to_bits());
        let mut identity = [[0; SIDE]; SIDE];
        for (n, row) in identity.iter_mut().enumerate() {
            row[n] = 1f32.to_bits();
        }
        let zero = [[0; SIDE]; SIDE];
        assert_eq!(multiply(&tile(&a, &b), &identity, &zero), (a, b));
    }
}
