//! Puts the instructions of each block in order.
//!
//! Loads that are out together take registers together. Registers are worth spending
//! as long as it is time that they buy: a block whose waits are hidden by the other
//! simdgroups gains nothing from more. So every block is put in several orders, from
//! the one that needs fewest registers to the one that asks memory for all at once;
//! each has its registers and its time. What the function needs is what the neediest
//! block cannot do without; within that, every block takes its fastest order.

use super::allocate::{Bounds, row};
use super::counts::Counts;
use super::dag::{Dag, Dags, is_slow_load};
use super::liveness::{Liveness, mask};
use super::narrow::{Narrow, Tie};
use super::overlap::{Overlap, overlap};
use super::time::{Cost, Time, costs, time};
use crate::mir::{Block, Function, Inst, VReg};
use assay_chip::occupancy::STEPS;

/// Loads outstanding before some are used, boldest first: two slots have room for 16.
const OUTSTANDING: [usize; 8] = [16, 12, 8, 6, 4, 3, 2, 1];

/// For blocks with many instructions, fewer are tried.
const LARGE: usize = 300;
const OUTSTANDING_LARGE: [usize; 3] = [16, 8, 4];

/// Halves kept back for what alignment wastes.
const SLACK: u16 = 6;

/// Cycles that an order may be slower than the fastest if it changes less.
const TOLERANCE: f64 = 0.9;

/// How much slower than the fastest an order may be that needs fewer registers, if its
/// waits are hidden.
const SLOWEST: f64 = 2.5;

/// The same, if they are not hidden, in loops and outside.
const NEARLY: [f64; 2] = [1.01, 1.05];

/// What registers are spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Time, within a step of occupancy.
    Fast,
    /// Nothing: as few as can be.
    Narrow,
    /// Instructions stay where they are.
    AsIs,
}

impl Aim {
    /// In the order in which they are tried.
    pub(crate) const ALL: [Aim; 3] = [Aim::Fast, Aim::Narrow, Aim::AsIs];
}

/// Registers with their halves that are alive.
type Alive = Vec<(VReg, u16)>;

/// One order of a block.
struct Candidate {
    order: Vec<u32>,
    /// Halves alive where most are.
    peak: i32,
    time: Time,
}

/// Reorders the blocks of a function. Gives the halves it needs now, reserved ones
/// included.
pub(crate) fn schedule(function: &mut Function, bounds: Bounds, aim: Aim) -> u16 {
    let liveness = Liveness::new(function);
    let mut blocks = Blocks {
        dags: Dags::new(function),
        counts: Counts::new(function.vregs.len()),
        narrow: Narrow::new(function.vregs.len()),
    };
    let mut candidates: Vec<Vec<Candidate>> = Vec::with_capacity(function.blocks.len());
    let list = function.blocks.as_slice().iter().enumerate();
    for (index, block) in list.clone() {
        candidates.push(blocks.in_place(&liveness, index, block, aim));
    }
    let least = |list: &Vec<Candidate>| list.iter().map(|c| c.peak).min().unwrap_or(0);
    let narrowest = candidates.iter().map(least).max().unwrap_or(0).max(0) as u16;
    let step = STEPS.get(row(narrowest + bounds.first)).copied();
    let (most, threads) = step.map_or((bounds.limit, 0), |step| {
        (step.half_registers as u16, step.threads)
    });
    let room = most.min(bounds.limit).saturating_sub(bounds.first + SLACK);
    let room = room.max(narrowest);
    if aim == Aim::Fast {
        for ((index, block), list) in list.zip(&mut candidates) {
            blocks.overlapped(&liveness, index, block, room, list);
            list.retain(|candidate| candidate.peak <= i32::from(room));
        }
    }
    let depths = function.blocks.as_slice().iter().map(|b| b.loop_depth);
    let enough = candidates
        .iter()
        .zip(depths)
        .map(|(list, depth)| enough(list, threads, depth > 0));
    let needed = match aim {
        Aim::Fast => enough.max().unwrap_or(0),
        Aim::Narrow | Aim::AsIs => i32::from(narrowest),
    };
    for (block, list) in function.blocks.as_mut_slice().iter_mut().zip(candidates) {
        let fits = |candidate: &&Candidate| candidate.peak <= needed;
        let times = list.iter().filter(fits).map(|c| c.time.alone);
        let fastest = times.fold(f64::MAX, f64::min);
        let good = |candidate: &&Candidate| candidate.time.alone <= fastest + TOLERANCE;
        if let Some(chosen) = list.iter().filter(fits).find(good) {
            let head = block.head();
            reorder(&mut block.insts, head, &chosen.order);
        }
    }
    needed.max(0) as u16 + bounds.first
}

/// The halves a block needs so that its waits are hidden; if they cannot be, for nearly
/// its fastest order.
fn enough(list: &[Candidate], threads: u32, in_loop: bool) -> i32 {
    let times = list.iter().map(|candidate| candidate.time.alone);
    let fastest = times.fold(f64::MAX, f64::min);
    let [inside, outside] = NEARLY;
    let nearly = fastest * if in_loop { inside } else { outside };
    let good = |candidate: &&Candidate| {
        let time = &candidate.time;
        let hidden = time.alone <= fastest * SLOWEST && time.is_hidden(threads, in_loop);
        hidden || time.alone <= nearly
    };
    let peaks = list.iter().filter(good).map(|candidate| candidate.peak);
    peaks.min().unwrap_or(0)
}

/// What is used from block to block.
struct Blocks {
    dags: Dags,
    counts: Counts,
    narrow: Narrow,
}

impl Blocks {
    /// The order a block has, and those that need few registers.
    fn in_place(
        &mut self,
        liveness: &Liveness,
        index: usize,
        block: &Block,
        aim: Aim,
    ) -> Vec<Candidate> {
        let region = Region::new(liveness, index, block);
        let dag = self.dags.build(region.insts);
        let as_is = (0..region.insts.len() as u32).collect();
        let mut list = vec![self.candidate(&region, &dag, as_is)];
        if aim == Aim::AsIs || region.insts.len() < 3 {
            return list;
        }
        for tie in Tie::all(region.insts.len()) {
            let order = self.narrow.order(region.insts, &dag, &region.live_out, tie);
            list.push(self.candidate(&region, &dag, order));
        }
        list
    }

    /// Adds orders that overlap loads.
    fn overlapped(
        &mut self,
        liveness: &Liveness,
        index: usize,
        block: &Block,
        room: u16,
        list: &mut Vec<Candidate>,
    ) {
        let region = Region::new(liveness, index, block);
        let loads = region
            .insts
            .iter()
            .filter(|inst| is_slow_load(inst))
            .count();
        if loads == 0 || region.insts.len() < 3 {
            return;
        }
        let dag = self.dags.build(region.insts);
        let narrowest = list.iter().skip(1).min_by_key(|candidate| candidate.peak);
        let large = region.insts.len() >= LARGE;
        let bases: Vec<Vec<u32>> = list
            .iter()
            .take(if large { 0 } else { 1 })
            .chain(narrowest)
            .map(|candidate| candidate.order.clone())
            .collect();
        let outstanding = match large {
            false => &OUTSTANDING[..],
            true => &OUTSTANDING_LARGE[..],
        };
        // More than there are loads is as good as any number more.
        let bolder = outstanding.iter().filter(|count| **count > loads).count();
        for &outstanding in outstanding
            .get(bolder.saturating_sub(1)..)
            .unwrap_or_default()
        {
            for (base, frugal) in bases.iter().flat_map(|base| [(base, false), (base, true)]) {
                let how = Overlap {
                    outstanding,
                    frugal,
                    room,
                };
                self.counts
                    .start(region.insts, &region.live_in, &region.live_out);
                let order = overlap(region.insts, &dag, base, &mut self.counts, how);
                if order.len() == region.insts.len() {
                    list.push(self.candidate(&region, &dag, order));
                }
            }
        }
    }

    fn candidate(&mut self, region: &Region<'_>, dag: &Dag, order: Vec<u32>) -> Candidate {
        self.counts
            .start(region.insts, &region.live_in, &region.live_out);
        Candidate {
            peak: self.counts.peak(region.insts, &order),
            time: time(&region.costs, dag, &order),
            order,
        }
    }
}

/// The plain instructions of a block, and what is alive before and after them.
struct Region<'a> {
    insts: &'a [Inst],
    costs: Vec<Cost>,
    live_in: Alive,
    live_out: Alive,
}

impl<'a> Region<'a> {
    fn new(liveness: &Liveness, index: usize, block: &'a Block) -> Region<'a> {
        let (head, tail) = (block.head(), block.tail());
        let mut live_out: Alive = liveness.live_out(index).collect();
        let controls = block.insts.get(tail..).unwrap_or_default();
        let kept = controls.iter().flat_map(Inst::uses);
        live_out.extend(kept.map(|slice| (slice.reg, mask(slice))));
        let insts = block.insts.get(head..tail).unwrap_or_default();
        Region {
            insts,
            costs: costs(insts),
            live_in: liveness.live_in(index).collect(),
            live_out,
        }
    }
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
