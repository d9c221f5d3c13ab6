//! Machine instructions over virtual registers: what selection makes and allocation
//! consumes.
//!
//! * An [`Inst`] is an [`agx`](assay_agx) operation with its fields, like
//!   [`assay_agx::Builder`] takes them, except that registers are slices of virtual
//!   ones and jumps name blocks.
//! * A [`VReg`] is a run of half registers (1 to 16) with an alignment. A [`Slice`] names
//!   a part of one: the low half of a word, one element of a loaded vector, two words as
//!   a pair. Several scalars that must sit side by side are one `VReg`.
//! * The form is *not* in static single assignment: block parameters of the program are
//!   registers written by a [`Opcode::ParallelCopy`] at the end of each predecessor, and
//!   parts of a register may be written by different instructions.
//! * Registers belong to a lane, and a lane's own path through the blocks is what
//!   [`Block::successors`] describes. What other lanes do in between, while this one is
//!   masked off, cannot change its registers. So liveness follows these edges alone.
//! * The execution mask is explicit: [`crate::lower`] writes `if_icmp`, `else_icmp`,
//!   `while_icmp`, `pop_exec` and jumps itself. Such an instruction is only ever at the
//!   head or the tail of a block ([`Inst::is_control`]) and stays in place. The nesting
//!   counter `r0l` is implied by mask instructions. Where lanes leave several levels at
//!   once an ordinary instruction writes it: its destination is [`Operand::COUNTER`], and
//!   it counts as control. When [`Function::uses_exec`] is set, [`crate::back`] reserves
//!   the counter and puts `mov_imm r0l, 0` first.
//! * A shuffle accumulates the lane numbers that the four lanes of a quad ask for, active
//!   or not. Where some are masked off, the number is put into [`Operand::SELECTOR`]
//!   (`r0h`), which [`crate::back`] sets to zero first and keeps free when
//!   [`Function::uses_selector`] is set; whoever writes it writes zero again in the same
//!   block, by convergent instructions, whose order is kept.
//! * The destination of a matrix instruction shares no register with its first two
//!   sources (the third may be the same).
//! * Blocks are in layout order; falling off the end of one goes on with the next.
//! * Uniform registers are physical here: the lowering lays them out.
//! * Waits, slots and cache hints do not exist here: [`crate::back`] makes them.
//! * Whatever registers are chosen, every instruction must be encodable. Which operand
//!   may be an immediate or a uniform, and of which width, is the lowering's business.

mod text;
mod verify;

pub use text::TextError;

use assay_agx::{Field, Modifiers, Op, Operand as Fixed, Unencoded, Uniform, Width};
use assay_ssa::Loc;
use assay_ssa::id::define_ids;

define_ids! {
    /// A virtual register.
    VReg = "%";
    /// A block of a machine function.
    BlockId = "mb";
}

/// What a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VRegData {
    /// Size in half registers, 1 to 16.
    pub halves: u8,
    /// Alignment in half registers: 1, 2 (a 32-bit operand) or 4 (a 64-bit one).
    pub align: u8,
}

/// Some half registers of a virtual register, as one operand sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The register.
    pub reg: VReg,
    /// First half, counted in the register.
    pub half: u8,
    /// Width of each element.
    pub width: Width,
    /// How many elements, side by side.
    pub count: u8,
}

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// Registers that are read.
    Use(Slice, Modifiers),
    /// Registers that are written.
    Def(Slice),
    /// A uniform register.
    Uniform(Uniform),
    /// Anything that is no register: immediates, conditions, formats, masks.
    Fixed(Fixed),
    /// A jump target.
    Block(BlockId),
}

/// What an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A machine operation; `name` picks one of several encodings of it by mnemonic, as
    /// [`assay_agx::Builder::named`] does.
    Machine {
        /// The operation.
        op: Op,
        /// Mnemonic, where `op` alone does not say.
        name: Option<&'static str>,
        /// Clamp the result.
        saturate: bool,
    },
    /// Copies all at once. Operands alternate: a definition, then its source (a use
    /// without modifiers, a uniform or an immediate) of the same size. A vector is
    /// put together from parts, and taken apart, with these too: allocation makes most
    /// of them disappear.
    ParallelCopy,
    /// The registers hold anything: what an undefined value is. No code.
    Undefined,
    /// An operation whose encoding is not publicly known: [`assay_agx::Placeholder`]. Its operands are the registers that
    /// are read and written, in fields that mean nothing; it is complete when the next instruction begins.
    Placeholder(Unencoded),
}

/// How an instruction touches memory, for whoever wants to move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Memory {
    /// Accesses with different sets never touch the same byte; `None` may touch any.
    pub alias: Option<u32>,
    /// Nothing in the dispatch writes what it reads: it may move freely.
    pub invariant: bool,
    /// Nothing that touches memory may cross it (barriers, ordered atomics, volatile).
    pub fence: bool,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// What it does.
    pub opcode: Opcode,
    /// Its operands; for [`Opcode::Machine`] each with its field.
    pub operands: Vec<(Field, Operand)>,
    /// Its effect on memory, if it touches memory or is a fence.
    pub memory: Option<Memory>,
    /// Other lanes take part (shuffles, reductions, ballots, barriers): it must not move
    /// into or out of a block, nor across another such instruction.
    pub convergent: bool,
    /// Where it came from.
    pub loc: Option<Loc>,
}

/// Instructions that run in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Mask instructions, then plain ones, then mask instructions and jumps.
    pub insts: Vec<Inst>,
    /// Where a lane that is active in this block can be active next.
    pub successors: Vec<BlockId>,
    /// How many loops it is in.
    pub loop_depth: u8,
}

/// Machine code over virtual registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// The registers, by number.
    pub vregs: assay_ssa::IdVec<VReg, VRegData>,
    /// The blocks in layout order.
    pub blocks: assay_ssa::IdVec<BlockId, Block>,
    /// Whether any instruction uses the nesting counter.
    pub uses_exec: bool,
    /// Whether any instruction uses the selector of shuffles.
    pub uses_selector: bool,
    /// Bytes of stack the lowering has laid out (arrays that stayed in memory), from
    /// offset 0; spills come after them.
    pub stack_bytes: u32,
}

/// A kernel ready for register allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The program without its code: name, bindings, constants, uniforms, threadgroup
    /// memory, declared threadgroup, source files.
    pub program: assay_agx::Program,
    /// The main program.
    pub main: Function,
    /// The program that runs once per dispatch and fills uniforms, if there is one.
    pub constant: Option<Function>,
    /// Source lines, by [`Inst::loc`]; their offsets are zero.
    pub lines: assay_ssa::IdVec<Loc, assay_agx::Line>,
    /// The largest number of half registers the code may use.
    pub register_limit: u16,
}

impl Operand {
    /// The nesting counter `r0l` as a destination.
    pub const COUNTER: Operand = Operand::Fixed(Fixed::Reg(assay_agx::Reg::half(0)));

    /// The selector of shuffles where lanes are masked off, `r0h`.
    pub const SELECTOR: Operand = Operand::Fixed(Fixed::Reg(assay_agx::Reg::half(1)));
}

impl Slice {
    /// How many half registers it covers.
    pub const fn halves(self) -> u8 {
        self.count * self.width.halves() as u8
    }

    /// The halves it covers, counted in the register.
    pub const fn range(self) -> std::ops::Range<u8> {
        self.half..self.half + self.halves()
    }
}

impl Block {
    /// Where the mask instructions and jumps at its end begin. What wakes lanes up
    /// (`else`, `pop_exec`) belongs to the head even when nothing follows it.
    pub fn tail(&self) -> usize {
        let tail = self.insts.iter().rev().take_while(|inst| {
            inst.is_control()
                && !matches!(
                    inst.opcode,
                    Opcode::Machine {
                        op: Op::ElseIcmp | Op::ElseFcmp | Op::PopExec,
                        ..
                    }
                )
        });
        self.insts.len() - tail.count()
    }

    /// Where the plain instructions begin.
    pub fn head(&self) -> usize {
        let head = self.insts.iter().take_while(|inst| inst.is_control());
        head.count().min(self.tail())
    }
}

impl Inst {
    /// A machine instruction without operands.
    pub const fn new(op: Op) -> Inst {
        Inst {
            opcode: Opcode::Machine {
                op,
                name: None,
                saturate: false,
            },
            operands: Vec::new(),
            memory: None,
            convergent: false,
            loc: None,
        }
    }

    /// An operation without a known encoding.
    pub fn placeholder(operation: Unencoded, defs: &[Slice], uses: &[Slice]) -> Inst {
        let def = |slice: &Slice| (Field::Dest, Operand::Def(*slice));
        let used = |slice: &Slice| (Field::A, Operand::Use(*slice, Modifiers::NONE));
        Inst {
            opcode: Opcode::Placeholder(operation),
            operands: defs.iter().map(def).chain(uses.iter().map(used)).collect(),
            memory: Some(Memory::default()),
            ..Inst::new(Op::Unknown)
        }
    }

    /// With one more operand.
    #[must_use]
    pub fn with(mut self, field: Field, operand: Operand) -> Inst {
        self.operands.push((field, operand));
        self
    }

    /// The slices it reads.
    pub fn uses(&self) -> impl Iterator<Item = Slice> {
        self.operands
            .iter()
            .filter_map(|(_, operand)| match operand {
                Operand::Use(slice, _) => Some(*slice),
                _ => None,
            })
    }

    /// The slices it writes.
    pub fn defs(&self) -> impl Iterator<Item = Slice> {
        self.operands
            .iter()
            .filter_map(|(_, operand)| match operand {
                Operand::Def(slice) => Some(*slice),
                _ => None,
            })
    }

    /// Whether it changes the execution mask, its counter or the flow of control.
    pub fn is_control(&self) -> bool {
        let writes_counter = |(_, operand): &(Field, Operand)| *operand == Operand::COUNTER;
        if self.operands.iter().any(writes_counter) {
            return true;
        }
        match self.opcode {
            Opcode::Machine { op, .. } => {
                op.writes_exec_mask()
                    || matches!(
                        op,
                        Op::JmpExecAny | Op::JmpExecNone | Op::JmpIncomplete | Op::Stop
                    )
            }
            _ => false,
        }
    }
}
