//! What a dispatch executes, folded: the input of the model, independent of the chip.
//!
//! Instructions are summarised as *runs* between *stops* (a memory access, a wait, a
//! barrier); a basic block is a sequence of runs, and what a simdgroup does is a *path*: the
//! sequence of its blocks. Both sequences are folded where they repeat. Accesses have averages
//! per execution. A few kilobytes describe a dispatch of any size.

use serde::{Deserialize, Serialize};

/// Version of the stored form.
pub const VERSION: u32 = 2;

/// Bytes of a cache line.
pub const LINE: u64 = 128;

/// How many LRU capacities misses are recorded for.
pub const CAPACITIES: usize = 8;

/// The capacity of level `n`, in lines: 8 (1 KiB) to 1024 (128 KiB).
pub const fn capacity(n: usize) -> usize {
    8 << n
}

/// A dispatch as executed on a sample of its threadgroups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Execution {
    /// Version of this form.
    pub version: u32,
    /// The kernel's name.
    pub kernel: String,
    /// Threads along each axis.
    pub grid: [u32; 3],
    /// Threads of a threadgroup along each axis.
    pub threadgroup: [u32; 3],
    /// How many threadgroups were executed.
    pub sampled: u32,
    /// Half registers of a thread.
    pub half_registers: u32,
    /// Threadgroup memory of a threadgroup, in bytes.
    pub threadgroup_bytes: u32,
    /// Lines of the stack that a simdgroup touches: a word of all its lanes is a line.
    pub stack_lines: u32,
    /// Instructions of the constant program.
    pub constant_instructions: u64,
    /// Instructions of the simdgroups of a threadgroup.
    pub instructions: f64,
    /// Lanes active per instruction.
    pub active_lanes: f64,
    /// Float operations of a threadgroup, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Share of instructions in which a lane with a thread was inactive.
    pub divergent: f64,
    /// Distinct runs of instructions.
    pub runs: Vec<Run>,
    /// Basic blocks that were executed.
    pub blocks: Vec<Block>,
    /// Memory instructions that were executed; those that behave alike are one.
    pub accesses: Vec<Access>,
    /// Distinct streams of simdgroups.
    pub paths: Vec<Path>,
    /// Kinds of threadgroups.
    pub groups: Vec<Group>,
    /// How many threadgroups in a row, in dispatch order, are of which kind; empty when kinds
    /// are mixed.
    pub order: Vec<(u64, u16)>,
    /// Device memory that the whole dispatch touches.
    pub footprint: Footprint,
    /// What to know about the sample.
    pub notes: Vec<String>,
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Byte offset of its first instruction.
    pub offset: u32,
    /// Its runs, as indices in [`Execution::runs`]; code that was unrolled folds into loops.
    pub steps: Vec<Step>,
}

/// Instructions up to and including a stop. Cycles are those of the cost table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "RunForm", into = "RunForm")]
pub struct Run {
    /// Instructions, the stop included.
    pub instructions: u32,
    /// Issue slots, without those of the operations counted below.
    pub issue: f32,
    /// Cycles of the complex unit.
    pub complex: f32,
    /// Cycles one simdgroup alone takes for them: issue and dependences.
    pub alone: f32,
    /// Lines of code that the instruction cache has lost since the last turn of the loop around them.
    pub fetched: f32,
    /// Reductions over a simdgroup.
    pub reductions: u16,
    /// Prefix operations over a simdgroup.
    pub prefixes: u16,
    /// Shuffles and ballots.
    pub shuffles: u16,
    /// Products of 8×8 matrices accumulated in single precision.
    pub matrices32: u16,
    /// The same accumulated in half precision.
    pub matrices16: u16,
    /// What ends the run.
    pub stop: Stop,
}

/// What ends a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// The end of the block.
    #[default]
    End,
    /// An access; what it loads is there once its slot is waited for.
    Access {
        /// Index in [`Execution::accesses`].
        access: u16,
        /// Scoreboard slot.
        slot: u8,
    },
    /// Waits for a scoreboard slot.
    Wait {
        /// Which.
        slot: u8,
    },
    /// The next instruction uses what a load from threadgroup memory delivers; this many
    /// later ones may still be under way.
    UseLocal {
        /// Loads that may be under way.
        later: u8,
    },
    /// A threadgroup barrier.
    Barrier,
}

/// A run as stored: a tuple, because there are many.
type RunForm = (u32, f32, f32, f32, [u16; 5], StopForm, f32);
/// A stop as stored: kind, number, slot.
type StopForm = (u8, u16, u8);

impl From<RunForm> for Run {
    fn from((instructions, issue, complex, alone, counts, stop, fetched): RunForm) -> Run {
        let [reductions, prefixes, shuffles, matrices32, matrices16] = counts;
        Run {
            instructions,
            issue,
            complex,
            alone,
            fetched,
            reductions,
            prefixes,
            shuffles,
            matrices32,
            matrices16,
            stop: match stop {
                (1, access, slot) => Stop::Access { access, slot },
                (2, _, slot) => Stop::Wait { slot },
                (3, _, later) => Stop::UseLocal { later },
                (4, _, _) => Stop::Barrier,
                _ => Stop::End,
            },
        }
    }
}

impl From<Run> for RunForm {
    fn from(run: Run) -> RunForm {
        let counts = [
            run.reductions,
            run.prefixes,
            run.shuffles,
            run.matrices32,
            run.matrices16,
        ];
        let stop = match run.stop {
            Stop::End => (0, 0, 0),
            Stop::Access { access, slot } => (1, access, slot),
            Stop::Wait { slot } => (2, 0, slot),
            Stop::UseLocal { later } => (3, 0, later),
            Stop::Barrier => (4, 0, 0),
        };
        (
            run.instructions,
            run.issue,
            run.complex,
            run.alone,
            counts,
            stop,
            run.fetched,
        )
    }
}

/// Which memory an access goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Buffers.
    #[default]
    Device,
    /// Threadgroup memory.
    Threadgroup,
    /// A thread's stack, which lies in device memory.
    Stack,
}

/// What an access does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Reads.
    #[default]
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Atomic,
}

/// A memory instruction. Everything but the offset is an average per execution by a
/// simdgroup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// Which memory.
    pub space: Space,
    /// What it does.
    pub kind: Kind,
    /// Share of executions that are an access of their own. The others move elements next to
    /// those of an access before them, which Apple's compiler would have joined.
    pub issued: f32,
    /// Share of executions in which a lane takes part.
    #[serde(default = "always", skip_serializing_if = "is_always")]
    pub taken: f32,
    /// Lanes that take part.
    pub lanes: f32,
    /// Bytes moved: lanes times bytes per lane.
    pub bytes: f32,
    /// Distinct 128-byte lines; of threadgroup memory, rows of 32 banks if nothing
    /// collided.
    pub lines: f32,
    /// Passes over the 32 banks of threadgroup memory; of a load or store of device memory, the sectors of 32 bytes that
    /// neighbouring lanes ask for together; for an atomic, the most lanes that meet at one address.
    pub passes: f32,
    /// Lines that an LRU cache of [`capacity`]`(n)` lines would miss, in a threadgroup that
    /// has the cache for itself. Empty for threadgroup memory.
    pub misses: Vec<f32>,
}

fn always() -> f32 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_always(share: &f32) -> bool {
    *share == 1.0
}

/// A distinct stream of simdgroups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The sequence.
    pub steps: Vec<Step>,
}

/// A step of a path, or of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// A block (or a run) and how often it is executed in a row; less than once when the order
    /// of blocks was not kept and this is an average.
    Block(u16, f32),
    /// Steps and how often they are repeated.
    Loop(f32, Vec<Step>),
}

/// Threadgroups that do the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Their share of all threadgroups.
    pub share: f64,
    /// Indices in [`Execution::paths`] with how many simdgroups in a row follow each.
    pub simdgroups: Vec<(u16, u16)>,
}

/// Device memory that a dispatch touches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// Distinct lines that the first threadgroups in dispatch order touch, by how many
    /// threadgroups these are; ascending, the last is the whole grid.
    pub curve: Vec<(u64, f64)>,
    /// Lines per buffer for the whole grid.
    pub buffers: Vec<BufferFootprint>,
    /// Share of the lines whose addresses follow from the threadgroup's position by a rule
    /// verified on the sample; the rest is extrapolated from overlaps.
    pub verified: f32,
}

/// Lines of one buffer that a dispatch touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferFootprint {
    /// The buffer, as the caller numbers them.
    pub buffer: u32,
    /// Lines read.
    pub read: f64,
    /// Lines written.
    pub written: f64,
}

impl Execution {
    /// Returns true if both execute about as many instructions and touch about as much memory: what
    /// differed between them, such as the contents of a buffer, does not decide what the kernel does.
    pub fn does_as_much_as(&self, other: &Execution) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 0.02 * a.max(b);
        near(self.instructions, other.instructions)
            && near(self.lines(), other.lines())
            && self.accesses.len() == other.accesses.len()
    }

    /// How many threadgroups the grid has.
    pub fn threadgroups(&self) -> u64 {
        let axis = |n: usize| u64::from(self.grid[n].div_ceil(self.threadgroup[n].max(1)));
        axis(0) * axis(1) * axis(2)
    }

    /// Threads of a full threadgroup.
    pub fn threads(&self) -> u32 {
        self.threadgroup.iter().product()
    }

    /// What is wrong with an execution that was not made here, if anything: numbers that name
    /// nothing.
    pub fn fault(&self) -> Option<&'static str> {
        let accesses = self.accesses.len();
        let unknown_access = |run: &Run| match run.stop {
            Stop::Access { access, .. } => usize::from(access) >= accesses,
            _ => false,
        };
        let mut blocks = self.blocks.iter();
        let mut paths = self.paths.iter();
        let mut simdgroups = self.groups.iter().flat_map(|group| &group.simdgroups);
        let mut order = self.order.iter();
        if self.version != VERSION {
            Some("it is of another version")
        } else if self.groups.is_empty() {
            Some("it has no threadgroups")
        } else if self.runs.iter().any(unknown_access) {
            Some("a run names an access that is not there")
        } else if blocks.any(|block| !leaves_below(&block.steps, self.runs.len())) {
            Some("a block names a run that is not there")
        } else if paths.any(|path| !leaves_below(&path.steps, self.blocks.len())) {
            Some("a path names a block that is not there")
        } else if simdgroups.any(|(path, _)| usize::from(*path) >= self.paths.len()) {
            Some("a simdgroup names a path that is not there")
        } else if order.any(|(_, kind)| usize::from(*kind) >= self.groups.len()) {
            Some("its order names a kind of threadgroups that is not there")
        } else {
            None
        }
    }

    /// Distinct lines that the whole grid touches.
    pub fn lines(&self) -> f64 {
        self.footprint.curve.last().map_or(0.0, |&(_, lines)| lines)
    }
}

/// Returns true if all leaves of steps are numbers below `count`, and counts are numbers.
fn leaves_below(steps: &[Step], count: usize) -> bool {
    steps.iter().all(|step| match step {
        Step::Block(leaf, times) => usize::from(*leaf) < count && times.is_finite(),
        Step::Loop(times, body) => times.is_finite() && leaves_below(body, count),
    })
}
