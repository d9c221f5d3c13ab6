//! Which half registers hold a value that is still needed, at every point.
//!
//! Every half of every virtual register has its own life: of a loaded vector, each
//! element dies at its own last use. Registers that live inside one block never enter
//! the data flow; the others are numbered densely.

use crate::mir::{Function, Inst, Slice, VReg};
use assay_graph::BitSet;
use assay_ssa::id::Id;

/// Half registers live between blocks.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// First number of each register's halves; `LOCAL` for registers of one block.
    base: Vec<u32>,
    /// The register and half of each number.
    halves: Vec<(VReg, u8)>,
    live_in: Vec<BitSet>,
    live_out: Vec<BitSet>,
}

const LOCAL: u32 = u32::MAX;

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

impl Liveness {
    /// Solves the data flow of a function.
    pub(crate) fn new(function: &Function) -> Liveness {
        let (base, halves) = number(function);
        let mut liveness = Liveness {
            base,
            halves,
            live_in: Vec::new(),
            live_out: Vec::new(),
        };
        liveness.solve(function);
        liveness
    }

    fn solve(&mut self, function: &Function) {
        let size = self.halves.len();
        let blocks = function.blocks.as_slice();
        let effects: Vec<(BitSet, BitSet)> = blocks
            .iter()
            .map(|block| {
                let (mut used, mut defined) = (BitSet::new(size), BitSet::new(size));
                for inst in block.insts.iter().rev() {
                    self.each(inst.defs(), |at| {
                        used.remove(at);
                        defined.insert(at);
                    });
                    self.each(inst.uses(), |at| used.insert(at));
                }
                (used, defined)
            })
            .collect();
        let mut live_in: Vec<BitSet> = effects.iter().map(|(used, _)| used.clone()).collect();
        let mut live_out = vec![BitSet::new(size); blocks.len()];
        let mut changed = size != 0;
        while changed {
            changed = false;
            for (index, block) in blocks.iter().enumerate().rev() {
                let Some(out) = live_out.get_mut(index) else {
                    continue;
                };
                for successor in &block.successors {
                    if let Some(live) = live_in.get(successor.index()) {
                        out.union(live);
                    }
                }
                if let (Some(live), Some((used, defined))) =
                    (live_in.get_mut(index), effects.get(index))
                {
                    changed |= live.flow(used, out, defined);
                }
            }
        }
        (self.live_in, self.live_out) = (live_in, live_out);
    }

    fn each(&self, slices: impl Iterator<Item = Slice>, mut act: impl FnMut(usize)) {
        for slice in slices {
            match self.base.get(slice.reg.index()) {
                Some(&base) if base != LOCAL => {
                    slice
                        .range()
                        .for_each(|half| act(base as usize + usize::from(half)));
                }
                _ => {}
            }
        }
    }

    /// The registers live at the start of a block, with their live halves.
    pub(crate) fn live_in(&self, block: usize) -> impl Iterator<Item = (VReg, u16)> + '_ {
        self.named(self.live_in.get(block))
    }

    /// Whether any half of a slice is live at the start of a block.
    pub(crate) fn is_live_in(&self, block: usize, slice: Slice) -> bool {
        let Some(live) = self.live_in.get(block) else {
            return false;
        };
        let mut found = false;
        self.each(std::iter::once(slice), |at| found |= live.contains(at));
        found
    }

    /// The registers live at the end of a block, with their live halves.
    pub(crate) fn live_out(&self, block: usize) -> impl Iterator<Item = (VReg, u16)> + '_ {
        self.named(self.live_out.get(block))
    }

    fn named<'a>(&'a self, set: Option<&'a BitSet>) -> impl Iterator<Item = (VReg, u16)> + 'a {
        let mut halves = set
            .into_iter()
            .flat_map(BitSet::iter)
            .filter_map(|at| self.halves.get(at).copied())
            .peekable();
        std::iter::from_fn(move || {
            let (reg, half) = halves.next()?;
            let mut mask = 1 << half;
            while let Some((_, half)) = halves.next_if(|(other, _)| *other == reg) {
                mask |= 1 << half;
            }
            Some((reg, mask))
        })
    }
}

/// Numbers the halves of registers that live between blocks.
fn number(function: &Function) -> (Vec<u32>, Vec<(VReg, u8)>) {
    let mut seen: Vec<Option<u32>> = vec![None; function.vregs.len()];
    let mut written = vec![0u16; function.vregs.len()];
    let mut global = vec![false; function.vregs.len()];
    for (index, block) in function.blocks.as_slice().iter().enumerate() {
        let index = index as u32;
        let mut meet = |inst: &Inst| {
            for (slice, is_use) in inst
                .uses()
                .map(|slice| (slice, true))
                .chain(inst.defs().map(|slice| (slice, false)))
            {
                let at = slice.reg.index();
                let (Some(seen), Some(written), Some(global)) =
                    (seen.get_mut(at), written.get_mut(at), global.get_mut(at))
                else {
                    continue;
                };
                let exposed = is_use && mask(slice) & !*written != 0;
                *global |= exposed || seen.is_some_and(|other| other != index);
                *seen = Some(index);
                if !is_use {
                    *written |= mask(slice);
                }
            }
        };
        block.insts.iter().for_each(&mut meet);
    }
    let mut halves = Vec::new();
    let base = function
        .vregs
        .iter()
        .zip(global)
        .map(|((reg, data), global)| {
            if !global {
                return LOCAL;
            }
            let base = halves.len() as u32;
            halves.extend((0..data.halves).map(|half| (reg, half)));
            base
        })
        .collect();
    (base, halves)
}
