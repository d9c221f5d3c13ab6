//! Operations and their operands.

use crate::atomics::Update;
use crate::lanes::{Compare, N1, N2, N3, Narrowing, Rule, W1, W2, Widen};
use assay_opt::expectation::Expectation;
use assay_ssa::Scalar;
use assay_ssa::builtin::Builtin;

/// A register of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reg {
    pub(crate) index: u32,
    pub(crate) wide: bool,
}

impl Reg {
    pub(crate) const fn narrow(index: u32) -> Self {
        Self { index, wide: false }
    }

    pub(crate) const fn wide(index: u32) -> Self {
        Self { index, wide: true }
    }
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
    /// It must happen as often as the program says.
    pub(crate) volatile: bool,
    /// What is read must be known before the threadgroup next meets: see `compile/anchors.rs`.
    pub(crate) anchored: bool,
    /// Bytes up to the last number that something depends on.
    pub(crate) observed_bytes: u32,
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

/// An operation of all lanes of a simdgroup. `N` operands are narrow registers, `W` wide ones.
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
    /// Index into the program's texture operations.
    Texture {
        index: u32,
    },
    /// Waits for the whole threadgroup; orders accesses to the memory of the flags.
    Barrier {
        flags: u8,
    },
    /// Orders accesses of the lanes to the memory of the flags. Lanes run in lockstep: there is nothing to do but to know.
    Order {
        /// With the bit [`FENCE`](crate::check::FENCE): a fence, which orders what a thread does for other threads.
        flags: u8,
        /// Only among the lanes of a quadgroup.
        quad: bool,
    },
    /// A truth value that must hold in all active lanes of a program that is checked.
    Expect {
        cond: u32,
        rule: Expectation,
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
    /// Returns true if it can change which lanes are active, wait, or go elsewhere.
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
