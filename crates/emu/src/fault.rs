//! What can go wrong in a program, and where.

use crate::device::Place;
use std::fmt;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The instruction it happened at.
    pub at: Site,
    /// Which thread, when one can be named.
    pub thread: Option<Thread>,
}

/// An instruction of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Whether it is in the constant program.
    pub constant_program: bool,
    /// Byte offset in that program.
    pub offset: u32,
    /// Its text.
    pub text: String,
    /// The line of the source it was made of, as `file:line`, where known.
    pub place: Option<String>,
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Position of its threadgroup in the grid of threadgroups.
    pub threadgroup: [u32; 3],
    /// Its simdgroup in the threadgroup.
    pub simdgroup: u32,
    /// Its lane in the simdgroup.
    pub lane: u32,
}

/// Memory that instructions address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Buffers.
    Device,
    /// Threadgroup memory.
    Threadgroup,
    /// A thread's stack.
    Stack,
}

/// Kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads a register that a load or atomic has yet to write.
    ReadBeforeWait {
        /// Half register.
        half: u16,
        /// The load.
        load: Site,
        /// The slot to wait for.
        slot: u8,
    },
    /// Writes a register that a load or atomic has yet to write.
    WriteBeforeWait {
        /// Half register.
        half: u16,
        /// The load.
        load: Site,
        /// The slot to wait for.
        slot: u8,
    },
    /// Reads a register whose value was given up with the discard hint.
    ReadAfterDiscard {
        /// Half register.
        half: u16,
        /// The instruction with the hint.
        discard: Site,
    },
    /// Reads a register that was never written.
    ReadUnwritten {
        /// Half register.
        half: u16,
    },
    /// Reads a register that a shuffle filled from a thread without a value in it.
    ReadOfUndefinedShuffle {
        /// Half register.
        half: u16,
        /// The shuffle.
        shuffle: Site,
    },
    /// Reads a uniform that nothing sets.
    UnsetUniform {
        /// Half uniform.
        half: u16,
    },
    /// An access outside the memory there is.
    OutOfBounds {
        /// Which memory.
        memory: Memory,
        /// The address; an offset for threadgroup and stack memory.
        address: u64,
        /// How many bytes were accessed.
        bytes: u32,
        /// The buffer that was missed, if one is near.
        place: Option<Place>,
        /// How many bytes the memory has, if it is not buffers.
        size: u64,
    },
    /// A branch or return to something that is no instruction of the program.
    NoInstruction {
        /// Where to.
        target: i64,
    },
    /// Threads that are active together return to different places.
    DivergentTarget,
    /// The program was left at its end, without `stop`.
    RanOffTheEnd,
    /// Bytes that are no known instruction.
    Undecodable {
        /// The first two of them.
        parcel: u16,
    },
    /// Something the emulator does not know.
    Unsupported {
        /// What.
        why: &'static str,
    },
    /// `trap` was executed.
    Trap,
    /// More instructions than allowed.
    TooManySteps {
        /// The limit, per simdgroup.
        limit: u64,
    },
    /// Calls nested more deeply than allowed.
    CallsTooDeep {
        /// The limit.
        limit: usize,
    },
    /// The execution mask is used in a way that cannot be meant.
    Nesting(NestingFault),
    /// A matrix instruction without all 32 lanes active.
    PartialMatrix {
        /// The lanes that were active.
        active: u32,
    },
}

/// Misuse of the execution-mask stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NestingFault {
    /// More levels are popped than are open.
    PopsTooMany {
        /// How many are popped.
        levels: u8,
        /// How many are open.
        open: u32,
    },
    /// `else` where no `if` is open.
    ElseWithoutIf,
    /// A level is opened again by an instruction whose earlier level is still open.
    OpenedTwice,
    /// The program or function ends while levels are open.
    LeftOpen {
        /// How many.
        open: u32,
        /// The instruction that opened the innermost.
        opener: Site,
    },
    /// Levels are nested more deeply than allowed.
    TooDeep {
        /// The limit.
        limit: usize,
    },
}

/// `r5`, or `r5l` and `r5h` for one half.
pub(crate) fn half_name(half: u16) -> String {
    let part = if half.is_multiple_of(2) { 'l' } else { 'h' };
    format!("r{}{part}", half / 2)
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.constant_program {
            " of the constant program"
        } else {
            ""
        };
        write!(f, "`{}` at {:#x}{whose}", self.text, self.offset)?;
        match &self.place {
            Some(place) => write!(f, " ({place})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.threadgroup;
        write!(
            f,
            "lane {} of simdgroup {} in threadgroup ({x}, {y}, {z})",
            self.lane, self.simdgroup
        )
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Memory::Device => "device memory",
            Memory::Threadgroup => "threadgroup memory",
            Memory::Stack => "the stack",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.kind)?;
        match self.thread {
            Some(thread) => write!(f, " ({thread})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::ReadBeforeWait { half, load, slot } => write!(
                f,
                "reads {}, which {load} has not delivered: there is no `wait {slot}` between them",
                half_name(*half)
            ),
            FaultKind::WriteBeforeWait { half, load, slot } => write!(
                f,
                "writes {}, which {load} will overwrite when it arrives: there is no `wait {slot}` \
                 between them",
                half_name(*half)
            ),
            FaultKind::ReadAfterDiscard { half, discard } => write!(
                f,
                "reads {}, whose value {discard} gave up with the discard hint",
                half_name(*half)
            ),
            FaultKind::ReadUnwritten { half } => {
                write!(f, "reads {}, which was never written", half_name(*half))
            }
            FaultKind::ReadOfUndefinedShuffle { half, shuffle } => write!(
                f,
                "reads {}, which {shuffle} filled from a lane that has no value",
                half_name(*half)
            ),
            FaultKind::UnsetUniform { half } => write!(
                f,
                "reads half uniform {half}, which no argument, constant or constant program sets"
            ),
            FaultKind::OutOfBounds {
                memory,
                address,
                bytes,
                place,
                size,
            } => out_of_bounds(f, *memory, *address, *bytes, *place, *size),
            FaultKind::NoInstruction { target } => write!(
                f,
                "continues at {target:#x}, where the program has no instruction"
            ),
            FaultKind::DivergentTarget => {
                f.write_str("continues at different addresses in lanes that are active together")
            }
            FaultKind::RanOffTheEnd => f.write_str("is where the code ends, without `stop`"),
            FaultKind::Undecodable { parcel } => {
                write!(f, "is no known instruction (parcel {parcel:#06x})")
            }
            FaultKind::Unsupported { why } => write!(f, "is not emulated: {why}"),
            FaultKind::Trap => f.write_str("was executed"),
            FaultKind::TooManySteps { limit } => write!(
                f,
                "was reached after {limit} instructions of one simdgroup, the limit"
            ),
            FaultKind::CallsTooDeep { limit } => {
                write!(f, "calls more than {limit} functions deep")
            }
            FaultKind::Nesting(fault) => fault.fmt(f),
            FaultKind::PartialMatrix { active } => write!(
                f,
                "needs all 32 lanes of the simdgroup, and {} are active",
                active.count_ones()
            ),
        }
    }
}

fn out_of_bounds(
    f: &mut fmt::Formatter<'_>,
    memory: Memory,
    address: u64,
    bytes: u32,
    place: Option<Place>,
    size: u64,
) -> fmt::Result {
    write!(f, "accesses {bytes} bytes of {memory} at {address:#x}, ")?;
    match (memory, place) {
        (Memory::Device, Some(place)) => write!(
            f,
            "byte {} of buffer {}, which has {} bytes",
            place.offset, place.buffer, place.bytes
        ),
        (Memory::Device, None) => f.write_str("where there is no buffer"),
        _ => write!(f, "and there are {size} bytes"),
    }
}

impl fmt::Display for NestingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NestingFault::PopsTooMany { levels, open } => write!(
                f,
                "closes {levels} levels of the execution mask, and {open} are open"
            ),
            NestingFault::ElseWithoutIf => {
                f.write_str("has no open level of the execution mask to alternate")
            }
            NestingFault::OpenedTwice => f.write_str(
                "opens a level of the execution mask while the level it opened before is still \
                 open: a `pop_exec` is missing",
            ),
            NestingFault::LeftOpen { open, opener } => write!(
                f,
                "is reached with {open} levels of the execution mask open, the innermost by {opener}"
            ),
            NestingFault::TooDeep { limit } => {
                write!(f, "nests the execution mask more than {limit} levels deep")
            }
        }
    }
}
