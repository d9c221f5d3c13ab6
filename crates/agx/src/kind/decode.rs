//! Field bits to operand values.

use super::Kind;
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Reg, Uniform, Width};
use crate::special::SpecialRegister;

/// `size` bits of `field` starting at `low`.
#[inline]
fn part(field: u64, low: u8, size: u8) -> u16 {
    ((field >> low) & ((1 << size) - 1)) as u16
}

#[inline]
fn flag(field: u64, bit: u8) -> bool {
    (field >> bit) & 1 != 0
}

#[inline]
fn reg(half: u16, width: Width, count: u8) -> Operand {
    // Wider registers start at an even half; the low bit is then without meaning.
    let half = match width {
        Width::W16 => half,
        _ => half & !1,
    };
    Operand::Reg(Reg {
        half,
        width,
        count,
        hint: Hint::None,
        mods: Modifiers::NONE,
    })
}

#[inline]
fn uniform(half: u16, width: Width) -> Operand {
    let half = match width {
        Width::W16 => half,
        _ => half & !1,
    };
    Operand::Uniform(Uniform {
        half,
        width,
        count: 1,
        mods: Modifiers::NONE,
    })
}

#[inline]
fn sized(half: u16, is_word: bool, count: u8) -> Operand {
    reg(half, if is_word { Width::W32 } else { Width::W16 }, count)
}

fn sign_extend(value: u64, size: u8) -> i64 {
    let unused = 64 - u32::from(size);
    ((value << unused) as i64) >> unused
}

/// An arithmetic source: `flags` are 0 for an immediate, `01xx` for a uniform, else a
/// size and a non-zero hint.
#[inline]
fn source(value: u16, flags: u16, widest: Width, count: u8, mods: Modifiers) -> Operand {
    if flags & 0b1100 == 0b0100 {
        let half = value | (flags & 1) << 8;
        let width = if flags & 2 != 0 {
            Width::W32
        } else {
            Width::W16
        };
        let half = if flags & 2 != 0 { half & !1 } else { half };
        return Operand::Uniform(Uniform {
            half,
            width,
            count: 1,
            mods,
        });
    }
    let hint = match flags & 0b11 {
        1 => Hint::None,
        2 => Hint::Cache,
        3 => Hint::Discard,
        _ => return Operand::None,
    };
    let width = match flags >> 2 {
        0b11 => widest,
        0b10 => widest.min(Width::W32),
        _ => Width::W16,
    };
    let half = if width == Width::W16 {
        value
    } else {
        value & !1
    };
    Operand::Reg(Reg {
        half,
        width,
        count,
        hint,
        mods,
    })
}

/// Coordinates per texture dimension: (axes, array index or sample).
pub(super) fn axes(dimension: u16) -> (u8, u8) {
    match dimension {
        0 => (1, 0),
        1 => (1, 1),
        3 | 4 => (2, 1),
        5 | 6 => (3, 0),
        7 => (3, 1),
        8 => (2, 2),
        _ => (2, 0),
    }
}

impl Kind {
    /// The operand spelled by `field`.
    #[inline]
    pub(crate) fn decode(self, field: u64) -> Operand {
        match self {
            Kind::Dst16 | Kind::Dst32 | Kind::Dst64 | Kind::DstPair => self.decode_dest(field),
            Kind::ExecCounter => {
                Operand::Reg(Reg::half(0).hint(if field != 0 { Hint::Cache } else { Hint::None }))
            }
            Kind::Src16
            | Kind::Src32
            | Kind::Src64
            | Kind::SrcMul
            | Kind::SrcAdd
            | Kind::SrcFloat
            | Kind::SrcPair
            | Kind::SrcHalf
            | Kind::SrcSelect => self.decode_source(field),
            Kind::Int => Operand::Imm(field as i64),
            Kind::Choice(list) => Operand::Choice(list, field as u8),
            Kind::Shift => Operand::Shift(field as u8),
            Kind::BitMask => Operand::BitMask(field as u8),
            Kind::Vector => {
                let count = part(field, 9, 4).count_ones() as u8;
                sized(part(field, 0, 8), flag(field, 8), count)
            }
            Kind::Base => {
                let half = part(field, 0, 8);
                if flag(field, 8) {
                    uniform(half, Width::W64)
                } else {
                    reg(half, Width::W64, 1)
                }
            }
            Kind::Index => {
                if flag(field, 16) {
                    Operand::Imm(sign_extend(field & 0xffff, 16))
                } else {
                    reg(part(field, 0, 8), Width::W32, 1)
                }
            }
            Kind::TruthTable => Operand::TruthTable(field as u8),
            Kind::Target(size) => Operand::Target(sign_extend(field, size) as i32),
            Kind::Special(family) => Operand::Special(SpecialRegister::new(family, field as u8)),
            Kind::Binary(digits) => Operand::Binary {
                value: field as u16,
                digits,
            },
            Kind::Signed16 => Operand::Imm(sign_extend(field, 16)),
            _ if self.is_g15() => self.decode_g15(field),
            _ => self.decode_rare(field),
        }
    }

    #[inline]
    fn decode_dest(self, field: u64) -> Operand {
        let value = part(field, 2, 8);
        let is_word = flag(field, 1) && self != Kind::Dst16;
        let width = match is_word {
            true if self == Kind::Dst64 && value & 1 != 0 => Width::W64,
            true => Width::W32,
            false => Width::W16,
        };
        let half = if is_word { value & !1 } else { value };
        Operand::Reg(Reg {
            half,
            width,
            count: if self == Kind::DstPair { 2 } else { 1 },
            hint: if flag(field, 0) {
                Hint::Cache
            } else {
                Hint::None
            },
            mods: Modifiers::NONE,
        })
    }

    #[inline]
    fn decode_source(self, field: u64) -> Operand {
        let low = part(field, 0, 6);
        let flags = part(field, 6, 4);
        let value = |extension: u8| low | part(field, extension, 2) << 6;
        match self {
            Kind::Src16 | Kind::Src32 | Kind::Src64 => {
                let value = value(10);
                if flags == 0 {
                    return Operand::Imm(i64::from(value));
                }
                let widest = match self {
                    Kind::Src16 => Width::W16,
                    Kind::Src32 => Width::W32,
                    _ => Width::W64,
                };
                source(value, flags, widest, 1, Modifiers::NONE)
            }
            Kind::SrcMul | Kind::SrcAdd => {
                let value = value(11);
                if flags == 0 {
                    return Operand::Imm(i64::from(value));
                }
                let widest = match self {
                    Kind::SrcMul => Width::W32,
                    _ => Width::W64,
                };
                let mods = Modifiers {
                    sx: flag(field, 10),
                    ..Modifiers::NONE
                };
                source(value, flags, widest, 1, mods)
            }
            Kind::SrcFloat | Kind::SrcPair => {
                let value = value(12);
                let mods = Modifiers {
                    abs: flag(field, 10),
                    neg: flag(field, 11),
                    ..Modifiers::NONE
                };
                if flags == 0 {
                    return Operand::Float(MiniFloat(value as u8), mods);
                }
                let count = if self == Kind::SrcPair { 2 } else { 1 };
                source(value, flags, Width::W32, count, mods)
            }
            Kind::SrcHalf => {
                let flags = flags & 7;
                let value = value(11);
                let mods = Modifiers {
                    abs: flag(field, 9),
                    neg: flag(field, 10),
                    ..Modifiers::NONE
                };
                if flags == 0 {
                    return Operand::Float(MiniFloat(value as u8), mods);
                }
                source(value, flags, Width::W16, 1, mods)
            }
            _ => decode_select(field, value(9)),
        }
    }

    /// Encodings that are rare in compute code, kept out of the hot function.
    fn decode_rare(self, field: u64) -> Operand {
        let value = part(field, 0, 8);
        match self {
            Kind::Word => reg(part(field, 0, 7) * 2, Width::W32, 1),
            Kind::WordByHalf => reg(value, Width::W32, 1),
            Kind::Half => reg(value, Width::W16, 1),
            Kind::OptionalReg if flag(field, 9) => sized(value, flag(field, 8), 1),
            Kind::LocalBase => match part(field, 8, 2) {
                0b00 => reg(value, Width::W16, 1),
                0b10 => Operand::Imm(0),
                kind => uniform(value | (kind >> 1) << 8, Width::W16),
            },
            Kind::LocalIndex if flag(field, 16) => Operand::Imm(sign_extend(field & 0xffff, 16)),
            Kind::LocalIndex => reg(value, Width::W16, 1),
            Kind::AtomicValue if part(field, 8, 4) == 3 => reg(value, Width::W64, 1),
            Kind::AtomicValue => reg(value, Width::W32, 1),
            Kind::AtomicWord => {
                let width = match part(field, 7, 4) {
                    2 => Width::W64,
                    _ => Width::W32,
                };
                reg(part(field, 0, 7) * 2, width, 1)
            }
            Kind::AtomicDest if flag(field, 8) => reg(value, Width::W32, 1),
            Kind::CopyLocal if flag(field, 6) => uniform(part(field, 0, 6), Width::W64),
            Kind::CopyLocal => reg(part(field, 0, 6), Width::W64, 1),
            Kind::CopyDevice => {
                let count = if flag(field, 9) { 5 } else { 3 };
                if flag(field, 8) {
                    Operand::Uniform(Uniform {
                        half: value * 2,
                        width: Width::W32,
                        count,
                        mods: Modifiers::NONE,
                    })
                } else {
                    reg(value * 2, Width::W32, count)
                }
            }
            Kind::DepthStencil => {
                let count = 2 * u8::from(flag(field, 8)) + u8::from(flag(field, 9));
                reg(value, Width::W16, count)
            }
            Kind::Interpolated(times) => {
                let count = match part(field, 9, 2) as u8 {
                    0 => 4,
                    count => count,
                };
                sized(part(field, 1, 8), flag(field, 0), count * times)
            }
            Kind::Coefficient if flag(field, 8) => reg(value, Width::W16, 1),
            Kind::Coefficient | Kind::Perspective => Operand::Coefficient(value as u8),
            Kind::SampleId => match part(field, 8, 2) {
                3 => reg(value, Width::W16, 1),
                1 => Operand::Imm(i64::from(value)),
                _ => Operand::Empty,
            },
            Kind::Pixel => sized(value, flag(field, 8), 4),
            Kind::HalfOrImm | Kind::ImmOrHalf => {
                if flag(field, 8) == (self == Kind::HalfOrImm) {
                    Operand::Imm(i64::from(value))
                } else {
                    reg(value, Width::W16, 1)
                }
            }
            Kind::TileCoordinates if flag(field, 8) => reg(value, Width::W16, 2),
            Kind::TileCoordinates => Operand::Imm(i64::from(value)),
            _ => self.decode_texture(field),
        }
    }

    fn decode_texture(self, field: u64) -> Operand {
        let value = part(field, 0, 8);
        match self {
            Kind::TextureState => Operand::Texture(value as u8),
            Kind::SamplerState => Operand::Sampler(value as u8),
            Kind::UniformQuad => uniform(part(field, 0, 5) << 2, Width::W64),
            Kind::HeapOffset if flag(field, 31) => Operand::Imm((field & 0x7fff_ffff) as i64),
            Kind::HeapOffset => reg(value, Width::W32, 1),
            Kind::Texture => match part(field, 8, 2) {
                0 => Operand::Texture(value as u8),
                2 if value == 0 => Operand::Imm(0),
                1 | 2 => reg(value, Width::W16, 1),
                _ => reg(value, Width::W32, 1),
            },
            Kind::Sampler if flag(field, 8) => reg(value, Width::W16, 1),
            Kind::Sampler => Operand::Sampler(value as u8),
            Kind::Heap if flag(field, 5) => uniform(part(field, 0, 5) << 2, Width::W64),
            Kind::Coordinates => {
                let (count, extra) = axes(part(field, 10, 4));
                let operand = match (flag(field, 9), extra) {
                    (true, _) => reg(value, Width::W16, count + extra),
                    (false, 0) => reg(value, Width::W32, count),
                    (false, _) => reg(value, Width::W16, count * 2 + 1),
                };
                match operand {
                    Operand::Reg(reg) if flag(field, 8) => Operand::Reg(reg.hint(Hint::Discard)),
                    other => other,
                }
            }
            Kind::CompareOffset => Operand::CompareOffset {
                half: value,
                compare: flag(field, 8),
                offset: flag(field, 9),
            },
            Kind::Lod => {
                let (count, _) = axes(part(field, 12, 4));
                match part(field, 8, 4) {
                    0 => Operand::Imm(0),
                    1 | 2 => uniform(value, Width::W16),
                    5 | 6 => reg(value, Width::W16, 1),
                    4 => reg(value, Width::W32, count * 2),
                    12 => reg(value, Width::W32, count * 2 + 1),
                    9 => Operand::Uniform(Uniform {
                        count: 2,
                        ..Uniform::half(value)
                    }),
                    13 => reg(value, Width::W16, 2),
                    _ => Operand::None,
                }
            }
            // The absent cases of optional operands.
            _ => Operand::None,
        }
    }
}

/// A select's value: three flag bits, and the destination's size at bit 11.
fn decode_select(field: u64, value: u16) -> Operand {
    let width = if flag(field, 11) {
        Width::W32
    } else {
        Width::W16
    };
    let flags = part(field, 6, 3);
    let hint = match flags {
        0b100 => return Operand::Imm(i64::from(value)),
        0b110 | 0b111 => return uniform(value | (flags & 1) << 8, width),
        0b001 => Hint::None,
        0b010 => Hint::Cache,
        0b011 => Hint::Discard,
        _ => return Operand::None,
    };
    match reg(value, width, 1) {
        Operand::Reg(reg) => Operand::Reg(reg.hint(hint)),
        other => other,
    }
}
