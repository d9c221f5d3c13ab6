//! What a command buffer does: commands that encoders leave in it, and where they come from.

use crate::address::Allocation;
use crate::stack::Stack;
use crate::texel_copy::TexelCopy;
use assay_objc::Strong;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What an index of buffers is given.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Buffer(Strong, usize),
    Bytes(Arc<[u8]>),
    /// What an argument table names: an allocation and an offset.
    Address(Arc<Allocation>, u64),
}

/// How many threads a dispatch has.
#[derive(Clone, Debug)]
pub(crate) enum Extent {
    Threads([u32; 3]),
    Groups([u32; 3]),
    /// Threadgroups that three numbers in a buffer say.
    Indirect(Strong, usize),
    /// The same, at an address.
    At(Arc<Allocation>, u64),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (counts, unit) = match self {
            Self::Threads(counts) => (counts, "threads"),
            Self::Groups(counts) => (counts, "threadgroups"),
            Self::Indirect(..) | Self::At(..) => {
                return write!(f, "a number in a buffer of threadgroups");
            }
        };
        let [x, y, z] = counts;
        write!(f, "{x}×{y}×{z} {unit}")
    }
}

/// A dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    pub(crate) pipeline: Strong,
    pub(crate) bound: Vec<(u32, Bound)>,
    pub(crate) memory: Vec<(u32, u32)>,
    pub(crate) textures: Vec<(u32, Strong)>,
    pub(crate) samplers: Vec<(u32, Strong)>,
    /// Textures and samplers that an argument table names.
    pub(crate) resources: Vec<(u32, Arc<Allocation>)>,
    pub(crate) extent: Extent,
    pub(crate) threadgroup: [u32; 3],
    pub(crate) origin: Arc<Origin>,
}

/// Which time of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Start,
    End,
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Dispatch(Box<Dispatch>),
    /// A dispatch over a limit: nothing of the command buffer runs from here on, for this reason.
    Refused(String),
    Fill {
        buffer: Strong,
        from: usize,
        length: usize,
        value: u8,
        origin: Arc<Origin>,
    },
    Copy {
        from: Strong,
        at: usize,
        to: Strong,
        to_at: usize,
        length: usize,
        origin: Arc<Origin>,
    },
    /// A copy between textures, or a texture and a buffer.
    Texels(Box<TexelCopy>),
    /// A timestamp, into a place of a sample buffer: of the encoder that follows, or of the one before.
    Sample(Strong, usize, Edge),
    Signal(Strong, u64),
    Wait(Strong, u64),
    /// An encoder begins; its dispatches are concurrent or not.
    Begin(bool),
    /// What follows is concurrent, or as the encoder is again.
    Overlap(bool),
    /// A barrier for all buffers.
    Barrier,
    /// A barrier for some memory.
    BarrierFor(Vec<Range<u64>>),
    UpdateFence(Strong),
    WaitForFence(Strong),
}

impl Command {
    /// What it is, in words.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Dispatch(_) | Self::Refused(_) => "a dispatch",
            Self::Fill { .. } => "a fill",
            Self::Copy { .. } => "a copy",
            Self::Texels(_) => "a copy of texels",
            Self::Sample(..) => "a timestamp",
            Self::Signal(..) => "a signal of an event",
            Self::Wait(..) => "a wait for an event",
            Self::Begin(_) => "an encoder",
            Self::Overlap(_) => "commands of an indirect command buffer",
            Self::Barrier | Self::BarrierFor(_) => "a barrier",
            Self::UpdateFence(_) => "an update of a fence",
            Self::WaitForFence(_) => "a wait for a fence",
        }
    }
}

/// Who encoded a dispatch or a command of a blit encoder.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    /// Counts all dispatches of the process in the order they were encoded.
    pub(crate) number: u64,
    /// The kernel, or the name of the blit command.
    pub(crate) kernel: String,
    /// The grid.
    pub(crate) extent: String,
    /// Labels of command buffer, encoder and debug groups, from the outside in; empty where there is none.
    pub(crate) labels: Vec<String>,
    /// When it was encoded, where that is recorded.
    pub(crate) encoded: u64,
    /// The program's calls, where they were taken.
    pub(crate) stack: Option<Stack>,
}

impl Origin {
    /// An origin with the next number.
    pub(crate) fn new(kernel: &str, extent: String, labels: Vec<String>) -> Arc<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let is_checked = crate::settings::settings().check;
        Arc::new(Self {
            number: NUMBERS.fetch_add(1, Relaxed),
            kernel: kernel.to_owned(),
            extent: if is_checked { extent } else { String::new() },
            labels,
            encoded: crate::record::now(),
            stack: is_checked.then(Stack::here),
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dispatch {} (\"{}\"", self.number, self.kernel)?;
        if !self.extent.is_empty() {
            write!(f, ", {}", self.extent)?;
        }
        for label in self.labels.iter().filter(|label| !label.is_empty()) {
            write!(f, ", in \"{label}\"")?;
        }
        write!(f, ")")
    }
}
