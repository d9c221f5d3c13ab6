//! Moves what is computed of a loop's results behind the test that skips the loop.
//!
//! Front ends test before a loop whether it runs at all, and fold what follows for the case that it does not: of
//! `sum = 0; for (…) sum += …; return 4.0f * float(sum)` remains *0.0 if there are no rounds, else `4.0f * float(sum)`
//! behind the loop*. The two ways then differ in more than the loop, and cost a branch of their own. Here the
//! computation moves to where they meet and takes the sum of either, if for the values the loop starts with it gives
//! exactly what was folded:
//!
//! ```text
//! guard: branch c, meet(0.0), loop(0)           guard: branch c, meet(0), loop(0)
//! after: v = float(sum) · 4.0; jump meet(v)     after: jump meet(sum)
//! meet(result):                                 meet(s): result = float(s) · 4.0
//! ```

use assay_ssa::analysis::{Cfg, Dominators, Loop, Loops};
use assay_ssa::{Block, BlockCall, Function, IdMap, Inst, InstData, Module, Value};

/// Longer computations stay where they are: lanes that skip the loop would run them for nothing.
const MOST_INSTRUCTIONS: usize = 8;

/// Sinks computations behind all loops.
pub fn sink_past_guard(_: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    for (_, found) in loops.iter() {
        for &(_, after) in &found.exits {
            if let Some(sinking) = Sinking::find(function, &cfg, &dominators, found, after) {
                sinking.apply(function, &mut replacement);
                changed = true;
            }
        }
    }
    if changed {
        function.replace_values(&replacement);
    }
    changed
}

/// A computation that can move from behind a loop to where the loop and its guard meet.
struct Sinking {
    after: Block,
    guard: Block,
    meet: Block,
    moving: Vec<Inst>,
    /// Values of the loop that it uses, with those the loop starts with.
    taken: Vec<(Value, Value)>,
    /// Parameters of `meet` that are computed from now on.
    made: Vec<Made>,
}

/// A parameter, what it is computed as, and what the guard gave it.
struct Made {
    param: Value,
    computed: Value,
    folded: Value,
}

impl Sinking {
    fn find(
        function: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
        found: &Loop,
        after: Block,
    ) -> Option<Sinking> {
        let (terminator, moving) = function.insts(after).split_last()?;
        let InstData::Jump { target } = *function.inst(*terminator) else {
            return None;
        };
        let meet = target.block;
        let fits = cfg.predecessors(after).len() == 1
            && function.params(after).is_empty()
            && (1..=MOST_INSTRUCTIONS).contains(&moving.len())
            && moving.iter().all(|&inst| function.effects(inst).is_pure());
        let guard = match cfg.predecessors(meet) {
            &[a, b] if a == after && b != after => b,
            &[a, b] if b == after && a != after => a,
            _ => return None,
        };
        if !fits || dominators.dominates(meet, after) {
            return None;
        }
        let way_in = {
            let before = cfg.predecessors(found.header).iter();
            let mut outside = before.filter(|block| !found.blocks.contains(block));
            outside
                .next()
                .copied()
                .filter(|_| outside.next().is_none())?
        };
        let start = call_of(function, way_in, found.header)?;
        let taken = taken(function, dominators, found, start, moving, (after, meet))?;
        let mut sinking = Sinking {
            after,
            guard,
            meet,
            moving: moving.to_vec(),
            taken,
            made: Vec::new(),
        };
        let folded = call_of(function, guard, meet)?;
        let known = sinking.evaluated(function);
        let params = function.params(meet).iter();
        let ways = function
            .list_values(target.args)
            .iter()
            .zip(function.list_values(folded.args));
        for (&param, (&computed, &folded)) in params.zip(ways) {
            if !sinking.moves(function, computed) {
                continue;
            }
            if function.const_bits(folded)? != known[computed]? {
                return None;
            }
            sinking.made.push(Made {
                param,
                computed,
                folded,
            });
        }
        (!sinking.made.is_empty()).then_some(sinking)
    }

    fn moves(&self, function: &Function, value: Value) -> bool {
        function
            .def_inst(value)
            .is_some_and(|inst| self.moving.contains(&inst))
    }

    /// What the computation gives for the values the loop starts with.
    fn evaluated(&self, function: &Function) -> IdMap<Value, Option<u64>> {
        let mut known: IdMap<Value, Option<u64>> = IdMap::new(None);
        for &(value, start) in &self.taken {
            known[value] = function.const_bits(start);
        }
        for &inst in &self.moving {
            let bits = crate::evaluate::instruction(function, inst, |value| {
                known[value].or_else(|| function.const_bits(value))
            });
            if let Some(result) = function.result(inst) {
                known[result] = bits;
            }
        }
        known
    }

    fn apply(self, function: &mut Function, replacement: &mut IdMap<Value, Option<Value>>) {
        let mut params: Vec<(Value, Value)> = Vec::new();
        for &(value, _) in &self.taken {
            let ty = function.ty(value);
            params.push((value, function.add_param(self.meet, ty)));
        }
        let more: [Vec<Value>; 2] = [
            self.taken.iter().map(|taken| taken.0).collect(),
            self.taken.iter().map(|taken| taken.1).collect(),
        ];
        for (block, more) in [self.after, self.guard].into_iter().zip(more) {
            let Some(terminator) = function.terminator(block) else {
                continue;
            };
            function.map_targets(terminator, |function, call| {
                if call.block != self.meet {
                    return call;
                }
                let mut args = function.list_values(call.args).to_vec();
                // Nothing looks at these any more; what they were is no longer computed here.
                for arg in &mut args {
                    let made = self.made.iter().find(|made| made.computed == *arg);
                    *arg = made.map_or(*arg, |made| made.folded);
                }
                args.extend(&more);
                function.block_call(call.block, &args)
            });
        }
        let rest = function.take_insts(self.after).pop();
        function.set_insts(self.after, rest.into_iter().collect());
        for &inst in &self.moving {
            function.map_operands(inst, |value| {
                let found = params.iter().find(|(taken, _)| *taken == value);
                found.map_or(value, |(_, param)| *param)
            });
        }
        let mut insts = self.moving;
        insts.extend(function.take_insts(self.meet));
        function.set_insts(self.meet, insts);
        for made in self.made {
            replacement[made.param] = Some(made.computed);
        }
    }
}

/// The values of the loop that a computation uses, with those the loop starts with; nothing if one of them has no
/// constant start.
fn taken(
    function: &Function,
    dominators: &Dominators,
    found: &Loop,
    start: BlockCall,
    moving: &[Inst],
    (after, meet): (Block, Block),
) -> Option<Vec<(Value, Value)>> {
    let &[latch] = &found.latches[..] else {
        return None;
    };
    let again = call_of(function, latch, found.header)?;
    let nexts = function.list_values(again.args);
    let starts = function.list_values(start.args);
    let blocks = function.inst_blocks();
    let mut taken: Vec<(Value, Value)> = Vec::new();
    let mut fits = true;
    for &inst in moving {
        function.for_each_operand(inst, |value| {
            let from = function.def_block(value, &blocks);
            let inside = from.filter(|&block| block != after && !dominators.dominates(block, meet));
            if inside.is_none() || taken.iter().any(|(known, _)| *known == value) {
                return;
            }
            let start = nexts.iter().position(|&next| next == value);
            let start = start.and_then(|at| starts.get(at));
            match start.filter(|&&start| function.const_bits(start).is_some()) {
                Some(&start) => taken.push((value, start)),
                None => fits = false,
            }
        });
    }
    fits.then_some(taken)
}

/// The one way from a block to another.
fn call_of(function: &Function, from: Block, to: Block) -> Option<BlockCall> {
    let mut calls = Vec::new();
    function.for_each_target(function.terminator(from)?, |call| {
        if call.block == to {
            calls.push(call);
        }
    });
    match calls[..] {
        [call] => Some(call),
        _ => None,
    }
}
