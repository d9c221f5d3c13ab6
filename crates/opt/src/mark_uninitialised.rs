//! Says what a variable holds before anything is stored to it.
//!
//! Once `promote_memory` has run, a variable that was never set is an undefined value, and passes make of it what they
//! like. In a program that is to be checked every variable starts as the result of the builtin `uninitialised`, stored where
//! its life begins (or where it is made, if the front end does not say) and again where it ends, so that a pointer that is
//! used later finds nothing: a value like any other, that nothing folds.
//! [`expect_defined`](crate::expect_defined) follows it from there.

use assay_ssa::builtin::Builtin;
use assay_ssa::{
    Access, Aggregate, Aggregates, Builder, Callee, Flags, Function, IdSet, Inst, InstData, Module,
    Type, Value,
};

/// The most parts a variable is marked in; larger arrays stay in memory, where reads are watched.
const MOST_PARTS: usize = 1024;

/// Marks the contents of all variables.
pub fn mark_uninitialised(module: &Module, function: &mut Function) -> bool {
    let with_start = started(function);
    let mut changed = false;
    for block in function.blocks().to_vec() {
        for inst in function.take_insts(block) {
            let started = edge_of_life(function, inst, Builtin::LifetimeStart);
            let ended = edge_of_life(function, inst, Builtin::LifetimeEnd);
            let variable = match started.or(ended) {
                Some(pointer) => alloca_of(function, pointer),
                None => {
                    function.append(block, inst);
                    let made = matches!(function.inst(inst), InstData::Alloca { .. });
                    (made && !with_start.contains(inst)).then_some(inst)
                }
            };
            let Some((variable, ty)) = variable.and_then(|inst| typed(function, inst)) else {
                continue;
            };
            let loc = function.loc(inst);
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            builder.set_loc(loc);
            mark(&mut builder, &module.types, variable, ty);
            changed = true;
        }
    }
    changed
}

/// The variables whose life the program says the start of.
fn started(function: &Function) -> IdSet<Inst> {
    let mut set = IdSet::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let pointer = edge_of_life(function, inst, Builtin::LifetimeStart);
            if let Some(alloca) = pointer.and_then(|pointer| alloca_of(function, pointer)) {
                set.insert(alloca);
            }
        }
    }
    set
}

/// The pointer whose variable begins or ceases to live with an instruction.
fn edge_of_life(function: &Function, inst: Inst, of: Builtin) -> Option<Value> {
    match *function.inst(inst) {
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } if call.builtin == of => function.list_values(args).first().copied(),
        _ => None,
    }
}

/// The variable a pointer points to the start or the inside of.
pub(crate) fn alloca_of(function: &Function, mut pointer: Value) -> Option<Inst> {
    loop {
        let inst = function.def_inst(pointer)?;
        pointer = match *function.inst(inst) {
            InstData::Alloca { .. } => return Some(inst),
            InstData::PtrAdd { base, .. } => base,
            InstData::Cast { arg, .. } if function.ty(arg).is_pointer() => arg,
            _ => return None,
        };
    }
}

fn typed(function: &Function, alloca: Inst) -> Option<(Value, Type)> {
    match *function.inst(alloca) {
        InstData::Alloca { ty, .. } => Some((function.result(alloca)?, ty)),
        _ => None,
    }
}

fn mark(builder: &mut Builder<'_>, types: &Aggregates, variable: Value, ty: Type) {
    let mut parts = Vec::new();
    if !find_parts(types, ty, 0, &mut parts) {
        return;
    }
    for (offset, ty) in parts {
        let pointer = match offset {
            0 => variable,
            _ => builder.ptr_add(variable, None, 1, i64::from(offset), Flags::INBOUNDS),
        };
        let contents = builder.builtin(Builtin::Uninitialised.call(), &[], ty);
        if let Some(contents) = contents {
            builder.store(pointer, contents, Access::aligned(types.align(ty)));
        }
    }
}

/// Lists the scalars, vectors, pointers and matrices of a type. Returns false if there are too many.
fn find_parts(types: &Aggregates, ty: Type, offset: u32, parts: &mut Vec<(u32, Type)>) -> bool {
    if parts.len() >= MOST_PARTS {
        return false;
    }
    match types.of(ty) {
        None => {
            parts.push((offset, ty));
            true
        }
        Some(Aggregate::Array {
            element,
            len,
            stride,
        }) => (0..*len).all(|index| {
            let offset = offset.saturating_add(index.saturating_mul(*stride));
            find_parts(types, *element, offset, parts)
        }),
        Some(Aggregate::Struct { fields, .. }) => fields
            .iter()
            .all(|field| find_parts(types, field.ty, offset.saturating_add(field.offset), parts)),
    }
}
