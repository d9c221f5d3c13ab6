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
            let mut different = 0;
            for run in 0..4 {
                let start = addresses[run * 8];
                for lane in 0..8 {
                    let expected = start.wrapping_add(lane as u64 * step);
                    different |= addresses[run * 8 + lane] ^ expected;
                }
            }
            if different == 0 {
                let starts = [addresses[0], addresses[8], addresses[16], addresses[24]];
                return Self::of_runs(starts, step);
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

    /// The form of `base + index * scale`, by the indices.
    #[inline(always)]
    pub(crate) fn of_indices(base: u64, index: &Narrow, signed: bool, scale: u64) -> Self {
        // With the sign bit flipped, signed numbers compare like unsigned ones.
        let flip = if signed { 1 << 31 } else { 0 };
        let wide = |number: u32| {
            let number = if signed {
                i64::from((number ^ flip) as i32) as u64
            } else {
                u64::from(number)
            };
            base.wrapping_add(number.wrapping_mul(scale))
        };
        let at = |lane: usize| index[lane] ^ flip;
        let step = at(1).wrapping_sub(at(0));
        if step <= 1 && step * scale as u32 <= 8 && scale <= 8 {
            let mut different = 0;
            for run in 0..4 {
                let start = at(run * 8);
                for lane in 0..8 {
                    different |= at(run * 8 + lane) ^ start.wrapping_add(lane as u32 * step);
                }
            }
            let starts = [at(0), at(8), at(16), at(24)];
            // A run must not go over the end of the numbers.
            if different == 0 && starts.iter().all(|&start| start <= u32::MAX - 7) {
                return Self::of_runs(starts.map(wide), u64::from(step) * scale);
            }
        }
        let (mut first, mut last) = (at(0), at(0));
        for lane in 0..32 {
            first = first.min(at(lane));
            last = last.max(at(lane));
        }
        Self {
            first: wide(first),
            last: wide(last),
            form: Form::Scattered,
            bits: base | scale,
        }
    }

    #[inline(always)]
    fn of_runs(starts: [u64; 4], step: u64) -> Self {
        let [a, b, c, d] = starts;
        let follow = |start: u64, lanes: u64| start.wrapping_add(step * lanes);
        let length = if b != follow(a, 8) || d != follow(c, 8) {
            8
        } else if c != follow(a, 16) {
            16
        } else {
            32
        };
        Self {
            first: a.min(b).min(c).min(d),
            last: follow(a.max(b).max(c).max(d), 7),
            form: Form::Runs {
                length,
                step: step as u8,
            },
            bits: a | b | c | d | step,
        }
    }
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
                    let seen = Span::of_indices(base, &index, signed, scale);
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
