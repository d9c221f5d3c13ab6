//! LLVM's intrinsics by name.

use super::Builtin;
use super::names::Resolved;
use crate::ops::{CastOp, TernaryOp};

/// LLVM's intrinsics by the part of the name before the types; the longest match counts.
const LLVM: &[(&str, Resolved)] = &[
    ("abs", Resolved::Builtin(Builtin::Abs.signed())),
    ("assume", Resolved::Ignored),
    ("bitreverse", Resolved::Builtin(Builtin::ReverseBits.call())),
    ("bswap", Resolved::Builtin(Builtin::ByteSwap.call())),
    ("ceil", Resolved::Builtin(Builtin::Ceil.call())),
    ("copysign", Resolved::Builtin(Builtin::Copysign.call())),
    ("cos", Resolved::Builtin(Builtin::Cos.call())),
    ("cosh", Resolved::Builtin(Builtin::Cosh.call())),
    ("ctlz", Resolved::Builtin(Builtin::Clz.call())),
    ("ctpop", Resolved::Builtin(Builtin::PopCount.call())),
    ("cttz", Resolved::Builtin(Builtin::Ctz.call())),
    ("dbg", Resolved::Ignored),
    ("exp", Resolved::Builtin(Builtin::Exp.call())),
    ("exp10", Resolved::Builtin(Builtin::Exp10.call())),
    ("exp2", Resolved::Builtin(Builtin::Exp2.call())),
    ("expect", Resolved::Identity),
    ("experimental.noalias.scope.decl", Resolved::Ignored),
    ("fabs", Resolved::Builtin(Builtin::Fabs.call())),
    ("floor", Resolved::Builtin(Builtin::Floor.call())),
    ("fma", Resolved::Ternary(TernaryOp::Fma)),
    ("fmuladd", Resolved::Ternary(TernaryOp::MulAdd)),
    ("fptosi.sat", Resolved::Cast(CastOp::FToS)),
    ("fptoui.sat", Resolved::Cast(CastOp::FToU)),
    ("fshl", Resolved::Builtin(Builtin::FunnelLeft.call())),
    ("fshr", Resolved::Builtin(Builtin::FunnelRight.call())),
    ("invariant.end", Resolved::Ignored),
    ("invariant.start", Resolved::Ignored),
    ("is.fpclass", Resolved::Builtin(Builtin::IsClass.call())),
    ("launder.invariant.group", Resolved::Identity),
    ("ldexp", Resolved::Builtin(Builtin::Ldexp.call())),
    ("lifetime.end", Resolved::Ignored),
    ("lifetime.start", Resolved::Ignored),
    ("log", Resolved::Builtin(Builtin::Log.call())),
    ("log10", Resolved::Builtin(Builtin::Log10.call())),
    ("log2", Resolved::Builtin(Builtin::Log2.call())),
    ("maximum", Resolved::Builtin(Builtin::Fmaximum.call())),
    ("maximumnum", Resolved::Builtin(Builtin::Fmax.call())),
    ("maxnum", Resolved::Builtin(Builtin::Fmax.call())),
    ("memcpy", Resolved::MemCopy { overlap: false }),
    ("memmove", Resolved::MemCopy { overlap: true }),
    ("memset", Resolved::MemSet),
    ("minimum", Resolved::Builtin(Builtin::Fminimum.call())),
    ("minimumnum", Resolved::Builtin(Builtin::Fmin.call())),
    ("minnum", Resolved::Builtin(Builtin::Fmin.call())),
    ("nearbyint", Resolved::Builtin(Builtin::Rint.call())),
    ("pow", Resolved::Builtin(Builtin::Pow.call())),
    ("powi", Resolved::Builtin(Builtin::Powi.call())),
    ("rint", Resolved::Builtin(Builtin::Rint.call())),
    ("round", Resolved::Builtin(Builtin::Round.call())),
    ("roundeven", Resolved::Builtin(Builtin::Rint.call())),
    ("sadd.sat", Resolved::Builtin(Builtin::AddSat.signed())),
    (
        "sadd.with.overflow",
        Resolved::Builtin(Builtin::AddOverflow.signed()),
    ),
    ("scmp", Resolved::Builtin(Builtin::Compare3.signed())),
    ("sideeffect", Resolved::Ignored),
    ("sin", Resolved::Builtin(Builtin::Sin.call())),
    ("sinh", Resolved::Builtin(Builtin::Sinh.call())),
    ("smax", Resolved::Builtin(Builtin::Max.signed())),
    ("smin", Resolved::Builtin(Builtin::Min.signed())),
    (
        "smul.with.overflow",
        Resolved::Builtin(Builtin::MulOverflow.signed()),
    ),
    ("sqrt", Resolved::Builtin(Builtin::Sqrt.call())),
    ("ssub.sat", Resolved::Builtin(Builtin::SubSat.signed())),
    (
        "ssub.with.overflow",
        Resolved::Builtin(Builtin::SubOverflow.signed()),
    ),
    ("strip.invariant.group", Resolved::Identity),
    ("tan", Resolved::Builtin(Builtin::Tan.call())),
    ("tanh", Resolved::Builtin(Builtin::Tanh.call())),
    ("trunc", Resolved::Builtin(Builtin::Trunc.call())),
    ("uadd.sat", Resolved::Builtin(Builtin::AddSat.unsigned())),
    (
        "uadd.with.overflow",
        Resolved::Builtin(Builtin::AddOverflow.unsigned()),
    ),
    ("ucmp", Resolved::Builtin(Builtin::Compare3.unsigned())),
    ("umax", Resolved::Builtin(Builtin::Max.unsigned())),
    ("umin", Resolved::Builtin(Builtin::Min.unsigned())),
    (
        "umul.with.overflow",
        Resolved::Builtin(Builtin::MulOverflow.unsigned()),
    ),
    ("usub.sat", Resolved::Builtin(Builtin::SubSat.unsigned())),
    (
        "usub.with.overflow",
        Resolved::Builtin(Builtin::SubOverflow.unsigned()),
    ),
    (
        "vector.reduce.add",
        Resolved::Builtin(Builtin::ReduceAdd.call()),
    ),
    (
        "vector.reduce.and",
        Resolved::Builtin(Builtin::ReduceAnd.call()),
    ),
    (
        "vector.reduce.fadd",
        Resolved::Builtin(Builtin::ReduceFadd.call()),
    ),
    (
        "vector.reduce.fmax",
        Resolved::Builtin(Builtin::ReduceFmax.call()),
    ),
    (
        "vector.reduce.fmin",
        Resolved::Builtin(Builtin::ReduceFmin.call()),
    ),
    (
        "vector.reduce.fmul",
        Resolved::Builtin(Builtin::ReduceFmul.call()),
    ),
    (
        "vector.reduce.mul",
        Resolved::Builtin(Builtin::ReduceMul.call()),
    ),
    (
        "vector.reduce.or",
        Resolved::Builtin(Builtin::ReduceOr.call()),
    ),
    (
        "vector.reduce.smax",
        Resolved::Builtin(Builtin::ReduceMax.signed()),
    ),
    (
        "vector.reduce.smin",
        Resolved::Builtin(Builtin::ReduceMin.signed()),
    ),
    (
        "vector.reduce.umax",
        Resolved::Builtin(Builtin::ReduceMax.unsigned()),
    ),
    (
        "vector.reduce.umin",
        Resolved::Builtin(Builtin::ReduceMin.unsigned()),
    ),
    (
        "vector.reduce.xor",
        Resolved::Builtin(Builtin::ReduceXor.call()),
    ),
];

/// What an intrinsic means; the name without `llvm.`.
pub(super) fn resolve(rest: &str) -> Resolved {
    // Cut type suffixes off the end until what is left is known.
    let mut name = rest;
    loop {
        if let Ok(at) = LLVM.binary_search_by(|(known, _)| (*known).cmp(name)) {
            return LLVM[at].1;
        }
        match name.rfind('.') {
            Some(dot) => name = &name[..dot],
            None => return Resolved::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intrinsic_table_is_sorted() {
        assert!(LLVM.is_sorted_by_key(|(name, _)| *name));
    }
}
