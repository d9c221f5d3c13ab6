//! Work against the chip, libraries, another engine's run, and what is missing.

use serde::Serialize;

document! {
    /// What is known of the chip that was recorded.
    pub struct ChipInfo {
        /// `m1-pro`.
        pub name: String,
        /// Memory bandwidth, as its maker states it.
        pub bandwidth_gbs: Option<f64>,
        /// Peak of 32-bit floating point: lanes × cores × clock × 2 (a multiply-add is two operations).
        pub peak_gflops: Option<f64>,
        /// What to know about these figures.
        pub note: String,
    }

    /// An operation whose work is known, against the time it took.
    pub struct Throughput {
        /// The operation, as the work file names it.
        pub operation: String,
        /// Where its FLOPs and bytes come from: a file's name.
        pub source: String,
        /// What was timed: `encoder executions` or `dispatches`.
        pub timed: String,
        /// How many.
        pub count: u64,
        /// Their summed time.
        pub total_ms: f64,
        /// As a fraction of the target's summed time.
        pub share: f64,
        /// Floating-point operations of each.
        pub flops: Option<f64>,
        /// Bytes each moves.
        pub bytes: Option<f64>,
        /// Billions of floating-point operations per second.
        pub gflops: Option<f64>,
        /// Gigabytes per second.
        pub gbs: Option<f64>,
        /// As a fraction of the chip's peak.
        pub of_compute: Option<f64>,
        /// As a fraction of the chip's memory bandwidth.
        pub of_bandwidth: Option<f64>,
        /// Which of the two is nearer: `memory` or `compute`.
        pub nearer: Option<String>,
    }

    /// A library and its version.
    pub struct LibraryVersion {
        /// Its name.
        pub name: String,
        /// Its version, where anything says it.
        pub version: Option<String>,
        /// Where that comes from: `given`, a file's name, or the path it was loaded from.
        pub source: String,
    }

    /// A table that was not among the inputs.
    pub struct MissingTable {
        /// Its schema, or its track and detail.
        pub table: String,
        /// What it would show.
        pub shows: String,
        /// What to record with, when the recording itself does not hold it.
        pub record: Option<String>,
        /// The command that exports it.
        pub export: String,
    }

    /// The run of another engine beside this one.
    pub struct Baseline {
        /// The engine: `MLX`.
        pub name: String,
        /// Its GPU.
        pub gpu: Option<String>,
        /// Figures of both.
        pub rows: Vec<BaselineRow>,
    }

    /// A figure of both engines.
    pub struct BaselineRow {
        /// What it is.
        pub metric: String,
        /// Its unit; empty for counts and fractions.
        pub unit: String,
        /// Of this run.
        pub measured: Option<f64>,
        /// Of the other engine's.
        pub baseline: Option<f64>,
        /// This run's as a multiple of the other's.
        pub ratio: Option<f64>,
    }
}
