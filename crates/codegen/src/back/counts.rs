//! How many half registers are alive while a block is put in order.

use super::liveness::{mask, members};
use crate::mir::{Inst, VReg};
use assay_ssa::id::Id;

/// How many halves are alive while a block is put in order.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Uses of each half that are still to come; live at the end counts as one.
    left: Vec<[u16; 16]>,
    alive: Vec<u16>,
    pub(crate) now: i32,
}

impl Counts {
    pub(crate) fn new(vregs: usize) -> Counts {
        Counts {
            left: vec![[0; 16]; vregs],
            alive: vec![0; vregs],
            now: 0,
        }
    }

    /// The state at the start of a block.
    pub(crate) fn start(
        &mut self,
        insts: &[Inst],
        live_in: &[(VReg, u16)],
        live_out: &[(VReg, u16)],
    ) {
        let named = insts.iter().flat_map(|inst| inst.uses().chain(inst.defs()));
        let all = live_in.iter().chain(live_out).map(|(reg, _)| *reg);
        for reg in named.map(|slice| slice.reg).chain(all) {
            if let Some(left) = self.left.get_mut(reg.index()) {
                *left = [0; 16];
            }
            if let Some(alive) = self.alive.get_mut(reg.index()) {
                *alive = 0;
            }
        }
        let uses = insts.iter().flat_map(Inst::uses);
        let uses = uses.map(|slice| (slice.reg, mask(slice)));
        for (reg, halves) in uses.chain(live_out.iter().copied()) {
            if let Some(left) = self.left.get_mut(reg.index()) {
                members(halves).for_each(|half| left[usize::from(half & 15)] += 1);
            }
        }
        self.now = 0;
        for (reg, halves) in live_in {
            if let Some(alive) = self.alive.get_mut(reg.index()) {
                *alive |= halves;
                self.now += halves.count_ones() as i32;
            }
        }
    }

    /// How many halves more are alive after an instruction.
    pub(crate) fn change(&self, inst: &Inst) -> i32 {
        let mut change = 0;
        for slice in inst.uses() {
            let Some(left) = self.left.get(slice.reg.index()) else {
                continue;
            };
            change -= members(mask(slice))
                .filter(|half| left[usize::from(half & 15)] == 1)
                .count() as i32;
        }
        for slice in inst.defs() {
            let alive = self.alive.get(slice.reg.index()).copied().unwrap_or(0);
            change += (mask(slice) & !alive).count_ones() as i32;
        }
        change
    }

    pub(crate) fn retire(&mut self, inst: &Inst) {
        for slice in inst.uses() {
            let at = slice.reg.index();
            let (Some(left), Some(alive)) = (self.left.get_mut(at), self.alive.get_mut(at)) else {
                continue;
            };
            for half in members(mask(slice)) {
                let left = &mut left[usize::from(half & 15)];
                *left = left.saturating_sub(1);
                if *left == 0 && *alive >> half & 1 != 0 {
                    *alive &= !(1 << half);
                    self.now -= 1;
                }
            }
        }
        for slice in inst.defs() {
            let at = slice.reg.index();
            let (Some(left), Some(alive)) = (self.left.get(at), self.alive.get_mut(at)) else {
                continue;
            };
            for half in members(mask(slice) & !*alive) {
                if left[usize::from(half & 15)] != 0 {
                    *alive |= 1 << half;
                    self.now += 1;
                }
            }
        }
    }

    /// The most that are alive in an order.
    pub(crate) fn peak(&mut self, insts: &[Inst], order: &[u32]) -> i32 {
        let mut peak = self.now;
        for node in order {
            if let Some(inst) = insts.get(*node as usize) {
                self.retire(inst);
                peak = peak.max(self.now);
            }
        }
        peak
    }
}
