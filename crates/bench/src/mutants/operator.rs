//! The ways in which one operation of a program is made wrong.

use super::condition::{inverse, moved, other_tie};
use super::edit::Edit;
use assay_ssa::{Block, Function, InstData};

/// What is done to an operation. Each is a mistake that people make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// A term or factor is left out.
    DropOperand,
    /// A sum becomes a difference, a product a sum, a quotient a product.
    SwapOperation,
    /// The operands of a difference or quotient change places.
    SwapOperands,
    /// A comparison of whole numbers takes in its limit, or leaves it out.
    MoveLimit,
    /// A comparison of whole numbers is the opposite.
    InvertComparison,
    /// Of equal floats the last is taken, not the first, or the other way round.
    OtherTie,
    /// A comparison of floats is the opposite.
    InvertFloatComparison,
    /// A number is written into the kernel where it reads an argument.
    ConstantArgument,
    /// What does not fill four is left out.
    SkipTail,
    /// An accumulator is kept in half precision.
    HalvePrecision,
    /// A guard is missing: what it kept out goes in.
    MissingGuard,
    /// A choice takes the other side.
    OtherChoice,
    /// The neighbour of an element is read or written.
    Neighbour,
    /// The element before is read or written.
    NeighbourBefore,
    /// An index is kept in eight bits.
    NarrowIndex,
    /// A store is left out.
    DropStore,
    /// What is stored has the wrong sign.
    NegateStore,
    /// A reduction over threads, or a function, is left out.
    DropCall,
    /// A barrier is left out.
    DropBarrier,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::DropOperand,
        Self::SwapOperation,
        Self::SwapOperands,
        Self::MoveLimit,
        Self::InvertComparison,
        Self::OtherTie,
        Self::InvertFloatComparison,
        Self::ConstantArgument,
        Self::SkipTail,
        Self::HalvePrecision,
        Self::MissingGuard,
        Self::OtherChoice,
        Self::Neighbour,
        Self::NeighbourBefore,
        Self::NarrowIndex,
        Self::DropStore,
        Self::NegateStore,
        Self::DropCall,
        Self::DropBarrier,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DropOperand => "drop-operand",
            Self::SwapOperation => "swap-operation",
            Self::SwapOperands => "swap-operands",
            Self::MoveLimit => "move-limit",
            Self::InvertComparison => "invert-comparison",
            Self::OtherTie => "other-tie",
            Self::InvertFloatComparison => "invert-float-comparison",
            Self::ConstantArgument => "constant-argument",
            Self::SkipTail => "skip-tail",
            Self::HalvePrecision => "halve-precision",
            Self::MissingGuard => "missing-guard",
            Self::OtherChoice => "other-choice",
            Self::Neighbour => "neighbour",
            Self::NeighbourBefore => "neighbour-before",
            Self::NarrowIndex => "narrow-index",
            Self::DropStore => "drop-store",
            Self::NegateStore => "negate-store",
            Self::DropCall => "drop-call",
            Self::DropBarrier => "drop-barrier",
        }
    }

    /// Returns false if the operator applies to no operation of this form.
    pub(super) fn may_apply(self, data: &InstData) -> bool {
        match self {
            Self::DropOperand | Self::HalvePrecision => {
                matches!(data, InstData::Binary { .. } | InstData::Ternary { .. })
            }
            Self::SwapOperation | Self::SwapOperands => matches!(data, InstData::Binary { .. }),
            Self::MoveLimit | Self::InvertComparison | Self::SkipTail => {
                matches!(data, InstData::IntCompare { .. })
            }
            Self::OtherTie | Self::InvertFloatComparison => {
                matches!(data, InstData::FloatCompare { .. })
            }
            Self::ConstantArgument => matches!(data, InstData::Load { .. }),
            Self::MissingGuard => matches!(data, InstData::Branch { .. }),
            Self::OtherChoice => matches!(data, InstData::Select { .. }),
            Self::Neighbour | Self::NeighbourBefore | Self::NarrowIndex => {
                matches!(data, InstData::PtrAdd { .. })
            }
            Self::DropStore | Self::NegateStore => matches!(data, InstData::Store { .. }),
            Self::DropCall | Self::DropBarrier => matches!(data, InstData::Call { .. }),
        }
    }

    /// Makes an operation wrong. Returns false, and changes nothing, where the operator does not apply.
    pub fn apply(self, function: &mut Function, block: Block, place: usize) -> bool {
        let Some(&inst) = function.insts(block).get(place) else {
            return false;
        };
        let data = *function.inst(inst);
        let mut edit = Edit {
            function,
            block,
            place,
            inst,
        };
        match self {
            Self::DropOperand => edit.drop_operand(data),
            Self::SwapOperation => edit.swap_operation(data),
            Self::SwapOperands => edit.swap_operands(data),
            Self::MoveLimit => edit.compare(data, moved),
            Self::InvertComparison => edit.compare(data, |cond| Some(cond.inverse())),
            Self::OtherTie => edit.compare_floats(data, other_tie),
            Self::InvertFloatComparison => edit.compare_floats(data, inverse),
            Self::ConstantArgument => edit.constant_argument(data),
            Self::SkipTail => edit.skip_tail(data),
            Self::HalvePrecision => edit.halve_precision(data),
            Self::MissingGuard => edit.missing_guard(data),
            Self::OtherChoice => edit.other_choice(data),
            Self::Neighbour => edit.neighbour(data, 1),
            Self::NeighbourBefore => edit.neighbour(data, -1),
            Self::NarrowIndex => edit.narrow_index(data),
            Self::DropStore => edit.drop_store(data),
            Self::NegateStore => edit.negate_store(data),
            Self::DropCall => edit.drop_call(data),
            Self::DropBarrier => edit.drop_barrier(data),
        }
    }
}
