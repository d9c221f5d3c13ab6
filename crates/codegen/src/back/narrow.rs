//! The order of a block that keeps few registers alive.
//!
//! Instructions are placed from the last to the first. Going backwards, one that is
//! placed gives up what it writes and asks for what it reads; the one that asks for
//! least in return goes next. An expression is then finished before the next is begun,
//! and what many read is made just before the first of them.
//!
//! Greed alone does not decide between two that ask for the same. Several rules do, and
//! whoever calls picks the order that needs least.

use super::dag::Dag;
use super::liveness::mask;
use crate::mir::{Inst, VReg};
use assay_ssa::id::Id;
use std::collections::BTreeSet;

/// Instructions that are compared with each other, at most.
const CHOICE: usize = 48;

/// Who goes first, of those that ask for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Who came later before: the order changes little.
    Later,
    /// Whose result was asked for last: one expression after the other.
    Asked,
    /// Chance, which by its number is always the same.
    Chance(u32),
}

/// Instructions put in order by chance, at most, over all tries.
const CHANCES: usize = 2000;
const MOST_CHANCES: usize = 12;

impl Tie {
    /// The rules worth trying for a block of so many instructions.
    pub(crate) fn all(insts: usize) -> impl Iterator<Item = Tie> {
        let chances = (CHANCES / insts.max(1)).min(MOST_CHANCES) as u32;
        let chances = (0..chances).map(Tie::Chance);
        [Tie::Later, Tie::Asked].into_iter().chain(chances)
    }
}

/// What is alive while a block is put in order from its end.
#[derive(Debug)]
pub(crate) struct Narrow {
    alive: Vec<u16>,
}

impl Narrow {
    pub(crate) fn new(vregs: usize) -> Narrow {
        Narrow {
            alive: vec![0; vregs],
        }
    }

    /// The order; instructions are named by where they were.
    pub(crate) fn order(
        &mut self,
        insts: &[Inst],
        dag: &Dag,
        live_out: &[(VReg, u16)],
        tie: Tie,
    ) -> Vec<u32> {
        for slice in insts.iter().flat_map(|inst| inst.uses().chain(inst.defs())) {
            self.set(slice.reg, 0);
        }
        for (reg, halves) in live_out {
            self.set(*reg, self.alive(*reg) | halves);
        }
        let order = Walk::new(insts, dag, tie).run(self);
        for (reg, _) in live_out {
            self.set(*reg, 0);
        }
        order
    }

    fn alive(&self, reg: VReg) -> u16 {
        self.alive.get(reg.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, reg: VReg, halves: u16) {
        if let Some(alive) = self.alive.get_mut(reg.index()) {
            *alive = halves;
        }
    }

    /// How many halves more are alive before an instruction than after it.
    fn asks(&self, inst: &Inst) -> i32 {
        let mut asks = 0;
        for slice in inst.defs() {
            asks -= (self.alive(slice.reg) & mask(slice)).count_ones() as i32;
        }
        for (at, slice) in inst.uses().enumerate() {
            let mut new = mask(slice) & !self.alive(slice.reg);
            // What it reads twice it asks for once.
            for earlier in inst.uses().take(at).filter(|other| other.reg == slice.reg) {
                new &= !mask(earlier);
            }
            // What it reads and writes it needs again.
            for written in inst.defs().filter(|other| other.reg == slice.reg) {
                asks += (mask(slice) & mask(written) & self.alive(slice.reg)).count_ones() as i32;
            }
            asks += new.count_ones() as i32;
        }
        asks
    }

    fn place(&mut self, inst: &Inst) {
        for slice in inst.defs() {
            self.set(slice.reg, self.alive(slice.reg) & !mask(slice));
        }
        for slice in inst.uses() {
            self.set(slice.reg, self.alive(slice.reg) | mask(slice));
        }
    }
}

struct Walk<'a> {
    insts: &'a [Inst],
    /// Who must come before each.
    earlier: Vec<Vec<u32>>,
    /// How many that come after each are not placed yet.
    waiting: Vec<u32>,
    /// By rank, the best first.
    ready: BTreeSet<(u32, u32)>,
    reads: &'a [Vec<u32>],
    /// When each one's result was asked for, later ones lower.
    asked: Vec<u32>,
    tie: Tie,
}

impl<'a> Walk<'a> {
    fn new(insts: &'a [Inst], dag: &'a Dag, tie: Tie) -> Walk<'a> {
        let mut earlier = vec![Vec::new(); insts.len()];
        for (node, after) in (0u32..).zip(&dag.after) {
            for next in after {
                if let Some(list) = earlier.get_mut(*next as usize) {
                    list.push(node);
                }
            }
        }
        let waiting: Vec<u32> = dag.after.iter().map(|after| after.len() as u32).collect();
        let mut walk = Walk {
            insts,
            earlier,
            waiting,
            ready: BTreeSet::new(),
            reads: &dag.reads,
            asked: vec![u32::MAX; insts.len()],
            tie,
        };
        for node in (0u32..).take(insts.len()) {
            if walk.waiting.get(node as usize) == Some(&0) {
                walk.release(node);
            }
        }
        walk
    }

    fn run(mut self, narrow: &mut Narrow) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.insts.len());
        while let Some((rank, node)) = self.choose(narrow) {
            self.ready.remove(&(rank, node));
            if let Some(inst) = self.insts.get(node as usize) {
                narrow.place(inst);
            }
            order.push(node);
            self.placed(node, order.len() as u32);
        }
        order.reverse();
        order
    }

    fn choose(&self, narrow: &Narrow) -> Option<(u32, u32)> {
        let candidates = self.ready.iter().copied().take(CHOICE);
        candidates.min_by_key(|&(rank, node)| {
            let inst = self.insts.get(node as usize);
            (inst.map_or(0, |inst| narrow.asks(inst)), rank)
        })
    }

    fn placed(&mut self, node: u32, when: u32) {
        for from in self.reads.get(node as usize).into_iter().flatten() {
            if let Some(asked) = self.asked.get_mut(*from as usize) {
                *asked = u32::MAX - when;
            }
        }
        let earlier = self.earlier.get_mut(node as usize).map(std::mem::take);
        for from in earlier.into_iter().flatten() {
            let Some(waiting) = self.waiting.get_mut(from as usize) else {
                continue;
            };
            *waiting = waiting.saturating_sub(1);
            if *waiting == 0 {
                self.release(from);
            }
        }
    }

    fn release(&mut self, node: u32) {
        let later = u32::MAX - node;
        let rank = match self.tie {
            Tie::Later => later,
            Tie::Asked => self.asked.get(node as usize).copied().unwrap_or(later),
            // Knuth's multiplier spreads neighbours.
            Tie::Chance(number) => (node + number * 977 + 1).wrapping_mul(2_654_435_761),
        };
        self.ready.insert((rank, node));
    }
}
