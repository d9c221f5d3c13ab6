//! Interpolation, steps, and vectors as geometry.

use super::expand::{divide, fast_divide, fast_sqrt, sqrt};
use crate::machine::Machine;

/// `x + (y − x) · a`
#[inline(always)]
pub fn mix<M: Machine>(m: &M, x: M::Float, y: M::Float, a: M::Float) -> M::Float {
    m.fma(m.sub(y, x), a, x)
}

/// 0 below the edge, 1 from it on.
#[inline(always)]
pub fn step<M: Machine>(m: &M, edge: M::Float, x: M::Float) -> M::Float {
    m.select(m.less(x, edge), m.constant(0.0), m.constant(1.0))
}

/// The largest single below ½.
const BELOW_HALF: f32 = f32::from_bits(0x3eff_ffff);

/// Nearest integer, halfway away from zero: `trunc(x + ½)` with the sign of `x` on the half, which is the largest
/// number below ½, lest 0.49999997 become 1. The sum is right for every single.
#[inline(always)]
pub fn fast_round<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.trunc(m.add(x, m.copysign(m.constant(BELOW_HALF), x)))
}

/// The same for halves and brain floats, whose sum with ½ is exact in single precision.
#[inline(always)]
pub fn fast_round_of_half<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.trunc(m.add(x, m.copysign(m.constant(0.5), x)))
}

/// Nearest integer, halfway away from zero. As an M4 does: negative numbers above −½ give +0, NaN passes through with
/// its sign and payload.
#[inline(always)]
pub fn round<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.select_nan(x, x, m.add(fast_round(m, x), m.constant(0.0)))
}

/// Clamped to [0, 1]; NaN gives 0.
#[inline(always)]
pub fn saturate<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (zero, one) = (m.constant(0.0), m.constant(1.0));
    let positive = m.select(m.less(zero, x), x, zero);
    m.select(m.less(one, positive), one, positive)
}

/// A smooth step from 0 at `low` to 1 at `high`.
#[inline(always)]
pub fn smoothstep<M: Machine>(
    m: &M,
    low: M::Float,
    high: M::Float,
    x: M::Float,
    fast: bool,
) -> M::Float {
    let (above, width) = (m.sub(x, low), m.sub(high, low));
    let t = if fast {
        fast_divide(m, above, width)
    } else {
        divide(m, above, width)
    };
    let t = saturate(m, t);
    let slope = m.fma(t, m.constant(-2.0), m.constant(3.0));
    m.mul(m.mul(t, t), slope)
}

/// `a₀·b₀ + a₁·b₁ + …`: the first product rounded, each further one fused onto the sum.
#[inline(always)]
pub fn dot<M: Machine>(m: &M, a: &[M::Float], b: &[M::Float]) -> M::Float {
    let mut pairs = a.iter().zip(b);
    let Some((&x, &y)) = pairs.next() else {
        return m.constant(0.0);
    };
    let mut sum = m.mul(x, y);
    for (&x, &y) in pairs {
        sum = m.fma(x, y, sum);
    }
    sum
}

/// Square root of the dot product with itself.
#[inline(always)]
pub fn length<M: Machine>(m: &M, a: &[M::Float], fast: bool) -> M::Float {
    let square = dot(m, a, a);
    if fast {
        fast_sqrt(m, square)
    } else {
        sqrt(m, square)
    }
}

/// The factor that makes a vector one long: `rsqrt(dot(a, a))`.
#[inline(always)]
pub fn normalizing_factor<M: Machine>(m: &M, a: &[M::Float]) -> M::Float {
    m.rsqrt(dot(m, a, a))
}

/// `a × b`, each component `fma(aᵢ, bⱼ, −(aⱼ · bᵢ))`.
#[inline(always)]
pub fn cross<M: Machine>(m: &M, a: [M::Float; 3], b: [M::Float; 3]) -> [M::Float; 3] {
    let component = |i: usize, j: usize| m.fma(a[i], b[j], m.neg(m.mul(a[j], b[i])));
    [component(1, 2), component(2, 0), component(0, 1)]
}

/// A normal turned against what comes in: `n` where `dot(reference, i) < 0`, else `−n`.
pub fn face_forward<M: Machine, const N: usize>(
    m: &M,
    n: [M::Float; N],
    i: [M::Float; N],
    reference: [M::Float; N],
) -> [M::Float; N] {
    let against = m.less(dot(m, &reference, &i), m.constant(0.0));
    n.map(|x| m.select(against, x, m.neg(x)))
}

/// What comes in, reflected: `i − 2 · dot(n, i) · n`, the last product fused onto `i`.
pub fn reflect<M: Machine, const N: usize>(
    m: &M,
    i: [M::Float; N],
    n: [M::Float; N],
) -> [M::Float; N] {
    let factor = m.mul(m.constant(-2.0), dot(m, &n, &i));
    std::array::from_fn(|axis| m.fma(factor, n[axis], i[axis]))
}

/// What comes in, refracted with a ratio of indices `eta`; zero where all of it is reflected.
pub fn refract<M: Machine, const N: usize>(
    m: &M,
    i: [M::Float; N],
    n: [M::Float; N],
    eta: M::Float,
) -> [M::Float; N] {
    let (zero, one) = (m.constant(0.0), m.constant(1.0));
    let cosine = dot(m, &n, &i);
    let sine = m.fma(m.neg(cosine), cosine, one);
    let left = m.fma(m.neg(m.mul(eta, eta)), sine, one);
    let factor = m.neg(m.fma(eta, cosine, sqrt(m, left)));
    let total = m.less(left, zero);
    std::array::from_fn(|axis| {
        let bent = m.fma(factor, n[axis], m.mul(eta, i[axis]));
        m.select(total, zero, bent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Host;

    #[test]
    fn interpolation_and_steps() {
        assert_eq!(mix(&Host, 2.0, 4.0, 0.25), 2.5);
        assert_eq!((step(&Host, 1.0, 0.5), step(&Host, 1.0, 1.0)), (0.0, 1.0));
        assert_eq!(smoothstep(&Host, 0.0, 2.0, 1.0, false), 0.5);
        assert_eq!(smoothstep(&Host, 0.0, 2.0, -1.0, true), 0.0);
        assert_eq!(saturate(&Host, f32::NAN), 0.0);
    }

    #[test]
    fn products_of_vectors() {
        assert_eq!(dot(&Host, &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
        assert_eq!(length(&Host, &[3.0, 4.0], false), 5.0);
        assert_eq!(
            cross(&Host, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
            [0.0, 0.0, 1.0]
        );
        assert_eq!(normalizing_factor(&Host, &[0.0, 2.0]), 0.5);
        assert_eq!(dot(&Host, &[], &[]), 0.0);
    }

    #[test]
    fn rays_are_turned() {
        let (down, up) = ([0.6f32, -0.8], [0.0, 1.0]);
        assert_eq!(reflect(&Host, down, up), [0.6, 0.8]);
        assert_eq!(refract(&Host, [0.0, -1.0], up, 0.5), [0.0, -1.0]);
        assert_eq!(refract(&Host, down, up, 2.0), [0.0, 0.0]);
        assert_eq!(face_forward(&Host, up, down, up), up);
        assert_eq!(face_forward(&Host, up, [0.0, 1.0], up), [-0.0, -1.0]);
    }
}
