//! A run that may enter the board.

use crate::place::{Place, Provenance};
use assay_bench::gate::Verdict;
use assay_bench::measure::Measurement;
use assay_bench::registry::{Case, Kernel, Resolved};
use assay_bench::stats::Stop;
use std::collections::BTreeMap;

/// What was run.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The source that was compiled.
    pub source: &'a Resolved,
    /// The sizes and type at which it was timed.
    pub case: &'a Case,
    /// By whose description, and how thoroughly.
    pub provenance: Provenance<'a>,
}

/// A race against the holder of a record, in rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Raced {
    /// The hash of the holder's source.
    pub holder: String,
    /// Seconds, in turns: the holder's and the challenger's. Each round has inputs of its own.
    pub rounds: Vec<(Vec<f64>, Vec<f64>)>,
    /// False if the holder no longer compiles, or its results were wrong when they were looked at again.
    pub holder_is_sound: bool,
}

/// Where it was run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The device, told apart from all others: `Apple M2 Max, 38 cores`.
    pub device: String,
    /// The chip's name in `assay-chip`, where it is known there.
    pub chip: Option<String>,
    /// GPU cores, where they are known.
    pub gpu_cores: Option<u32>,
    /// Versions, system, whatever may explain a difference later.
    pub environment: BTreeMap<String, String>,
    /// Seconds since 1970.
    pub taken_at: i64,
    /// A way of measuring that must not be compared with others: empty, or `cold`.
    pub mode: String,
}

/// Samples of something that was timed beside the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// What: `mlx compiled`.
    pub name: String,
    /// Seconds, by the same clock.
    pub samples: Vec<f64>,
}

/// A verified run, whole: everything needed to look at it again. Only [`Outcome::new`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub(crate) place: Place,
    pub(crate) source: Resolved,
    pub(crate) description: String,
    pub(crate) setting: Setting,
    pub(crate) compared: u64,
    pub(crate) elements: u64,
    pub(crate) raced: Option<Raced>,
    pub(crate) seed: u64,
    pub(crate) comparisons: usize,
    pub(crate) max_relative: Option<f64>,
    pub(crate) median: f64,
    pub(crate) samples: Vec<f64>,
    pub(crate) warm_up: usize,
    pub(crate) buffer_sets: usize,
    pub(crate) stop: &'static str,
    pub(crate) remarks: Vec<String>,
    pub(crate) flops: u64,
    pub(crate) bytes: u64,
    pub(crate) reference: Option<Timed>,
    /// The job of a fleet that it answers.
    pub(crate) job: Option<String>,
}

/// Why a run does not enter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The gate found something.
    #[error("it is wrong: {0}")]
    Wrong(String),
    /// The gate compared nothing.
    #[error("nothing was compared")]
    Unexamined,
    /// The results of timed runs are not right.
    #[error("it is wrong at the sizes that were timed: {0}")]
    WrongWhenTimed(String),
    /// It computed something else while it was timed.
    #[error("its results changed while it was timed")]
    Unsteady,
    /// The samples are no times.
    #[error("its times are not all above 0")]
    NoTime,
    /// The verdict is about something else.
    #[error("the verdict is of another element type than the time")]
    OtherType,
}

impl Outcome {
    /// The run, if the verdict is right and the times are those of the computation that was verified.
    pub fn new(
        subject: Subject<'_>,
        verdict: &Verdict,
        measured: &Measurement,
        setting: Setting,
    ) -> Result<Self, Refused> {
        let Subject { source, case, .. } = subject;
        if !verdict.is_right() {
            return Err(Refused::Wrong(verdict.to_string()));
        }
        if verdict.tried.is_empty() {
            return Err(Refused::Unexamined);
        }
        if verdict.tried.iter().all(|tried| tried.dtype != case.dtype) {
            return Err(Refused::OtherType);
        }
        if !measured.steady_results {
            return Err(Refused::Unsteady);
        }
        if let Some(wrong) = &measured.examined.wrong {
            return Err(Refused::WrongWhenTimed(wrong.clone()));
        }
        if !measured.examined.is_right() {
            return Err(Refused::Unexamined);
        }
        let is_time = |sample: &f64| sample.is_finite() && *sample > 0.0;
        let median = measured.summary.median.value;
        if measured.samples.is_empty() || !measured.samples.iter().all(is_time) || !is_time(&median)
        {
            return Err(Refused::NoTime);
        }
        Ok(Self {
            place: Place::of(subject, &setting, measured.origin),
            source: source.clone(),
            description: subject.provenance.description.to_owned(),
            setting,
            compared: measured.examined.compared,
            elements: measured.examined.elements,
            raced: None,
            seed: verdict.seed,
            comparisons: verdict.tried.len(),
            max_relative: verdict.worst().map(|tried| tried.comparison.max_relative),
            median,
            samples: measured.samples.clone(),
            warm_up: measured.warm_up,
            buffer_sets: measured.sets,
            stop: match measured.stop {
                Stop::Precise => "precise",
                Stop::Samples => "samples",
                Stop::Time => "time",
            },
            remarks: Vec::new(),
            flops: case.flops,
            bytes: case.bytes,
            reference: None,
            job: None,
        })
    }

    /// The same as the answer to a job of a fleet: a board takes one answer per job.
    pub fn with_job(mut self, job: impl Into<String>) -> Self {
        self.job = Some(job.into());
        self
    }

    /// The device that it was measured on.
    pub fn device(&self) -> &str {
        &self.setting.device
    }

    /// Its samples, in seconds.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// Where it belongs.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The same with what the samples say against themselves.
    pub fn with_remarks(mut self, remarks: Vec<String>) -> Self {
        self.remarks = remarks;
        self
    }

    /// The same with a reference that was timed beside it; one without proper times is left out.
    pub fn with_reference(mut self, reference: Timed) -> Self {
        let is_time = |sample: &f64| sample.is_finite() && *sample > 0.0;
        if !reference.samples.is_empty() && reference.samples.iter().all(is_time) {
            self.reference = Some(reference);
        }
        self
    }

    /// The same with a race against the holder of the record.
    pub fn with_race(mut self, raced: Raced) -> Self {
        self.raced = Some(raced);
        self
    }
}
