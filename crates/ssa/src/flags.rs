//! Promises and permissions on an instruction: fast-math bits, no-wrap, inbounds.
//!
//! Each flag is a licence to the optimiser or a promise by the author. Ignoring any flag is always
//! correct; no consumer may assume one that is not there.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of flags; which ones make sense depends on the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)*) => {
        impl Flags {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            /// Every single flag with its word in the text form.
            pub const WORDS: &'static [(Self, &'static str)] = &[$((Self::$name, $text)),*];
        }
    };
}

flags! {
    /// Unsigned overflow does not happen.
    NUW = 0, "nuw";
    /// Signed overflow does not happen.
    NSW = 1, "nsw";
    /// A division or right shift leaves no remainder.
    EXACT = 2, "exact";
    /// The operands of an `or` share no set bit (it is an addition too).
    DISJOINT = 3, "disjoint";
    /// The operand of a zero extension or unsigned conversion is not negative.
    NNEG = 4, "nneg";
    /// The pointer stays inside (or one past) the object it was derived from.
    INBOUNDS = 5, "inbounds";
    /// Operands of a comparison have the same sign.
    SAMESIGN = 6, "samesign";
    /// Terms may be reassociated.
    REASSOC = 8, "reassoc";
    /// No NaN goes in or comes out.
    NNAN = 9, "nnan";
    /// No infinity goes in or comes out.
    NINF = 10, "ninf";
    /// The sign of a zero does not matter.
    NSZ = 11, "nsz";
    /// A division may become a multiplication by the reciprocal.
    ARCP = 12, "arcp";
    /// A multiplication and an addition may be fused.
    CONTRACT = 13, "contract";
    /// A function may be computed approximately.
    AFN = 14, "afn";
}

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// All fast-math bits.
    pub const FAST: Self = Self(0x7f00);
    /// What Metal's default fast math gives: all fast-math bits but NaN and infinity are honoured.
    pub const METAL_FAST: Self = Self(0x7f00 & !(1 << 9) & !(1 << 10));
    /// All flags about integers and pointers.
    pub const INTEGER: Self = Self(0x7f);

    /// Whether all of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` is set.
    #[inline]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no flag is set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Flags set in both.
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Flags set here but not in `other`.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Flags {
    /// The words of the set flags, each preceded by a space; `fast` stands for all fast-math bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = *self;
        if self.has(Self::FAST) {
            f.write_str(" fast")?;
            rest = rest.without(Self::FAST);
        }
        for (flag, word) in Self::WORDS {
            if rest.has(*flag) {
                write!(f, " {word}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({})", self.to_string().trim_start())
    }
}
