//! What was recorded, as plain data: the input of every report and export.

use crate::clock::{ClockCounts, ClockFit};
use crate::histogram::Histogram;
use crate::label::LabelLosses;
use crate::sample::{CommandBufferId, CommandBufferSample, InvalidCounts, TimeSource};
use std::sync::Arc;

/// The program that recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its name; empty when not known.
    pub name: String,
    /// Its process number.
    pub pid: u32,
}

impl Process {
    pub(crate) fn current(name: Option<&str>) -> Process {
        let executable = || {
            let path = std::env::current_exe().ok()?;
            Some(path.file_name()?.to_string_lossy().into_owned())
        };
        Process {
            name: name
                .map(str::to_owned)
                .or_else(executable)
                .unwrap_or_default(),
            pid: std::process::id(),
        }
    }
}

/// A label's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelStats {
    /// The label.
    pub label: Arc<str>,
    /// Number of samples with a time.
    pub count: u64,
    /// Their sum, exact.
    pub total_ns: u128,
    /// The shortest; 0 without samples.
    pub min_ns: u64,
    /// The longest; 0 without samples.
    pub max_ns: u64,
    /// Their distribution.
    pub histogram: Histogram,
    /// Samples without a time, by reason; not in any figure above.
    pub invalid: InvalidCounts,
}

impl LabelStats {
    /// The mean duration; `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64)
    }

    /// A percentile within [`PERCENTILE_ERROR`](crate::PERCENTILE_ERROR), never outside
    /// of what was observed; `None` without samples.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let middle = self.histogram.percentile(percent)?;
        Some(middle.min(self.max_ns).max(self.min_ns))
    }
}

/// One command buffer in the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandBufferRecord {
    /// Its label's text.
    pub label: Arc<str>,
    /// What was recorded.
    pub sample: CommandBufferSample,
}

/// One dispatch in the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchRecord {
    /// The command buffer it ran in, [`CommandBufferId::NONE`] if only its label is known.
    pub command_buffer: CommandBufferId,
    /// The command buffer's label.
    pub label: Arc<str>,
    /// Kernel or kind of operation.
    pub kernel: Arc<str>,
    /// Place in the command buffer.
    pub index: u32,
    /// Duration.
    pub gpu_ns: u64,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

/// What is missing from the figures, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Labels that could not be kept as they were.
    pub labels: LabelLosses,
    /// Command buffers no longer in the ring (still in their label's figures).
    pub command_buffers_dropped: u64,
    /// Dispatches no longer in the ring (still in their kernel's figures).
    pub dispatches_dropped: u64,
    /// Command buffers begun and neither completed nor failed so far.
    pub pending: u64,
    /// Samples of 2^63 ns or more, recorded as given: probably negative differences.
    pub implausible: u64,
    /// Labels whose figures were read while a thread stood still in the middle of one.
    pub torn_reads: u64,
}

/// What the tick conversion rested on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockReport {
    /// The conversion at the time of the snapshot.
    pub fit: ClockFit,
    /// What became of the pairs.
    pub counts: ClockCounts,
}

/// Everything recorded since the last reset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Where the times come from.
    pub time_source: TimeSource,
    /// Who recorded.
    pub process: Process,
    /// Command buffers per label, by total time.
    pub labels: Vec<LabelStats>,
    /// Dispatches per kernel, by total time.
    pub kernels: Vec<LabelStats>,
    /// The last command buffers, in the order in which they were recorded.
    pub command_buffers: Vec<CommandBufferRecord>,
    /// The last dispatches, in the order in which they were recorded.
    pub dispatches: Vec<DispatchRecord>,
    /// What is missing.
    pub losses: Losses,
    /// The clocks.
    pub clock: ClockReport,
    /// Remarks made while recording.
    pub notes: Vec<String>,
}

impl Snapshot {
    /// GPU time of all labels, exact.
    pub fn total_ns(&self) -> u128 {
        self.labels
            .iter()
            .fold(0, |sum, label| sum.saturating_add(label.total_ns))
    }

    /// Samples without a time, command buffers and dispatches, by reason.
    pub fn invalid(&self) -> InvalidCounts {
        let mut all = InvalidCounts::default();
        for label in self.labels.iter().chain(&self.kernels) {
            all.merge(&label.invalid);
        }
        all
    }
}
