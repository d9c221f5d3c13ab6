//! Operand values to field bits of G15.

use super::{bit, brain, size_code, word_or_half};
use crate::kind::Kind;
use crate::kind::encode::{
    NOTHING, Placements, caring, half, is_plain, one, pair, placed, uniform_pair, word, words,
};
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Width};

impl Kind {
    /// The bits that spell `operand`.
    pub(in crate::kind) fn encode_g15(self, operand: Operand) -> Placements {
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

/// Every bit of a [`Kind::VarSrc`] but the size, which an immediate leaves alone.
const VAR_IMMEDIATE: u64 = 0xffff & !(1 << 10);

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

fn matrix_number(operand: Operand, wide: bool) -> Option<u64> {
    let Operand::Reg(reg) = operand else {
        return None;
    };
    let (half, width, count) = words(reg);
    let fits = is_plain(reg) && (width, count) == (word_or_half(wide), 2);
    (fits && half % 2 == 0 && half < 256).then_some(half / 2)
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
