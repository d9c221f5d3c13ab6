//! What a capture holds, as plain data.

use crate::analysis::document::document;
use serde::Serialize;
use std::collections::BTreeMap;

document! {
    /// A `.gputrace` capture: the calls a program made, without times.
    pub struct Capture {
        /// The machine it was made on.
        pub device: Option<CaptureDevice>,
        /// The capture's own id.
        pub uuid: Option<String>,
        /// Command buffers in the order of the program's calls.
        pub command_buffers: Vec<CommandBuffer>,
        /// Compute pipelines.
        pub pipelines: Vec<Pipeline>,
        /// Buffers.
        pub buffers: Vec<BufferInfo>,
        /// Shader libraries.
        pub libraries: Vec<Library>,
        /// Machine code among the members.
        pub code: Vec<CodeSlice>,
        /// Command queues.
        pub queues: u64,
        /// Dispatches.
        pub dispatches: u64,
        /// Command buffers the program waited for.
        pub waits: u64,
        /// Recorded calls.
        pub calls: u64,
        /// Selectors without a meaning known here, and how often they occur.
        pub unknown_selectors: BTreeMap<String, u64>,
        /// Members of the bundle.
        pub members: Vec<Member>,
    }

    /// The machine a capture was made on.
    pub struct CaptureDevice {
        /// The GPU: `Apple M2`.
        pub gpu: Option<String>,
        /// The machine: `Mac14,2`.
        pub product: Option<String>,
        /// The system's version.
        pub os_version: Option<String>,
        /// The system's build.
        pub os_build: Option<String>,
        /// Metal's version.
        pub metal_version: Option<String>,
    }

    /// A command buffer.
    pub struct CommandBuffer {
        /// Its handle.
        pub id: String,
        /// Its queue's handle.
        pub queue: Option<String>,
        /// Its label.
        pub label: Option<String>,
        /// Whether it was committed in the capture.
        pub committed: bool,
        /// Whether the program then waited for it: a synchronisation point.
        pub waited: bool,
        /// Its encoders.
        pub encoders: Vec<Encoder>,
    }

    /// An encoder.
    pub struct Encoder {
        /// Its handle.
        pub id: String,
        /// Its label.
        pub label: Option<String>,
        /// Whether it was ended.
        pub ended: bool,
        /// Its dispatches.
        pub dispatches: Vec<Dispatch>,
    }

    /// A dispatch.
    pub struct Dispatch {
        /// The kernel, found through pipeline and function.
        pub kernel: Option<String>,
        /// The pipeline's handle.
        pub pipeline: Option<String>,
        /// The grid.
        pub grid: [u64; 3],
        /// What the grid counts: `threads`, or `unknown` (threads or threadgroups) when the
        /// call's selector is not one whose meaning is established.
        pub grid_unit: String,
        /// Threads per threadgroup.
        pub threadgroup: [u64; 3],
        /// Buffers bound at the time.
        pub buffers: Vec<Binding>,
    }

    /// A buffer bound to an index.
    pub struct Binding {
        /// The index.
        pub index: u64,
        /// The argument's name in the kernel.
        pub name: Option<String>,
        /// The buffer's handle.
        pub buffer: String,
        /// The buffer's label.
        pub label: Option<String>,
        /// Offset into it.
        pub offset: u64,
        /// The buffer's length.
        pub length: Option<u64>,
    }

    /// A compute pipeline.
    pub struct Pipeline {
        /// Its handle.
        pub id: String,
        /// Its kernel.
        pub kernel: Option<String>,
        /// Its library's handle.
        pub library: Option<String>,
        /// The kernel's source file.
        pub source: Option<String>,
        /// Names of its arguments by buffer index.
        pub arguments: BTreeMap<u64, String>,
        /// What the compiler says about it.
        pub statistics: Option<PipelineStatistics>,
    }

    /// What the compiler says about a pipeline.
    pub struct PipelineStatistics {
        /// The function, as the compiler names it.
        pub function: Option<String>,
        /// Instructions.
        pub instructions: Option<u64>,
        /// Instructions by kind.
        pub instruction_mix: BTreeMap<String, u64>,
        /// Temporary registers.
        pub temporary_registers: Option<u64>,
        /// Uniform registers.
        pub uniform_registers: Option<u64>,
        /// Bytes spilled per thread.
        pub spilled_bytes: Option<u64>,
        /// Bytes spilled that all threads share.
        pub thread_invariant_spilled_bytes: Option<u64>,
        /// Threadgroup memory.
        pub threadgroup_memory_bytes: Option<u64>,
        /// How long compiling took.
        pub compile_time_ms: Option<f64>,
        /// The compiler's remarks.
        pub remarks: Vec<Remark>,
    }

    /// A remark of the compiler.
    pub struct Remark {
        /// `Analysis`, `Missed`, `Passed`.
        pub kind: String,
        /// The pass it comes from.
        pub pass: String,
        /// Its name.
        pub name: String,
        /// The function it is about.
        pub function: String,
        /// The source file.
        pub file: Option<String>,
        /// The line.
        pub line: Option<u64>,
        /// The column.
        pub column: Option<u64>,
        /// The remark.
        pub message: String,
    }

    /// A buffer.
    pub struct BufferInfo {
        /// Its handle.
        pub id: String,
        /// Its label.
        pub label: Option<String>,
        /// Its length.
        pub length: Option<u64>,
        /// The member that holds its contents.
        pub member: Option<String>,
    }

    /// A shader library.
    pub struct Library {
        /// Its handle.
        pub id: String,
        /// The member that holds its metallib.
        pub member: Option<String>,
        /// Where it was loaded from.
        pub path: Option<String>,
        /// The size of its metallib.
        pub bytes: Option<u64>,
        /// Its functions that the capture uses.
        pub functions: Vec<String>,
    }

    /// Machine code for one GPU.
    pub struct CodeSlice {
        /// The member that holds it.
        pub member: String,
        /// The GPU: `G16P`, or the number in the file where it has no name.
        pub target: String,
        /// Functions in it.
        pub functions: u64,
        /// Whether Assay can read the code.
        pub decodable: bool,
    }

    /// A member of the bundle.
    pub struct Member {
        /// Its name.
        pub name: String,
        /// Its size.
        pub bytes: u64,
        /// Whether it is packed into `store0`.
        pub packed: bool,
    }
}
