//! Operand encodings of G15 and newer.
//!
//! Two families exist. Arithmetic of variable length packs a register into six bits and
//! spreads the rest (half, eighth bit, uniform, modifiers) over the longer forms, so a short
//! form simply lacks bits: the table points those at bits of the opcode that are always zero
//! or one, and decoding and encoding need not know. Arithmetic of fixed length has eight bits
//! of half index and flags in one place.

use super::Kind;
use super::encode::{
    NOTHING, Placements, caring, half, is_plain, one, pair, placed, uniform_pair, word, words,
};
use crate::names::List;
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Predicate, Reg, Uniform, Width};

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

impl Kind {
    /// Returns true if it is one of the encodings in this file.
    #[inline]
    pub(super) const fn is_g15(self) -> bool {
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

    /// The operand spelled by `field`.
    pub(super) fn decode_g15(self, field: u64) -> Operand {
        let value = part(field, 0, 8);
        match self {
            Kind::VarSrc => var_src(field),
            Kind::VarDst => var_dst(field, flag(field, 12)),
            Kind::SelectDst if flag(field, 8) && flag(field, 0) => Operand::Predicate(Predicate {
                number: part(field, 2, 3) as u8,
                inverted: false,
                from_value: flag(field, 1),
            }),
            Kind::SelectDst => var_dst(field, false),
            Kind::FixedDst => {
                let width = size(part(field, 10, 2));
                fixed_dst(field, width, Modifiers::NONE)
            }
            Kind::FixedFloatDst => {
                let width = word_or_half(!flag(field, 10));
                let mods = brain(width == Width::W16 && !flag(field, 11));
                fixed_dst(field, width, mods)
            }
            Kind::FixedSrc => fixed_src(field, size(part(field, 11, 2)), flag(field, 13)),
            Kind::FixedAddend => {
                let width = match part(field, 13, 2) {
                    3 => Width::W64,
                    _ => word_or_half(flag(field, 11)),
                };
                fixed_src(field, width, flag(field, 12))
            }
            Kind::FixedFloatSrc => fixed_float_src(field),
            Kind::WaitMask => Operand::WaitMask(field as u8),
            Kind::WaitSlot => Operand::WaitMask(match field as u8 & 7 {
                0 => 0,
                slot => 1 << (slot - 1),
            }),
            Kind::PredicateUse => Operand::Predicate(Predicate {
                number: part(field, 0, 3) as u8,
                inverted: flag(field, 3),
                from_value: false,
            }),
            Kind::Data => data(field),
            Kind::Address if flag(field, 7) => reg(
                part(field, 0, 7) * 2,
                Width::W64,
                1,
                Hint::None,
                Modifiers::NONE,
            ),
            Kind::Address => uniform(part(field, 0, 7) * 4, Width::W64, Modifiers::NONE),
            Kind::ElementIndex(discard) => element_index(field, discard),
            Kind::GroupIndex if flag(field, 8) => {
                reg(value, Width::W16, 1, Hint::None, Modifiers::NONE)
            }
            Kind::GroupIndex => Operand::Imm(i64::from(value)),
            Kind::AtomicIndex if flag(field, 10) => {
                let width = word_or_half(flag(field, 8));
                reg(
                    value,
                    width,
                    1,
                    hint(false, flag(field, 9)),
                    Modifiers::NONE,
                )
            }
            Kind::AtomicIndex => Operand::Imm(i64::from(value)),
            Kind::AddressShift => Operand::Shift(match field as u8 & 7 {
                0 => 4,
                more => more - 1,
            }),
            Kind::TermShift => Operand::Shift(match field as u8 & 3 {
                0 => 4,
                shift => shift,
            }),
            Kind::MatrixPair(wide) => matrix_pair(field, wide),
            Kind::MatrixAddend(wide) if flag(field, 7) => matrix_pair(field, wide),
            Kind::MatrixAddend(_) => Operand::Imm(0),
            Kind::PackDst => {
                let two = flag(field, 13) || flag(field, 14);
                let count = if two && is_sixteen(part(field, 10, 3)) {
                    2
                } else {
                    1
                };
                let half = if count == 2 { value & !1 } else { value };
                let cache = hint(flag(field, 8), false);
                reg(half, Width::W16, count, cache, Modifiers::NONE)
            }
            Kind::UnpackDst => {
                let count = if flag(field, 10) { 2 } else { 1 };
                let half = if count == 2 { value & !1 } else { value };
                let width = word_or_half(flag(field, 9));
                reg(
                    half,
                    width,
                    count,
                    hint(flag(field, 8), false),
                    Modifiers::NONE,
                )
            }
            _ => {
                let count = if flag(field, 10) { 2 } else { 1 };
                let half = if count == 2 { value & !1 } else { value };
                let hint = hint(flag(field, 8), flag(field, 9));
                reg(half, Width::W16, count, hint, Modifiers::NONE)
            }
        }
    }

    /// The bits that spell `operand`.
    pub(super) fn encode_g15(self, operand: Operand) -> Placements {
        match self {
            Kind::VarSrc => encode_var_src(operand),
            Kind::VarDst => placed(encode_var_dst(operand, true)),
            Kind::SelectDst => placed(match operand {
                Operand::Predicate(predicate) if predicate.number < 8 && !predicate.inverted => {
                    let number = u64::from(predicate.number) << 2;
                    Some(1 | bit(predicate.from_value, 1) | number | 1 << 8)
                }
                _ => encode_var_dst(operand, false),
            }),
            Kind::FixedDst => placed(fixed_dst_bits(operand).and_then(|(bits, width, mods)| {
                (mods == Modifiers::NONE).then_some(bits | size_code(width) << 10)
            })),
            Kind::FixedFloatDst => {
                placed(fixed_dst_bits(operand).and_then(|(bits, width, mods)| {
                    let is_half = width == Width::W16;
                    let fits = mods == brain(mods.bfloat) && width != Width::W64;
                    (fits && (is_half || !mods.bfloat))
                        .then_some(bits | bit(is_half, 10) | bit(is_half && !mods.bfloat, 11))
                }))
            }
            Kind::FixedSrc => fixed_src_bits(operand, false).map_or(NOTHING, |found| {
                let sx = bit(found.mods.sx, 13);
                caring(
                    found.bits | size_code(found.width) << 11 | sx,
                    found.care | 0b111 << 11,
                )
            }),
            Kind::FixedAddend => fixed_src_bits(operand, false).map_or(NOTHING, |found| {
                let wide = found.width == Width::W64;
                let size = if wide { 0 } else { size_code(found.width) };
                let sx = bit(found.mods.sx, 12);
                // The size of the destination belongs to the destination, but for this.
                let (addend, care) = if wide {
                    (0b11 << 13, 0b11 << 13)
                } else {
                    (0, 0)
                };
                caring(
                    found.bits | size << 11 | sx | addend,
                    found.care | 0b11 << 11 | care,
                )
            }),
            Kind::FixedFloatSrc => fixed_src_bits(operand, true).map_or(NOTHING, |found| {
                let Modifiers {
                    abs, neg, bfloat, ..
                } = found.mods;
                if found.is_immediate {
                    return caring(
                        found.bits | bit(neg, 12) | bit(abs, 13),
                        found.care | 0b11 << 12,
                    );
                }
                let is_half = found.width == Width::W16;
                if found.width == Width::W64 || bfloat && !is_half {
                    return NOTHING;
                }
                one(found.bits
                    | bit(!is_half, 11)
                    | bit(neg, 12)
                    | bit(abs, 13)
                    | bit(is_half && !bfloat, 14))
            }),
            Kind::WaitMask => placed(match operand {
                Operand::WaitMask(mask @ 0..=63) => Some(u64::from(mask)),
                Operand::Empty => Some(0),
                _ => None,
            }),
            Kind::WaitSlot => placed(match operand {
                Operand::WaitMask(mask) if mask.count_ones() <= 1 && mask < 128 => {
                    Some(u64::from(8 - mask.leading_zeros()))
                }
                Operand::Empty => Some(0),
                _ => None,
            }),
            Kind::PredicateUse => placed(match operand {
                Operand::Predicate(predicate) if predicate.number < 8 && !predicate.from_value => {
                    Some(u64::from(predicate.number) | bit(predicate.inverted, 3))
                }
                _ => None,
            }),
            Kind::Data => match operand {
                Operand::Empty => caring(0, 0xff),
                Operand::Reg(reg) if is_plain(reg) && reg.half <= 255 => {
                    caring(u64::from(reg.half), 0xff)
                }
                _ => NOTHING,
            },
            Kind::Address => placed(match uniform_pair(operand) {
                Some(half) if half % 4 == 0 && half < 512 => Some(half / 4),
                Some(_) => None,
                None => pair(operand).map(|half| (half / 2) | (1 << 7)),
            }),
            Kind::ElementIndex(discard) => encode_element_index(operand, discard),
            Kind::GroupIndex => placed(match operand {
                Operand::Imm(value @ 0..=255) => Some(value as u64),
                _ => half(operand).map(|half| half | 1 << 8),
            }),
            Kind::AtomicIndex => placed(match operand {
                Operand::Imm(value @ 0..=255) => Some(value as u64),
                Operand::Reg(reg) if reg.hint != Hint::Cache => {
                    let bare = Operand::Reg(reg.hint(Hint::None));
                    let discard = bit(reg.hint == Hint::Discard, 9);
                    half(bare)
                        .or(word(bare).map(|half| half | 1 << 8))
                        .map(|bits| bits | discard | 1 << 10)
                }
                _ => None,
            }),
            Kind::AddressShift => placed(match operand {
                Operand::Shift(4) => Some(0),
                Operand::Shift(shift @ 0..=6) => Some(u64::from(shift) + 1),
                Operand::Empty => Some(1),
                _ => None,
            }),
            Kind::TermShift => placed(match operand {
                Operand::Shift(4) => Some(0),
                Operand::Shift(shift @ 1..=3) => Some(u64::from(shift)),
                _ => None,
            }),
            Kind::MatrixPair(wide) => placed(matrix_number(operand, wide)),
            Kind::MatrixAddend(wide) => match operand {
                Operand::Imm(0) => caring(0, 1 << 7),
                _ => placed(matrix_number(operand, wide).map(|number| number | 1 << 7)),
            },
            _ => encode_packing(self, operand),
        }
    }
}

fn brain(bfloat: bool) -> Modifiers {
    Modifiers {
        bfloat,
        ..Modifiers::NONE
    }
}

fn var_dst(field: u64, bfloat: bool) -> Operand {
    let width = word_or_half(flag(field, 8));
    let value = part(field, 0, 8);
    if flag(field, 10) {
        let half = value | u16::from(flag(field, 11)) << 8;
        return uniform(half, width, brain(bfloat));
    }
    reg(value, width, 1, hint(flag(field, 9), false), brain(bfloat))
}

fn encode_var_dst(operand: Operand, floats: bool) -> Option<u64> {
    let (half, width, rest, mods) = match operand {
        Operand::Reg(reg) if reg.count == 1 && reg.half < 256 && reg.hint != Hint::Discard => {
            let cache = bit(reg.hint == Hint::Cache, 9);
            (u64::from(reg.half), reg.width, cache, reg.mods)
        }
        Operand::Uniform(uniform) if uniform.count == 1 && uniform.half < 512 => {
            let half = u64::from(uniform.half);
            let rest = 1 << 10 | half >> 8 << 11;
            (half & 0xff, uniform.width, rest, uniform.mods)
        }
        _ => return None,
    };
    let fits = width != Width::W64 && (width == Width::W16 || half % 2 == 0);
    let mods_fit = mods == brain(mods.bfloat) && (floats || !mods.bfloat);
    (fits && mods_fit).then_some(half | bit(width == Width::W32, 8) | rest | bit(mods.bfloat, 12))
}

fn var_src(field: u64) -> Operand {
    let integer = flag(field, 15);
    let mods = match integer {
        true => Modifiers {
            sx: flag(field, 12),
            ..Modifiers::NONE
        },
        false => Modifiers {
            neg: flag(field, 12),
            abs: flag(field, 13),
            bfloat: flag(field, 14),
            sx: false,
        },
    };
    let low = part(field, 0, 7);
    let width = word_or_half(flag(field, 10));
    if !flag(field, 11) {
        let half = low | u16::from(flag(field, 7)) << 7;
        return reg(half, width, 1, hint(flag(field, 8), flag(field, 9)), mods);
    }
    let low = low | u16::from(flag(field, 9)) << 7;
    match (flag(field, 8), integer) {
        (false, _) => uniform(low | u16::from(flag(field, 7)) << 8, width, mods),
        (true, true) => Operand::Imm(i64::from(low)),
        (true, false) => Operand::Float(MiniFloat(low as u8), mods),
    }
}

/// Every bit of a [`Kind::VarSrc`] but the size, which an immediate leaves alone.
const VAR_IMMEDIATE: u64 = 0xffff & !(1 << 10);

fn encode_var_src(operand: Operand) -> Placements {
    let (bits, mods, integer) = match operand {
        Operand::Imm(value @ 0..=255) => {
            let value = value as u64;
            let bits = value & 0x7f | value >> 7 << 9 | 1 << 8 | 1 << 11 | 1 << 15;
            return caring(bits, VAR_IMMEDIATE);
        }
        Operand::Float(MiniFloat(value), mods) if !mods.sx => {
            let value = u64::from(value);
            let bits = value & 0x7f | value >> 7 << 9 | 1 << 8 | 1 << 11;
            let mods = bit(mods.neg, 12) | bit(mods.abs, 13) | bit(mods.bfloat, 14);
            return caring(bits | mods, VAR_IMMEDIATE);
        }
        Operand::Reg(reg) if reg.count == 1 && reg.width != Width::W64 && reg.half < 256 => {
            if reg.width == Width::W32 && reg.half % 2 != 0 {
                return NOTHING;
            }
            let half = u64::from(reg.half);
            let hint = bit(reg.hint == Hint::Cache, 8) | bit(reg.hint == Hint::Discard, 9);
            let bits = half | hint | bit(reg.width == Width::W32, 10);
            (bits, reg.mods, reg.mods.sx)
        }
        Operand::Uniform(uniform) if uniform.count == 1 && uniform.width != Width::W64 => {
            if uniform.half >= 512 || uniform.width == Width::W32 && uniform.half % 2 != 0 {
                return NOTHING;
            }
            let half = u64::from(uniform.half);
            let place = half & 0x7f | (half >> 7 & 1) << 9 | (half >> 8) << 7;
            let bits = place | bit(uniform.width == Width::W32, 10) | 1 << 11;
            (bits, uniform.mods, uniform.mods.sx)
        }
        _ => return NOTHING,
    };
    let float = mods.neg || mods.abs || mods.bfloat;
    if integer && float {
        return NOTHING;
    }
    let mods_bits = bit(mods.neg || mods.sx, 12) | bit(mods.abs, 13) | bit(mods.bfloat, 14);
    // Which kind of number a source is belongs to the instruction, unless a modifier says so.
    let care = match integer || float {
        true => 0xffff,
        false => 0x7fff,
    };
    caring(bits | mods_bits | bit(integer, 15), care)
}

fn fixed_dst(field: u64, width: Width, mods: Modifiers) -> Operand {
    let value = part(field, 0, 8);
    if flag(field, 9) {
        reg(value, width, 1, hint(flag(field, 8), false), mods)
    } else {
        uniform(value | u16::from(flag(field, 8)) << 8, width, mods)
    }
}

fn fixed_dst_bits(operand: Operand) -> Option<(u64, Width, Modifiers)> {
    match operand {
        Operand::Reg(reg) if reg.hint != Hint::Discard && reg.half < 256 => {
            let width = one_value(reg.width, reg.count)?;
            let bits = u64::from(reg.half) | bit(reg.hint == Hint::Cache, 8) | 1 << 9;
            is_aligned(reg.half, width).then_some((bits, width, reg.mods))
        }
        Operand::Uniform(uniform) if uniform.half < 512 => {
            let width = one_value(uniform.width, uniform.count)?;
            let half = u64::from(uniform.half);
            let bits = half & 0xff | half >> 8 << 8;
            is_aligned(uniform.half, width).then_some((bits, width, uniform.mods))
        }
        _ => None,
    }
}

/// The width of one value; a pair of words is one of 64 bits.
fn one_value(width: Width, count: u8) -> Option<Width> {
    match (width, count) {
        (width, 1) => Some(width),
        (Width::W32, 2) => Some(Width::W64),
        _ => None,
    }
}

fn is_aligned(half: u16, width: Width) -> bool {
    width == Width::W16 || half.is_multiple_of(2)
}

fn fixed_src(field: u64, width: Width, sx: bool) -> Operand {
    let mods = Modifiers {
        sx,
        ..Modifiers::NONE
    };
    let value = part(field, 0, 8);
    let (cache, discard) = (flag(field, 8), flag(field, 10));
    match (flag(field, 9), discard) {
        (true, _) => reg(value, width, 1, hint(cache, discard), mods),
        (false, true) => uniform(value | u16::from(cache) << 8, width, mods),
        (false, false) => Operand::Imm(i64::from(value)),
    }
}

fn fixed_float_src(field: u64) -> Operand {
    let width = word_or_half(flag(field, 11));
    let mods = Modifiers {
        neg: flag(field, 12),
        abs: flag(field, 13),
        bfloat: width == Width::W16 && !flag(field, 14),
        sx: false,
    };
    let value = part(field, 0, 8);
    let (cache, discard) = (flag(field, 8), flag(field, 10));
    match (flag(field, 9), discard) {
        (true, _) => reg(value, width, 1, hint(cache, discard), mods),
        (false, true) => uniform(value | u16::from(cache) << 8, width, mods),
        (false, false) => Operand::Float(
            MiniFloat(value as u8),
            Modifiers {
                bfloat: false,
                ..mods
            },
        ),
    }
}

/// Value, cache, register and discard bits of a source of fixed length.
struct Fixed {
    bits: u64,
    care: u64,
    width: Width,
    mods: Modifiers,
    is_immediate: bool,
}

fn fixed_src_bits(operand: Operand, floats: bool) -> Option<Fixed> {
    let (bits, width, mods) = match operand {
        Operand::Imm(value @ 0..=255) if !floats => {
            return Some(Fixed {
                bits: value as u64,
                care: 0x7ff,
                width: Width::W16,
                mods: Modifiers::NONE,
                is_immediate: true,
            });
        }
        Operand::Float(MiniFloat(value), mods) if floats => {
            return Some(Fixed {
                bits: u64::from(value),
                care: 0x7ff,
                width: Width::W16,
                mods,
                is_immediate: true,
            });
        }
        Operand::Reg(reg) if reg.half < 256 => {
            let width = one_value(reg.width, reg.count)?;
            let hint = bit(reg.hint == Hint::Cache, 8) | bit(reg.hint == Hint::Discard, 10);
            let fits = is_aligned(reg.half, width);
            fits.then_some((u64::from(reg.half) | hint | 1 << 9, width, reg.mods))?
        }
        Operand::Uniform(uniform) if uniform.half < 512 => {
            let width = one_value(uniform.width, uniform.count)?;
            let half = u64::from(uniform.half);
            let fits = is_aligned(uniform.half, width);
            fits.then_some((half & 0xff | half >> 8 << 8 | 1 << 10, width, uniform.mods))?
        }
        _ => return None,
    };
    let wrong = match floats {
        true => mods.sx,
        false => mods.neg || mods.abs || mods.bfloat,
    };
    (!wrong).then_some(Fixed {
        bits,
        care: 0x7ff,
        width,
        mods,
        is_immediate: false,
    })
}

fn data(field: u64) -> Operand {
    let components = List::MaskG15
        .name(part(field, 10, 4) as u8)
        .map_or(0, str::len) as u8;
    let (width, count) = match part(field, 8, 2) {
        0 => (Width::W16, components),
        // Two bytes share a half register.
        2 => (Width::W16, components.div_ceil(2)),
        _ => (Width::W32, components),
    };
    reg(part(field, 0, 8), width, count, Hint::None, Modifiers::NONE)
}

fn element_index(field: u64, discard: u8) -> Operand {
    let mods = Modifiers {
        sx: flag(field, 16),
        ..Modifiers::NONE
    };
    let width = word_or_half(flag(field, 14));
    let value = part(field, 0, 8);
    match part(field, 17, 2) {
        0 => Operand::Imm(i64::from(part(field, 0, 16))),
        1 => reg(value, width, 1, hint(false, flag(field, discard)), mods),
        2 => uniform(value, width, mods),
        _ => Operand::None,
    }
}

fn encode_element_index(operand: Operand, discard: u8) -> Placements {
    let (half, width, mods, rest) = match operand {
        Operand::Imm(value @ 0..=0xffff) => return one(value as u64),
        Operand::None => return caring(0b11 << 17, 0b11 << 17),
        Operand::Reg(reg) if reg.count == 1 && reg.hint != Hint::Cache && reg.half < 256 => {
            let rest = bit(reg.hint == Hint::Discard, discard) | 1 << 17;
            (reg.half, reg.width, reg.mods, rest)
        }
        Operand::Uniform(uniform) if uniform.count == 1 && uniform.half < 256 => {
            (uniform.half, uniform.width, uniform.mods, 2 << 17)
        }
        _ => return NOTHING,
    };
    let only_sx = Modifiers {
        sx: mods.sx,
        ..Modifiers::NONE
    };
    if mods != only_sx || width == Width::W64 || !is_aligned(half, width) {
        return NOTHING;
    }
    one(u64::from(half) | bit(width == Width::W32, 14) | bit(mods.sx, 16) | rest)
}

fn matrix_pair(field: u64, wide: bool) -> Operand {
    let width = word_or_half(wide);
    reg(part(field, 0, 7) * 2, width, 2, Hint::None, Modifiers::NONE)
}

fn matrix_number(operand: Operand, wide: bool) -> Option<u64> {
    let Operand::Reg(reg) = operand else {
        return None;
    };
    let (half, width, count) = words(reg);
    let fits = is_plain(reg) && (width, count) == (word_or_half(wide), 2);
    (fits && half % 2 == 0 && half < 256).then_some(half / 2)
}

/// Packings into sixteen bits per value.
fn is_sixteen(mode: u16) -> bool {
    matches!(mode, 2 | 4)
}

fn encode_packing(kind: Kind, operand: Operand) -> Placements {
    let Operand::Reg(reg) = operand else {
        return NOTHING;
    };
    let (half, width, count) = words(reg);
    let fits = reg.mods == Modifiers::NONE && half < 256 && (1..=2).contains(&count);
    if !fits || !is_aligned(reg.half, width) || count == 2 && half % 2 != 0 {
        return NOTHING;
    }
    let two = bit(count == 2, 10);
    let cache = bit(reg.hint == Hint::Cache, 8);
    let discard = reg.hint == Hint::Discard;
    match (kind, width) {
        (Kind::PackDst, Width::W16) if !discard => caring(half | cache | 1 << 9, 0x3ff),
        (Kind::UnpackDst, Width::W16) if !discard => one(half | cache | two),
        (Kind::UnpackDst, Width::W32) if !discard => one(half | cache | 1 << 9 | two),
        (Kind::UnpackSrc, Width::W16) => one(half | cache | bit(discard, 9) | two),
        _ => NOTHING,
    }
}
