//! One decoded instruction.

use crate::bits::Halves;
use crate::dispatch::{Dispatch, dispatch, length_masks, recognise};
use crate::isa::{Family, Isa};
use crate::op::{Class, Op};
use crate::operand::Operand;
use crate::table::{Field, Form, FormId, Role, Spec};
use std::fmt;

/// An instruction: a plain value that keeps every bit it was decoded from.
///
/// ```
/// use assay_agx::{Instruction, Isa, Op};
/// let code = [0x0e, 0x01, 0x40, 0x16, 0, 0, 0, 0];
/// let insn = Instruction::decode(Isa::G13, &code)?;
/// assert_eq!(insn.op(), Op::Iadd);
/// assert_eq!(insn.to_string(), "iadd r0, r0.sx, 1");
/// assert_eq!(insn.bytes(), code);
/// # Ok::<(), assay_agx::DecodeError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Instruction {
    /// The lowest 64 bits, and the 64 above them: two plain registers of this machine,
    /// where one 128-bit integer would be copied through memory.
    low: u64,
    high: u64,
    /// Length in bytes, the instruction set by its place in [`Isa::ALL`] from bit 8 on, and the
    /// form from bit 16 on: one machine word, because padding would be copied in pieces.
    tail: u64,
}

/// Why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There is less than one two-byte parcel.
    #[error("there are {0} bytes, and an instruction has at least 2")]
    Empty(usize),
    /// No known instruction begins like this.
    #[error("no known instruction begins with parcel {parcel:#06x}")]
    Unknown {
        /// The first two bytes, little-endian.
        parcel: u16,
    },
    /// The bytes end inside the instruction.
    #[error("`{mnemonic}` needs {needed} bytes and {available} are left")]
    Truncated {
        /// What the instruction would be.
        mnemonic: &'static str,
        /// Its length in bytes.
        needed: u8,
        /// How many there are.
        available: usize,
    },
}

/// One operand of an instruction with its name and role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Which operand this is.
    pub field: Field,
    /// What the instruction does with it.
    pub role: Role,
    /// Its value.
    pub operand: Operand,
    /// Whether the text leaves it out.
    pub hidden: bool,
}

/// The longest instruction of any instruction set, in bytes.
pub const MAX_LENGTH: usize = 16;

impl Instruction {
    /// Decodes the instruction at the start of `code`; the rest is not looked at.
    #[inline]
    pub fn decode(isa: Isa, code: &[u8]) -> Result<Instruction, DecodeError> {
        match code.first_chunk::<MAX_LENGTH>() {
            Some(chunk) => {
                let dispatch = dispatch(isa.family());
                let decoded = Instruction::decode_chunk(isa, dispatch, chunk);
                let (instruction, _) = decoded.ok_or_else(|| DecodeError::Unknown {
                    parcel: u16::from_le_bytes([chunk[0], chunk[1]]),
                })?;
                Ok(instruction)
            }
            None => decode_short(isa, code),
        }
    }

    /// Decodes from enough bytes for any instruction; also returns its length, which is known before its form is. Always
    /// inlined, because a call would return the instruction through memory and cost as much as decoding it.
    #[inline(always)]
    pub(crate) fn decode_chunk(
        isa: Isa,
        dispatch: &'static Dispatch,
        chunk: &[u8; MAX_LENGTH],
    ) -> Option<(Instruction, u8)> {
        let (low, rest) = chunk.split_first_chunk::<8>()?;
        let low = u64::from_le_bytes(*low);
        let high = u64::from_le_bytes(*rest.first_chunk::<8>()?);
        let (form, length) = recognise(dispatch, low, high)?;
        let (low_mask, high_mask) = length_masks(length);
        let instruction = Instruction {
            low: low & low_mask,
            high: high & high_mask,
            tail: u64::from(length) | (isa as u64) << 8 | form.bits() << 16,
        };
        Some((instruction, length))
    }

    /// The number of its encoding.
    #[inline(always)]
    pub(crate) const fn form_id(&self) -> FormId {
        FormId::from_bits(self.tail >> 16)
    }

    /// Its encoding.
    #[inline(always)]
    pub(crate) const fn form(&self) -> &'static Form {
        self.form_id().form()
    }

    /// The instruction set it belongs to.
    pub const fn isa(&self) -> Isa {
        match self.tail >> 8 & 0xff {
            0 => Isa::G13,
            1 => Isa::G13X,
            2 => Isa::G14,
            3 => Isa::G14X,
            4 => Isa::G15,
            _ => Isa::G17G,
        }
    }

    /// The table it is from.
    #[inline]
    pub(crate) const fn family(&self) -> Family {
        if (self.tail >> 8 & 0xff) < Isa::G15 as u64 {
            Family::G13
        } else {
            Family::G15
        }
    }

    /// Length in bytes.
    #[inline]
    pub(crate) const fn length(&self) -> u8 {
        self.tail as u8
    }

    /// What it does.
    #[inline]
    pub const fn op(&self) -> Op {
        self.form().op
    }

    /// The part of the machine it occupies.
    pub const fn class(&self) -> Class {
        self.form().class
    }

    /// Float operations of a lane, as people count them: a multiply-add is two; comparisons, conversions and moves are
    /// none. A product of 8×8 matrices is shared by 32 lanes.
    pub const fn flops(&self) -> u32 {
        match (self.op(), self.class()) {
            (Op::SimdMatrixFmadd32 | Op::SimdMatrixFmadd16, _) => 2 * 8 * 8 * 8 / 32,
            (Op::Fmadd32 | Op::Fmadd16, _) => 2,
            (_, Class::Float32 | Class::Float16 | Class::Transcendental) => 1,
            _ => 0,
        }
    }

    /// The name of its encoding, without `.sat` and before aliases such as `mov`.
    pub const fn mnemonic(&self) -> &'static str {
        self.form().name
    }

    /// Length in bytes: even, from 2 to 12 on G13 and G14 and to 16 on G15.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "an instruction is never empty")]
    pub const fn len(&self) -> usize {
        self.length() as usize
    }

    /// The bits as one little-endian integer.
    #[inline]
    pub const fn word(&self) -> u128 {
        self.low as u128 | (self.high as u128) << 64
    }

    #[inline]
    pub(crate) const fn halves(&self) -> Halves {
        Halves([self.low, self.high])
    }

    /// The encoding.
    pub fn encode(&self) -> Encoded {
        Encoded {
            bytes: self.word().to_le_bytes(),
            length: self.length(),
        }
    }

    /// The encoding; the same as [`Instruction::encode`], as a small byte string.
    pub fn bytes(&self) -> Encoded {
        self.encode()
    }

    /// The operands and modifiers in text order, then those the text leaves out.
    #[inline]
    pub fn arguments(&self) -> impl Iterator<Item = Argument> + Clone + use<> {
        let word = self.halves();
        self.form().operands.iter().map(move |spec| Argument {
            field: spec.field,
            role: spec.role,
            operand: spec.operand(word),
            hidden: spec.hidden,
        })
    }

    /// The operands in text order, modifiers and immediates included.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + Clone + use<> {
        self.arguments()
            .filter(|argument| !argument.hidden)
            .map(|argument| argument.operand)
    }

    /// A named operand or modifier, when this instruction has it.
    ///
    /// ```
    /// use assay_agx::{Field, Instruction, Isa, Operand};
    /// let wait = Instruction::decode(Isa::G13, &[0x38, 0x01])?;
    /// assert_eq!(wait.get(Field::Slot), Some(Operand::Imm(1)));
    /// # Ok::<(), assay_agx::DecodeError>(())
    /// ```
    #[inline]
    pub fn get(&self, field: Field) -> Option<Operand> {
        Some(self.form().spec(field)?.operand(self.halves()))
    }

    /// A named field as an integer.
    #[inline]
    pub fn get_int(&self, field: Field) -> Option<i64> {
        self.get(field)?.imm()
    }

    /// The first operand that is written.
    pub fn dest(&self) -> Option<Operand> {
        self.arguments()
            .find(|argument| argument.role == Role::Dest)
            .map(|argument| argument.operand)
    }

    /// The `n`th operand that is only read, in text order.
    pub fn source(&self, n: usize) -> Option<Operand> {
        self.sources().nth(n)
    }

    /// The operands that are only read, in text order.
    pub fn sources(&self) -> impl Iterator<Item = Operand> + Clone + use<> {
        self.arguments()
            .filter(|argument| argument.role == Role::Source)
            .map(|argument| argument.operand)
    }

    /// Whether the result is clamped: to 0..1 for floats, to the destination's range
    /// for integers.
    pub const fn saturate(&self) -> bool {
        self.form().saturate_bit != 0 && (self.word() >> self.form().saturate_bit) & 1 != 0
    }
}

impl Spec {
    /// This operand of the instruction `word`.
    #[inline]
    pub(crate) fn operand(&self, word: Halves) -> Operand {
        self.kind.decode(self.bits.extract(word))
    }
}

/// Decodes at the end of the code: missing bytes are zero, and must not be needed.
#[cold]
fn decode_short(isa: Isa, code: &[u8]) -> Result<Instruction, DecodeError> {
    if code.len() < 2 {
        return Err(DecodeError::Empty(code.len()));
    }
    let mut padded = [0; MAX_LENGTH];
    for (to, from) in padded.iter_mut().zip(code) {
        *to = *from;
    }
    let instruction = Instruction::decode(isa, &padded)?;
    if instruction.len() > code.len() {
        return Err(DecodeError::Truncated {
            mnemonic: instruction.form().name,
            needed: instruction.length(),
            available: code.len(),
        });
    }
    Ok(instruction)
}

impl PartialEq for Instruction {
    fn eq(&self, other: &Instruction) -> bool {
        self.word() == other.word() && self.tail == other.tail
    }
}

impl Eq for Instruction {}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instruction({self})")
    }
}

/// The bytes of one instruction, without allocation.
#[derive(Clone, Copy)]
pub struct Encoded {
    bytes: [u8; 16],
    length: u8,
}

impl Encoded {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}

impl std::ops::Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Encoded {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_slice(), f)
    }
}

impl<Other: AsRef<[u8]>> PartialEq<Other> for Encoded {
    fn eq(&self, other: &Other) -> bool {
        self.as_slice() == other.as_ref()
    }
}
