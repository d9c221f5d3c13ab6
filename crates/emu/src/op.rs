//! Micro-operations: instructions with everything that can be known beforehand
//! resolved, in the form the interpreter runs.
//!
//! Registers are rows of 32 lanes. Uniforms and immediates become rows too (the
//! *pool*), already extended, converted and negated as the instruction asks, so that
//! the interpreter sees only "a row, and which part of it".

use crate::touch::Touches;
use assay_agx::{AtomicOp, Condition, Format, ReduceOp, Scope, Shuffle};

/// Lanes of a simdgroup.
pub(crate) const LANES: usize = 32;

/// One value per lane.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub(crate) [u32; LANES]);

impl Row {
    pub(crate) const ZERO: Row = Row([0; LANES]);

    /// The same value in every lane.
    #[inline(always)]
    pub(crate) const fn splat(value: u32) -> Row {
        Row([value; LANES])
    }

    /// `f` of every lane's value.
    #[inline(always)]
    pub(crate) fn map(&self, f: impl Fn(u32) -> u32) -> Row {
        let mut out = Row::ZERO;
        for lane in 0..LANES {
            out.0[lane] = f(self.0[lane]);
        }
        out
    }

    /// `f` of every lane's two values.
    #[inline(always)]
    pub(crate) fn zip(&self, other: &Row, f: impl Fn(u32, u32) -> u32) -> Row {
        let mut out = Row::ZERO;
        for lane in 0..LANES {
            out.0[lane] = f(self.0[lane], other.0[lane]);
        }
        out
    }
}

/// The 128 general registers come first. Rows of state that no register names: predicates, nesting counters, the value an atomic
/// found, and room for brain floats on their way (G15).
pub(crate) const PREDICATES: u8 = 128;
pub(crate) const COUNTERS: u8 = 136;
pub(crate) const ATOMIC: u8 = 137;
pub(crate) const WIDENED: u8 = 138;

/// Rows that can be written.
pub(crate) const REGISTERS: usize = 144;

/// Rows from here on are the pool's.
pub(crate) const POOL: u16 = REGISTERS as u16;

/// Which part of a row an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    Whole,
    Low,
    High,
    /// The low half, sign-extended.
    LowSigned,
    /// The high half, sign-extended.
    HighSigned,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) row: u16,
    pub(crate) part: Part,
}

/// A float source: halves hold half-precision numbers, everything else single.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatSource {
    pub(crate) source: Source,
    pub(crate) abs: bool,
    pub(crate) neg: bool,
}

/// A source of 64-bit arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WideSource {
    pub(crate) source: Source,
    pub(crate) extend: Extend,
}

/// How a source becomes 64 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    /// Zeros above its 32 bits.
    Zero,
    /// The sign of its 32 bits.
    Sign,
    /// The next row.
    Pair,
    /// This row.
    With(u16),
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dest {
    pub(crate) row: u8,
    pub(crate) part: Part,
    /// A pair of rows: `row` and the next.
    pub(crate) pair: bool,
}

impl Dest {
    /// The place of the same width behind it.
    pub(crate) const fn next(self) -> Dest {
        match self.part {
            Part::Whole => Dest {
                row: self.row + 1,
                ..self
            },
            Part::Low | Part::LowSigned => Dest {
                part: Part::High,
                ..self
            },
            Part::High | Part::HighSigned => Dest {
                row: self.row + 1,
                part: Part::Low,
                ..self
            },
        }
    }
}

/// Where a memory access starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The same for every lane.
    Fixed(u64),
    /// A pair of registers.
    Pair(u8),
    /// A 16-bit address.
    Half(Source),
}

/// What is added to the base, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    Fixed(i32),
    Signed(Source),
    Unsigned(Source),
}

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) base: Base,
    pub(crate) index: Index,
    /// Bytes from one index to the next; halves for uniforms.
    pub(crate) scale: u32,
    /// Added to the address, in bytes.
    pub(crate) offset: i32,
    pub(crate) format: Format,
    pub(crate) mask: u8,
    /// First half register of the data.
    pub(crate) half: u8,
    /// Whether each component has a whole register.
    pub(crate) wide: bool,
}

/// An atomic read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub(crate) base: Base,
    pub(crate) index: Index,
    pub(crate) op: AtomicOp,
    /// Row of the value; of the new value, for compare-exchange.
    pub(crate) value: u8,
    /// Row of the result.
    pub(crate) result: Option<u8>,
}

/// A rounding of a float to an integral one, or a transcendental.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FloatUnary {
    Floor,
    Ceil,
    Trunc,
    Rint,
    Rcp,
    Rsqrt,
    RsqrtSpecial,
    SinPt1,
    SinPt2,
    Log2,
    Exp2,
}

/// A bit-field operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BitField {
    Insert,
    Extract,
    Funnel,
    LeftHigh,
    RightHigh,
}

/// A bit-counting operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BitUnary {
    Reverse,
    Count,
    FindHighest,
}

/// An arithmetic operation on two or three sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Arith {
    Add,
    Mul,
}

/// Comparison operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Int(Source, Source),
    Float(FloatSource, FloatSource),
}

/// Index of a micro-operation.
pub(crate) type OpIndex = u32;

/// A branch target that is no instruction.
pub(crate) const NOWHERE: OpIndex = u32::MAX;

/// What a micro-operation does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Copy a source.
    Move {
        to: Dest,
        a: Source,
    },
    Special {
        to: Dest,
        register: u8,
    },
    /// a + (±b << shift), modulo the destination's width, at most 32 bits.
    Add {
        to: Dest,
        a: Source,
        b: Source,
        shift: u8,
        negate: bool,
    },
    /// The same on 64 bits; `saturate` to 16 or 32 bits, signed or not.
    AddWide {
        to: Dest,
        a: WideSource,
        b: WideSource,
        shift: u8,
        negate: bool,
        clamp: Clamp,
    },
    /// a × b + (±c << shift).
    MulAdd {
        to: Dest,
        a: Source,
        b: Source,
        c: Source,
        shift: u8,
        negate: bool,
    },
    MulAddWide {
        to: Dest,
        a: WideSource,
        b: WideSource,
        c: WideSource,
        shift: u8,
        negate: bool,
        clamp: Clamp,
    },
    Bitwise {
        to: Dest,
        a: Source,
        b: Source,
        table: u8,
    },
    Field {
        op: BitField,
        to: Dest,
        a: Source,
        b: Source,
        c: Source,
        mask: u32,
    },
    /// Arithmetic shift right; `high` starts 32 bits further left.
    ShiftRight {
        to: Dest,
        a: Source,
        b: Source,
        high: bool,
    },
    Bits {
        op: BitUnary,
        to: Dest,
        a: Source,
    },
    Interleave {
        to: Dest,
        a: Source,
        b: Source,
    },
    Fma {
        to: Dest,
        a: FloatSource,
        b: FloatSource,
        c: FloatSource,
        saturate: bool,
        plain: bool,
    },
    /// `plain`, here and above: no source has modifiers, and the result goes to a whole
    /// register as it is.
    Float {
        op: Arith,
        to: Dest,
        a: FloatSource,
        b: FloatSource,
        saturate: bool,
        plain: bool,
    },
    HalfFma {
        to: Dest,
        a: FloatSource,
        b: FloatSource,
        c: FloatSource,
        saturate: bool,
    },
    Half {
        op: Arith,
        to: Dest,
        a: FloatSource,
        b: FloatSource,
        saturate: bool,
    },
    Unary {
        op: FloatUnary,
        to: Dest,
        a: FloatSource,
        saturate: bool,
    },
    ToFloat {
        to: Dest,
        a: Source,
        bits: u8,
        signed: bool,
        nearest: bool,
    },
    FromFloat {
        to: Dest,
        a: FloatSource,
        bits: u8,
        signed: bool,
        nearest: bool,
    },
    /// Two floats as normalised integers side by side.
    Pack {
        to: Dest,
        a: FloatSource,
        b: FloatSource,
        format: Format,
    },
    /// The first of two normalised integers as a float, or both in places that follow each other.
    Unpack {
        to: Dest,
        a: Source,
        format: Format,
        both: bool,
    },
    Select {
        to: Dest,
        condition: Condition,
        compared: Compared,
        x: Source,
        y: Source,
    },
    /// A select of values whose bits are masked and flipped first.
    Choose {
        to: Dest,
        condition: Condition,
        compared: Compared,
        x: Choice,
        y: Choice,
    },
    Ballot {
        to: Dest,
        condition: Condition,
        compared: Compared,
        scope: Scope,
    },
    Shuffle {
        to: Dest,
        a: Source,
        b: Source,
        shuffle: Shuffle,
    },
    Reduce {
        to: Dest,
        a: Source,
        op: ReduceOp,
        scope: Scope,
        prefix: bool,
    },
    Matrix {
        to: Dest,
        a: MatrixSource,
        b: MatrixSource,
        c: MatrixSource,
    },
    If {
        condition: Condition,
        compared: Compared,
        levels: u8,
    },
    Else {
        condition: Condition,
        compared: Compared,
        levels: u8,
    },
    While {
        condition: Condition,
        compared: Compared,
        levels: u8,
    },
    Pop {
        levels: u8,
    },
    JumpIfAny {
        target: OpIndex,
        to: i64,
    },
    JumpIfNone {
        target: OpIndex,
        to: i64,
    },
    /// Continue at another operation: joins pieces of code that overlap.
    Continue {
        target: OpIndex,
    },
    Call {
        target: OpIndex,
        to: i64,
        back: u32,
    },
    CallIndirect {
        row: u8,
        back: u32,
    },
    Return {
        row: u8,
    },
    Stop,
    Trap,
    Wait {
        slot: u8,
    },
    /// Waits for all slots of a mask: a part of the instruction after it.
    Await {
        mask: u8,
    },
    /// A brain float as a single: a part of the instruction after it.
    Widen {
        row: u8,
        from: Source,
    },
    /// A single as a brain float: a part of the instruction before it.
    Narrow {
        to: Dest,
        row: u8,
    },
    /// A copy that is there once `slot` is waited for.
    MoveLater {
        to: Dest,
        a: Source,
        slot: u8,
    },
    /// The same of a special register.
    SpecialLater {
        to: Dest,
        register: u8,
        slot: u8,
    },
    Barrier,
    /// Nothing: ordering that running in order gives for free.
    Nothing,
    DeviceLoad {
        access: Access,
        slot: u8,
    },
    DeviceStore {
        access: Access,
    },
    DeviceAtomic {
        atomic: Atomic,
        slot: u8,
    },
    GroupLoad {
        access: Access,
        /// Delivers at once without.
        slot: Option<u8>,
    },
    GroupStore {
        access: Access,
    },
    GroupAtomic {
        atomic: Atomic,
        /// Delivers at once without.
        slot: Option<u8>,
    },
    StackLoad {
        access: Access,
        slot: u8,
    },
    StackStore {
        access: Access,
    },
    StackAdjust {
        dwords: i32,
    },
    UniformStore {
        access: Access,
    },
    /// Reads a uniform that nothing has set.
    UnsetUniform {
        half: u16,
    },
    /// Stops with an explanation when reached.
    Unsupported {
        why: &'static str,
    },
    Undecodable {
        parcel: u16,
    },
    /// The code ends here without `stop`.
    End,
}

impl Operation {
    /// Returns true if it stands for no instruction of its own.
    pub(crate) const fn is_part(&self) -> bool {
        matches!(
            self,
            Operation::Continue { .. }
                | Operation::Await { .. }
                | Operation::Widen { .. }
                | Operation::Narrow { .. }
        )
    }

    /// Returns true if the interpreter checks its operands itself, because not all of them count in every lane.
    pub(crate) const fn checks_itself(&self) -> bool {
        matches!(
            self,
            Operation::If { .. }
                | Operation::Else { .. }
                | Operation::While { .. }
                | Operation::Pop { .. }
                | Operation::Shuffle { .. }
                | Operation::Select { .. }
                | Operation::Matrix { .. }
                | Operation::Return { .. }
                | Operation::StackStore { .. }
                | Operation::Unsupported { .. }
                | Operation::UnsetUniform { .. }
        )
    }
}

/// A selected value: some of its bits are kept, then some flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) source: Source,
    pub(crate) keep: u32,
    pub(crate) flip: u32,
}

/// Saturation of an integer result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Clamp {
    None,
    Signed,
    Unsigned,
}

/// A matrix operand: two values per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixSource {
    pub(crate) first: FloatSource,
    pub(crate) second: FloatSource,
}

/// One micro-operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MicroOp {
    pub(crate) operation: Operation,
    pub(crate) touches: Touches,
    /// Byte offset of the instruction.
    pub(crate) offset: u32,
}
