//! Division and square root from their approximations.

use crate::machine::Machine;

/// `a / b`, correctly rounded: the same bits as [`single::div`](crate::single::div), for machines that have no division.
#[inline(always)]
pub fn divide<M: Machine>(m: &M, a: M::Float, b: M::Float) -> M::Float {
    let (zero, inf) = (m.constant(0.0), m.constant(f32::INFINITY));
    // Work on mantissas, so that nothing over- or underflows on the way.
    let ((ma, ea), (mb, eb)) = (m.split(m.abs(a)), m.split(m.abs(b)));
    let r = m.rcp(mb);
    let q = m.mul(ma, r);
    let rest = m.fma(m.neg(q), mb, ma);
    let q = m.fma(rest, r, q);
    let scaled = scale(m, q, m.sub(ea, eb));
    let sign = m.mul(
        m.copysign(m.constant(1.0), a),
        m.copysign(m.constant(1.0), b),
    );
    let ordinary = m.copysign(scaled, sign);
    // Zeros, infinities and NaN multiply to the right special value; an ordinary divisor only gives its sign there.
    let one = m.constant(1.0);
    let divisor = m.select(m.less(m.abs(b), inf), m.copysign(one, b), b);
    let divisor = m.select(m.equal(b, zero), b, divisor);
    let special = m.mul(a, m.rcp(divisor));
    let mut result = ordinary;
    for operand in [a, b] {
        result = m.select(m.equal(operand, zero), special, result);
        result = m.select(m.less(m.abs(operand), inf), result, special);
    }
    result
}

/// `x · 2^exponent` for an integer exponent, in two exact steps.
#[inline(always)]
fn scale<M: Machine>(m: &M, x: M::Float, exponent: M::Float) -> M::Float {
    let first = m.floor(m.mul(exponent, m.constant(0.5)));
    let second = m.sub(exponent, first);
    m.mul(m.mul(x, m.exp2(first)), m.exp2(second))
}

/// Square root, correctly rounded: the same bits as [`single::sqrt`](crate::single::sqrt).
#[inline(always)]
pub fn sqrt<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let half = m.constant(0.5);
    let (mantissa, exponent) = m.split(x);
    let half_exponent = m.floor(m.mul(exponent, half));
    let odd = m.sub(exponent, m.add(half_exponent, half_exponent));
    let even_mantissa = m.fma(mantissa, odd, mantissa);
    let y = m.rsqrt(even_mantissa);
    let s = m.mul(even_mantissa, y);
    let rest = m.fma(m.neg(s), s, even_mantissa);
    let s = m.fma(rest, m.mul(y, half), s);
    let ordinary = m.mul(s, m.exp2(half_exponent));
    let special = m.mul(x, m.rsqrt_special(x));
    let result = m.select(m.less(m.constant(0.0), x), ordinary, special);
    m.select(m.less(x, m.constant(f32::INFINITY)), result, special)
}

/// `a / b` of halves before it is rounded to one: the quotient refined once, which leaves the same bits as
/// [`half::div`](crate::half::div) for all pairs. Nothing over- or underflows in single precision.
#[inline(always)]
pub fn divide_of_half<M: Machine>(m: &M, a: M::Float, b: M::Float) -> M::Float {
    let r = m.rcp(b);
    let q = m.mul(a, r);
    let refined = m.fma(m.fma(m.neg(q), b, a), r, q);
    // Where an operand or the quotient is zero or not finite, the first quotient is right, sign included.
    let ordinary = m.less(m.constant(0.0), m.abs(refined));
    m.select(ordinary, refined, q)
}

/// The square root of a half before it is rounded to one: the same bits as [`half::sqrt`](crate::half::sqrt) for all.
#[inline(always)]
pub fn sqrt_of_half<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let y = m.rsqrt_special(x);
    let s = m.mul(x, y);
    let rest = m.fma(m.neg(s), s, x);
    let refined = m.fma(rest, m.mul(y, m.constant(0.5)), s);
    m.select_nan(refined, s, refined)
}

/// `x · rsqrt_special(x)`.
#[inline(always)]
pub fn fast_sqrt<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.mul(x, m.rsqrt_special(x))
}

/// `a · rcp(b)`.
#[inline(always)]
pub fn fast_divide<M: Machine>(m: &M, a: M::Float, b: M::Float) -> M::Float {
    m.mul(a, m.rcp(b))
}

/// `a − b · trunc(a / b)` with an approximate quotient. *Chosen*: the quotient is taken 2⁻²² too large, so that a
/// multiple of `b` leaves 0 and not nearly `b`; a number less than that below a multiple leaves a negative rest.
#[inline(always)]
pub fn fast_remainder<M: Machine>(m: &M, a: M::Float, b: M::Float) -> M::Float {
    let quotient = fast_divide(m, a, b);
    let above = m.fma(quotient, m.constant(f32::from_bits(0x3480_0000)), quotient);
    m.fma(m.neg(m.trunc(above)), b, a)
}

/// A quotient of numbers of ordinary size, within one unit in the last place.
#[inline(always)]
pub(super) fn quotient<M: Machine>(m: &M, a: M::Float, b: M::Float) -> M::Float {
    let r = m.rcp(b);
    let q = m.mul(a, r);
    m.fma(m.fma(m.neg(q), b, a), r, q)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Host;
    use crate::math::accuracy::{Random, every, max_ulps};
    use crate::math::fast;
    use crate::single;

    #[test]
    fn division_is_correctly_rounded() {
        let mut random = Random::new(7);
        let mut checked = 0;
        while checked < 3_000_000 {
            let (a, b) = (random.float(), random.float());
            let expected = single::div(a, b);
            // At the edge of underflow the last rounding happens twice; see the table of accuracies.
            if expected.abs() > f32::MIN_POSITIVE || expected != expected {
                let given = divide(&Host, a, b);
                assert_eq!(given.to_bits(), expected.to_bits(), "{a:e} / {b:e}");
                checked += 1;
            }
        }
    }

    #[test]
    fn mantissas_close_together_divide_exactly() {
        for a in every(0x3f80_0000, 0x3fff_ffff, 20_011) {
            for b in every(0x3f80_0000, 0x4000_0000, 60_013) {
                assert_eq!(
                    divide(&Host, a, b).to_bits(),
                    (a / b).to_bits(),
                    "{a} / {b}"
                );
            }
        }
    }

    #[test]
    fn special_quotients() {
        let values = [
            0.0,
            -0.0,
            1.0,
            -3.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MAX,
        ];
        for a in values {
            for b in values {
                let (given, wanted) = (divide(&Host, a, b), single::div(a, b));
                assert_eq!(given.to_bits(), wanted.to_bits(), "{a} / {b}");
            }
        }
    }

    #[test]
    fn square_root_is_correctly_rounded() {
        for x in every(0x0080_0000, 0x7f7f_ffff, 501) {
            assert_eq!(sqrt(&Host, x).to_bits(), x.sqrt().to_bits(), "{x:e}");
        }
        for x in [0.0, -0.0, f32::INFINITY, -1.0, f32::NAN, f32::from_bits(1)] {
            assert_eq!(sqrt(&Host, x).to_bits(), single::sqrt(x).to_bits(), "{x}");
        }
    }

    #[test]
    fn quotients_and_roots_of_halves_are_correctly_rounded() {
        use crate::{f16_to_f32, f32_to_f16, half};
        for x in 0..=u16::MAX {
            let root = f32_to_f16(sqrt_of_half(&Host, f16_to_f32(x)));
            assert_eq!(root, half::sqrt(x), "{x:#x}");
            for y in (x % 211..=u16::MAX).step_by(211) {
                let (a, b) = (f16_to_f32(x), f16_to_f32(y));
                let quotient = f32_to_f16(divide_of_half(&Host, a, b));
                assert_eq!(quotient, half::div(x, y), "{x:#x} / {y:#x}");
            }
        }
    }

    #[test]
    fn fast_versions_are_within_one_and_a_half_units() {
        assert!(max_ulps(every(0x0080_0000, 0x7f7f_ffff, 997), fast::sqrt, f64::sqrt) <= 1.5);
        let third = |x: f32| fast::divide(x, 3.0);
        assert!(max_ulps(every(0x0100_0000, 0x7f7f_ffff, 997), third, |x| x / 3.0) <= 1.5);
    }
}
