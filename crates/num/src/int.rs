//! Integer helpers: on the low `bits` bits of a `u64`, for any width from 1 to 64.
//!
//! Operations that Rust has for a fixed width (wrapping add, shifts, counts) are not repeated here except where a rule
//! had to be chosen: division by zero, shifts by the width or more.

/// The low bits of a width.
#[inline(always)]
pub const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The low bits as a signed number.
#[inline(always)]
pub const fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

/// Unsigned division; by zero gives all ones. *Chosen*: Metal leaves it undefined.
#[inline(always)]
pub const fn udiv(a: u64, b: u64, bits: u32) -> u64 {
    let (a, b) = (a & mask(bits), b & mask(bits));
    match a.checked_div(b) {
        Some(quotient) => quotient,
        None => mask(bits),
    }
}

/// Signed division toward zero; by zero gives −1, the one overflow wraps. *Chosen*: Metal leaves both undefined.
#[inline(always)]
pub const fn sdiv(a: u64, b: u64, bits: u32) -> u64 {
    let (a, b) = (signed(a, bits), signed(b, bits));
    if b == 0 {
        mask(bits)
    } else {
        a.wrapping_div(b) as u64 & mask(bits)
    }
}

/// Unsigned remainder; by zero gives the dividend. *Chosen*.
#[inline(always)]
pub const fn urem(a: u64, b: u64, bits: u32) -> u64 {
    let (a, b) = (a & mask(bits), b & mask(bits));
    if b == 0 { a } else { a % b }
}

/// Signed remainder with the dividend's sign; by zero gives the dividend. *Chosen*.
#[inline(always)]
pub const fn srem(a: u64, b: u64, bits: u32) -> u64 {
    let (x, y) = (signed(a, bits), signed(b, bits));
    if y == 0 {
        a & mask(bits)
    } else {
        x.wrapping_rem(y) as u64 & mask(bits)
    }
}

/// Left shift by an amount modulo the width, as Metal defines it.
#[inline(always)]
pub const fn shl(a: u64, amount: u64, bits: u32) -> u64 {
    a << (amount as u32 & (bits - 1)) & mask(bits)
}

/// Unsigned right shift by an amount modulo the width.
#[inline(always)]
pub const fn lshr(a: u64, amount: u64, bits: u32) -> u64 {
    (a & mask(bits)) >> (amount as u32 & (bits - 1))
}

/// Signed right shift by an amount modulo the width.
#[inline(always)]
pub const fn ashr(a: u64, amount: u64, bits: u32) -> u64 {
    (signed(a, bits) >> (amount as u32 & (bits - 1))) as u64 & mask(bits)
}

/// Clamps a wide result to the width, as the hardware's saturating adds do.
#[inline(always)]
pub const fn saturate(value: i128, bits: u32, is_signed: bool) -> u64 {
    let (low, high) = if is_signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, mask(bits) as i128)
    };
    let clamped = if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    };
    clamped as u64 & mask(bits)
}

const fn wide(value: u64, bits: u32, is_signed: bool) -> i128 {
    if is_signed {
        signed(value, bits) as i128
    } else {
        (value & mask(bits)) as i128
    }
}

/// `a + b`, saturated.
#[inline(always)]
pub const fn add_sat(a: u64, b: u64, bits: u32, is_signed: bool) -> u64 {
    saturate(
        wide(a, bits, is_signed) + wide(b, bits, is_signed),
        bits,
        is_signed,
    )
}

/// `a - b`, saturated.
#[inline(always)]
pub const fn sub_sat(a: u64, b: u64, bits: u32, is_signed: bool) -> u64 {
    saturate(
        wide(a, bits, is_signed) - wide(b, bits, is_signed),
        bits,
        is_signed,
    )
}

/// Upper half of the product.
#[inline(always)]
pub const fn mul_hi(a: u64, b: u64, bits: u32, is_signed: bool) -> u64 {
    if is_signed {
        let product = signed(a, bits) as i128 * signed(b, bits) as i128;
        (product >> bits) as u64 & mask(bits)
    } else {
        let product = (a & mask(bits)) as u128 * (b & mask(bits)) as u128;
        (product >> bits) as u64 & mask(bits)
    }
}

/// `a * b + c`, saturated.
pub const fn mad_sat(a: u64, b: u64, c: u64, bits: u32, is_signed: bool) -> u64 {
    let product = wide(a, bits, is_signed).saturating_mul(wide(b, bits, is_signed));
    saturate(
        product.saturating_add(wide(c, bits, is_signed)),
        bits,
        is_signed,
    )
}

/// `(a + b) >> 1` without overflow; rounded up when `round_up`.
pub const fn half_add(a: u64, b: u64, bits: u32, is_signed: bool, round_up: bool) -> u64 {
    let sum = wide(a, bits, is_signed) + wide(b, bits, is_signed) + round_up as i128;
    (sum >> 1) as u64 & mask(bits)
}

/// Magnitude of a signed number; the lowest stays as it is.
#[inline(always)]
pub const fn abs(a: u64, bits: u32) -> u64 {
    signed(a, bits).wrapping_abs() as u64 & mask(bits)
}

/// Magnitude of the difference, as an unsigned number.
#[inline(always)]
pub const fn abs_diff(a: u64, b: u64, bits: u32, is_signed: bool) -> u64 {
    let difference = wide(a, bits, is_signed) - wide(b, bits, is_signed);
    difference.unsigned_abs() as u64 & mask(bits)
}

/// Product of the low 24 bits of each (low 32 bits of it).
#[inline(always)]
pub const fn mul24(a: u32, b: u32, is_signed: bool) -> u32 {
    if is_signed {
        ((a << 8) as i32 >> 8).wrapping_mul((b << 8) as i32 >> 8) as u32
    } else {
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
    }
}

/// Bits rotated left, the amount modulo the width (a power of two).
#[inline(always)]
pub const fn rotate(a: u64, amount: u64, bits: u32) -> u64 {
    funnel_left(a, a, amount, bits)
}

/// Upper half of `high:low` shifted left, the amount modulo the width.
#[inline(always)]
pub const fn funnel_left(high: u64, low: u64, amount: u64, bits: u32) -> u64 {
    let amount = (amount % bits as u64) as u32;
    let both = ((high & mask(bits)) as u128) << bits | (low & mask(bits)) as u128;
    (both << amount >> bits) as u64 & mask(bits)
}

/// Lower half of `high:low` shifted right, the amount modulo the width.
#[inline(always)]
pub const fn funnel_right(high: u64, low: u64, amount: u64, bits: u32) -> u64 {
    let amount = (amount % bits as u64) as u32;
    let both = ((high & mask(bits)) as u128) << bits | (low & mask(bits)) as u128;
    (both >> amount) as u64 & mask(bits)
}

/// Leading zeros; the width for zero.
#[inline(always)]
pub const fn clz(a: u64, bits: u32) -> u64 {
    ((a & mask(bits)).leading_zeros() - (64 - bits)) as u64
}

/// Trailing zeros; the width for zero.
#[inline(always)]
pub const fn ctz(a: u64, bits: u32) -> u64 {
    let zeros = (a & mask(bits)).trailing_zeros();
    if zeros > bits {
        bits as u64
    } else {
        zeros as u64
    }
}

/// Set bits.
#[inline(always)]
pub const fn popcount(a: u64, bits: u32) -> u64 {
    (a & mask(bits)).count_ones() as u64
}

/// Bits in reverse order.
#[inline(always)]
pub const fn reverse_bits(a: u64, bits: u32) -> u64 {
    a.reverse_bits() >> (64 - bits)
}

/// Bytes in reverse order.
#[inline(always)]
pub const fn byte_swap(a: u64, bits: u32) -> u64 {
    a.swap_bytes() >> (64 - bits)
}

/// Number of the highest set bit, −1 for zero: the hardware's `ffs`.
#[inline(always)]
pub const fn highest_set_bit(a: u32) -> i32 {
    31 - a.leading_zeros() as i32
}

/// `count` bits from `offset` on, extended. Beyond the width there are zeros (sign bits when signed).
#[inline(always)]
pub const fn extract_bits(a: u64, offset: u64, count: u64, bits: u32, is_signed: bool) -> u64 {
    let width = bits as u64;
    let offset = if offset > width { width } else { offset };
    let count = if count > width - offset {
        width - offset
    } else {
        count
    };
    if count == 0 {
        return 0;
    }
    let field = (a & mask(bits)) >> offset & mask(count as u32);
    if is_signed {
        signed(field, count as u32) as u64 & mask(bits)
    } else {
        field
    }
}

/// `base` with `count` bits from `offset` on replaced by the low bits of `insert`.
#[inline(always)]
pub const fn insert_bits(base: u64, insert: u64, offset: u64, count: u64, bits: u32) -> u64 {
    let width = bits as u64;
    let offset = if offset > width { width } else { offset };
    let count = if count > width - offset {
        width - offset
    } else {
        count
    };
    if count == 0 {
        return base & mask(bits);
    }
    let field = mask(count as u32) << offset;
    (base & !field | insert << offset & field) & mask(bits)
}

/// −1, 0 or 1 as the first is less than, equal to or greater than the second.
#[inline(always)]
pub const fn compare(a: u64, b: u64, bits: u32, is_signed: bool) -> i64 {
    let (a, b) = (wide(a, bits, is_signed), wide(b, bits, is_signed));
    (a > b) as i64 - (a < b) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_zero_and_overflow_have_chosen_results() {
        assert_eq!(udiv(7, 0, 32), 0xffff_ffff);
        assert_eq!(sdiv(7, 0, 16), 0xffff);
        assert_eq!(urem(7, 0, 32), 7);
        assert_eq!(srem(0xf9, 0, 8), 0xf9);
        assert_eq!(sdiv(0x8000_0000, 0xffff_ffff, 32), 0x8000_0000);
        assert_eq!(srem(0x8000_0000, 0xffff_ffff, 32), 0);
        assert_eq!(sdiv(0xf9, 2, 8), 0xfd);
        assert_eq!(srem(0xf9, 2, 8), 0xff);
    }

    #[test]
    fn shifts_take_the_amount_modulo_the_width() {
        assert_eq!(shl(1, 33, 32), 2);
        assert_eq!(lshr(0x80, 8, 8), 0x80);
        assert_eq!(ashr(0x80, 9, 8), 0xc0);
        assert_eq!(shl(1, 64, 64), 1);
    }

    #[test]
    fn saturating_arithmetic_stops_at_the_ends() {
        assert_eq!(add_sat(0x7f, 1, 8, true), 0x7f);
        assert_eq!(add_sat(0xff, 1, 8, false), 0xff);
        assert_eq!(sub_sat(0, 1, 32, false), 0);
        assert_eq!(sub_sat(0x80, 1, 8, true), 0x80);
        assert_eq!(mad_sat(u64::MAX, u64::MAX, 1, 64, false), u64::MAX);
        assert_eq!(mad_sat(1 << 63, 1 << 63, 0, 64, true), i64::MAX as u64);
    }

    #[test]
    fn upper_products() {
        assert_eq!(mul_hi(0xffff_ffff, 0xffff_ffff, 32, false), 0xffff_fffe);
        assert_eq!(mul_hi(0xffff_ffff, 0xffff_ffff, 32, true), 0);
        assert_eq!(mul_hi(u64::MAX, u64::MAX, 64, false), u64::MAX - 1);
        assert_eq!(mul_hi(0x80, 0x80, 8, true), 0x40);
    }

    #[test]
    fn counting_and_reversing_narrow_numbers() {
        assert_eq!((clz(0, 8), clz(1, 8), clz(0, 64)), (8, 7, 64));
        assert_eq!((ctz(0, 16), ctz(8, 16), ctz(0, 64)), (16, 3, 64));
        assert_eq!(popcount(0xffff, 8), 8);
        assert_eq!(reverse_bits(1, 8), 0x80);
        assert_eq!(byte_swap(0x1234, 16), 0x3412);
        assert_eq!(
            (
                highest_set_bit(0),
                highest_set_bit(1),
                highest_set_bit(u32::MAX)
            ),
            (-1, 0, 31)
        );
    }

    #[test]
    fn bit_fields() {
        assert_eq!(extract_bits(0xabcd, 4, 8, 32, false), 0xbc);
        assert_eq!(extract_bits(0xabcd, 4, 8, 32, true), 0xffff_ffbc);
        assert_eq!(extract_bits(0xff, 40, 8, 32, false), 0);
        assert_eq!(extract_bits(0xabcd, 0, 0, 32, true), 0);
        assert_eq!(insert_bits(0xffff, 0, 4, 8, 16), 0xf00f);
        assert_eq!(insert_bits(1, 5, 0, 64, 64), 5);
    }

    #[test]
    fn averages_rotations_and_funnels() {
        assert_eq!(half_add(0xff, 0xff, 8, false, false), 0xff);
        assert_eq!(half_add(0xff, 0xfe, 8, true, false), 0xfe);
        assert_eq!(half_add(0xff, 0xfe, 8, true, true), 0xff);
        assert_eq!(rotate(0x81, 1, 8), 0x03);
        assert_eq!(rotate(0x8000_0001, 33, 32), 3);
        assert_eq!(funnel_right(0x12, 0x34, 4, 8), 0x23);
        assert_eq!(abs(0x80, 8), 0x80);
        assert_eq!(abs_diff(0x80, 0x7f, 8, true), 0xff);
        assert_eq!(mul24(0xff00_0003, 0xff00_0002, false), 6);
        assert_eq!(mul24(0x00ff_ffff, 2, true) as i32, -2);
    }
}
