//! Which values decide what an arm reads and where it goes: those that a position which does not take the arm must have
//! from one that does.

use super::dependence::{Dependence, in_thread};
use super::{Refusal, RefusalKind};
use assay_opt::control::{Item, Region, edge};
use assay_ssa::{Block, Function, IdSet, Inst, InstData, Value, ValueDef};

/// The slice of a region: what addresses and conditions are made of.
struct Slice<'f> {
    function: &'f Function,
    blocks: IdSet<Block>,
    inside: IdSet<Inst>,
    passes: Vec<(Value, Value)>,
    work: Vec<Value>,
}

/// Values made outside a region that its addresses and conditions are made of.
pub(super) fn needed(function: &Function, region: &Region) -> Vec<Value> {
    let (reached, slice) = reach(function, region);
    let outside = |value: &Value| match function.def(*value) {
        ValueDef::Result(inst) => !slice.inside.contains(inst),
        ValueDef::Param(block, _) => !slice.blocks.contains(block),
        _ => false,
    };
    reached.into_iter().filter(outside).collect()
}

fn reach<'f>(function: &'f Function, region: &Region) -> (Vec<Value>, Slice<'f>) {
    let mut slice = Slice {
        function,
        blocks: IdSet::new(),
        inside: IdSet::new(),
        passes: Vec::new(),
        work: Vec::new(),
    };
    slice.region(region);
    let mut seen: IdSet<Value> = IdSet::new();
    let mut reached = Vec::new();
    while let Some(value) = slice.work.pop() {
        if function.is_constant(value) || !seen.insert(value) {
            continue;
        }
        reached.push(value);
        match function.def(value) {
            ValueDef::Result(inst) if slice.inside.contains(inst) => {
                function.for_each_operand(inst, |operand| slice.work.push(operand));
            }
            ValueDef::Param(block, _) if slice.blocks.contains(block) => {
                let given = slice.passes.iter().filter(|(param, _)| *param == value);
                let given: Vec<Value> = given.map(|(_, arg)| *arg).collect();
                slice.work.extend(given);
            }
            _ => {}
        }
    }
    (reached, slice)
}

impl Slice<'_> {
    fn region(&mut self, region: &Region) {
        for item in region {
            match item {
                Item::Run(block) => self.block(*block),
                Item::Pass { from, arm } => {
                    if let Some(call) = edge(self.function, *from, *arm) {
                        let params = self.function.params(call.block).iter().copied();
                        let args = self.function.list_values(call.args).iter().copied();
                        self.passes.extend(params.zip(args));
                    }
                }
                Item::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    self.work.push(*cond);
                    self.region(then);
                    self.region(otherwise);
                }
                Item::Scope { body, .. } | Item::Loop { body, .. } => self.region(body),
                _ => {}
            }
        }
    }

    fn block(&mut self, block: Block) {
        self.blocks.insert(block);
        for &inst in self.function.insts(block) {
            self.inside.insert(inst);
            match *self.function.inst(inst) {
                InstData::Load { ptr, .. } => self.work.push(ptr),
                InstData::Store { ptr, .. } if in_thread(self.function, ptr) => self.work.push(ptr),
                InstData::MemCopy { dst, src, size, .. } => self.work.extend([dst, src, size]),
                InstData::MemSet { dst, size, .. } => self.work.extend([dst, size]),
                // Whatever else may read memory.
                InstData::Call { args, .. } => {
                    let args = self.function.list_values(args).iter();
                    let pointers = args.filter(|&&arg| self.function.ty(arg).is_pointer());
                    self.work.extend(pointers);
                }
                _ => {}
            }
        }
    }
}

/// Refuses arms, and programs some of whose positions may be outside the grid (`masked`), whose addresses or conditions
/// come from arrays of the thread: what those hold of a position that only follows is its own.
pub(super) fn check(
    function: &Function,
    body: &Region,
    dependence: &Dependence,
    masked: bool,
) -> Result<(), Refusal> {
    if masked {
        return of_region(function, body);
    }
    for item in body {
        match item {
            Item::If {
                cond,
                then,
                otherwise,
            } => {
                for arm in [then, otherwise] {
                    if dependence.depends(*cond) {
                        of_region(function, arm)?;
                    } else {
                        check(function, arm, dependence, false)?;
                    }
                }
            }
            Item::Scope { body, .. } | Item::Loop { body, .. } => {
                check(function, body, dependence, false)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn of_region(function: &Function, region: &Region) -> Result<(), Refusal> {
    let (reached, _) = reach(function, region);
    let of_thread = |value: &Value| match function.def_data(*value) {
        Some(InstData::Load { ptr, .. }) => in_thread(function, *ptr),
        _ => false,
    };
    if reached.iter().any(of_thread) {
        let why = "an address or a condition behind a guard comes from an array of the thread";
        return Err(Refusal::new(RefusalKind::Access, why));
    }
    Ok(())
}
