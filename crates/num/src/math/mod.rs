//! Mathematics composed of the hardware's operations: what Metal's `fast::` and `precise::` functions compute.
//!
//! [`expand`] has every function over any [`Machine`](crate::machine::Machine); [`fast`] and [`precise`] are the same
//! functions on this host's numbers. Errors are in units in the last place (ulp) of the single-precision result,
//! measured against double precision by the tests, which fail when a bound is exceeded.
//!
//! | function | `precise` | over | `fast` |
//! |---|---|---|---|
//! | `exp` `exp10` | 1.01 | all finite results | exp2(x · log₂e): grows with x, 65 at 88 |
//! | `exp2` `log2` `rcp` `rsqrt` | 0.51 | everything | the same |
//! | `log` `log10` | 1.2 | everything | 1.3, 1.9 |
//! | `pow` `powr` | 1.9 | all finite results | exp2(y · log₂x): grows with the exponent, 120 at 2^±127 |
//! | `sqrt` `divide` | 0.5 | everything | 1.5 |
//! | `sin` `cos` | 1.5 | magnitudes up to 10⁵ (1.7 up to 2²²) | absolute error 5·10⁻⁷ up to π |
//! | `tan` | 3.2 | magnitudes up to 10⁵ | quotient of the fast ones |
//! | `sinpi` `cospi` | 1.6 | magnitudes up to 2²² | the same |
//! | `asin` | 2.4 | everything | the same |
//! | `acos` `atan` | 1.2, 1.3 | everything | the same |
//! | `atan2` | 2.5 | everything | the same |
//! | `sinh` `cosh` `tanh` | 2.6, 1.5, 1.6 | all finite results | the same |
//! | `asinh` `acosh` `atanh` | 4.2, 3.1, 4.0 | everything | the same |
//!
//! Beyond 2²² the precise sine and cosine are no longer meaningful (the reduction has four terms), but the same
//! everywhere. Half and brain-float functions are the precise single-precision ones, rounded.

mod common;
pub mod expand;
mod exponential;
mod hyperbolic;
mod inverse;
mod roots;
mod trigonometric;

#[cfg(test)]
pub(crate) mod accuracy;

macro_rules! on_host {
    ($(#[$doc:meta])* $module:ident { $($name:ident($($arg:ident),*) = $function:path;)* }) => {
        $(#[$doc])*
        pub mod $module {
            $(
                #[doc = concat!("See the table of [`math`](crate::math) and [`", stringify!($function), "`].")]
                #[inline(always)]
                pub fn $name($($arg: f32),*) -> f32 {
                    $function(&crate::machine::Host, $($arg),*)
                }
            )*
        }
    };
}

on_host! {
    /// Functions as Metal's `precise::` has them.
    precise {
        exp(x) = crate::math::expand::exp;
        exp10(x) = crate::math::expand::exp10;
        log(x) = crate::math::expand::log;
        log10(x) = crate::math::expand::log10;
        pow(x, y) = crate::math::expand::pow;
        powr(x, y) = crate::math::expand::powr;
        sin(x) = crate::math::expand::sin;
        cos(x) = crate::math::expand::cos;
        tan(x) = crate::math::expand::tan;
        sinpi(x) = crate::math::expand::sinpi;
        cospi(x) = crate::math::expand::cospi;
        tanpi(x) = crate::math::expand::tanpi;
        asin(x) = crate::math::expand::asin;
        acos(x) = crate::math::expand::acos;
        atan(x) = crate::math::expand::atan;
        atan2(y, x) = crate::math::expand::atan2;
        sinh(x) = crate::math::expand::sinh;
        cosh(x) = crate::math::expand::cosh;
        tanh(x) = crate::math::expand::tanh;
        asinh(x) = crate::math::expand::asinh;
        acosh(x) = crate::math::expand::acosh;
        atanh(x) = crate::math::expand::atanh;
    }
}

on_host! {
    /// Functions as Metal's `fast::` has them, where they differ from [`precise`].
    fast {
        exp(x) = crate::math::expand::fast_exp;
        exp10(x) = crate::math::expand::fast_exp10;
        log(x) = crate::math::expand::fast_log;
        log10(x) = crate::math::expand::fast_log10;
        pow(x, y) = crate::math::expand::fast_pow;
        sqrt(x) = crate::math::expand::fast_sqrt;
        divide(x, y) = crate::math::expand::fast_divide;
        sin(x) = crate::math::expand::fast_sin;
        cos(x) = crate::math::expand::fast_cos;
        tan(x) = crate::math::expand::fast_tan;
    }
}
