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
use super::liveness::Liveness;
use super::narrow::{Narrow, Tie};
use super::overlap::{Base, Overlap, Overlapping};
use super::region::{Region, Regions};
use super::time::{Time, time};
use crate::mir::{Function, Inst};
use assay_chip::occupancy::STEPS;

/// Loads outstanding before some are used, boldest first: two slots have room for 16.
const OUTSTANDING: [usize; 8] = [16, 12, 8, 6, 4, 3, 2, 1];

/// For blocks with many instructions, fewer are tried.
const LARGE: usize = 300;
const OUTSTANDING_LARGE: [usize; 3] = [16, 8, 4];

/// Halves kept back for what alignment wastes.
const SLACK: u16 = 6;

/// Cycles by which sums in different orders differ at most.
const ROUNDING: f64 = 1e-6;

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

/// One order of a block.
struct Candidate {
    order: Vec<u32>,
    /// Halves alive where most are.
    peak: i32,
    time: Time,
}

/// The blocks of a function, each with orders to choose from.
pub(crate) struct Schedules<'a> {
    function: &'a Function,
    bounds: Bounds,
    blocks: Vec<Orders<'a>>,
    /// The orders of all blocks that were handed out.
    tried: Vec<Vec<Vec<u32>>>,
}

impl<'a> Schedules<'a> {
    /// Puts every block in the orders that need few registers.
    pub(crate) fn new(function: &'a Function, bounds: Bounds) -> Schedules<'a> {
        let liveness = Liveness::new(function);
        let mut regions = Regions::new(function);
        let blocks = function.blocks.as_slice().iter().enumerate();
        let mut scratch = Scratch::default();
        let blocks = blocks.map(|(index, block)| {
            let region = regions.region(&liveness, index, block);
            Orders::new(region, block.loop_depth > 0, &mut scratch)
        });
        Schedules {
            function,
            bounds,
            blocks: blocks.collect(),
            tried: Vec::new(),
        }
    }

    /// The function with its blocks in order, and the halves it needs then, reserved ones
    /// included. None if an earlier aim had the same orders.
    pub(crate) fn schedule(&mut self, aim: Aim) -> Option<(Function, u16)> {
        let as_is = |block: &Orders<'_>| block.as_is().map_or(0, |as_is| as_is.peak);
        let narrowest = match aim {
            Aim::AsIs => self.blocks.iter().map(as_is).max(),
            Aim::Fast | Aim::Narrow => self.blocks.iter().map(Orders::narrowest).max(),
        };
        let narrowest = narrowest.unwrap_or(0).max(0) as u16;
        let step = STEPS.get(row(narrowest + self.bounds.first)).copied();
        let (most, threads) = step.map_or((self.bounds.limit, 0), |step| {
            (step.half_registers as u16, step.threads)
        });
        let room = most.min(self.bounds.limit);
        let room = room
            .saturating_sub(self.bounds.first + SLACK)
            .max(narrowest);
        let mut needed = i32::from(narrowest);
        if aim == Aim::Fast {
            let mut scratch = Scratch::default();
            for block in &mut self.blocks {
                block.overlap(room, &mut scratch);
            }
            let enough = self.blocks.iter().map(|block| block.enough(room, threads));
            needed = enough.max().unwrap_or(0);
        }
        let chosen = |block: &Orders<'_>| {
            let order = block.fastest(aim, needed);
            order.map_or_else(Vec::new, |order| order.order.clone())
        };
        let orders: Vec<Vec<u32>> = self.blocks.iter().map(chosen).collect();
        if self.tried.contains(&orders) {
            return None;
        }
        let mut function = self.function.clone();
        let blocks = function.blocks.as_mut_slice().iter_mut();
        for (block, order) in blocks.zip(&orders) {
            let head = block.head();
            reorder(&mut block.insts, head, order);
        }
        self.tried.push(orders);
        Some((function, needed.max(0) as u16 + self.bounds.first))
    }
}

/// Tables that are kept from block to block.
#[derive(Default)]
struct Scratch {
    counts: Counts,
    narrow: Narrow,
    overlapping: Overlapping,
}

/// The orders of one block.
struct Orders<'a> {
    region: Region<'a>,
    in_loop: bool,
    /// What is alive at its start.
    start: Counts,
    /// The order it has, then those that need few registers.
    narrow: Vec<Candidate>,
    /// Those that overlap loads.
    overlapped: Vec<Candidate>,
}

impl<'a> Orders<'a> {
    fn new(region: Region<'a>, in_loop: bool, scratch: &mut Scratch) -> Orders<'a> {
        let mut orders = Orders {
            start: Counts::of(&region),
            in_loop,
            region,
            narrow: Vec::new(),
            overlapped: Vec::new(),
        };
        let count = orders.region.insts.len();
        let as_is = orders.candidate((0..count as u32).collect(), scratch);
        orders.narrow.push(as_is);
        if count < 3 || orders.is_best_known() {
            return orders;
        }
        for tie in Tie::all(count) {
            let (order, tied) = scratch.narrow.order(&orders.region, tie);
            // Beside the order it has, each is kept once.
            let mut known = orders.narrow.iter().skip(1);
            if known.all(|other| other.order != order) {
                let candidate = orders.candidate(order, scratch);
                orders.narrow.push(candidate);
            }
            if !tied {
                break;
            }
        }
        orders
    }

    fn as_is(&self) -> Option<&Candidate> {
        self.narrow.first()
    }

    /// The fewest halves it can do with.
    fn narrowest(&self) -> i32 {
        let peaks = self.narrow.iter().map(|candidate| candidate.peak);
        peaks.min().unwrap_or(0)
    }

    /// Whether no order can need fewer registers or less time than the one it has.
    fn is_best_known(&self) -> bool {
        self.as_is().is_some_and(|as_is| {
            as_is.peak <= self.region.least_peak
                && as_is.time.alone <= self.region.least_time + ROUNDING
        })
    }

    fn candidate(&self, order: Vec<u32>, scratch: &mut Scratch) -> Candidate {
        scratch.counts.become_as(&self.start);
        Candidate {
            peak: scratch.counts.peak(&self.region, &order),
            time: time(&self.region.costs, &self.region.dag, &order),
            order,
        }
    }

    /// Finds orders that overlap loads.
    fn overlap(&mut self, room: u16, scratch: &mut Scratch) {
        let count = self.region.insts.len();
        let loads = self.region.slow.iter().filter(|slow| **slow).count();
        if loads == 0 || count < 3 || self.is_best_known() {
            return;
        }
        let outstanding = match count >= LARGE {
            false => &OUTSTANDING[..],
            true => &OUTSTANDING_LARGE[..],
        };
        // More than there are loads is as good as any number more.
        let bolder = outstanding.iter().filter(|count| **count > loads).count();
        let outstanding = outstanding.get(bolder.saturating_sub(1)..);
        let bases = self.bases();
        let ways = bases.iter().flat_map(|base| [(base, false), (base, true)]);
        let mut ways: Vec<(&Base, bool, usize)> = ways
            .map(|(base, frugal)| (base, frugal, usize::MAX))
            .collect();
        let mut found: Vec<Candidate> = Vec::new();
        for &outstanding in outstanding.unwrap_or_default() {
            for (base, frugal, most) in &mut ways {
                // Fewer were out than may be now: the order would be the same.
                if *most < outstanding {
                    continue;
                }
                let how = Overlap {
                    outstanding,
                    frugal: *frugal,
                    room,
                };
                let counts = &mut scratch.counts;
                counts.become_as(&self.start);
                let order;
                (order, *most) = scratch.overlapping.order(&self.region, base, counts, how);
                let known = || self.narrow.iter().chain(&found);
                if order.len() == count && known().all(|other| other.order != order) {
                    found.push(self.candidate(order, scratch));
                }
            }
        }
        self.overlapped = found;
    }

    /// What overlapping starts from: of a small block the order it has, and the narrowest.
    fn bases(&self) -> Vec<Base> {
        let small = self.region.insts.len() < LARGE;
        let narrow = self.narrow.iter().skip(1);
        let narrowest = narrow.min_by_key(|candidate| candidate.peak);
        let as_is = self.as_is().filter(|_| small);
        let mut orders: Vec<&[u32]> = as_is
            .into_iter()
            .chain(narrowest)
            .map(|candidate| candidate.order.as_slice())
            .collect();
        orders.dedup();
        let bases = orders.into_iter();
        bases.map(|order| Base::new(&self.region, order)).collect()
    }

    /// The halves it needs so that its waits are hidden; if they cannot be, for nearly its
    /// fastest order.
    fn enough(&self, room: u16, threads: u32) -> i32 {
        let list = || {
            let all = self.narrow.iter().chain(&self.overlapped);
            all.filter(|candidate| candidate.peak <= i32::from(room))
        };
        let times = list().map(|candidate| candidate.time.alone);
        let fastest = times.fold(f64::MAX, f64::min);
        let [inside, outside] = NEARLY;
        let nearly = fastest * if self.in_loop { inside } else { outside };
        let good = |candidate: &&Candidate| {
            let time = &candidate.time;
            let hidden = time.alone <= fastest * SLOWEST && time.is_hidden(threads, self.in_loop);
            hidden || time.alone <= nearly
        };
        let peaks = list().filter(good).map(|candidate| candidate.peak);
        peaks.min().unwrap_or(0)
    }

    /// The fastest order within so many halves; one that changes less if it is nearly as fast.
    fn fastest(&self, aim: Aim, halves: i32) -> Option<&Candidate> {
        let (narrow, overlapped) = match aim {
            Aim::Fast => (self.narrow.as_slice(), self.overlapped.as_slice()),
            Aim::Narrow => (self.narrow.as_slice(), &[][..]),
            Aim::AsIs => (self.narrow.get(..1).unwrap_or_default(), &[][..]),
        };
        let fits = || {
            let all = narrow.iter().chain(overlapped);
            all.filter(|candidate| candidate.peak <= halves)
        };
        let fastest = fits().map(|c| c.time.alone).fold(f64::MAX, f64::min);
        fits().find(|candidate| candidate.time.alone <= fastest + TOLERANCE)
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
