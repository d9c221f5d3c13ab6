//! Mathematics composed of the hardware's operations: what Metal's `fast::` and `precise::` functions compute.
//!
//! [`expand`] has every function over any [`Machine`](crate::machine::Machine); [`fast`] and [`precise`] are the same
//! functions on this host's numbers. Errors are in units in the last place (ulp) of the single-precision result,
//! measured against double precision by the tests, which fail when a bound is exceeded.
//!
//! | function | `precise` | over | `fast` |
//! |---|---|---|---|
//! | `exp` `exp10` | 1.01 | all finite results | exp2(x · log₂e): grows with x, 65 at 88 |
//! | `exp2` `rcp` `rsqrt` | 0.51 | everything | the same |
//! | `log2` | 1.0, toward zero | everything | the same |
//! | `log` `log10` | 1.9, 1.8 | everything | 1.9 |
//! | `pow` `powr` | 1.9 | all finite results | exp2(y · log₂x): grows with the exponent, 200 at 2^±127 |
//! | `sqrt` `divide` | 0.5 | everything | 1.5 |
//! | `sin` `cos` | 1.5 | everything | absolute error 5·10⁻⁷ up to π |
//! | `tan` | 3.2 | everything | quotient of the fast ones |
//! | `sinpi` `cospi` | 1.6 | magnitudes up to 2²² | 1.6 |
//! | `asin` | 2.4 | everything | 3.3 |
//! | `acos` `atan` | 1.2, 1.3 | everything | 2.0, 1.9 |
//! | `atan2` | 2.5 | everything | 2.3 |
//! | `sinh` `cosh` `tanh` | 2.6, 1.5, 1.6 | all finite results | by exponentials, as Metal's specification writes them |
//! | `asinh` `acosh` `atanh` | 4.2, 3.5, 4.4 | everything | by logarithms, as Metal's specification writes them |
//!
//! `docs/arithmetic.md`, which is generated, has the same for every function, type and mode with the instructions it
//! takes. Functions of halves and brain floats are those of singles, rounded: the precise ones, or in fast math the fast
//! ones ([`fast_half`] where they differ).

mod common;
pub mod expand;
mod exponential;
mod hyperbolic;
mod inverse;
pub(crate) mod reduce;
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
        round(x) = crate::math::expand::round;
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
    /// The same as [`precise`] below 2¹⁷ in magnitude and for numbers that are not finite, without a branch.
    near {
        sin(x) = crate::math::expand::near_sin;
        cos(x) = crate::math::expand::near_cos;
        tan(x) = crate::math::expand::near_tan;
    }
}

/// Returns true if a number is one that [`near`] does not serve.
#[inline(always)]
pub fn is_far(x: f32) -> bool {
    (reduce::FAR..=f32::MAX).contains(&x.abs())
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
        sinpi(x) = crate::math::expand::fast_sinpi;
        cospi(x) = crate::math::expand::fast_cospi;
        tanpi(x) = crate::math::expand::fast_tanpi;
        asin(x) = crate::math::expand::fast_asin;
        acos(x) = crate::math::expand::fast_acos;
        atan(x) = crate::math::expand::fast_atan;
        atan2(y, x) = crate::math::expand::fast_atan2;
        sinh(x) = crate::math::expand::fast_sinh;
        cosh(x) = crate::math::expand::fast_cosh;
        tanh(x) = crate::math::expand::fast_tanh;
        asinh(x) = crate::math::expand::fast_asinh;
        acosh(x) = crate::math::expand::fast_acosh;
        atanh(x) = crate::math::expand::fast_atanh;
        round(x) = crate::math::expand::fast_round;
        remainder(x, y) = crate::math::expand::fast_remainder;
    }
}

on_host! {
    /// Where the fast functions of halves and brain floats, in single precision before they are rounded, are not those of
    /// [`fast`]: Metal's specification allows them one unit in any mode, and fewer terms are enough for that.
    fast_half {
        sin(x) = crate::math::expand::reduced_sin;
        cos(x) = crate::math::expand::reduced_cos;
        tan(x) = crate::math::expand::reduced_tan;
        asin(x) = crate::math::expand::fast_asin_of_half;
        atan(x) = crate::math::expand::fast_atan_of_half;
        atan2(y, x) = crate::math::expand::fast_atan2_of_half;
        tanh(x) = crate::math::expand::fast_tanh_of_half;
        asinh(x) = crate::math::expand::fast_asinh_of_half;
        round(x) = crate::math::expand::fast_round_of_half;
    }
}

on_host! {
    /// Where G16 (M4) is known to compute a fast function otherwise than [`fast`], which is G13's and G14's.
    g16 {
        sin(x) = crate::math::expand::reduced_sin;
        cos(x) = crate::math::expand::reduced_cos;
    }
}
