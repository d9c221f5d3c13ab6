//! The arithmetic of `assay-num` under the names the interpreter uses, on bits.

pub(crate) use half_bits::{f16_to_f32, f32_to_f16};

mod half_bits {
    #[inline(always)]
    pub(crate) const fn f16_to_f32(bits: u16) -> f32 {
        let sign = (bits as u32 & 0x8000) << 16;
        let magnitude = (bits & 0x7fff) as u32;
        let shifted = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
        let wide = if magnitude >= 0x7c00 { shifted.to_bits() | 0x7f80_0000 } else { shifted.to_bits() };
        f32::from_bits(wide | sign)
    }
    #[inline(always)]
    pub(crate) const fn f32_to_f16(value: f32) -> u16 {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 { return 0x7e00; }
        if magnitude >= 0x4780_0000 { return sign | 0x7c00; }
        let rounded = if magnitude < 0x3880_0000 {
            (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000
        } else {
            let odd = magnitude >> 13 & 1;
            (magnitude - 0x3800_0000 + 0xfff + odd) >> 13
        };
        sign | rounded as u16
    }
}
#[inline(always)]
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}
#[inline(always)]
fn out(v: f32) -> u32 { if v.is_nan() { 0x7fc0_0000 } else { flush(v.to_bits()) } }
#[inline(always)]
fn inp(b: u32) -> f32 { f32::from_bits(flush(b)) }
#[inline(always)]
pub(crate) fn fma(a: u32, b: u32, c: u32) -> u32 { out(inp(a).mul_add(inp(b), inp(c))) }
#[inline(always)]
pub(crate) fn add(a: u32, b: u32) -> u32 { out(inp(a) + inp(b)) }
#[inline(always)]
pub(crate) fn mul(a: u32, b: u32) -> u32 { out(inp(a) * inp(b)) }
#[inline(always)]
pub(crate) fn saturate(bits: u32) -> u32 { let v = f32::from_bits(bits); if v > 1.0 { 0x3f80_0000 } else if v > 0.0 { bits } else { 0 } }
#[inline(always)]
pub(crate) fn half_saturate(bits: u16) -> u16 { let v = f16_to_f32(bits); if v > 1.0 { 0x3c00 } else if v > 0.0 { bits } else { 0 } }
#[inline(always)]
pub(crate) fn half_fma(a: u16, b: u16, c: u16) -> u16 {
    let p = f64::from(f16_to_f32(a)) * f64::from(f16_to_f32(b));
    let c = f64::from(f16_to_f32(c));
    let s = p + c;
    // round to odd
    let bb = s - p;
    let err = (p - (s - bb)) + (c - bb);
    let bits = s.to_bits();
    let odd = if err != 0.0 && bits & 1 == 0 { if (err > 0.0) == (s > 0.0) { bits + 1 } else { bits - 1 } } else { bits };
    f64_to_f16(f64::from_bits(odd))
}
fn f64_to_f16(v: f64) -> u16 {
    // v to f32 with round to odd then to f16
    let s = v as f32;
    if !s.is_finite() { return f32_to_f16(s); }
    let d = f64::from(s);
    let bits = s.to_bits();
    let odd = if d != v && bits & 1 == 0 { if d.abs() < v.abs() { bits + 1 } else { bits.wrapping_sub(1) } } else { bits };
    f32_to_f16(f32::from_bits(odd))
}
#[inline(always)]
pub(crate) fn half_add(a: u16, b: u16) -> u16 { f32_to_f16(f16_to_f32(a) + f16_to_f32(b)) }
#[inline(always)]
pub(crate) fn half_mul(a: u16, b: u16) -> u16 { f32_to_f16(f16_to_f32(a) * f16_to_f32(b)) }
pub(crate) fn floor(a: u32) -> u32 { out(inp(a).floor()) }
pub(crate) fn ceil(a: u32) -> u32 { out(inp(a).ceil()) }
pub(crate) fn trunc(a: u32) -> u32 { out(inp(a).trunc()) }
pub(crate) fn rint(a: u32) -> u32 { out(inp(a).round_ties_even()) }
pub(crate) fn rcp(a: u32) -> u32 { out(1.0 / inp(a)) }
pub(crate) fn rsqrt(a: u32) -> u32 { out((1.0 / f64::from(inp(a)).sqrt()) as f32) }
pub(crate) fn rsqrt_special(a: u32) -> u32 { let x = inp(a); if x == 0.0 { 0 } else if x == f32::INFINITY { 0x3f80_0000 } else { rsqrt(a) } }
pub(crate) fn sin_pt_1(a: u32) -> u32 {
    let x = inp(a);
    out(if x < 1.0 { x } else if x < 3.0 { 2.0 - x } else { x - 4.0 })
}
pub(crate) fn sin_pt_2(a: u32) -> u32 {
    let x = f64::from(inp(a));
    out(if x == 0.0 { std::f64::consts::FRAC_PI_2 } else { (x * std::f64::consts::FRAC_PI_2).sin() / x } as f32)
}
pub(crate) fn log2(a: u32) -> u32 { out(f64::from(inp(a)).log2() as f32) }
pub(crate) fn exp2(a: u32) -> u32 { out(f64::from(inp(a)).exp2() as f32) }
pub(crate) fn int_to_float(v: i64, nearest: bool, wide: bool) -> u32 {
    let mut f = v as f32;
    if !nearest && (f as f64).abs() > (v as f64).abs() { f = f32::from_bits(f.to_bits() - 1); }
    if wide { f.to_bits() } else { u32::from(f32_to_f16(f)) }
}
pub(crate) fn float_to_int(a: u32, bits: u32, signed: bool, nearest: bool) -> u32 {
    let x = f64::from(inp(a));
    let x = if nearest { x.round_ties_even() } else { x.trunc() };
    let (lo, hi) = if signed { (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0) } else { (0.0, 2f64.powi(bits as i32) - 1.0) };
    if x.is_nan() { 0 } else { x.clamp(lo, hi) as i64 as u32 }
}
pub(crate) fn min(a: u32, b: u32) -> u32 { let (a, b) = (inp(a), inp(b)); out(if b.is_nan() || a < b { a } else { b }) }
pub(crate) fn max(a: u32, b: u32) -> u32 { let (a, b) = (inp(a), inp(b)); out(if b.is_nan() || a > b { a } else { b }) }
