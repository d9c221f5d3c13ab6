//! Reads a copy's source instead of the copy.
//!
//! A register that is written once, by a copy of something that is itself written once,
//! is that something: its readers can go there, and the copy dies. Whatever a single
//! definition reaches it dominates, because every path writes before it reads.
//!
//! A vector that a block puts together twice from the same parts is one vector: a matrix
//! that several products take is not copied for each.

use super::liveness::mask;
use crate::mir::{Function, Inst, Opcode, Operand, Slice, VReg};
use assay_ssa::id::Id;
use std::collections::HashMap;

/// Per register, the one that stands for it, and from which half on.
type Aliases = Vec<Option<(VReg, u8)>>;

/// Halves written once at least, and more than once.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    once: u16,
    again: u16,
}

/// The half of a vector where a part goes, and where it comes from.
type Part = (u8, Slice);

/// Redirects the readers of copies.
pub(crate) fn propagate(function: &mut Function) {
    let copies = copies(function);
    redirect(function, &copies);
    let vectors = equal_vectors(function);
    redirect(function, &vectors);
}

fn redirect(function: &mut Function, aliases: &Aliases) {
    if aliases.iter().all(Option::is_none) {
        return;
    }
    // What stands for a register must be aligned as the register was.
    for reg in function.vregs.ids() {
        let Some((end, _)) = resolve(aliases, reg) else {
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
                && let Some((reg, half)) = resolve(aliases, slice.reg)
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

/// How often each half of each register is written.
fn written(function: &Function) -> Vec<Written> {
    let mut written = vec![Written::default(); function.vregs.len()];
    let insts = function.blocks.as_slice().iter().flat_map(|b| &b.insts);
    for slice in insts.flat_map(|inst| inst.defs()) {
        if let Some(written) = written.get_mut(slice.reg.index()) {
            written.again |= written.once & mask(slice);
            written.once |= mask(slice);
        }
    }
    written
}

fn is_written_once(written: &[Written], slice: Slice) -> bool {
    let written = written.get(slice.reg.index());
    written.is_some_and(|written| written.again & mask(slice) == 0)
}

/// Registers that are copies of others.
fn copies(function: &Function) -> Aliases {
    let written = written(function);
    let once = |slice: Slice| is_written_once(&written, slice);
    let mut aliases = vec![None; function.vregs.len()];
    let insts = function.blocks.as_slice().iter().flat_map(|b| &b.insts);
    for inst in insts.filter(|inst| inst.opcode == Opcode::ParallelCopy) {
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

/// Registers put together from the same parts as an earlier one of their block.
fn equal_vectors(function: &Function) -> Aliases {
    let written = written(function);
    let mut aliases = vec![None; function.vregs.len()];
    let mut known: HashMap<Vec<Part>, VReg> = HashMap::new();
    for block in function.blocks.as_slice() {
        known.clear();
        for inst in &block.insts {
            let Some((vector, parts)) = vector(function, &written, inst) else {
                continue;
            };
            let first = *known.entry(parts).or_insert(vector);
            if first != vector
                && let Some(alias) = aliases.get_mut(vector.index())
            {
                *alias = Some((first, 0));
            }
        }
    }
    aliases
}

/// The register that an instruction alone puts together, and from what.
fn vector(function: &Function, written: &[Written], inst: &Inst) -> Option<(VReg, Vec<Part>)> {
    if inst.opcode != Opcode::ParallelCopy || inst.operands.len() < 4 {
        return None;
    }
    let vector = inst.defs().next()?.reg;
    let mut parts = Vec::with_capacity(inst.operands.len() / 2);
    let mut filled = 0;
    for pair in inst.operands.chunks(2) {
        let [(_, Operand::Def(to)), (_, Operand::Use(from, _))] = pair else {
            return None;
        };
        let once = is_written_once(written, *to) && is_written_once(written, *from);
        if !once || to.reg != vector || from.reg == vector {
            return None;
        }
        filled |= mask(*to);
        parts.push((to.half, *from));
    }
    let halves = function.vregs.get(vector)?.halves;
    (filled.count_ones() == u32::from(halves)).then_some((vector, parts))
}
