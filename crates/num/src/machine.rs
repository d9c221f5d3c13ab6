//! The operations composed functions are made of.
//!
//! A function such as the exponential is written once, over any [`Machine`]. On [`Host`] it computes; the code
//! generator's machine emits the instructions. Both give the same bits because every operation here is one the
//! hardware has (comparisons and selections together make its compare-and-select).

use crate::{hardware, single};

/// Something that can do, or write down, single-precision operations.
pub trait Machine {
    /// A single-precision number.
    type Float: Copy;
    /// A truth value.
    type Truth: Copy;

    /// A constant.
    fn constant(&self, value: f32) -> Self::Float;
    /// `a + b`
    fn add(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a - b`
    fn sub(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b`
    fn mul(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b + c`, rounded once.
    fn fma(&self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// Sign flipped.
    fn neg(&self, a: Self::Float) -> Self::Float;
    /// Sign cleared.
    fn abs(&self, a: Self::Float) -> Self::Float;
    /// Sign bit of `b` on the magnitude of `a`.
    fn copysign(&self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// Largest integer not above.
    fn floor(&self, a: Self::Float) -> Self::Float;
    /// Integer part.
    fn trunc(&self, a: Self::Float) -> Self::Float;
    /// Nearest integer, halfway to even.
    fn rint(&self, a: Self::Float) -> Self::Float;
    /// Reciprocal instruction.
    fn rcp(&self, a: Self::Float) -> Self::Float;
    /// Reciprocal square root instruction.
    fn rsqrt(&self, a: Self::Float) -> Self::Float;
    /// Reciprocal square root for square roots.
    fn rsqrt_special(&self, a: Self::Float) -> Self::Float;
    /// Base-2 exponential instruction.
    fn exp2(&self, a: Self::Float) -> Self::Float;
    /// Base-2 exponential of a product with a number of ordinary size.
    fn exp2_of_product(&self, a: Self::Float, factor: f32) -> Self::Float {
        self.exp2(self.mul(a, self.constant(factor)))
    }
    /// Base-2 logarithm instruction.
    fn log2(&self, a: Self::Float) -> Self::Float;
    /// First half of sine.
    fn sin_pt_1(&self, a: Self::Float) -> Self::Float;
    /// Second half of sine.
    fn sin_pt_2(&self, a: Self::Float) -> Self::Float;
    /// `a < b`, false with NaN.
    fn less(&self, a: Self::Float, b: Self::Float) -> Self::Truth;
    /// `a == b`, false with NaN.
    fn equal(&self, a: Self::Float, b: Self::Float) -> Self::Truth;
    /// `yes` where the truth value holds, else `no`; bits unchanged.
    fn select(&self, truth: Self::Truth, yes: Self::Float, no: Self::Float) -> Self::Float;
    /// `a` with its sign flipped where the last bit of `bits` is set: a shift and an exclusive or.
    fn flip_by_last_bit(&self, a: Self::Float, bits: Self::Float) -> Self::Float;
    /// `near` where the magnitude of `x` is below `limit` or not a number, else what `far` gives.
    fn near_or_far(
        &self,
        x: Self::Float,
        limit: f32,
        near: [Self::Float; 3],
        far: impl FnOnce(&Self) -> [Self::Float; 3],
    ) -> [Self::Float; 3];
    /// Quarter turns modulo four of a large magnitude, and three integers that are the rest: with integer operations, as
    /// written in [`math`](crate::math)'s `reduce`. What small magnitudes give does not matter.
    fn far_parts(&self, x: Self::Float) -> [Self::Float; 4];
    /// A positive normal number as `mantissa * 2^exponent`, the mantissa between √½ (`0x3f3504f3`) and √2: with integer
    /// operations, `above = bits − 0x3f3504f3`, the mantissa `bits − (above & 0xff800000)`, the exponent
    /// `float(above >> 23)` (signed shift). What other numbers give does not matter but is the same everywhere.
    fn split(&self, a: Self::Float) -> (Self::Float, Self::Float);

    /// Whether a number is NaN, as a choice between two values.
    fn select_nan(&self, a: Self::Float, yes: Self::Float, no: Self::Float) -> Self::Float {
        self.select(self.equal(a, a), no, yes)
    }
}

/// The machine that computes, on this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl Machine for Host {
    type Float = f32;
    type Truth = bool;

    #[inline(always)]
    fn constant(&self, value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn add(&self, a: f32, b: f32) -> f32 {
        single::add(a, b)
    }
    #[inline(always)]
    fn sub(&self, a: f32, b: f32) -> f32 {
        single::sub(a, b)
    }
    #[inline(always)]
    fn mul(&self, a: f32, b: f32) -> f32 {
        single::mul(a, b)
    }
    #[inline(always)]
    fn fma(&self, a: f32, b: f32, c: f32) -> f32 {
        single::fma(a, b, c)
    }
    #[inline(always)]
    fn neg(&self, a: f32) -> f32 {
        single::neg(a)
    }
    #[inline(always)]
    fn abs(&self, a: f32) -> f32 {
        single::abs(a)
    }
    #[inline(always)]
    fn copysign(&self, a: f32, b: f32) -> f32 {
        single::copysign(a, b)
    }
    #[inline(always)]
    fn floor(&self, a: f32) -> f32 {
        single::floor(a)
    }
    #[inline(always)]
    fn trunc(&self, a: f32) -> f32 {
        single::trunc(a)
    }
    #[inline(always)]
    fn rint(&self, a: f32) -> f32 {
        single::rint(a)
    }
    #[inline(always)]
    fn rcp(&self, a: f32) -> f32 {
        hardware::rcp(a)
    }
    #[inline(always)]
    fn rsqrt(&self, a: f32) -> f32 {
        hardware::rsqrt(a)
    }
    #[inline(always)]
    fn rsqrt_special(&self, a: f32) -> f32 {
        hardware::rsqrt_special(a)
    }
    #[inline(always)]
    fn exp2(&self, a: f32) -> f32 {
        hardware::exp2(a)
    }
    /// Denormals on the way make no difference: both they and zeros give one.
    #[inline(always)]
    fn exp2_of_product(&self, a: f32, factor: f32) -> f32 {
        hardware::exp2(a * factor)
    }
    #[inline(always)]
    fn log2(&self, a: f32) -> f32 {
        hardware::log2(a)
    }
    #[inline(always)]
    fn sin_pt_1(&self, a: f32) -> f32 {
        hardware::sin_pt_1(a)
    }
    #[inline(always)]
    fn sin_pt_2(&self, a: f32) -> f32 {
        hardware::sin_pt_2(a)
    }
    #[inline(always)]
    fn less(&self, a: f32, b: f32) -> bool {
        single::less(a, b)
    }
    #[inline(always)]
    fn equal(&self, a: f32, b: f32) -> bool {
        single::equal(a, b)
    }
    #[inline(always)]
    fn select(&self, truth: bool, yes: f32, no: f32) -> f32 {
        if truth { yes } else { no }
    }
    #[inline(always)]
    fn flip_by_last_bit(&self, a: f32, bits: f32) -> f32 {
        f32::from_bits(a.to_bits() ^ (bits.to_bits() << 31))
    }
    #[inline(always)]
    fn near_or_far(
        &self,
        x: f32,
        limit: f32,
        near: [f32; 3],
        far: impl FnOnce(&Self) -> [f32; 3],
    ) -> [f32; 3] {
        if x.abs() >= limit { far(self) } else { near }
    }
    fn far_parts(&self, x: f32) -> [f32; 4] {
        crate::math::reduce::parts(x)
    }
    #[inline(always)]
    fn split(&self, a: f32) -> (f32, f32) {
        let (mantissa, exponent) = hardware::split(a);
        (mantissa, exponent as f32)
    }
}
