//! Among which threads each value is the same.
//!
//! A value is as uniform as what it is computed from, with three exceptions. A *join* of paths that separated at a
//! branch threads disagree about gives values that depend on the path: its parameters are no more uniform than the
//! branch. A value made in a *loop* that threads leave at different times is no more uniform outside than the
//! decision to leave. And some things are what they are: a thread's position varies, a reduction over a simdgroup
//! gives all its threads the same.
//!
//! Loads: constant memory and loads marked invariant are as uniform as their address; other device and threadgroup
//! memory may change between simdgroups, so a load of it is uniform at most within a simdgroup; memory of the thread
//! varies. Whoever knows a buffer to be read-only and unaliased should mark its loads invariant.

use super::{Cfg, Dominators, Loops, PostDominators, Uniformity};
use crate::builtin::UniformityRule;
use crate::function::{Function, ValueDef};
use crate::id::{Id, IdMap};
use crate::inst::{Block, Callee, Inst, InstData, Value};
use crate::ty::Space;
use std::collections::BTreeSet;

/// The uniformity of every value and of every block's execution.
#[derive(Clone, Debug)]
pub struct UniformityInfo {
    values: IdMap<Value, Uniformity>,
    blocks: IdMap<Block, Uniformity>,
    branches: IdMap<Block, Uniformity>,
}

impl UniformityInfo {
    /// Analyses a kernel: its parameters (buffers) are the same for the whole dispatch.
    pub fn of_kernel(function: &Function) -> Self {
        Self::with_params(function, Uniformity::Dispatch)
    }

    /// Analyses a function whose parameters are all as uniform as `params`.
    pub fn with_params(function: &Function, params: Uniformity) -> Self {
        let cfg = Cfg::new(function);
        let dominators = Dominators::new(&cfg, function);
        let loops = Loops::new(&cfg, &dominators, function);
        let postdominators = PostDominators::new(&cfg, function);
        Self::new(function, &cfg, &loops, &postdominators, params)
    }

    /// Analyses a function whose graph is known already.
    pub fn new(
        function: &Function,
        cfg: &Cfg,
        loops: &Loops,
        postdominators: &PostDominators,
        params: Uniformity,
    ) -> Self {
        let mut solver = Solver {
            function,
            cfg,
            loops,
            controls: control_dependences(cfg, postdominators, function),
            postdominators,
            inst_blocks: function.inst_blocks(),
            joins: IdMap::with_len(None, function.num_blocks()),
            loop_exit: vec![Uniformity::Dispatch; loops.len()],
            values: IdMap::with_len(Uniformity::Dispatch, function.num_values()),
            branches: IdMap::with_len(Uniformity::Dispatch, function.num_blocks()),
        };
        for &param in function
            .entry()
            .map_or(&[][..], |entry| function.params(entry))
        {
            solver.values[param] = params;
        }
        while solver.sweep() {}
        let blocks = solver.block_levels();
        Self {
            values: solver.values,
            blocks,
            branches: solver.branches,
        }
    }

    /// Among which threads a value is the same, wherever it is defined.
    #[inline]
    pub fn value(&self, value: Value) -> Uniformity {
        self.values[value]
    }

    /// Which threads agree on executing a block: at [`Uniformity::Simdgroup`] all threads of a simdgroup that
    /// started together are there together.
    pub fn block(&self, block: Block) -> Uniformity {
        self.blocks[block]
    }

    /// Which threads agree on where the branch at the end of a block goes.
    pub fn branch(&self, block: Block) -> Uniformity {
        self.branches[block]
    }
}

struct Solver<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    loops: &'a Loops,
    postdominators: &'a PostDominators,
    /// For each block, the branching blocks that decide directly whether it runs.
    controls: IdMap<Block, Vec<Block>>,
    inst_blocks: IdMap<Inst, Option<Block>>,
    /// Where the paths from a branch come together again; found when first needed.
    joins: IdMap<Block, Option<Vec<Join>>>,
    loop_exit: Vec<Uniformity>,
    values: IdMap<Value, Uniformity>,
    branches: IdMap<Block, Uniformity>,
}

impl Solver<'_> {
    /// One pass over everything; true when something became less uniform.
    fn sweep(&mut self) -> bool {
        let mut changed = false;
        let (function, cfg) = (self.function, self.cfg);
        for &block in cfg.order() {
            for &inst in function.insts(block) {
                if let Some(result) = function.result(inst) {
                    let level = self.result_level(block, inst);
                    changed |= self.raise(result, level);
                } else if function.inst(inst).is_terminator() {
                    changed |= self.leave(block, inst);
                }
            }
        }
        changed | self.update_loops()
    }

    fn raise(&mut self, value: Value, level: Uniformity) -> bool {
        let higher = level > self.values[value];
        if higher {
            self.values[value] = level;
        }
        higher
    }

    /// The uniformity of a value as seen in a block: less than at its definition if it comes out of a loop that
    /// threads leave at different times.
    fn seen(&self, value: Value, block: Block) -> Uniformity {
        let mut level = self.values[value];
        let defined = match self.function.def(value) {
            ValueDef::Result(inst) => self.inst_blocks[inst],
            ValueDef::Param(block, _) => Some(block),
            _ => None,
        };
        let mut current = defined.and_then(|block| self.loops.innermost(block));
        while let Some(id) = current {
            if self.loops.contains(id, block) {
                break;
            }
            level = level.max(self.loop_exit[id.index()]);
            current = self.loops.get(id).parent;
        }
        level
    }

    fn result_level(&self, block: Block, inst: Inst) -> Uniformity {
        let function = self.function;
        let mut operands = Uniformity::Dispatch;
        function.for_each_operand(inst, |value| {
            operands = operands.max(self.seen(value, block))
        });
        if function.result_type(inst).is_matrix() {
            return Uniformity::Varying;
        }
        match *function.inst(inst) {
            InstData::Load { ptr, access } => {
                let plain = !access.is_atomic() && !access.volatile;
                match function.ty(ptr).space() {
                    Some(Space::Constant) if plain => operands,
                    Some(Space::Device | Space::Threadgroup) if plain && access.invariant => {
                        operands
                    }
                    Some(Space::Device | Space::Threadgroup) if plain => {
                        operands.max(Uniformity::Simdgroup)
                    }
                    _ => Uniformity::Varying,
                }
            }
            InstData::AtomicRmw { .. } | InstData::AtomicCompareExchange { .. } => {
                Uniformity::Varying
            }
            InstData::Extract { vector, .. } if function.ty(vector).is_matrix() => {
                Uniformity::Varying
            }
            InstData::Call {
                callee: Callee::Builtin(call),
                args,
                ..
            } => {
                let args = function.list_values(args);
                let first = args
                    .first()
                    .map_or(Uniformity::Dispatch, |&arg| self.seen(arg, block));
                let second = args
                    .get(1)
                    .map_or(Uniformity::Varying, |&arg| self.seen(arg, block));
                apply(call.info().uniformity, operands, first, second)
            }
            InstData::Call { .. } => Uniformity::Varying,
            _ => operands,
        }
    }

    /// Passes values to successors and, at a branch, spoils the joins.
    fn leave(&mut self, block: Block, inst: Inst) -> bool {
        let function = self.function;
        let decision = match *function.inst(inst) {
            InstData::Branch { cond, .. } => Some(self.seen(cond, block)),
            InstData::Switch { value, .. } => Some(self.seen(value, block)),
            _ => None,
        };
        let mut raised: Vec<(Value, Uniformity)> = Vec::new();
        function.for_each_target(inst, |call| {
            let params = function.params(call.block);
            for (&param, &arg) in params.iter().zip(function.list_values(call.args)) {
                raised.push((param, self.seen(arg, call.block)));
            }
        });
        let mut changed = false;
        for (param, level) in raised {
            changed |= self.raise(param, level);
        }
        if let Some(level) = decision
            && level > self.branches[block]
        {
            self.branches[block] = level;
            changed = true;
            let joins = match self.joins[block].take() {
                Some(joins) => joins,
                None => joins_of(
                    self.cfg,
                    self.postdominators.immediate(block),
                    block,
                    function,
                ),
            };
            for join in &joins {
                for (index, &param) in function.params(join.block).iter().enumerate() {
                    if !self.same_from(join, index) {
                        self.raise(param, level);
                    }
                }
            }
            self.joins[block] = Some(joins);
        }
        changed
    }

    /// Whether the paths that meet all pass the same value as a parameter.
    fn same_from(&self, join: &Join, index: usize) -> bool {
        let function = self.function;
        let mut only: Option<Value> = None;
        let mut same = true;
        for &pred in &join.from {
            let Some(last) = function.terminator(pred) else {
                continue;
            };
            function.for_each_target(last, |call| {
                if call.block == join.block {
                    let arg = function.list_values(call.args).get(index).copied();
                    same &= only.is_none() || only == arg;
                    only = arg;
                }
            });
        }
        same
    }

    /// How uniformly each loop is left: as the least uniform branch inside it that decides about an exit.
    fn update_loops(&mut self) -> bool {
        let mut changed = false;
        for (id, the_loop) in self.loops.iter() {
            let mut seen: BTreeSet<Block> = the_loop.exits.iter().map(|(from, _)| *from).collect();
            let mut work: Vec<Block> = seen.iter().copied().collect();
            let mut level = self.loop_exit[id.index()];
            while let Some(block) = work.pop() {
                level = level.max(self.branches[block]);
                for &control in &self.controls[block] {
                    if self.loops.contains(id, control) && seen.insert(control) {
                        work.push(control);
                    }
                }
            }
            if level > self.loop_exit[id.index()] {
                self.loop_exit[id.index()] = level;
                changed = true;
            }
        }
        changed
    }

    fn block_levels(&self) -> IdMap<Block, Uniformity> {
        let mut levels = IdMap::with_len(Uniformity::Dispatch, self.function.num_blocks());
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.cfg.order() {
                let mut level: Uniformity = levels[block];
                for &control in &self.controls[block] {
                    level = level.max(levels[control]).max(self.branches[control]);
                }
                if level > levels[block] {
                    levels[block] = level;
                    changed = true;
                }
            }
        }
        levels
    }
}

fn apply(
    rule: UniformityRule,
    operands: Uniformity,
    first: Uniformity,
    second: Uniformity,
) -> Uniformity {
    use Uniformity::{Simdgroup, Varying};
    match rule {
        UniformityRule::Operands => operands,
        UniformityRule::Fixed(level) => level,
        UniformityRule::Lane => Varying,
        UniformityRule::Reduction => Simdgroup,
        UniformityRule::Broadcast => first.min(Simdgroup),
        UniformityRule::Shuffle if first <= Simdgroup => first,
        UniformityRule::Shuffle if second <= Simdgroup => Simdgroup,
        UniformityRule::QuadLocal if first <= Simdgroup => first,
        UniformityRule::Shuffle | UniformityRule::QuadLocal => Varying,
    }
}

/// For each block, the blocks whose branch decides directly whether it runs (Ferrante, Ottenstein and Warren).
fn control_dependences(
    cfg: &Cfg,
    postdominators: &PostDominators,
    function: &Function,
) -> IdMap<Block, Vec<Block>> {
    let mut controls: IdMap<Block, Vec<Block>> = IdMap::with_len(Vec::new(), function.num_blocks());
    for &block in cfg.order() {
        let targets = cfg.successors(block);
        if targets.len() < 2 {
            continue;
        }
        let stop = postdominators.immediate(block);
        for &target in targets {
            let mut current = Some(target);
            while let Some(here) = current.filter(|&here| Some(here) != stop) {
                let list = &mut controls[here];
                if list.last() != Some(&block) {
                    list.push(block);
                }
                current = postdominators.immediate(here);
            }
        }
    }
    controls
}

/// A block at which paths meet, and the predecessors they come through. Other ways in (into a loop from outside, say)
/// bring threads at another time.
#[derive(Clone)]
struct Join {
    block: Block,
    from: Vec<Block>,
}

/// Blocks at which two paths from different targets of a branch first meet: each path carries the name of the target
/// or join it came through last, and where two names meet is a join.
fn joins_of(cfg: &Cfg, stop: Option<Block>, branch: Block, function: &Function) -> Vec<Join> {
    let mut paths = Paths {
        cfg,
        names: IdMap::with_len(None, function.num_blocks()),
        joins: Vec::new(),
        work: BTreeSet::new(),
    };
    let targets = cfg.successors(branch);
    for (index, &target) in targets.iter().enumerate() {
        // Two edges of the branch itself may lead to one block; the second arrives under another name.
        let again = targets[..index].contains(&target);
        paths.arrive(target, if again { branch } else { target });
    }
    while let Some((_, block)) = paths.work.pop_first() {
        if Some(block) == stop || block == branch {
            continue;
        }
        if let Some(name) = paths.names[block] {
            for &to in cfg.successors(block) {
                paths.arrive(to, name);
            }
        }
    }
    let reached = |pred: Block| pred == branch || paths.names[pred].is_some();
    let join = |&block: &Block| {
        let from = cfg
            .predecessors(block)
            .iter()
            .copied()
            .filter(|&pred| reached(pred))
            .collect();
        Join { block, from }
    };
    paths.joins.iter().map(join).collect()
}

struct Paths<'a> {
    cfg: &'a Cfg,
    names: IdMap<Block, Option<Block>>,
    joins: Vec<Block>,
    work: BTreeSet<(u32, Block)>,
}

impl Paths<'_> {
    fn arrive(&mut self, block: Block, name: Block) {
        let renamed = match self.names[block] {
            None => name,
            Some(known) if known == name || self.joins.contains(&block) => return,
            Some(known) => {
                self.joins.push(block);
                if known == block {
                    return;
                }
                block
            }
        };
        self.names[block] = Some(renamed);
        self.work
            .insert((self.cfg.position(block).unwrap_or(u32::MAX), block));
    }
}
