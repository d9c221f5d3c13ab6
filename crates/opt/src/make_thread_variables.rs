//! Gives memory to variables of which every thread has its own.
//!
//! Globals in thread memory are those that [`construct_globals`](crate::construct_globals) could not make constant. Once
//! calls are inlined, each becomes an alloca at the start of the kernel, zero at first, as static variables are.

use assay_ssa::{
    Builder, CastOp, Function, IdMap, IdSet, Inst, InstData, Module, Space, Type, Value, ValueDef,
};

/// Replaces the addresses of globals in thread memory by allocas.
pub fn make_thread_variables(module: &Module, function: &mut Function) -> bool {
    let Some(entry) = function.entry() else {
        return false;
    };
    let mut found: Vec<Value> = Vec::new();
    for inst in function.all_insts() {
        function.for_each_operand(inst, |value| {
            if let ValueDef::Global(id) = function.def(value)
                && module
                    .globals
                    .get(id)
                    .is_some_and(|global| global.space == Space::Thread)
                && !found.contains(&value)
            {
                found.push(value);
            }
        });
    }
    if found.is_empty() {
        return false;
    }
    let rest = function.take_insts(entry);
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    for &value in &found {
        replacement[value] = make(module, function, value);
    }
    for inst in rest {
        function.append(entry, inst);
    }
    function.replace_values(&replacement);
    retype(function);
    true
}

fn make(module: &Module, function: &mut Function, value: Value) -> Option<Value> {
    let ValueDef::Global(id) = function.def(value) else {
        return None;
    };
    let global = module.globals.get(id)?;
    let size = module.types.store_size(global.ty);
    let align = global.align.max(1).next_power_of_two();
    let entry = function.entry()?;
    let mut builder = Builder::new(function);
    builder.switch_to(entry);
    let memory = builder.alloca(global.ty, align);
    let data = InstData::MemSet {
        dst: memory,
        byte: builder.constant(Type::I8, 0),
        size: builder.i64(i64::from(size)),
        align_log2: align.ilog2() as u8,
    };
    builder.inst(data, Type::VOID);
    Some(memory)
}

/// Pointers to what was taken for constant memory, as Apple's compiler types them, point to thread memory. Those that are
/// passed on keep their type.
pub(crate) fn retype(function: &mut Function) {
    let thread = Type::pointer(Space::Thread);
    let constant = Type::pointer(Space::Constant);
    let mut passed_on: IdSet<Value> = IdSet::new();
    for inst in function.all_insts() {
        let address = match *function.inst(inst) {
            InstData::Store { value, .. } => {
                passed_on.insert(value);
                continue;
            }
            InstData::Load { .. } | InstData::MemCopy { .. } | InstData::MemSet { .. } => continue,
            InstData::PtrAdd { base, .. } => Some(base),
            InstData::Cast {
                op: CastOp::SpaceCast,
                arg,
                ..
            } => Some(arg),
            _ => None,
        };
        function.for_each_operand(inst, |value| {
            if address != Some(value) {
                passed_on.insert(value);
            }
        });
    }
    let mut changed = true;
    while changed {
        changed = false;
        for inst in function.all_insts().collect::<Vec<Inst>>() {
            let from = match *function.inst(inst) {
                InstData::Cast {
                    op: CastOp::SpaceCast,
                    arg,
                    ..
                } => arg,
                InstData::PtrAdd { base, .. } => base,
                _ => continue,
            };
            if let Some(result) = function.result(inst)
                && function.ty(from) == thread
                && function.ty(result) == constant
                && !passed_on.contains(result)
            {
                function.set_type(result, thread);
                changed = true;
            }
        }
    }
    remove_same_casts(function);
}

/// Removes casts of pointers to what they are.
pub(crate) fn remove_same_casts(function: &mut Function) {
    let mut same: IdMap<Value, Option<Value>> = IdMap::new(None);
    for block in function.blocks().to_vec() {
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| {
            if let InstData::Cast {
                op: CastOp::SpaceCast,
                arg,
                ..
            } = *function.inst(inst)
                && let Some(result) = function.result(inst)
                && function.ty(arg) == function.ty(result)
            {
                same[result] = Some(arg);
                return false;
            }
            true
        });
        function.set_insts(block, insts);
    }
    function.replace_values(&same);
}
