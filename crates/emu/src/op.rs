//! Micro-operations: instructions with everything that can be known beforehand
//! resolved, in the form the interpreter runs.
//!
//! Registers are rows of 32 lanes. Uniforms and immediates become rows too (the
//! *pool*), already extended, converted and negated as the instruction asks, so that
//! the interpreter sees only "a row, and which part of it".

use crate::poison::half_bits;
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

/// Rows of general registers.
pub(crate) const REGISTERS: usize = 128;

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
#[repr(u8)]
pub(crate) enum Extend {
    /// Zeros above its 32 bits.
    Zero,
    /// The sign of its 32 bits.
    Sign,
    /// The next row.
    Pair,
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dest {
    pub(crate) row: u8,
    pub(crate) part: Part,
    /// A pair of rows: `row` and the next.
    pub(crate) pair: bool,
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
    pub(crate) shift: u8,
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
    Select {
        to: Dest,
        condition: Condition,
        compared: Compared,
        x: Source,
        y: Source,
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
    },
    GroupStore {
        access: Access,
    },
    GroupAtomic {
        atomic: Atomic,
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

/// A register that a micro-operation reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) row: u8,
    /// Bit 0: the low half. Bit 1: the high half. Bit 2: the hint says last use.
    pub(crate) halves: u8,
}

/// How many registers a micro-operation can touch.
pub(crate) const MAX_TOUCHES: usize = 16;

/// The registers a micro-operation reads, then those it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touches {
    /// The same in the form of the common case, so that checking it is a few words of
    /// arithmetic without a loop.
    pub(crate) few: Few,
    list: [Touch; MAX_TOUCHES],
    reads: u8,
    end: u8,
    /// Whether any read is a last use.
    pub(crate) discards: bool,
    /// The operation itself knows which lanes it reads and checks them.
    pub(crate) checks_itself: bool,
}

/// How many reads the common case has room for: a select has four.
pub(crate) const FEW_READS: usize = 4;

/// At most four reads and one write, as rows and the bits that
/// [`half_bits`](crate::poison::half_bits) gives. Places that are not used have no bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Few {
    pub(crate) bits: [u64; FEW_READS],
    pub(crate) write_bits: u64,
    pub(crate) rows: [u8; FEW_READS],
    pub(crate) write_row: u8,
    /// There are more reads than have room here.
    pub(crate) more_reads: bool,
    /// There are more writes than have room here.
    pub(crate) more_writes: bool,
}

impl Touches {
    /// Adds a read; all reads come before the writes.
    pub(crate) fn read(&mut self, touch: Touch) {
        let place = usize::from(self.reads);
        match (self.few.bits.get_mut(place), self.few.rows.get_mut(place)) {
            (Some(bits), Some(row)) => (*bits, *row) = (half_bits(touch.halves), touch.row),
            _ => self.few.more_reads = true,
        }
        self.push(touch);
        self.reads = self.end;
        self.discards |= touch.halves & 4 != 0;
    }

    pub(crate) fn write(&mut self, touch: Touch) {
        match self.writes().is_empty() {
            true => {
                (self.few.write_row, self.few.write_bits) = (touch.row, half_bits(touch.halves));
            }
            false => self.few.more_writes = true,
        }
        self.push(touch);
    }

    fn push(&mut self, touch: Touch) {
        if let Some(place) = self.list.get_mut(usize::from(self.end)) {
            *place = touch;
            self.end += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn reads(&self) -> &[Touch] {
        self.list.get(..usize::from(self.reads)).unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn writes(&self) -> &[Touch] {
        self.list
            .get(usize::from(self.reads)..usize::from(self.end))
            .unwrap_or_default()
    }
}

/// One micro-operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MicroOp {
    pub(crate) operation: Operation,
    pub(crate) touches: Touches,
    /// Byte offset of the instruction.
    pub(crate) offset: u32,
}
