//! Operand encodings of G15 and newer.
//!
//! Two families exist. Arithmetic of variable length packs a register into six bits and
//! spreads the rest (half, eighth bit, uniform, modifiers) over the longer forms, so a short
//! form simply lacks bits: the table points those at bits of the opcode that are always zero
//! or one, and decoding and encoding need not know. Arithmetic of fixed length has eight bits
//! of half index and flags in one place.

mod decode;
mod encode;

use super::Kind;
use crate::operand::{Hint, Modifiers, Operand, Reg, Uniform, Width};

impl Kind {
    /// Returns true if it is one of the encodings in this file.
    #[inline]
    pub(in crate::kind) const fn is_g15(self) -> bool {
        matches!(
            self,
            Kind::VarDst
                | Kind::VarSrc
                | Kind::SelectDst
                | Kind::FixedDst
                | Kind::FixedFloatDst
                | Kind::FixedSrc
                | Kind::FixedAddend
                | Kind::FixedFloatSrc
                | Kind::WaitMask
                | Kind::WaitSlot
                | Kind::PredicateUse
                | Kind::Data
                | Kind::Address
                | Kind::ElementIndex(_)
                | Kind::GroupIndex
                | Kind::AtomicIndex
                | Kind::AddressShift
                | Kind::TermShift
                | Kind::MatrixPair(_)
                | Kind::MatrixAddend(_)
                | Kind::PackDst
                | Kind::UnpackDst
                | Kind::UnpackSrc
        )
    }
}

#[inline]
fn part(field: u64, low: u8, size: u8) -> u16 {
    ((field >> low) & ((1 << size) - 1)) as u16
}

#[inline]
fn flag(field: u64, bit: u8) -> bool {
    (field >> bit) & 1 != 0
}

fn bit(value: bool, at: u8) -> u64 {
    u64::from(value) << at
}

/// Registers wider than a half start at an even one; the low bit is then without meaning.
#[inline]
fn aligned(half: u16, width: Width) -> u16 {
    match width {
        Width::W16 => half,
        _ => half & !1,
    }
}

#[inline]
fn reg(half: u16, width: Width, count: u8, hint: Hint, mods: Modifiers) -> Operand {
    Operand::Reg(Reg {
        half: aligned(half, width),
        width,
        count,
        hint,
        mods,
    })
}

#[inline]
fn uniform(half: u16, width: Width, mods: Modifiers) -> Operand {
    Operand::Uniform(Uniform {
        half: aligned(half, width),
        width,
        count: 1,
        mods,
    })
}

/// Discard wins over cache where a form can say both.
#[inline]
fn hint(cache: bool, discard: bool) -> Hint {
    match (cache, discard) {
        (_, true) => Hint::Discard,
        (true, false) => Hint::Cache,
        (false, false) => Hint::None,
    }
}

#[inline]
fn word_or_half(is_word: bool) -> Width {
    if is_word { Width::W32 } else { Width::W16 }
}

fn size(code: u16) -> Width {
    match code {
        0 => Width::W16,
        1 => Width::W32,
        _ => Width::W64,
    }
}

fn size_code(width: Width) -> u64 {
    match width {
        Width::W16 => 0,
        Width::W32 => 1,
        Width::W64 => 2,
    }
}

fn brain(bfloat: bool) -> Modifiers {
    Modifiers {
        bfloat,
        ..Modifiers::NONE
    }
}

/// Packings into sixteen bits per value.
fn is_sixteen(mode: u16) -> bool {
    matches!(mode, 2 | 4)
}
