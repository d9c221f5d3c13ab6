//! The result of an analysis, as plain data: what the JSON report holds, field by
//! field. Times are measured by the GPU and by the host's recording clock; every
//! figure says its unit in its name. `null` means unknown, never 0.

pub use assay_report::rule::Severity;
use serde::Serialize;

macro_rules! document {
    ($($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident : $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Serialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }
        )*
    };
}

pub(crate) use document;

mod memory;
mod program;
mod work;
pub use memory::*;
pub use program::*;
pub use work::*;

document! {
    /// What the JSON report holds: the analysis, and the calls of a capture.
    pub struct Document {
        /// The analysis.
        #[serde(flatten)]
        pub analysis: Analysis,
        /// The calls, when the input is a `.gputrace` capture.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub capture: Option<crate::capture::Capture>,
    }

    /// Where the GPU's time went in a recording.
    pub struct Analysis {
        /// What was recorded.
        pub recording: RecordingInfo,
        /// The stretch of time examined.
        pub window: Window,
        /// How busy the GPU was.
        pub gpu: Gpu,
        /// Encoder executions of the target.
        pub intervals: Intervals,
        /// Idle stretches between executions.
        pub gaps: Gaps,
        /// From commit to GPU start.
        pub latency: Latency,
        /// From GPU end to the completion notice.
        pub completion: Completion,
        /// Points where the host waited for the GPU.
        pub synchronisation: Synchronisation,
        /// Command buffers committed and not finished, over time.
        pub queue: Queue,
        /// The host's part.
        pub cpu: Cpu,
        /// Copies and memory.
        pub transfers: Transfers,
        /// Memory over the run: growth, what was not freed, heap and leaks.
        pub memory: Memory,
        /// Operations whose FLOPs or bytes are known, by GPU time.
        pub throughput: Vec<Throughput>,
        /// GPU time by label, largest first.
        pub labels: Vec<Label>,
        /// The same with numbers inside labels ignored.
        pub families: Vec<Label>,
        /// Dispatches by kernel, when their times are known. Timing dispatches one by one
        /// serialises them: these are upper bounds and do not add up to the busy time.
        pub kernels: Vec<Label>,
        /// Other processes on the GPU in the window, busiest first.
        pub other_processes: Vec<OtherProcess>,
        /// Hardware counters, when they were recorded. Machine-wide.
        pub counters: Vec<CounterInfo>,
        /// Shader-profiler samples, when they were recorded. Shares of samples, not times.
        pub shaders: Vec<ShaderInfo>,
        /// Share of the window in each GPU clock state.
        pub clock_states: Vec<StateShare>,
        /// Share of the window in each thermal state.
        pub thermal_states: Vec<StateShare>,
        /// What a recorded program does on a modelled GPU; absent for recordings of a real one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub program: Option<Program>,
        /// What the run is limited by.
        pub verdict: Verdict,
        /// What to do about it, most important first.
        pub findings: Vec<Finding>,
        /// The same figures of another engine's run, when one was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub baseline: Option<Baseline>,
    }

    /// What was recorded, and what could be read of it.
    pub struct RecordingInfo {
        /// `instruments`, `capture`, `timing` or `program`.
        pub origin: String,
        /// What its times are: `measured` by the GPU's clock, `host` or `modelled`.
        pub time_source: String,
        /// The process examined.
        pub target: Target,
        /// The machine's model.
        pub model: Option<String>,
        /// The GPU.
        pub gpu: Option<String>,
        /// The system.
        pub os_version: Option<String>,
        /// The version of Instruments.
        pub instruments_version: Option<String>,
        /// The template recorded with.
        pub template: Option<String>,
        /// When the recording began.
        pub start_date: Option<String>,
        /// How long it lasted.
        pub duration_s: Option<f64>,
        /// Why it ended.
        pub end_reason: Option<String>,
        /// The run examined, of `runs`.
        pub run: u32,
        /// The runs there are.
        pub runs: Vec<u32>,
        /// What is known of the chip; `null` when the GPU is not in the table of chips.
        pub chip: Option<ChipInfo>,
        /// Libraries the process used, with versions where they are known.
        pub libraries: Vec<LibraryVersion>,
        /// Tables read.
        pub tables: Vec<TableInfo>,
        /// Tables that would say more, with the commands that export them.
        pub missing: Vec<MissingTable>,
        /// What was wrong with the inputs, and what is missing from them.
        pub warnings: Vec<String>,
    }

    /// The process examined.
    pub struct Target {
        /// Its name.
        pub name: Option<String>,
        /// Its id.
        pub pid: Option<u32>,
        /// Every process id counted, when a name stands for several.
        pub pids: Vec<u32>,
        /// Its exit status.
        pub exit_status: Option<i32>,
        /// How it ended, in words.
        pub termination: Option<String>,
        /// Its arguments.
        pub arguments: Option<String>,
        /// How it was chosen: `table of contents`, `given`, `most GPU time`.
        pub chosen_by: String,
    }

    /// A table that was read.
    pub struct TableInfo {
        /// Its schema.
        pub schema: String,
        /// The file it was in.
        pub input: String,
        /// Its rows.
        pub rows: u64,
        /// Rows left out because something was wrong with them.
        pub unusable: u64,
        /// Whether the analysis uses it.
        pub used: bool,
    }

    /// The stretch of time examined.
    pub struct Window {
        /// Start, from the recording's start.
        pub start_ms: f64,
        /// End, from the recording's start.
        pub end_ms: f64,
        /// Its length.
        pub span_ms: f64,
        /// Why this stretch: `first to last GPU activity`, `given`, `phase 2 of 3`.
        pub chosen_by: String,
        /// A gap at least this long separates two phases.
        pub phase_gap_ms: f64,
        /// Stretches of activity between long gaps.
        pub phases: Vec<Phase>,
    }

    /// A stretch of activity.
    pub struct Phase {
        /// Its number, from 1.
        pub number: u32,
        /// Start, from the recording's start.
        pub start_ms: f64,
        /// Its length.
        pub span_ms: f64,
        /// Time the target kept the GPU busy.
        pub busy_ms: f64,
        /// Busy time as a fraction of the phase.
        pub utilization: f64,
        /// Encoder executions in it.
        pub executions: u64,
    }

    /// How busy the GPU was.
    pub struct Gpu {
        /// Time in which at least one encoder of the target ran: a union, not a sum.
        pub busy_ms: f64,
        /// `busy_ms` as a fraction (0 to 1) of the window.
        pub utilization: f64,
        /// Sum of the target's executions; larger than `busy_ms` when they overlap.
        pub summed_ms: f64,
        /// Time the GPU was busy for anybody, over the whole recording (or the given
        /// window): from the GPU's states when recorded, else the union of all rows.
        pub machine_busy_ms: f64,
        /// `gpu states` or `union of all rows`.
        pub machine_busy_from: String,
        /// Time other processes kept the GPU busy in the window.
        pub others_busy_ms: f64,
        /// GPU time as a fraction of run time; above 0.7 is the usual target.
        pub launch_efficiency: f64,
    }

    /// Encoder executions.
    pub struct Intervals {
        /// Rows of all processes.
        pub rows_total: u64,
        /// Rows of the target in the window.
        pub rows_target: u64,
        /// Rows that name no process.
        pub rows_without_process: u64,
        /// Command buffers they belong to.
        pub command_buffers: u64,
        /// Mean duration.
        pub mean_us: Option<f64>,
        /// Median duration.
        pub median_us: Option<f64>,
        /// 99th percentile (nearest rank).
        pub p99_us: Option<f64>,
        /// Shortest.
        pub min_us: Option<f64>,
        /// Longest.
        pub max_us: Option<f64>,
        /// By GPU channel.
        pub channels: Vec<Channel>,
    }

    /// Executions on one channel of the GPU.
    pub struct Channel {
        /// `Compute`, `Vertex`, `Fragment`…
        pub channel: String,
        /// How many.
        pub count: u64,
        /// Their union.
        pub busy_ms: f64,
    }

    /// Idle stretches of the target between executions.
    pub struct Gaps {
        /// How many.
        pub count: u64,
        /// Together.
        pub total_ms: f64,
        /// Mean.
        pub mean_us: Option<f64>,
        /// Median.
        pub median_us: Option<f64>,
        /// 99th percentile (nearest rank).
        pub p99_us: Option<f64>,
        /// Longest.
        pub max_us: Option<f64>,
        /// Gaps whose following work was committed after the GPU had run dry.
        pub host_late: u64,
        /// Idle time before that commit.
        pub host_wait_ms: f64,
        /// Idle time from commit (or the end of the work before) to the start on the GPU.
        pub launch_ms: f64,
        /// Idle time of gaps whose commit is not known.
        pub unexplained_ms: f64,
        /// Part of `launch_ms` in which another process kept the GPU busy.
        pub contended_ms: f64,
        /// Gaps by their main cause.
        pub causes: Vec<CauseShare>,
        /// What an average gap at a strong synchronisation point consists of.
        pub anatomy: Option<Anatomy>,
        /// Whether gaps are alike; `null` when there are too few to tell.
        pub regularity: Option<Regularity>,
        /// How long gaps are.
        pub histogram: Vec<Bin>,
        /// The longest ones.
        pub longest: Vec<GapInfo>,
    }

    /// Gaps of one cause.
    pub struct CauseShare {
        /// `host-late`, `launch`, `contended` or `unknown`.
        pub cause: String,
        /// How many.
        pub count: u64,
        /// Together.
        pub total_ms: f64,
    }

    /// The parts of an average gap at a strong synchronisation point.
    pub struct Anatomy {
        /// From GPU end to the completion notice on the host.
        pub notice_us: f64,
        /// From the notice to the next commit.
        pub host_us: f64,
        /// From that commit to its start on the GPU.
        pub launch_us: f64,
    }

    /// Whether gaps are alike. Regular ones are a fixed cost, paid each time; irregular ones depend on
    /// what the host happens to do.
    pub struct Regularity {
        /// `regular`, `regular by place` (alike between the same labels), `mixed` or `irregular`.
        pub kind: String,
        /// Gaps looked at: those of at least a tenth of the mean.
        pub gaps: u64,
        /// Distance of the quartiles as a fraction of the median.
        pub spread: f64,
        /// The same among gaps between the same two labels, weighted by their time.
        pub spread_by_place: Option<f64>,
    }

    /// One bar of a histogram.
    pub struct Bin {
        /// From, inclusive.
        pub from_us: f64,
        /// To, exclusive; `null` is no limit.
        pub to_us: Option<f64>,
        /// How many.
        pub count: u64,
        /// Together.
        pub total_ms: f64,
    }

    /// A gap.
    pub struct GapInfo {
        /// When, from the recording's start.
        pub start_ms: f64,
        /// How long.
        pub duration_us: f64,
        /// Its main cause.
        pub cause: String,
        /// What ran before.
        pub before: String,
        /// What ran after.
        pub after: String,
    }

    /// From commit to GPU start.
    pub struct Latency {
        /// Executions whose latency is known.
        pub count: u64,
        /// Mean.
        pub mean_us: Option<f64>,
        /// Median.
        pub median_us: Option<f64>,
        /// 99th percentile (nearest rank).
        pub p99_us: Option<f64>,
        /// Longest.
        pub max_us: Option<f64>,
    }

    /// From GPU end to the completion notice.
    pub struct Completion {
        /// Command buffers of the target with a completion notice.
        pub joined: u64,
        /// Command buffers without one.
        pub missing: u64,
        /// Mean.
        pub gpu_end_to_completed_mean_us: Option<f64>,
        /// Median.
        pub gpu_end_to_completed_median_us: Option<f64>,
    }

    /// Points where the host waited for the GPU.
    pub struct Synchronisation {
        /// Pairs of consecutive command buffers examined (per thread where known).
        pub pairs: u64,
        /// The next buffer was committed after the completion notice of the one before.
        pub strong: u64,
        /// Committed after the GPU had finished the one before, but not after its notice
        /// (or the notice was not recorded).
        pub weak: u64,
        /// Idle time in gaps at strong points.
        pub strong_gap_ms: f64,
    }

    /// Command buffers committed and not finished, over time.
    pub struct Queue {
        /// Mean over the window.
        pub mean_depth: Option<f64>,
        /// Largest.
        pub max_depth: Option<u64>,
        /// Fraction of the window in which nothing was queued or running.
        pub empty: Option<f64>,
        /// Mean depth in equal slices of the window.
        pub series: Vec<f64>,
    }

    /// The host's part.
    pub struct Cpu {
        /// Encoders of the target encoded on the host in the recording.
        pub encoders: Option<u64>,
        /// Time spent between creating encoders and ending them.
        pub encode_ms: Option<f64>,
        /// Mean of that.
        pub encode_mean_us: Option<f64>,
        /// Executions without an encoder row, a sign of rows lost in the recording.
        pub unmatched_executions: Option<u64>,
        /// Driver time spent on the target's command buffers.
        pub driver_ms: Option<f64>,
        /// What the process did while the GPU waited for it.
        pub while_gpu_waits: Option<HostActivity>,
        /// What the process did in the whole window.
        pub hot: Option<HotFunctions>,
    }

    /// Where CPU time went in the window, from CPU samples.
    pub struct HotFunctions {
        /// Samples.
        pub samples: u64,
        /// CPU time they stand for, all threads together.
        pub sampled_ms: f64,
        /// Functions by their own time.
        pub functions: Vec<HostFunction>,
        /// Functions by the time spent in them and what they call.
        pub callers: Vec<HostFunction>,
    }

    /// What the process did while the GPU waited for it, from CPU samples.
    pub struct HostActivity {
        /// Time the GPU waited for the host.
        pub host_wait_ms: f64,
        /// Samples in that time.
        pub samples: u64,
        /// CPU time they stand for, all threads together.
        pub sampled_ms: f64,
        /// Samples whose stack holds a wait for the GPU.
        pub waiting_samples: u64,
        /// Functions by their own time.
        pub functions: Vec<HostFunction>,
        /// Functions by the time spent in them and what they call.
        pub callers: Vec<HostFunction>,
        /// Threads.
        pub threads: Vec<HostThread>,
    }

    /// A function on the host.
    pub struct HostFunction {
        /// Its name.
        pub function: String,
        /// Where it lies.
        pub binary: String,
        /// Its time.
        pub ms: f64,
        /// As a fraction of the sampled time.
        pub share: f64,
    }

    /// A thread of the host.
    pub struct HostThread {
        /// Its name and id.
        pub thread: String,
        /// Its time.
        pub ms: f64,
    }

    /// Copies and memory.
    pub struct Transfers {
        /// Blit encoder executions.
        pub blits: u64,
        /// Their time.
        pub blit_ms: f64,
        /// As a fraction of the target's summed GPU time.
        pub blit_share: f64,
        /// Bytes they copied; `null` when neither the recording nor a work file says.
        pub blit_bytes: Option<u64>,
        /// Where that comes from: `recording` or `work file`.
        pub blit_bytes_from: Option<String>,
        /// Gigabytes copied per second while those blits ran.
        pub blit_gbs: Option<f64>,
        /// Memory traffic of the copies (each byte is read and written) as a fraction of the chip's bandwidth.
        pub blit_of_bandwidth: Option<f64>,
        /// Memory-wiring events of the driver in the window.
        pub wirings: Option<u64>,
        /// Their time.
        pub wiring_ms: Option<f64>,
        /// Bytes wired.
        pub wired_bytes: Option<u64>,
        /// Gigabytes wired per second.
        pub wiring_gbs: Option<f64>,
        /// Resources allocated in the window.
        pub allocations: Option<u64>,
        /// Their size.
        pub allocated_bytes: Option<u64>,
        /// Resources freed in the window.
        pub deallocations: Option<u64>,
        /// Largest `currentAllocatedSize` of the target.
        pub peak_allocated_bytes: Option<u64>,
    }

    /// GPU time under one label.
    pub struct Label {
        /// The label.
        pub label: String,
        /// Encoder executions.
        pub count: u64,
        /// Their summed time.
        pub total_ms: f64,
        /// As a fraction of the target's summed time.
        pub share: f64,
        /// Mean.
        pub mean_us: f64,
        /// Median.
        pub median_us: f64,
        /// Longest.
        pub max_us: f64,
    }

    /// Another process on the GPU.
    pub struct OtherProcess {
        /// Its name.
        pub name: String,
        /// Its id.
        pub pid: Option<u32>,
        /// Its executions in the window.
        pub count: u64,
        /// Its busy time in the window.
        pub busy_ms: f64,
    }

    /// A hardware counter.
    pub struct CounterInfo {
        /// Its name.
        pub name: String,
        /// Mean over the window, weighted by time.
        pub mean: Option<f64>,
        /// Largest value in the recording.
        pub max: Option<f64>,
        /// Values in the recording.
        pub rows: u64,
    }

    /// A shader in the shader profiler.
    pub struct ShaderInfo {
        /// Its name.
        pub name: String,
        /// Samples.
        pub samples: u64,
        /// As a fraction of the target's sampled time. Sampling covers a small part of
        /// the run: rank by this, do not add it up.
        pub share: f64,
    }

    /// A state and how much of the window it took.
    pub struct StateShare {
        /// The state.
        pub state: String,
        /// Fraction of the window.
        pub share: f64,
    }

    /// What the run is limited by.
    pub struct Verdict {
        /// `no-gpu-work`, `kernel-bound`, `launch-bound`, `synchronisation-bound`,
        /// `transfer-bound`, `contended` or `mixed`.
        pub kind: VerdictKind,
        /// How sure that is.
        pub confidence: Confidence,
        /// The verdict in a sentence.
        pub summary: String,
        /// The measurements behind it.
        pub evidence: Vec<String>,
        /// Verdicts that also apply, in part.
        pub also: Vec<VerdictKind>,
    }

    /// Something to do.
    pub struct Finding {
        /// The rule that found it; `assay explain` describes it.
        pub rule: String,
        /// How much it matters.
        pub severity: Severity,
        /// What was found, with its measurements.
        pub message: String,
        /// What to do.
        pub advice: String,
        /// How much work that is: `low`, `medium`, `high`.
        pub effort: String,
        /// What it can bring at most, where that can be computed.
        pub gain: Option<String>,
    }
}

macro_rules! words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub enum $name { $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)* }

            impl $name {
                /// All of them, in order.
                pub const ALL: &'static [$name] = &[$($name::$variant,)*];

                /// The word used in reports.
                pub fn word(self) -> &'static str {
                    match self { $($name::$variant => $word,)* }
                }
            }
        )*
    };
}

words! {
    /// What a run is limited by.
    pub enum VerdictKind {
        /// The target did nothing on the GPU.
        NoGpuWork = "no-gpu-work",
        /// Busy and dense: look inside the kernels.
        KernelBound = "kernel-bound",
        /// Too little work per submission: the GPU waits for launches.
        LaunchBound = "launch-bound",
        /// The host waits for the GPU and the GPU for the host.
        SynchronisationBound = "synchronisation-bound",
        /// Copies take the time.
        TransferBound = "transfer-bound",
        /// Other processes hold the GPU.
        Contended = "contended",
        /// No single cause.
        Mixed = "mixed",
        /// The recording has no times.
        NoTimes = "no-times",
    }

    /// How sure a verdict is.
    pub enum Confidence {
        /// A guess from little data.
        Low = "low",
        /// Likely.
        Medium = "medium",
        /// The measurements leave little doubt.
        High = "high",
    }
}
