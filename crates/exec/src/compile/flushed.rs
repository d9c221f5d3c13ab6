//! Which single-precision values are never denormal.
//!
//! Arithmetic flushes its operands and its result; an operand that is another operation's result need not be flushed
//! again, which saves half the work of a multiply-add.

use assay_num as num;
use assay_ssa::builtin::Builtin;
use assay_ssa::{
    BinaryOp, Callee, CastOp, Function, IdSet, InstData, Scalar, UnaryOp, Value, ValueDef,
};

/// Rounds after which nothing is assumed any more.
const ROUNDS: usize = 32;

/// The values known to have no denormal element. Begins with all and takes out what may have one, until that takes out no more.
pub(super) fn flushed(function: &Function) -> IdSet<Value> {
    let candidates = |value: &Value| function.ty(*value).element() == Some(Scalar::F32);
    let values = (0..function.num_values()).map(assay_ssa::Id::from_index);
    let mut flushed: IdSet<Value> = values.filter(candidates).collect();
    for _ in 0..ROUNDS {
        let doubtful: Vec<Value> = flushed
            .iter()
            .filter(|&value| !stays(function, value, &flushed))
            .chain(doubtful_parameters(function, &flushed))
            .collect();
        if doubtful.is_empty() {
            return flushed;
        }
        for value in doubtful {
            flushed.remove(value);
        }
    }
    IdSet::new()
}

/// Parameters of blocks that are given a value that may be denormal.
fn doubtful_parameters(function: &Function, flushed: &IdSet<Value>) -> Vec<Value> {
    let mut found = Vec::new();
    for &block in function.blocks() {
        let Some(last) = function.terminator(block) else {
            continue;
        };
        function.for_each_target(last, |call| {
            let args = function.list_values(call.args);
            for (&param, &arg) in function.params(call.block).iter().zip(args) {
                if flushed.contains(param) && !flushed.contains(arg) {
                    found.push(param);
                }
            }
        });
    }
    found
}

fn is_flushed(bits: u64) -> bool {
    let value = f32::from_bits(bits as u32);
    num::flush(value).to_bits() == value.to_bits()
}

/// Returns true if a value has no denormals if those in the set have none.
fn stays(function: &Function, value: Value, flushed: &IdSet<Value>) -> bool {
    let inst = match function.def(value) {
        ValueDef::Const(bits) => return is_flushed(bits),
        ValueDef::ConstVector(list) => {
            return function.elements(list).iter().all(|&bits| is_flushed(bits));
        }
        ValueDef::Zero | ValueDef::Undef => return true,
        ValueDef::Param(block, _) => return Some(block) != function.entry(),
        ValueDef::Result(inst) => inst,
        _ => return false,
    };
    let known = |value: &Value| flushed.contains(*value);
    match *function.inst(inst) {
        InstData::Binary { op, .. } => matches!(
            op,
            BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem
        ),
        InstData::Ternary { .. } => true,
        InstData::Unary {
            op: UnaryOp::FNeg | UnaryOp::Freeze,
            arg,
            ..
        } => known(&arg),
        InstData::Select { args, .. } => args.iter().all(known),
        InstData::Cast { op, .. } => matches!(op, CastOp::UToF | CastOp::SToF),
        InstData::Extract { vector, .. } => known(&vector),
        InstData::Insert {
            vector, element, ..
        } => known(&vector) && known(&element),
        InstData::Shuffle { args, .. } => args.iter().all(known),
        InstData::Construct { args } => function.list_values(args).iter().all(known),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } => match call.builtin {
            Builtin::SimdSum | Builtin::QuadSum => true,
            Builtin::Exp | Builtin::Exp2 | Builtin::Exp10 | Builtin::Sqrt | Builtin::Rsqrt => true,
            Builtin::Recip | Builtin::Divide | Builtin::Floor | Builtin::Saturate => true,
            Builtin::Log | Builtin::Log2 | Builtin::Log10 => true,
            Builtin::Fmin | Builtin::Fmax | Builtin::Fabs => {
                function.list_values(args).iter().all(known)
            }
            _ => false,
        },
        _ => false,
    }
}
