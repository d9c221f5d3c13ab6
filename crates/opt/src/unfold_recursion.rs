//! Writes out functions that call themselves, a few levels deep.
//!
//! Metal forbids recursion, yet its compiler lets it pass, and libraries have it where it ends
//! after a step: the logarithm of the gamma function asks for the gamma function of small
//! numbers, which asks for the logarithm of large ones. Each level becomes a set of functions
//! of its own, so that all can be inlined. A call below the deepest is unreachable: who runs a
//! program that gets there says so.

use crate::inline_calls::{callee_of, callees, callees_first, split};
use assay_ssa::{Callee, Function, FunctionId, IdMap, IdSet, Inst, InstData, Module, Type};
use std::collections::HashMap;

/// How far recursion is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Most levels of a function, itself included.
    levels: usize,
    /// Most copies of a body once all levels are inlined.
    copies: usize,
    /// Most instructions of these copies together.
    instructions: usize,
}

impl Depth {
    /// Fewer levels than this are not worth writing out.
    const LEAST: usize = 4;

    /// For code that an optimiser has seen: it has made loops of what can be one, and what is left ends after a step.
    pub const OPTIMISED: Self = Self {
        levels: Self::LEAST,
        copies: 16,
        instructions: usize::MAX,
    };

    /// For code that no optimiser has seen, where a list walked by a function that calls itself is still that.
    pub const AS_WRITTEN: Self = Self {
        levels: 64,
        copies: 64,
        instructions: 1 << 15,
    };

    /// The levels of a function that calls itself so many times, in so many instructions; nothing if the least are too
    /// many.
    fn of(self, calls: usize, instructions: usize) -> Option<usize> {
        let fits = |levels: usize| {
            let copies = copies(calls, levels);
            // The least levels are bounded by their number alone.
            let small =
                levels == Self::LEAST || copies.saturating_mul(instructions) <= self.instructions;
            copies <= self.copies && small
        };
        (Self::LEAST..=self.levels)
            .take_while(|&levels| fits(levels))
            .last()
    }
}

/// Writes out the functions of a module that call themselves, directly or through others.
pub fn unfold_recursion(module: &mut Module, depth: Depth) -> bool {
    let (_, recursive) = callees_first(module);
    let mut seen: IdSet<FunctionId> = IdSet::new();
    let mut changed = false;
    for id in recursive.iter() {
        if seen.contains(id) {
            continue;
        }
        let circle = circle_of(module, id);
        circle.iter().for_each(|&member| {
            seen.insert(member);
        });
        let calls = circle
            .iter()
            .map(|&member| calls_of(&module.functions[member], &circle).len());
        let bodies = circle.iter().map(|&member| &module.functions[member]);
        let instructions = bodies.map(|body| body.all_insts().count()).sum();
        if let Some(levels) = depth.of(calls.max().unwrap_or(0), instructions) {
            unfold(module, &circle, levels);
            changed = true;
        }
    }
    changed
}

/// The functions that `id` calls, directly or through others, and that so call it.
fn circle_of(module: &Module, id: FunctionId) -> Vec<FunctionId> {
    let members = reached(module, id);
    let members = members.iter();
    members
        .filter(|&member| reached(module, member).contains(id))
        .collect()
}

fn reached(module: &Module, from: FunctionId) -> IdSet<FunctionId> {
    let mut found = IdSet::new();
    let mut waiting = vec![from];
    while let Some(function) = waiting.pop().and_then(|id| module.functions.get(id)) {
        waiting.extend(callees(function).into_iter().filter(|&id| found.insert(id)));
    }
    found
}

/// How many copies of a body there are once all levels are inlined.
fn copies(calls: usize, levels: usize) -> usize {
    let level = |depth: usize| calls.saturating_pow(depth as u32);
    (0..levels).map(level).fold(0, usize::saturating_add)
}

/// The calls of functions of a circle in a body.
fn calls_of(function: &Function, circle: &[FunctionId]) -> Vec<Inst> {
    function
        .all_insts()
        .filter(|&inst| calls_one(function, inst, circle))
        .collect()
}

fn calls_one(function: &Function, inst: Inst, circle: &[FunctionId]) -> bool {
    callee_of(function, inst).is_some_and(|callee| circle.contains(&callee))
}

fn unfold(module: &mut Module, circle: &[FunctionId], levels: usize) {
    let bodies: Vec<Function> = circle
        .iter()
        .map(|&id| module.functions[id].clone())
        .collect();
    let mut below: HashMap<FunctionId, FunctionId> = HashMap::new();
    for level in 1..levels {
        let made = circle.iter().zip(&bodies).map(|(&id, body)| {
            let mut copy = body.clone();
            match level {
                1 => cut(&mut copy, circle),
                _ => redirect(&mut copy, circle, &below),
            }
            (id, module.functions.push(copy))
        });
        below = made.collect();
    }
    for &id in circle {
        redirect(&mut module.functions[id], circle, &below);
    }
}

fn redirect(
    function: &mut Function,
    circle: &[FunctionId],
    below: &HashMap<FunctionId, FunctionId>,
) {
    for inst in calls_of(function, circle) {
        if let InstData::Call {
            callee: Callee::Function(callee),
            ..
        } = function.inst_mut(inst)
        {
            *callee = below.get(callee).copied().unwrap_or(*callee);
        }
    }
}

/// Ends every block with such a call there. What followed stays, without a way to it.
fn cut(function: &mut Function, circle: &[FunctionId]) {
    let mut replacement = IdMap::new(None);
    let mut position = 0;
    while let Some(&block) = function.blocks().get(position) {
        position += 1;
        let mut insts = function.insts(block).iter().copied().enumerate();
        let found = insts.find(|&(_, inst)| calls_one(function, inst, circle));
        let Some((at, call)) = found else { continue };
        let loc = function.loc(call);
        split(function, block, at, call, &mut replacement);
        let end = function.make_inst(InstData::Unreachable, Type::VOID, loc);
        function.append(block, end);
    }
    function.replace_values(&replacement);
}
