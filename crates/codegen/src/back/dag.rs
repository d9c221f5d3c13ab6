//! What must stay in order inside a block.

use super::liveness::mask;
use crate::mir::{Function, Inst, Memory, Opcode, Operand, VReg};
use assay_agx::Op;
use assay_ssa::id::Id;

/// Instructions of a block and what each has to wait for.
#[derive(Debug, Default)]
pub(crate) struct Dag {
    /// Who comes later, per instruction.
    pub(crate) after: Vec<Vec<u32>>,
    /// Whose result each reads.
    pub(crate) reads: Vec<Vec<u32>>,
    /// How many must come before.
    pub(crate) before: Vec<u32>,
}

/// An earlier access of a register.
#[derive(Clone, Copy, Debug)]
struct Access {
    node: u32,
    halves: u16,
    writes: bool,
}

/// Builds graphs; keeps its tables from block to block.
#[derive(Debug)]
pub(crate) struct Dags {
    accesses: Vec<Vec<Access>>,
    touched: Vec<VReg>,
    /// Per register, those it is copied to.
    copied_to: Vec<Vec<VReg>>,
}

/// What an instruction does to memory, as far as order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Read(Option<u32>),
    Write(Option<u32>),
    Fence,
}

/// Whether its result comes from memory, late.
pub(crate) fn is_slow_load(inst: &Inst) -> bool {
    let slow = matches!(
        inst.opcode,
        Opcode::Machine {
            op: Op::DeviceLoad | Op::Atomic | Op::TextureLoad | Op::TextureSample,
            ..
        } | Opcode::Placeholder(_)
    );
    slow && inst.defs().next().is_some()
}

fn effect(inst: &Inst) -> Option<Effect> {
    let is_load = match inst.opcode {
        Opcode::Machine { op, .. } => matches!(
            op,
            Op::DeviceLoad
                | Op::ThreadgroupLoad
                | Op::StackLoad
                | Op::TextureLoad
                | Op::TextureSample
        ),
        Opcode::Placeholder(_) => false,
        Opcode::ParallelCopy | Opcode::Undefined => return None,
    };
    match inst.memory {
        Some(Memory { fence: true, .. }) => Some(Effect::Fence),
        Some(Memory {
            invariant: true, ..
        }) if is_load => None,
        Some(Memory { alias, .. }) if is_load => Some(Effect::Read(alias)),
        Some(Memory { alias, .. }) => Some(Effect::Write(alias)),
        // Something is done that is not said; keep it where it is.
        None if is_load || inst.defs().next().is_none() => Some(Effect::Fence),
        None => None,
    }
}

impl Dags {
    pub(crate) fn new(function: &Function) -> Dags {
        let mut copied_to = vec![Vec::new(); function.vregs.len()];
        let insts = function.blocks.as_slice().iter().flat_map(|b| &b.insts);
        for inst in insts.filter(|inst| inst.opcode == Opcode::ParallelCopy) {
            for pair in inst.operands.chunks(2) {
                if let [(_, Operand::Def(to)), (_, Operand::Use(from, _))] = pair
                    && let Some(list) = copied_to.get_mut(from.reg.index())
                    && to.reg != from.reg
                {
                    list.push(to.reg);
                }
            }
        }
        Dags {
            accesses: vec![Vec::new(); function.vregs.len()],
            touched: Vec::new(),
            copied_to,
        }
    }

    /// The graph of some consecutive instructions.
    pub(crate) fn build(&mut self, insts: &[Inst]) -> Dag {
        let mut dag = Dag {
            after: vec![Vec::new(); insts.len()],
            reads: vec![Vec::new(); insts.len()],
            before: vec![0; insts.len()],
        };
        let mut memory: Vec<(u32, Effect)> = Vec::new();
        let mut convergent = None;
        for (node, inst) in (0u32..).zip(insts) {
            self.registers(&mut dag, node, inst);
            if let Some(effect) = effect(inst) {
                order_memory(&mut dag, &mut memory, node, effect);
            }
            if inst.convergent
                && let Some(earlier) = convergent.replace(node)
            {
                dag.edge(earlier, node);
            }
        }
        for reg in self.touched.drain(..) {
            if let Some(list) = self.accesses.get_mut(reg.index()) {
                list.clear();
            }
        }
        dag
    }

    fn registers(&mut self, dag: &mut Dag, node: u32, inst: &Inst) {
        for slice in inst.uses() {
            let halves = mask(slice);
            let Some(list) = self.accesses.get_mut(slice.reg.index()) else {
                continue;
            };
            for access in list.iter().filter(|a| a.writes && a.halves & halves != 0) {
                dag.edge(access.node, node);
                dag.read(access.node, node);
            }
            self.touched.push(slice.reg);
            list.push(Access {
                node,
                halves,
                writes: false,
            });
        }
        for slice in inst.defs() {
            self.readers_of_copies_first(dag, node, slice.reg);
            let halves = mask(slice);
            let Some(list) = self.accesses.get_mut(slice.reg.index()) else {
                continue;
            };
            for access in list.iter_mut().filter(|a| a.halves & halves != 0) {
                dag.edge(access.node, node);
                access.halves &= !halves;
            }
            list.retain(|access| access.halves != 0);
            self.touched.push(slice.reg);
            list.push(Access {
                node,
                halves,
                writes: true,
            });
        }
    }

    /// A value that replaces another, as a loop's next value does, is made after the
    /// last use of that other: then both can have one register.
    fn readers_of_copies_first(&self, dag: &mut Dag, node: u32, reg: VReg) {
        let replaced = self.copied_to.get(reg.index()).into_iter().flatten();
        for other in replaced {
            let list = self.accesses.get(other.index()).into_iter().flatten();
            for access in list.filter(|access| !access.writes) {
                dag.edge(access.node, node);
            }
        }
    }
}

impl Dag {
    fn edge(&mut self, from: u32, to: u32) {
        if from == to {
            return;
        }
        if let Some(after) = self.after.get_mut(from as usize)
            && after.last() != Some(&to)
        {
            after.push(to);
            if let Some(before) = self.before.get_mut(to as usize) {
                *before += 1;
            }
        }
    }

    fn read(&mut self, from: u32, to: u32) {
        if let Some(reads) = self.reads.get_mut(to as usize)
            && from != to
            && !reads.contains(&from)
        {
            reads.push(from);
        }
    }
}

fn may_meet(a: Option<u32>, b: Option<u32>) -> bool {
    a.is_none() || b.is_none() || a == b
}

fn order_memory(dag: &mut Dag, earlier: &mut Vec<(u32, Effect)>, node: u32, effect: Effect) {
    for (other, before) in earlier.iter() {
        let ordered = match (*before, effect) {
            (Effect::Fence, _) | (_, Effect::Fence) => true,
            (Effect::Read(_), Effect::Read(_)) => false,
            (Effect::Read(a) | Effect::Write(a), Effect::Read(b) | Effect::Write(b)) => {
                may_meet(a, b)
            }
        };
        if ordered {
            dag.edge(*other, node);
        }
    }
    // What comes after a write is ordered behind everything before it that it waits for.
    match effect {
        Effect::Fence => earlier.clear(),
        Effect::Write(alias) => earlier.retain(|(_, before)| match before {
            Effect::Read(other) | Effect::Write(other) => alias.is_some() && *other != alias,
            Effect::Fence => true,
        }),
        Effect::Read(_) => {}
    }
    earlier.push((node, effect));
}
