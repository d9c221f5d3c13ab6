//! Remainders, differences and parts of numbers, and powers by a whole number.
//!
//! ```
//! use assay_num::parts;
//! assert_eq!(parts::remainder(5.0, 3.0), -1.0);
//! assert_eq!(parts::modf(-2.75), (-0.75, -2.0));
//! ```

use crate::{flush, single};

/// IEEE remainder: what is left of `a` after the nearest multiple of `b` (halfway: the even one). Exact.
pub fn remainder(a: f32, b: f32) -> f32 {
    let (a, b) = (flush(a), flush(b));
    if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
        return crate::NAN32;
    }
    if b.is_infinite() {
        return a;
    }
    // In double precision nothing here is rounded: 2b does not overflow, and remainders are exact.
    let (x, y) = (f64::from(a).abs(), f64::from(b).abs());
    let within_two = x % (2.0 * y);
    let odd = within_two >= y;
    let mut left = if odd { within_two - y } else { within_two };
    if 2.0 * left > y || (2.0 * left == y && odd) {
        left -= y;
    }
    let left = flush(left as f32);
    if a.is_sign_negative() { -left } else { left }
}

/// `a - b` where that is positive, else 0; NaN of a NaN.
#[inline(always)]
pub fn dim(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        single::add(a, b)
    } else if single::less(b, a) {
        single::sub(a, b)
    } else {
        0.0
    }
}

/// The fraction and the whole part, both with the sign of the number; an infinity is all whole.
pub fn modf(value: f32) -> (f32, f32) {
    let whole = single::trunc(value);
    let fraction = if value.is_infinite() {
        0.0
    } else {
        single::sub(value, whole)
    };
    (single::copysign(fraction, value), whole)
}

/// A power by a whole number, by squaring; a negative one is the reciprocal of the positive. The order of the
/// multiplications is *chosen*.
pub fn powi(value: f32, exponent: i32) -> f32 {
    let mut left = exponent.unsigned_abs();
    let (mut power, mut square) = (1.0f32, value);
    while left > 0 {
        if left & 1 == 1 {
            power = single::mul(power, square);
        }
        square = single::mul(square, square);
        left >>= 1;
    }
    if exponent < 0 {
        single::div(1.0, power)
    } else {
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_libms() {
        let numbers = [
            0.0,
            -0.0,
            0.5,
            1.0,
            1.5,
            2.0,
            2.5,
            3.0,
            -5.0,
            7.25,
            1e30,
            -3e38,
            1e-37,
            0.1,
            f32::INFINITY,
            f32::NAN,
        ];
        for a in numbers {
            for b in numbers {
                let (got, expected) = (remainder(a, b), libm::remainderf(a, b));
                let same = got.to_bits() == flush(expected).to_bits()
                    || (got.is_nan() && expected.is_nan());
                assert!(same, "remainder({a}, {b}) = {got}, expected {expected}");
            }
        }
    }

    #[test]
    fn parts_of_numbers() {
        assert_eq!((dim(3.0, 1.0), dim(1.0, 3.0)), (2.0, 0.0));
        assert!(dim(f32::NAN, 1.0).is_nan() && dim(1.0, f32::NAN).is_nan());
        assert_eq!(modf(2.75), (0.75, 2.0));
        assert_eq!(modf(f32::NEG_INFINITY), (-0.0, f32::NEG_INFINITY));
        let (fraction, whole) = modf(-3.0);
        assert!(fraction.is_sign_negative() && fraction == 0.0 && whole == -3.0);
        assert_eq!(
            (powi(2.0, 10), powi(2.0, -2), powi(0.0, 0)),
            (1024.0, 0.25, 1.0)
        );
        assert_eq!(powi(-1.5, 3), -3.375);
        assert_eq!(powi(2.0, i32::MIN), 0.0);
    }
}
