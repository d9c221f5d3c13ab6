//! What instructions can do: arithmetic, comparisons, conversions.

use crate::flags::Flags;

macro_rules! op_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All of them, in order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word in the text form.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The one with this word.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

op_enum! {
    /// Operations with one operand of the result's type.
    UnaryOp {
        /// Flips the sign bit.
        FNeg = "fneg",
        /// Fixes an undefined value to one arbitrary value (this toolkit: zero).
        Freeze = "freeze",
    }
}

op_enum! {
    /// Operations on two operands of the result's type, element by element.
    BinaryOp {
        /// Wrapping addition.
        Add = "add",
        /// Wrapping subtraction.
        Sub = "sub",
        /// Wrapping multiplication (low half).
        Mul = "mul",
        /// Unsigned division; by zero gives all ones.
        UDiv = "udiv",
        /// Signed division, toward zero; by zero gives −1, overflow wraps.
        SDiv = "sdiv",
        /// Unsigned remainder; by zero gives the dividend.
        URem = "urem",
        /// Signed remainder with the dividend's sign; by zero gives the dividend.
        SRem = "srem",
        /// Left shift; the amount is taken modulo the width.
        Shl = "shl",
        /// Unsigned right shift; the amount is taken modulo the width.
        LShr = "lshr",
        /// Signed right shift; the amount is taken modulo the width.
        AShr = "ashr",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Float addition.
        FAdd = "fadd",
        /// Float subtraction.
        FSub = "fsub",
        /// Float multiplication.
        FMul = "fmul",
        /// Float division.
        FDiv = "fdiv",
        /// Float remainder with the dividend's sign (`fmod`).
        FRem = "frem",
    }
}

impl BinaryOp {
    /// Whether the operands are floats.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::FAdd | Self::FSub | Self::FMul | Self::FDiv | Self::FRem
        )
    }

    /// Whether the operands may be exchanged.
    #[inline]
    pub const fn is_commutative(self) -> bool {
        matches!(
            self,
            Self::Add | Self::Mul | Self::And | Self::Or | Self::Xor | Self::FAdd | Self::FMul
        )
    }

    /// The flags that may stand on this operation.
    pub fn allowed_flags(self) -> Flags {
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Shl => Flags::NUW | Flags::NSW,
            Self::UDiv | Self::SDiv | Self::LShr | Self::AShr => Flags::EXACT,
            Self::Or => Flags::DISJOINT,
            Self::URem | Self::SRem | Self::And | Self::Xor => Flags::NONE,
            _ => Flags::FAST,
        }
    }
}

op_enum! {
    /// Operations on three floats of the result's type.
    TernaryOp {
        /// `a * b + c` rounded once.
        Fma = "fma",
        /// `a * b + c`, fused or not as the optimiser decides (`llvm.fmuladd`).
        MulAdd = "muladd",
    }
}

op_enum! {
    /// Integer (and pointer) comparisons.
    IntCond {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Unsigned less.
        Ult = "ult",
        /// Unsigned less or equal.
        Ule = "ule",
        /// Unsigned greater.
        Ugt = "ugt",
        /// Unsigned greater or equal.
        Uge = "uge",
        /// Signed less.
        Slt = "slt",
        /// Signed less or equal.
        Sle = "sle",
        /// Signed greater.
        Sgt = "sgt",
        /// Signed greater or equal.
        Sge = "sge",
    }
}

impl IntCond {
    /// The opposite comparison.
    pub const fn inverse(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Ult => Self::Uge,
            Self::Ule => Self::Ugt,
            Self::Ugt => Self::Ule,
            Self::Uge => Self::Ult,
            Self::Slt => Self::Sge,
            Self::Sle => Self::Sgt,
            Self::Sgt => Self::Sle,
            Self::Sge => Self::Slt,
        }
    }

    /// The comparison with its operands exchanged.
    pub const fn swapped(self) -> Self {
        match self {
            Self::Eq | Self::Ne => self,
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Slt => Self::Sgt,
            Self::Sle => Self::Sge,
            Self::Sgt => Self::Slt,
            Self::Sge => Self::Sle,
        }
    }

    /// The same comparison of unsigned numbers.
    pub const fn unsigned(self) -> Self {
        match self {
            Self::Slt => Self::Ult,
            Self::Sle => Self::Ule,
            Self::Sgt => Self::Ugt,
            Self::Sge => Self::Uge,
            same => same,
        }
    }

    /// Whether it holds of two numbers, given as they are and with their signs.
    ///
    /// ```
    /// use assay_ssa::IntCond;
    /// assert!(IntCond::Ugt.holds([255u8, 1], [-1i8, 1]));
    /// assert!(IntCond::Slt.holds([255u8, 1], [-1i8, 1]));
    /// ```
    #[inline(always)]
    pub fn holds<U: Ord, S: Ord>(self, [a, b]: [U; 2], [signed_a, signed_b]: [S; 2]) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Ult => a < b,
            Self::Ule => a <= b,
            Self::Ugt => a > b,
            Self::Uge => a >= b,
            Self::Slt => signed_a < signed_b,
            Self::Sle => signed_a <= signed_b,
            Self::Sgt => signed_a > signed_b,
            Self::Sge => signed_a >= signed_b,
        }
    }

    /// Whether the operands are compared as signed numbers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Slt | Self::Sle | Self::Sgt | Self::Sge)
    }
}

op_enum! {
    /// Float comparisons: `o` is false and `u` is true when an operand is NaN.
    FloatCond {
        /// Never.
        False = "false",
        /// Ordered and equal.
        Oeq = "oeq",
        /// Ordered and greater.
        Ogt = "ogt",
        /// Ordered and greater or equal.
        Oge = "oge",
        /// Ordered and less.
        Olt = "olt",
        /// Ordered and less or equal.
        Ole = "ole",
        /// Ordered and different.
        One = "one",
        /// No operand is NaN.
        Ord = "ord",
        /// An operand is NaN.
        Uno = "uno",
        /// Unordered or equal.
        Ueq = "ueq",
        /// Unordered or greater.
        Ugt = "ugt",
        /// Unordered or greater or equal.
        Uge = "uge",
        /// Unordered or less.
        Ult = "ult",
        /// Unordered or less or equal.
        Ule = "ule",
        /// Unordered or different.
        Une = "une",
        /// Always.
        True = "true",
    }
}

impl FloatCond {
    /// The opposite comparison.
    pub const fn inverse(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Oeq => Self::Une,
            Self::Ogt => Self::Ule,
            Self::Oge => Self::Ult,
            Self::Olt => Self::Uge,
            Self::Ole => Self::Ugt,
            Self::One => Self::Ueq,
            Self::Ord => Self::Uno,
            Self::Uno => Self::Ord,
            Self::Ueq => Self::One,
            Self::Ugt => Self::Ole,
            Self::Uge => Self::Olt,
            Self::Ult => Self::Oge,
            Self::Ule => Self::Ogt,
            Self::Une => Self::Oeq,
            Self::True => Self::False,
        }
    }

    /// The comparison with its operands exchanged.
    pub const fn swapped(self) -> Self {
        match self {
            Self::Ogt => Self::Olt,
            Self::Oge => Self::Ole,
            Self::Olt => Self::Ogt,
            Self::Ole => Self::Oge,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            other => other,
        }
    }
}

op_enum! {
    /// Conversions; the target type is the type of the result.
    CastOp {
        /// Drops upper bits of an integer.
        Trunc = "trunc",
        /// Extends an integer with zeros.
        ZExt = "zext",
        /// Extends an integer with its sign.
        SExt = "sext",
        /// Float to float, rounding to nearest even where bits are lost.
        FConvert = "fconvert",
        /// Float to unsigned, toward zero, saturating; NaN gives 0.
        FToU = "ftou",
        /// Float to signed, toward zero, saturating; NaN gives 0.
        FToS = "ftos",
        /// Unsigned to float, rounding to nearest even.
        UToF = "utof",
        /// Signed to float, rounding to nearest even.
        SToF = "stof",
        /// Address to integer.
        PtrToInt = "ptrtoint",
        /// Integer to address.
        IntToPtr = "inttoptr",
        /// The same bits as another type of the same size; also `v2T` ↔ `matrix<T>` (the thread's two elements).
        Bitcast = "bitcast",
        /// The same pointer seen through another address space.
        SpaceCast = "spacecast",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverting_or_swapping_a_comparison_twice_gives_it_back() {
        for &cond in IntCond::ALL {
            assert_eq!(cond.inverse().inverse(), cond);
            assert_eq!(cond.swapped().swapped(), cond);
        }
        for &cond in FloatCond::ALL {
            assert_eq!(cond.inverse().inverse(), cond);
            assert_eq!(cond.swapped().swapped(), cond);
        }
    }
}
