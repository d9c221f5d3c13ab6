//! Takes out of constructors what no kernel asks for.
//!
//! One function may construct every variable of a source. What it does for variables that kernels do not mention, and
//! for none of those these depend on, is left out; so that a kernel depends on no more function constants than it uses.

use super::machine::root_of;
use super::mentioned;
use crate::inline_calls::callees;
use crate::remove_dead::remove_dead;
use assay_ssa::{Callee, Function, FunctionId, GlobalId, IdSet, Inst, InstData, Module};

/// Variables computed from each other in longer chains are all kept.
const MOST_ROUNDS: usize = 16;

/// Prunes `own`, the functions only constructors reach, by what the other functions mention.
pub(super) fn prune(module: &mut Module, roots: &[FunctionId], own: &IdSet<FunctionId>) {
    let mut needed: IdSet<GlobalId> = IdSet::new();
    for (id, function) in module.functions.iter() {
        if !own.contains(id) {
            needed.union(&mentioned(function));
        }
    }
    for _ in 0..MOST_ROUNDS {
        let pruned = without_needless(module, own, &needed);
        let mut found = needed.clone();
        for function in reached(&pruned, roots) {
            found.union(&mentioned(&pruned.functions[function]));
        }
        if found.len() == needed.len() {
            *module = pruned;
            return;
        }
        needed = found;
    }
}

fn without_needless(module: &Module, own: &IdSet<FunctionId>, needed: &IdSet<GlobalId>) -> Module {
    let mut pruned = module.clone();
    for id in own.iter() {
        let mut function = module.functions[id].clone();
        let mut changed = false;
        for block in function.blocks().to_vec() {
            let mut insts = function.take_insts(block);
            let before = insts.len();
            insts.retain(|&inst| !is_needless(module, &function, inst, needed));
            changed |= insts.len() != before;
            function.set_insts(block, insts);
        }
        if changed {
            remove_dead(module, &mut function);
            pruned.functions[id] = function;
        }
    }
    pruned
}

/// Returns true if all an instruction does is to write variables nobody needs.
fn is_needless(module: &Module, function: &Function, inst: Inst, needed: &IdSet<GlobalId>) -> bool {
    let is_variable = |global: GlobalId| super::is_variable(module, global);
    match *function.inst(inst) {
        InstData::Store { ptr, .. }
        | InstData::MemCopy { dst: ptr, .. }
        | InstData::MemSet { dst: ptr, .. } => root_of(function, ptr)
            .is_some_and(|global| is_variable(global) && !needed.contains(global)),
        // The construction of one variable: of what it points to, or by itself.
        InstData::Call {
            callee: Callee::Function(callee),
            args,
            ..
        } if function.result(inst).is_none() => {
            // A value may hold pointers; what is reached by them is not known.
            let mut args = function.list_values(args).iter();
            let writes_no_other = args.all(|&arg| match root_of(function, arg) {
                Some(global) => !needed.contains(global),
                None => function.const_element(arg, 0).is_some(),
            });
            writes_no_other
                && reached(module, &[callee]).into_iter().all(|id| {
                    let mentioned = mentioned(&module.functions[id]);
                    mentioned.iter().all(|global| !needed.contains(global))
                })
        }
        _ => false,
    }
}

/// The functions that some call, directly or through others, with these.
pub(super) fn reached(module: &Module, roots: &[FunctionId]) -> Vec<FunctionId> {
    let mut seen = IdSet::new();
    let mut order = Vec::new();
    let mut waiting = roots.to_vec();
    while let Some(id) = waiting.pop() {
        if module.functions.contains(id) && seen.insert(id) {
            order.push(id);
            waiting.extend(callees(&module.functions[id]));
        }
    }
    order
}
