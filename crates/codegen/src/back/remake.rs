//! How a register can be made again where it is read, instead of being kept until then.
//!
//! What depends on nothing but constants, uniforms and a thread's place is the same wherever it is computed. Most indices are
//! such: a few instructions that take no memory, where a load from the stack takes a wait.

use crate::mir::{Function, Inst, Opcode, Operand, VReg};
use assay_agx::{Op, Operand as Fixed};
use assay_ssa::id::Id;

/// Instructions of the longest chain: more cost as much as a load.
const LONGEST: usize = 10;

/// The instruction that makes each register, of those that are made whole and once.
#[derive(Debug)]
pub(crate) struct Makers<'f> {
    of: Vec<Option<&'f Inst>>,
}

impl<'f> Makers<'f> {
    pub(crate) fn new(function: &'f Function) -> Makers<'f> {
        let mut of = vec![None; function.vregs.len()];
        let mut written = vec![false; function.vregs.len()];
        let blocks = function.blocks.as_slice().iter();
        for inst in blocks.flat_map(|block| &block.insts) {
            for slice in inst.defs() {
                let data = function.vregs.get(slice.reg);
                let whole = data.is_some_and(|data| data.halves == slice.halves());
                let at = slice.reg.index();
                if let (Some(maker), Some(written)) = (of.get_mut(at), written.get_mut(at)) {
                    let first = !std::mem::replace(written, true);
                    *maker = (first && whole).then_some(inst);
                }
            }
        }
        Makers { of }
    }

    /// The instructions that make a register again, the last of them itself.
    pub(crate) fn chain(&self, reg: VReg) -> Option<Vec<Inst>> {
        let mut chain = Vec::new();
        self.add(reg, &mut chain, 0)?;
        Some(chain)
    }

    fn add(&self, reg: VReg, chain: &mut Vec<Inst>, depth: usize) -> Option<()> {
        let makes = |inst: &Inst| inst.defs().any(|slice| slice.reg == reg);
        if chain.iter().any(makes) {
            return Some(());
        }
        let inst = step((*self.of.get(reg.index())?)?, reg)?;
        if depth >= LONGEST {
            return None;
        }
        for slice in inst.uses() {
            self.add(slice.reg, chain, depth + 1)?;
        }
        chain.push(inst);
        (chain.len() <= LONGEST).then_some(())
    }
}

/// Halves of registers that a chain needs beside its result.
pub(crate) fn halves_between(chain: &[Inst]) -> u16 {
    let before = chain.len().saturating_sub(1);
    let halves = |inst: &Inst| {
        inst.defs()
            .map(|slice| u16::from(slice.halves()))
            .sum::<u16>()
    };
    chain.iter().take(before).map(halves).sum()
}

/// The part of an instruction that makes a register, if it gives the same wherever it stands.
fn step(inst: &Inst, reg: VReg) -> Option<Inst> {
    if inst.memory.is_some() || inst.convergent || inst.is_control() {
        return None;
    }
    match inst.opcode {
        Opcode::ParallelCopy => {
            let mut pairs = inst.operands.chunks(2);
            let pair =
                pairs.find(|pair| matches!(pair, [(_, Operand::Def(to)), _] if to.reg == reg))?;
            Some(Inst {
                operands: pair.to_vec(),
                ..inst.clone()
            })
        }
        Opcode::Machine { op, .. } => {
            let same = match op {
                Op::MovImm
                | Op::Bitop
                | Op::Iadd
                | Op::Isub
                | Op::Imadd
                | Op::Bfi
                | Op::Bfeil
                | Op::Asr => true,
                // What was put on the stack stays there.
                Op::StackLoad => inst.uses().next().is_none(),
                Op::GetSr => is_steady(inst),
                _ => false,
            };
            (same && inst.defs().count() == 1).then(|| inst.clone())
        }
        Opcode::Undefined | Opcode::Placeholder(_) => None,
    }
}

/// Whether a special register is the same wherever a thread reads it.
fn is_steady(inst: &Inst) -> bool {
    let named = inst.operands.iter().find_map(|(_, operand)| match operand {
        Operand::Fixed(Fixed::Special(register)) => register.name(),
        _ => None,
    });
    named.is_some_and(|name| name.contains("_in_"))
}
