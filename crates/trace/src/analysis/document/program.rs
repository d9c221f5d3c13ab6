//! What a recorded program would do on a modelled GPU.

use serde::Serialize;

document! {
    /// A recorded program on a modelled GPU. No GPU measured any of its times; those of the host say so.
    pub struct Program {
        /// Always `modelled`.
        pub basis: String,
        /// The chip that this report is about.
        pub chip: String,
        /// GPU time if the host were infinitely fast: from the first command buffer's start to the last one's end, without idle time
        /// that waits for the host.
        pub gpu_ms: f64,
        /// The same if every kernel and gap were at the lower end of its band.
        pub low_ms: f64,
        /// The same at the upper end.
        pub high_ms: f64,
        /// What is in that time: kernels themselves.
        pub kernels_ms: f64,
        /// Copies and fills.
        pub copies_ms: f64,
        /// From one dispatch to the next, and starts of command buffers.
        pub overhead_ms: f64,
        /// Dispatches.
        pub dispatches: u64,
        /// Bytes that they and copies read, each once within a dispatch, from whatever cache.
        pub read_bytes: u64,
        /// Bytes that they and copies write, in the same way.
        pub written_bytes: u64,
        /// Different launches among them: each was predicted once.
        pub launches: u64,
        /// Whether kernels ran on the CPU while the program was recorded.
        pub executed: bool,
        /// The same program on every chip that was asked for, in that order.
        pub chips: Vec<ChipTime>,
        /// Kernels by their time, the largest first.
        pub kernels: Vec<KernelTime>,
        /// Labels of encoders with debug groups, by their time; empty when there are none.
        pub groups: Vec<GroupTime>,
        /// Steps (tokens, iterations), when they were asked for.
        pub steps: Option<StepTimes>,
        /// What the host must reach, and what it did here.
        pub host: HostPace,
        /// Dispatches that take less time than the gap after them.
        pub small: SmallDispatches,
        /// Waits between dispatches that share no memory.
        pub needless: NeedlessWaits,
        /// What was written twice without being read in between.
        pub overwritten: Overwritten,
        /// Copies, and kernels that only copy or convert by their names.
        pub copies: CopyTimes,
        /// Pipelines that were made again.
        pub remade: RemadePipelines,
        /// Kernels without a predicted time: totals are without them.
        pub unpredicted: Vec<Unpredicted>,
    }

    /// A program on a chip.
    pub struct ChipTime {
        /// The chip.
        pub chip: String,
        /// GPU time.
        pub gpu_ms: f64,
        /// Lower end of the band.
        pub low_ms: f64,
        /// Upper end.
        pub high_ms: f64,
        /// Milliseconds of a step, when steps were asked for.
        pub step_ms: Option<f64>,
        /// The host must encode a dispatch in less than this.
        pub host_us: Option<f64>,
        /// Whether its kernels are code of an older instruction set, which stands in for its own.
        pub stand_in: bool,
    }

    /// A kernel's part.
    pub struct KernelTime {
        /// Its name.
        pub kernel: String,
        /// Dispatches.
        pub dispatches: u64,
        /// Different launches.
        pub launches: u64,
        /// Their time, without gaps.
        pub total_ms: f64,
        /// As a fraction of the program's GPU time.
        pub share: f64,
        /// Mean.
        pub mean_us: f64,
        /// The largest term of its time.
        pub limited_by: String,
        /// The time that its bytes at the chip's bandwidth or its float operations at the chip's peak would take, as a fraction of its
        /// time.
        pub of_roof: Option<f64>,
        /// How much less time the program would take with this kernel at its roof, as a fraction.
        pub program_gain: Option<f64>,
    }

    /// What a label or debug group takes.
    pub struct GroupTime {
        /// The label.
        pub label: String,
        /// Dispatches.
        pub dispatches: u64,
        /// Their time, without gaps.
        pub total_ms: f64,
        /// As a fraction of the program's GPU time.
        pub share: f64,
    }

    /// Times of steps.
    pub struct StepTimes {
        /// How they were found.
        pub by: String,
        /// How many.
        pub count: u64,
        /// Mean, gaps included.
        pub mean_ms: f64,
        /// Lower end of the band.
        pub low_ms: f64,
        /// Upper end.
        pub high_ms: f64,
        /// The shortest.
        pub min_ms: f64,
        /// The longest.
        pub max_ms: f64,
        /// Steps per second of GPU time.
        pub per_second: f64,
        /// Dispatches of a step.
        pub dispatches: f64,
    }

    /// How fast the host must be.
    pub struct HostPace {
        /// It must encode a dispatch in less than this, or the GPU waits (modelled).
        pub needed_us: Option<f64>,
        /// What this host took for one, from the making of a command buffer to its commit (host).
        pub encoded_us: Option<f64>,
        /// How often the program waited for a command buffer.
        pub waits: u64,
    }

    /// Dispatches that are shorter than the gap to the next.
    pub struct SmallDispatches {
        /// How many.
        pub count: u64,
        /// Their own time.
        pub own_ms: f64,
        /// The gaps after them, which merging with a neighbour saves.
        pub gaps_ms: f64,
    }

    /// Waits that memory does not ask for.
    pub struct NeedlessWaits {
        /// Barriers in concurrent encoders between dispatches that share no buffer of which one is written.
        pub barriers: u64,
        /// Neighbours in serial encoders that share no such buffer.
        pub serial: u64,
        /// The gaps at these places.
        pub gaps_ms: f64,
    }

    /// Writes that nothing on the GPU read before the next, with no wait of the host between.
    pub struct Overwritten {
        /// How many.
        pub writes: u64,
        /// The time of what made them.
        pub ms: f64,
        /// The kernel that did so most often.
        pub kernel: Option<String>,
    }

    /// Copies and conversions.
    pub struct CopyTimes {
        /// Copies and fills of blit encoders.
        pub blits: u64,
        /// Bytes they moved.
        pub blit_bytes: u64,
        /// Dispatches of kernels that copy or convert by their names.
        pub kernels: u64,
        /// Their time.
        pub kernels_ms: f64,
    }

    /// Pipelines that were made although there was one for the same function and constants.
    pub struct RemadePipelines {
        /// How many.
        pub count: u64,
        /// What that took on this host.
        pub host_ms: f64,
    }

    /// A kernel without a predicted time.
    pub struct Unpredicted {
        /// The kernel.
        pub kernel: String,
        /// Dispatches.
        pub dispatches: u64,
        /// Why.
        pub reason: String,
    }
}
