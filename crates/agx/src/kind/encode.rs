//! Operand values to field bits.

use super::Kind;
use crate::bits::low_mask;
use crate::operand::{Hint, MiniFloat, Modifiers, Operand, Reg, Uniform, Width};

/// Bits of a field that an operand determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) value: u64,
    /// Which bits matter; the others belong to another operand.
    pub(crate) care: u64,
}

/// The encodings an operand can have: none, one, or two when the rest of the
/// instruction decides.
pub(crate) type Placements = [Option<Placed>; 2];

pub(super) const ALL: u64 = u64::MAX >> 1;

pub(super) fn one(value: u64) -> Placements {
    [Some(Placed { value, care: ALL }), None]
}

pub(super) fn caring(value: u64, care: u64) -> Placements {
    [Some(Placed { value, care }), None]
}

pub(super) const NOTHING: Placements = [None, None];

/// Registers as (half, width, count), with 64-bit ones spelled as pairs of words.
pub(super) fn words(reg: Reg) -> (u64, Width, u8) {
    match reg.width {
        Width::W64 => (u64::from(reg.half), Width::W32, reg.count.saturating_mul(2)),
        width => (u64::from(reg.half), width, reg.count),
    }
}

pub(super) fn is_plain(reg: Reg) -> bool {
    reg.hint == Hint::None && reg.mods == Modifiers::NONE
}

/// The half index of an unadorned register of this width and count.
fn bare(operand: Operand, width: Width, count: u8) -> Option<u64> {
    let Operand::Reg(reg) = operand else {
        return None;
    };
    let fits = is_plain(reg) && reg.half + reg.halves() <= 256;
    let aligned = reg.width == Width::W16 || reg.half % 2 == 0;
    (words(reg)
        == words(Reg {
            width,
            count,
            ..reg
        })
        && fits
        && aligned)
        .then_some(u64::from(reg.half))
}

pub(super) fn half(operand: Operand) -> Option<u64> {
    bare(operand, Width::W16, 1)
}

pub(super) fn word(operand: Operand) -> Option<u64> {
    bare(operand, Width::W32, 1)
}

pub(super) fn pair(operand: Operand) -> Option<u64> {
    bare(operand, Width::W64, 1)
}

/// The half index of an unadorned 64-bit uniform.
pub(super) fn uniform_pair(operand: Operand) -> Option<u64> {
    match operand {
        Operand::Uniform(uniform)
            if uniform.mods == Modifiers::NONE
                && uniform.half % 2 == 0
                && matches!(
                    (uniform.width, uniform.count),
                    (Width::W64, 1) | (Width::W32, 2)
                ) =>
        {
            Some(u64::from(uniform.half))
        }
        _ => None,
    }
}

fn uniform_half(operand: Operand) -> Option<u64> {
    match operand {
        Operand::Uniform(uniform)
            if (uniform.width, uniform.count, uniform.mods) == (Width::W16, 1, Modifiers::NONE) =>
        {
            Some(u64::from(uniform.half))
        }
        _ => None,
    }
}

fn imm(operand: Operand, range: std::ops::RangeInclusive<i64>) -> Option<u64> {
    match operand {
        Operand::Imm(value) if range.contains(&value) => Some(value as u64),
        _ => None,
    }
}

pub(super) fn placed(value: Option<u64>) -> Placements {
    value.map_or(NOTHING, one)
}

impl Kind {
    /// The bits that spell `operand` in a field of `width` bits.
    pub(crate) fn encode(self, operand: Operand, width: u8) -> Placements {
        match self {
            Kind::Dst16 | Kind::Dst32 | Kind::Dst64 | Kind::DstPair => {
                placed(self.encode_dest(operand))
            }
            Kind::ExecCounter => placed(match operand {
                Operand::Reg(reg) if Reg::half(0).hint(reg.hint) == reg => match reg.hint {
                    Hint::None => Some(0),
                    Hint::Cache => Some(1),
                    Hint::Discard => None,
                },
                _ => None,
            }),
            Kind::Src16
            | Kind::Src32
            | Kind::Src64
            | Kind::SrcMul
            | Kind::SrcAdd
            | Kind::SrcFloat
            | Kind::SrcPair
            | Kind::SrcHalf => placed(self.encode_source(operand)),
            Kind::SrcSelect => encode_select(operand),
            Kind::Int => placed(imm(operand, 0..=low_mask(width) as i64)),
            Kind::Signed16 => placed(imm(operand, -0x8000..=0x7fff).map(|value| value & 0xffff)),
            Kind::Binary(_) => placed(match operand {
                Operand::Binary { value, .. } if u64::from(value) <= low_mask(width) => {
                    Some(u64::from(value))
                }
                _ => imm(operand, 0..=low_mask(width) as i64),
            }),
            Kind::Choice(list) => placed(match operand {
                Operand::Choice(given, value)
                    if given == list && u64::from(value) <= low_mask(width) =>
                {
                    Some(u64::from(value))
                }
                Operand::Empty => list.values("").next().map(u64::from),
                _ => None,
            }),
            Kind::Shift => placed(match operand {
                Operand::Shift(amount) if u64::from(amount) <= low_mask(width) => {
                    Some(u64::from(amount))
                }
                Operand::Empty => Some(0),
                _ => None,
            }),
            Kind::BitMask => placed(match operand {
                Operand::BitMask(size @ 0..=31) => Some(u64::from(size)),
                Operand::Empty => Some(0),
                _ => None,
            }),
            Kind::TruthTable => placed(match operand {
                Operand::TruthTable(table @ 0..=15) => Some(u64::from(table)),
                _ => None,
            }),
            Kind::Target(size) => placed(match operand {
                Operand::Target(distance) => {
                    let limit = 1i64 << (size - 1);
                    let distance = i64::from(distance);
                    (-limit..limit)
                        .contains(&distance)
                        .then_some(distance as u64 & low_mask(size))
                }
                _ => None,
            }),
            Kind::Special(family) => placed(match operand {
                Operand::Special(register) if register.family == family => {
                    Some(u64::from(register.number))
                }
                _ => None,
            }),
            Kind::Vector | Kind::Base | Kind::Index => self.encode_memory(operand),
            _ if self.is_g15() => self.encode_g15(operand),
            _ => self.encode_rare(operand, width),
        }
    }

    fn encode_dest(self, operand: Operand) -> Option<u64> {
        let Operand::Reg(reg) = operand else {
            return None;
        };
        let cache = match reg.hint {
            Hint::None => 0,
            Hint::Cache => 1,
            Hint::Discard => return None,
        };
        if reg.mods != Modifiers::NONE || reg.half > 255 {
            return None;
        }
        let half = u64::from(reg.half);
        let aligned = reg.half.is_multiple_of(2);
        let (_, width, count) = words(reg);
        match (self, width, count) {
            (Kind::DstPair, Width::W16, 2) => Some(half << 2 | cache),
            (Kind::DstPair, Width::W32, 2) if aligned => Some(half << 2 | 2 | cache),
            (Kind::DstPair, _, _) => None,
            (_, Width::W16, 1) => Some(half << 2 | cache),
            (Kind::Dst16, _, _) => None,
            (_, Width::W32, 1) if aligned => Some(half << 2 | 2 | cache),
            (Kind::Dst64, Width::W32, 2) if aligned => Some((half | 1) << 2 | 2 | cache),
            _ => None,
        }
    }

    fn encode_source(self, operand: Operand) -> Option<u64> {
        let is_float = matches!(self, Kind::SrcFloat | Kind::SrcPair | Kind::SrcHalf);
        let (value, flags, mods) = match operand {
            Operand::Imm(value @ 0..=255) if !is_float => (value as u64, 0, Modifiers::NONE),
            Operand::Float(MiniFloat(bits), mods) if is_float => (u64::from(bits), 0, mods),
            Operand::None if self != Kind::SrcHalf => (0, 0b1000, Modifiers::NONE),
            Operand::Uniform(uniform) => {
                let (value, flags) = uniform_flags(uniform)?;
                (value, flags, uniform.mods)
            }
            Operand::Reg(reg) => {
                let (value, flags) = self.register_flags(reg)?;
                (value, flags, reg.mods)
            }
            _ => return None,
        };
        let (low, high) = (value & 0x3f, (value >> 6) & 3);
        let abs_neg = u64::from(mods.abs) | u64::from(mods.neg) << 1;
        match self {
            _ if is_float && mods.sx => None,
            _ if !is_float && abs_neg != 0 => None,
            Kind::SrcFloat | Kind::SrcPair => Some(low | flags << 6 | abs_neg << 10 | high << 12),
            Kind::SrcHalf => (flags < 8).then_some(low | flags << 6 | abs_neg << 9 | high << 11),
            Kind::SrcMul | Kind::SrcAdd => {
                Some(low | flags << 6 | u64::from(mods.sx) << 10 | high << 11)
            }
            _ if mods.sx => None,
            _ => Some(low | flags << 6 | high << 10),
        }
    }

    fn register_flags(self, reg: Reg) -> Option<(u64, u64)> {
        let (half, width, count) = words(reg);
        let aligned = reg.half.is_multiple_of(2);
        let size = match (self, width, count) {
            (Kind::SrcPair, Width::W16, 2) => 0,
            (Kind::SrcPair, Width::W32, 2) if aligned => 0b1000,
            (Kind::SrcPair, _, _) => return None,
            (_, Width::W16, 1) => 0,
            (Kind::Src16 | Kind::SrcHalf, _, _) => return None,
            (_, Width::W32, 1) if aligned => 0b1000,
            (Kind::Src64 | Kind::SrcAdd, Width::W32, 2) if aligned => 0b1100,
            _ => return None,
        };
        (half <= 255).then_some((half, size | hint_flags(reg.hint)))
    }

    fn encode_memory(self, operand: Operand) -> Placements {
        match self {
            Kind::Vector => match operand {
                // An empty mask: the register is not part of the text.
                Operand::Empty => caring(0, 0x1ff),
                Operand::Reg(reg) if is_plain(reg) && reg.count <= 4 && reg.half <= 255 => {
                    match (reg.width, reg.half % 2) {
                        (Width::W16, _) => caring(u64::from(reg.half), 0x1ff),
                        (Width::W32, 0) => caring(u64::from(reg.half) | 1 << 8, 0x1ff),
                        (Width::W64, 0) => caring(u64::from(reg.half) | 1 << 8, 0x1ff),
                        _ => NOTHING,
                    }
                }
                _ => NOTHING,
            },
            Kind::Base => {
                if let Some(half) = uniform_pair(operand) {
                    return placed((half < 256).then_some(half | 1 << 8));
                }
                placed(pair(operand))
            }
            _ => match operand {
                Operand::Imm(value @ -0x8000..=0xffff) => one(value as u64 & 0xffff | 1 << 16),
                _ => placed(word(operand)),
            },
        }
    }

    fn encode_rare(self, operand: Operand, width: u8) -> Placements {
        let byte = |operand| imm(operand, 0..=255);
        match self {
            Kind::Word => placed(word(operand).map(|half| half / 2)),
            Kind::WordByHalf => placed(word(operand)),
            Kind::Half => placed(half(operand)),
            Kind::OptionalReg => match operand {
                Operand::None => one(0),
                _ => placed(
                    half(operand)
                        .map(|half| half | 1 << 9)
                        .or(word(operand).map(|half| half | 0b11 << 8)),
                ),
            },
            Kind::LocalBase => placed(match operand {
                Operand::Imm(0) => Some(0b10 << 8),
                _ => half(operand)
                    .or(uniform_half(operand).map(|half| half & 0xff | 1 << 8 | (half >> 8) << 9)),
            }),
            Kind::LocalIndex => placed(match operand {
                Operand::Imm(value @ -0x8000..=0xffff) => Some(value as u64 & 0xffff | 1 << 16),
                _ => half(operand),
            }),
            Kind::AtomicValue => {
                let value = word(operand).or(pair(operand));
                value.map_or(NOTHING, |half| caring(half, 0xff))
            }
            Kind::AtomicWord => {
                let value = word(operand).or(pair(operand));
                value.map_or(NOTHING, |half| caring(half / 2, 0x7f))
            }
            Kind::AtomicDest => match operand {
                Operand::None => one(0),
                _ => placed(word(operand).map(|half| half | 1 << 8)),
            },
            Kind::CopyLocal => {
                let small = |half: u64| (half < 64).then_some(half);
                let uniform = uniform_pair(operand).and_then(small);
                placed(
                    uniform
                        .map(|half| half | 1 << 6)
                        .or(pair(operand).and_then(small)),
                )
            }
            Kind::CopyDevice => placed(copy_device(operand)),
            Kind::DepthStencil => placed(match operand {
                Operand::Empty => Some(0),
                Operand::Reg(reg @ Reg { count: 1..=3, .. }) => {
                    let (z, s) = (u64::from(reg.count) >> 1, u64::from(reg.count) & 1);
                    bare(operand, Width::W16, reg.count).map(|half| half | z << 8 | s << 9)
                }
                _ => None,
            }),
            Kind::Interpolated(times) => placed(interpolated(operand, times)),
            Kind::Coefficient => placed(match operand {
                Operand::Coefficient(number) => Some(u64::from(number)),
                _ => half(operand).map(|half| half | 1 << 8),
            }),
            Kind::Perspective => placed(match operand {
                Operand::Coefficient(number) => Some(u64::from(number)),
                _ => None,
            }),
            Kind::SampleId => match operand {
                Operand::Empty => caring(0, 0xff),
                _ => placed(
                    byte(operand)
                        .map(|value| value | 1 << 8)
                        .or(half(operand).map(|half| half | 0b11 << 8)),
                ),
            },
            Kind::Pixel => placed(
                bare(operand, Width::W16, 4)
                    .or(bare(operand, Width::W32, 4).map(|half| half | 1 << 8)),
            ),
            Kind::HalfOrImm => placed(half(operand).or(byte(operand).map(|value| value | 1 << 8))),
            Kind::ImmOrHalf => placed(byte(operand).or(half(operand).map(|half| half | 1 << 8))),
            Kind::TileCoordinates => {
                placed(byte(operand).or(bare(operand, Width::W16, 2).map(|half| half | 1 << 8)))
            }
            _ => self.encode_texture(operand, width),
        }
    }

    fn encode_texture(self, operand: Operand, width: u8) -> Placements {
        let quad = |limit: u64| {
            uniform_pair(operand)
                .filter(|half| half % 4 == 0 && half / 4 < limit)
                .map(|half| half / 4)
        };
        match (self, operand) {
            (Kind::TextureState, Operand::Texture(number))
            | (Kind::SamplerState, Operand::Sampler(number)) => {
                placed((u64::from(number) <= low_mask(width)).then_some(u64::from(number)))
            }
            (Kind::UniformQuad, _) => placed(quad(32)),
            (Kind::HeapOffset, Operand::Imm(value @ 0..=0x7fff_ffff)) => {
                one(value as u64 | 1 << 31)
            }
            (Kind::HeapOffset, _) => placed(word(operand)),
            (Kind::Texture, Operand::Texture(number)) => one(u64::from(number)),
            (Kind::Texture, Operand::Imm(0)) => one(0b10 << 8),
            (Kind::Texture, _) => match (half(operand), word(operand)) {
                // A 16-bit register is an index of a state register, or of a heap.
                (Some(half), _) => {
                    let heap = (half != 0).then_some(Placed {
                        value: half | 0b10 << 8,
                        care: ALL,
                    });
                    let state = Placed {
                        value: half | 0b01 << 8,
                        care: ALL,
                    };
                    [Some(state), heap]
                }
                (None, half) => placed(half.map(|half| half | 0b11 << 8)),
            },
            (Kind::Sampler, Operand::Sampler(number)) => one(u64::from(number)),
            (Kind::Sampler, _) => placed(half(operand).map(|half| half | 1 << 8)),
            (Kind::Heap, Operand::None) => one(0),
            (Kind::Heap, _) => placed(quad(32).map(|quad| quad | 1 << 5)),
            (Kind::Coordinates, Operand::Reg(reg)) => coordinates(reg),
            (Kind::CompareOffset, Operand::Empty) => caring(0, 0x3ff),
            (
                Kind::CompareOffset,
                Operand::CompareOffset {
                    half,
                    compare,
                    offset,
                },
            ) => one(u64::from(half & 0xff) | u64::from(compare) << 8 | u64::from(offset) << 9),
            (Kind::CompareOffset, _) => placed(
                half(operand)
                    .map(|half| half | 1 << 9)
                    .or(word(operand).map(|half| half | 1 << 8))
                    .or(bare(operand, Width::W16, 3).map(|half| half | 0b11 << 8)),
            ),
            (Kind::Lod, Operand::Imm(0)) => caring(0, 0xff),
            (Kind::Lod, Operand::None) => caring(0, 0),
            (Kind::Lod, Operand::Uniform(uniform)) if uniform.half < 256 => {
                caring(u64::from(uniform.half), 0xff)
            }
            (Kind::Lod, Operand::Reg(reg)) if is_plain(reg) && reg.half < 256 => {
                caring(u64::from(reg.half), 0xff)
            }
            _ => NOTHING,
        }
    }
}

fn hint_flags(hint: Hint) -> u64 {
    match hint {
        Hint::None => 1,
        Hint::Cache => 2,
        Hint::Discard => 3,
    }
}

/// A uniform source's value and flags: bit 8 of the index is the lowest flag.
fn uniform_flags(uniform: Uniform) -> Option<(u64, u64)> {
    let size = match (uniform.width, uniform.count, uniform.half % 2) {
        (Width::W16, 1, _) => 0,
        (Width::W32, 1, 0) => 0b10,
        _ => return None,
    };
    let half = u64::from(uniform.half);
    (half < 512).then_some((half & 0xff, 0b0100 | size | half >> 8))
}

/// A select's value; its size must be the destination's, which bit 11 is.
fn encode_select(operand: Operand) -> Placements {
    let join = |value: u64, flags: u64| (value & 0x3f) | flags << 6 | ((value >> 6) & 3) << 9;
    let sized = |value: u64, flags: u64, width: Width| {
        one(join(value, flags) | u64::from(width == Width::W32) << 11)
    };
    match operand {
        Operand::Imm(value @ 0..=255) => caring(join(value as u64, 0b100), 0x7ff),
        Operand::None => caring(0, 0x7ff),
        Operand::Uniform(uniform)
            if uniform.mods == Modifiers::NONE && uniform_flags(uniform).is_some() =>
        {
            let half = u64::from(uniform.half);
            sized(half & 0xff, 0b110 | half >> 8, uniform.width)
        }
        Operand::Reg(reg) => match bare(Operand::Reg(reg.hint(Hint::None)), reg.width, 1) {
            Some(half) if reg.width != Width::W64 => sized(half, hint_flags(reg.hint), reg.width),
            _ => NOTHING,
        },
        _ => NOTHING,
    }
}

fn copy_device(operand: Operand) -> Option<u64> {
    let (half, count, is_uniform) = match operand {
        Operand::Reg(reg) if is_plain(reg) && reg.width == Width::W32 => (reg.half, reg.count, 0),
        Operand::Uniform(uniform) if uniform.width == Width::W32 => {
            (uniform.half, uniform.count, 1)
        }
        _ => return None,
    };
    let shape = match count {
        3 => 0,
        5 => 1,
        _ => return None,
    };
    (half < 512).then_some(u64::from(half / 2) | is_uniform << 8 | shape << 9)
}

fn interpolated(operand: Operand, times: u8) -> Option<u64> {
    let Operand::Reg(reg) = operand else {
        return None;
    };
    let count = reg.count.checked_div(times)?;
    if !(1..=4).contains(&count) || count * times != reg.count {
        return None;
    }
    let half = bare(operand, reg.width, reg.count)?;
    let is_word = u64::from(reg.width == Width::W32);
    Some(is_word | half << 1 | u64::from(count & 3) << 9)
}

/// 32-bit registers, or 16-bit ones whose count decides between two meanings.
fn coordinates(reg: Reg) -> Placements {
    let discard = match reg.hint {
        Hint::None => 0,
        Hint::Discard => 1 << 8,
        Hint::Cache => return NOTHING,
    };
    if reg.half > 255 || reg.mods != Modifiers::NONE {
        return NOTHING;
    }
    let value = u64::from(reg.half) | discard;
    let full = Some(Placed { value, care: 0x3ff });
    let half = Some(Placed {
        value: value | 1 << 9,
        care: 0x3ff,
    });
    match reg.width {
        Width::W16 => [full, half],
        _ => [full, None],
    }
}
