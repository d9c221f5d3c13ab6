//! Ranges of addresses and indices, and the runs in which lanes follow each other.
//!
//! Neighbouring threads mostly access neighbouring numbers, or all the same one; in a threadgroup of two dimensions, each row of
//! eight, sixteen or thirty-two lanes does. Found out once for all simdgroups of a batch, one bounds check and a few copies
//! serve all their accesses.

use crate::lanes::{Narrow, Wide};
use crate::simd::Simd;

/// Some simdgroups of a batch: the first, and how many.
pub(crate) type SimdgroupRange = (u8, u8);

/// The range of addresses in the lanes of some simdgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressRange {
    /// The lowest.
    pub(crate) first: u64,
    /// The highest.
    pub(crate) last: u64,
    pub(crate) runs: RunShape,
    /// A bit is set if an address might have it set, as far as alignment is concerned.
    pub(crate) bits: u64,
    pub(crate) simdgroups: SimdgroupRange,
}

/// The runs of a simdgroup's lanes: in each run of `length` lanes, each address is `step` above the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunShape {
    /// 32, 16 or 8; 0 if there are no such runs.
    pub(crate) length: u32,
    pub(crate) step: u32,
}

impl RunShape {
    /// No runs.
    pub(crate) const SCATTERED: Self = Self { length: 0, step: 0 };
}

impl AddressRange {
    pub(crate) const UNKNOWN: Self = Self {
        first: 0,
        last: 0,
        runs: RunShape::SCATTERED,
        bits: 0,
        simdgroups: (0, 0),
    };

    /// All addresses so much further on.
    #[inline(always)]
    pub(crate) fn moved(self, distance: u64) -> Self {
        Self {
            first: self.first.wrapping_add(distance),
            last: self.last.wrapping_add(distance),
            runs: self.runs,
            bits: self.bits | distance,
            simdgroups: self.simdgroups,
        }
    }

    /// The range of addresses in lanes.
    #[inline(always)]
    pub(crate) fn of(addresses: &[Wide], simdgroups: SimdgroupRange) -> Self {
        let step = match addresses {
            [lanes, ..] => lanes[1].wrapping_sub(lanes[0]),
            [] => return Self::UNKNOWN,
        };
        if step <= 8 {
            let length = if wide_runs::<32>(addresses, step) {
                32
            } else if wide_runs::<16>(addresses, step) {
                16
            } else if wide_runs::<8>(addresses, step) {
                8
            } else {
                0
            };
            if length != 0 {
                return Self::of_runs(addresses, length, step, simdgroups);
            }
        }
        let (mut first, mut last, mut bits) = (u64::MAX, 0, 0);
        for lanes in addresses {
            for &address in lanes {
                first = first.min(address);
                last = last.max(address);
                bits |= address;
            }
        }
        Self {
            first,
            last,
            runs: RunShape::SCATTERED,
            bits,
            simdgroups,
        }
    }

    /// The range of `base + index * scale`.
    #[inline(always)]
    pub(crate) fn of_indices(base: u64, indices: &IndexRange, scale: u64) -> Self {
        let wide = |number: u32| {
            let number = if indices.signed {
                i64::from(number as i32) as u64
            } else {
                u64::from(number)
            };
            base.wrapping_add(number.wrapping_mul(scale))
        };
        let runs = if scale <= 8 {
            RunShape {
                length: indices.runs.length,
                step: indices.runs.step * scale as u32,
            }
        } else {
            RunShape::SCATTERED
        };
        Self {
            first: wide(indices.first),
            last: wide(indices.last),
            runs,
            bits: base | scale,
            simdgroups: indices.simdgroups,
        }
    }

    #[inline(always)]
    fn of_runs(addresses: &[Wide], length: u32, step: u64, simdgroups: SimdgroupRange) -> Self {
        let (mut first, mut last, mut bits) = (u64::MAX, 0, step);
        for lanes in addresses {
            let mut start = 0;
            while start < 32 {
                first = first.min(lanes[start]);
                last = last.max(lanes[start]);
                bits |= lanes[start];
                start += length as usize;
            }
        }
        Self {
            first,
            last: last.wrapping_add(step * (u64::from(length) - 1)),
            runs: RunShape {
                length,
                step: step as u32,
            },
            bits,
            simdgroups,
        }
    }
}

/// The range of 32-bit indices in the lanes of some simdgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexRange {
    /// The lowest and the highest.
    pub(super) first: u32,
    pub(super) last: u32,
    /// Of steps 0 or 1.
    pub(crate) runs: RunShape,
    /// True if the lanes were read as signed numbers.
    pub(crate) signed: bool,
    pub(crate) simdgroups: SimdgroupRange,
}

impl IndexRange {
    pub(crate) const UNKNOWN: Self = Self {
        first: 0,
        last: 0,
        runs: RunShape::SCATTERED,
        signed: false,
        simdgroups: (0, 0),
    };

    #[inline(always)]
    pub(crate) fn of<S: Simd>(
        simd: S,
        index: &[Narrow],
        signed: bool,
        simdgroups: SimdgroupRange,
    ) -> Self {
        let step = match index {
            [lanes, ..] => lanes[1].wrapping_sub(lanes[0]),
            [] => return Self::UNKNOWN,
        };
        if step <= 1 {
            let length = if narrow_runs::<32, S>(simd, index, step) {
                32
            } else if narrow_runs::<16, S>(simd, index, step) {
                16
            } else if narrow_runs::<8, S>(simd, index, step) {
                8
            } else {
                0
            };
            if length != 0
                && let Some(found) = Self::of_runs(index, length, step, signed, simdgroups)
            {
                return found;
            }
        }
        // With the sign bit flipped, signed numbers compare like unsigned ones.
        let flip = if signed { 1 << 31 } else { 0 };
        let (mut first, mut last) = (u32::MAX, 0);
        for lanes in index {
            for &number in lanes {
                first = first.min(number ^ flip);
                last = last.max(number ^ flip);
            }
        }
        Self {
            first: first ^ flip,
            last: last ^ flip,
            runs: RunShape::SCATTERED,
            signed,
            simdgroups,
        }
    }

    /// The range of runs; nothing if the last number of a run is below its first.
    #[inline(always)]
    fn of_runs(
        index: &[Narrow],
        length: u32,
        step: u32,
        signed: bool,
        simdgroups: SimdgroupRange,
    ) -> Option<Self> {
        let flip = if signed { 1 << 31 } else { 0 };
        let (mut first, mut last) = (u32::MAX, 0);
        for lanes in index {
            let mut start = 0;
            while start < 32 {
                first = first.min(lanes[start] ^ flip);
                last = last.max(lanes[start] ^ flip);
                start += length as usize;
            }
        }
        let last = last.checked_add(step * (length - 1))?;
        Some(Self {
            first: first ^ flip,
            last: last ^ flip,
            runs: RunShape { length, step },
            signed,
            simdgroups,
        })
    }
}

/// Returns true if in each run of `LEN` numbers each is `step` (at most 8) above the one before.
#[inline(always)]
fn wide_runs<const LEN: usize>(numbers: &[Wide], step: u64) -> bool {
    let mut different = 0;
    for lanes in numbers {
        for run in 0..32 / LEN {
            for lane in 0..LEN {
                let expected = lanes[run * LEN].wrapping_add(lane as u64 * step);
                different |= lanes[run * LEN + lane] ^ expected;
            }
        }
    }
    different == 0
}

/// The same for a step of 0 or 1.
#[inline(always)]
fn narrow_runs<const LEN: usize, S: Simd>(_simd: S, numbers: &[Narrow], step: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if S::VECTOR_BYTES == 64 {
        // SAFETY: the token proves that the CPU has such registers.
        return unsafe { narrow_runs_64::<LEN>(numbers, step) };
    }
    let taken = step.wrapping_neg();
    let mut different = 0;
    for lanes in numbers {
        for run in 0..32 / LEN {
            for lane in 0..LEN {
                let expected = lanes[run * LEN].wrapping_add(lane as u32 & taken);
                different |= lanes[run * LEN + lane] ^ expected;
            }
        }
    }
    different == 0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn narrow_runs_64<const LEN: usize>(numbers: &[Narrow], step: u32) -> bool {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_and_si512, _mm512_cmpneq_epi32_mask, _mm512_loadu_si512,
        _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_setr_epi32, _mm512_setzero_si512,
    };
    let lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let in_run = match LEN {
        8 => _mm512_and_si512(lane, _mm512_set1_epi32(7)),
        _ => lane,
    };
    // The lane each run starts with.
    let start = match LEN {
        8 => _mm512_and_si512(lane, _mm512_set1_epi32(8)),
        _ => _mm512_setzero_si512(),
    };
    let taken = _mm512_set1_epi32(step.wrapping_neg() as i32);
    let low_add = _mm512_and_si512(in_run, taken);
    let high_add = match LEN {
        32 => _mm512_and_si512(_mm512_add_epi32(lane, _mm512_set1_epi32(16)), taken),
        _ => low_add,
    };
    let mut different = 0;
    for lanes in numbers {
        // SAFETY: sixteen lanes each.
        let (low, high) = unsafe {
            (
                _mm512_loadu_si512(lanes.as_ptr().cast()),
                _mm512_loadu_si512(lanes.as_ptr().add(16).cast()),
            )
        };
        let low_start = _mm512_permutexvar_epi32(start, low);
        let high_start = match LEN {
            32 => low_start,
            _ => _mm512_permutexvar_epi32(start, high),
        };
        different |= _mm512_cmpneq_epi32_mask(low, _mm512_add_epi32(low_start, low_add));
        different |= _mm512_cmpneq_epi32_mask(high, _mm512_add_epi32(high_start, high_add));
    }
    different == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    fn lanes(f: impl Fn(u64) -> u64) -> Wide {
        std::array::from_fn(|lane| f(lane as u64))
    }

    /// The range as any CPU finds it, which must be what this one finds with its vector instructions.
    fn indices(index: &[Narrow], signed: bool, simdgroups: SimdgroupRange) -> IndexRange {
        let found = IndexRange::of(Portable, index, signed, simdgroups);
        #[cfg(target_arch = "x86_64")]
        if crate::simd::SimdLevel::named("avx512").is_some() {
            // SAFETY: the CPU has this level.
            let simd = unsafe { crate::simd::Avx512::assume() };
            assert_eq!(IndexRange::of(simd, index, signed, simdgroups), found);
        }
        found
    }

    fn of(addresses: &Wide) -> AddressRange {
        AddressRange::of(std::slice::from_ref(addresses), (0, 1))
    }

    #[test]
    fn rows_of_a_threadgroup_are_seen() {
        let runs = |length, step| RunShape { length, step };
        assert_eq!(of(&lanes(|l| 1000 + l * 4)).runs, runs(32, 4));
        assert_eq!(of(&lanes(|_| 1000)).runs, runs(32, 0));
        assert_eq!(of(&lanes(|l| l / 16 * 500 + l % 16 * 2)).runs, runs(16, 2));
        assert_eq!(of(&lanes(|l| 900 - l / 8 * 100 + l % 8)).runs, runs(8, 1));
        assert_eq!(of(&lanes(|l| 900 - l / 8 * 100)).runs, runs(8, 0));
        let scattered = of(&lanes(|l| 5000 + l * 7 % 32));
        assert_eq!((scattered.first, scattered.last), (5000, 5031));
        assert_eq!(scattered.runs, RunShape::SCATTERED);
    }

    #[test]
    fn indices_mean_the_same_as_addresses() {
        let cases: [fn(u32) -> u32; 8] = [
            |l| l,
            |_| 7,
            |l| l.wrapping_sub(5),
            |l| 0x7fff_fff0 + l,
            |l| u32::MAX - 31 + l,
            |l| l / 8 * 1000 + l % 8,
            |l| l * l,
            |l| u32::MAX - l,
        ];
        for (number, case) in cases.into_iter().enumerate() {
            for signed in [false, true] {
                for scale in [1u64, 4, 8, 12] {
                    let index: Narrow = std::array::from_fn(|lane| case(lane as u32));
                    let base = 1 << 40;
                    let addresses = lanes(|l| {
                        let value = index[l as usize];
                        let value = if signed {
                            i64::from(value as i32) as u64
                        } else {
                            u64::from(value)
                        };
                        (value.wrapping_mul(scale)).wrapping_add(base)
                    });
                    let seen =
                        AddressRange::of_indices(base, &indices(&[index], signed, (0, 1)), scale);
                    let bounds = (addresses.iter().min(), addresses.iter().max());
                    assert_eq!(
                        (Some(&seen.first), Some(&seen.last)),
                        bounds,
                        "case {number}, signed {signed}, scale {scale}"
                    );
                    let RunShape { length, step } = seen.runs;
                    if length != 0 {
                        for lane in 0..32 {
                            let start = lane / length as usize * length as usize;
                            let expected =
                                addresses[start] + (lane - start) as u64 * u64::from(step);
                            assert_eq!(addresses[lane], expected);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn simdgroups_side_by_side_have_one_form() {
        let rows = [lanes(|l| 4096 + l * 4), lanes(|l| 1024 + l * 4)];
        let seen = AddressRange::of(&rows, (2, 2));
        let runs = |length, step| RunShape { length, step };
        assert_eq!((seen.first, seen.last), (1024, 4096 + 31 * 4));
        assert_eq!((seen.runs, seen.simdgroups), (runs(32, 4), (2, 2)));
        let mixed = [
            lanes(|l| 4096 + l * 4),
            lanes(|l| 1024 + l / 16 * 500 + l % 16 * 4),
        ];
        assert_eq!(AddressRange::of(&mixed, (0, 2)).runs, runs(16, 4));
        let index = [[5; 32], std::array::from_fn(|lane| lane as u32)];
        assert_eq!(indices(&index, false, (0, 2)).runs, RunShape::SCATTERED);
    }
}
