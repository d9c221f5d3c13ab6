//! Gives variables outside functions the contents their constructors make.
//!
//! `constant float3x3 m = float3x3(…)` is more than its compiler folds: the module holds zeros, and a function that makes
//! the matrix. That function is run here, at compile time (`machine`), and the variable becomes constant data. A static
//! variable of a function is constructed where control first comes by, behind a guard; that part of the function is run
//! in the same way, and then skipped.
//!
//! What cannot be known at compile time, because it depends on a function constant without a value, stays a variable: of
//! every thread, constructed by calls at the start of each kernel
//! ([`make_thread_variables`](crate::make_thread_variables) gives it memory).

mod guarded_parts;
mod image;
mod machine;
mod prune;

use crate::make_thread_variables::{remove_same_casts, retype};
use crate::simplify_cfg::remove_unreached;
use assay_ssa::{
    Block, BlockCall, Callee, Flags, Function, FunctionId, Global, GlobalData, GlobalId, Id, IdMap,
    IdSet, IdVec, InstData, Module, Space, Type, Value, ValueDef,
};
use machine::Machine;

/// What a module says about the construction of its variables, which are its globals in thread memory.
#[derive(Clone, Debug, Default)]
pub struct Constructors {
    /// Functions to run before a kernel, in order.
    pub functions: Vec<FunctionId>,
    /// Variables that say whether another was constructed: zero until then.
    pub guards: Vec<GlobalId>,
}

/// Runs constructors. Kernels call those whose variables are not known afterwards.
pub fn construct_globals(module: &mut Module, constructors: &Constructors) {
    if !module.globals.ids().any(|id| is_variable(module, id)) {
        return;
    }
    let kernels: Vec<FunctionId> = module.kernels.iter().map(|k| k.function).collect();
    let used: IdSet<FunctionId> = set(prune::reached(module, &kernels));
    let all = prune::reached(module, &constructors.functions);
    let own: IdSet<FunctionId> = set(all.into_iter().filter(|&id| !used.contains(id)));
    prune::prune(module, &constructors.functions, &own);

    let outcome = run_all(module, constructors, &used);
    for (id, skipped) in &outcome.skipped {
        skip(&mut module.functions[*id], skipped);
    }
    let mut open: IdSet<GlobalId> = IdSet::new();
    for id in used.iter() {
        open.union(&mentioned(&module.functions[id]));
    }
    for (global, _) in &outcome.known {
        open.remove(*global);
    }
    let is_open = open.iter().any(|global| is_variable(module, global));
    let constants = make_constants(module, outcome.known, is_open);
    for id in used.iter() {
        replace_globals(&mut module.functions[id], &constants);
    }
    if is_open {
        for function in module.functions.as_mut_slice() {
            retype(function);
        }
        for &kernel in &kernels {
            let asks = prune::reached(module, &[kernel]).into_iter().any(|id| {
                let mentioned = mentioned(&module.functions[id]);
                mentioned.iter().any(|global| is_variable(module, global))
            });
            if asks {
                call_first(&mut module.functions[kernel], &constructors.functions);
            }
        }
    } else {
        remove_last(module, &own);
    }
}

fn set(ids: impl IntoIterator<Item = FunctionId>) -> IdSet<FunctionId> {
    let mut set = IdSet::new();
    for id in ids {
        set.insert(id);
    }
    set
}

/// Removes functions nobody calls, if they are the last.
fn remove_last(module: &mut Module, unused: &IdSet<FunctionId>) {
    let mut ids = module.functions.ids();
    let last = ids.rfind(|&id| !unused.contains(id));
    let count = last.map_or(0, |id| id.index() + 1);
    let mut functions = IdVec::new();
    for function in module.functions.as_mut_slice().iter_mut().take(count) {
        functions.push(std::mem::replace(function, Function::new("", Type::VOID)));
    }
    module.functions = functions;
}

/// Returns true if a global is under construction.
fn is_variable(module: &Module, global: GlobalId) -> bool {
    let global = module.globals.get(global);
    global.is_some_and(|global| global.space == Space::Thread)
}

/// The globals whose addresses a function takes.
fn mentioned(function: &Function) -> IdSet<GlobalId> {
    let mut found = IdSet::new();
    for inst in function.all_insts() {
        function.for_each_operand(inst, |value| {
            if let ValueDef::Global(global) = function.def(value) {
                found.insert(global);
            }
        });
    }
    found
}

/// What running the constructors has shown.
struct Outcome {
    /// The contents of variables that are known now.
    known: Vec<(GlobalId, Vec<u8>)>,
    /// Decisions by guards that are known now, by function: at the end of a block, where it goes.
    skipped: Vec<(FunctionId, Vec<(Block, BlockCall)>)>,
}

fn run_all(module: &Module, constructors: &Constructors, used: &IdSet<FunctionId>) -> Outcome {
    let mut machine = Machine::new(module);
    let mut doubtful: IdSet<GlobalId> = IdSet::new();
    for &function in &constructors.functions {
        if machine.call(function, Vec::new()).is_err() {
            for id in prune::reached(module, &[function]) {
                doubtful.union(&mentioned(&module.functions[id]));
            }
            for global in doubtful.iter() {
                machine.forget(global);
            }
        }
    }
    let mut parts = Vec::new();
    for id in used.iter() {
        let function = &module.functions[id];
        let guarded = guarded_parts::find(function, &constructors.guards);
        match guarded_parts::all_found(function, &constructors.guards, &guarded) {
            true => parts.extend(guarded.into_iter().map(|part| (id, part))),
            // What is guarded in a way that is not understood is not known.
            false => {
                doubtful.union(&mentioned(function));
            }
        }
    }
    for (id, part) in &parts {
        if part.run(&mut machine, &module.functions[*id]).is_none() {
            doubtful.union(&part.mentioned);
        }
    }
    let contents = |machine: &mut Machine<'_>, global: GlobalId| {
        let contents = machine.contents(global)?.bytes()?;
        Some(contents.to_vec())
    };
    // A part that is skipped constructs nothing, so all it constructs must be known.
    loop {
        let before = (parts.len(), doubtful.len());
        parts.retain(|(_, part)| {
            let open = part.mentioned.iter().any(|global| {
                is_variable(module, global)
                    && (doubtful.contains(global) || contents(&mut machine, global).is_none())
            });
            if open {
                doubtful.union(&part.mentioned);
            }
            !open
        });
        if before == (parts.len(), doubtful.len()) {
            break;
        }
    }
    let variables = module.globals.ids();
    let variables = variables.filter(|&id| is_variable(module, id) && !doubtful.contains(id));
    let known = variables.filter_map(|id| Some((id, contents(&mut machine, id)?)));
    let known = known.collect();
    let mut skipped: Vec<(FunctionId, Vec<(Block, BlockCall)>)> = Vec::new();
    for (id, part) in parts {
        let jump = (part.block, part.behind);
        match skipped.last_mut() {
            Some((last, jumps)) if *last == id => jumps.push(jump),
            _ => skipped.push((id, vec![jump])),
        }
    }
    Outcome { known, skipped }
}

fn skip(function: &mut Function, targets: &[(Block, BlockCall)]) {
    for &(block, target) in targets {
        if let Some(terminator) = function.terminator(block) {
            *function.inst_mut(terminator) = InstData::Jump { target };
        }
    }
    if !targets.is_empty() {
        remove_unreached(function);
    }
}

/// Makes variables with known contents constant data. While constructors run in kernels, they keep a variable to write
/// to, and the data is another global.
fn make_constants(
    module: &mut Module,
    known: Vec<(GlobalId, Vec<u8>)>,
    is_open: bool,
) -> IdMap<GlobalId, Option<GlobalId>> {
    let mut constants = IdMap::new(None);
    for (variable, bytes) in known {
        let Some(global) = module.globals.get(variable).cloned() else {
            continue;
        };
        let constant = Global {
            space: Space::Constant,
            data: GlobalData::Bytes(bytes),
            ..global
        };
        constants[variable] = Some(match module.globals.get_mut(variable) {
            Some(slot) if !is_open => {
                *slot = constant;
                variable
            }
            _ => module.globals.push(constant),
        });
    }
    constants
}

/// Replaces addresses of variables by those of constant data.
fn replace_globals(function: &mut Function, constants: &IdMap<GlobalId, Option<GlobalId>>) {
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    for global in mentioned(function).iter() {
        let Some(constant) = constants[global] else {
            continue;
        };
        let old = function.global(Type::pointer(Space::Thread), global);
        if constant == global {
            function.set_type(old, Type::pointer(Space::Constant));
        } else {
            replacement[old] = Some(function.global(Type::pointer(Space::Constant), constant));
        }
    }
    function.replace_values(&replacement);
    remove_same_casts(function);
}

/// Calls constructors where a function starts.
fn call_first(function: &mut Function, constructors: &[FunctionId]) {
    let Some(entry) = function.entry() else {
        return;
    };
    let is_alloca = |inst| matches!(function.inst(inst), InstData::Alloca { .. });
    let insts = function.insts(entry).iter();
    let first = insts.take_while(|&&inst| is_alloca(inst)).count();
    for (position, &constructor) in constructors.iter().enumerate() {
        let args = function.list(&[]);
        let call = InstData::Call {
            callee: Callee::Function(constructor),
            args,
            flags: Flags::NONE,
        };
        let call = function.make_inst(call, Type::VOID, None);
        function.insert_at(entry, first + position, call);
    }
}
