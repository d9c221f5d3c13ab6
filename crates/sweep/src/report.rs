//! What was found, for programs: the document that `--format json` writes.

use crate::environment::Environment;
use crate::saver;
use crate::score::Scores;
use assay_bench::gate::{Finding, Tried, Verdict};
use assay_bench::measure::{Measurement, Rival};
use assay_bench::reference::Clock;
use assay_bench::registry::{Case, Kernel, Resolved};
use assay_bench::score;
use assay_bench::stats::{Interval, Order, Stop, Summary};
use assay_board::{Recorded, Standing};
use assay_report::number;
use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// What was found about all kernels.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Report {
    /// Where all random inputs came from: `--seed` with it gives the same ones.
    pub seed: u64,
    /// Where it ran.
    pub environment: Environment,
    /// Which score is the headline.
    pub target: String,
    /// How many rows are right.
    pub right: usize,
    /// How many are wrong.
    pub wrong: usize,
    /// How many could not be examined.
    pub refused: usize,
    /// Over all rows that have a reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall: Option<Overall>,
    /// One per kernel and element type.
    pub kernels: Vec<Row>,
    /// What went on the board, for people.
    #[serde(skip)]
    pub saved: Option<String>,
}

/// Rows together.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Overall {
    /// Rows with a time of the kernel and of the first reference, and wrong ones.
    pub rows: usize,
    /// What that reference is; several where the first one failed for some rows.
    pub over: Vec<String>,
    /// The part of them that is right and more than p times as fast as the first reference.
    pub fast: Vec<Fast>,
    /// The geometric mean of speed-ups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_speedup: Option<f64>,
}

/// `fast_p` for one p.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Fast {
    pub p: f64,
    pub part: f64,
}

/// What was found about a kernel in an element type.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its set.
    pub set: String,
    /// The element type; empty when it was not come to.
    pub dtype: String,
    /// The source file; empty when there is none.
    pub source: String,
    /// The hash of what was compiled, headers included.
    pub source_hash: String,
    /// What was compiled.
    pub source_text: String,
    /// Whether it was examined and nothing is wrong.
    pub right: bool,
    /// Why it could not be examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What is wrong.
    pub findings: Vec<String>,
    /// How many outputs were compared, each in every element.
    pub comparisons: usize,
    /// Errors of the comparison with the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Worst>,
    /// The first run, from making its pipelines to its end, by this machine's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_launch_ms: Option<f64>,
    /// How long it takes, where it was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// What references took, where they were timed alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// Where it stands on the board, where it was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<OnBoard>,
    /// Predicted GPU times, where they were asked for; modelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modelled: Vec<crate::modelled::Modelled>,
    /// The static profile of each dispatch, where it was asked for; modelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<crate::profile::Pass>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OnBoard {
    /// The number of the run.
    pub run: i64,
    /// `first` at its place, `again` the source that holds the record, a new `record`, a `tie` with the record, `slower`,
    /// `succeeds` a holder that is wrong now, `unraced`: not timed in turns with the holder, or `known`: the answer of a job
    /// that was on the board already.
    pub standing: String,
    /// When the record changes hands: the median of the old holder, in turns with the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_ms: Option<f64>,
    /// The median of the new holder in the same race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_ms: Option<f64>,
}

impl OnBoard {
    /// A run that the sweep had written before it was interrupted.
    pub fn known(run: i64) -> Self {
        Self {
            run,
            standing: "again".to_owned(),
            old_ms: None,
            new_ms: None,
        }
    }

    pub fn new(recorded: &Recorded) -> Self {
        let change = match recorded.standing {
            Standing::Record(change) => Some(change),
            _ => None,
        };
        Self {
            run: recorded.run,
            standing: saver::word(recorded.standing).to_owned(),
            old_ms: change.map(|change| ms(change.old)),
            new_ms: change.map(|change| ms(change.new)),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Worst {
    /// At which sizes.
    pub sizes: String,
    /// The largest error.
    pub max_absolute: f64,
    /// The largest error relative to the size of what went into the element.
    pub max_relative: f64,
    /// Half of the elements are this near, in units of the last place.
    pub ulps_half: u64,
    /// 99.9 % of the elements are this near.
    pub ulps_most: u64,
}

/// Samples in a few numbers, in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Figures {
    pub median_ms: f64,
    /// Ends of the interval that holds the true median at 95 %.
    pub median_low_ms: f64,
    pub median_high_ms: f64,
    pub least_ms: f64,
    pub mean_ms: f64,
    /// Standard deviation, estimated from the median distance to the median.
    pub deviation_ms: f64,
    pub outliers: usize,
    /// Every sample, for one run, in order.
    pub samples_ms: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Time {
    /// `measured` is a GPU's clock, `host` this CPU's, which says nothing about a GPU.
    pub origin: String,
    /// At which sizes.
    pub sizes: String,
    #[serde(flatten)]
    pub figures: Figures,
    /// Every sample by this machine's clock, from before the submission until it was done.
    pub wall_ms: Vec<f64>,
    /// `precise`, `samples` or `time`: why there are no more samples.
    pub stop: String,
    /// What the samples say against themselves, and what cannot be true about them.
    pub remarks: Vec<String>,
    /// Runs before the first sample.
    pub warm_up: usize,
    /// Whether times were stable after them; absent when their number was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_stable: Option<bool>,
    /// Runs of a sample, in one submission.
    pub batch: usize,
    /// `rotating` or `cold`: what caches held before a sample.
    pub cache: String,
    /// Slots of buffers that took turns, each written anew before it is used again.
    pub buffer_sets: usize,
    /// The part of the elements that timed runs wrote that was compared with the oracle; all of them were looked at.
    pub coverage: f64,
    /// Floating-point operations at these sizes.
    pub flops: u64,
    /// Bytes that must move at these sizes.
    pub bytes: u64,
    pub scores: Scores,
    /// What references took, measured in turns with the kernel.
    pub references: Vec<Reference>,
}

/// A reference beside the kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reference {
    pub name: String,
    /// `host` or `gpu`: both sides are compared by this clock.
    pub clock: String,
    /// Why there is no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The reference's median divided by the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// Ends of the interval that holds it at 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup_low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup_high: Option<f64>,
    /// Of the kernel: `faster`, `slower` or `tie`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Whether what it computes is right by the kernel's tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<bool>,
    /// Its largest error relative to the size of what went into the element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_relative: Option<f64>,
}

/// Speed-ups that `fast_p` is told for.
const FAST: [f64; 3] = [1.0, 1.5, 2.0];

impl Report {
    /// How many rows are right, wrong, and could not be examined.
    pub(crate) fn verdict(&self) -> String {
        let refused = match self.refused {
            0 => String::new(),
            count => format!(", {count} could not be examined"),
        };
        format!("{} right, {} wrong{refused}", self.right, self.wrong)
    }

    pub fn new(
        seed: u64,
        environment: Environment,
        target: &str,
        kernels: Vec<Row>,
        saved: Option<String>,
    ) -> Self {
        let count = |which: fn(&Row) -> bool| kernels.iter().filter(|row| which(row)).count();
        Self {
            seed,
            environment,
            target: target.to_owned(),
            right: count(|row| row.right),
            refused: count(|row| row.refused.is_some()),
            wrong: count(|row| !row.right && row.refused.is_none()),
            overall: Overall::new(&kernels),
            kernels,
            saved,
        }
    }
}

impl Overall {
    /// A kernel that is right but has no reference says nothing about speed-ups; one that is wrong counts against them.
    fn new(rows: &[Row]) -> Option<Self> {
        let speedups: Vec<Option<f64>> = rows
            .iter()
            .filter(|row| row.refused.is_none())
            .filter(|row| !row.right || row.speedup().is_some())
            .map(Row::speedup)
            .collect();
        let known: Vec<f64> = speedups.iter().flatten().copied().collect();
        let fast = FAST.into_iter().filter_map(|p| {
            let part = score::fast_p(&speedups, p)?;
            Some(Fast { p, part })
        });
        let mut over: Vec<String> = rows
            .iter()
            .filter_map(|row| row.time.as_ref()?.scores.speedup_over.clone())
            .collect();
        over.sort();
        over.dedup();
        (!known.is_empty()).then(|| Self {
            rows: speedups.len(),
            over,
            fast: fast.collect(),
            mean_speedup: score::geometric_mean(&known),
        })
    }
}

impl Row {
    pub fn new(
        kernel: &Kernel,
        source: &Resolved,
        case: &Case,
        verdict: &Verdict,
        time: Option<Time>,
    ) -> Self {
        Self {
            dtype: case.dtype.name().to_owned(),
            right: verdict.is_right(),
            findings: verdict.findings.iter().map(Finding::to_string).collect(),
            comparisons: verdict.tried.len(),
            worst: verdict.worst().map(Worst::new),
            time,
            ..Self::of_source(kernel, source)
        }
    }

    pub fn of_source(kernel: &Kernel, source: &Resolved) -> Self {
        Self {
            name: kernel.name.clone(),
            set: kernel.set.name().to_owned(),
            source: source.path.clone(),
            source_hash: source.hash.clone(),
            source_text: source.text.clone(),
            ..Self::default()
        }
    }

    /// A kernel that could not be examined.
    pub fn refused(name: &str, set: &str, why: String) -> Self {
        Self {
            name: name.to_owned(),
            set: set.to_owned(),
            refused: Some(why),
            ..Self::default()
        }
    }

    /// The same, where there is a source.
    pub fn refused_source(kernel: &Kernel, source: &Resolved, dtype: &str, why: String) -> Self {
        Self {
            dtype: dtype.to_owned(),
            refused: Some(why),
            ..Self::of_source(kernel, source)
        }
    }

    /// How many times as fast as the first reference that has a time.
    pub fn speedup(&self) -> Option<f64> {
        self.time.as_ref()?.scores.speedup
    }
}

impl Worst {
    fn new(tried: &Tried) -> Self {
        let comparison = &tried.comparison;
        Self {
            sizes: tried.size_set.clone(),
            max_absolute: comparison.max_absolute,
            max_relative: comparison.max_relative,
            ulps_half: comparison.ulps.covering(0.5),
            ulps_most: comparison.ulps.covering(0.999),
        }
    }
}

fn ms(seconds: f64) -> f64 {
    seconds * 1e3
}

fn all_ms(seconds: &[f64]) -> Vec<f64> {
    seconds.iter().map(|seconds| ms(*seconds)).collect()
}

impl Figures {
    fn new(summary: &Summary, samples: &[f64]) -> Self {
        let Interval { low, value, high } = summary.median;
        Self {
            median_ms: ms(value),
            median_low_ms: ms(low),
            median_high_ms: ms(high),
            least_ms: ms(summary.min),
            mean_ms: ms(summary.mean),
            deviation_ms: ms(summary.deviation),
            outliers: summary.outliers,
            samples_ms: all_ms(samples),
        }
    }

    /// Half of the median's interval, in per cent of it; with fewer than six samples there is no such interval.
    pub fn uncertainty(&self) -> String {
        let percent = (self.median_high_ms - self.median_low_ms) / self.median_ms * 50.0;
        match self.samples_ms.len() {
            0..6 => "?".to_owned(),
            _ => format!("{percent:.1} %"),
        }
    }
}

impl Time {
    pub fn new(case: &Case, measured: &Measurement, scores: Scores) -> Self {
        let mut remarks = remarks(measured);
        remarks.extend(scores.doubts.iter().cloned());
        Self {
            origin: measured.origin.name().to_owned(),
            sizes: case.size_set.clone(),
            figures: Figures::new(&measured.summary, &measured.samples),
            wall_ms: all_ms(&measured.wall),
            stop: match measured.stop {
                Stop::Precise => "precise",
                Stop::Samples => "samples",
                Stop::Time => "time",
            }
            .to_owned(),
            remarks,
            warm_up: measured.warm_up,
            warm_up_stable: measured.warm_up_stable,
            batch: measured.batch,
            cache: measured.cache.name().to_owned(),
            buffer_sets: measured.sets,
            coverage: measured.examined.coverage(),
            flops: case.flops,
            bytes: case.bytes,
            scores,
            references: measured.rivals.iter().map(Reference::new).collect(),
        }
    }
}

impl Reference {
    pub fn new(rival: &Rival) -> Self {
        let times = rival.times.as_ref().ok();
        let comparison = times.and_then(|times| times.comparison);
        let agreement = times.and_then(|times| times.agreement.as_ref());
        Self {
            name: rival.name.clone(),
            clock: match rival.clock {
                Clock::Host => "host",
                Clock::Gpu => "gpu",
            }
            .to_owned(),
            failure: rival.times.as_ref().err().map(ToString::to_string),
            figures: times.map(|times| Figures::new(&times.summary, &times.samples)),
            speedup: comparison.map(|found| found.ratio.value),
            speedup_low: comparison.map(|found| found.ratio.low),
            speedup_high: comparison.map(|found| found.ratio.high),
            verdict: comparison.map(|found| {
                match found.order {
                    Order::FirstFaster => "slower",
                    Order::SecondFaster => "faster",
                    Order::Tie => "tie",
                }
                .to_owned()
            }),
            right: agreement.map(assay_bench::gate::Comparison::is_right),
            max_relative: agreement.map(|found| found.max_relative),
        }
    }
}

/// What the samples say against themselves.
fn remarks(measured: &Measurement) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(drift) = measured.drift {
        let percent = drift.change.abs() * 100.0;
        if drift.is_slowing() {
            remarks.push(format!(
                "times grew by {percent:.0} % while it was timed: the machine got warm or busy"
            ));
        } else if drift.is_warming_up() {
            remarks.push(format!("times shrank by {percent:.0} % while it was timed"));
        }
    }
    if let Some(modes) = measured.modes {
        let (low, high) = (
            number::nanoseconds(modes.low * 1e9),
            number::nanoseconds(modes.high * 1e9),
        );
        let part = modes.part_high * 100.0;
        remarks.push(format!(
            "two kinds of times, {low} and {high} ({part:.0} %): the median says little"
        ));
    }
    remarks
}
