//! Every composed function, over any machine.

pub use super::common::{
    cross, dot, face_forward, fast_round, fast_round_of_half, length, mix, normalizing_factor,
    reflect, refract, round, saturate, smoothstep, step,
};
pub use super::exponential::{
    exp, exp10, fast_exp, fast_exp10, fast_log, fast_log10, fast_pow, log, log1p, log10, pow, powr,
};
pub use super::hyperbolic::{
    acosh, asinh, atanh, cosh, fast_acosh, fast_asinh, fast_asinh_of_half, fast_atanh, fast_cosh,
    fast_sinh, fast_tanh, fast_tanh_of_half, sinh, tanh,
};
pub use super::inverse::{
    acos, asin, atan, atan2, fast_acos, fast_asin, fast_asin_of_half, fast_atan, fast_atan_of_half,
    fast_atan2, fast_atan2_of_half,
};
pub use super::reduce::TWO_OVER_PI_BITS;
pub use super::roots::{
    divide, divide_of_half, fast_divide, fast_remainder, fast_sqrt, sqrt, sqrt_of_half,
};
pub use super::trigonometric::{
    cos, cospi, fast_cos, fast_cospi, fast_sin, fast_sinpi, fast_tan, fast_tanpi, near_cos,
    near_sin, near_tan, reduced_cos, reduced_sin, reduced_tan, sin, sinpi, tan, tanpi,
};

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
