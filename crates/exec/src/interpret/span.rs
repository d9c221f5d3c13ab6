//! What the addresses of a simdgroup's lanes have in common.
//!
//! Threads that stand side by side mostly access numbers that lie side by side, or all the same one; in a threadgroup
//! of two dimensions, each row of eight, sixteen or thirty-two lanes does. Found out once, that makes one
//! bounds check and a few copies of 32 accesses.

use crate::lanes::{Narrow, Wide};

/// The form of 32 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The lowest.
    pub(crate) first: u64,
    /// The highest.
    pub(crate) last: u64,
    pub(crate) form: Form,
    /// Has a bit set if an address might have it set, as far as alignment is concerned.
    pub(crate) bits: u64,
}

/// How addresses follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nobody has looked yet.
    Unknown,
    /// In each run of so many lanes, each address is `step` bytes above the one before.
    Runs { length: u8, step: u8 },
    /// Anyhow.
    Scattered,
}

impl Span {
    pub(crate) const UNKNOWN: Self = Self {
        first: 0,
        last: 0,
        form: Form::Unknown,
        bits: 0,
    };

    /// The same addresses, all moved.
    #[inline(always)]
    pub(crate) fn moved(self, distance: u64) -> Self {
        Self {
            first: self.first.wrapping_add(distance),
            last: self.last.wrapping_add(distance),
            form: self.form,
            bits: self.bits | distance,
        }
    }

    /// The form of addresses.
    #[inline(always)]
    pub(crate) fn of(addresses: &Wide) -> Self {
        let step = addresses[1].wrapping_sub(addresses[0]);
        if step <= 8 {
            let starts = [addresses[0], addresses[8], addresses[16], addresses[24]];
            if is_run::<32>(addresses, 0, step) {
                return Self::of_runs(32, starts, step);
            }
            if is_run::<16>(addresses, 0, step) && is_run::<16>(addresses, 16, step) {
                return Self::of_runs(16, starts, step);
            }
            if is_run::<8>(addresses, 0, step)
                && is_run::<8>(addresses, 8, step)
                && is_run::<8>(addresses, 16, step)
                && is_run::<8>(addresses, 24, step)
            {
                return Self::of_runs(8, starts, step);
            }
        }
        let (mut first, mut last) = (addresses[0], addresses[0]);
        let mut bits = 0;
        for &address in addresses {
            first = first.min(address);
            last = last.max(address);
            bits |= address;
        }
        Self {
            first,
            last,
            form: Form::Scattered,
            bits,
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
        let form = match indices.form {
            Form::Runs { length, step } if scale <= 8 => Form::Runs {
                length,
                step: step * scale as u8,
            },
            _ => Form::Scattered,
        };
        Self {
            first: wide(indices.first),
            last: wide(indices.last),
            form,
            bits: base | scale,
        }
    }

    #[inline(always)]
    fn of_runs(length: u8, starts: [u64; 4], step: u64) -> Self {
        let [a, b, c, d] = starts;
        let (first, last) = match length {
            32 => (a, a),
            16 => (a.min(c), a.max(c)),
            _ => (a.min(b).min(c).min(d), a.max(b).max(c).max(d)),
        };
        Self {
            first,
            last: last.wrapping_add(step * (u64::from(length) - 1)),
            form: Form::Runs {
                length,
                step: step as u8,
            },
            bits: a | b | c | d | step,
        }
    }
}

/// The form of 32 indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indices {
    /// The lowest and the highest.
    first: u32,
    last: u32,
    /// In steps of 0 or 1.
    pub(crate) form: Form,
    /// How they were read.
    pub(crate) signed: bool,
}

impl Indices {
    pub(crate) const UNKNOWN: Self = Self {
        first: 0,
        last: 0,
        form: Form::Unknown,
        signed: false,
    };

    #[inline(always)]
    pub(crate) fn of(index: &Narrow, signed: bool) -> Self {
        let step = index[1].wrapping_sub(index[0]);
        if step <= 1 {
            let starts = [index[0], index[8], index[16], index[24]];
            let length = if narrow_run::<32>(index, 0, step) {
                32
            } else if narrow_run::<16>(index, 0, step) && narrow_run::<16>(index, 16, step) {
                16
            } else if narrow_run::<8>(index, 0, step)
                && narrow_run::<8>(index, 8, step)
                && narrow_run::<8>(index, 16, step)
                && narrow_run::<8>(index, 24, step)
            {
                8
            } else {
                0
            };
            if length != 0
                && let Some(found) = Self::of_runs(length, starts, step, signed)
            {
                return found;
            }
        }
        // With the sign bit flipped, signed numbers compare like unsigned ones.
        let flip = if signed { 1 << 31 } else { 0 };
        let (mut first, mut last) = (u32::MAX, 0);
        for &number in index {
            first = first.min(number ^ flip);
            last = last.max(number ^ flip);
        }
        Self {
            first: first ^ flip,
            last: last ^ flip,
            form: Form::Scattered,
            signed,
        }
    }

    /// Nothing if a run goes over the end of the numbers.
    #[inline(always)]
    fn of_runs(length: u8, [a, b, c, d]: [u32; 4], step: u32, signed: bool) -> Option<Self> {
        let flip = if signed { 1 << 31 } else { 0 };
        let [a, b, c, d] = [a ^ flip, b ^ flip, c ^ flip, d ^ flip];
        let (first, last) = match length {
            32 => (a, a),
            16 => (a.min(c), a.max(c)),
            _ => (a.min(b).min(c).min(d), a.max(b).max(c).max(d)),
        };
        let last = last.checked_add(step * (u32::from(length) - 1))?;
        Some(Self {
            first: first ^ flip,
            last: last ^ flip,
            form: Form::Runs {
                length,
                step: step as u8,
            },
            signed,
        })
    }
}

/// Whether `LEN` numbers from `start` on are each `step` (at most 8) above the one before.
#[inline(always)]
fn is_run<const LEN: usize>(numbers: &Wide, start: usize, step: u64) -> bool {
    let first = numbers[start];
    let mut different = 0;
    for lane in 0..LEN {
        let expected = first.wrapping_add(lane as u64 * step);
        different |= numbers[start + lane] ^ expected;
    }
    different == 0
}

/// The same for a step of 0 or 1.
#[inline(always)]
fn narrow_run<const LEN: usize>(numbers: &Narrow, start: usize, step: u32) -> bool {
    let first = numbers[start];
    let taken = step.wrapping_neg();
    let mut different = 0;
    for lane in 0..LEN {
        let expected = first.wrapping_add(lane as u32 & taken);
        different |= numbers[start + lane] ^ expected;
    }
    different == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(u64) -> u64) -> Wide {
        std::array::from_fn(|lane| f(lane as u64))
    }

    #[test]
    fn rows_of_a_threadgroup_are_seen() {
        let runs = |length, step| Form::Runs { length, step };
        assert_eq!(Span::of(&lanes(|l| 1000 + l * 4)).form, runs(32, 4));
        assert_eq!(Span::of(&lanes(|_| 1000)).form, runs(32, 0));
        assert_eq!(
            Span::of(&lanes(|l| l / 16 * 500 + l % 16 * 2)).form,
            runs(16, 2)
        );
        assert_eq!(
            Span::of(&lanes(|l| 900 - l / 8 * 100 + l % 8)).form,
            runs(8, 1)
        );
        assert_eq!(Span::of(&lanes(|l| 900 - l / 8 * 100)).form, runs(8, 0));
        let scattered = Span::of(&lanes(|l| 5000 + l * 7 % 32));
        assert_eq!((scattered.first, scattered.last), (5000, 5031));
        assert_eq!(scattered.form, Form::Scattered);
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
                    let seen = Span::of_indices(base, &Indices::of(&index, signed), scale);
                    let bounds = (addresses.iter().min(), addresses.iter().max());
                    assert_eq!(
                        (Some(&seen.first), Some(&seen.last)),
                        bounds,
                        "case {number}, signed {signed}, scale {scale}"
                    );
                    if let Form::Runs { length, step } = seen.form {
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
}
