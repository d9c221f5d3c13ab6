//! Removes what computes nothing that is needed.

use super::liveness::{Liveness, mask, members};
use crate::mir::{Function, Inst, Opcode, Operand, VReg};
use assay_agx::Op;
use assay_ssa::id::Id;

/// Removes instructions without effect whose results nobody reads, and copies of a
/// parallel copy likewise.
pub(crate) fn remove_dead(function: &mut Function) {
    let liveness = Liveness::new(function);
    let mut live = vec![0u16; function.vregs.len()];
    for (index, block) in function.blocks.as_mut_slice().iter_mut().enumerate() {
        for (reg, halves) in liveness.live_out(index) {
            set(&mut live, reg, halves);
        }
        let mut kept = Vec::with_capacity(block.insts.len());
        for mut inst in block.insts.drain(..).rev() {
            let is_dead = |reg: VReg, halves: u16| {
                live.get(reg.index()).is_none_or(|live| live & halves == 0)
            };
            match inst.opcode {
                Opcode::ParallelCopy => trim(&mut inst, is_dead),
                _ if is_removable(&inst)
                    && inst.defs().all(|slice| is_dead(slice.reg, mask(slice))) =>
                {
                    continue;
                }
                _ => {}
            }
            if inst.opcode == Opcode::ParallelCopy && inst.operands.is_empty() {
                continue;
            }
            for slice in inst.defs() {
                if let Some(live) = live.get_mut(slice.reg.index()) {
                    *live &= !mask(slice);
                }
            }
            for slice in inst.uses() {
                set(&mut live, slice.reg, mask(slice));
            }
            kept.push(inst);
        }
        kept.reverse();
        block.insts = kept;
        for (reg, _) in liveness.live_in(index) {
            if let Some(live) = live.get_mut(reg.index()) {
                *live = 0;
            }
        }
    }
}

fn set(live: &mut [u16], reg: VReg, halves: u16) {
    if let Some(live) = live.get_mut(reg.index()) {
        *live |= halves;
    }
}

/// Keeps the copies somebody needs, and no copy of a register to itself.
fn trim(inst: &mut Inst, is_dead: impl Fn(VReg, u16) -> bool) {
    let mut kept = Vec::with_capacity(inst.operands.len());
    for pair in inst.operands.chunks(2) {
        let [(_, Operand::Def(to)), (_, from)] = pair else {
            kept.extend_from_slice(pair);
            continue;
        };
        let same = matches!(from, Operand::Use(from, _)
            if from.reg == to.reg && from.half == to.half);
        let dead = members(mask(*to)).all(|half| is_dead(to.reg, 1 << half));
        if !same && !dead {
            kept.extend_from_slice(pair);
        }
    }
    inst.operands = kept;
}

/// Whether it does nothing beyond its results.
fn is_removable(inst: &Inst) -> bool {
    let Opcode::Machine { op, .. } = inst.opcode else {
        return inst.opcode == Opcode::Undefined;
    };
    let is_load = matches!(op, Op::DeviceLoad | Op::ThreadgroupLoad | Op::StackLoad);
    let harmless = inst.memory.is_none_or(|memory| is_load && !memory.fence);
    let reads_memory_unsaid =
        inst.memory.is_none() && matches!(op, Op::Atomic | Op::ThreadgroupAtomic);
    harmless && !reads_memory_unsaid && !inst.is_control() && inst.defs().next().is_some()
}
