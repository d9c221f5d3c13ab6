//! What a time is worth: rates, scores, the part of what the chip can do, and what cannot be true.

use assay_chip::{Chip, Parameter};

/// What a kernel does at certain sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes that must move.
    pub bytes: u64,
}

/// Rates and scores of a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Billions of operations per second.
    pub gflops: f64,
    /// Billions of bytes per second.
    pub gbps: f64,
    /// Operations per byte; `None` when no bytes move.
    pub intensity: Option<f64>,
    /// 1 less the deviation relative to the median, not below 0: 1 is perfectly steady.
    pub stability: f64,
    /// The reference's time divided by the kernel's; `None` without a reference.
    pub speedup: Option<f64>,
}

impl Score {
    /// The score of a median time and a deviation, in seconds; `None` for no time at all, which no kernel takes.
    ///
    /// ```
    /// use assay_bench::score::{Score, Work};
    /// let work = Work { flops: 2_000_000_000, bytes: 12_000_000 };
    /// let score = Score::new(work, 0.001, 0.00001, Some(0.002)).unwrap();
    /// assert_eq!((score.gflops, score.gbps, score.speedup), (2000.0, 12.0, Some(2.0)));
    /// assert_eq!(score.balanced(), Some(0.5 * 2.0 + 0.3 * 2.0 + 0.2 * 0.99));
    /// assert_eq!(Score::new(work, 0.0, 0.0, None), None);
    /// ```
    pub fn new(work: Work, median: f64, deviation: f64, reference: Option<f64>) -> Option<Self> {
        if !(median.is_finite() && median > 0.0) {
            return None;
        }
        Some(Self {
            gflops: work.flops as f64 / median / 1e9,
            gbps: work.bytes as f64 / median / 1e9,
            intensity: (work.bytes > 0).then(|| work.flops as f64 / work.bytes as f64),
            stability: (1.0 - deviation / median).max(0.0),
            speedup: reference
                .filter(|time| *time > 0.0)
                .map(|time| time / median),
        })
    }

    /// MetalBench's weighted sum, with stability by deviation instead of by the difference of median and mean.
    pub fn balanced(&self) -> Option<f64> {
        let speedup = self.speedup?;
        Some(0.5 * speedup + 0.3 * (self.gflops / 1000.0) + 0.2 * self.stability)
    }
}

/// What a chip can do at most. Modelled: lanes, clock and published bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Billions of operations per second, a fused multiply-add being two.
    pub gflops: f64,
    /// Billions of bytes per second from memory.
    pub gbps: f64,
}

/// What is known of a chip's [`Peaks`]. Of some chips nobody has published the clock, and their bandwidth is known all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KnownPeaks {
    /// Billions of operations per second.
    pub gflops: Option<f64>,
    /// Billions of bytes per second from memory.
    pub gbps: Option<f64>,
}

impl KnownPeaks {
    /// What is known of a chip with its number of cores.
    ///
    /// ```
    /// use assay_bench::score::{KnownPeaks, Peaks};
    /// use assay_chip::Chip;
    /// let known = KnownPeaks::of(&Chip::named("m2")?);
    /// assert_eq!(known, Peaks::of(&Chip::named("m2")?).unwrap().into());
    /// # Ok::<(), assay_chip::Error>(())
    /// ```
    pub fn of(chip: &Chip) -> Self {
        let gflops = || {
            let lanes = chip.get(Parameter::Cores)? * chip.get(Parameter::LanesPerCore)?;
            Some(lanes * 2.0 * chip.get(Parameter::ClockGhz)?)
        };
        Self {
            gflops: gflops(),
            gbps: chip.get(Parameter::DramGbs),
        }
    }

    /// Both peaks, if both are known.
    pub fn both(self) -> Option<Peaks> {
        let (gflops, gbps) = (self.gflops?, self.gbps?);
        Some(Peaks { gflops, gbps })
    }
}

impl From<Peaks> for KnownPeaks {
    fn from(peaks: Peaks) -> Self {
        Self {
            gflops: Some(peaks.gflops),
            gbps: Some(peaks.gbps),
        }
    }
}

/// What bounds a kernel by its operations per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Memory.
    Memory,
    /// Arithmetic.
    Compute,
}

impl Peaks {
    /// The peaks of a chip with its number of cores; `None` when its clock, lanes or bandwidth are not known.
    ///
    /// ```
    /// use assay_bench::score::Peaks;
    /// use assay_chip::Chip;
    /// let peaks = Peaks::of(&Chip::named("m2")?).unwrap();
    /// assert!((peaks.gflops - 3579.0).abs() < 1.0 && peaks.gbps == 100.0, "{peaks:?}");
    /// let eight = Chip::named("m2")?.with("cores=8")?;
    /// assert!((Peaks::of(&eight).unwrap().gflops - 2863.0).abs() < 1.0);
    /// # Ok::<(), assay_chip::Error>(())
    /// ```
    pub fn of(chip: &Chip) -> Option<Self> {
        KnownPeaks::of(chip).both()
    }

    /// Operations per byte above which arithmetic is the bound.
    pub fn ridge(&self) -> f64 {
        self.gflops / self.gbps
    }

    /// What bounds work.
    pub fn bound(&self, work: Work) -> Bound {
        let compute = work.flops as f64 / self.gflops > work.bytes as f64 / self.gbps;
        if compute {
            Bound::Compute
        } else {
            Bound::Memory
        }
    }

    /// The time that work takes at least, in seconds: operations at the peak or bytes at the peak, whichever is longer.
    pub fn least_time(&self, work: Work) -> f64 {
        (work.flops as f64 / self.gflops).max(work.bytes as f64 / self.gbps) / 1e9
    }

    /// The part of the roofline that a time reaches: 1 is as fast as the chip can be.
    pub fn roofline(&self, work: Work, median: f64) -> f64 {
        self.least_time(work) / median
    }
}

/// Something about a figure that cannot be true, or not of what it claims to measure.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// No time at all.
    #[error("a time of 0: the clock was not read, or nothing ran")]
    NoTime,
    /// More operations than the chip has lanes for.
    #[error(
        "{gflops:.0} Gflop/s are more than the chip's {peak:.0}: work was left out, or counted twice"
    )]
    TooManyOperations {
        /// The rate.
        gflops: f64,
        /// The chip's.
        peak: f64,
    },
    /// More bytes than memory gives.
    #[error(
        "{gbps:.0} GB/s are more than memory's {peak:.0}: the data stayed in a cache, so this is no memory bandwidth"
    )]
    TooManyBytes {
        /// The rate.
        gbps: f64,
        /// The chip's.
        peak: f64,
    },
    /// So short that starting it takes longer.
    #[error(
        "{microseconds:.1} µs are about what starting a kernel takes: the time says little about the kernel"
    )]
    LaunchBound {
        /// The time.
        microseconds: f64,
    },
    /// Faster than belief.
    #[error("{speedup:.0} times as fast as the reference: look at the reference's time first")]
    TooFast {
        /// How many times.
        speedup: f64,
    },
}

/// Times below this are mostly those of starting a kernel: MetalBench found it on M2 and M4, and its shortest
/// kernels cluster there.
pub const LAUNCH_SECONDS: f64 = 20e-6;
/// Speed-ups above this have, in the public record, come from a mistake more often than not.
pub const BELIEVABLE_SPEEDUP: f64 = 10.0;

/// What cannot be true about a time. `peaks` are those of the chip that was measured, if it is known.
pub fn impossible(
    work: Work,
    median: f64,
    score: Option<&Score>,
    peaks: KnownPeaks,
) -> Vec<Impossible> {
    let Some(score) = score else {
        return vec![Impossible::NoTime];
    };
    let mut found = Vec::new();
    if let Some(peak) = peaks.gflops.filter(|peak| score.gflops > *peak) {
        found.push(Impossible::TooManyOperations {
            gflops: score.gflops,
            peak,
        });
    }
    let moved = peaks.gbps.filter(|_| work.bytes > 0);
    if let Some(peak) = moved.filter(|peak| score.gbps > *peak) {
        found.push(Impossible::TooManyBytes {
            gbps: score.gbps,
            peak,
        });
    }
    if median < LAUNCH_SECONDS {
        found.push(Impossible::LaunchBound {
            microseconds: median * 1e6,
        });
    }
    if let Some(speedup) = score
        .speedup
        .filter(|speedup| *speedup > BELIEVABLE_SPEEDUP)
    {
        found.push(Impossible::TooFast { speedup });
    }
    found
}

/// The part of kernels that are right and more than `p` times as fast as their reference; each is its speed-up, or
/// `None` when it is wrong.
///
/// ```
/// use assay_bench::score::fast_p;
/// let kernels = [Some(0.9), Some(1.2), None, Some(2.5)];
/// assert_eq!(fast_p(&kernels, 1.0), Some(0.5));
/// assert_eq!(fast_p(&kernels, 2.0), Some(0.25));
/// assert_eq!(fast_p(&[], 1.0), None);
/// ```
pub fn fast_p(speedups: &[Option<f64>], p: f64) -> Option<f64> {
    let fast = speedups
        .iter()
        .flatten()
        .filter(|speedup| **speedup > p)
        .count();
    (!speedups.is_empty()).then(|| fast as f64 / speedups.len() as f64)
}

/// The geometric mean; `None` for none, or where one is not above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty()
        || values
            .iter()
            .any(|value| !(value.is_finite() && *value > 0.0))
    {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const M2: Peaks = Peaks {
        gflops: 3579.0,
        gbps: 100.0,
    };

    #[test]
    fn a_copy_is_bound_by_memory_and_a_product_by_arithmetic() {
        let copy = Work {
            flops: 0,
            bytes: 1 << 24,
        };
        let product = Work {
            flops: 2 << 30,
            bytes: 12 << 20,
        };
        assert_eq!(
            (M2.bound(copy), M2.bound(product)),
            (Bound::Memory, Bound::Compute)
        );
        assert_eq!(
            M2.least_time(Work {
                flops: 0,
                bytes: 100_000_000_000
            }),
            1.0
        );
        assert!((M2.roofline(product, 2.0 * M2.least_time(product)) - 0.5).abs() < 1e-12);
    }

    fn flags(work: Work, median: f64, reference: Option<f64>) -> Vec<Impossible> {
        let score = Score::new(work, median, 0.0, reference);
        impossible(work, median, score.as_ref(), M2.into())
    }

    /// Records that were once called best.
    #[test]
    fn records_that_cannot_be_are_flagged() {
        let relu = Work {
            flops: 262_144,
            bytes: 2_097_152,
        };
        assert!(matches!(
            flags(relu, 0.0, Some(0.001))[..],
            [Impossible::NoTime]
        ));
        assert!(matches!(
            flags(relu, 10.2e-6, None)[..],
            [
                Impossible::TooManyBytes { .. },
                Impossible::LaunchBound { .. }
            ]
        ));
        assert!(matches!(
            flags(relu, 21.6e-6, Some(7.99e-3))[..],
            [Impossible::TooFast { .. }]
        ));
        let product = Work {
            flops: 2_147_483_648,
            bytes: 12_582_912,
        };
        assert!(matches!(
            flags(product, 0.5e-3, None)[..],
            [Impossible::TooManyOperations { .. }]
        ));
        assert_eq!(flags(product, 0.8e-3, Some(1e-3)), []);
    }

    #[test]
    fn means_of_ratios_are_geometric() {
        assert_eq!(geometric_mean(&[2.0, 0.5]), Some(1.0));
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }
}
