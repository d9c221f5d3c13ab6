//! Hyperbolic functions and their inverses.

use super::expand::polynomial;
use super::exponential::{LN_2, LOG2_E, exp, fast_log, half_exp, log, log1p};
use super::roots::{fast_divide, fast_sqrt, quotient, sqrt};
use crate::machine::Machine;

/// sinh(x)/x = 1 + x² P(x²) on [0, 1].
const SINE: [f32; 4] = [0.16666667, 0.008333339, 0.000198381, 2.8063007e-6];
/// tanh(x)/x = 1 + x² P(x²) on [0, 0.6].
const TANGENT: [f32; 6] = [
    -0.33333334,
    0.13333313,
    -0.053961754,
    0.021789888,
    -0.008415031,
    0.0023762677,
];

#[inline(always)]
fn odd<M: Machine>(m: &M, coefficients: &[f32], x: M::Float) -> M::Float {
    let x2 = m.mul(x, x);
    m.fma(m.mul(x, x2), polynomial(m, coefficients, x2), x)
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let magnitude = m.abs(x);
    // eˣ/2 − 1/(4 · eˣ/2)
    let half = half_exp(m, magnitude);
    let large = m.fma(m.rcp(half), m.constant(-0.25), half);
    let result = m.select(
        m.less(magnitude, m.constant(1.0)),
        odd(m, &SINE, magnitude),
        large,
    );
    m.select_nan(x, x, m.copysign(result, x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let half = half_exp(m, m.abs(x));
    m.fma(m.rcp(half), m.constant(0.25), half)
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let magnitude = m.abs(x);
    let one = m.constant(1.0);
    // 1 − 2 / (e²ˣ + 1)
    let power = exp(m, m.add(magnitude, magnitude));
    let large = m.fma(m.rcp(m.add(power, one)), m.constant(-2.0), one);
    let result = m.select(
        m.less(magnitude, m.constant(0.6)),
        odd(m, &TANGENT, magnitude),
        large,
    );
    m.select_nan(x, x, m.copysign(result, x))
}

/// `e^x` and `e^−x`: one product, two exponentials.
#[inline(always)]
fn both_powers<M: Machine>(m: &M, x: M::Float) -> (M::Float, M::Float) {
    let product = m.mul(x, m.constant(LOG2_E));
    (m.exp2(product), m.exp2(m.neg(product)))
}

/// `½ · (e^x − e^−x)`, as Metal's specification says of fast math.
#[inline(always)]
pub fn fast_sinh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (up, down) = both_powers(m, x);
    m.mul(m.sub(up, down), m.constant(0.5))
}

/// `½ · (e^x + e^−x)`, as Metal's specification says of fast math.
#[inline(always)]
pub fn fast_cosh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (up, down) = both_powers(m, x);
    m.mul(m.add(up, down), m.constant(0.5))
}

/// `(t − 1) / (t + 1)` with `t = e^2x`, as Metal's specification says of fast math: NaN from 44.4 on, where `t` is
/// infinite, which is why ggml's Metal kernels ask for `precise::tanh` in so many words.
#[inline(always)]
pub fn fast_tanh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let one = m.constant(1.0);
    let t = m.exp2_of_product(x, 2.0 * LOG2_E);
    fast_divide(m, m.sub(t, one), m.add(t, one))
}

/// `1 − 2 / (e^2x + 1)`: the hyperbolic tangent of halves and brain floats for fast math. Metal's specification allows
/// them one unit whatever the mode, so large arguments must give 1.
#[inline(always)]
pub fn fast_tanh_of_half<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let one = m.constant(1.0);
    let t = m.exp2_of_product(x, 2.0 * LOG2_E);
    m.fma(m.rcp(m.add(t, one)), m.constant(-2.0), one)
}

/// `ln(|x| + √(x² + 1))` with the sign of `x`: the inverse hyperbolic sine of halves and brain floats for fast math,
/// which have one unit.
#[inline(always)]
pub fn fast_asinh_of_half<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.copysign(fast_asinh(m, m.abs(x)), x)
}

/// `ln(x + √(x² + 1))`, as Metal's specification says of fast math.
#[inline(always)]
pub fn fast_asinh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let root = fast_sqrt(m, m.fma(x, x, m.constant(1.0)));
    fast_log(m, m.add(x, root))
}

/// `ln(x + √(x² − 1))`, as Metal's specification says of fast math.
#[inline(always)]
pub fn fast_acosh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let root = fast_sqrt(m, m.fma(x, x, m.constant(-1.0)));
    fast_log(m, m.add(x, root))
}

/// `½ · ln((1 + x) / (1 − x))`, as Metal's specification says of fast math.
#[inline(always)]
pub fn fast_atanh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let one = m.constant(1.0);
    let ratio = fast_divide(m, m.add(one, x), m.sub(one, x));
    m.mul(m.log2(ratio), m.constant(0.5 * LN_2))
}

/// Beyond this a square plus or minus one is the square.
const HUGE: f32 = 67108864.0;

/// Inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let magnitude = m.abs(x);
    let one = m.constant(1.0);
    // ln(x + √(x² + 1)) = ln(1 + x + x² / (1 + √(x² + 1)))
    let root = sqrt(m, m.fma(magnitude, magnitude, one));
    let small = log1p(
        m,
        m.add(
            magnitude,
            quotient(m, m.mul(magnitude, magnitude), m.add(one, root)),
        ),
    );
    let large = m.add(log(m, magnitude), m.constant(LN_2));
    let result = m.select(m.less(magnitude, m.constant(HUGE)), small, large);
    // Tiny numbers are their own result (their squares are flushed away).
    let result = m.select(m.less(magnitude, m.constant(1e-10)), magnitude, result);
    m.select_nan(x, x, m.copysign(result, x))
}

/// Inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub fn acosh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let t = m.sub(x, m.constant(1.0));
    // ln(1 + t + √(2t + t²))
    let root = sqrt(m, m.fma(t, t, m.add(t, t)));
    let small = log1p(m, m.add(t, root));
    let large = m.add(log(m, x), m.constant(LN_2));
    m.select(m.less(x, m.constant(HUGE)), small, large)
}

/// Inverse hyperbolic tangent; NaN outside [−1, 1].
#[inline(always)]
pub fn atanh<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let magnitude = m.abs(x);
    let one = m.constant(1.0);
    // ½ ln(1 + 2x / (1 − x))
    let ratio = quotient(m, m.add(magnitude, magnitude), m.sub(one, magnitude));
    let value = m.mul(m.constant(0.5), log1p(m, ratio));
    let value = m.select(m.equal(magnitude, one), m.constant(f32::INFINITY), value);
    let value = m.select(m.less(one, magnitude), m.constant(crate::NAN32), value);
    let value = m.select(m.less(magnitude, m.constant(1e-10)), magnitude, value);
    m.select_nan(value, m.constant(crate::NAN32), m.copysign(value, x))
}

#[cfg(test)]
mod tests {
    use crate::math::accuracy::{every, max_ulps, within};
    use crate::math::precise;

    #[test]
    fn hyperbolic_functions() {
        for (from, to) in [(0x3000_0000, 0x42b2_d000), (0xb000_0000, 0xc2b2_d000)] {
            within(2.6, max_ulps(every(from, to, 97), precise::sinh, f64::sinh));
            within(1.5, max_ulps(every(from, to, 97), precise::cosh, f64::cosh));
            within(1.6, max_ulps(every(from, to, 97), precise::tanh, f64::tanh));
        }
    }

    #[test]
    fn inverse_hyperbolic_functions() {
        for (from, to) in [(0x2000_0000, 0x7f7f_ffff), (0xa000_0000, 0xff7f_ffff)] {
            let sine = max_ulps(every(from, to, 499), precise::asinh, |x| {
                // The standard library's is inaccurate for large and small numbers.
                let a = x.abs();
                (a + a * a / (1.0 + (a * a + 1.0).sqrt()))
                    .ln_1p()
                    .copysign(x)
            });
            within(4.2, sine);
        }
        let cosine = max_ulps(every(0x3f80_0001, 0x7f7f_ffff, 499), precise::acosh, |x| {
            let t = x - 1.0;
            (t + (2.0 * t + t * t).sqrt()).ln_1p()
        });
        within(3.5, cosine);
        let tangent = max_ulps(every(0x2000_0000, 0x3f7f_ffff, 97), precise::atanh, |x| {
            0.5 * (2.0 * x / (1.0 - x)).ln_1p()
        });
        within(4.4, tangent);
    }

    #[test]
    fn special_values() {
        let inf = f32::INFINITY;
        assert_eq!(
            (
                precise::sinh(-inf),
                precise::cosh(-inf),
                precise::tanh(-inf)
            ),
            (-inf, inf, -1.0)
        );
        assert_eq!(precise::cosh(0.0), 1.0);
        assert_eq!(precise::tanh(-0.0).to_bits(), 0x8000_0000);
        assert_eq!(
            (
                precise::asinh(-inf),
                precise::acosh(inf),
                precise::atanh(-1.0)
            ),
            (-inf, inf, -inf)
        );
        assert_eq!(precise::acosh(1.0), 0.0);
        assert_eq!(precise::atanh(-0.0).to_bits(), 0x8000_0000);
        for nan in [
            precise::acosh(0.5),
            precise::atanh(1.5),
            precise::sinh(f32::NAN),
            precise::cosh(f32::NAN),
            precise::tanh(f32::NAN),
            precise::asinh(f32::NAN),
            precise::atanh(f32::NAN),
        ] {
            assert!(nan.is_nan());
        }
    }
}
