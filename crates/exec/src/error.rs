//! Errors of compiling and running.

use assay_opt::structurize::StructurizeError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why a kernel cannot be compiled for the executor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The module has no kernel of this name.
    #[error("no kernel \"{name}\"; there are: {known}")]
    NoKernel {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The kernel uses something the executor cannot run.
    #[error("kernel \"{kernel}\"{}: {what} is not supported by the CPU executor", at(.place))]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The builtin, instruction or argument, by name.
        what: String,
        /// File and line, where known.
        place: Option<String>,
    },
    /// A function constant has no value.
    #[error("function constant {index} (\"{name}\") has no value and no default: give it one")]
    MissingConstant {
        /// Its number.
        index: u32,
        /// Its name.
        name: String,
    },
    /// The control flow has no structured form.
    #[error("kernel \"{kernel}\": {reason}")]
    Control {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: StructurizeError,
    },
    /// The program contradicts itself; the verifier of `assay-ssa` would say more.
    #[error("kernel \"{kernel}\": {what}")]
    Malformed {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        what: String,
    },
}

fn at(place: &Option<String>) -> String {
    place
        .as_ref()
        .map_or(String::new(), |place| format!(", {place}"))
}

/// Why a dispatch did not start or did not finish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A buffer the kernel uses is not bound.
    #[error("buffer {index} (\"{name}\") is not bound")]
    MissingBuffer {
        /// Its index.
        index: u32,
        /// Its name in the source.
        name: String,
    },
    /// Threadgroup memory the kernel uses has no size.
    #[error("threadgroup memory {index} (\"{name}\") has no size")]
    MissingThreadgroupMemory {
        /// Its index.
        index: u32,
        /// Its name in the source.
        name: String,
    },
    /// A texture the kernel uses is not bound, or its bytes are not what its layout says.
    #[error("texture {index} (\"{name}\") {why}")]
    BadTexture {
        /// Its index.
        index: u32,
        /// Its name in the source.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A member of an argument buffer cannot be written.
    #[error("argument \"{name}\": {why}")]
    BadMember {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A sampler the kernel uses is not bound.
    #[error("sampler {index} (\"{name}\") is not bound")]
    MissingSampler {
        /// Its index.
        index: u32,
        /// Its name in the source.
        name: String,
    },
    /// The grid or threadgroup cannot be dispatched.
    #[error("{0}")]
    BadGrid(String),
    /// The dispatch would need more host memory than allowed.
    #[error("the dispatch needs {needed} bytes of working memory; the limit is {limit}")]
    TooLarge {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The kernel did something it must not.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// What a kernel did wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel \"{kernel}\"{}: {kind}, in thread ({}, {}, {})", at(.place), thread[0], thread[1], thread[2])]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// What happened.
    pub kind: FaultKind,
    /// File, line and column, where known.
    pub place: Option<String>,
    /// Position in the grid of the (first) thread it happened in.
    pub thread: [u32; 3],
}

/// Faults that do not end a dispatch: loads and stores outside their memory, as a GPU goes on after them. Nothing is stored, and what is
/// loaded is zero. Only the first of each operation is kept.
#[derive(Debug, Default)]
pub struct Forgiven {
    kept: Mutex<BTreeMap<usize, Fault>>,
    /// A bit for each operation with a fault that is kept. A kernel may go wrong in every lane of every thread: all but the first
    /// find it here, without the lock and without a text.
    known: OnceLock<Box<[AtomicU64]>>,
}

impl Forgiven {
    /// The faults, in the order of their operations.
    pub fn into_faults(self) -> Vec<Fault> {
        let all = self.kept.into_inner();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        all.into_values().collect()
    }

    /// Keeps the first fault of an operation; `operations` is how many the program has.
    pub(crate) fn add(&self, position: usize, operations: usize, fault: impl FnOnce() -> Fault) {
        let known = self.known.get_or_init(|| {
            let words = operations.div_ceil(64);
            (0..words).map(|_| AtomicU64::new(0)).collect()
        });
        let (word, bit) = (known.get(position / 64), 1 << (position % 64));
        if word.is_some_and(|word| word.load(Relaxed) & bit != 0) {
            return;
        }
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(position).or_insert_with(fault);
        if let Some(word) = word {
            word.fetch_or(bit, Relaxed);
        }
    }
}

/// What a kernel did wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access outside what the pointer points into.
    #[error("{action} of {size} bytes at offset {offset} of {target}, which has {length}")]
    OutOfBounds {
        /// `read`, `write` or `atomic access`.
        action: &'static str,
        /// Bytes accessed.
        size: u32,
        /// Offset of the access; negative below the start.
        offset: i64,
        /// What it points into, by name.
        target: String,
        /// Its size in bytes.
        length: u64,
    },
    /// A pointer into nothing.
    #[error("{action} of {size} bytes at address {address:#x}, which is in no buffer")]
    NoTarget {
        /// `read`, `write` or `atomic access`.
        action: &'static str,
        /// Bytes accessed.
        size: u32,
        /// The address.
        address: u64,
    },
    /// A write to constant data of the program.
    #[error("write to {target}")]
    ReadOnly {
        /// What was written to.
        target: String,
    },
    /// An atomic operation that is not aligned to its size.
    #[error("misaligned atomic access of {size} bytes at address {address:#x}")]
    MisalignedAtomic {
        /// Bytes accessed.
        size: u32,
        /// The address.
        address: u64,
    },
    /// A texture or sampler that does not suit its use.
    #[error("{what}")]
    Texture {
        /// What does not suit.
        what: String,
    },
    /// A simdgroup, or several in step, ran more operations than allowed.
    #[error("stopped after {steps} operations of one simdgroup (the limit on steps)")]
    TooManySteps {
        /// Operations run.
        steps: u64,
    },
    /// Threads wait for something that never happens.
    #[error(
        "this loop never ends: nothing that any thread still running does changes anything any more (a lock that is not \
         released, or a barrier across threadgroups, which Metal does not promise to run at the same time; checking runs \
         them one after the other)"
    )]
    NoProgress,
    /// Someone asked the run to stop.
    #[error("stopped on request")]
    Cancelled,
    /// Code was reached that the compiler declared unreachable. The place is the last one known before it.
    #[error(
        "what follows is undefined, and the compiler left it out: most likely an index outside a thread array, \
         an endless loop without effects, a division by zero or a recursion too deep to be written out"
    )]
    Unreachable,
}
