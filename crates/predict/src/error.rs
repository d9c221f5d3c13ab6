//! Why there is no prediction.

use assay_emu::{EmuError, FaultKind, LaunchError, NoBuffer, NoSuchUniform};

/// Why a dispatch cannot be predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The geometry is not possible, or the kernel failed.
    #[error(transparent)]
    Run(EmuError),
    /// The kernel did not end within its budget.
    #[error(
        "a simdgroup of threadgroup {threadgroup:?} did not end within {steps} instructions: \
         the kernel may loop for ever, wait for another threadgroup, or need data it was not \
         given; raise the budget if it is only long"
    )]
    Endless {
        /// The threadgroup.
        threadgroup: [u32; 3],
        /// The budget.
        steps: u64,
    },
    /// Threadgroups wait for each other, and there are too many to run all.
    #[error(
        "a sampled threadgroup did not end within {steps} instructions, and the program's atomics \
         tell threadgroups of each other: it probably waits for one that was not run. Up to {most} \
         threadgroups would be run whole; this grid has {threadgroups}"
    )]
    Waits {
        /// Threadgroups of the grid.
        threadgroups: u64,
        /// Threadgroups that are run whole.
        most: u64,
        /// The budget.
        steps: u64,
    },
    /// An argument is missing.
    #[error("the kernel reads buffer {index}, which was not given: give its size or its contents")]
    MissingBuffer {
        /// Index of the buffer.
        index: u32,
    },
    /// Constant bytes end too early.
    #[error("buffer {index} has {given} bytes, but the kernel reads bytes up to {needed} of it")]
    ShortBuffer {
        /// Index of the buffer.
        index: u32,
        /// Bytes given.
        given: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// The size of threadgroup memory is missing.
    #[error("the kernel takes threadgroup memory at index {index}, whose size was not given")]
    MissingThreadgroupMemory {
        /// Index of the argument.
        index: u32,
    },
    /// The program binds something that a dispatch cannot give.
    #[error("the program expects {0}, which is not emulated")]
    Unsupported(&'static str),
    /// The program has an operation that cannot be run.
    #[error("there is no predicted time: {}", .0.refusal())]
    Unencoded(assay_agx::UnencodedKind),
    /// A buffer cannot be made.
    #[error(transparent)]
    Buffer(#[from] NoBuffer),
    /// A uniform does not exist.
    #[error(transparent)]
    Uniform(#[from] NoSuchUniform),
    /// The program is too large to be followed.
    #[error("the program has more than 65536 basic blocks")]
    TooManyBlocks,
    /// A stored execution makes no sense.
    #[error("the stored execution cannot be used: {0}; execute the dispatch again")]
    BadExecution(&'static str),
    /// The chip lacks a figure.
    #[error("{chip} has no published {what}: give it, e.g. `{name}=…`, or name another chip")]
    MissingFigure {
        /// The chip.
        chip: &'static str,
        /// What is missing, in words.
        what: &'static str,
        /// The figure's name.
        name: &'static str,
    },
    /// The threadgroup does not fit on a core.
    #[error(
        "a threadgroup of {threads} threads with {half_registers} half registers each and \
         {threadgroup_bytes} bytes of threadgroup memory does not fit on a core"
    )]
    DoesNotFit {
        /// Threads of a threadgroup.
        threads: u32,
        /// Half registers per thread.
        half_registers: u32,
        /// Threadgroup memory.
        threadgroup_bytes: u32,
    },
}

impl Error {
    /// From the emulator, naming kernels that do not end.
    pub(crate) fn of_run(error: EmuError, threadgroup: [u32; 3]) -> Error {
        if let EmuError::Fault(fault) = &error
            && let FaultKind::TooManySteps { limit } = fault.kind
        {
            return Error::Endless {
                threadgroup,
                steps: limit,
            };
        }
        Error::Run(error)
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Error {
        Error::Run(EmuError::Launch(error))
    }
}
