//! What a program that is to be checked expects: the rules that calls of the builtin `expect` name.

use assay_ssa::builtin::Builtin;
use assay_ssa::{BinaryOp, Builder, Flags, Type, Value};

/// A rule that something in the program may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Expectation {
    /// A variable is used that was set before.
    Initialised = 0,
    /// A divisor is not zero.
    NonZeroDivisor = 1,
    /// A shift is by less than the width of the number.
    ShiftInRange = 2,
    /// A float that becomes an integer fits it.
    ConversionInRange = 3,
    /// An element or a slice of a tensor lies inside it.
    TensorInBounds = 4,
    /// A threadgroup has as many simdgroups as the scope of a tensor operation.
    TensorScope = 5,
    /// Operands of a tensor operation agree on the extent they have in common.
    TensorShapes = 6,
    /// An index of an array lies inside that array, not only inside what the array is a part of.
    IndexInArray = 7,
    /// A quotient fits its type: the least number is not divided by -1.
    QuotientInRange = 8,
}

impl Expectation {
    /// All of them, by number.
    pub const ALL: [Self; 9] = [
        Self::Initialised,
        Self::NonZeroDivisor,
        Self::ShiftInRange,
        Self::ConversionInRange,
        Self::TensorInBounds,
        Self::TensorScope,
        Self::TensorShapes,
        Self::IndexInArray,
        Self::QuotientInRange,
    ];

    /// The rule of a number.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Emits a check that all of these truth values hold.
    pub(crate) fn emit(self, builder: &mut Builder<'_>, truths: &[Value]) {
        let mut all = None;
        for &truth in truths {
            all = Some(match all {
                None => truth,
                Some(all) => builder.binary(BinaryOp::And, all, truth, Flags::NONE),
            });
        }
        if let Some(all) = all {
            let rule = builder.i32(self as i32);
            builder.builtin(Builtin::Expect.call(), &[all, rule], Type::VOID);
        }
    }
}
