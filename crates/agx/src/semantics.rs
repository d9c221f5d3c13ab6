//! Typed meanings of modifiers: conditions, formats, atomics, shuffles, reductions.
//!
//! The numbers of a field are turned into these types here, once, so that an
//! emulator, a profiler or a code generator matches on names.

use crate::instruction::Instruction;
use crate::names::List;
use crate::op::Op;
use crate::operand::Operand;
use crate::table::{Field, Meaning, reduction_bits, shuffle_bits};

/// A comparison. `negate` inverts the outcome of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What is compared.
    pub compare: Compare,
    /// The outcome is inverted.
    pub negate: bool,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Integers, zero-extended: equal, less, greater.
    Unsigned(Order),
    /// Integers, sign-extended from their width: equal, less, greater.
    Signed(Order),
    /// Floats; every comparison with a NaN is false.
    Float(FloatOrder),
    /// Integers with a bit set in common (G15).
    Test,
    /// A code no decoder knows.
    Unknown(u8),
}

/// Order of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// a = b
    Equal,
    /// a < b
    Less,
    /// a > b
    Greater,
}

/// Order of two floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatOrder {
    /// a = b
    Equal,
    /// a < b
    Less,
    /// a > b
    Greater,
    /// `ltn`: a < b, or b is NaN (used for minimum).
    LessOrNan,
    /// a >= b
    GreaterEqual,
    /// a <= b
    LessEqual,
    /// `gtn`: a > b, or b is NaN (used for maximum).
    GreaterOrNan,
}

/// How a memory access converts between registers and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named after the words of the text")]
pub enum Format {
    I8,
    I16,
    I32,
    F16,
    U8Norm,
    S8Norm,
    U16Norm,
    S16Norm,
    Rgb10A2,
    Srgba8,
    Rg11B10F,
    Rgb9E5,
    Rg11B10FRtz,
    Rgb9E5Rtz,
    /// A code no decoder knows.
    Unknown(u8),
}

impl Format {
    /// From the encoded number.
    pub const fn from_code(code: u8) -> Format {
        match code {
            0 => Format::I8,
            1 => Format::I16,
            2 => Format::I32,
            3 => Format::F16,
            4 => Format::U8Norm,
            5 => Format::S8Norm,
            6 => Format::U16Norm,
            7 => Format::S16Norm,
            8 => Format::Rgb10A2,
            10 => Format::Srgba8,
            12 => Format::Rg11B10F,
            13 => Format::Rgb9E5,
            14 => Format::Rg11B10FRtz,
            15 => Format::Rgb9E5Rtz,
            _ => Format::Unknown(code),
        }
    }

    /// The encoded number.
    pub const fn code(self) -> u8 {
        match self {
            Format::I8 => 0,
            Format::I16 => 1,
            Format::I32 => 2,
            Format::F16 => 3,
            Format::U8Norm => 4,
            Format::S8Norm => 5,
            Format::U16Norm => 6,
            Format::S16Norm => 7,
            Format::Rgb10A2 => 8,
            Format::Srgba8 => 10,
            Format::Rg11B10F => 12,
            Format::Rgb9E5 => 13,
            Format::Rg11B10FRtz => 14,
            Format::Rgb9E5Rtz => 15,
            Format::Unknown(code) => code,
        }
    }

    /// Bytes of memory that one step of the index is worth. Packed formats step by
    /// bytes here and always move four.
    pub const fn element_bytes(self) -> Option<u8> {
        match self {
            Format::I8 | Format::U8Norm | Format::S8Norm | Format::Srgba8 => Some(1),
            Format::I16 | Format::F16 | Format::U16Norm | Format::S16Norm => Some(2),
            Format::I32 => Some(4),
            Format::Rgb10A2
            | Format::Rg11B10F
            | Format::Rgb9E5
            | Format::Rg11B10FRtz
            | Format::Rgb9E5Rtz => Some(1),
            Format::Unknown(_) => None,
        }
    }

    /// Whether all components live in one 32-bit word.
    pub const fn is_packed(self) -> bool {
        matches!(
            self,
            Format::Rgb10A2
                | Format::Rg11B10F
                | Format::Rgb9E5
                | Format::Rg11B10FRtz
                | Format::Rgb9E5Rtz
        )
    }
}

/// What an atomic does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named after the words of the text")]
pub enum AtomicOp {
    Add,
    Sub,
    Exchange,
    /// The value operand is a pair: the new value, then the one compared.
    CompareExchange,
    UnsignedMin,
    SignedMin,
    UnsignedMax,
    SignedMax,
    And,
    Or,
    Xor,
    /// Single-precision sum (G15).
    FloatAdd,
    /// A code no decoder knows.
    Unknown(u8),
}

impl AtomicOp {
    /// From the number G15 encodes.
    pub const fn from_code_g15(code: u8) -> AtomicOp {
        match code {
            0 => AtomicOp::Add,
            1 => AtomicOp::And,
            2 => AtomicOp::CompareExchange,
            3 => AtomicOp::FloatAdd,
            4 => AtomicOp::SignedMax,
            5 => AtomicOp::SignedMin,
            6 => AtomicOp::Or,
            11 => AtomicOp::Sub,
            12 => AtomicOp::UnsignedMax,
            13 => AtomicOp::UnsignedMin,
            14 => AtomicOp::Exchange,
            15 => AtomicOp::Xor,
            _ => AtomicOp::Unknown(code),
        }
    }

    /// From the encoded number.
    pub const fn from_code(code: u8) -> AtomicOp {
        match code {
            0 => AtomicOp::Add,
            1 => AtomicOp::Sub,
            2 => AtomicOp::Exchange,
            3 => AtomicOp::CompareExchange,
            4 => AtomicOp::UnsignedMin,
            5 => AtomicOp::SignedMin,
            6 => AtomicOp::UnsignedMax,
            7 => AtomicOp::SignedMax,
            8 => AtomicOp::And,
            9 => AtomicOp::Or,
            10 => AtomicOp::Xor,
            _ => AtomicOp::Unknown(code),
        }
    }
}

/// A conversion between integers and floats. The float side has the width of its
/// register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvertMode {
    /// Integer of this many bits to float.
    ToFloat {
        /// Bits of the integer.
        bits: u8,
        /// Two's complement.
        signed: bool,
    },
    /// Float to an integer of this many bits.
    FromFloat {
        /// Bits of the integer.
        bits: u8,
        /// Two's complement.
        signed: bool,
    },
    /// A code no decoder knows.
    Unknown(u8),
}

/// Which lanes take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Four neighbouring lanes.
    Quad,
    /// All 32.
    Simd,
}

/// How a shuffle finds the lane it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShuffleKind {
    /// The lane named by the second source.
    Index,
    /// Own lane XOR the second source.
    Xor,
    /// Own lane minus the second source.
    Up,
    /// Own lane plus the second source.
    Down,
}

/// A shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shuffle {
    /// Which lanes take part; `None` for a code no decoder knows.
    pub scope: Option<Scope>,
    /// How the lane is found.
    pub kind: ShuffleKind,
    /// Lanes wrap around. Known with [`ShuffleKind::Up`] only.
    pub rotate: bool,
}

/// What a reduction combines lanes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the usual names")]
pub enum ReduceOp {
    And,
    Or,
    Xor,
    IntegerAdd,
    FloatAdd,
    FloatMul,
    UnsignedMin,
    UnsignedMax,
    SignedMin,
    SignedMax,
    FloatMin,
    FloatMax,
}

/// A reduction or a scan over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reduction {
    /// Which lanes take part.
    pub scope: Scope,
    /// Each lane gets the combination of the lanes before it.
    pub prefix: bool,
    /// How values are combined.
    pub op: ReduceOp,
}

impl Instruction {
    /// The comparison of a select, ballot or execution-mask instruction.
    pub fn condition(&self) -> Option<Condition> {
        if self.op() == Op::Minmax {
            return condition_g15(List::ConditionG15, self.minmax_code());
        }
        let Operand::Choice(list, code) = self.get(Field::Condition)? else {
            return None;
        };
        if matches!(list, List::ConditionG15 | List::CmovCondition) {
            return condition_g15(list, code);
        }
        let order = match code & 3 {
            0 => Some(Order::Equal),
            1 => Some(Order::Less),
            2 => Some(Order::Greater),
            _ => None,
        };
        let compare = match (list, code & 7) {
            (List::FloatCondition, 0) => Compare::Float(FloatOrder::Equal),
            (List::FloatCondition, 1) => Compare::Float(FloatOrder::Less),
            (List::FloatCondition, 2) => Compare::Float(FloatOrder::Greater),
            (List::FloatCondition, 3) => Compare::Float(FloatOrder::LessOrNan),
            (List::FloatCondition, 5) => Compare::Float(FloatOrder::GreaterEqual),
            (List::FloatCondition, 6) => Compare::Float(FloatOrder::LessEqual),
            (List::FloatCondition, 7) => Compare::Float(FloatOrder::GreaterOrNan),
            (List::IntegerCondition, low) => match order {
                Some(order) if low & 4 == 0 => Compare::Unsigned(order),
                Some(order) => Compare::Signed(order),
                None => Compare::Unknown(code),
            },
            _ => Compare::Unknown(code),
        };
        Some(Condition {
            compare,
            negate: code & 8 != 0,
        })
    }

    /// The condition of a minimum or maximum is its opcode.
    fn minmax_code(&self) -> u8 {
        (self.word() >> 32) as u8 & 7
    }

    /// The slots this instruction waits for before it reads its operands: bit `n` is slot `n`
    /// (G15 and newer).
    pub fn waits(&self) -> u8 {
        match self.get(Field::Wait) {
            Some(Operand::WaitMask(mask)) => mask,
            Some(Operand::Binary { value, .. }) => value as u8,
            _ => 0,
        }
    }

    /// How many levels an execution-mask instruction pushes, breaks or pops.
    pub fn nest(&self) -> Option<u8> {
        Some(self.get_int(Field::Nest)? as u8)
    }

    /// The memory format.
    pub fn format(&self) -> Option<Format> {
        Some(match self.get(Field::Format)? {
            Operand::Choice(List::FormatG15, code) => match code {
                0 => Format::I16,
                1 => Format::I32,
                2 => Format::I8,
                code => Format::Unknown(code),
            },
            other => Format::from_code(other.imm()? as u8),
        })
    }

    /// The component mask of a load, store or sample: bit 0 is x.
    pub fn mask(&self) -> Option<u8> {
        match self.get(Field::Mask)? {
            Operand::Choice(List::Mask | List::SampleMask, mask) => Some(mask),
            Operand::Choice(List::MaskG15, code) => Some(components(List::MaskG15.name(code)?)),
            _ => None,
        }
    }

    /// What an atomic does.
    pub fn atomic_op(&self) -> Option<AtomicOp> {
        match self.get(Field::AtomicOp)? {
            Operand::Choice(List::AtomicOpG15, code) => Some(AtomicOp::from_code_g15(code)),
            other => Some(AtomicOp::from_code(other.imm()? as u8)),
        }
    }

    /// What a `convert` does.
    pub fn convert_mode(&self) -> Option<ConvertMode> {
        if self.op() != Op::Convert {
            return None;
        }
        let mode = self.get(Field::Mode)?;
        let code = mode.imm()? as u8;
        let signed = code & 1 != 0;
        if let Operand::Choice(list @ (List::FromFloatG15 | List::ToFloatG15), _) = mode {
            return Some(convert_mode_g15(list, code));
        }
        Some(match code {
            0 | 1 => ConvertMode::ToFloat { bits: 8, signed },
            4 | 5 => ConvertMode::FromFloat { bits: 16, signed },
            6 | 7 => ConvertMode::ToFloat { bits: 16, signed },
            8 | 9 => ConvertMode::FromFloat { bits: 32, signed },
            10 | 11 => ConvertMode::ToFloat { bits: 32, signed },
            _ => ConvertMode::Unknown(code),
        })
    }

    /// Whether a `convert` rounds to nearest even (`rte`) rather than to zero; `None`
    /// for the two modes no decoder knows.
    pub fn rounds_to_nearest(&self) -> Option<bool> {
        match self.get(Field::Round)? {
            Operand::Choice(List::Round, mode @ 0..=1) => Some(mode == 1),
            Operand::Choice(List::ImageRound, mode) => Some(mode == 0),
            _ => None,
        }
    }

    /// The value a shift or bit field operates under: the low `n` bits set. A width of
    /// 0 means all 32.
    pub fn bit_mask(&self) -> Option<u32> {
        match self.get(Field::BitMask)? {
            Operand::BitMask(0) => Some(u32::MAX),
            Operand::BitMask(size) => Some((1 << (size & 31)) - 1),
            _ => None,
        }
    }

    /// The truth table of a `bitop`; see [`Operand::TruthTable`].
    pub fn truth_table(&self) -> Option<u8> {
        match self.get(Field::TruthTable)? {
            Operand::TruthTable(table) => Some(table),
            _ => None,
        }
    }

    /// What a shuffle does.
    pub fn shuffle(&self) -> Option<Shuffle> {
        if self.op() != Op::Shuffle {
            return None;
        }
        if let Meaning::Shuffle(shuffle) = self.form().meaning {
            return Some(shuffle);
        }
        Some(Shuffle {
            scope: match shuffle_bits::SCOPE.extract(self.halves()) {
                0 => Some(Scope::Quad),
                1 => Some(Scope::Simd),
                _ => None,
            },
            kind: match shuffle_bits::HOW.extract(self.halves()) {
                0 => ShuffleKind::Index,
                1 => ShuffleKind::Xor,
                2 => ShuffleKind::Up,
                _ => ShuffleKind::Down,
            },
            rotate: shuffle_bits::ROTATE.extract(self.halves()) != 0,
        })
    }

    /// What a reduction does; `None` too for the codes no decoder knows.
    pub fn reduction(&self) -> Option<Reduction> {
        if let Meaning::Reduce(op, scope) = self.form().meaning {
            let prefix = self.get_int(Field::Prefix) == Some(1);
            return Some(Reduction { scope, prefix, op });
        }
        if self.op() != Op::Reduce || reduction_bits::REST.extract(self.halves()) != 0 {
            return None;
        }
        let op = match reduction_bits::OPERATION.extract(self.halves()) {
            0 => ReduceOp::And,
            1 => ReduceOp::FloatAdd,
            2 => ReduceOp::Or,
            3 => ReduceOp::FloatMul,
            4 => ReduceOp::Xor,
            5 => ReduceOp::FloatMin,
            7 => ReduceOp::FloatMax,
            16 => ReduceOp::IntegerAdd,
            20 => ReduceOp::SignedMin,
            22 => ReduceOp::SignedMax,
            28 => ReduceOp::UnsignedMin,
            30 => ReduceOp::UnsignedMax,
            _ => return None,
        };
        Some(Reduction {
            scope: match reduction_bits::SIMD.extract(self.halves()) {
                0 => Scope::Quad,
                _ => Scope::Simd,
            },
            prefix: reduction_bits::PREFIX.extract(self.halves()) != 0,
            op,
        })
    }
}

/// The components of a mask's word: bit 0 is x.
fn components(word: &str) -> u8 {
    word.bytes().fold(0, |mask, letter| {
        mask | match letter {
            b'x' => 1,
            b'y' => 2,
            b'z' => 4,
            _ => 8,
        }
    })
}

fn condition_g15(list: List, code: u8) -> Option<Condition> {
    let compare = match code & 15 {
        0 => Compare::Float(FloatOrder::GreaterOrNan),
        1 => Compare::Float(FloatOrder::LessOrNan),
        2 => Compare::Float(FloatOrder::Greater),
        3 => Compare::Float(FloatOrder::Less),
        4 => Compare::Unsigned(Order::Greater),
        5 => Compare::Unsigned(Order::Less),
        6 => Compare::Signed(Order::Greater),
        7 => Compare::Signed(Order::Less),
        8 => Compare::Float(FloatOrder::Equal),
        10 => Compare::Float(FloatOrder::GreaterEqual),
        11 => Compare::Float(FloatOrder::LessEqual),
        14 => Compare::Test,
        15 => Compare::Unsigned(Order::Equal),
        _ => Compare::Unknown(code),
    };
    Some(Condition {
        compare,
        negate: list == List::CmovCondition && code < 16,
    })
}

fn convert_mode_g15(list: List, code: u8) -> ConvertMode {
    match (list, code) {
        (List::ToFloatG15, 0 | 2) => ConvertMode::ToFloat {
            bits: 16,
            signed: code == 2,
        },
        (List::ToFloatG15, 1 | 3) => ConvertMode::ToFloat {
            bits: 8,
            signed: code == 3,
        },
        (List::ToFloatG15, 4 | 6) => ConvertMode::ToFloat {
            bits: 32,
            signed: code == 6,
        },
        (List::FromFloatG15, 0 | 5) => ConvertMode::FromFloat {
            bits: 32,
            signed: code == 5,
        },
        (List::FromFloatG15, 3 | 4) => ConvertMode::FromFloat {
            bits: 16,
            signed: code == 3,
        },
        (List::FromFloatG15, 1 | 2) => ConvertMode::FromFloat {
            bits: 8,
            signed: code == 1,
        },
        _ => ConvertMode::Unknown(code),
    }
}
