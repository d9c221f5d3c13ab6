//! What the addresses of a simdgroup's lanes have in common.
//!
//! Threads that stand side by side mostly access numbers that lie side by side, or all the same one; in a threadgroup
//! of two dimensions, each row of eight, sixteen or thirty-two lanes does. Found out once for all simdgroups that run in
//! step, that makes one bounds check and a few copies of all their accesses.

use crate::lanes::{Narrow, Wide};

/// Which simdgroups of a batch were looked at: the first, and how many.
pub(crate) type Part = (u8, u8);

/// The form of addresses, 32 of each simdgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The lowest.
    pub(crate) first: u64,
    /// The highest.
    pub(crate) last: u64,
    pub(crate) form: Form,
    /// Has a bit set if an address might have it set, as far as alignment is concerned.
    pub(crate) bits: u64,
    /// Whose they are.
    pub(crate) part: Part,
}

/// How addresses follow each other: in each run of so many lanes, each address is `step` above the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// 32, 16 or 8; 0 if there are no such runs.
    pub(crate) length: u32,
    pub(crate) step: u32,
}

impl Form {
    /// Anyhow.
    pub(crate) const SCATTERED: Self = Self { length: 0, step: 0 };
}

impl Span {
    pub(crate) const UNKNOWN: Self = Self {
        first: 0,
        last: 0,
        form: Form::SCATTERED,
        bits: 0,
        part: (0, 0),
    };

    /// The same addresses, all moved.
    #[inline(always)]
    pub(crate) fn moved(self, distance: u64) -> Self {
        Self {
            first: self.first.wrapping_add(distance),
            last: self.last.wrapping_add(distance),
            form: self.form,
            bits: self.bits | distance,
            part: self.part,
        }
    }

    /// The form of addresses.
    #[inline(always)]
    pub(crate) fn of(addresses: &[Wide], part: Part) -> Self {
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
                return Self::of_runs(addresses, length, step, part);
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
            form: Form::SCATTERED,
            bits,
            part,
        }
    }

    /// The form of `base + index * scale`, given that of the indices.
    #[inline(always)]
    pub(crate) fn of_indices(base: u64, indices: &Indices, scale: u64) -> Self {
        let wide = |number: u32| {
            let number = if indices.signed {
                i64::from(number as i32) as u64
            } else {
                u64::from(number)
            };
            base.wrapping_add(number.wrapping_mul(scale))
        };
        let form = if scale <= 8 {
            Form {
                length: indices.form.length,
                step: indices.form.step * scale as u32,
            }
        } else {
            Form::SCATTERED
        };
        Self {
            first: wide(indices.first),
            last: wide(indices.last),
            form,
            bits: base | scale,
            part: indices.part,
        }
    }

    #[inline(always)]
    fn of_runs(addresses: &[Wide], length: u32, step: u64, part: Part) -> Self {
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
            form: Form {
                length,
                step: step as u32,
            },
            bits,
            part,
        }
    }
}

/// The form of indices, 32 of each simdgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indices {
    /// The lowest and the highest.
    pub(super) first: u32,
    pub(super) last: u32,
    /// In steps of 0 or 1.
    pub(crate) form: Form,
    /// How they were read.
    pub(crate) signed: bool,
    /// Whose they are.
    pub(crate) part: Part,
}

impl Indices {
    pub(crate) const UNKNOWN: Self = Self {
        first: 0,
        last: 0,
        form: Form::SCATTERED,
        signed: false,
        part: (0, 0),
    };

    #[inline(always)]
    pub(crate) fn of<const VECTOR: usize>(index: &[Narrow], signed: bool, part: Part) -> Self {
        let step = match index {
            [lanes, ..] => lanes[1].wrapping_sub(lanes[0]),
            [] => return Self::UNKNOWN,
        };
        if step <= 1 {
            let length = if narrow_runs::<32, VECTOR>(index, step) {
                32
            } else if narrow_runs::<16, VECTOR>(index, step) {
                16
            } else if narrow_runs::<8, VECTOR>(index, step) {
                8
            } else {
                0
            };
            if length != 0
                && let Some(found) = Self::of_runs(index, length, step, signed, part)
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
            form: Form::SCATTERED,
            signed,
            part,
        }
    }

    /// Nothing if the last number of a run is below its first.
    #[inline(always)]
    fn of_runs(index: &[Narrow], length: u32, step: u32, signed: bool, part: Part) -> Option<Self> {
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
            form: Form { length, step },
            signed,
            part,
        })
    }
}

/// Whether in each run of `LEN` numbers each is `step` (at most 8) above the one before.
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

/// The same for a step of 0 or 1. `VECTOR`: bytes of the vector registers there are, or 0.
#[inline(always)]
fn narrow_runs<const LEN: usize, const VECTOR: usize>(numbers: &[Narrow], step: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if VECTOR == 64 {
        // SAFETY: the CPU has such registers.
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

    fn lanes(f: impl Fn(u64) -> u64) -> Wide {
        std::array::from_fn(|lane| f(lane as u64))
    }

    /// As this CPU finds it, and as any does.
    fn indices(index: &[Narrow], signed: bool, part: Part) -> Indices {
        let found = Indices::of::<0>(index, signed, part);
        #[cfg(target_arch = "x86_64")]
        if crate::lanes::Level::of_this_cpu() == crate::lanes::Level::Avx512 {
            assert_eq!(Indices::of::<64>(index, signed, part), found);
        }
        found
    }

    fn of(addresses: &Wide) -> Span {
        Span::of(std::slice::from_ref(addresses), (0, 1))
    }

    #[test]
    fn rows_of_a_threadgroup_are_seen() {
        let runs = |length, step| Form { length, step };
        assert_eq!(of(&lanes(|l| 1000 + l * 4)).form, runs(32, 4));
        assert_eq!(of(&lanes(|_| 1000)).form, runs(32, 0));
        assert_eq!(of(&lanes(|l| l / 16 * 500 + l % 16 * 2)).form, runs(16, 2));
        assert_eq!(of(&lanes(|l| 900 - l / 8 * 100 + l % 8)).form, runs(8, 1));
        assert_eq!(of(&lanes(|l| 900 - l / 8 * 100)).form, runs(8, 0));
        let scattered = of(&lanes(|l| 5000 + l * 7 % 32));
        assert_eq!((scattered.first, scattered.last), (5000, 5031));
        assert_eq!(scattered.form, Form::SCATTERED);
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
                    let seen = Span::of_indices(base, &indices(&[index], signed, (0, 1)), scale);
                    let bounds = (addresses.iter().min(), addresses.iter().max());
                    assert_eq!(
                        (Some(&seen.first), Some(&seen.last)),
                        bounds,
                        "case {number}, signed {signed}, scale {scale}"
                    );
                    let Form { length, step } = seen.form;
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
        let seen = Span::of(&rows, (2, 2));
        let runs = |length, step| Form { length, step };
        assert_eq!((seen.first, seen.last), (1024, 4096 + 31 * 4));
        assert_eq!((seen.form, seen.part), (runs(32, 4), (2, 2)));
        let mixed = [
            lanes(|l| 4096 + l * 4),
            lanes(|l| 1024 + l / 16 * 500 + l % 16 * 4),
        ];
        assert_eq!(Span::of(&mixed, (0, 2)).form, runs(16, 4));
        let index = [[5; 32], std::array::from_fn(|lane| lane as u32)];
        assert_eq!(indices(&index, false, (0, 2)).form, Form::SCATTERED);
    }
}
