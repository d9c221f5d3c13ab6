//! Chooses what to keep elsewhere when there are too few registers.
//!
//! What [can be](super::remake) is made again before each use, if there is room for what that takes. Everything else goes to
//! the stack. What is used rarely, and outside loops, goes first, and what takes much room for long.

use super::liveness::mask;
use super::ranges::Ranges;
use super::remake::{Makers, halves_between};
use crate::mir::{Function, Inst, Opcode, VReg};
use assay_agx::Op;
use assay_ssa::id::Id;

/// What is known of a register.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidate {
    /// What its accesses cost per run if it is not in a register.
    cost: f64,
    /// How it can be made again: instructions of which the last defines all of it.
    pub(crate) remake: Option<Vec<Inst>>,
    fixed: bool,
}

/// How often a block runs, roughly.
fn frequency(depth: u8) -> f64 {
    8f64.powi(i32::from(depth.min(6)))
}

/// Everything about every register.
pub(crate) fn candidates(function: &Function) -> Vec<Candidate> {
    let mut list = vec![Candidate::default(); function.vregs.len()];
    for block in function.blocks.as_slice() {
        let often = frequency(block.loop_depth);
        let (head, tail) = (block.head(), block.tail());
        for (at, inst) in block.insts.iter().enumerate() {
            // Lanes that a mask instruction wakes up do not run a load before it.
            let wakes = at < head || (tail == 0 && is_while(inst));
            for slice in inst.uses() {
                if let Some(candidate) = list.get_mut(slice.reg.index()) {
                    candidate.cost += often * 10.0;
                    candidate.fixed |= wakes;
                }
            }
            for slice in inst.defs() {
                if let Some(candidate) = list.get_mut(slice.reg.index()) {
                    candidate.cost += often * 4.0;
                }
            }
        }
    }
    list
}

/// Everything about every register, with what can be made again; and where registers occur.
fn with_remakes(
    function: &Function,
    pressure: &[u16],
    target: u16,
) -> (Vec<Candidate>, Occurrences) {
    let mut candidates = candidates(function);
    let occurrences = Occurrences::new(function);
    find_remakes(function, &mut candidates, &occurrences, pressure, target);
    (candidates, occurrences)
}

/// Finds what can be made again wherever it is read with at most `target` halves alive.
fn find_remakes(
    function: &Function,
    candidates: &mut [Candidate],
    occurrences: &Occurrences,
    pressure: &[u16],
    target: u16,
) {
    let makers = Makers::new(function);
    for (reg, candidate) in function.vregs.ids().zip(candidates) {
        let Some(chain) = makers.chain(reg) else {
            continue;
        };
        let more = halves_between(&chain);
        let room = |(inst, _): &(u32, u16)| {
            let points = pressure.iter().skip(*inst as usize * 2).take(2);
            points
                .max()
                .is_none_or(|halves| halves.saturating_add(more) <= target)
        };
        if more == 0 || occurrences.of(reg).iter().all(room) {
            candidate.cost *= 0.2 + 0.08 * (chain.len() as f64 - 1.0);
            candidate.remake = Some(chain);
        }
    }
}

fn is_while(inst: &Inst) -> bool {
    matches!(
        inst.opcode,
        Opcode::Machine {
            op: Op::WhileIcmp | Op::WhileFcmp,
            ..
        }
    )
}

/// What it costs to keep registers elsewhere.
pub(crate) struct Costs<'a> {
    candidates: Vec<Candidate>,
    keep: &'a [bool],
}

impl<'a> Costs<'a> {
    /// Those of a function, but for the registers to keep.
    pub(crate) fn new(function: &Function, keep: &'a [bool]) -> Costs<'a> {
        Costs {
            candidates: candidates(function),
            keep,
        }
    }

    /// Per run of the function; none for a register that must stay one.
    pub(crate) fn of(&self, reg: VReg) -> Option<f64> {
        let kept = self.keep.get(reg.index()).copied().unwrap_or(false);
        let candidate = self.candidates.get(reg.index());
        let candidate = candidate.filter(|candidate| !kept && !candidate.fixed);
        candidate.map(|candidate| candidate.cost)
    }
}

/// These registers, to keep elsewhere.
pub(crate) fn these(
    function: &Function,
    pressure: &[u16],
    target: u16,
    registers: Vec<VReg>,
) -> Vec<(VReg, Candidate)> {
    let (mut candidates, _) = with_remakes(function, pressure, target);
    let each = registers.into_iter().filter_map(|reg| {
        let candidate = candidates.get_mut(reg.index())?;
        Some((reg, std::mem::take(candidate)))
    });
    each.collect()
}

/// Registers to keep elsewhere so that at no point more than `target` halves are alive.
pub(crate) fn choose(
    function: &Function,
    ranges: &Ranges,
    pressure: &[u16],
    target: u16,
    keep: &[bool],
) -> Vec<(VReg, Candidate)> {
    let (mut candidates, occurrences) = with_remakes(function, pressure, target);
    let scores: Vec<f64> = function
        .vregs
        .ids()
        .map(|reg| score(reg, &candidates, ranges))
        .collect();
    let mut starts: Vec<(u32, u32, VReg)> = Vec::new();
    for reg in function.vregs.ids() {
        for segment in ranges.of(reg) {
            starts.push((segment.start, segment.end, reg));
        }
    }
    starts.sort_unstable_by_key(|(start, _, _)| *start);
    let mut starts = starts.into_iter().peekable();
    let mut active: Vec<(u32, VReg)> = Vec::new();
    let mut chosen = Vec::new();
    let mut gone = vec![false; function.vregs.len()];
    let mut relief = Relief::new(pressure.len());
    for (point, halves) in (0u32..).zip(pressure) {
        relief.go_to(point);
        while let Some((_, end, reg)) = starts.next_if(|(start, _, _)| *start <= point) {
            active.push((end, reg));
        }
        let excess = |relief: &Relief| i32::from(*halves) - relief.here - i32::from(target);
        if excess(&relief) <= 0 {
            continue;
        }
        active.retain(|(end, reg)| {
            let gone = gone.get(reg.index()).copied().unwrap_or(true);
            *end > point && !gone
        });
        while excess(&relief) > 0 {
            let able = |reg: &VReg| {
                let kept = keep.get(reg.index()).copied().unwrap_or(false);
                let done = gone.get(reg.index()).copied().unwrap_or(true);
                let fixed = candidates.get(reg.index()).is_none_or(|c| c.fixed);
                !kept && !done && !fixed && {
                    let used = occurrences.at(*reg, point / 2);
                    alive(ranges, *reg, point) & !used != 0
                }
            };
            let score = |reg: &VReg| scores.get(reg.index()).copied().unwrap_or(f64::MAX);
            let best = active
                .iter()
                .map(|(_, reg)| *reg)
                .filter(able)
                .min_by(|a, b| score(a).total_cmp(&score(b)));
            let Some(reg) = best else { break };
            if let Some(gone) = gone.get_mut(reg.index()) {
                *gone = true;
            }
            relief.without(reg, ranges, &occurrences);
            if let Some(candidate) = candidates.get_mut(reg.index()) {
                chosen.push((reg, std::mem::take(candidate)));
            }
        }
    }
    chosen
}

/// Cost per half register and point that is won.
fn score(reg: VReg, candidates: &[Candidate], ranges: &Ranges) -> f64 {
    let cost = candidates.get(reg.index()).map_or(f64::MAX, |c| c.cost);
    let won: u64 = ranges
        .of(reg)
        .iter()
        .map(|s| u64::from(s.end.saturating_sub(s.start)) * u64::from(s.halves.count_ones()))
        .sum();
    cost / (won as f64 + 1.0)
}

/// Per register, the instructions that name it, in order, with the halves they name.
struct Occurrences {
    of: Vec<Vec<(u32, u16)>>,
}

impl Occurrences {
    fn new(function: &Function) -> Occurrences {
        let mut of: Vec<Vec<(u32, u16)>> = vec![Vec::new(); function.vregs.len()];
        let blocks = function.blocks.as_slice().iter();
        for (number, inst) in (0u32..).zip(blocks.flat_map(|block| &block.insts)) {
            for slice in inst.uses().chain(inst.defs()) {
                let Some(list) = of.get_mut(slice.reg.index()) else {
                    continue;
                };
                match list.last_mut() {
                    Some((last, halves)) if *last == number => *halves |= mask(slice),
                    _ => list.push((number, mask(slice))),
                }
            }
        }
        Occurrences { of }
    }

    fn of(&self, reg: VReg) -> &[(u32, u16)] {
        self.of.get(reg.index()).map_or(&[], Vec::as_slice)
    }

    /// The halves of a register that an instruction names.
    fn at(&self, reg: VReg, inst: u32) -> u16 {
        let list = self.of(reg);
        let found = list.binary_search_by_key(&inst, |(number, _)| *number);
        let found = found.ok().and_then(|at| list.get(at));
        found.map_or(0, |(_, halves)| *halves)
    }
}

/// The halves of a register that are alive at a point.
fn alive(ranges: &Ranges, reg: VReg, point: u32) -> u16 {
    let here = ranges.of(reg).iter();
    here.take_while(|segment| segment.start <= point)
        .filter(|segment| point < segment.end)
        .fold(0, |all, segment| all | segment.halves)
}

/// How many halves are won at a point that moves forward, by what is kept elsewhere.
struct Relief {
    point: u32,
    here: i32,
    /// How much it changes at each point to come.
    changes: Vec<i32>,
}

impl Relief {
    fn new(points: usize) -> Relief {
        Relief {
            point: 0,
            here: 0,
            changes: vec![0; points + 1],
        }
    }

    fn go_to(&mut self, point: u32) {
        while self.point < point {
            self.point += 1;
            let change = self.changes.get(self.point as usize);
            self.here += change.copied().unwrap_or(0);
        }
    }

    /// From `start` until before `end`, so many halves more are won.
    fn add(&mut self, start: u32, end: u32, halves: i32) {
        if end <= self.point || start >= end {
            return;
        }
        if start <= self.point {
            self.here += halves;
        } else if let Some(change) = self.changes.get_mut(start as usize) {
            *change += halves;
        }
        if let Some(change) = self.changes.get_mut(end as usize) {
            *change -= halves;
        }
    }

    /// Takes a register away wherever it is alive and not just being used.
    fn without(&mut self, reg: VReg, ranges: &Ranges, occurrences: &Occurrences) {
        for segment in ranges.of(reg) {
            self.add(
                segment.start,
                segment.end,
                segment.halves.count_ones() as i32,
            );
            let list = occurrences.of(reg);
            let first = list.partition_point(|(inst, _)| 2 * inst + 2 <= segment.start);
            let named = list.get(first..).unwrap_or_default().iter();
            for (inst, halves) in named.take_while(|(inst, _)| 2 * inst < segment.end) {
                let used = (segment.halves & halves).count_ones() as i32;
                let (start, end) = (2 * inst, 2 * inst + 2);
                self.add(start.max(segment.start), end.min(segment.end), -used);
            }
        }
    }
}
