//! Operands as values: what an instruction names once its bits are understood.

use crate::names::List;
use crate::special::SpecialRegister;
use std::fmt;

/// How wide one register of an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// A half register.
    W16,
    /// A whole register: two halves.
    W32,
    /// A pair of registers holding one value: four halves.
    W64,
}

impl Width {
    /// Size in bits.
    pub const fn bits(self) -> u32 {
        16 * self.halves() as u32
    }

    /// Size in 16-bit half registers.
    pub const fn halves(self) -> u16 {
        match self {
            Width::W16 => 1,
            Width::W32 => 2,
            Width::W64 => 4,
        }
    }
}

/// What the instruction tells the register cache about an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// Keep it (`.cache`): it is used again soon.
    Cache,
    /// Drop it (`.discard`): this is its last use.
    Discard,
}

/// What happens to a source value before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Float absolute value, applied before `neg`.
    pub abs: bool,
    /// Float negation.
    pub neg: bool,
    /// Integer sign extension from the operand's width.
    pub sx: bool,
    /// A 16-bit float is a brain float, not a half (G15 and newer).
    pub bfloat: bool,
}

impl Modifiers {
    /// No modifier.
    pub const NONE: Modifiers = Modifiers {
        abs: false,
        neg: false,
        sx: false,
        bfloat: false,
    };
}

/// One general register, or several in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// Index of the first 16-bit half: `r0l` is 0, `r0h` is 1, `r1` is 2.
    pub half: u16,
    /// Width of each register.
    pub width: Width,
    /// How many registers of that width, starting at `half`. May be 0 for a load
    /// or store whose mask is empty.
    pub count: u8,
    /// Register-cache hint.
    pub hint: Hint,
    /// Source modifiers.
    pub mods: Modifiers,
}

impl Reg {
    const fn new(half: u16, width: Width) -> Reg {
        Reg {
            half,
            width,
            count: 1,
            hint: Hint::None,
            mods: Modifiers::NONE,
        }
    }

    /// A half register by its half index.
    pub const fn half(half: u16) -> Reg {
        Reg::new(half, Width::W16)
    }

    /// A 32-bit register by its number.
    pub const fn word(number: u16) -> Reg {
        Reg::new(number * 2, Width::W32)
    }

    /// A 64-bit value in registers `number` and `number + 1`.
    pub const fn pair(number: u16) -> Reg {
        Reg::new(number * 2, Width::W64)
    }

    /// The same start and width, `count` registers long.
    pub const fn times(mut self, count: u8) -> Reg {
        self.count = count;
        self
    }

    /// With a hint.
    pub const fn hint(mut self, hint: Hint) -> Reg {
        self.hint = hint;
        self
    }

    /// With modifiers.
    pub const fn mods(mut self, mods: Modifiers) -> Reg {
        self.mods = mods;
        self
    }

    /// How many half registers it covers.
    pub const fn halves(self) -> u16 {
        self.count as u16 * self.width.halves()
    }

    /// The half registers it covers, clipped to the register file.
    pub fn half_range(self) -> std::ops::Range<u16> {
        self.half.min(256)..(self.half + self.halves()).min(256)
    }
}

/// One uniform register, or several in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uniform {
    /// Index of the first 16-bit half: `u0l` is 0, `u0h` is 1, `u1` is 2.
    pub half: u16,
    /// Width of each register.
    pub width: Width,
    /// How many of that width.
    pub count: u8,
    /// Source modifiers.
    pub mods: Modifiers,
}

impl Uniform {
    const fn new(half: u16, width: Width) -> Uniform {
        Uniform {
            half,
            width,
            count: 1,
            mods: Modifiers::NONE,
        }
    }

    /// A 16-bit uniform by its half index.
    pub const fn half(half: u16) -> Uniform {
        Uniform::new(half, Width::W16)
    }

    /// A 32-bit uniform by its number.
    pub const fn word(number: u16) -> Uniform {
        Uniform::new(number * 2, Width::W32)
    }

    /// A 64-bit uniform: `number` and `number + 1`.
    pub const fn pair(number: u16) -> Uniform {
        Uniform::new(number * 2, Width::W64)
    }

    /// With modifiers.
    pub const fn mods(mut self, mods: Modifiers) -> Uniform {
        self.mods = mods;
        self
    }

    /// The half uniforms it covers, clipped to the uniform file.
    pub fn half_range(self) -> std::ops::Range<u16> {
        let halves = u16::from(self.count) * self.width.halves();
        self.half.min(512)..(self.half + halves).min(512)
    }
}

/// The 8-bit float a float source can hold: sign, 3 bits of exponent, 4 of fraction.
///
/// ```
/// use assay_agx::MiniFloat;
/// assert_eq!(MiniFloat::from_f32(1.0), Some(MiniFloat(0x30)));
/// assert_eq!(MiniFloat(0x30).to_f32(), 1.0);
/// assert_eq!(MiniFloat::from_f32(0.1), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MiniFloat(
    /// The encoded byte.
    pub u8,
);

impl MiniFloat {
    /// The value in 1/64ths, without its sign: every such float is a multiple.
    pub(crate) const fn sixty_fourths(self) -> u16 {
        let exponent = (self.0 >> 4) & 7;
        let fraction = (self.0 & 15) as u16;
        match exponent {
            0 => fraction,
            _ => (16 + fraction) << (exponent - 1),
        }
    }

    /// Whether the sign bit is set.
    pub const fn is_negative(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// The value; exact.
    pub fn to_f32(self) -> f32 {
        let magnitude = f32::from(self.sixty_fourths()) / 64.0;
        if self.is_negative() {
            -magnitude
        } else {
            magnitude
        }
    }

    /// The encoding of `value`, when it has one.
    pub fn from_f32(value: f32) -> Option<MiniFloat> {
        (0..=u8::MAX)
            .map(MiniFloat)
            .find(|candidate| candidate.to_f32().to_bits() == value.to_bits())
    }
}

/// A predicate: one bit per lane that comparisons write and execution-mask instructions
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// Which one: 0 to 7. Number 6 holds in every lane.
    pub number: u8,
    /// Read inverted.
    pub inverted: bool,
    /// Written from the value that a select chooses instead of from its comparison.
    pub from_value: bool,
}

impl Predicate {
    /// The number of the predicate that holds in every lane.
    pub const ALWAYS: u8 = 6;
}

/// What one operand of an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// General registers.
    Reg(Reg),
    /// Uniform registers.
    Uniform(Uniform),
    /// An integer: immediate, amount, index, slot or a field whose meaning is unknown.
    Imm(i64),
    /// A float immediate of a float source.
    Float(MiniFloat, Modifiers),
    /// A special register, read by `get_sr`.
    Special(SpecialRegister),
    /// A texture state register `ts0`...
    Texture(u8),
    /// A sampler state register `ss0`...
    Sampler(u8),
    /// A coefficient register `cf0`... of the interpolators.
    Coefficient(u8),
    /// A branch target in bytes, relative to the branch's own address.
    Target(i32),
    /// A predicate register (G15 and newer).
    Predicate(Predicate),
    /// The scoreboard slots an instruction waits for before it reads (G15 and newer): bit
    /// `n` is slot `n`. Written `wait 05`, and an empty mask as nothing.
    WaitMask(u8),
    /// One value of a named list: format, mask, condition, atomic operation...
    Choice(List, u8),
    /// `lsl n`; `Shift(0)` is written as nothing.
    Shift(u8),
    /// The low `n` bits, written `mask 0x..`; 0 means all 32 and is written as nothing.
    BitMask(u8),
    /// The truth table of a `bitop`: bit 0 is the result for (a=0, b=0), bit 1 for
    /// (1, 0), bit 2 for (0, 1), bit 3 for (1, 1).
    TruthTable(u8),
    /// A binary number of the given width: a field whose meaning is unknown.
    Binary {
        /// The value.
        value: u16,
        /// How many digits it is written with.
        digits: u8,
    },
    /// Comparison value and offset of a texture sample: a 32-bit register when
    /// `compare`, followed by a 16-bit one when `offset`.
    CompareOffset {
        /// First half register.
        half: u16,
        /// Has a comparison value.
        compare: bool,
        /// Has an offset.
        offset: bool,
    },
    /// Written `None`: absent (an atomic without destination), or an encoding of a
    /// source that no decoder knows.
    None,
    /// Absent and written as nothing.
    Empty,
}

impl Operand {
    /// The registers, when it is general registers.
    pub const fn reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) => Some(reg),
            _ => None,
        }
    }

    /// The integer, when it is one.
    pub const fn imm(self) -> Option<i64> {
        match self {
            Operand::Imm(value) => Some(value),
            Operand::Binary { value, .. } => Some(value as i64),
            Operand::Shift(value) | Operand::BitMask(value) | Operand::TruthTable(value) => {
                Some(value as i64)
            }
            Operand::Choice(_, value) => Some(value as i64),
            _ => None,
        }
    }

    /// The half general registers it covers.
    pub fn half_range(self) -> std::ops::Range<u16> {
        match self {
            Operand::Reg(reg) => reg.half_range(),
            Operand::CompareOffset {
                half,
                compare,
                offset,
            } => {
                // The 32-bit comparison value starts at an even half.
                let start = if compare { half & !1 } else { half };
                let end = half + 2 * u16::from(compare) + u16::from(offset);
                if start == half || offset {
                    start.min(256)..end.min(256)
                } else {
                    start.min(256)..(start + 2).min(256)
                }
            }
            _ => 0..0,
        }
    }

    /// Equal up to spelling: a 64-bit register is the same text as a pair of 32-bit
    /// ones, and a zero shift the same as nothing.
    pub(crate) fn agrees(self, other: Operand) -> bool {
        self.normal() == other.normal()
    }

    fn normal(self) -> Operand {
        match self {
            Operand::Reg(reg) if reg.count == 0 => Operand::Empty,
            Operand::Reg(reg) if reg.width == Width::W64 => Operand::Reg(Reg {
                width: Width::W32,
                count: reg.count * 2,
                ..reg
            }),
            Operand::Uniform(uniform) if uniform.width == Width::W64 => Operand::Uniform(Uniform {
                width: Width::W32,
                count: uniform.count * 2,
                ..uniform
            }),
            Operand::Shift(0) | Operand::BitMask(0) | Operand::WaitMask(0) => Operand::Empty,
            Operand::CompareOffset {
                compare: false,
                offset: false,
                ..
            } => Operand::Empty,
            Operand::CompareOffset {
                half,
                compare: true,
                offset: false,
            } => Operand::Reg(Reg::word(half / 2)),
            Operand::CompareOffset {
                half,
                compare: false,
                offset: true,
            } => Operand::Reg(Reg::half(half)),
            Operand::CompareOffset {
                half,
                compare: true,
                offset: true,
            } => Operand::Reg(Reg {
                count: 3,
                ..Reg::half(half)
            }),
            Operand::Choice(list, value) if list.name(value) == Some("") => Operand::Empty,
            other => other,
        }
    }
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

impl From<Uniform> for Operand {
    fn from(uniform: Uniform) -> Operand {
        Operand::Uniform(uniform)
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Operand {
        Operand::Imm(value)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut line = crate::line::Line::new(&mut text);
        crate::text::write_operand(&mut line, *self, None);
        f.write_str(&text)
    }
}
