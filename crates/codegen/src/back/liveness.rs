//! Which half registers hold a value that is still needed, at every point.
//!
//! Every half of every virtual register has its own life: of a loaded vector, each
//! element dies at its own last use. Each register is followed backwards from the blocks that read it to those that
//! write it, so the work is that of the lives, not registers times blocks. Registers of one block are not followed.

use crate::mir::{Function, Slice, VReg};
use assay_ssa::id::Id;

/// Half registers live between blocks: for each block the live registers, ascending, with their live halves.
#[derive(Debug)]
pub(crate) struct Liveness {
    live_in: Vec<Vec<(VReg, u16)>>,
    live_out: Vec<Vec<(VReg, u16)>>,
}

/// The halves of a slice, as bits.
pub(crate) fn mask(slice: Slice) -> u16 {
    let bits = (1u32 << slice.halves().min(16)) - 1;
    (bits << slice.half.min(16)) as u16
}

/// The members of a mask, ascending.
pub(crate) fn members(mask: u16) -> impl Iterator<Item = u8> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let half = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            half
        })
    })
}

/// What a block does with a register: the halves it reads before it writes them, and those it writes.
#[derive(Clone, Copy)]
struct Effect {
    block: u32,
    read: u16,
    written: u16,
}

/// Halves by block of the register that is followed.
#[derive(Clone, Copy, Default)]
struct Halves {
    written: u16,
    live_in: u16,
    live_out: u16,
}

impl Liveness {
    /// Follows the registers of a function.
    pub(crate) fn new(function: &Function) -> Liveness {
        let blocks = function.blocks.as_slice();
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); blocks.len()];
        for (index, block) in blocks.iter().enumerate() {
            for successor in &block.successors {
                if let Some(list) = predecessors.get_mut(successor.index()) {
                    list.push(index as u32);
                }
            }
        }
        let mut liveness = Liveness {
            live_in: vec![Vec::new(); blocks.len()],
            live_out: vec![Vec::new(); blocks.len()],
        };
        let mut halves = vec![Halves::default(); blocks.len()];
        for (reg, effects) in function.vregs.ids().zip(effects(function)) {
            liveness.follow(reg, &effects, &predecessors, &mut halves);
        }
        liveness
    }

    /// Finds where one register is live. All of `halves` are empty before and after.
    fn follow(
        &mut self,
        reg: VReg,
        effects: &[Effect],
        predecessors: &[Vec<u32>],
        halves: &mut [Halves],
    ) {
        let mut work: Vec<(u32, u16)> = Vec::new();
        let mut touched: Vec<u32> = Vec::new();
        for effect in effects {
            if let Some(at) = halves.get_mut(effect.block as usize) {
                at.written = effect.written;
                at.live_in = effect.read;
            }
            touched.push(effect.block);
            if effect.read != 0 {
                work.push((effect.block, effect.read));
            }
        }
        while let Some((block, needed)) = work.pop() {
            let before = predecessors.get(block as usize);
            for &before in before.map_or(&[][..], Vec::as_slice) {
                let Some(at) = halves.get_mut(before as usize) else {
                    continue;
                };
                if at.written | at.live_in | at.live_out == 0 {
                    touched.push(before);
                }
                at.live_out |= needed;
                let more = needed & !at.written & !at.live_in;
                at.live_in |= more;
                if more != 0 {
                    work.push((before, more));
                }
            }
        }
        for block in touched {
            let block = block as usize;
            let Some(at) = halves.get_mut(block).map(std::mem::take) else {
                continue;
            };
            for (list, halves) in [
                (self.live_in.get_mut(block), at.live_in),
                (self.live_out.get_mut(block), at.live_out),
            ] {
                if let Some(list) = list.filter(|_| halves != 0) {
                    list.push((reg, halves));
                }
            }
        }
    }

    /// The registers live at the start of a block, with their live halves.
    pub(crate) fn live_in(&self, block: usize) -> impl Iterator<Item = (VReg, u16)> + '_ {
        self.live_in.get(block).into_iter().flatten().copied()
    }

    /// Whether any half of a slice is live at the start of a block.
    pub(crate) fn is_live_in(&self, block: usize, slice: Slice) -> bool {
        let Some(list) = self.live_in.get(block) else {
            return false;
        };
        let found = list.binary_search_by_key(&slice.reg.index(), |(reg, _)| reg.index());
        let found = found.ok().and_then(|at| list.get(at));
        found.is_some_and(|(_, halves)| halves & mask(slice) != 0)
    }

    /// The registers live at the end of a block, with their live halves.
    pub(crate) fn live_out(&self, block: usize) -> impl Iterator<Item = (VReg, u16)> + '_ {
        self.live_out.get(block).into_iter().flatten().copied()
    }
}

/// Of each register that is read before it is written in some block, what each block does with it.
fn effects(function: &Function) -> Vec<Vec<Effect>> {
    let mut effects: Vec<Vec<Effect>> = vec![Vec::new(); function.vregs.len()];
    let mut note = |slice: Slice, block: u32, is_read: bool| {
        let Some(list) = effects.get_mut(slice.reg.index()) else {
            return;
        };
        if list.last().is_none_or(|last| last.block != block) {
            list.push(Effect {
                block,
                read: 0,
                written: 0,
            });
        }
        if let Some(last) = list.last_mut() {
            match is_read {
                true => last.read |= mask(slice) & !last.written,
                false => last.written |= mask(slice),
            }
        }
    };
    for (index, block) in (0..).zip(function.blocks.as_slice()) {
        for inst in &block.insts {
            inst.uses().for_each(|slice| note(slice, index, true));
            inst.defs().for_each(|slice| note(slice, index, false));
        }
    }
    for list in &mut effects {
        if list.iter().all(|effect| effect.read == 0) {
            list.clear();
        }
    }
    effects
}
