//! Lets a copied register die at its copy.
//!
//! A loop's value is often copied for whoever follows the loop, and then used once more
//! for the next round. Both registers hold the same value meanwhile, yet both are alive
//! and cannot share a place. Where everything behind the copy can read the new register,
//! it does; the old one ends there, and joining the two makes the copy disappear.

use super::liveness::{Liveness, mask};
use crate::mir::{Function, Inst, Opcode, Operand, Slice, VReg};
use assay_ssa::id::Id;

/// Instructions behind a copy that its readers may lie in.
const REACH: usize = 1500;

/// Rounds: what one copy changes, the next round sees.
const ROUNDS: usize = 3;

/// A place of an operand: block, instruction, operand.
type Site = (usize, usize, usize);

/// Redirects readers behind copies.
pub(crate) fn forward_copies(function: &mut Function) {
    for _ in 0..ROUNDS {
        if !round(function) {
            break;
        }
    }
}

fn round(function: &mut Function) -> bool {
    let liveness = Liveness::new(function);
    let predecessors = predecessors(function);
    let mentions = Mentions::new(function);
    let mut touched = vec![false; function.vregs.len()];
    let mut changed = false;
    for (block, at, to, from) in copies(function) {
        let stale = [to.reg, from.reg]
            .iter()
            .any(|reg| touched.get(reg.index()).copied().unwrap_or(true));
        if stale {
            continue;
        }
        let search = Search {
            function,
            liveness: &liveness,
            predecessors: &predecessors,
            mentions: &mentions,
            to,
            from,
        };
        let Some(sites) = search.readers(block, at).filter(|sites| !sites.is_empty()) else {
            continue;
        };
        for (block, inst, operand) in sites {
            let blocks = function.blocks.as_mut_slice();
            let inst = blocks.get_mut(block).and_then(|b| b.insts.get_mut(inst));
            if let Some((_, Operand::Use(slice, _))) =
                inst.and_then(|inst| inst.operands.get_mut(operand))
            {
                slice.half = slice.half - from.half + to.half;
                slice.reg = to.reg;
            }
        }
        for reg in [to.reg, from.reg] {
            if let Some(touched) = touched.get_mut(reg.index()) {
                *touched = true;
            }
        }
        changed = true;
    }
    changed
}

fn predecessors(function: &Function) -> Vec<u32> {
    let mut count = vec![0; function.blocks.len()];
    for block in function.blocks.as_slice() {
        for successor in &block.successors {
            if let Some(count) = count.get_mut(successor.index()) {
                *count += 1;
            }
        }
    }
    count
}

/// All copies between registers, innermost loops first.
fn copies(function: &Function) -> Vec<(usize, usize, Slice, Slice)> {
    let mut found = Vec::new();
    for (number, block) in function.blocks.as_slice().iter().enumerate() {
        for (at, inst) in block.insts.iter().enumerate() {
            if inst.opcode != Opcode::ParallelCopy {
                continue;
            }
            for pair in inst.operands.chunks(2) {
                if let [(_, Operand::Def(to)), (_, Operand::Use(from, _))] = pair
                    && to.reg != from.reg
                    && !overwrites(inst, *from)
                {
                    found.push((block.loop_depth, (number, at, *to, *from)));
                }
            }
        }
    }
    found.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
    found.into_iter().map(|(_, copy)| copy).collect()
}

/// Whether an instruction writes what it copies from, as an exchange does.
fn overwrites(inst: &Inst, from: Slice) -> bool {
    inst.defs()
        .any(|slice| slice.reg == from.reg && mask(slice) & mask(from) != 0)
}

struct Search<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    predecessors: &'a [u32],
    mentions: &'a Mentions,
    to: Slice,
    from: Slice,
}

/// The instructions that read or write each register, in order. Stays true of registers whose readers are not redirected.
struct Mentions {
    /// Of each register, where its places begin.
    starts: Vec<u32>,
    /// Block and instruction.
    places: Vec<(u32, u32)>,
}

impl Mentions {
    fn new(function: &Function) -> Self {
        let mut starts = vec![0u32; function.vregs.len() + 1];
        each_mention(function, |reg, _| starts[reg + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![(0, 0); starts.last().copied().unwrap_or(0) as usize];
        each_mention(function, |reg, place| {
            places[next[reg] as usize] = place;
            next[reg] += 1;
        });
        Self { starts, places }
    }

    /// The instructions of a block from `first` on that mention a register.
    fn within(&self, reg: VReg, block: usize, first: usize) -> &[(u32, u32)] {
        let range = self.starts[reg.index()] as usize..self.starts[reg.index() + 1] as usize;
        let places = &self.places[range];
        let from = places.partition_point(|place| *place < (block as u32, first as u32));
        let to = places.partition_point(|place| *place < (block as u32 + 1, 0));
        &places[from..to]
    }
}

/// Calls `found` with a register and an instruction that mentions it, block by block.
fn each_mention(function: &Function, mut found: impl FnMut(usize, (u32, u32))) {
    for (block, data) in function.blocks.as_slice().iter().enumerate() {
        for (at, inst) in data.insts.iter().enumerate() {
            for (_, operand) in &inst.operands {
                if let Operand::Use(slice, _) | Operand::Def(slice) = operand {
                    found(slice.reg.index(), (block as u32, at as u32));
                }
            }
        }
    }
}

impl Search<'_> {
    /// Every reader of the source behind the copy, if all of them can read the copy.
    fn readers(&self, block: usize, at: usize) -> Option<Vec<Site>> {
        let mut sites = Vec::new();
        let mut left = REACH;
        let mut work = vec![(block, at + 1)];
        let mut seen = vec![block];
        while let Some((number, first)) = work.pop() {
            let block = self.function.blocks.as_slice().get(number)?;
            let mut alive = mask(self.from);
            let mut end = block.insts.len();
            for at in self.mentioned(number, first) {
                let inst = block.insts.get(at)?;
                for (n, (_, operand)) in inst.operands.iter().enumerate() {
                    if let Operand::Use(slice, _) = operand
                        && slice.reg == self.from.reg
                        && mask(*slice) & mask(self.from) != 0
                    {
                        self.can_read_copy(*slice)?;
                        sites.push((number, at, n));
                    }
                }
                for slice in inst.defs() {
                    if slice.reg == self.from.reg {
                        alive &= !mask(slice);
                    }
                    if slice.reg == self.to.reg && mask(slice) & mask(self.to) != 0 && alive != 0 {
                        return None;
                    }
                }
                // A partly overwritten source is two values in one.
                if alive != mask(self.from) && alive != 0 {
                    return None;
                }
                if alive == 0 {
                    end = at + 1;
                    break;
                }
            }
            left = left.checked_sub(end.saturating_sub(first))?;
            if alive == 0 {
                continue;
            }
            for successor in block.successors.iter().map(|block| block.index()) {
                if !self.is_live(successor) {
                    continue;
                }
                let only = self.predecessors.get(successor) == Some(&1);
                if !only || seen.contains(&successor) {
                    return None;
                }
                seen.push(successor);
                work.push((successor, 0));
            }
        }
        Some(sites)
    }

    /// The instructions of a block from `first` on that mention source or copy, in order.
    fn mentioned(&self, block: usize, first: usize) -> impl Iterator<Item = usize> {
        let mut from = self
            .mentions
            .within(self.from.reg, block, first)
            .iter()
            .peekable();
        let mut to = self
            .mentions
            .within(self.to.reg, block, first)
            .iter()
            .peekable();
        std::iter::from_fn(move || {
            let next = match (from.peek(), to.peek()) {
                (Some(a), Some(b)) => *(*a).min(*b),
                (Some(place), None) | (None, Some(place)) => **place,
                (None, None) => return None,
            };
            while from.next_if(|place| **place == next).is_some() {}
            while to.next_if(|place| **place == next).is_some() {}
            Some(next.1 as usize)
        })
    }

    /// Whether the source is needed at the start of a block.
    fn is_live(&self, block: usize) -> bool {
        self.liveness.is_live_in(block, self.from)
    }

    /// Whether an operand lies in the copied part and may lie in the copy.
    fn can_read_copy(&self, slice: Slice) -> Option<()> {
        let inside = mask(slice) & !mask(self.from) == 0;
        let align = |reg: VReg| self.function.vregs.get(reg).map_or(1, |data| data.align);
        let moved = slice.half.checked_sub(self.from.half)? + self.to.half;
        let aligned = align(self.to.reg) >= align(self.from.reg)
            || slice.width.halves() <= u16::from(align(self.to.reg));
        let step = slice.width.halves().min(2) as u8;
        (inside && aligned && moved.is_multiple_of(step)).then_some(())
    }
}
