//! What can go wrong, as values.

use assay_msl::Diagnostic;
use std::time::Duration;

/// Why a device did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such device here, or it is gone.
    #[error("{0}")]
    NoDevice(String),
    /// The source has errors.
    #[error("{}", .0.first().map_or("the compiler failed without saying why".to_owned(), ToString::to_string))]
    Source(Vec<Diagnostic>),
    /// There is no compiler, or it does not work.
    #[error("{0}")]
    Compiler(String),
    /// Bytes that are no library this device reads.
    #[error("{0}")]
    Library(String),
    /// A library without kernels.
    #[error("it declares no kernels")]
    NoKernels,
    /// The library has no kernel of this name.
    #[error("no kernel is called \"{name}\"{}", nearest_words(.nearest, *.count))]
    NoFunction {
        /// The name asked for.
        name: String,
        /// The nearest names there are, best first.
        nearest: Vec<String>,
        /// How many kernels there are.
        count: usize,
    },
    /// A function constant without value.
    #[error("function constant {index} (\"{name}\") has no value and no default")]
    MissingConstant {
        /// Its number.
        index: u32,
        /// Its name.
        name: String,
    },
    /// A value for a function constant that the kernel does not have.
    #[error("there is no function constant {key}; {}", match .known.is_empty() { true => "the kernel has none".to_owned(), false => format!("there are {}", .known.join(", ")) })]
    NoConstant {
        /// As it was named.
        key: String,
        /// Number and name of those there are.
        known: Vec<String>,
    },
    /// A value for a function constant of another type than the constant's.
    #[error("{0}")]
    ConstantType(String),
    /// The kernel uses something this device cannot run.
    #[error("kernel \"{function}\"{}: {what} is not supported here", at(.place))]
    Unsupported {
        /// The kernel.
        function: String,
        /// What, by name.
        what: String,
        /// File and line, where known.
        place: Option<String>,
    },
    /// The kernel could not be made ready for another reason.
    #[error("kernel \"{function}\": {why}")]
    Pipeline {
        /// The kernel.
        function: String,
        /// Why.
        why: String,
    },
    /// An argument that the kernel uses is not bound.
    #[error("kernel \"{function}\": {what} {index} (\"{name}\") is not bound")]
    Unbound {
        /// The kernel.
        function: String,
        /// `buffer` or `threadgroup memory`.
        what: &'static str,
        /// The index.
        index: u32,
        /// The argument's name in the source.
        name: String,
    },
    /// A binding that cannot be used.
    #[error("kernel \"{function}\", index {index}: {why}")]
    Binding {
        /// The kernel.
        function: String,
        /// The index.
        index: u32,
        /// Why.
        why: String,
    },
    /// No threads, or more than can be counted.
    #[error("{0}")]
    Grid(String),
    /// A threadgroup has too many threads.
    #[error("a threadgroup of {} × {} × {} threads is too large: kernel \"{function}\" takes {limit}", .threadgroup[0], .threadgroup[1], .threadgroup[2])]
    ThreadgroupTooLarge {
        /// The kernel.
        function: String,
        /// What was asked for.
        threadgroup: [u32; 3],
        /// Most threads.
        limit: u32,
    },
    /// A threadgroup needs too much memory.
    #[error(
        "kernel \"{function}\": {needed} bytes of threadgroup memory are more than the {limit} there are"
    )]
    ThreadgroupMemory {
        /// The kernel.
        function: String,
        /// Bytes needed, declared and bound together.
        needed: u64,
        /// Bytes there are.
        limit: u32,
    },
    /// A read or write outside a buffer by the host.
    #[error("{length} bytes at offset {offset} are outside a buffer of {size}")]
    OutsideBuffer {
        /// Where.
        offset: u64,
        /// How many.
        length: u64,
        /// The buffer's size.
        size: u64,
    },
    /// Not enough memory.
    #[error("{needed} bytes of memory are more than the {limit} allowed")]
    OutOfMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The GPU ran out of memory while it worked; its own words.
    #[error("the GPU ran out of memory: {0}")]
    GpuMemory(String),
    /// A capture could not be made.
    #[error("no capture: {0}")]
    Capture(String),
    /// The device gave up after the time allowed.
    #[error("dispatch {dispatch} (\"{function}\") did not finish within {:.3} s", .after.as_secs_f64())]
    TimeOut {
        /// Which dispatch of the submission, counted from 0.
        dispatch: usize,
        /// The kernel.
        function: String,
        /// The time allowed.
        after: Duration,
    },
    /// Someone asked for the stop.
    #[error("stopped on request")]
    Cancelled,
    /// The kernel did something it must not.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// An id that names nothing (any more).
    #[error("there is no {what} number {number} (any more)")]
    NoSuchId {
        /// `buffer`, `pipeline`, `library` or `submission`.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// More things of a kind than can be numbered.
    #[error("too many of one kind: {0}")]
    TooMany(&'static str),
}

/// Most names suggested for one that does not exist.
const MOST_SUGGESTED: usize = 8;

impl Error {
    /// No kernel of this name among `names`: suggests the nearest, then any others.
    pub(crate) fn no_function(name: &str, names: &[String]) -> Error {
        let nearest =
            assay_report::nearest::offered(names.iter().map(String::as_str), name, MOST_SUGGESTED);
        Error::NoFunction {
            name: name.to_owned(),
            nearest: nearest.into_iter().map(str::to_owned).collect(),
            count: names.len(),
        }
    }
}

/// What a kernel did wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel \"{function}\"{}: {what}{}", at(.place), in_thread(.thread))]
pub struct Fault {
    /// Which dispatch of the submission, counted from 0.
    pub dispatch: usize,
    /// The kernel.
    pub function: String,
    /// What kind of mistake.
    pub kind: FaultKind,
    /// What happened, in words.
    pub what: String,
    /// File and line, where known.
    pub place: Option<String>,
    /// Position in the grid, where known.
    pub thread: Option<[u32; 3]>,
}

/// Kinds of mistakes a kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access outside what is bound; a GPU's page fault.
    OutOfBounds,
    /// A write to constant data.
    ReadOnly,
    /// An atomic access that is not aligned to its size.
    Misaligned,
    /// More operations than allowed.
    TooManySteps,
    /// The system stopped it, because it took too long or made no progress.
    TimeOut,
    /// Code that the compiler took to be unreachable was reached.
    Unreachable,
    /// Something else; the device's own words say what.
    Other,
}

fn at(place: &Option<String>) -> String {
    place
        .as_ref()
        .map_or(String::new(), |place| format!(", {place}"))
}

fn in_thread(thread: &Option<[u32; 3]>) -> String {
    thread.map_or(String::new(), |[x, y, z]| {
        format!(", in thread ({x}, {y}, {z})")
    })
}

fn nearest_words(nearest: &[String], count: usize) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let more = if count > nearest.len() { ", …" } else { "" };
    format!(
        "; there are {count}, nearest first: {}{more}",
        nearest.join(", ")
    )
}
