//! Exact reduction of large angles, after Payne and Hanek.
//!
//! A single of 2¹⁷ or more is an integer times a power of two. Multiplied with as many bits of 2/π as matter, from where
//! products stop being whole turns, it leaves the quarter turns modulo four and 62 bits of the rest.

use crate::machine::Machine;

/// From here on angles are reduced exactly; below, π/2 in four parts is exact enough.
pub(super) const FAR: f32 = 131_072.0;

/// 32 zeros, then the first bits of 2/π.
pub const TWO_OVER_PI_BITS: [u32; 8] = [
    0,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
];

/// Quarter turns modulo four of the magnitude of a number from [`FAR`] on, and the rest as three integers:
/// `a · 2⁻²² + b · 2⁻⁴⁶ + c · 2⁻⁶²` quarter turns, between −½ and ½.
pub(crate) fn parts(x: f32) -> [f32; 4] {
    let bits = x.to_bits() & 0x7fff_ffff;
    let mantissa = bits & 0x007f_ffff | 0x0080_0000;
    // The bit of the table that stands for two quarter turns of the mantissa's last bit.
    let first = (bits >> 23).wrapping_sub(120);
    let (word, shift) = ((first >> 5).min(4) as usize, first & 31);
    let window = |at: usize| {
        let [high, low] = [word + at, word + at + 1].map(|at| u64::from(TWO_OVER_PI_BITS[at]));
        ((high << 32 | low) >> (32 - shift)) as u32
    };
    let product = |at: usize, more: u64| u64::from(mantissa) * u64::from(window(at)) + (more >> 32);
    let last = product(2, 0);
    let middle = product(1, last);
    let top = product(0, middle) as u32;
    let quarters = top.wrapping_add(0x2000_0000) >> 30;
    let rest = top.wrapping_sub(quarters << 30) as i32;
    let low = middle as u32;
    [
        quarters as f32,
        (rest >> 8) as f32,
        ((rest as u32 & 0xff) << 16 | low >> 16) as f32,
        (low & 0xffff) as f32,
    ]
}

/// Quarter turns modulo four and the rest, in radians and in two parts, of a number from [`FAR`] on.
#[inline(always)]
pub(super) fn far<M: Machine>(m: &M, x: M::Float, [high, low]: [f32; 2]) -> [M::Float; 3] {
    let [quarters, a, b, c] = m.far_parts(x);
    let scaled = |exponent: i32| m.constant(2f32.powi(exponent));
    let first = m.mul(a, scaled(-22));
    let turns = m.fma(b, scaled(-46), first);
    let lost = m.fma(b, scaled(-46), m.sub(first, turns));
    let lost = m.fma(c, scaled(-62), lost);
    let (high, low) = (m.constant(high), m.constant(low));
    let r = m.mul(turns, high);
    let rest = m.fma(turns, low, m.fma(turns, high, m.neg(r)));
    let rest = m.fma(lost, high, rest);
    let sign = m.copysign(m.constant(1.0), x);
    [quarters, r, rest].map(|value| m.mul(value, sign))
}
