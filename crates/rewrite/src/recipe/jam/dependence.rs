//! Which values depend on the position along an axis.

use super::super::positions;
use super::{Refusal, RefusalKind};
use assay_opt::control::{Item, Label, Region, edge};
use assay_ssa::{
    Block, Builtin, Callee, Function, IdMap, IdSet, Inst, InstData, Space, Value, ValueDef,
};

/// The values of a function that depend on the position along an axis.
pub(super) struct Dependence {
    values: IdSet<Value>,
    /// For each block, in how many arms of branches that depend on the position it runs.
    depth: IdMap<Block, usize>,
}

impl Dependence {
    /// Analyses a function with its control tree.
    pub(super) fn new(function: &Function, body: &Region, axis: usize) -> Dependence {
        let mut found = Dependence {
            values: IdSet::new(),
            depth: IdMap::with_len(0, function.num_blocks()),
        };
        loop {
            let mut changed = false;
            for &block in function.blocks() {
                for &inst in function.insts(block) {
                    changed |= found.instruction(function, inst, axis);
                }
            }
            found.depths(body, 0);
            changed |= found.passes(function, body, 0);
            if !changed {
                return found;
            }
        }
    }

    /// Returns true if a value depends on the position.
    pub(super) fn depends(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    /// In how many arms that depend on the position a block runs.
    pub(super) fn depth(&self, block: Block) -> usize {
        self.depth[block]
    }

    fn depths(&mut self, region: &Region, depth: usize) {
        for item in region {
            match item {
                Item::Run(block) => self.depth[*block] = depth,
                Item::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let inner = depth + usize::from(self.depends(*cond));
                    self.depths(then, inner);
                    self.depths(otherwise, inner);
                }
                Item::Scope { body, .. } | Item::Loop { body, .. } => self.depths(body, depth),
                _ => {}
            }
        }
    }

    fn instruction(&mut self, function: &Function, inst: Inst, axis: usize) -> bool {
        let Some(result) = function.result(inst).filter(|&value| !self.depends(value)) else {
            return false;
        };
        let dependent = match *function.inst(inst) {
            InstData::Alloca { .. }
            | InstData::AtomicRmw { .. }
            | InstData::AtomicCompareExchange { .. } => true,
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } if call.builtin == Builtin::ThreadPositionInGrid => {
                axis < usize::from(function.ty(result).lanes().max(1))
            }
            InstData::Extract { .. } if positions::position(function, result).is_some() => {
                positions::position(function, result) == Some((Builtin::ThreadPositionInGrid, axis))
            }
            _ => {
                let mut any = false;
                function.for_each_operand(inst, |value| any |= self.depends(value));
                any
            }
        };
        dependent && self.values.insert(result)
    }

    /// Parameters of blocks: by what they are given, and by whether positions disagree about the edge.
    fn passes(&mut self, function: &Function, region: &Region, depth: usize) -> bool {
        let mut changed = false;
        for item in region {
            match item {
                Item::Pass { from, arm } => {
                    let Some(call) = edge(function, *from, *arm) else {
                        continue;
                    };
                    let disagree = depth > self.depth[call.block];
                    let args = function.list_values(call.args);
                    for (&param, &arg) in function.params(call.block).iter().zip(args) {
                        if disagree || self.depends(arg) {
                            changed |= self.values.insert(param);
                        }
                    }
                }
                Item::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let inner = depth + usize::from(self.depends(*cond));
                    changed |= self.passes(function, then, inner);
                    changed |= self.passes(function, otherwise, inner);
                }
                Item::Scope { body, .. } | Item::Loop { body, .. } => {
                    changed |= self.passes(function, body, depth);
                }
                _ => {}
            }
        }
        changed
    }
}

/// Refuses what cannot be jammed.
pub(super) fn check(
    function: &Function,
    body: &Region,
    dependence: &Dependence,
) -> Result<(), Refusal> {
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            effects(function, inst)?;
        }
    }
    jumps(body, dependence, &mut Vec::new(), 0)
}

fn effects(function: &Function, inst: Inst) -> Result<(), Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    match *function.inst(inst) {
        InstData::AtomicRmw { op, .. } if op.is_float() => refuse(
            RefusalKind::Atomics,
            "floats are added atomically, in an order that would change",
        ),
        InstData::AtomicRmw { .. }
            if function.result(inst).is_some_and(|v| is_used(function, v)) =>
        {
            refuse(
                RefusalKind::Atomics,
                "the old value of an atomic operation is used",
            )
        }
        InstData::AtomicCompareExchange { .. } => refuse(
            RefusalKind::Atomics,
            "threads compare and exchange atomically",
        ),
        InstData::Load { access, .. } | InstData::Store { access, .. }
            if access.is_atomic() || access.volatile =>
        {
            refuse(RefusalKind::Atomics, "memory is read or written atomically")
        }
        InstData::MemCopy { dst, .. } | InstData::MemSet { dst, .. }
            if function.ty(dst).space() != Some(Space::Thread) =>
        {
            refuse(RefusalKind::Access, "memory is copied in one piece")
        }
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } if call.info().effects.writes() => {
            let why = format!("{} has effects of its own", call.info().name);
            refuse(RefusalKind::Access, &why)
        }
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } if call.builtin == Builtin::Uninitialised => {
            refuse(RefusalKind::Program, "the program is made to be checked")
        }
        InstData::Call { callee, .. } if !matches!(callee, Callee::Builtin(_)) => {
            refuse(RefusalKind::Program, "the program calls functions")
        }
        _ => Ok(()),
    }
}

fn is_used(function: &Function, value: Value) -> bool {
    function.use_counts()[value] > 0
}

/// Refuses jumps out of an arm that only some positions take.
fn jumps(
    region: &Region,
    dependence: &Dependence,
    labels: &mut Vec<(Label, usize)>,
    depth: usize,
) -> Result<(), Refusal> {
    let control = |why: &str| Err(Refusal::new(RefusalKind::Control, why));
    for item in region {
        match item {
            Item::If {
                cond,
                then,
                otherwise,
            } => {
                let inner = depth + usize::from(dependence.depends(*cond));
                jumps(then, dependence, labels, inner)?;
                jumps(otherwise, dependence, labels, inner)?;
            }
            Item::Scope { label, body } | Item::Loop { label, body } => {
                labels.push((*label, depth));
                jumps(body, dependence, labels, depth)?;
                labels.pop();
            }
            Item::Leave(label) | Item::Repeat(label) => {
                let known = labels.iter().rev().find(|(known, _)| known == label);
                if known.is_none_or(|(_, outside)| *outside < depth) {
                    return control(
                        "how often a loop runs, or where control goes, depends on the axis",
                    );
                }
            }
            Item::Return(_) | Item::Unreachable if depth > 0 => {
                return control(
                    "some threads along the axis end early, in the middle of the program",
                );
            }
            Item::Return(Some(_)) => return control("the function returns a value"),
            _ => {}
        }
    }
    Ok(())
}

/// Returns true if a pointer is one into memory of the thread.
pub(super) fn in_thread(function: &Function, pointer: Value) -> bool {
    function.ty(pointer).space() == Some(Space::Thread)
        || matches!(function.def(pointer), ValueDef::Result(inst)
            if matches!(function.inst(inst), InstData::Alloca { .. }))
}
