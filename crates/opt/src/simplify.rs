//! Replaces instructions by simpler ones that give the same result.
//!
//! One sweep in an order in which definitions come before uses (loops aside): constants
//! are evaluated, identities applied, parts of a composed value found without composing
//! it, address computations joined. Float identities apply only under the flags that
//! permit them: `x * 1` and `x + 0` are not the identity for denormals and signed zeros.

use crate::{evaluate, evaluate_builtin};
use assay_ssa::analysis::Cfg;
use assay_ssa::builtin::{Builtin, BuiltinCall, Family, Fold};
use assay_ssa::{
    BinaryOp, Callee, CastOp, Flags, Function, IdMap, Inst, InstData, IntCond, Module, Scalar,
    Type, TypeKind, UNDEF_LANE, UnaryOp, Value, ValueDef, ValueList,
};

/// Simplifies every instruction once.
pub fn simplify(_: &Module, function: &mut Function) -> bool {
    let order = Cfg::new(function).order().to_vec();
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    let mut replaced = false;
    for block in order {
        for index in 0..function.insts(block).len() {
            let inst = function.insts(block)[index];
            if replaced {
                function.map_operands(inst, |value| replacement[value].unwrap_or(value));
            }
            changed |= rewrite_in_place(function, inst);
            let Some(result) = function.result(inst) else {
                continue;
            };
            if let Some(value) = known_value(function, inst).filter(|&value| value != result) {
                replacement[result] = Some(value);
                replaced = true;
            }
        }
    }
    if replaced {
        // Uses before definitions exist only through block parameters of loops.
        function.replace_values(&replacement);
    }
    changed || replaced
}

/// Changes an instruction into a simpler one with the same result.
fn rewrite_in_place(function: &mut Function, inst: Inst) -> bool {
    match *function.inst(inst) {
        InstData::PtrAdd { .. } => join_addresses(function, inst),
        InstData::Binary {
            op,
            flags,
            args: [a, b],
        } if op.is_commutative() && function.is_constant(a) && !function.is_constant(b) => {
            *function.inst_mut(inst) = InstData::Binary {
                op,
                flags,
                args: [b, a],
            };
            true
        }
        InstData::IntCompare {
            cond,
            flags,
            args: [a, b],
        } if function.is_constant(a) && !function.is_constant(b) => {
            let data = InstData::IntCompare {
                cond: cond.swapped(),
                flags,
                args: [b, a],
            };
            *function.inst_mut(inst) = data;
            true
        }
        InstData::IntCompare { cond, args, .. } => {
            compare_narrow(function, inst, cond, args) | invert_comparison(function, inst)
        }
        InstData::Cast {
            op: CastOp::IntToPtr,
            arg,
            ..
        } => cast_pointer(function, inst, arg),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            flags,
        } if call.builtin == Builtin::Fclamp => {
            let saturates = clamps_to_unit(function, args);
            if let Some(arg) = saturates {
                let args = function.list(&[arg]);
                let callee = Callee::Builtin(BuiltinCall {
                    builtin: Builtin::Saturate,
                    ..call
                });
                *function.inst_mut(inst) = InstData::Call {
                    callee,
                    args,
                    flags,
                };
            }
            saturates.is_some()
        }
        _ => false,
    }
}

/// What `clamp(x, +0, 1)` clamps: the same as saturation for every `x`, NaN and −0 included. Brain floats
/// stay: two selections are less work than rounding what was saturated.
fn clamps_to_unit(function: &Function, args: ValueList) -> Option<Value> {
    let &[x, low, high] = function.list_values(args) else {
        return None;
    };
    let one = match function.ty(x).element()? {
        Scalar::F32 => u64::from(1f32.to_bits()),
        Scalar::F16 => 0x3c00,
        _ => return None,
    };
    let unit = function.const_splat(low) == Some(0) && function.const_splat(high) == Some(one);
    unit.then_some(x)
}

/// A pointer that went through an integer into another address space keeps its origin, which tells the space.
fn cast_pointer(function: &mut Function, inst: Inst, number: Value) -> bool {
    let Some(&InstData::Cast {
        op: CastOp::PtrToInt,
        arg: pointer,
        ..
    }) = function.def_data(number)
    else {
        return false;
    };
    if function.ty(pointer) == function.result_type(inst) {
        return false;
    }
    *function.inst_mut(inst) = InstData::Cast {
        op: CastOp::SpaceCast,
        arg: pointer,
        flags: Flags::NONE,
    };
    true
}

/// Compares what was widened without sign before it is widened.
fn compare_narrow(function: &mut Function, inst: Inst, cond: IntCond, [a, b]: [Value; 2]) -> bool {
    let narrow = |value: Value| match function.def_data(value) {
        Some(&InstData::Cast {
            op: CastOp::ZExt,
            arg,
            ..
        }) => scalar_of(function, arg).map(|scalar| (arg, scalar)),
        _ => None,
    };
    let Some((left, scalar)) = narrow(a) else {
        return false;
    };
    let right = match (narrow(b), function.const_bits(b)) {
        (Some((right, other)), _) if other == scalar => right,
        (None, Some(bits)) if bits <= scalar.mask() => {
            function.constant(Type::scalar(scalar), bits)
        }
        _ => return false,
    };
    *function.inst_mut(inst) = InstData::IntCompare {
        cond: cond.unsigned(),
        flags: Flags::NONE,
        args: [left, right],
    };
    true
}

/// `truth == false` is the opposite comparison, which a select can make itself.
fn invert_comparison(function: &mut Function, inst: Inst) -> bool {
    let InstData::IntCompare {
        cond: IntCond::Eq,
        args: [truth, other],
        ..
    } = *function.inst(inst)
    else {
        return false;
    };
    let against_false = function.const_bits(other) == Some(0);
    if !against_false || scalar_of(function, truth) != Some(Scalar::I1) {
        return false;
    }
    let opposite = match function.def_data(truth) {
        Some(&InstData::IntCompare { cond, flags, args }) => InstData::IntCompare {
            cond: cond.inverse(),
            flags,
            args,
        },
        Some(&InstData::FloatCompare { cond, flags, args }) => InstData::FloatCompare {
            cond: cond.inverse(),
            flags,
            args,
        },
        _ => InstData::Binary {
            op: BinaryOp::Xor,
            flags: Flags::NONE,
            args: [truth, function.bool(true)],
        },
    };
    *function.inst_mut(inst) = opposite;
    true
}

/// Turns a constant index into an offset, and adds up the offsets of nested additions.
fn join_addresses(function: &mut Function, inst: Inst) -> bool {
    let InstData::PtrAdd {
        base,
        index,
        scale,
        offset,
        extend,
        flags,
    } = *function.inst(inst)
    else {
        return false;
    };
    let mut joined = (base, index, offset, flags);
    let steps = index.and_then(|index| constant_index(function, index, extend));
    let total = steps
        .and_then(|steps| steps.checked_mul(i64::from(scale)))
        .and_then(|bytes| bytes.checked_add(offset));
    if let Some(total) = total {
        joined = (joined.0, None, total, joined.3);
    }
    if let Some(&InstData::PtrAdd {
        base: inner,
        index: None,
        offset: first,
        flags: other,
        ..
    }) = function.def_data(joined.0)
        && let Some(total) = joined.2.checked_add(first)
    {
        joined = (inner, joined.1, total, joined.3.and(other));
    }
    if joined.0 == base && joined.1 == index {
        return false;
    }
    let (base, index, offset, flags) = joined;
    *function.inst_mut(inst) = InstData::PtrAdd {
        base,
        index,
        scale,
        offset,
        extend,
        flags,
    };
    true
}

pub(crate) fn constant_index(
    function: &Function,
    index: Value,
    extend: assay_ssa::IndexExtend,
) -> Option<i64> {
    match extend {
        assay_ssa::IndexExtend::Sign => function.const_int(index),
        assay_ssa::IndexExtend::Zero => i64::try_from(function.const_bits(index)?).ok(),
    }
}

/// A value that exists already, or a constant, equal to the instruction's result.
fn known_value(function: &mut Function, inst: Inst) -> Option<Value> {
    let constant = evaluate::instruction(function, inst, |value| function.const_bits(value));
    if let Some(bits) = constant {
        return Some(function.constant(function.result_type(inst), bits));
    }
    match *function.inst(inst) {
        InstData::Unary { op, arg, .. } => unary(function, op, arg),
        InstData::Binary { op, flags, args } => {
            vector_constant(function, op, args).or_else(|| identity(function, op, flags, args))
        }
        InstData::IntCompare { cond, args, .. } => int_compare(function, cond, args),
        InstData::Select {
            cond,
            args: [yes, no],
            ..
        } => match function.const_splat(cond) {
            Some(bits) => Some(if bits & 1 == 1 { yes } else { no }),
            None => (yes == no).then_some(yes),
        },
        InstData::Cast { op, arg, .. } => cast(function, op, arg, function.result_type(inst)),
        InstData::Extract { vector, index } => {
            let lane = usize::try_from(function.const_bits(index)?).ok()?;
            element(function, vector, lane)
        }
        InstData::Construct { args } => construct(function, inst, args),
        InstData::ExtractValue { aggregate, path } => part(function, aggregate, path),
        InstData::PtrAdd {
            base,
            index: None,
            offset: 0,
            ..
        } => Some(base),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } => vector_builtin(function, inst, call, args),
        _ => None,
    }
}

fn bits(function: &Function, value: Value) -> Option<u64> {
    function.const_bits(value)
}

fn scalar_of(function: &Function, value: Value) -> Option<Scalar> {
    match function.ty(value).kind() {
        TypeKind::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

fn unary(function: &Function, op: UnaryOp, arg: Value) -> Option<Value> {
    match (op, function.def_data(arg)) {
        (
            UnaryOp::FNeg,
            Some(&InstData::Unary {
                op: UnaryOp::FNeg,
                arg: inner,
                ..
            }),
        ) => Some(inner),
        (UnaryOp::Freeze, _) if matches!(function.def(arg), ValueDef::Const(_)) => Some(arg),
        _ => None,
    }
}

/// Both operands constant vectors, element by element.
fn vector_constant(function: &mut Function, op: BinaryOp, [a, b]: [Value; 2]) -> Option<Value> {
    let ty = function.ty(a);
    let TypeKind::Vector(scalar, lanes) = ty.kind() else {
        return None;
    };
    let mut elements = Vec::with_capacity(usize::from(lanes));
    for lane in 0..usize::from(lanes) {
        let x = function.const_element(a, lane)?;
        let y = function.const_element(b, lane)?;
        elements.push(evaluate::binary(op, scalar, x, y)?);
    }
    Some(function.constant_vector(ty, &elements))
}

/// A builtin of constant vectors that works element by element.
fn vector_builtin(
    function: &mut Function,
    inst: Inst,
    call: BuiltinCall,
    args: ValueList,
) -> Option<Value> {
    let info = call.info();
    let by_element = matches!(info.family, Family::Math | Family::Integer);
    let ty = function.result_type(inst);
    let TypeKind::Vector(scalar, lanes) = ty.kind() else {
        return None;
    };
    let args = function.list_values(args).to_vec();
    let same = args.iter().all(|&arg| function.ty(arg) == ty);
    if !by_element || !same || info.fold != Fold::Constant {
        return None;
    }
    let mut elements = Vec::with_capacity(usize::from(lanes));
    for lane in 0..usize::from(lanes) {
        let bits: Option<Vec<u64>> = args
            .iter()
            .map(|&arg| function.const_element(arg, lane))
            .collect();
        elements.push(evaluate_builtin::builtin(call, scalar, &bits?)?);
    }
    Some(function.constant_vector(ty, &elements))
}

/// Laws of arithmetic; constants stand on the right.
fn identity(
    function: &mut Function,
    op: BinaryOp,
    flags: Flags,
    [a, b]: [Value; 2],
) -> Option<Value> {
    let ty = function.ty(a);
    let scalar = ty.element()?;
    if op.is_float() {
        let constant = evaluate::widened(scalar, function.const_splat(b)?)?;
        return match op {
            BinaryOp::FMul | BinaryOp::FDiv if constant == 1.0 && flags.has(Flags::REASSOC) => {
                Some(a)
            }
            BinaryOp::FAdd | BinaryOp::FSub if constant == 0.0 && flags.has(Flags::NSZ) => Some(a),
            BinaryOp::FMul
                if constant == 0.0 && flags.has(Flags::NNAN) && flags.has(Flags::NSZ) =>
            {
                Some(b)
            }
            _ => None,
        };
    }
    if a == b {
        match op {
            BinaryOp::And | BinaryOp::Or => return Some(a),
            BinaryOp::Sub | BinaryOp::Xor => return Some(function.zero(ty)),
            _ => {}
        }
    }
    let constant = function.const_splat(b)?;
    match (op, constant) {
        (
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::LShr
            | BinaryOp::AShr,
            0,
        )
        | (BinaryOp::Mul | BinaryOp::UDiv | BinaryOp::SDiv, 1) => Some(a),
        (BinaryOp::Mul | BinaryOp::And, 0) => Some(b),
        (BinaryOp::URem | BinaryOp::SRem, 1) => Some(function.zero(ty)),
        (BinaryOp::And, all) if all == scalar.mask() => Some(a),
        (BinaryOp::Or, all) if all == scalar.mask() => Some(b),
        _ => None,
    }
}

fn int_compare(function: &mut Function, cond: IntCond, [a, b]: [Value; 2]) -> Option<Value> {
    let scalar = scalar_of(function, a)?;
    let holds = match (bits(function, a), bits(function, b)) {
        (None, Some(0)) if cond == IntCond::Ult => false,
        (None, Some(0)) if cond == IntCond::Uge => true,
        _ if a == b => evaluate::int_compare(cond, scalar, 0, 0),
        // `x != 0` of a truth value is the value itself.
        (None, Some(0)) if scalar == Scalar::I1 && cond == IntCond::Ne => return Some(a),
        _ => return None,
    };
    Some(function.bool(holds))
}

fn cast(function: &Function, op: CastOp, arg: Value, to: Type) -> Option<Value> {
    let from = function.ty(arg);
    if from == to && matches!(op, CastOp::Bitcast | CastOp::SpaceCast | CastOp::FConvert) {
        return Some(arg);
    }
    // There and back again.
    let &InstData::Cast {
        op: first,
        arg: inner,
        ..
    } = function.def_data(arg)?
    else {
        return None;
    };
    let same = function.ty(inner) == to;
    let lossless = matches!(
        (first, op),
        (CastOp::ZExt | CastOp::SExt, CastOp::Trunc)
            | (CastOp::Bitcast, CastOp::Bitcast)
            | (CastOp::PtrToInt, CastOp::IntToPtr)
            | (CastOp::IntToPtr, CastOp::PtrToInt)
    );
    (same && lossless).then_some(inner)
}

/// One element of a vector or matrix, if its origin shows.
fn element(function: &mut Function, vector: Value, lane: usize) -> Option<Value> {
    let ty = Type::scalar(function.ty(vector).element()?);
    if lane >= usize::from(function.ty(vector).lanes()) {
        return None;
    }
    let mut vector = vector;
    let mut lane = lane;
    // Origins form chains of inserts and shuffles; follow a bounded number of links.
    for _ in 0..64 {
        match function.def(vector) {
            ValueDef::ConstVector(_) | ValueDef::Zero => {
                let bits = function.const_element(vector, lane)?;
                return Some(function.constant(ty, bits));
            }
            ValueDef::Undef => return Some(function.undef(ty)),
            _ => {}
        }
        match *function.def_data(vector)? {
            InstData::Construct { args } => return function.list_values(args).get(lane).copied(),
            InstData::Insert {
                vector: rest,
                element,
                index,
            } => {
                let at = function.const_bits(index)?;
                if at == lane as u64 {
                    return Some(element);
                }
                vector = rest;
            }
            InstData::Shuffle { args: [a, b], mask } => {
                let from = *function.indices(mask).get(lane)?;
                if from == UNDEF_LANE {
                    return Some(function.undef(ty));
                }
                let lanes = u32::from(function.ty(a).lanes());
                let (next, at) = if from < lanes {
                    (a, from)
                } else {
                    (b, from - lanes)
                };
                (vector, lane) = (next, at as usize);
            }
            _ => return None,
        }
    }
    None
}

/// A vector put together again from its own elements, or from constants.
fn construct(function: &mut Function, inst: Inst, args: ValueList) -> Option<Value> {
    let ty = function.result_type(inst);
    let TypeKind::Vector(..) = ty.kind() else {
        return None;
    };
    let args = function.list_values(args).to_vec();
    if let Some(bits) = args
        .iter()
        .map(|&arg| function.const_bits(arg))
        .collect::<Option<Vec<_>>>()
    {
        return Some(function.constant_vector(ty, &bits));
    }
    let mut whole = None;
    for (lane, &arg) in args.iter().enumerate() {
        let &InstData::Extract { vector, index } = function.def_data(arg)? else {
            return None;
        };
        let fits = function.const_bits(index) == Some(lane as u64) && function.ty(vector) == ty;
        if !fits || whole.is_some_and(|known| known != vector) {
            return None;
        }
        whole = Some(vector);
    }
    whole
}

/// A part of an aggregate value, if its origin shows.
fn part(function: &Function, aggregate: Value, path: assay_ssa::IndexList) -> Option<Value> {
    let path = function.indices(path);
    let mut aggregate = aggregate;
    for _ in 0..64 {
        match *function.def_data(aggregate)? {
            InstData::Construct { args } if path.len() == 1 => {
                return function.list_values(args).get(path[0] as usize).copied();
            }
            InstData::InsertValue {
                aggregate: rest,
                element,
                path: written,
            } => {
                let written = function.indices(written);
                if written == path {
                    return Some(element);
                }
                let overlap = written.iter().zip(path).all(|(a, b)| a == b);
                if overlap {
                    return None;
                }
                aggregate = rest;
            }
            _ => return None,
        }
    }
    None
}
