//! Field bits of G15 to operand values.

use super::{brain, flag, hint, is_sixteen, part, reg, size, uniform, word_or_half};
use crate::kind::Kind;
use crate::names::List;
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Predicate, Width};

impl Kind {
    /// The operand spelled by `field`.
    pub(in crate::kind) fn decode_g15(self, field: u64) -> Operand {
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

fn fixed_dst(field: u64, width: Width, mods: Modifiers) -> Operand {
    let value = part(field, 0, 8);
    if flag(field, 9) {
        reg(value, width, 1, hint(flag(field, 8), false), mods)
    } else {
        uniform(value | u16::from(flag(field, 8)) << 8, width, mods)
    }
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

fn matrix_pair(field: u64, wide: bool) -> Operand {
    let width = word_or_half(wide);
    reg(part(field, 0, 7) * 2, width, 2, Hint::None, Modifiers::NONE)
}
