//! Instructions: what each does, with its operands.
//!
//! [`InstData`] is 24 bytes and `Copy`. Operand lists of variable length live in a pool of the function
//! ([`ValueList`]); the result, if any, is found through
//! [`Function::result`](crate::Function::result), and its type is the type of that value.

use crate::builtin::BuiltinCall;
use crate::flags::Flags;
use crate::id::define_ids;
use crate::memory::{Access, AtomicOp};
use crate::ty::Type;

define_ids! {
    /// A value of a function: a result, a block parameter or a constant.
    Value = "v";
    /// An instruction of a function.
    Inst = "i";
    /// A basic block of a function.
    Block = "b";
    /// A function of a module.
    FunctionId = "f";
    /// A name of a module that is neither a function nor a known builtin.
    Symbol = "s";
    /// The cases of a switch.
    SwitchId = "sw";
}

/// A list of values in a function's pool; four bytes, empty by default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct ValueList(pub(crate) u32);

impl ValueList {
    /// The list without values.
    pub const EMPTY: Self = Self(0);
}

/// A list of small numbers (shuffle masks, field paths) in a function's pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct IndexList(pub(crate) u32);

/// A branch target with the values its block parameters receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockCall {
    /// Where control goes.
    pub block: Block,
    /// One value for each parameter of the block.
    pub args: ValueList,
}

macro_rules! op_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All of them, in order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The one with this word.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

op_enum! {
    /// Operations with one operand of the result's type.
    UnaryOp {
        /// Flips the sign bit.
        FNeg = "fneg",
        /// Fixes an undefined value to one arbitrary value (this toolkit: zero).
        Freeze = "freeze",
    }
}

op_enum! {
    /// Operations on two operands of the result's type, element by element.
    BinaryOp {
        /// Wrapping addition.
        Add = "add",
        /// Wrapping subtraction.
        Sub = "sub",
        /// Wrapping multiplication (low half).
        Mul = "mul",
        /// Unsigned division; by zero gives all ones.
        UDiv = "udiv",
        /// Signed division, toward zero; by zero gives −1, overflow wraps.
        SDiv = "sdiv",
        /// Unsigned remainder; by zero gives the dividend.
        URem = "urem",
        /// Signed remainder with the dividend's sign; by zero gives the dividend.
        SRem = "srem",
        /// Left shift; the amount is taken modulo the width.
        Shl = "shl",
        /// Unsigned right shift; the amount is taken modulo the width.
        LShr = "lshr",
        /// Signed right shift; the amount is taken modulo the width.
        AShr = "ashr",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Float addition.
        FAdd = "fadd",
        /// Float subtraction.
        FSub = "fsub",
        /// Float multiplication.
        FMul = "fmul",
        /// Float division.
        FDiv = "fdiv",
        /// Float remainder with the dividend's sign (`fmod`).
        FRem = "frem",
    }
}

impl BinaryOp {
    /// Whether the operands are floats.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::FAdd | Self::FSub | Self::FMul | Self::FDiv | Self::FRem
        )
    }

    /// Whether the operands may be exchanged.
    #[inline]
    pub const fn is_commutative(self) -> bool {
        matches!(
            self,
            Self::Add | Self::Mul | Self::And | Self::Or | Self::Xor | Self::FAdd | Self::FMul
        )
    }

    /// The flags that may stand on this operation.
    pub fn allowed_flags(self) -> Flags {
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Shl => Flags::NUW | Flags::NSW,
            Self::UDiv | Self::SDiv | Self::LShr | Self::AShr => Flags::EXACT,
            Self::Or => Flags::DISJOINT,
            Self::URem | Self::SRem | Self::And | Self::Xor => Flags::NONE,
            _ => Flags::FAST,
        }
    }
}

op_enum! {
    /// Operations on three floats of the result's type.
    TernaryOp {
        /// `a * b + c` rounded once.
        Fma = "fma",
        /// `a * b + c`, fused or not as the optimiser decides (`llvm.fmuladd`).
        MulAdd = "muladd",
    }
}

op_enum! {
    /// Integer (and pointer) comparisons.
    IntCond {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Unsigned less.
        Ult = "ult",
        /// Unsigned less or equal.
        Ule = "ule",
        /// Unsigned greater.
        Ugt = "ugt",
        /// Unsigned greater or equal.
        Uge = "uge",
        /// Signed less.
        Slt = "slt",
        /// Signed less or equal.
        Sle = "sle",
        /// Signed greater.
        Sgt = "sgt",
        /// Signed greater or equal.
        Sge = "sge",
    }
}

impl IntCond {
    /// The opposite comparison.
    pub const fn inverse(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Ult => Self::Uge,
            Self::Ule => Self::Ugt,
            Self::Ugt => Self::Ule,
            Self::Uge => Self::Ult,
            Self::Slt => Self::Sge,
            Self::Sle => Self::Sgt,
            Self::Sgt => Self::Sle,
            Self::Sge => Self::Slt,
        }
    }

    /// The comparison with its operands exchanged.
    pub const fn swapped(self) -> Self {
        match self {
            Self::Eq | Self::Ne => self,
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Slt => Self::Sgt,
            Self::Sle => Self::Sge,
            Self::Sgt => Self::Slt,
            Self::Sge => Self::Sle,
        }
    }

    /// Whether the operands are compared as signed numbers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Slt | Self::Sle | Self::Sgt | Self::Sge)
    }
}

op_enum! {
    /// Float comparisons: `o` is false and `u` is true when an operand is NaN.
    FloatCond {
        /// Never.
        False = "false",
        /// Ordered and equal.
        Oeq = "oeq",
        /// Ordered and greater.
        Ogt = "ogt",
        /// Ordered and greater or equal.
        Oge = "oge",
        /// Ordered and less.
        Olt = "olt",
        /// Ordered and less or equal.
        Ole = "ole",
        /// Ordered and different.
        One = "one",
        /// No operand is NaN.
        Ord = "ord",
        /// An operand is NaN.
        Uno = "uno",
        /// Unordered or equal.
        Ueq = "ueq",
        /// Unordered or greater.
        Ugt = "ugt",
        /// Unordered or greater or equal.
        Uge = "uge",
        /// Unordered or less.
        Ult = "ult",
        /// Unordered or less or equal.
        Ule = "ule",
        /// Unordered or different.
        Une = "une",
        /// Always.
        True = "true",
    }
}

impl FloatCond {
    /// The opposite comparison.
    pub const fn inverse(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Oeq => Self::Une,
            Self::Ogt => Self::Ule,
            Self::Oge => Self::Ult,
            Self::Olt => Self::Uge,
            Self::Ole => Self::Ugt,
            Self::One => Self::Ueq,
            Self::Ord => Self::Uno,
            Self::Uno => Self::Ord,
            Self::Ueq => Self::One,
            Self::Ugt => Self::Ole,
            Self::Uge => Self::Olt,
            Self::Ult => Self::Oge,
            Self::Ule => Self::Ogt,
            Self::Une => Self::Oeq,
            Self::True => Self::False,
        }
    }

    /// The comparison with its operands exchanged.
    pub const fn swapped(self) -> Self {
        match self {
            Self::Ogt => Self::Olt,
            Self::Oge => Self::Ole,
            Self::Olt => Self::Ogt,
            Self::Ole => Self::Oge,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            other => other,
        }
    }
}

op_enum! {
    /// Conversions; the target type is the type of the result.
    CastOp {
        /// Drops upper bits of an integer.
        Trunc = "trunc",
        /// Extends an integer with zeros.
        ZExt = "zext",
        /// Extends an integer with its sign.
        SExt = "sext",
        /// Float to float, rounding to nearest even where bits are lost.
        FConvert = "fconvert",
        /// Float to unsigned, toward zero, saturating; NaN gives 0.
        FToU = "ftou",
        /// Float to signed, toward zero, saturating; NaN gives 0.
        FToS = "ftos",
        /// Unsigned to float, rounding to nearest even.
        UToF = "utof",
        /// Signed to float, rounding to nearest even.
        SToF = "stof",
        /// Address to integer.
        PtrToInt = "ptrtoint",
        /// Integer to address.
        IntToPtr = "inttoptr",
        /// The same bits as another type of the same size; also `v2T` ↔ `matrix<T>` (the thread's two elements).
        Bitcast = "bitcast",
        /// The same pointer seen through another address space.
        SpaceCast = "spacecast",
    }
}

/// How the index of a [`InstData::PtrAdd`] becomes 64 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum IndexExtend {
    /// With its sign (as in LLVM's `getelementptr`).
    #[default]
    Sign,
    /// With zeros.
    Zero,
}

/// What a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// A function of the module.
    Function(FunctionId),
    /// A builtin of the table.
    Builtin(BuiltinCall),
    /// Something neither defined in the module nor in the table.
    Unknown(Symbol),
}

/// An instruction with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InstData {
    /// One operand of the result's type.
    Unary {
        /// What to do.
        op: UnaryOp,
        /// Fast-math flags.
        flags: Flags,
        /// The operand.
        arg: Value,
    },
    /// Two operands of the result's type.
    Binary {
        /// What to do.
        op: BinaryOp,
        /// Flags.
        flags: Flags,
        /// The operands.
        args: [Value; 2],
    },
    /// Three float operands of the result's type.
    Ternary {
        /// What to do.
        op: TernaryOp,
        /// Fast-math flags.
        flags: Flags,
        /// The operands.
        args: [Value; 3],
    },
    /// Integer or pointer comparison; the result is `i1` or a vector of it.
    IntCompare {
        /// The comparison.
        cond: IntCond,
        /// Flags.
        flags: Flags,
        /// The operands.
        args: [Value; 2],
    },
    /// Float comparison; the result is `i1` or a vector of it.
    FloatCompare {
        /// The comparison.
        cond: FloatCond,
        /// Fast-math flags.
        flags: Flags,
        /// The operands.
        args: [Value; 2],
    },
    /// `cond ? args[0] : args[1]`; a vector condition chooses element by element.
    Select {
        /// Fast-math flags.
        flags: Flags,
        /// `i1`, or a vector of `i1` with the result's lanes.
        cond: Value,
        /// Value when true, value when false.
        args: [Value; 2],
    },
    /// Conversion to the type of the result.
    Cast {
        /// What to do.
        op: CastOp,
        /// Flags.
        flags: Flags,
        /// The operand.
        arg: Value,
    },
    /// One element of a vector, or of a thread's two matrix elements. An index out of range gives zero.
    Extract {
        /// The vector or matrix.
        vector: Value,
        /// The element number.
        index: Value,
    },
    /// A vector or matrix with one element replaced. An index out of range changes nothing.
    Insert {
        /// The vector or matrix.
        vector: Value,
        /// The new element.
        element: Value,
        /// The element number.
        index: Value,
    },
    /// Elements of two vectors of one type, chosen by the mask (`a`'s elements first, then `b`'s).
    Shuffle {
        /// The two vectors.
        args: [Value; 2],
        /// One number for each result element; [`UNDEF_LANE`] leaves it undefined.
        mask: IndexList,
    },
    /// A vector, matrix, array or struct made of its elements in order.
    Construct {
        /// One value for each element.
        args: ValueList,
    },
    /// A part of an aggregate value.
    ExtractValue {
        /// The aggregate.
        aggregate: Value,
        /// Element numbers from the outside in.
        path: IndexList,
    },
    /// An aggregate value with a part replaced.
    InsertValue {
        /// The aggregate.
        aggregate: Value,
        /// The new part.
        element: Value,
        /// Element numbers from the outside in.
        path: IndexList,
    },
    /// Memory private to the thread, for the life of the function. The result is a thread pointer.
    Alloca {
        /// What is stored there.
        ty: Type,
        /// Alignment in bytes.
        align: u32,
    },
    /// Reads a value of the result's type.
    Load {
        /// The address.
        ptr: Value,
        /// How.
        access: Access,
    },
    /// Writes a value.
    Store {
        /// The address.
        ptr: Value,
        /// The value.
        value: Value,
        /// How.
        access: Access,
    },
    /// Copies bytes; the two areas do not overlap, or are the same (`memmove` when `overlap`).
    MemCopy {
        /// Where to.
        dst: Value,
        /// Where from.
        src: Value,
        /// Number of bytes.
        size: Value,
        /// log₂ of the alignment both addresses have.
        align_log2: u8,
        /// The areas may overlap.
        overlap: bool,
        /// Alias set of the access, if known.
        alias: Option<crate::memory::AliasId>,
    },
    /// Sets bytes.
    MemSet {
        /// Where.
        dst: Value,
        /// The byte (`i8`).
        byte: Value,
        /// Number of bytes.
        size: Value,
        /// log₂ of the alignment.
        align_log2: u8,
    },
    /// `base + extend(index) * scale + offset`, in bytes, modulo 2⁶⁴.
    PtrAdd {
        /// The pointer; the result is in the same space.
        base: Value,
        /// The index, an integer scalar; nothing when only the offset counts.
        index: Option<Value>,
        /// Bytes per index step.
        scale: u32,
        /// Constant bytes added.
        offset: i64,
        /// How an index narrower than 64 bits is widened.
        extend: IndexExtend,
        /// `inbounds`, `nuw`.
        flags: Flags,
    },
    /// Atomic read-modify-write; the result, if there is one, is the old value.
    AtomicRmw {
        /// What to do.
        op: AtomicOp,
        /// The address.
        ptr: Value,
        /// The operand.
        value: Value,
        /// How; the ordering is not [`Ordering::Plain`](crate::Ordering::Plain).
        access: Access,
    },
    /// Atomic compare-and-exchange; the result is the old value. The exchange happened when it equals `expected`
    /// bit for bit (a weak exchange is performed as a strong one).
    AtomicCompareExchange {
        /// The address.
        ptr: Value,
        /// The value that must be there.
        expected: Value,
        /// The value to put there.
        desired: Value,
        /// How.
        access: Access,
    },
    /// Calls a function or builtin.
    Call {
        /// What.
        callee: Callee,
        /// The arguments.
        args: ValueList,
        /// Fast-math flags.
        flags: Flags,
    },
    /// Goes to a block.
    Jump {
        /// Where.
        target: BlockCall,
    },
    /// Goes to one of two blocks.
    Branch {
        /// `i1`.
        cond: Value,
        /// Target when true.
        then: BlockCall,
        /// Target when false.
        otherwise: BlockCall,
    },
    /// Goes to the block of the matching case.
    Switch {
        /// An integer.
        value: Value,
        /// Target when no case matches.
        default: BlockCall,
        /// The cases.
        cases: SwitchId,
    },
    /// Ends the function.
    Return {
        /// The result, unless the function returns nothing.
        value: Option<Value>,
    },
    /// Control does not come here.
    Unreachable,
}

/// In a shuffle mask: this element is undefined.
pub const UNDEF_LANE: u32 = u32::MAX;

/// The cases of a switch: number and target.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SwitchCases {
    /// Case value (low bits of the switched type) and where it goes.
    pub cases: Vec<(u64, BlockCall)>,
}

impl InstData {
    /// Whether this ends a block.
    #[inline]
    pub const fn is_terminator(&self) -> bool {
        matches!(
            self,
            Self::Jump { .. }
                | Self::Branch { .. }
                | Self::Switch { .. }
                | Self::Return { .. }
                | Self::Unreachable
        )
    }

    /// The flags of the instruction.
    pub const fn flags(&self) -> Flags {
        match self {
            Self::Unary { flags, .. }
            | Self::Binary { flags, .. }
            | Self::Ternary { flags, .. }
            | Self::IntCompare { flags, .. }
            | Self::FloatCompare { flags, .. }
            | Self::Select { flags, .. }
            | Self::Cast { flags, .. }
            | Self::PtrAdd { flags, .. }
            | Self::Call { flags, .. } => *flags,
            _ => Flags::NONE,
        }
    }

    /// The same instruction with other flags, where it has any.
    #[must_use]
    pub const fn with_flags(mut self, new: Flags) -> Self {
        match &mut self {
            Self::Unary { flags, .. }
            | Self::Binary { flags, .. }
            | Self::Ternary { flags, .. }
            | Self::IntCompare { flags, .. }
            | Self::FloatCompare { flags, .. }
            | Self::Select { flags, .. }
            | Self::Cast { flags, .. }
            | Self::PtrAdd { flags, .. }
            | Self::Call { flags, .. } => *flags = new,
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_small() {
        assert!(
            std::mem::size_of::<InstData>() <= 32,
            "{}",
            std::mem::size_of::<InstData>()
        );
        assert_eq!(std::mem::size_of::<Option<Value>>(), 4);
    }

    #[test]
    fn inverting_or_swapping_a_comparison_twice_gives_it_back() {
        for &cond in IntCond::ALL {
            assert_eq!(cond.inverse().inverse(), cond);
            assert_eq!(cond.swapped().swapped(), cond);
        }
        for &cond in FloatCond::ALL {
            assert_eq!(cond.inverse().inverse(), cond);
            assert_eq!(cond.swapped().swapped(), cond);
        }
    }
}
