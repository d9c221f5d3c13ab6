//! Writes out functions that call themselves, a few levels deep.
//!
//! Metal forbids recursion, yet its compiler lets it pass, and libraries have it where it ends
//! after a step: a reflection formula of the gamma function calls itself with the mirrored
//! argument. Each level becomes a function of its own, so that all can be inlined. The call
//! below the deepest is unreachable: who runs a program that gets there says so.
//!
//! Functions that call each other in a circle stay as they are.

use crate::inline_calls::{callee_of, split};
use assay_ssa::{Callee, Function, FunctionId, IdMap, Inst, InstData, Module, Type};

/// Levels a function is written out to, itself included.
const LEVELS: usize = 4;

/// A function whose levels would take more copies of its body than this is left alone.
const MOST_COPIES: usize = 16;

/// Writes out the functions of a module that call themselves.
pub fn unfold_recursion(module: &mut Module) -> bool {
    let mut changed = false;
    let ids: Vec<FunctionId> = module.functions.ids().collect();
    for id in ids {
        let calls = own_calls(&module.functions[id], id).len();
        if calls > 0 && copies(calls) <= MOST_COPIES {
            unfold(module, id);
            changed = true;
        }
    }
    changed
}

/// How many copies of a body there are once all levels are inlined.
fn copies(calls: usize) -> usize {
    (0..LEVELS)
        .fold((0usize, 1usize), |(sum, level), _| {
            (sum.saturating_add(level), level.saturating_mul(calls))
        })
        .0
}

/// The calls of a function in its own body.
fn own_calls(function: &Function, id: FunctionId) -> Vec<Inst> {
    let blocks = function.blocks().iter();
    let insts = blocks.flat_map(|&block| function.insts(block));
    let own = |&inst: &Inst| callee_of(function, inst) == Some(id);
    insts.copied().filter(own).collect()
}

fn unfold(module: &mut Module, id: FunctionId) {
    let body = module.functions[id].clone();
    let mut deepest = body.clone();
    cut(&mut deepest, id);
    let mut below = module.add_function(deepest);
    for _ in 2..LEVELS {
        let mut level = body.clone();
        redirect(&mut level, id, below);
        below = module.add_function(level);
    }
    redirect(&mut module.functions[id], id, below);
}

fn redirect(function: &mut Function, from: FunctionId, to: FunctionId) {
    for inst in own_calls(function, from) {
        if let InstData::Call { callee, .. } = function.inst_mut(inst) {
            *callee = Callee::Function(to);
        }
    }
}

/// Ends every block with a call of `id` there. What followed stays, without a way to it.
fn cut(function: &mut Function, id: FunctionId) {
    let mut replacement = IdMap::new(None);
    let mut position = 0;
    while let Some(&block) = function.blocks().get(position) {
        position += 1;
        let insts = function.insts(block).iter().enumerate();
        let found = insts
            .map(|(at, &inst)| (at, inst))
            .find(|&(_, inst)| callee_of(function, inst) == Some(id));
        let Some((at, call)) = found else { continue };
        let loc = function.loc(call);
        split(function, block, at, call, &mut replacement);
        let end = function.make_inst(InstData::Unreachable, Type::VOID, loc);
        function.append(block, end);
    }
    function.replace_values(&replacement);
}
