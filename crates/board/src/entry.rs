//! What the board says about a source at a place.

use assay_bench::score::{KnownPeaks, Peaks, Score, Work};
use assay_bench::stats::Summary;
use assay_chip::Chip;
use serde::Serialize;
use std::collections::BTreeMap;

/// A source at a place: its middle run, and what the others say about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The kernel.
    pub kernel: String,
    /// Its set.
    pub set: String,
    /// The element type.
    pub dtype: String,
    /// The name of the sizes: `reference`, `quick`, `odd`, `held_out`.
    pub size_set: String,
    /// The sizes.
    pub sizes: BTreeMap<String, u64>,
    /// Where it was run.
    pub device: Device,
    /// Ways of measuring that are not compared with others: `cold`, `quick`, `foreign` (described by a folder of
    /// somebody's); empty for the usual one.
    pub mode: String,
    /// The hash of the kernel's description; absent for results from before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description_hash: Option<String>,
    /// How this source came to the record, if another held it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beaten: Option<Beaten>,
    /// Whether this source holds the record at its place.
    pub record: bool,
    /// The hash of the source, headers included.
    pub source_hash: String,
    /// The source itself, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How many runs this source has at this place.
    pub runs: u64,
    /// The fastest and the slowest median of those runs.
    pub medians_ms: [f64; 2],
    /// The middle run.
    pub run: Run,
}

/// The race that gave a source its record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beaten {
    /// The median of the source that held it, in the race.
    pub old_ms: f64,
    /// The median of this source, in turns with it.
    pub new_ms: f64,
    /// How many times faster this source is.
    pub ratio: f64,
}

/// Where a kernel was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// Its name.
    pub name: String,
    /// `measured` is a GPU's clock, `host` a CPU's, which says nothing about a GPU.
    pub origin: String,
    /// The chip, where it is known.
    pub chip: Option<String>,
    /// GPU cores, where they are known.
    pub gpu_cores: Option<u32>,
}

/// A verified run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Its number on this board.
    pub id: i64,
    /// When, in UTC.
    pub taken_at: String,
    /// The source file.
    pub source_path: String,
    /// Where random inputs came from.
    pub seed: String,
    /// How many outputs were compared, each in every element.
    pub comparisons: u64,
    /// The part of the elements written while it was timed that was compared with the oracle; all were looked at. Absent
    /// for results from before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// The largest error relative to the size of what went into the element.
    pub max_relative_error: Option<f64>,
    /// The median.
    pub median_ms: f64,
    /// Ends of the interval that holds the true median at 95 %.
    pub median_low_ms: f64,
    /// The upper end.
    pub median_high_ms: f64,
    /// The shortest sample.
    pub least_ms: f64,
    /// Standard deviation, estimated from the median distance to the median.
    pub deviation_ms: f64,
    /// Samples far from the others.
    pub outliers: u64,
    /// Every sample, in order.
    pub samples_ms: Vec<f64>,
    /// Runs before the first sample.
    pub warm_up: u64,
    /// Sets of buffers that took turns.
    pub buffer_sets: u64,
    /// `precise`, `samples` or `time`: why there are no more samples.
    pub stop: String,
    /// What the samples say against themselves.
    pub remarks: Vec<String>,
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes that must move.
    pub bytes: u64,
    /// Billions of operations per second.
    pub gflops: f64,
    /// Billions of bytes per second.
    pub gbps: f64,
    /// Operations per byte.
    pub intensity: Option<f64>,
    /// 1 is perfectly steady.
    pub stability: f64,
    /// The part of what the chip could do at most (modelled peaks); only of a GPU whose figures are known.
    pub roofline: Option<f64>,
    /// What was timed beside it.
    pub reference: Option<Reference>,
    /// Versions and system.
    pub environment: BTreeMap<String, String>,
}

/// What a kernel was compared with, by the same clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reference {
    /// What it is.
    pub name: String,
    /// Its median.
    pub median_ms: f64,
    /// Its median divided by the kernel's.
    pub speedup: f64,
    /// Every sample, in order.
    pub samples_ms: Vec<f64>,
}

impl Device {
    /// What the chip can do at most, where it is a GPU and its figures are known.
    pub fn peaks(&self) -> Option<Peaks> {
        self.known_peaks().both()
    }

    /// What is known of what the chip can do at most; nothing of a CPU.
    pub fn known_peaks(&self) -> KnownPeaks {
        let chip = || {
            let chip = Chip::named(self.chip.as_deref()?).ok()?;
            match self.gpu_cores {
                Some(cores) => chip.with(&format!("cores={cores}")).ok(),
                None => Some(chip),
            }
        };
        let chip = chip().filter(|_| self.origin == "measured");
        chip.as_ref().map(KnownPeaks::of).unwrap_or_default()
    }

    /// The name with its clock, as a heading: a time never stands without it.
    pub fn heading(&self) -> String {
        format!("{} ({})", self.name, self.origin)
    }
}

impl Entry {
    /// The kernel with what it is a variant of: `softmax f16`.
    pub fn title(&self) -> String {
        let mode = match self.mode.as_str() {
            "" => String::new(),
            mode => format!(" {mode}"),
        };
        format!("{} {}{mode}", self.kernel, self.dtype)
    }
}

/// The figures that follow from samples and work.
pub(crate) fn figures(run: &mut Run, device: &Device, samples: &[f64], reference: Option<f64>) {
    let work = Work {
        flops: run.flops,
        bytes: run.bytes,
    };
    if let Some(summary) = Summary::of(samples) {
        run.median_low_ms = summary.median.low * 1e3;
        run.median_high_ms = summary.median.high * 1e3;
        run.least_ms = summary.min * 1e3;
        run.deviation_ms = summary.deviation * 1e3;
        run.outliers = summary.outliers as u64;
    }
    let median = run.median_ms / 1e3;
    if let Some(score) = Score::new(work, median, run.deviation_ms / 1e3, reference) {
        run.gflops = score.gflops;
        run.gbps = score.gbps;
        run.intensity = score.intensity;
        run.stability = score.stability;
    }
    run.roofline = device.peaks().map(|peaks| peaks.roofline(work, median));
}
