//! The bytecode: small operations over dense registers.
//!
//! A value is one register per number it is made of: a vector has as many as it has elements, a
//! matrix two, a struct those of its fields. Numbers of up to 32 bits live in *narrow* registers, 64-bit
//! integers and pointers in *wide* ones. Jump targets are positions of operations.

use crate::atomics::Update;
use crate::builtins::{LaneCall, LaneKernel};
use crate::class::Class;
use crate::collective::Collective;
use crate::lanes::{Compare, Level, N1, N2, N3, Narrowing, Rule, W1, W2, Widen};
use crate::matrix::{MatrixOp, Product};
use assay_ssa::builtin::Builtin;
use assay_ssa::{Argument, Binding, Scalar};
use std::ops::Range;

/// A register of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg {
    pub(crate) index: u32,
    pub(crate) wide: bool,
}

/// Consecutive entries of [`Program::lists`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct List {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// How a number lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// One byte, zero or not.
    Truth,
    Byte,
    Short,
    Word,
    Long,
}

impl Cell {
    pub(crate) fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::I1 => Self::Truth,
            Scalar::I8 => Self::Byte,
            Scalar::I16 | Scalar::F16 | Scalar::BF16 => Self::Short,
            Scalar::I32 | Scalar::F32 => Self::Word,
            Scalar::I64 => Self::Long,
        }
    }

    #[inline]
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::Truth | Self::Byte => 1,
            Self::Short => 2,
            Self::Word => 4,
            Self::Long => 8,
        }
    }
}

/// A load or store of numbers of one kind that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) regs: List,
    pub(crate) cell: Cell,
    /// The register that holds the pointer; the same in all lanes if there is an index.
    pub(crate) base: u32,
    pub(crate) index: Option<Scaled>,
    pub(crate) offset: u64,
    /// Bytes the address is a multiple of, if the program is right.
    pub(crate) align: u32,
    /// Other atomic accesses may happen at the same time.
    pub(crate) atomic: bool,
    /// Bytes up to the last number anybody looks at.
    pub(crate) wanted: u32,
}

impl Transfer {
    /// Bytes a lane accesses.
    #[inline(always)]
    pub(crate) fn size(&self) -> u32 {
        self.cell.bytes() * self.regs.len
    }
}

/// A narrow register of 32-bit indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scaled {
    pub(crate) reg: u32,
    pub(crate) signed: bool,
    pub(crate) scale: u32,
}

/// A copy that a simdgroup makes together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkCopy {
    /// Of a row: where to, where from, how many elements. Of a tile: where to, elements per row, width and height; where from,
    /// the same; the column and the row of the source that the first element comes from.
    pub(crate) args: List,
    /// Bytes of an element, and what they are aligned to.
    pub(crate) size: u32,
    pub(crate) align: u32,
    /// Elements outside the source are those at its edge instead of zeros.
    pub(crate) to_edge: bool,
}

impl BulkCopy {
    /// Bytes of the largest numbers that elements could be made of.
    pub(crate) fn unit(&self) -> u32 {
        1 << self.size.trailing_zeros().min(3)
    }
}

/// How the index of a pointer addition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    None,
    Narrow { bits: u8, signed: bool },
    Wide,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    N1 {
        f: N1,
        d: u32,
        a: u32,
    },
    N2 {
        f: N2,
        rule: Rule,
        d: u32,
        a: u32,
        b: u32,
    },
    N3 {
        f: N3,
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    W1 {
        f: W1,
        d: u32,
        a: u32,
    },
    W2 {
        f: W2,
        rule: Rule,
        d: u32,
        a: u32,
        b: u32,
    },
    Widen {
        f: Widen,
        rule: Rule,
        d: u32,
        a: u32,
    },
    Narrowing {
        f: Narrowing,
        rule: Rule,
        d: u32,
        a: u32,
    },
    Compare {
        f: Compare,
        rule: Rule,
        d: u32,
        a: u32,
        b: u32,
    },
    SelectNarrow {
        d: u32,
        cond: u32,
        yes: u32,
        no: u32,
    },
    SelectWide {
        d: u32,
        cond: u32,
        yes: u32,
        no: u32,
    },
    /// `d = base + index * scale + offset`
    PtrAdd {
        d: u32,
        base: u32,
        index: u32,
        kind: Index,
        scale: u32,
        offset: i64,
    },
    /// One of a list of registers, by an index per lane.
    Pick {
        d: Reg,
        list: List,
        index: Reg,
    },
    /// The same bytes cut another way.
    Repack {
        from: List,
        from_bytes: u8,
        to: List,
        to_bytes: u8,
    },
    /// Index into the program's transfers.
    Load {
        transfer: u32,
    },
    Store {
        transfer: u32,
    },
    MemCopy {
        dst: u32,
        src: u32,
        size: Reg,
    },
    /// A copy that a simdgroup makes together.
    BulkCopy {
        index: u32,
    },
    MemSet {
        dst: u32,
        byte: u32,
        size: Reg,
    },
    Atomic {
        update: Update,
        cell: Cell,
        d: Reg,
        ptr: u32,
        value: Reg,
    },
    CompareExchange {
        cell: Cell,
        d: Reg,
        ptr: u32,
        expected: Reg,
        desired: Reg,
    },
    /// Index into the program's calls per lane.
    PerLane {
        index: u32,
    },
    Position {
        which: Builtin,
        axis: u8,
        d: Reg,
    },
    /// Index into the program's collectives.
    Collective {
        index: u32,
    },
    /// Index into the program's matrix operations.
    Matrix {
        index: u32,
    },
    /// Waits for the whole threadgroup; orders accesses to the memory of the flags.
    Barrier {
        flags: u8,
    },
    /// Orders accesses of the lanes to the memory of the flags. Lanes run in lockstep: there is nothing to do but to know.
    Order {
        flags: u8,
        /// Only among the lanes of a quadgroup.
        quad: bool,
    },
    /// Gives a block's parameter its value, in the active lanes.
    MoveNarrow {
        d: u32,
        a: u32,
    },
    MoveWide {
        d: u32,
        a: u32,
    },
    /// Several moves, one after the other: pairs of a register and its new value, all narrow or all wide.
    Moves {
        list: List,
        wide: bool,
    },
    /// Parts the lanes; the slot and the one after it hold who waits. Goes to `target` if no lane takes the first arm:
    /// the lanes for which the condition is what is wanted.
    If {
        cond: u32,
        wanted: bool,
        slot: u32,
        target: u32,
    },
    /// Ends the first arm. Goes to `target` if no lane takes the second.
    Else {
        slot: u32,
        target: u32,
    },
    EndIf {
        slot: u32,
    },
    /// Ends an arm that has no other.
    EndThen {
        slot: u32,
    },
    ScopeBegin {
        slot: u32,
    },
    ScopeEnd {
        slot: u32,
    },
    /// Starts over at `target` with the lanes left.
    LoopEnd {
        slot: u32,
        target: u32,
    },
    /// The active lanes wait in the slot.
    Leave {
        slot: u32,
    },
    SkipIfNone {
        target: u32,
    },
    Return,
    Unreachable,
    End,
}

impl Op {
    /// Whether it can change which lanes are active, wait, or go elsewhere.
    pub(crate) fn is_control(&self) -> bool {
        matches!(
            self,
            Self::Barrier { .. }
                | Self::If { .. }
                | Self::Else { .. }
                | Self::EndIf { .. }
                | Self::EndThen { .. }
                | Self::ScopeBegin { .. }
                | Self::ScopeEnd { .. }
                | Self::LoopEnd { .. }
                | Self::Leave { .. }
                | Self::SkipIfNone { .. }
                | Self::Return
                | Self::Unreachable
                | Self::End
        )
    }
}

/// A call computed lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerLane {
    pub(crate) kernel: LaneKernel,
    pub(crate) call: LaneCall,
    pub(crate) args: List,
    pub(crate) results: List,
}

/// Data a program brings along.
#[derive(Clone, Debug)]
pub(crate) struct ConstantData {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Bytes of declared memory that are no part of any number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Padding {
    pub(crate) thread: Vec<Range<u32>>,
    pub(crate) threadgroup: Vec<Range<u32>>,
}

impl Padding {
    /// The pieces of `1 << shift` bytes that are padding only.
    pub(crate) fn pieces(ranges: &[Range<u32>], shift: u32) -> impl Iterator<Item = Range<usize>> {
        let first = move |at: u32| at.div_ceil(1 << shift) as usize;
        ranges
            .iter()
            .map(move |range| first(range.start)..(range.end >> shift) as usize)
    }
}

/// How a kernel parameter or global gets its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// The buffer of this index.
    Buffer(u32),
    /// Threadgroup memory of this index, sized at dispatch.
    Threadgroup(u32),
    /// Threadgroup memory of the program at this offset.
    Static(u32),
    /// Constant data of the program.
    Constant(u32),
}

/// A place in the user's source.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// `file:line`.
    pub(crate) line: String,
    /// From 1; 0 when it is not known.
    pub(crate) column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            0 => f.write_str(&self.line),
            column => write!(f, "{}:{column}", self.line),
        }
    }
}

/// A kernel compiled for the executor.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) max_threads: Option<u32>,
    pub(crate) ops: Vec<Op>,
    /// Where each operation came from: an index into `places`, or `u32::MAX`.
    pub(crate) origins: Vec<u32>,
    pub(crate) places: Vec<Place>,
    /// What kind of instruction each operation stands for.
    pub(crate) classes: Vec<Class>,
    pub(crate) lists: Vec<Reg>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) collectives: Vec<Collective>,
    pub(crate) matrices: Vec<MatrixOp>,
    pub(crate) products: Vec<Product>,
    pub(crate) per_lane: Vec<PerLane>,
    pub(crate) copies: Vec<BulkCopy>,
    pub(crate) narrow: u32,
    pub(crate) wide: u32,
    pub(crate) slots: u32,
    /// Registers with the same value in all lanes from the start.
    pub(crate) constants: Vec<(Reg, u64)>,
    pub(crate) pointers: Vec<(u32, Pointer)>,
    pub(crate) data: Vec<ConstantData>,
    /// Bytes of thread memory.
    pub(crate) frame: u32,
    /// Bytes of threadgroup memory the program declares.
    pub(crate) static_threadgroup: u32,
    pub(crate) padding: Padding,
    /// Device atomics whose outcome depends on order.
    pub(crate) in_order: bool,
    /// Atomics of any memory whose outcome depends on order: simdgroups run one after the other.
    pub(crate) in_turn: bool,
    /// The vector instructions its functions were chosen for.
    pub(crate) level: Level,
    /// Whether registers of inactive lanes can be read.
    pub(crate) reads_inactive: bool,
}

impl Program {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a dispatch binds, in source order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The bindings the kernel cannot run without: arguments that nothing reads or writes are not among them.
    pub fn required(&self) -> impl Iterator<Item = Binding> + '_ {
        self.pointers
            .iter()
            .filter_map(|(_, pointer)| match pointer {
                Pointer::Buffer(index) => Some(Binding::Buffer(*index)),
                Pointer::Threadgroup(index) => Some(Binding::Threadgroup(*index)),
                Pointer::Static(_) | Pointer::Constant(_) => None,
            })
    }

    /// Threadgroup memory the kernel declares, in bytes, without what a dispatch adds.
    pub fn static_threadgroup_memory(&self) -> u32 {
        self.static_threadgroup
    }

    /// The kernel's own limit on threads of a threadgroup.
    pub fn max_threads(&self) -> Option<u32> {
        self.max_threads
    }

    /// Whether threadgroups run one after the other, because atomics on device memory make the result depend on order.
    pub fn runs_in_order(&self) -> bool {
        self.in_order
    }

    /// Number of operations.
    pub fn operations(&self) -> usize {
        self.ops.len()
    }

    fn origin(&self, position: usize) -> Option<&Place> {
        let origin = *self.origins.get(position)?;
        self.places.get(origin as usize)
    }

    /// Where in the source an operation comes from, if that is known.
    pub(crate) fn place(&self, position: usize) -> Option<String> {
        self.origin(position).map(Place::to_string)
    }

    /// The same without the column.
    pub(crate) fn line(&self, position: usize) -> Option<String> {
        self.origin(position).map(|place| place.line.clone())
    }

    /// What kind of instruction an operation stands for.
    #[inline(always)]
    pub(crate) fn class(&self, position: usize) -> Class {
        self.classes
            .get(position)
            .copied()
            .unwrap_or(Class::Bookkeeping)
    }

    /// Whether an operation gets a number from memory.
    pub(crate) fn loads(&self, op: &Op) -> bool {
        match op {
            Op::Load { .. } | Op::Atomic { .. } | Op::CompareExchange { .. } => true,
            Op::Matrix { index } => {
                let op = self.matrices.get(*index as usize);
                matches!(op, Some(MatrixOp::Load { .. }))
            }
            _ => false,
        }
    }

    /// The entries of a list.
    #[inline]
    pub(crate) fn list(&self, list: List) -> &[Reg] {
        let start = list.start as usize;
        self.lists
            .get(start..start + list.len as usize)
            .unwrap_or(&[])
    }
}
