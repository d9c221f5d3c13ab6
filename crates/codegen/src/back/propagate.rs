//! Reads a copy's source instead of the copy.
//!
//! A register that is written once, by a copy of something that is itself written once,
//! is that something: its readers can go there, and the copy dies. Whatever a single
//! definition reaches it dominates, because every path writes before it reads.

use super::liveness::mask;
use crate::mir::{Function, Opcode, Operand, Slice, VReg};
use assay_ssa::id::Id;

/// Halves written once at least, and more than once.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    once: u16,
    again: u16,
}

/// Redirects the readers of copies.
pub(crate) fn propagate(function: &mut Function) {
    let aliases = find(function);
    if aliases.iter().all(Option::is_none) {
        return;
    }
    // What stands for a register must be aligned as the register was.
    for reg in function.vregs.ids() {
        let Some((end, _)) = resolve(&aliases, reg) else {
            continue;
        };
        let align = function.vregs.get(reg).map_or(1, |data| data.align);
        if let Some(data) = function.vregs.get_mut(end) {
            data.align = data.align.max(align);
        }
    }
    for block in function.blocks.as_mut_slice() {
        for (_, operand) in block.insts.iter_mut().flat_map(|inst| &mut inst.operands) {
            if let Operand::Use(slice, _) = operand
                && let Some((reg, half)) = resolve(&aliases, slice.reg)
            {
                slice.reg = reg;
                slice.half += half;
            }
        }
    }
}

/// The register behind a chain of copies, and where in it.
fn resolve(aliases: &[Option<(VReg, u8)>], reg: VReg) -> Option<(VReg, u8)> {
    let mut found = None;
    let mut next = reg;
    let mut offset = 0;
    // A chain is no longer than there are registers.
    for _ in 0..aliases.len() {
        let Some((reg, half)) = aliases.get(next.index()).copied().flatten() else {
            break;
        };
        offset += half;
        next = reg;
        found = Some((reg, offset));
    }
    found
}

fn find(function: &Function) -> Vec<Option<(VReg, u8)>> {
    let mut written = vec![Written::default(); function.vregs.len()];
    let insts = || {
        let blocks = function.blocks.as_slice().iter();
        blocks.flat_map(|block| &block.insts)
    };
    for slice in insts().flat_map(|inst| inst.defs()) {
        if let Some(written) = written.get_mut(slice.reg.index()) {
            written.again |= written.once & mask(slice);
            written.once |= mask(slice);
        }
    }
    let once = |slice: Slice| {
        let written = written.get(slice.reg.index());
        written.is_some_and(|written| written.again & mask(slice) == 0)
    };
    let mut aliases = vec![None; function.vregs.len()];
    for inst in insts().filter(|inst| inst.opcode == Opcode::ParallelCopy) {
        for pair in inst.operands.chunks(2) {
            let [(_, Operand::Def(to)), (_, Operand::Use(from, _))] = pair else {
                continue;
            };
            let (Some(data), Some(source)) =
                (function.vregs.get(to.reg), function.vregs.get(from.reg))
            else {
                continue;
            };
            let whole = to.half == 0 && to.halves() == data.halves;
            let aligned = from.half.is_multiple_of(data.align.max(1)) && source.align <= 4;
            if whole
                && aligned
                && to.reg != from.reg
                && once(*to)
                && once(*from)
                && let Some(alias) = aliases.get_mut(to.reg.index())
            {
                *alias = Some((from.reg, from.half));
            }
        }
    }
    aliases
}
