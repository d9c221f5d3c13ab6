//! Values of a module and the constants among them.
//!
//! LLVM numbers values in one sequence: globals, the module's constants, then, within a function, its
//! parameters, its constants and the results of its instructions. [`ValueId`] is that number.

use super::types::TypeId;

/// A value: of the module, or, behind those, of the function at hand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

/// A run of entries in a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The first entry.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl Span {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// Type and origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// Its type.
    pub ty: TypeId,
    /// Where it comes from.
    pub kind: ValueKind,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A variable of the module; its address.
    Global(u32),
    /// A function of the module; its address.
    Function(u32),
    /// Another name for a global or function.
    Alias(u32),
    /// A constant of the module, by its index in [`Module::constants`](super::Module::constants).
    ModuleConstant(u32),
    /// A constant of the function, by its index in [`Body::constants`](super::Body::constants).
    LocalConstant(u32),
    /// A parameter of the function.
    Parameter(u32),
    /// The result of an instruction of the function.
    Instruction(u32),
}

/// A constant; its type is that of its [`Value`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// All bits zero.
    Null,
    /// Any bits.
    Undef,
    /// Bits that must not matter.
    Poison,
    /// An integer of at most 64 bits, sign-extended.
    Int(i64),
    /// An integer of more than 64 bits: words in the pool's data.
    WideInt(Span),
    /// The bits of a float.
    Float(u64),
    /// Elements or fields: values in the pool's operands.
    Aggregate(Span),
    /// Elements as bits in the pool's data.
    Data(Span),
    /// Characters in the pool's data, a final zero included where the source had one.
    String(Span),
    /// An operation on constants.
    Binary {
        /// LLVM's number of the operation.
        opcode: u32,
        /// The operands.
        operands: [ValueId; 2],
    },
    /// A conversion.
    Cast {
        /// LLVM's number of the conversion.
        opcode: u32,
        /// What is converted.
        operand: ValueId,
    },
    /// An address computation: base and indices in the pool's operands.
    Gep {
        /// The type the first index steps over.
        source: TypeId,
        /// Bit 0: inbounds.
        flags: u32,
        /// Base, then indices.
        operands: Span,
    },
    /// `cond ? a : b`.
    Select {
        /// Condition, then the two values.
        operands: [ValueId; 3],
    },
    /// A comparison.
    Compare {
        /// LLVM's number of the predicate.
        predicate: u32,
        /// The operands.
        operands: [ValueId; 2],
    },
    /// Something no kernel needs (inline assembly, block addresses), by its record number.
    Other(u32),
}

/// Constants with what they refer to.
#[derive(Clone, Debug, Default)]
pub struct ConstantPool {
    /// The constants.
    pub constants: Vec<Constant>,
    pub(crate) operands: Vec<ValueId>,
    pub(crate) data: Vec<u64>,
}

impl ConstantPool {
    /// A constant.
    pub fn get(&self, index: u32) -> Option<&Constant> {
        self.constants.get(index as usize)
    }

    /// The values a constant is made of.
    pub fn operands(&self, span: Span) -> &[ValueId] {
        self.operands.get(span.range()).unwrap_or_default()
    }

    /// The bits a constant is made of.
    pub fn data(&self, span: Span) -> &[u64] {
        self.data.get(span.range()).unwrap_or_default()
    }
}
