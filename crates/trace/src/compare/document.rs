//! The result of a comparison, as plain data.

use crate::analysis::document::{VerdictKind, document};
use serde::Serialize;

document! {
    /// Two runs side by side.
    pub struct Comparison {
        /// The first run.
        pub before: Side,
        /// The second run.
        pub after: Side,
        /// How figures were made comparable: `per step` or `per run`.
        pub normalised: String,
        /// Why.
        pub normalised_by: String,
        /// Figures of both.
        pub metrics: Vec<Metric>,
        /// GPU time by label family, matched by name, largest change first.
        pub labels: Vec<LabelChange>,
        /// Whether the second run looks like a fused form of the first.
        pub fusion: Fusion,
        /// Reasons for which the runs may not be comparable.
        pub warnings: Vec<String>,
        /// Limits asked for, and whether they hold.
        pub gates: Vec<GateResult>,
    }

    /// One of the runs.
    pub struct Side {
        /// The process.
        pub target: Option<String>,
        /// The machine.
        pub model: Option<String>,
        /// The GPU.
        pub gpu: Option<String>,
        /// The system.
        pub os_version: Option<String>,
        /// The window examined.
        pub window_ms: f64,
        /// GPU busy time in it.
        pub busy_ms: f64,
        /// Busy time as a fraction of the window.
        pub utilization: f64,
        /// Encoder executions.
        pub executions: u64,
        /// Command buffers.
        pub command_buffers: u64,
        /// Steps, when known.
        pub steps: Option<f64>,
        /// What limits it.
        pub verdict: VerdictKind,
    }

    /// A figure of both runs.
    pub struct Metric {
        /// Its name: `time`, `busy`, `executions`…
        pub metric: String,
        /// What it is.
        pub description: String,
        /// Its unit.
        pub unit: String,
        /// In the first run.
        pub before: Option<f64>,
        /// In the second.
        pub after: Option<f64>,
        /// Change as a fraction of the first.
        pub change: Option<f64>,
        /// Error of the change, as a fraction, from the spread within both runs (two
        /// standard errors); `null` when it cannot be told.
        pub noise: Option<f64>,
        /// Whether the change is larger than its noise; `null` when that is unknown.
        pub significant: Option<bool>,
        /// Whether smaller values are better; `null` when neither is.
        pub lower_is_better: Option<bool>,
    }

    /// A label family in both runs.
    pub struct LabelChange {
        /// The label, numbers replaced by `#`.
        pub label: String,
        /// Executions (per step, if normalised) in the first run; `null` if absent.
        pub before_count: Option<f64>,
        /// In the second.
        pub after_count: Option<f64>,
        /// Microseconds (per step, if normalised) in the first run.
        pub before_us: Option<f64>,
        /// In the second.
        pub after_us: Option<f64>,
        /// Change in time as a fraction of the first.
        pub change: Option<f64>,
    }

    /// Whether work was fused.
    pub struct Fusion {
        /// By the number of dispatches per step and the names of kernels: `yes`, `likely` (new names that
        /// do not say so), `no`, or `unknown` when labels name no kernels.
        pub happened: String,
        /// What it was worth: `working`, `partly`, `no`, or `not applicable` when the number of executions did not change.
        pub state: String,
        /// In words, with figures.
        pub explanation: String,
        /// Executions of the second run as a fraction of the first's.
        pub executions_ratio: Option<f64>,
        /// The same of the mean execution.
        pub mean_ratio: Option<f64>,
        /// The same of busy time.
        pub busy_ratio: Option<f64>,
        /// What is counted by kernel: `dispatches` where both runs time them, else `encoder executions`.
        pub counted: String,
        /// Kernels of both runs, by name.
        pub kernels: Vec<KernelChange>,
        /// What says so, in words.
        pub evidence: Vec<String>,
    }

    /// How often a kernel runs.
    pub struct KernelChange {
        /// Its name; of encoders, what their label says.
        pub kernel: String,
        /// Times per step (per run, if not normalised) in the first run; `null` if absent.
        pub before: Option<f64>,
        /// In the second.
        pub after: Option<f64>,
    }

    /// A limit and whether it holds.
    pub struct GateResult {
        /// The gate as asked for: `slower:5%`.
        pub gate: String,
        /// The metric it looks at.
        pub metric: String,
        /// The limit, as a fraction.
        pub limit: f64,
        /// The change, if known.
        pub change: Option<f64>,
        /// Whether it failed.
        pub failed: bool,
        /// Why, in words.
        pub explanation: String,
    }
}
