//! Copies between registers and memory, after the addresses were checked.
//!
//! Other threads may access the same memory meanwhile, so these are no ordinary copies: each is a sequence of relaxed atomic
//! accesses.

use super::address_range::RunShape;
use super::addresses::Addresses;
use crate::lanes::lanes_of;
use crate::memory::{CheckedRange, Number};
use crate::simd::Simd;

/// Copies bytes, with the vector instructions of the level if it has any. Their width is that of the operations that read the
/// register next: a load of what two narrower stores wrote has to wait for both.
///
/// # Safety
/// Both sides must have that many bytes, aligned to `T`.
#[inline(always)]
pub(super) unsafe fn copy<T: Number, S: Simd>(_simd: S, to: *mut u8, from: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        if S::VECTOR_BYTES == 64 && len.is_multiple_of(64) {
            // SAFETY: as the caller promises.
            unsafe { copy_64(to, from, len) };
            return;
        }
        if S::VECTOR_BYTES != 0 && len.is_multiple_of(16) {
            // SAFETY: as the caller promises.
            unsafe { copy_32(to, from, len) };
            return;
        }
    }
    let mut done = 0;
    while done < len {
        // SAFETY: inside what the caller promises, and aligned.
        unsafe { T::set(to.add(done), T::get(from.add(done))) };
        done += size_of::<T>();
    }
}

/// # Safety
/// Both sides must have `len` bytes, a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn copy_64(to: *mut u8, from: *mut u8, len: usize) {
    let mut done = 0;
    while done < len {
        // SAFETY: reads and writes 64 of the promised bytes; the CPU does so like a row of relaxed atomic accesses.
        unsafe {
            std::arch::asm!("vmovdqu64 {t}, [{from}]", "vmovdqu64 [{to}], {t}",
                from = in(reg) from.add(done), to = in(reg) to.add(done), t = out(zmm_reg) _,
                options(nostack, preserves_flags));
        }
        done += 64;
    }
}

/// # Safety
/// Both sides must have `len` bytes, a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
unsafe fn copy_32(to: *mut u8, from: *mut u8, len: usize) {
    use std::arch::asm;
    let mut done = 0;
    while done + 32 <= len {
        // SAFETY: as above, 32 bytes.
        unsafe {
            asm!("vmovdqu {t}, [{from}]", "vmovdqu [{to}], {t}",
                from = in(reg) from.add(done), to = in(reg) to.add(done), t = out(ymm_reg) _,
                options(nostack, preserves_flags));
        }
        done += 32;
    }
    if done < len {
        // SAFETY: as above, 16 bytes.
        unsafe {
            asm!("vmovdqu {t:x}, [{from}]", "vmovdqu [{to}], {t:x}",
                from = in(reg) from.add(done), to = in(reg) to.add(done), t = out(xmm_reg) _,
                options(nostack, preserves_flags));
        }
    }
}

/// Writes those of 32 words that are in the mask, with vector instructions (a masked store).
///
/// # Safety
/// Both sides must have 32 words; the level must have vector registers of 32 or 64 bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn store_masked<S: Simd>(_simd: S, to: *mut u8, from: *const u8, mask: u32) {
    // SAFETY: as the caller promises.
    unsafe {
        match S::VECTOR_BYTES {
            64 => store_masked_64(to, from, mask),
            _ => store_masked_32(to, from, mask),
        }
    }
}

/// # Safety
/// As for [`store_some`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn store_masked_64(to: *mut u8, from: *const u8, mask: u32) {
    for (half, mask) in [mask as u16, (mask >> 16) as u16].into_iter().enumerate() {
        // SAFETY: reads 64 of the promised bytes and writes the words in the mask; the CPU does so like a row of
        // relaxed atomic accesses.
        unsafe {
            std::arch::asm!("vmovdqu32 {t}, [{from}]", "vmovdqu32 [{to}]{{{mask}}}, {t}",
                from = in(reg) from.add(half * 64), to = in(reg) to.add(half * 64), t = out(zmm_reg) _,
                mask = in(kreg) mask, options(nostack, preserves_flags));
        }
    }
}

/// # Safety
/// As for [`store_some`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn store_masked_32(to: *mut u8, from: *const u8, mask: u32) {
    use std::arch::x86_64::{
        _mm256_and_si256, _mm256_cmpeq_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
    };
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (quarter, mask) in mask.to_le_bytes().into_iter().enumerate() {
        let lanes = _mm256_and_si256(_mm256_set1_epi32(mask.into()), bits);
        let lanes = _mm256_cmpeq_epi32(lanes, bits);
        // SAFETY: as above, 32 bytes.
        unsafe {
            std::arch::asm!("vmovdqu {t}, [{from}]", "vpmaskmovd [{to}], {lanes}, {t}",
                from = in(reg) from.add(quarter * 32), to = in(reg) to.add(quarter * 32), t = out(ymm_reg) _,
                lanes = in(ymm_reg) lanes, options(nostack, preserves_flags));
        }
    }
}

/// Reads a number for each lane (a gather, where addresses follow no rule).
///
/// # Safety
/// All addresses, `extra` further on, must lie in the range with the size of a number and be aligned to it.
#[inline(always)]
pub(super) unsafe fn load_lanes<T: Number, S: Simd>(
    simd: S,
    numbers: &mut [T; 32],
    range: CheckedRange<'_>,
    addresses: &Addresses<'_>,
    runs: RunShape,
    extra: u64,
) {
    let place = |lane: usize| range.at(addresses.at(lane).wrapping_add(extra));
    let (length, step) = (runs.length, runs.step as usize);
    match length {
        1.. if step == size_of::<T>() => {
            let mut copy = |start: usize, lanes: usize| {
                let to = numbers[start..].as_mut_ptr().cast();
                // SAFETY: a run of lanes is a run of numbers, inside the range by the caller's promise.
                unsafe { copy::<T, S>(simd, to, place(start), lanes * size_of::<T>()) }
            };
            match length {
                32 => copy(0, 32),
                16 => {
                    copy(0, 16);
                    copy(16, 16);
                }
                _ => (0..4).for_each(|run| copy(run * 8, 8)),
            }
        }
        32 if step == 0 => {
            // SAFETY: by the caller's promise.
            *numbers = [unsafe { T::get(place(0)) }; 32];
        }
        16 if step == 0 => {
            for run in 0..2 {
                // SAFETY: by the caller's promise.
                let number = unsafe { T::get(place(run * 16)) };
                numbers[run * 16..run * 16 + 16].fill(number);
            }
        }
        1.. if step == 0 => {
            for run in 0..4 {
                // SAFETY: by the caller's promise.
                let number = unsafe { T::get(place(run * 8)) };
                numbers[run * 8..run * 8 + 8].fill(number);
            }
        }
        _ => {
            for (lane, number) in numbers.iter_mut().enumerate() {
                // SAFETY: by the caller's promise.
                *number = unsafe { T::get(place(lane)) };
            }
        }
    }
}

/// Writes the active lanes' numbers, lowest lane first (a scatter, where addresses follow no rule).
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
pub(super) unsafe fn store_lanes<T: Number, S: Simd>(
    simd: S,
    numbers: &[T; 32],
    mask: u32,
    range: CheckedRange<'_>,
    addresses: &Addresses<'_>,
    runs: RunShape,
    extra: u64,
) {
    let place = |lane: usize| range.at(addresses.at(lane).wrapping_add(extra));
    let (length, step) = (runs.length as usize, runs.step as usize);
    match length {
        1.. if mask == !0 && step == size_of::<T>() => {
            let mut start = 0;
            while start < 32 {
                let from = numbers[start..].as_ptr().cast_mut().cast();
                // SAFETY: by the caller's promise.
                unsafe { copy::<T, S>(simd, place(start), from, length * size_of::<T>()) };
                start += length;
            }
        }
        #[cfg(target_arch = "x86_64")]
        32 if S::VECTOR_BYTES != 0 && step == 4 && size_of::<T>() == 4 => {
            // SAFETY: by the caller's promise; there are 32 numbers of four bytes.
            unsafe { store_masked(simd, place(0), numbers.as_ptr().cast(), mask) };
        }
        // The last one stays.
        32 if step == 0 && mask != 0 => {
            let lane = 31 - mask.leading_zeros() as usize;
            // SAFETY: by the caller's promise.
            unsafe { T::set(place(lane), numbers[lane]) }
        }
        _ => {
            for lane in lanes_of(mask) {
                // SAFETY: by the caller's promise.
                unsafe { T::set(place(lane), numbers[lane]) }
            }
        }
    }
}
