//! Integer arithmetic and bit fields.

use crate::op::{BitField, BitUnary, Clamp, Dest, LANES, Part, Row};

/// ±b << shift; shifts of five and more give zero.
#[inline(always)]
pub(crate) fn term(b: u32, shift: u8, negate: bool) -> u32 {
    let b = if negate { b.wrapping_neg() } else { b };
    if shift < 5 { b << shift } else { 0 }
}

/// Values of 64 bits, one per lane.
pub(crate) type WideRow = [i64; LANES];

/// a × b + (±c << shift) on 64 bits, saturated to the destination if asked; gives the
/// low and the high 32 bits. Without `a` and `b` their product is replaced by `sum`.
#[inline(always)]
pub(crate) fn wide(
    product: Product<'_>,
    c: &WideRow,
    shift: u8,
    negate: bool,
    clamp: Clamp,
    to: Dest,
) -> (Row, Row) {
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for lane in 0..LANES {
        let first = match product {
            Product::Term(a) => i128::from(a[lane]),
            Product::Of(a, b) => i128::from(a[lane]) * i128::from(b[lane]),
        };
        let c = i128::from(c[lane]);
        let c = if negate { -c } else { c };
        let c = if shift < 5 { c << shift } else { 0 };
        let exact = first + c;
        let bits = if to.part == Part::Whole { 32 } else { 16 };
        let result = match clamp {
            Clamp::None => exact,
            Clamp::Signed => exact.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Clamp::Unsigned => exact.clamp(0, (1 << bits) - 1),
        };
        low.0[lane] = result as u32;
        high.0[lane] = (result >> 32) as u32;
    }
    (low, high)
}

/// The first term of a 64-bit sum.
#[derive(Clone, Copy)]
pub(crate) enum Product<'a> {
    Term(&'a WideRow),
    Of(&'a WideRow, &'a WideRow),
}

/// Truth tables of the commonest functions, in the order of [`truth_masks`].
pub(crate) const AND: u8 = 0b1000;
pub(crate) const OR: u8 = 0b1110;
pub(crate) const XOR: u8 = 0b0110;

/// Masks of a truth table: all ones for (0, 0), (a=1, b=0), (0, 1), (1, 1) if the
/// function is 1 there.
#[inline(always)]
pub(crate) fn truth_masks(table: u8) -> [u32; 4] {
    let mut masks = [0; 4];
    for (bit, mask) in masks.iter_mut().enumerate() {
        *mask = 0u32.wrapping_sub(u32::from(table) >> bit & 1);
    }
    masks
}

/// The bitwise function with these masks.
#[inline(always)]
pub(crate) fn bitwise([neither, first, second, both]: [u32; 4], a: u32, b: u32) -> u32 {
    (!a & !b & neither) | (a & !b & first) | (!a & b & second) | (a & b & both)
}

/// Left shift that gives zero from 32 on.
#[inline(always)]
fn left(value: u32, shift: u32) -> u32 {
    value.checked_shl(shift).unwrap_or(0)
}

/// Right shift that gives zero from 32 on.
#[inline(always)]
fn right(value: u32, shift: u32) -> u32 {
    value.checked_shr(shift).unwrap_or(0)
}

/// A bit-field operation with a shift below 128.
#[inline(always)]
pub(crate) fn field(op: BitField, a: u32, b: u32, shift: u32, mask: u32) -> u32 {
    match op {
        BitField::Insert => a & !left(mask, shift) | left(b & mask, shift),
        BitField::Extract => a & !mask | right(b, shift) & mask,
        BitField::Funnel => (right(a, shift) | right_far(b, shift)) & mask,
        BitField::LeftHigh => {
            let high = left_far(b, shift);
            let mask = left(mask, shift.saturating_sub(32));
            high & mask | a & !mask
        }
        BitField::RightHigh => {
            let mask = right_far(mask, shift.min(32));
            right_far(b, shift) & mask | a & !mask
        }
    }
}

/// The high 32 bits of a value shifted left by less than 128.
#[inline(always)]
fn left_far(value: u32, shift: u32) -> u32 {
    left(value, shift.wrapping_sub(32)) | right(value, 32u32.wrapping_sub(shift))
}

/// The low 32 bits of a value that starts 32 bits further left, shifted right by less
/// than 128.
#[inline(always)]
fn right_far(value: u32, shift: u32) -> u32 {
    right(value, shift.wrapping_sub(32)) | left(value, 32u32.wrapping_sub(shift))
}

/// A bit-field operation on all lanes: each in a loop of its own.
#[inline(always)]
pub(crate) fn fields(op: BitField, a: &Row, b: &Row, shifts: &Row, mask: u32) -> Row {
    macro_rules! each {
        ($op:expr) => {{
            let mut out = Row::ZERO;
            for lane in 0..LANES {
                out.0[lane] = field($op, a.0[lane], b.0[lane], shifts.0[lane] & 0x7f, mask);
            }
            out
        }};
    }
    match op {
        BitField::Insert => each!(BitField::Insert),
        BitField::Extract => each!(BitField::Extract),
        BitField::Funnel => each!(BitField::Funnel),
        BitField::LeftHigh => each!(BitField::LeftHigh),
        BitField::RightHigh => each!(BitField::RightHigh),
    }
}

/// Arithmetic shift right; `high` shifts the value that starts 32 bits further left.
#[inline(always)]
pub(crate) fn shift_right(a: &Row, b: &Row, high: bool) -> Row {
    // Beyond 31 only the sign is left.
    let right = |a: u32, shift: u32| (a.cast_signed() >> shift.min(31)).cast_unsigned();
    match high {
        false => a.zip(b, |a, b| right(a, b & 0x7f)),
        true => a.zip(b, |a, b| {
            let shift = b & 0x7f;
            match shift < 32 {
                true => left(a, 32 - shift),
                false => right(a, shift - 32),
            }
        }),
    }
}

/// Reversal, population count, or the number of the highest bit that is set.
#[inline(always)]
pub(crate) fn bits(op: BitUnary, a: &Row) -> Row {
    match op {
        BitUnary::Reverse => a.map(u32::reverse_bits),
        BitUnary::Count => a.map(u32::count_ones),
        BitUnary::FindHighest => a.map(|a| 31u32.wrapping_sub(a.leading_zeros())),
    }
}

/// Bits of the low halves in turn: `a` gives the even ones.
#[inline(always)]
pub(crate) fn interleave(a: &Row, b: &Row) -> Row {
    a.zip(b, |a, b| spread(a) | spread(b) << 1)
}

/// The low 16 bits, each followed by a zero.
#[inline(always)]
fn spread(value: u32) -> u32 {
    let value = value & 0xffff;
    let value = (value | value << 8) & 0x00ff_00ff;
    let value = (value | value << 4) & 0x0f0f_0f0f;
    let value = (value | value << 2) & 0x3333_3333;
    (value | value << 1) & 0x5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shifts with arbitrary precision, as applegpu's documentation writes them.
    fn by_definition(op: BitField, a: u32, b: u32, shift: u32, mask: u32) -> u32 {
        let (a, b, mask) = (i128::from(a), i128::from(b), i128::from(mask));
        let far = |value: i128, shift: u32| if shift > 90 { 0 } else { value << shift };
        (match op {
            BitField::Insert => a & !far(mask, shift) | far(b & mask, shift),
            BitField::Extract => a & !mask | b >> shift & mask,
            BitField::Funnel => (b << 32 | a) >> shift & mask,
            BitField::LeftHigh => {
                let mask = far(mask, shift.saturating_sub(32));
                far(b, shift) >> 32 & mask | a & !mask
            }
            BitField::RightHigh => {
                let mask = mask << 32 >> shift.min(32);
                b << 32 >> shift & mask | a & !mask
            }
        }) as u32
    }

    #[test]
    fn bit_fields_follow_their_definition_for_every_shift() {
        let values = [0, 1, 0x8000_0000, u32::MAX, 0x1234_5678, 0xdead_beef];
        for op in [
            BitField::Insert,
            BitField::Extract,
            BitField::Funnel,
            BitField::LeftHigh,
            BitField::RightHigh,
        ] {
            for shift in 0..128 {
                for mask in [1, 0x1f, 0xffff, 0x7fff_ffff, u32::MAX] {
                    for a in values {
                        for b in values {
                            let expected = by_definition(op, a, b, shift, mask);
                            let found = field(op, a, b, shift, mask);
                            assert_eq!(found, expected, "{op:?} {a:#x} {b:#x} {shift} {mask:#x}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn named_truth_tables_are_those_functions() {
        let (a, b) = (0b0101, 0b0011);
        assert_eq!(bitwise(truth_masks(AND), a, b), a & b);
        assert_eq!(bitwise(truth_masks(OR), a, b), a | b);
        assert_eq!(bitwise(truth_masks(XOR), a, b), a ^ b);
    }

    #[test]
    fn arithmetic_shifts_fill_with_the_sign_however_far() {
        let shifted = |a: i32, b: u32, high| {
            shift_right(&Row::splat(a as u32), &Row::splat(b), high).0[0] as i32
        };
        for a in [-1, -8, i32::MIN, i32::MAX, 5, 0, 0x1234_5678] {
            for b in 0..128 {
                let wide = |from: i64| (from >> b.min(63)) as i32;
                assert_eq!(shifted(a, b, false), wide(i64::from(a)), "{a} {b}");
                assert_eq!(shifted(a, b, true), wide(i64::from(a) << 32), "{a} {b}");
            }
        }
        assert_eq!(shifted(-8, 1, false), -4);
        assert_eq!(shifted(-8, 127, false), -1);
        assert_eq!(shifted(8, 64, false), 0);
        assert_eq!(shifted(-8, 32, true), -8);
        assert_eq!(shifted(5, 0, true), 0);
        assert_eq!(shifted(-1, 127, true), -1);
    }

    #[test]
    fn interleaving_makes_morton_codes() {
        let code = interleave(&Row::splat(0b0101), &Row::splat(0b0011));
        assert_eq!(code.0[0], 0b0001_1011);
        assert_eq!(bits(BitUnary::FindHighest, &Row::ZERO).0[0], u32::MAX);
        assert_eq!(bits(BitUnary::FindHighest, &Row::splat(1)).0[0], 0);
    }
}
