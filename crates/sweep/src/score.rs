//! What a time is worth, with a headline.

use assay_bench::measure::Measurement;
use assay_bench::registry::Case;
use assay_bench::score::{self, Bound, Impossible, Peaks, Score, Work};
use assay_device::Origin;
use serde::{Deserialize, Serialize};

/// Which score is the headline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The reference's time divided by the kernel's
    #[default]
    Speed,
    /// Operations per second
    Compute,
    /// Bytes per second
    Memory,
    /// How little times differ from each other
    Stable,
    /// Half speed, and some of compute and stable
    Balanced,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 5] = [
        Self::Speed,
        Self::Compute,
        Self::Memory,
        Self::Stable,
        Self::Balanced,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Speed => "speed",
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Stable => "stable",
            Self::Balanced => "balanced",
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Speed => "The reference's time divided by the kernel's",
            Self::Compute => "Operations per second",
            Self::Memory => "Bytes per second",
            Self::Stable => "How little times differ from each other",
            Self::Balanced => "Half speed, and some of compute and stable",
        }
    }

    /// The score of a name, or the usual one.
    pub fn named(name: &str) -> Target {
        let mut known = Self::ALL.into_iter();
        known
            .find(|target| target.name() == name)
            .unwrap_or_default()
    }
}

/// Rates and scores of a kernel; docs/scores.md has the formulas.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scores {
    /// How many times as fast as the first reference that has a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// That reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup_over: Option<String>,
    /// Billions of operations per second.
    pub gflops: f64,
    /// Billions of bytes per second.
    pub gbps: f64,
    /// Operations per byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intensity: Option<f64>,
    /// 1 less the deviation relative to the median.
    pub stability: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced: Option<f64>,
    /// The headline: the score of the target, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<f64>,
    /// The part of what the chip can do at most; only of times by its clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline: Option<f64>,
    /// `memory` or `compute`: what bounds the kernel on the chip that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// What cannot be true about the time.
    pub doubts: Vec<String>,
}

impl Scores {
    /// The scores of a time. `peaks` are those of the chip that was measured, if it is known.
    pub fn new(
        case: &Case,
        measured: &Measurement,
        target: Target,
        peaks: Option<&Peaks>,
    ) -> Option<Self> {
        let work = Work {
            flops: case.flops,
            bytes: case.bytes,
        };
        let summary = &measured.summary;
        let median = summary.median.value;
        let speedups = measured.rivals.iter();
        let mut speedups = speedups.filter_map(|rival| {
            let ratio = rival.times.as_ref().ok()?.comparison?.ratio.value;
            Some((ratio, rival.name.clone()))
        });
        let (speedup, speedup_over) = speedups.next().unzip();
        let score = Score {
            speedup,
            ..Score::new(work, median, summary.deviation, None)?
        };
        // A CPU that runs a kernel lane by lane has no peak of a GPU to be measured against.
        let peaks = peaks.filter(|_| measured.origin == Origin::Measured);
        let doubts = score::impossible(
            work,
            median,
            Some(&score),
            peaks.copied().map(Into::into).unwrap_or_default(),
        );
        let doubts = doubts.iter().filter(|doubt| {
            measured.origin == Origin::Measured || matches!(doubt, Impossible::NoTime)
        });
        let balanced = score.balanced();
        Some(Self {
            speedup: score.speedup,
            speedup_over,
            gflops: score.gflops,
            gbps: score.gbps,
            intensity: score.intensity,
            stability: score.stability,
            balanced,
            headline: match target {
                Target::Speed => score.speedup,
                Target::Compute => Some(score.gflops),
                Target::Memory => Some(score.gbps),
                Target::Stable => Some(score.stability),
                Target::Balanced => balanced,
            },
            roofline: peaks.map(|peaks| peaks.roofline(work, median)),
            bound: peaks.map(|peaks| {
                match peaks.bound(work) {
                    Bound::Memory => "memory",
                    Bound::Compute => "compute",
                }
                .to_owned()
            }),
            doubts: doubts.map(ToString::to_string).collect(),
        })
    }

    pub fn of(&self, target: Target) -> Option<f64> {
        match target {
            Target::Speed => self.speedup,
            Target::Compute => Some(self.gflops),
            Target::Memory => Some(self.gbps),
            Target::Stable => Some(self.stability),
            Target::Balanced => self.balanced,
        }
    }
}
