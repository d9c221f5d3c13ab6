//! Rules about the types of operands and results.

use crate::builtin::signature;
use crate::flags::Flags;
use crate::function::Function;
use crate::inst::{
    Callee, CastOp, FunctionId, IndexList, Inst, InstData, UNDEF_LANE, UnaryOp, Value,
};
use crate::memory::AtomicOp;
use crate::module::Module;
use crate::ty::{Aggregate, Scalar, Space, Type, TypeKind};

type Checked = Result<(), String>;

/// Checks operand and result types of an instruction whose operands exist.
pub(super) fn check(module: &Module, function: &Function, inst: Inst) -> Checked {
    let result = function.result_type(inst);
    let ty = |value: Value| function.ty(value);
    match *function.inst(inst) {
        InstData::Unary { op, arg, flags } => {
            same("result", result, ty(arg))?;
            if op == UnaryOp::FNeg && !result.is_float() {
                return Err(format!(
                    "negates {result}, should be a float or float vector"
                ));
            }
            allowed(flags, Flags::FAST)
        }
        InstData::Binary { op, flags, args } => {
            same("operand 1", ty(args[1]), ty(args[0]))?;
            same("result", result, ty(args[0]))?;
            if op.is_float() != result.is_float() || result.lane_type().is_none() {
                let wanted = if op.is_float() { "floats" } else { "integers" };
                return Err(format!("{} works on {wanted}, not {result}", op.name()));
            }
            allowed(flags, op.allowed_flags())
        }
        InstData::Ternary { flags, args, .. } => {
            same("operand 1", ty(args[1]), ty(args[0]))?;
            same("operand 2", ty(args[2]), ty(args[0]))?;
            same("result", result, ty(args[0]))?;
            if !result.is_float() {
                return Err(format!("works on floats, not {result}"));
            }
            allowed(flags, Flags::FAST)
        }
        InstData::IntCompare { args, flags, .. } => {
            same("operand 1", ty(args[1]), ty(args[0]))?;
            allowed(flags, Flags::SAMESIGN)?;
            if !ty(args[0]).is_int() && !ty(args[0]).is_pointer() {
                return Err(format!(
                    "compares {}, should be integers or pointers",
                    ty(args[0])
                ));
            }
            same("result", result, truth(ty(args[0])))
        }
        InstData::FloatCompare { args, flags, .. } => {
            same("operand 1", ty(args[1]), ty(args[0]))?;
            allowed(flags, Flags::FAST)?;
            if !ty(args[0]).is_float() {
                return Err(format!("compares {}, should be floats", ty(args[0])));
            }
            same("result", result, truth(ty(args[0])))
        }
        InstData::Select { cond, args, flags } => {
            same("operand 2", ty(args[1]), ty(args[0]))?;
            same("result", result, ty(args[0]))?;
            allowed(flags, Flags::FAST)?;
            let by_lane = result.is_vector() && ty(cond) == result.with_element(Scalar::I1);
            if ty(cond) == Type::I1 || by_lane {
                Ok(())
            } else {
                Err(format!(
                    "selects by {}, should be i1 or as many i1 as the result has lanes",
                    ty(cond)
                ))
            }
        }
        InstData::Cast { op, arg, flags } => {
            allowed(flags, Flags::FAST | Flags::NNEG | Flags::NUW | Flags::NSW)?;
            check_cast(module, op, ty(arg), result)
        }
        InstData::Extract { vector, index } => {
            index_type(ty(index))?;
            same("result", result, element(ty(vector))?)
        }
        InstData::Insert {
            vector,
            element: new,
            index,
        } => {
            index_type(ty(index))?;
            same("the element", ty(new), element(ty(vector))?)?;
            same("result", result, ty(vector))
        }
        InstData::Shuffle { args, mask } => check_shuffle(function, args, mask, result),
        InstData::Construct { args } => {
            check_construct(module, function, function.list_values(args), result)
        }
        InstData::ExtractValue { aggregate, path } => same(
            "result",
            result,
            part(module, function, ty(aggregate), path)?,
        ),
        InstData::InsertValue {
            aggregate,
            element,
            path,
        } => {
            same(
                "the part",
                ty(element),
                part(module, function, ty(aggregate), path)?,
            )?;
            same("result", result, ty(aggregate))
        }
        InstData::Alloca { ty: stored, align } => {
            known(module, stored)?;
            if stored.is_void() || !align.is_power_of_two() {
                return Err(format!("cannot make room for {stored} aligned to {align}"));
            }
            same("result", result, Type::pointer(Space::Thread))
        }
        InstData::Load { ptr, .. } => {
            pointer(ty(ptr))?;
            known(module, result)?;
            if result.is_void() {
                Err("loads nothing".to_owned())
            } else {
                Ok(())
            }
        }
        InstData::Store { ptr, .. } => {
            pointer(ty(ptr))?;
            if ty(ptr).space() == Some(Space::Constant) {
                return Err("stores to constant memory".to_owned());
            }
            same("result", result, Type::VOID)
        }
        InstData::MemCopy { dst, src, size, .. } => {
            pointer(ty(dst))?;
            pointer(ty(src))?;
            index_type(ty(size))
        }
        InstData::MemSet {
            dst, byte, size, ..
        } => {
            pointer(ty(dst))?;
            same("the byte", ty(byte), Type::I8)?;
            index_type(ty(size))
        }
        InstData::PtrAdd {
            base, index, flags, ..
        } => {
            pointer(ty(base))?;
            same("result", result, ty(base))?;
            if let Some(index) = index {
                index_type(ty(index))?;
            }
            allowed(flags, Flags::INBOUNDS | Flags::NUW | Flags::NSW)
        }
        InstData::AtomicRmw {
            op,
            ptr,
            value,
            access,
        } => {
            pointer(ty(ptr))?;
            atomic_type(ty(value), op)?;
            if !access.is_atomic() {
                return Err("is not atomic".to_owned());
            }
            if result.is_void() {
                Ok(())
            } else {
                same("result", result, ty(value))
            }
        }
        InstData::AtomicCompareExchange {
            ptr,
            expected,
            desired,
            access,
        } => {
            pointer(ty(ptr))?;
            same("the new value", ty(desired), ty(expected))?;
            if !access.is_atomic() {
                return Err("is not atomic".to_owned());
            }
            same("result", result, ty(expected))
        }
        InstData::Call {
            callee,
            args,
            flags,
        } => {
            allowed(flags, Flags::FAST)?;
            check_call(module, function, callee, function.list_values(args), result)
        }
        InstData::Jump { .. }
        | InstData::Branch { .. }
        | InstData::Switch { .. }
        | InstData::Return { .. }
        | InstData::Unreachable => same("result", result, Type::VOID),
    }
}

fn same(what: &str, given: Type, wanted: Type) -> Checked {
    if given == wanted {
        Ok(())
    } else {
        Err(format!("{what} is {given}, should be {wanted}"))
    }
}

fn allowed(flags: Flags, allowed: Flags) -> Checked {
    let wrong = flags.without(allowed);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("may not carry the flags{wrong}"))
    }
}

fn truth(ty: Type) -> Type {
    if ty.is_pointer() {
        Type::I1
    } else {
        ty.with_element(Scalar::I1)
    }
}

fn pointer(ty: Type) -> Checked {
    if ty.is_pointer() {
        Ok(())
    } else {
        Err(format!("the address is {ty}, should be a pointer"))
    }
}

fn index_type(ty: Type) -> Checked {
    match ty.kind() {
        TypeKind::Scalar(scalar) if scalar.is_int() => Ok(()),
        _ => Err(format!("the index or size is {ty}, should be an integer")),
    }
}

fn element(ty: Type) -> Result<Type, String> {
    match ty.kind() {
        TypeKind::Vector(scalar, _) | TypeKind::Matrix(scalar) => Ok(Type::scalar(scalar)),
        _ => Err(format!(
            "{ty} has no elements, should be a vector or matrix"
        )),
    }
}

fn known(module: &Module, ty: Type) -> Checked {
    match ty.kind() {
        TypeKind::Aggregate(id) if module.types.get(id).is_none() => {
            Err(format!("type {ty} does not exist"))
        }
        _ => Ok(()),
    }
}

fn atomic_type(ty: Type, op: AtomicOp) -> Checked {
    let fits = match ty.kind() {
        TypeKind::Scalar(scalar) => op == AtomicOp::Exchange || scalar.is_float() == op.is_float(),
        TypeKind::Pointer(_) => op == AtomicOp::Exchange,
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("cannot {} {ty} atomically", op.name()))
    }
}

fn check_cast(module: &Module, op: CastOp, from: Type, to: Type) -> Checked {
    let wrong = || Err(format!("{} cannot make {to} from {from}", op.name()));
    let shape = from.lanes() == to.lanes() && !from.is_matrix() && !to.is_matrix();
    let scalars = (from.lane_type(), to.lane_type());
    let fits = match (op, scalars) {
        (CastOp::Trunc, (Some(a), Some(b))) => {
            shape && a.is_int() && b.is_int() && a.bits() > b.bits()
        }
        (CastOp::ZExt | CastOp::SExt, (Some(a), Some(b))) => {
            shape && a.is_int() && b.is_int() && a.bits() < b.bits()
        }
        (CastOp::FConvert, (Some(a), Some(b))) => shape && a.is_float() && b.is_float() && a != b,
        (CastOp::FToU | CastOp::FToS, (Some(a), Some(b))) => shape && a.is_float() && b.is_int(),
        (CastOp::UToF | CastOp::SToF, (Some(a), Some(b))) => shape && a.is_int() && b.is_float(),
        (CastOp::PtrToInt, (None, Some(b))) => from.is_pointer() && b.is_int() && to.lanes() == 1,
        (CastOp::IntToPtr, (Some(a), None)) => a.is_int() && from.lanes() == 1 && to.is_pointer(),
        (CastOp::SpaceCast, _) => from.is_pointer() && to.is_pointer() && from != to,
        (CastOp::Bitcast, _) => bits_fit(module, from, to),
        _ => false,
    };
    if fits { Ok(()) } else { wrong() }
}

fn bits_fit(module: &Module, from: Type, to: Type) -> bool {
    let bits = |ty: Type| match ty.kind() {
        TypeKind::Vector(Scalar::I1, lanes) => u32::from(lanes),
        TypeKind::Scalar(Scalar::I1) => 1,
        _ => module.types.store_size(ty) * 8,
    };
    match (from.kind(), to.kind()) {
        // The thread's two elements of a matrix, as a vector.
        (TypeKind::Vector(a, 2), TypeKind::Matrix(b))
        | (TypeKind::Matrix(a), TypeKind::Vector(b, 2)) => a == b,
        (TypeKind::Matrix(_), _) | (_, TypeKind::Matrix(_)) => false,
        (TypeKind::Void | TypeKind::Aggregate(_), _)
        | (_, TypeKind::Void | TypeKind::Aggregate(_)) => false,
        (TypeKind::Pointer(_), TypeKind::Pointer(_)) => false,
        _ => bits(from) == bits(to),
    }
}

fn check_shuffle(function: &Function, args: [Value; 2], mask: IndexList, result: Type) -> Checked {
    let ty = function.ty(args[0]);
    same("operand 1", function.ty(args[1]), ty)?;
    let Some(scalar) = ty.lane_type() else {
        return Err(format!("shuffles {ty}, should be vectors"));
    };
    let mask = function.indices(mask);
    let lanes = u32::from(ty.lanes()) * 2;
    if let Some(lane) = mask
        .iter()
        .find(|&&lane| lane >= lanes && lane != UNDEF_LANE)
    {
        return Err(format!("the mask names element {lane} of {lanes}"));
    }
    let fits = !mask.is_empty() && mask.len() <= usize::from(crate::ty::MAX_VECTOR_LANES);
    if !fits {
        return Err(format!("the mask has {} elements", mask.len()));
    }
    same("result", result, Type::vector(scalar, mask.len() as u8))
}

fn check_construct(module: &Module, function: &Function, args: &[Value], result: Type) -> Checked {
    known(module, result)?;
    let wanted: Vec<Type> = match result.kind() {
        TypeKind::Vector(scalar, lanes) => vec![Type::scalar(scalar); usize::from(lanes)],
        TypeKind::Matrix(scalar) => vec![Type::scalar(scalar); 2],
        TypeKind::Aggregate(id) => match module.types.get(id) {
            Some(Aggregate::Array { element, len, .. }) => {
                if args.len() != *len as usize {
                    return Err(format!("has {} parts, {result} has {len}", args.len()));
                }
                vec![*element; args.len()]
            }
            Some(Aggregate::Struct { fields, .. }) => fields.iter().map(|field| field.ty).collect(),
            None => return Err(format!("type {result} does not exist")),
        },
        _ => return Err(format!("{result} has no parts to construct it of")),
    };
    if args.len() != wanted.len() {
        return Err(format!(
            "has {} parts, {result} has {}",
            args.len(),
            wanted.len()
        ));
    }
    for (index, (&arg, wanted)) in args.iter().zip(wanted).enumerate() {
        same(&format!("part {index}"), function.ty(arg), wanted)?;
    }
    Ok(())
}

fn part(
    module: &Module,
    function: &Function,
    aggregate: Type,
    path: IndexList,
) -> Result<Type, String> {
    let path = function.indices(path);
    if path.is_empty() || !aggregate.is_aggregate() {
        return Err(format!(
            "takes a part of {aggregate}, should be an aggregate, by a path"
        ));
    }
    let mut ty = aggregate;
    for &index in path {
        ty = match module.types.element_at(ty, index) {
            Some((part, _)) if ty.is_aggregate() => part,
            _ => return Err(format!("{ty} has no part {index}")),
        };
    }
    Ok(ty)
}

fn check_call(
    module: &Module,
    function: &Function,
    callee: Callee,
    args: &[Value],
    result: Type,
) -> Checked {
    match callee {
        Callee::Function(id) => check_function_call(module, function, id, args, result),
        Callee::Builtin(call) => {
            let mut types = [Type::VOID; 16];
            let Some(types) = types.get_mut(..args.len()) else {
                return Err(format!("{call} does not take {} arguments", args.len()));
            };
            for (slot, &arg) in types.iter_mut().zip(args) {
                *slot = function.ty(arg);
            }
            signature::check(call.info().signature, types, result)
                .map_err(|mismatch| format!("{call}: {mismatch}"))
        }
        Callee::Unknown(symbol) if module.symbols.get(symbol).is_none() => {
            Err(format!("calls {symbol}, which does not exist"))
        }
        Callee::Unknown(_) => Ok(()),
    }
}

fn check_function_call(
    module: &Module,
    function: &Function,
    id: FunctionId,
    args: &[Value],
    result: Type,
) -> Checked {
    let Some(callee) = module.functions.get(id) else {
        return Err(format!("calls {id}, which does not exist"));
    };
    let params = callee.entry().map_or(&[][..], |entry| callee.params(entry));
    if params.len() != args.len() {
        return Err(format!(
            "passes {} arguments to \"{}\", which takes {}",
            args.len(),
            callee.name,
            params.len()
        ));
    }
    for (index, (&param, &arg)) in params.iter().zip(args).enumerate() {
        same(
            &format!("argument {index}"),
            function.ty(arg),
            callee.ty(param),
        )?;
    }
    same("result", result, callee.ret)
}
