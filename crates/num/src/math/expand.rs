//! Every composed function, over any machine.

pub use super::common::{
    cross, dot, face_forward, length, mix, normalizing_factor, reflect, refract, saturate,
    smoothstep, step,
};
pub use super::exponential::{
    exp, exp10, fast_exp, fast_exp10, fast_log, fast_log10, fast_pow, log, log1p, log10, pow, powr,
};
pub use super::hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use super::inverse::{acos, asin, atan, atan2};
pub use super::roots::{divide, fast_divide, fast_sqrt, sqrt};
pub use super::trigonometric::{cos, cospi, fast_cos, fast_sin, fast_tan, sin, sinpi, tan, tanpi};

use crate::machine::Machine;

/// `coefficients[0] + coefficients[1] x + …`, by fused multiply-adds from the highest.
#[inline(always)]
pub fn polynomial<M: Machine>(m: &M, coefficients: &[f32], x: M::Float) -> M::Float {
    let (last, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
    let mut sum = m.constant(*last);
    for &coefficient in rest.iter().rev() {
        sum = m.fma(sum, x, m.constant(coefficient));
    }
    sum
}
