//! Instructions of a function body.

use super::types::TypeId;
use super::value::{Span, ValueId};

/// A block of a function, counted from its entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// An instruction, its result and its place in the source.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// The value it defines; calls without result, stores and terminators define none.
    pub result: Option<ValueId>,
    /// Index into [`Body::locations`](super::Body::locations), or [`NO_LOCATION`].
    pub location: u32,
}

/// An instruction without a place in the source.
pub const NO_LOCATION: u32 = u32::MAX;

/// Operations on two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "LLVM's own names")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

impl BinaryOp {
    /// The operation of a record's number.
    pub fn from_code(code: u64, float: bool) -> Option<Self> {
        use BinaryOp::*;
        const INTEGER: [BinaryOp; 13] = [
            Add, Sub, Mul, UDiv, SDiv, URem, SRem, Shl, LShr, AShr, And, Or, Xor,
        ];
        if !float {
            return INTEGER.get(usize::try_from(code).ok()?).copied();
        }
        Some(match code {
            0 => FAdd,
            1 => FSub,
            2 => FMul,
            4 => FDiv,
            6 => FRem,
            _ => return None,
        })
    }

    /// LLVM's word for it.
    pub fn name(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "add",
            Sub => "sub",
            Mul => "mul",
            UDiv => "udiv",
            SDiv => "sdiv",
            URem => "urem",
            SRem => "srem",
            Shl => "shl",
            LShr => "lshr",
            AShr => "ashr",
            And => "and",
            Or => "or",
            Xor => "xor",
            FAdd => "fadd",
            FSub => "fsub",
            FMul => "fmul",
            FDiv => "fdiv",
            FRem => "frem",
        }
    }
}

/// Conversions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "LLVM's own names")]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    FpTrunc,
    FpExt,
    PtrToInt,
    IntToPtr,
    Bitcast,
    AddrSpaceCast,
    PtrToAddr,
}

impl CastOp {
    /// The conversion of a record's number.
    pub fn from_code(code: u64) -> Option<Self> {
        use CastOp::*;
        const ALL: [CastOp; 14] = [
            Trunc,
            ZExt,
            SExt,
            FpToUi,
            FpToSi,
            UiToFp,
            SiToFp,
            FpTrunc,
            FpExt,
            PtrToInt,
            IntToPtr,
            Bitcast,
            AddrSpaceCast,
            PtrToAddr,
        ];
        ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// LLVM's word for it.
    pub fn name(self) -> &'static str {
        use CastOp::*;
        match self {
            Trunc => "trunc",
            ZExt => "zext",
            SExt => "sext",
            FpToUi => "fptoui",
            FpToSi => "fptosi",
            UiToFp => "uitofp",
            SiToFp => "sitofp",
            FpTrunc => "fptrunc",
            FpExt => "fpext",
            PtrToInt => "ptrtoint",
            IntToPtr => "inttoptr",
            Bitcast => "bitcast",
            AddrSpaceCast => "addrspacecast",
            PtrToAddr => "ptrtoaddr",
        }
    }
}

/// Fast-math bits as LLVM records them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FastMath(pub u8);

impl FastMath {
    /// Old spelling of "all of them".
    pub const FAST: u8 = 1;
    /// No NaNs.
    pub const NNAN: u8 = 1 << 1;
    /// No infinities.
    pub const NINF: u8 = 1 << 2;
    /// The sign of zero does not matter.
    pub const NSZ: u8 = 1 << 3;
    /// Division by reciprocal.
    pub const ARCP: u8 = 1 << 4;
    /// Contraction.
    pub const CONTRACT: u8 = 1 << 5;
    /// Approximate functions.
    pub const AFN: u8 = 1 << 6;
    /// Reassociation.
    pub const REASSOC: u8 = 1 << 7;

    /// Whether a bit is set; [`FAST`](Self::FAST) sets all.
    pub fn has(self, bit: u8) -> bool {
        self.0 & (bit | Self::FAST) != 0
    }
}

/// What an instruction does, with its operands. Lists are in the body's pool.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(
    missing_docs,
    reason = "fields are named as LLVM's language reference names them"
)]
pub enum Op {
    /// `fneg`.
    FNeg {
        flags: FastMath,
        operand: ValueId,
    },
    /// `flags`: for integers bit 0 is nuw, exact or disjoint, bit 1 nsw; for floats fast-math bits.
    Binary {
        op: BinaryOp,
        flags: u8,
        operands: [ValueId; 2],
    },
    /// `flags`: bit 0 is nneg, or nuw of a truncation, bit 1 nsw.
    Cast {
        op: CastOp,
        flags: u8,
        operand: ValueId,
    },
    /// Base and indices. `flags`: inbounds, nusw, nuw.
    Gep {
        flags: u8,
        source: TypeId,
        operands: Span,
    },
    Select {
        flags: FastMath,
        condition: ValueId,
        operands: [ValueId; 2],
    },
    ExtractElement {
        vector: ValueId,
        index: ValueId,
    },
    InsertElement {
        vector: ValueId,
        element: ValueId,
        index: ValueId,
    },
    ShuffleVector {
        operands: [ValueId; 2],
        mask: ValueId,
    },
    /// `predicate` is LLVM's number: below 32 a float comparison. `flags`: fast-math, or bit 0 samesign.
    Compare {
        predicate: u8,
        flags: u8,
        operands: [ValueId; 2],
    },
    /// Pairs of value and block, alternating.
    Phi {
        flags: FastMath,
        incoming: Span,
    },
    Alloca {
        ty: TypeId,
        count: ValueId,
        align: u32,
    },
    Load {
        ty: TypeId,
        pointer: ValueId,
        align: u32,
        volatile: bool,
        ordering: u8,
        scope: u8,
    },
    Store {
        pointer: ValueId,
        value: ValueId,
        align: u32,
        volatile: bool,
        ordering: u8,
        scope: u8,
    },
    /// The result is the old value and whether the exchange happened. `operands`: pointer, expected, new.
    CompareExchange {
        operands: [ValueId; 3],
        volatile: bool,
        ordering: u8,
        scope: u8,
    },
    AtomicRmw {
        operation: u8,
        pointer: ValueId,
        value: ValueId,
        volatile: bool,
        ordering: u8,
        scope: u8,
    },
    Fence {
        ordering: u8,
        scope: u8,
    },
    /// `path`: numbers in the body's index pool.
    ExtractValue {
        aggregate: ValueId,
        path: Span,
    },
    InsertValue {
        aggregate: ValueId,
        element: ValueId,
        path: Span,
    },
    /// `attributes` is the number of the attribute list, from 1.
    Call {
        callee: ValueId,
        function_type: TypeId,
        arguments: Span,
        attributes: u32,
        flags: FastMath,
    },
    Freeze {
        operand: ValueId,
    },
    Return {
        value: Option<ValueId>,
    },
    Jump {
        target: BlockId,
    },
    Branch {
        condition: ValueId,
        then: BlockId,
        otherwise: BlockId,
    },
    /// Pairs of constant and block, alternating.
    Switch {
        value: ValueId,
        default: BlockId,
        cases: Span,
    },
    Unreachable,
}

impl Op {
    /// Whether this ends a block.
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Op::Return { .. }
                | Op::Jump { .. }
                | Op::Branch { .. }
                | Op::Switch { .. }
                | Op::Unreachable
        )
    }

    /// LLVM's word for the instruction.
    pub fn name(&self) -> &'static str {
        match self {
            Op::FNeg { .. } => "fneg",
            Op::Binary { op, .. } => op.name(),
            Op::Cast { op, .. } => op.name(),
            Op::Gep { .. } => "getelementptr",
            Op::Select { .. } => "select",
            Op::ExtractElement { .. } => "extractelement",
            Op::InsertElement { .. } => "insertelement",
            Op::ShuffleVector { .. } => "shufflevector",
            Op::Compare {
                predicate: 0..=31, ..
            } => "fcmp",
            Op::Compare { .. } => "icmp",
            Op::Phi { .. } => "phi",
            Op::Alloca { .. } => "alloca",
            Op::Load { .. } => "load",
            Op::Store { .. } => "store",
            Op::CompareExchange { .. } => "cmpxchg",
            Op::AtomicRmw { .. } => "atomicrmw",
            Op::Fence { .. } => "fence",
            Op::ExtractValue { .. } => "extractvalue",
            Op::InsertValue { .. } => "insertvalue",
            Op::Call { .. } => "call",
            Op::Freeze { .. } => "freeze",
            Op::Return { .. } => "ret",
            Op::Jump { .. } | Op::Branch { .. } => "br",
            Op::Switch { .. } => "switch",
            Op::Unreachable => "unreachable",
        }
    }
}
