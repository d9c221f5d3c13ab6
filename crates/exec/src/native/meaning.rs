//! What lane functions compute, for a compiler that writes code of its own for them.

use crate::code::Op;
use assay_ssa::builtin::BuiltinCall;
use assay_ssa::{
    BinaryOp, Callee, CastOp, FloatCond, Function, Inst, InstData, IntCond, Scalar, Type, UnaryOp,
};

/// The meaning of an operation whose bytecode only has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Whatever the function does.
    Function,
    Negate(Scalar),
    Binary(BinaryOp, Scalar),
    MultiplyAdd(Scalar),
    IntCompare(IntCond, Scalar),
    FloatCompare(FloatCond, Scalar),
    Cast(CastOp, Scalar, Scalar),
    Builtin(BuiltinCall, Scalar),
}

/// The meaning of an operation that is made for an instruction.
pub(crate) fn meaning(function: &Function, inst: Option<Inst>, op: &Op) -> Meaning {
    let is_lane_function = matches!(
        op,
        Op::N1 { .. }
            | Op::N2 { .. }
            | Op::N3 { .. }
            | Op::W1 { .. }
            | Op::W2 { .. }
            | Op::Widen { .. }
            | Op::Narrowing { .. }
            | Op::Compare { .. }
    );
    let Some(inst) = inst.filter(|_| is_lane_function) else {
        return Meaning::Function;
    };
    of_instruction(function, inst).unwrap_or(Meaning::Function)
}

fn of_instruction(function: &Function, inst: Inst) -> Option<Meaning> {
    let number = |ty: Type| match ty.is_pointer() {
        true => Some(Scalar::I64),
        false => ty.element(),
    };
    let of = |value| number(function.ty(value));
    Some(match *function.inst(inst) {
        InstData::Unary {
            op: UnaryOp::FNeg,
            arg,
            ..
        } => Meaning::Negate(of(arg)?),
        InstData::Binary { op, args, .. } => Meaning::Binary(op, of(args[0])?),
        InstData::Ternary { args, .. } => Meaning::MultiplyAdd(of(args[0])?),
        InstData::IntCompare { cond, args, .. } => Meaning::IntCompare(cond, of(args[0])?),
        InstData::FloatCompare { cond, args, .. } => Meaning::FloatCompare(cond, of(args[0])?),
        InstData::Cast { op, arg, .. } => Meaning::Cast(op, of(arg)?, of(function.result(inst)?)?),
        // The comparisons of an index that is not known.
        InstData::Insert { index, .. } => Meaning::IntCompare(IntCond::Eq, of(index)?),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } => {
            let first = *function.list_values(args).first()?;
            Meaning::Builtin(call, of(first)?)
        }
        _ => return None,
    })
}
