//! Classes of instructions, which cost differently on a GPU.

use assay_ssa::builtin::{Builtin, Family};
use assay_ssa::{BinaryOp, Callee, Function, Inst, InstData};

/// Kinds of instructions that cost differently on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Class {
    /// Ordinary arithmetic.
    Issue,
    /// Transcendental functions, division, square roots.
    Complex,
    /// Multiplication of simdgroup matrices.
    Matrix,
    /// Reductions over a simdgroup or quadgroup.
    Reduction,
    /// Prefix sums and products.
    Prefix,
    /// Shuffles, broadcasts, votes.
    Shuffle,
    /// Barriers.
    Barrier,
    /// Loads, stores and atomics.
    Memory,
    /// Branches.
    Branch,
    /// The executor's own bookkeeping: values passed to blocks, masks. No instruction of a GPU.
    Bookkeeping,
}

impl Class {
    /// All kinds, in order.
    pub const ALL: [Self; 10] = [
        Self::Issue,
        Self::Complex,
        Self::Matrix,
        Self::Reduction,
        Self::Prefix,
        Self::Shuffle,
        Self::Barrier,
        Self::Memory,
        Self::Branch,
        Self::Bookkeeping,
    ];

    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Complex => "complex",
            Self::Matrix => "matrix",
            Self::Reduction => "reduction",
            Self::Prefix => "prefix",
            Self::Shuffle => "shuffle",
            Self::Barrier => "barrier",
            Self::Memory => "memory",
            Self::Branch => "branch",
            Self::Bookkeeping => "bookkeeping",
        }
    }

    /// The kind of an instruction's arithmetic.
    pub(crate) fn of(inst: &InstData) -> Self {
        match inst {
            InstData::Binary {
                op:
                    BinaryOp::FDiv
                    | BinaryOp::FRem
                    | BinaryOp::UDiv
                    | BinaryOp::SDiv
                    | BinaryOp::URem
                    | BinaryOp::SRem,
                ..
            } => Self::Complex,
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => Self::of_builtin(call.builtin),
            _ => Self::Issue,
        }
    }

    fn of_builtin(builtin: Builtin) -> Self {
        use Builtin as B;
        match builtin.info().family {
            Family::Matrix => Self::Matrix,
            Family::Barrier => Self::Barrier,
            Family::Simd | Family::Quad => Self::of_collective(builtin),
            Family::Math => match builtin {
                B::Fabs
                | B::Floor
                | B::Ceil
                | B::Trunc
                | B::Round
                | B::Rint
                | B::Fract
                | B::Sign
                | B::Saturate
                | B::Copysign
                | B::Fmin
                | B::Fmax
                | B::Fminimum
                | B::Fmaximum
                | B::Fmin3
                | B::Fmax3
                | B::Fmedian3
                | B::Fclamp
                | B::Mix
                | B::Step => Self::Issue,
                _ => Self::Complex,
            },
            _ => Self::Issue,
        }
    }

    fn of_collective(builtin: Builtin) -> Self {
        use Builtin as B;
        match builtin {
            B::SimdSum
            | B::SimdProduct
            | B::SimdMin
            | B::SimdMax
            | B::SimdAnd
            | B::SimdOr
            | B::SimdXor
            | B::QuadSum
            | B::QuadProduct
            | B::QuadMin
            | B::QuadMax
            | B::QuadAnd
            | B::QuadOr
            | B::QuadXor => Self::Reduction,
            B::SimdPrefixInclusiveSum
            | B::SimdPrefixExclusiveSum
            | B::SimdPrefixInclusiveProduct
            | B::SimdPrefixExclusiveProduct
            | B::QuadPrefixInclusiveSum
            | B::QuadPrefixExclusiveSum
            | B::QuadPrefixInclusiveProduct
            | B::QuadPrefixExclusiveProduct => Self::Prefix,
            _ => Self::Shuffle,
        }
    }
}

/// Floating-point operations of an instruction for one active lane: a sum, product, quotient, comparison, minimum or
/// function is one for each element, a multiply-add two, a reduction over a simdgroup one, and the product of two 8 × 8
/// matrices 1024 for the 32 lanes together. Signs, conversions, copies and choices are none.
pub(crate) fn float_operations(function: &Function, inst: Inst) -> u16 {
    let Some(result) = function.result(inst) else {
        return 0;
    };
    let of_type = |value| {
        let ty = function.ty(value);
        u16::from(ty.is_float()) * u16::from(ty.lanes().max(1))
    };
    match function.inst(inst) {
        InstData::Binary { op, .. } if op.is_float() => of_type(result),
        InstData::Ternary { .. } => 2 * of_type(result),
        InstData::FloatCompare { args, .. } => of_type(args[0]),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } => match (call.builtin, call.builtin.info().family) {
            (Builtin::MatrixMultiply | Builtin::MatrixMultiplyAdd, _) => 1024 / 32,
            (Builtin::Dot, _) => {
                let first = function.list_values(*args).first();
                2 * first.map_or(0, |first| of_type(*first))
            }
            (_, Family::Math | Family::Geometric | Family::Vector) => of_type(result),
            (builtin, Family::Simd | Family::Quad) => match Class::of_collective(builtin) {
                Class::Reduction | Class::Prefix => of_type(result),
                _ => 0,
            },
            _ => 0,
        },
        _ => 0,
    }
}
