//! `assay-num`'s functions on the bits that rows hold.

use assay_num::{half, hardware, single};

pub(crate) use assay_num::{f16_to_f32, f32_to_f16};

/// Applies a function of singles to bits.
macro_rules! on_bits {
    ($($name:ident($($argument:ident),+) = $function:path;)+) => {$(
        #[inline(always)]
        pub(crate) fn $name($($argument: u32),+) -> u32 {
            $function($(f32::from_bits($argument)),+).to_bits()
        }
    )+};
}

on_bits! {
    flush(a) = assay_num::flush;
    add(a, b) = single::add;
    mul(a, b) = single::mul;
    fma(a, b, c) = single::fma;
    saturate(a) = single::saturate;
    floor(a) = single::floor;
    ceil(a) = single::ceil;
    trunc(a) = single::trunc;
    rint(a) = single::rint;
    rcp(a) = hardware::rcp;
    rsqrt(a) = hardware::rsqrt;
    rsqrt_special(a) = hardware::rsqrt_special;
    sin_pt_1(a) = hardware::sin_pt_1;
    sin_pt_2(a) = hardware::sin_pt_2;
    log2(a) = hardware::log2;
    exp2(a) = hardware::exp2;
}

pub(crate) use half::{
    add as half_add, fma as half_fma, mul as half_mul, saturate as half_saturate,
};

/// A single's bits as a brain float's, rounded to nearest even.
pub(crate) fn f32_to_bf16(bits: u32) -> u32 {
    u32::from(assay_num::f32_to_bf16(f32::from_bits(bits)))
}
