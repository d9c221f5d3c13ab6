//! What must stay in order inside a block.

use super::liveness::mask;
use crate::mir::{Function, Inst, Memory, Opcode, Operand, VReg};
use assay_agx::Op;
use assay_ssa::id::Id;
use std::collections::HashMap;

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
}

/// The earlier accesses of a register. Who reads looks at writes only: a base pointer has as many readers as the block has
/// loads.
#[derive(Clone, Debug, Default)]
struct Accesses {
    reads: Vec<Access>,
    writes: Vec<Access>,
}

/// Builds graphs; keeps its tables from block to block.
#[derive(Debug)]
pub(crate) struct Dags {
    accesses: Vec<Accesses>,
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
            accesses: vec![Accesses::default(); function.vregs.len()],
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
        let mut memory = EarlierMemory::default();
        let mut convergent = None;
        for (node, inst) in (0u32..).zip(insts) {
            self.registers(&mut dag, node, inst);
            if let Some(effect) = effect(inst) {
                memory.order(&mut dag, node, effect);
            }
            if inst.convergent
                && let Some(earlier) = convergent.replace(node)
            {
                dag.edge(earlier, node);
            }
        }
        for reg in self.touched.drain(..) {
            if let Some(list) = self.accesses.get_mut(reg.index()) {
                list.reads.clear();
                list.writes.clear();
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
            for access in list.writes.iter().filter(|a| a.halves & halves != 0) {
                dag.edge(access.node, node);
                dag.read(access.node, node);
            }
            self.touched.push(slice.reg);
            list.reads.push(Access { node, halves });
        }
        for slice in inst.defs() {
            self.readers_of_copies_first(dag, node, slice.reg);
            let halves = mask(slice);
            let Some(list) = self.accesses.get_mut(slice.reg.index()) else {
                continue;
            };
            for list in [&mut list.reads, &mut list.writes] {
                for access in list.iter_mut().filter(|a| a.halves & halves != 0) {
                    dag.edge(access.node, node);
                    access.halves &= !halves;
                }
                list.retain(|access| access.halves != 0);
            }
            self.touched.push(slice.reg);
            list.writes.push(Access { node, halves });
        }
    }

    /// A value that replaces another, as a loop's next value does, is made after the
    /// last use of that other: then both can have one register.
    fn readers_of_copies_first(&self, dag: &mut Dag, node: u32, reg: VReg) {
        let replaced = self.copied_to.get(reg.index()).into_iter().flatten();
        for other in replaced {
            let list = self.accesses.get(other.index());
            for access in list.into_iter().flat_map(|list| &list.reads) {
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

/// Earlier accesses of memory that may be in the way of later ones, by what they access.
#[derive(Debug, Default)]
struct EarlierMemory {
    fence: Option<u32>,
    /// Reads and writes by alias class; in no class, they may meet all.
    classes: HashMap<Option<u32>, [Vec<u32>; 2]>,
}

impl EarlierMemory {
    /// Orders an access behind those that it must not pass.
    fn order(&mut self, dag: &mut Dag, node: u32, effect: Effect) {
        if let Some(fence) = self.fence {
            dag.edge(fence, node);
        }
        let (class, writes) = match effect {
            Effect::Fence => {
                for earlier in self.classes.values().flatten().flatten() {
                    dag.edge(*earlier, node);
                }
                self.classes.clear();
                self.fence = Some(node);
                return;
            }
            Effect::Read(class) => (class, false),
            Effect::Write(class) => (class, true),
        };
        let mut behind = |[reads, written]: &[Vec<u32>; 2]| {
            for earlier in written.iter().chain(reads.iter().filter(|_| writes)) {
                dag.edge(*earlier, node);
            }
        };
        match class {
            None => self.classes.values().for_each(&mut behind),
            Some(_) => [None, class]
                .iter()
                .filter_map(|class| self.classes.get(class))
                .for_each(&mut behind),
        }
        // What comes after a write is ordered behind everything before it that it waits for.
        if writes {
            match class {
                None => self.classes.clear(),
                Some(_) => {
                    self.classes.remove(&class);
                }
            }
        }
        let own = self.classes.entry(class).or_default();
        own[usize::from(writes)].push(node);
    }
}
