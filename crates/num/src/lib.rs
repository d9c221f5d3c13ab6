//! Numbers as Apple GPUs treat them, defined once.
//!
//! The executor, the emulator, the optimiser's folding and the code generator all take their arithmetic from here, so
//! they agree bit for bit, on every host: only IEEE operations that are exact by definition are used (`+ - * /`,
//! square root, fused multiply-add), never a platform's mathematics library.
//!
//! The rules, from the public documentation of the hardware (dougallj/applegpu) where that says:
//!
//! * **Single precision flushes denormals**, operands and results, to zero of the same sign. *Chosen*: a result is
//!   tiny when it is below 2⁻¹²⁶ after IEEE rounding.
//! * **Half precision keeps denormals.** A half-precision fused multiply-add rounds once. A *single*-precision operation
//!   that writes a half register rounds twice: to single, then to half ([`half::from_single_result`]).
//! * **Brain floats** have no arithmetic of their own: operands are widened, the single-precision result is rounded.
//! * **A NaN that an operation makes is always the same**: `0x7fc00000`, `0x7e00`, `0x7fc0`.
//! * **Saturation** clamps to [0, 1]; NaN and −0 become +0.
//! * **Minimum and maximum** return the other operand when one is NaN, and select a bit pattern unchanged.
//!
//! What the hardware's documentation does not say is decided here and marked *chosen*: the order of reductions
//! ([`reduce`]), the accumulation order of matrices ([`matrix`]), the last bits of transcendental functions ([`hardware`], [`math`]).
//!
//! Functions on one number are `#[inline(always)]` and free of branches where they are hot: a loop over 32 lanes becomes
//! vector code, and compiled inside a `#[target_feature(enable = "avx2,fma")]` function `mul_add` becomes one
//! instruction. Compiled without, it is a slow but exact library call.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod choose;
mod convert;
mod flush;

pub mod brain;
pub mod half;
pub mod hardware;
pub mod immediate;
pub mod int;
pub mod lanes;
pub mod machine;
pub mod math;
pub mod matrix;
pub mod pack;
pub mod parts;
pub mod reduce;
pub mod single;
#[cfg(target_arch = "x86_64")]
pub mod vector;

pub use convert::{
    Rounding, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, f32_to_f16_rounding, f32_to_int,
    f32_to_int32, f64_to_f16, int_to_f16, int_to_f32, int32_to_f16, int32_to_f32,
};
pub use flush::{NAN32, canonical, flush};

/// Threads of a simdgroup.
pub const LANES: usize = 32;
