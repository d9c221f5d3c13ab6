//! Address-space inference: gives generic pointers the space of what they point at.
//!
//! Pointers from clang know no address space; the kernel's arguments, the allocas and the globals do. The space flows
//! from these roots through pointer arithmetic, selects, block parameters, calls and casts to every pointer derived
//! from them. A pointer that can come from two spaces stays generic.
//!
//! Source overloaded by address space asks by the call [`SPACE_QUESTION`] which space a pointer has; once that is known
//! the call becomes a number.
//!
//! A pointer made of an integer that is not itself made of a pointer is a device pointer: an address the host gave.
//!
//! A pointer *loaded* from device or constant memory is a device pointer: nothing else can have been put there before
//! the dispatch. One loaded from an array of the thread has the space of the pointers that were stored there, if the
//! array's address goes nowhere else.

use super::held_pointers::{Held, HeldPointers};
use crate::flags::Flags;
use crate::function::{Function, ValueDef};
use crate::id::{Id, IdMap};
use crate::inst::{Block, Callee, FunctionId, Inst, InstData, Value};
use crate::module::Module;
use crate::ops::CastOp;
use crate::ty::{Space, Type};

/// The call by which our front end asks for the address space of a pointer. The answer is Apple's number for it.
pub const SPACE_QUESTION: &str = "assay.space";

/// What inference found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpaceReport {
    /// Pointers that were generic and have a space now.
    pub resolved: usize,
    /// Pointers that stay generic.
    pub generic: usize,
}

/// What is known of a pointer while spaces flow: nothing yet, one space, or several (generic).
type Known = Option<Space>;

/// Infers the spaces of all pointers of a module and rewrites types and casts accordingly.
pub fn infer(module: &mut Module) -> SpaceReport {
    let mut spaces: Vec<IdMap<Value, Known>> = Vec::new();
    for (_, function) in module.functions.iter() {
        spaces.push(roots(function));
    }
    for kernel in &module.kernels {
        kernel_roots(module, kernel, &mut spaces);
    }
    let held: Vec<HeldPointers> = module
        .functions
        .iter()
        .map(|(_, function)| HeldPointers::new(function))
        .collect();
    while flow_all(module, &held, &mut spaces) {}
    let mut report = SpaceReport::default();
    let ids: Vec<FunctionId> = module.functions.ids().collect();
    for id in ids.iter().copied() {
        rewrite_types(&mut module.functions[id], &spaces[id.index()], &mut report);
    }
    for id in ids {
        repair(module, id);
    }
    report
}

/// Pointers whose space is known from their own type or definition.
fn roots(function: &Function) -> IdMap<Value, Known> {
    let mut known = IdMap::with_len(None, function.num_values());
    for index in 0..function.num_values() {
        let value = Value::from_index(index);
        if let Some(space) = function
            .ty(value)
            .space()
            .filter(|&space| space != Space::Generic)
        {
            known[value] = Some(space);
        }
    }
    known
}

/// A generic parameter of a kernel that carries a buffer of a known space.
fn kernel_roots(module: &Module, kernel: &crate::Kernel, spaces: &mut [IdMap<Value, Known>]) {
    let Some(function) = module.functions.get(kernel.function) else {
        return;
    };
    let Some(entry) = function.entry() else {
        return;
    };
    for argument in &kernel.arguments {
        let param = argument
            .param
            .and_then(|index| function.params(entry).get(index as usize));
        let space = match argument.binding {
            crate::Binding::Threadgroup(_) => Some(Space::Threadgroup),
            crate::Binding::Buffer(_) => argument.space.or(Some(Space::Device)),
            _ => argument.space,
        };
        if let (Some(&param), Some(space)) = (param, space)
            && function.ty(param) == Type::pointer(Space::Generic)
            && let Some(map) = spaces.get_mut(kernel.function.index())
        {
            map[param] = Some(space);
        }
    }
}

fn flow_all(module: &Module, held: &[HeldPointers], spaces: &mut [IdMap<Value, Known>]) -> bool {
    let mut changed = false;
    for (id, function) in module.functions.iter() {
        let Some(own) = held.get(id.index()) else {
            continue;
        };
        let mut known = std::mem::replace(&mut spaces[id.index()], IdMap::new(None));
        let mut calls: Vec<(FunctionId, usize, Known)> = Vec::new();
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                changed |= flow(module, function, inst, own, &mut known, spaces, &mut calls);
            }
        }
        for held in own.iter() {
            changed |= flow_through(function, held, &mut known);
        }
        spaces[id.index()] = known;
        for (callee, index, space) in calls {
            let param = module.functions.get(callee).and_then(|callee| {
                callee
                    .entry()
                    .and_then(|entry| callee.params(entry).get(index).copied())
            });
            if let Some(param) = param {
                let is_generic = module.functions[callee].ty(param).space() == Some(Space::Generic);
                changed |= is_generic && join(&mut spaces[callee.index()], param, space);
            }
        }
    }
    changed
}

/// From the pointers stored in thread memory to those loaded.
fn flow_through(function: &Function, held: &Held, known: &mut IdMap<Value, Known>) -> bool {
    let spaces = held.stored.iter().filter_map(|&stored| known[stored]);
    let joined = spaces.reduce(|a, b| if a == b { a } else { Space::Generic });
    let mut changed = false;
    for &loaded in &held.loaded {
        changed |= is_generic(function, loaded) && join(known, loaded, joined);
    }
    changed
}

/// Adds a possible space to a pointer; true when that was news.
fn join(known: &mut IdMap<Value, Known>, value: Value, space: Known) -> bool {
    let joined = match (known[value], space) {
        (old, None) => old,
        (None, new) => new,
        (old, new) if old == new => old,
        _ => Some(Space::Generic),
    };
    let news = joined != known[value];
    if news {
        known[value] = joined;
    }
    news
}

fn flow(
    module: &Module,
    function: &Function,
    inst: Inst,
    own: &HeldPointers,
    known: &mut IdMap<Value, Known>,
    others: &[IdMap<Value, Known>],
    calls: &mut Vec<(FunctionId, usize, Known)>,
) -> bool {
    let mut changed = false;
    function.for_each_target(inst, |call| {
        let params = function.params(call.block);
        for (&param, &arg) in params.iter().zip(function.list_values(call.args)) {
            if is_generic(function, param) {
                changed |= join(known, param, known[arg]);
            }
        }
    });
    if let InstData::Call {
        callee: Callee::Function(callee),
        args,
        ..
    } = *function.inst(inst)
    {
        for (index, &arg) in function.list_values(args).iter().enumerate() {
            if function.ty(arg).is_pointer() {
                calls.push((callee, index, known[arg]));
            }
        }
    }
    let Some(result) = function
        .result(inst)
        .filter(|&result| is_generic(function, result))
    else {
        return changed;
    };
    let space = match *function.inst(inst) {
        InstData::PtrAdd { base, .. } => known[base],
        InstData::Cast {
            op: CastOp::SpaceCast,
            arg,
            ..
        }
        | InstData::Unary { arg, .. } => known[arg],
        InstData::Select { args: [a, b], .. } => {
            changed |= join(known, result, known[a]);
            known[b]
        }
        InstData::Cast {
            op: CastOp::IntToPtr,
            arg,
            ..
        } => origin(function, arg).map_or(Some(Space::Device), |pointer| known[pointer]),
        InstData::Load { ptr, .. } => match known[ptr] {
            Some(Space::Device | Space::Constant) => Some(Space::Device),
            Some(_) if !own.is_loaded(result) => Some(Space::Generic),
            _ => None,
        },
        InstData::Call {
            callee: Callee::Function(callee),
            ..
        } => returned(module, callee, others, known),
        _ => Some(Space::Generic),
    };
    changed | join(known, result, space)
}

/// Steps from an integer back to the pointer it was computed from.
const MAX_STEPS: usize = 16;

/// The pointer whose address an integer was computed from, such as one rounded to a multiple. An integer that came from
/// elsewhere is an address the host program gave: of device memory, as nothing else has addresses outside a dispatch.
fn origin(function: &Function, integer: Value) -> Option<Value> {
    let mut at = integer;
    for _ in 0..MAX_STEPS {
        at = match *function.def_data(at)? {
            InstData::Cast {
                op: CastOp::PtrToInt,
                arg,
                ..
            } => return Some(arg),
            InstData::Cast { arg, .. } => arg,
            InstData::Binary { args: [a, b], .. } => match function.is_constant(a) {
                true => b,
                false => a,
            },
            _ => return None,
        };
    }
    None
}

fn is_generic(function: &Function, value: Value) -> bool {
    function.ty(value) == Type::pointer(Space::Generic)
}

/// The space of the pointers a function returns.
fn returned(
    module: &Module,
    callee: FunctionId,
    others: &[IdMap<Value, Known>],
    own: &IdMap<Value, Known>,
) -> Known {
    let function = module.functions.get(callee)?;
    // The map of the function being walked is taken out of the others; a recursive call uses it directly.
    let spaces = others.get(callee.index()).unwrap_or(own);
    returned_space(function, spaces)
}

fn returned_space(function: &Function, spaces: &IdMap<Value, Known>) -> Known {
    let mut result: Known = None;
    for &block in function.blocks() {
        let last = function.terminator(block)?;
        if let InstData::Return { value: Some(value) } = *function.inst(last) {
            result = match (result, spaces[value]) {
                (known, None) | (None, known) => known,
                (a, b) if a == b => a,
                _ => Some(Space::Generic),
            };
        }
    }
    result
}

fn rewrite_types(function: &mut Function, known: &IdMap<Value, Known>, report: &mut SpaceReport) {
    for index in 0..function.num_values() {
        let value = Value::from_index(index);
        let movable = matches!(
            function.def(value),
            ValueDef::Result(_) | ValueDef::Param(..)
        );
        if !is_generic(function, value) || !movable {
            continue;
        }
        match known[value].filter(|&space| space != Space::Generic) {
            Some(space) => {
                function.set_type(value, Type::pointer(space));
                report.resolved += 1;
            }
            None => report.generic += 1,
        }
    }
    if function.ret == Type::pointer(Space::Generic)
        && let Some(space) = returned_space(function, known)
    {
        function.ret = Type::pointer(space);
    }
}

/// Removes casts that changed nothing and adds those needed where a known space meets a generic pointer.
fn repair(module: &mut Module, id: FunctionId) {
    let mut function = std::mem::replace(&mut module.functions[id], Function::new("", Type::VOID));
    let mut replaced: IdMap<Value, Option<Value>> = IdMap::with_len(None, function.num_values());
    for position in 0..function.blocks().len() {
        let block = function.blocks()[position];
        let insts = function.take_insts(block);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            if let (
                InstData::Cast {
                    op: CastOp::SpaceCast,
                    arg,
                    ..
                },
                Some(result),
            ) = (*function.inst(inst), function.result(inst))
                && function.ty(arg) == function.ty(result)
            {
                replaced[result] = Some(arg);
                continue;
            }
            if let Some((result, number)) = answer(module, &function, inst) {
                replaced[result] = Some(function.constant(function.ty(result), number));
                continue;
            }
            adapt(module, &mut function, id, inst, &mut kept);
            kept.push(inst);
        }
        function.set_insts(block, kept);
    }
    function.replace_values(&replaced);
    module.functions[id] = function;
}

/// The result of a question for the address space of a pointer, and the answer if it is known.
fn answer(module: &Module, function: &Function, inst: Inst) -> Option<(Value, u64)> {
    let InstData::Call {
        callee: Callee::Unknown(symbol),
        args,
        ..
    } = *function.inst(inst)
    else {
        return None;
    };
    if module.symbols.get(symbol).map(String::as_str) != Some(SPACE_QUESTION) {
        return None;
    }
    let &[pointer] = function.list_values(args) else {
        return None;
    };
    let number = match function.ty(pointer).space()? {
        Space::Thread => 0,
        Space::Device => 1,
        Space::Constant => 2,
        Space::Threadgroup => 3,
        _ => return None,
    };
    Some((function.result(inst)?, number))
}

/// Makes the operands of one instruction fit its types again.
fn adapt(
    module: &Module,
    function: &mut Function,
    own: FunctionId,
    inst: Inst,
    before: &mut Vec<Inst>,
) {
    match *function.inst(inst) {
        InstData::PtrAdd { base, .. } | InstData::Unary { arg: base, .. } => {
            if let Some(result) = function
                .result(inst)
                .filter(|&r| function.ty(r).is_pointer())
            {
                let wanted = function.ty(result);
                let base = cast_to(function, base, wanted, before);
                function.set_operand(inst, 0, base);
            }
        }
        InstData::Select { args: [a, b], .. } if function.ty(a).is_pointer() => {
            let wanted = function.result_type(inst);
            let (a, b) = (
                cast_to(function, a, wanted, before),
                cast_to(function, b, wanted, before),
            );
            function.set_operand(inst, 1, a);
            function.set_operand(inst, 2, b);
        }
        InstData::IntCompare { args: [a, b], .. } if function.ty(a) != function.ty(b) => {
            let wanted = Type::pointer(Space::Generic);
            let constant = |v: Value| function.is_constant(v);
            let wanted = match (constant(a), constant(b)) {
                (true, _) => function.ty(b),
                (_, true) => function.ty(a),
                _ => wanted,
            };
            let (a, b) = (
                cast_to(function, a, wanted, before),
                cast_to(function, b, wanted, before),
            );
            function.set_operand(inst, 0, a);
            function.set_operand(inst, 1, b);
        }
        InstData::Construct { args } => {
            let ty = function.result_type(inst);
            for index in 0..function.list_values(args).len() {
                let Some((wanted, _)) = module.types.element_at(ty, index as u32) else {
                    continue;
                };
                let part = cast_to(function, function.list_values(args)[index], wanted, before);
                function.set_operand(inst, index, part);
            }
        }
        InstData::InsertValue { element, path, .. } => {
            let mut wanted = Some(function.result_type(inst));
            for &index in function.indices(path) {
                wanted = wanted
                    .and_then(|ty| module.types.element_at(ty, index))
                    .map(|(ty, _)| ty);
            }
            if let Some(wanted) = wanted {
                let element = cast_to(function, element, wanted, before);
                function.set_operand(inst, 1, element);
            }
        }
        InstData::AtomicRmw { value, .. } if function.ty(value).is_pointer() => {
            let wanted = function.result_type(inst);
            let value = cast_to(function, value, wanted, before);
            function.set_operand(inst, 1, value);
        }
        InstData::Return { value: Some(value) } if function.ty(value) != function.ret => {
            let wanted = function.ret;
            let value = cast_to(function, value, wanted, before);
            function.set_operand(inst, 0, value);
        }
        InstData::Call {
            callee: Callee::Function(callee),
            args,
            ..
        } => {
            let wanted: Vec<Type> = if callee == own {
                param_types(function)
            } else {
                module
                    .functions
                    .get(callee)
                    .map(param_types)
                    .unwrap_or_default()
            };
            let args = function.list_values(args).to_vec();
            for (index, (arg, wanted)) in args.into_iter().zip(wanted).enumerate() {
                let arg = cast_to(function, arg, wanted, before);
                function.set_operand(inst, index, arg);
            }
        }
        _ => adapt_targets(function, inst, before),
    }
}

fn param_types(function: &Function) -> Vec<Type> {
    let params = function
        .entry()
        .map_or(&[][..], |entry: Block| function.params(entry));
    params.iter().map(|&param| function.ty(param)).collect()
}

fn adapt_targets(function: &mut Function, inst: Inst, before: &mut Vec<Inst>) {
    if !function.inst(inst).is_terminator() {
        return;
    }
    let mut calls = Vec::new();
    function.for_each_target(inst, |call| calls.push(call));
    for call in calls {
        for index in 0..function.params(call.block).len() {
            let wanted = function.ty(function.params(call.block)[index]);
            let Some(&arg) = function.list_values(call.args).get(index) else {
                continue;
            };
            let fitting = cast_to(function, arg, wanted, before);
            function.list_values_mut(call.args)[index] = fitting;
        }
    }
}

/// The value as a pointer of this type: itself, a constant of that type, or a cast added before.
fn cast_to(function: &mut Function, value: Value, wanted: Type, before: &mut Vec<Inst>) -> Value {
    let ty = function.ty(value);
    if ty == wanted || !ty.is_pointer() || !wanted.is_pointer() {
        return value;
    }
    match function.def(value) {
        ValueDef::Const(bits) => return function.constant(wanted, bits),
        ValueDef::Undef => return function.undef(wanted),
        _ => {}
    }
    let data = InstData::Cast {
        op: CastOp::SpaceCast,
        flags: Flags::NONE,
        arg: value,
    };
    let inst = function.make_inst(data, wanted, None);
    before.push(inst);
    function.result(inst).unwrap_or(value)
}
