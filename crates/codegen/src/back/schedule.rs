//! Asks memory early and uses the answers late.
//!
//! In blocks that load, loads come first, each with what computes its address, then
//! what does not depend on them, then their uses. At most two slots' worth is
//! outstanding; when that is used down to one slot's worth, the next loads go out while
//! the rest is still computed with. Registers that loads occupy early must not cost a
//! step of occupancy: if they would, a block keeps its order.

use super::allocate::{Bounds, row};
use super::dag::{Dag, Dags, is_slow_load};
use super::liveness::{Liveness, mask, members};
use super::pressure::pressure;
use super::ranges::Ranges;
use crate::mir::{Function, Inst, VReg};
use assay_chip::occupancy::STEPS;
use assay_ssa::id::Id;
use std::collections::BTreeSet;

/// Loads outstanding before some are used, boldest first; 0 leaves all as it is. More go
/// out when half of them are used.
pub(crate) const TRIES: [usize; 3] = [16, 8, 0];

/// Instructions that are ready and compared with each other, at most: by rank, and by
/// what they do to registers when those run out.
const CHOICE: usize = 24;
const CHOICE_BY_REGISTERS: usize = 8;

/// Halves kept back for what alignment wastes.
const SLACK: u16 = 6;

/// What scheduling found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheduled {
    /// Whether any block has another order now.
    pub(crate) changed: bool,
    /// Halves that were needed before, reserved ones included.
    pub(crate) needed: u16,
}

/// Reorders the blocks of a function with at most so many loads outstanding.
pub(crate) fn schedule(function: &mut Function, bounds: Bounds, outstanding: usize) -> Scheduled {
    let Bounds { first, limit } = bounds;
    let liveness = Liveness::new(function);
    let ranges = Ranges::new(function, &liveness);
    let needed = pressure(function, &ranges).into_iter().max().unwrap_or(0);
    let step = STEPS.get(row(needed + first)).copied();
    let step = step.map_or(limit, |step| step.half_registers as u16);
    let room = step.min(limit).saturating_sub(first + SLACK);
    let mut scheduled = Scheduled {
        changed: false,
        needed: needed + first,
    };
    if outstanding == 0 {
        return scheduled;
    }
    let mut dags = Dags::new(function);
    let mut counts = Counts::new(function.vregs.len());
    for (index, block) in function.blocks.as_mut_slice().iter_mut().enumerate() {
        let (head, tail) = (block.head(), block.tail());
        let Some(insts) = block.insts.get(head..tail) else {
            continue;
        };
        if !insts.iter().any(is_slow_load) || insts.len() < 3 {
            continue;
        }
        let live_in: Vec<(VReg, u16)> = liveness.live_in(index).collect();
        let mut live_out: Vec<(VReg, u16)> = liveness.live_out(index).collect();
        let controls = block.insts.get(tail..).unwrap_or_default();
        let kept = controls.iter().flat_map(Inst::uses);
        live_out.extend(kept.map(|slice| (slice.reg, mask(slice))));
        let dag = dags.build(insts);
        let mut orders = [false, true].map(|frugal| {
            counts.start(insts, &live_in, &live_out);
            let scheduler = Scheduler::new(insts, &dag, &mut counts, room, outstanding);
            Scheduler {
                frugal,
                ..scheduler
            }
            .run()
        });
        let mut peak = |order: &[u32]| {
            counts.start(insts, &live_in, &live_out);
            counts.peak(insts, order)
        };
        let old: Vec<u32> = (0..insts.len() as u32).collect();
        let before = peak(&old);
        let peaks = [peak(&orders[0]), peak(&orders[1])];
        let chosen = usize::from(peaks[1] < peaks[0]);
        let (order, after) = (std::mem::take(&mut orders[chosen]), peaks[chosen]);
        if order.len() == insts.len() && (after <= i32::from(room) || after <= before) {
            scheduled.changed |= order != old;
            reorder(&mut block.insts, head, &order);
        }
    }
    scheduled
}

fn reorder(insts: &mut [Inst], head: usize, order: &[u32]) {
    let Some(region) = insts.get_mut(head..head + order.len()) else {
        return;
    };
    let placeholder = || Inst::new(assay_agx::Op::Trap);
    let mut taken: Vec<Inst> = region
        .iter_mut()
        .map(|inst| std::mem::replace(inst, placeholder()))
        .collect();
    for (place, from) in region.iter_mut().zip(order) {
        if let Some(inst) = taken.get_mut(*from as usize) {
            *place = std::mem::replace(inst, placeholder());
        }
    }
}

/// How many halves are alive while a block is put in order.
#[derive(Debug)]
struct Counts {
    /// Uses of each half that are still to come; live at the end counts as one.
    left: Vec<[u16; 16]>,
    alive: Vec<u16>,
    now: i32,
}

impl Counts {
    fn new(vregs: usize) -> Counts {
        Counts {
            left: vec![[0; 16]; vregs],
            alive: vec![0; vregs],
            now: 0,
        }
    }

    /// The state at the start of a block.
    fn start(&mut self, insts: &[Inst], live_in: &[(VReg, u16)], live_out: &[(VReg, u16)]) {
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
    fn change(&self, inst: &Inst) -> i32 {
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

    fn retire(&mut self, inst: &Inst) {
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
    fn peak(&mut self, insts: &[Inst], order: &[u32]) -> i32 {
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

struct Scheduler<'a> {
    insts: &'a [Inst],
    dag: &'a Dag,
    counts: &'a mut Counts,
    room: i32,
    /// The first load that a node helps to compute the address of, or is.
    serves: Vec<u32>,
    before: Vec<u32>,
    ready: BTreeSet<u32>,
    /// Loads that nobody has used yet.
    waiting: Vec<bool>,
    outstanding: usize,
    high: usize,
    issuing: bool,
    /// Loads that are not out yet.
    loads: usize,
    /// Once all loads are out, prefer what frees registers.
    frugal: bool,
}

const NOTHING: u32 = u32::MAX;

impl<'a> Scheduler<'a> {
    fn new(
        insts: &'a [Inst],
        dag: &'a Dag,
        counts: &'a mut Counts,
        room: u16,
        high: usize,
    ) -> Scheduler<'a> {
        let mut serves = vec![NOTHING; insts.len()];
        for (node, inst) in insts.iter().enumerate().rev() {
            if is_slow_load(inst)
                && let Some(serves) = serves.get_mut(node)
            {
                *serves = node as u32;
            }
            let mine = serves.get(node).copied().unwrap_or(NOTHING);
            for from in dag.reads.get(node).into_iter().flatten() {
                if let Some(serves) = serves.get_mut(*from as usize) {
                    *serves = mine.min(*serves);
                }
            }
        }
        let ready = (0u32..)
            .zip(&dag.before)
            .filter(|(_, before)| **before == 0);
        Scheduler {
            insts,
            dag,
            counts,
            room: i32::from(room),
            serves,
            before: dag.before.clone(),
            ready: ready.map(|(node, _)| node).collect(),
            waiting: vec![false; insts.len()],
            outstanding: 0,
            high,
            issuing: true,
            loads: insts.iter().filter(|inst| is_slow_load(inst)).count(),
            frugal: false,
        }
    }

    fn run(mut self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.insts.len());
        while let Some(node) = self.choose() {
            self.place(node);
            order.push(node);
        }
        order
    }

    fn choose(&self) -> Option<u32> {
        let candidates = || self.ready.iter().copied().take(CHOICE);
        let inst = |node: u32| self.insts.get(node as usize);
        let change = |node: u32| inst(node).map_or(0, |inst| self.counts.change(inst));
        if self.frugal && self.loads == 0 {
            return candidates().min_by_key(|node| (self.rank(*node).0, change(*node), *node));
        }
        let best = candidates().min_by_key(|node| self.rank(*node))?;
        let grows = change(best);
        if grows <= 0 || self.counts.now + grows <= self.room {
            return Some(best);
        }
        candidates()
            .take(CHOICE_BY_REGISTERS)
            .min_by_key(|node| (change(*node), *node))
    }

    /// The lowest goes next.
    fn rank(&self, node: u32) -> (bool, bool, u32) {
        let load = self.insts.get(node as usize).is_some_and(is_slow_load);
        if !self.issuing {
            return (load, false, node);
        }
        let serves = self.serves.get(node as usize).copied().unwrap_or(NOTHING);
        let reads = self.dag.reads.get(node as usize).into_iter().flatten();
        let stalls = reads
            .into_iter()
            .any(|from| self.waiting.get(*from as usize).copied().unwrap_or(false));
        (stalls, serves == NOTHING, node.min(serves))
    }

    fn place(&mut self, node: u32) {
        self.ready.remove(&node);
        let at = node as usize;
        if let Some(inst) = self.insts.get(at) {
            self.counts.retire(inst);
            if is_slow_load(inst)
                && let Some(waiting) = self.waiting.get_mut(at)
            {
                *waiting = true;
                self.outstanding += 1;
                self.loads = self.loads.saturating_sub(1);
            }
        }
        for from in self.dag.reads.get(at).into_iter().flatten() {
            if let Some(waiting) = self.waiting.get_mut(*from as usize)
                && std::mem::take(waiting)
            {
                self.outstanding -= 1;
            }
        }
        if self.outstanding >= self.high {
            self.issuing = false;
        } else if self.outstanding <= self.high / 2 {
            self.issuing = true;
        }
        for next in self.dag.after.get(at).into_iter().flatten() {
            if let Some(before) = self.before.get_mut(*next as usize) {
                *before -= 1;
                if *before == 0 {
                    self.ready.insert(*next);
                }
            }
        }
    }
}
