//! What instructions are made of: sources, conditions, and the forms operands take in
//! each place of an instruction.

use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, List, MiniFloat, Modifiers, Op, Operand as Fixed, Uniform, Width};
use assay_ssa::{IntCond, Scalar};

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Src {
    /// In registers.
    Reg(Slice),
    /// In uniform registers from this half on.
    Uniform(u16, Width),
    /// Known; upper bits are zero.
    Const(u64, Width),
}

impl Src {
    pub(super) fn width(self) -> Width {
        match self {
            Src::Reg(slice) => slice.width,
            Src::Uniform(_, width) | Src::Const(_, width) => width,
        }
    }

    /// The part of `width` that starts `half` halves up.
    pub(super) fn part(self, half: u8, width: Width) -> Src {
        match self {
            Src::Reg(slice) => Src::Reg(Slice {
                half: slice.half + half,
                width,
                count: 1,
                ..slice
            }),
            Src::Uniform(first, _) => Src::Uniform(first + u16::from(half), width),
            Src::Const(bits, _) => Src::Const(cut(bits >> (16 * u32::from(half)), width), width),
        }
    }

    pub(super) fn low(self) -> Src {
        self.part(0, Width::W32)
    }

    pub(super) fn high(self) -> Src {
        self.part(2, Width::W32)
    }

    /// The number, when it is known.
    pub(super) fn known(self) -> Option<u64> {
        match self {
            Src::Const(bits, _) => Some(bits),
            _ => None,
        }
    }
}

/// The bits that fit a width.
pub(super) fn cut(bits: u64, width: Width) -> u64 {
    bits & (u64::MAX >> (64 - width.bits()))
}

/// An integer source with its extension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IntSrc {
    pub(super) src: Src,
    /// A source narrower than the operation is extended with its sign.
    pub(super) sx: bool,
}

/// A float source with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FloatSrc {
    pub(super) src: Src,
    pub(super) abs: bool,
    pub(super) neg: bool,
}

impl FloatSrc {
    pub(super) const fn plain(src: Src) -> FloatSrc {
        FloatSrc {
            src,
            abs: false,
            neg: false,
        }
    }

    pub(super) const fn negated(mut self) -> FloatSrc {
        self.neg = !self.neg;
        self
    }

    pub(super) const fn magnitude(mut self) -> FloatSrc {
        self.abs = true;
        self.neg = false;
        self
    }

    pub(super) const fn modifiers(self) -> Modifiers {
        Modifiers {
            abs: self.abs,
            neg: self.neg,
            sx: false,
            bfloat: false,
        }
    }

    pub(super) const fn is_modified(self) -> bool {
        self.abs || self.neg
    }
}

/// Registers without modifiers.
pub(super) const fn used(slice: Slice) -> Operand {
    Operand::Use(slice, Modifiers::NONE)
}

/// A uniform without modifiers.
pub(super) const fn uniform(half: u16, width: Width, mods: Modifiers) -> Operand {
    Operand::Uniform(Uniform {
        half,
        width,
        count: 1,
        mods,
    })
}

/// An integer immediate.
pub(super) const fn imm(value: i64) -> Operand {
    Operand::Fixed(Fixed::Imm(value))
}

/// A value of a named list.
pub(super) const fn choice(list: List, value: u8) -> Operand {
    Operand::Fixed(Fixed::Choice(list, value))
}

/// The eight-bit float of a number, when there is one.
pub(super) fn mini(value: f32) -> Option<MiniFloat> {
    // Sign, a 3-bit exponent and 4 bits of fraction: most constants are not one.
    let bits = value.to_bits();
    if bits & 0x0007_ffff != 0 && value.abs() >= 0.25 {
        return None;
    }
    MiniFloat::from_f32(value)
}

/// A comparison as mask instructions, selects and ballots make it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Condition {
    /// Of floats.
    pub(super) float: bool,
    /// Its number in the list of conditions, without negation.
    pub(super) code: u8,
    /// Holds where the comparison does not.
    pub(super) negate: bool,
    pub(super) a: Operand,
    pub(super) b: Operand,
}

impl Condition {
    #[must_use]
    pub(super) const fn inverted_if(mut self, inverted: bool) -> Condition {
        self.negate ^= inverted;
        self
    }

    /// The select by this condition.
    pub(super) fn select(self, dest: Operand, yes: Operand, no: Operand) -> Inst {
        let (op, list) = match self.float {
            false => (Op::Icmpsel, List::IntegerCondition),
            true => (Op::Fcmpsel, List::FloatCondition),
        };
        let (x, y) = if self.negate { (no, yes) } else { (yes, no) };
        Inst::new(op)
            .with(Field::Condition, choice(list, self.code))
            .with(Field::Dest, dest)
            .with(Field::A, self.a)
            .with(Field::B, self.b)
            .with(Field::X, x)
            .with(Field::Y, y)
    }
}

/// The hardware's number of an integer comparison, and whether it is its negation.
pub(super) const fn int_code(cond: IntCond) -> (u8, bool) {
    match cond {
        IntCond::Eq => (0, false),
        IntCond::Ne => (0, true),
        IntCond::Ult => (1, false),
        IntCond::Uge => (1, true),
        IntCond::Ugt => (2, false),
        IntCond::Ule => (2, true),
        IntCond::Slt => (5, false),
        IntCond::Sge => (5, true),
        IntCond::Sgt => (6, false),
        IntCond::Sle => (6, true),
    }
}

/// Numbers of float comparisons.
pub(super) mod float_code {
    pub(in super::super) const EQUAL: u8 = 0;
    pub(in super::super) const LESS: u8 = 1;
    pub(in super::super) const GREATER: u8 = 2;
    pub(in super::super) const LESS_OR_NAN: u8 = 3;
    pub(in super::super) const GREATER_EQUAL: u8 = 5;
    pub(in super::super) const LESS_EQUAL: u8 = 6;
    pub(in super::super) const GREATER_OR_NAN: u8 = 7;
}

/// The registers a scalar takes.
pub(super) const fn width_of(scalar: Scalar) -> Width {
    match scalar {
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::F16 | Scalar::BF16 => Width::W16,
        Scalar::I32 | Scalar::F32 => Width::W32,
        Scalar::I64 => Width::W64,
    }
}
