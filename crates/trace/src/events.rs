//! What a recording holds, table by table, in the units of the recording:
//! nanoseconds since its start.
//!
//! Unknown is a value here: an absent latency, process or size is `None`, never 0.

use crate::analysis::document::HeapCategory;
use crate::xml::text::TextId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A process id.
pub type Pid = u32;

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Start, in nanoseconds.
    pub start: u64,
    /// End, in nanoseconds; never before the start.
    pub end: u64,
}

impl Span {
    /// A span by its length.
    pub fn new(start: u64, duration: u64) -> Self {
        Span {
            start,
            end: start.saturating_add(duration),
        }
    }

    /// Its length.
    pub fn duration(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The part of it inside `window`, if any.
    pub fn clip(self, window: Span) -> Option<Span> {
        let start = self.start.max(window.start);
        let end = self.end.min(window.end);
        (start < end).then_some(Span { start, end })
    }
}

/// A number that may be unknown, in eight bytes: tables have millions of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maybe(u64);

impl Maybe {
    /// Unknown.
    pub const UNKNOWN: Maybe = Maybe(u64::MAX);

    /// The value, if it is known.
    pub fn get(self) -> Option<u64> {
        (self.0 != u64::MAX).then_some(self.0)
    }
}

impl From<Option<u64>> for Maybe {
    fn from(value: Option<u64>) -> Self {
        Maybe(value.unwrap_or(u64::MAX))
    }
}

/// One encoder on one channel of the GPU (`metal-gpu-intervals`).
#[derive(Clone, Copy, Debug)]
pub struct GpuInterval {
    /// When it ran.
    pub span: Span,
    /// From commit to start.
    pub latency: Maybe,
    /// Command buffer, shared by all tables; 0 when the row has none.
    pub command_buffer: u64,
    /// Encoder, shared by all tables.
    pub encoder: u64,
    /// `command buffer label:encoder label`.
    pub label: TextId,
    /// `Compute`, `Vertex`, `Fragment`…
    pub channel: TextId,
    /// The process, unless the row names none.
    pub pid: Option<Pid>,
    /// Whether the row is of state Active.
    pub active: bool,
}

impl GpuInterval {
    /// When its command buffer was committed: start − latency, exactly.
    pub fn commit(&self) -> Option<u64> {
        self.span.start.checked_sub(self.latency.get()?)
    }
}

/// A command buffer on the CPU, from creation to commit.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    /// Creation to commit.
    pub span: Span,
    /// Encoders in it.
    pub encoders: Option<u64>,
    /// CPU time spent encoding.
    pub encoder_time: Maybe,
    /// The command buffer.
    pub command_buffer: u64,
    /// Its label.
    pub label: TextId,
    /// Who committed it.
    pub pid: Option<Pid>,
    /// On which thread.
    pub thread: Option<u64>,
}

/// The encoding of one encoder on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    /// Creation to `endEncoding`.
    pub span: Span,
    /// The command buffer it belongs to.
    pub command_buffer: u64,
    /// The encoder.
    pub encoder: u64,
    /// Label of the command buffer.
    pub buffer_label: TextId,
    /// Label of the encoder.
    pub label: TextId,
    /// Whose.
    pub pid: Option<Pid>,
    /// On which thread.
    pub thread: Option<u64>,
}

/// Something at one moment to one command buffer: completion, error.
#[derive(Clone, Copy, Debug)]
pub struct BufferEvent {
    /// When.
    pub time: u64,
    /// Which.
    pub command_buffer: u64,
    /// An error's code, a commit time: depends on the table.
    pub value: u64,
}

/// Anything with a name that lasts: driver work, debug groups, states, compilations.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// When.
    pub span: Span,
    /// What kind of thing.
    pub kind: TextId,
    /// Its label.
    pub label: TextId,
    /// Whose.
    pub pid: Option<Pid>,
    /// On which thread.
    pub thread: Option<u64>,
    /// A size, where there is one.
    pub bytes: Maybe,
}

/// A Metal resource that came or went.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// When.
    pub time: u64,
    /// How long it lived, when its end was recorded.
    pub lifetime: Maybe,
    /// Its size.
    pub bytes: Maybe,
    /// `Allocation`, `Deallocation`.
    pub kind: TextId,
    /// The resource, the same when it comes and when it goes.
    pub id: Maybe,
    /// Who allocated it: index into [`crate::Recording::stacks`].
    pub stack: Maybe,
    /// `MTLBuffer`, `MTLTexture`…
    pub resource: TextId,
    /// Its label.
    pub label: TextId,
    /// Whose.
    pub pid: Option<Pid>,
}

/// A library that was loaded.
#[derive(Clone, Copy, Debug)]
pub struct LibraryLoad {
    /// Its file.
    pub path: TextId,
    /// Who loaded it.
    pub pid: Option<Pid>,
}

/// Objects the Leaks instrument found.
#[derive(Clone, Debug)]
pub struct Leak {
    /// What leaked.
    pub object: String,
    /// The function that allocated it.
    pub frame: String,
    /// Where that lies.
    pub library: String,
    /// How many.
    pub count: u64,
    /// Their size.
    pub bytes: u64,
}

/// A level over time: allocated size, wired memory.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// When.
    pub span: Span,
    /// How many bytes.
    pub bytes: u64,
    /// Whose, when it is one process's.
    pub pid: Option<Pid>,
}

/// What the shader profiler saw of one shader.
#[derive(Clone, Copy, Debug)]
pub struct ShaderSample {
    /// When.
    pub span: Span,
    /// The shader.
    pub name: TextId,
    /// The pipeline it ran in.
    pub pipeline: TextId,
    /// Its part of the work it was sampled in, in percent.
    pub percent: Option<f64>,
    /// Whose.
    pub pid: Option<Pid>,
}

/// Register spills of an encoder.
#[derive(Clone, Copy, Debug)]
pub struct Spill {
    /// When.
    pub time: u64,
    /// The encoder.
    pub encoder: u64,
    /// Spilled bytes.
    pub bytes: u64,
    /// Whose.
    pub pid: Option<Pid>,
}

/// A sample of a thread's call stack.
#[derive(Clone, Copy, Debug)]
pub struct CpuSample {
    /// When.
    pub time: u64,
    /// How much time it stands for.
    pub weight: u64,
    /// The thread.
    pub thread: u64,
    /// Index into [`crate::Recording::stacks`].
    pub stack: Option<u32>,
    /// `Running`, `Blocked`…
    pub state: TextId,
    /// Whose.
    pub pid: Option<Pid>,
}

/// A dispatch whose time is known, from the timing library.
#[derive(Clone, Copy, Debug)]
pub struct DispatchTime {
    /// When.
    pub span: Span,
    /// Its command buffer's label.
    pub label: TextId,
    /// Its kernel.
    pub kernel: TextId,
}

/// A counter, summed per millisecond so that memory does not grow with the table.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// Its name, when known.
    pub name: TextId,
    /// Rows seen.
    pub rows: u64,
    /// Largest value.
    pub max: f64,
    /// Millisecond → (sum of value × weight, sum of weights).
    pub buckets: FxHashMap<u64, (f64, f64)>,
}

/// Everything the tables of one run hold.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Encoder executions of all processes.
    pub gpu: Vec<GpuInterval>,
    /// Bytes moved by encoder, where the recording says so (real ones say 0).
    pub gpu_bytes: FxHashMap<u64, u64>,
    /// Command buffers on the CPU.
    pub submissions: Vec<Submission>,
    /// Encoders on the CPU.
    pub encodings: Vec<Encoding>,
    /// Completion notices, of all processes.
    pub completions: Vec<BufferEvent>,
    /// Command buffers that failed, with the code.
    pub errors: Vec<BufferEvent>,
    /// Commit times from frame assignments.
    pub commits: Vec<BufferEvent>,
    /// Driver processing of buffers and encoders.
    pub driver: Vec<Named>,
    /// Memory work in the driver: wiring.
    pub driver_memory: Vec<Named>,
    /// Debug groups, completion handlers.
    pub application: Vec<Named>,
    /// The GPU as a whole: kind `Active` or `Idle`.
    pub gpu_states: Vec<Named>,
    /// Clock states: kind `Minimum`, `Medium`, `Maximum`.
    pub clock_states: Vec<Named>,
    /// Thermal states.
    pub thermal_states: Vec<Named>,
    /// Shader compilations.
    pub compilations: Vec<Named>,
    /// Signpost intervals: kind is the subsystem.
    pub signposts: Vec<Named>,
    /// Resources.
    pub allocations: Vec<Allocation>,
    /// `currentAllocatedSize` over time.
    pub allocated: Vec<Level>,
    /// Wired system memory over time.
    pub wired: Vec<Level>,
    /// Shader-profiler rows.
    pub shaders: Vec<ShaderSample>,
    /// Names of shaders in the shader list.
    pub shader_names: Vec<(TextId, Option<Pid>)>,
    /// Register spills.
    pub spills: Vec<Spill>,
    /// Dispatches with their times.
    pub dispatches: Vec<DispatchTime>,
    /// CPU samples.
    pub samples: Vec<CpuSample>,
    /// Counters by id or name.
    pub counters: FxHashMap<u64, Counter>,
    /// Libraries loaded while recording.
    pub libraries: Vec<LibraryLoad>,
    /// Heap allocations by category.
    pub heap: Vec<HeapCategory>,
    /// Heap blocks still there at the end, by caller and library: how many, and their bytes.
    pub heap_callers: BTreeMap<(String, String), (u64, u64)>,
    /// Leaks.
    pub leaks: Vec<Leak>,
    /// GPU names seen.
    pub gpus: Vec<TextId>,
    /// Unmatched signpost begins: (name, identifier, thread) → start.
    pub(crate) open_signposts: FxHashMap<(TextId, u64, u64), u64>,
}

impl Events {
    /// Adds the events of another input of the same run.
    pub(crate) fn absorb(&mut self, other: Events) {
        fn append<T>(into: &mut Vec<T>, mut from: Vec<T>) {
            if into.is_empty() {
                *into = from;
            } else {
                into.append(&mut from);
            }
        }
        append(&mut self.gpu, other.gpu);
        self.gpu_bytes.extend(other.gpu_bytes);
        append(&mut self.submissions, other.submissions);
        append(&mut self.encodings, other.encodings);
        append(&mut self.completions, other.completions);
        append(&mut self.errors, other.errors);
        append(&mut self.commits, other.commits);
        append(&mut self.driver, other.driver);
        append(&mut self.driver_memory, other.driver_memory);
        append(&mut self.application, other.application);
        append(&mut self.gpu_states, other.gpu_states);
        append(&mut self.clock_states, other.clock_states);
        append(&mut self.thermal_states, other.thermal_states);
        append(&mut self.compilations, other.compilations);
        append(&mut self.signposts, other.signposts);
        append(&mut self.allocations, other.allocations);
        append(&mut self.allocated, other.allocated);
        append(&mut self.wired, other.wired);
        append(&mut self.shaders, other.shaders);
        append(&mut self.shader_names, other.shader_names);
        append(&mut self.spills, other.spills);
        append(&mut self.dispatches, other.dispatches);
        append(&mut self.samples, other.samples);
        append(&mut self.libraries, other.libraries);
        append(&mut self.heap, other.heap);
        append(&mut self.leaks, other.leaks);
        for (caller, (count, bytes)) in other.heap_callers {
            let sum = self.heap_callers.entry(caller).or_default();
            sum.0 += count;
            sum.1 = sum.1.saturating_add(bytes);
        }
        for gpu in other.gpus {
            if !self.gpus.contains(&gpu) {
                self.gpus.push(gpu);
            }
        }
        for (id, counter) in other.counters {
            let into = self.counters.entry(id).or_default();
            if counter.name != TextId::EMPTY {
                into.name = counter.name;
            }
            into.max = if into.rows == 0 {
                counter.max
            } else {
                into.max.max(counter.max)
            };
            into.rows += counter.rows;
            for (bucket, (sum, weight)) in counter.buckets {
                let place = into.buckets.entry(bucket).or_default();
                place.0 += sum;
                place.1 += weight;
            }
        }
        self.open_signposts.extend(other.open_signposts);
    }
}
