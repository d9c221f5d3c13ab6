//! Half-precision arithmetic on eight lanes with the host's own conversions (x86 with AVX2 and F16C).
//!
//! The meaning is [`half`](crate::half)'s, bit for bit; the tests hold the two together. Between [`widen`] and
//! [`narrow`] a number is a single that a half made, or the result of one operation on such singles:
//!
//! ```
//! use assay_num::{half, vector};
//! #[target_feature(enable = "avx2,fma,f16c")]
//! fn sums(a: [u16; 8], b: [u16; 8]) -> [u16; 8] {
//!     let (a, b) = (vector::widen(vector::halves(a)), vector::widen(vector::halves(b)));
//!     vector::from_halves(vector::narrow(vector::add(a, b)))
//! }
//! if vector::available() {
//!     // SAFETY: the host has the features.
//!     assert_eq!(unsafe { sums([0x3c00; 8], [0x0001; 8]) }, [half::add(0x3c00, 0x0001); 8]);
//! }
//! ```

use std::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_NEQ_OQ, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm256_add_ps,
    _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cvtph_ps,
    _mm256_cvtps_ph, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps, _mm256_or_si256,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_srli_epi32, _mm256_sub_epi32,
    _mm256_sub_ps, _mm256_xor_si256,
};
use std::mem::transmute;

/// Lanes of one vector.
pub const WIDTH: usize = 8;

/// Whether the host has what the functions here are compiled for.
pub fn available() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

/// Eight words as a vector.
#[inline(always)]
pub fn words(values: [u32; WIDTH]) -> __m256i {
    // SAFETY: same size, and any bits are a value of both.
    unsafe { transmute::<[u32; WIDTH], __m256i>(values) }
}

/// A vector as eight words.
#[inline(always)]
pub fn from_words(values: __m256i) -> [u32; WIDTH] {
    // SAFETY: same size, and any bits are a value of both.
    unsafe { transmute::<__m256i, [u32; WIDTH]>(values) }
}

/// Eight halves as a vector.
#[inline(always)]
pub fn halves(values: [u16; WIDTH]) -> __m128i {
    // SAFETY: same size, and any bits are a value of both.
    unsafe { transmute::<[u16; WIDTH], __m128i>(values) }
}

/// A vector as eight halves.
#[inline(always)]
pub fn from_halves(values: __m128i) -> [u16; WIDTH] {
    // SAFETY: same size, and any bits are a value of both.
    unsafe { transmute::<__m128i, [u16; WIDTH]>(values) }
}

/// Halves as singles; exact. A NaN stays some NaN: [`narrow`] makes it the one.
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn widen(halves: __m128i) -> __m256 {
    _mm256_cvtph_ps(halves)
}

/// Singles rounded to half precision, as [`f32_to_f16`](crate::f32_to_f16) does: results of [`add`], [`mul`] and [`fma`]
/// are then rounded once.
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn narrow(values: __m256) -> __m128i {
    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(canonical(values))
}

/// Any NaN becomes the one NaN.
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn canonical(values: __m256) -> __m256 {
    let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(values, values);
    let one_nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc0_0000));
    _mm256_blendv_ps(values, one_nan, nan)
}

/// Clamped to [0, 1] as [`half::saturate`](crate::half::saturate) does; before [`narrow`] or after is the same.
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn saturate(values: __m256) -> __m256 {
    // With NaN or two zeros these give their second operand.
    let positive = _mm256_max_ps(values, _mm256_setzero_ps());
    _mm256_min_ps(positive, _mm256_set1_ps(1.0))
}

/// `a + b`, to be narrowed.
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn add(a: __m256, b: __m256) -> __m256 {
    _mm256_add_ps(a, b)
}

/// `a * b`, to be narrowed.
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn mul(a: __m256, b: __m256) -> __m256 {
    _mm256_mul_ps(a, b)
}

/// `a * b + c`, rounded to odd where it is not exact, to be narrowed. The steps are those of
/// [`half::fma`](crate::half::fma).
///
/// # Safety
///
/// [`available`] must hold, unless the caller is compiled for the same features.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
    let product = _mm256_mul_ps(a, b);
    let sum = _mm256_add_ps(product, c);
    let other = _mm256_sub_ps(sum, product);
    let error = _mm256_add_ps(
        _mm256_sub_ps(product, _mm256_sub_ps(sum, other)),
        _mm256_sub_ps(c, other),
    );
    let bits = _mm256_castps_si256(sum);
    let rounded_away = _mm256_srli_epi32::<31>(_mm256_xor_si256(_mm256_castps_si256(error), bits));
    let odd = _mm256_or_si256(_mm256_sub_epi32(bits, rounded_away), _mm256_set1_epi32(1));
    // Where the sum is infinite or NaN the error is NaN, and this comparison does not hold.
    let inexact = _mm256_cmp_ps::<_CMP_NEQ_OQ>(error, _mm256_setzero_ps());
    _mm256_blendv_ps(sum, _mm256_castsi256_ps(odd), inexact)
}
