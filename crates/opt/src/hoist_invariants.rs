//! Moves work that is the same every time round out of loops.
//!
//! A pure instruction whose operands come from outside the loop gives the same value in
//! every iteration. It moves to the block in front of the loop, which is made if there is
//! none. Pure instructions cannot fail (division by zero has an answer), so it does not
//! matter whether the loop would have reached them. Loads stay: they might be out of
//! bounds where the loop would not have run.

use assay_ssa::analysis::{Cfg, Dominators, Loop, Loops};
use assay_ssa::{Block, BlockCall, Function, IdMap, Inst, InstData, Module, Type, Value, ValueDef};

/// Hoists invariants out of all loops, inner ones first.
pub fn hoist_invariants(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    let analyse = |function: &Function| {
        let cfg = Cfg::new(function);
        let dominators = Dominators::new(&cfg, function);
        Loops::new(&cfg, &dominators, function)
    };
    add_preheaders(function, &analyse(function));
    let loops = analyse(function);
    let mut blocks = function.inst_blocks();
    // Inner loops are found first, so what leaves one can go on to leave the next.
    let mut inner_first: Vec<_> = loops.iter().collect();
    inner_first.sort_by_key(|(_, found)| std::cmp::Reverse(found.depth));
    for (id, found) in inner_first {
        let Some(preheader) = found.preheader else {
            continue;
        };
        for &block in &found.blocks {
            let inside = |value: Value, blocks: &IdMap<Inst, Option<Block>>| {
                let defined = match function.def(value) {
                    ValueDef::Result(inst) => blocks[inst],
                    ValueDef::Param(block, _) => Some(block),
                    _ => None,
                };
                defined.is_some_and(|block| loops.contains(id, block))
            };
            let mut leaving = Vec::new();
            for &inst in function.insts(block) {
                if !function.effects(inst).is_pure() {
                    continue;
                }
                let mut varies = false;
                function.for_each_operand(inst, |value| varies |= inside(value, &blocks));
                if !varies {
                    blocks[inst] = Some(preheader);
                    leaving.push(inst);
                }
            }
            changed |= !leaving.is_empty();
            move_to_end(function, block, preheader, leaving);
        }
    }
    changed
}

fn move_to_end(function: &mut Function, from: Block, to: Block, moving: Vec<Inst>) {
    if moving.is_empty() {
        return;
    }
    let mut rest = function.take_insts(from);
    let mut next = moving.iter().peekable();
    // Both lists are in the same order.
    rest.retain(|inst| next.next_if_eq(&inst).is_none());
    function.set_insts(from, rest);
    let mut target = function.take_insts(to);
    let terminator = target.pop();
    target.extend(moving);
    target.extend(terminator);
    function.set_insts(to, target);
}

/// Puts a block in front of each loop that has none: all ways in from outside go through it.
fn add_preheaders(function: &mut Function, loops: &Loops) {
    let order = function.blocks().to_vec();
    let mut before: IdMap<Block, Option<Block>> = IdMap::new(None);
    for (_, found) in loops.iter() {
        if found.preheader.is_none() && function.entry() != Some(found.header) {
            before[found.header] = Some(add_preheader(function, found));
        }
    }
    let with_new = order
        .into_iter()
        .flat_map(|block| before[block].into_iter().chain([block]));
    function.set_block_order(with_new.collect());
}

fn add_preheader(function: &mut Function, found: &Loop) -> Block {
    let header = found.header;
    let types: Vec<Type> = function
        .params(header)
        .iter()
        .map(|&param| function.ty(param))
        .collect();
    let preheader = function.add_block();
    let params: Vec<Value> = types
        .into_iter()
        .map(|ty| function.add_param(preheader, ty))
        .collect();
    for &block in &found.entering {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        function.map_targets(terminator, |_, call| {
            if call.block == header {
                BlockCall {
                    block: preheader,
                    ..call
                }
            } else {
                call
            }
        });
    }
    let target = function.block_call(header, &params);
    let jump = function.make_inst(InstData::Jump { target }, Type::VOID, None);
    function.append(preheader, jump);
    preheader
}
