//! Chooses what to keep elsewhere when there are too few registers.
//!
//! A constant, a uniform or a special register is simply made again before each use.
//! Everything else goes to the stack. What is used rarely, and outside loops, goes
//! first, and what takes much room for long.

use super::liveness::mask;
use super::ranges::Ranges;
use crate::mir::{Function, Inst, Opcode, Operand, VReg};
use assay_agx::{Op, Operand as Fixed};
use assay_ssa::id::Id;

/// What is known of a register.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidate {
    /// What its accesses cost per run if it is not in a register.
    cost: f64,
    /// How it can be made again: an instruction that defines all of it and nothing else
    /// matters.
    pub(crate) remake: Option<Inst>,
    defs: u32,
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
                let whole = function
                    .vregs
                    .get(slice.reg)
                    .is_some_and(|data| data.halves == slice.halves());
                if let Some(candidate) = list.get_mut(slice.reg.index()) {
                    candidate.defs += 1;
                    candidate.cost += often * 4.0;
                    candidate.remake = match candidate.defs {
                        1 if whole => remake(inst, slice.reg),
                        _ => None,
                    };
                }
            }
        }
    }
    for candidate in list.iter_mut().filter(|c| c.remake.is_some()) {
        candidate.cost *= 0.2;
    }
    list
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

/// The instruction that makes a register again, if that needs nothing.
fn remake(inst: &Inst, reg: VReg) -> Option<Inst> {
    match inst.opcode {
        Opcode::ParallelCopy => {
            let pair = inst
                .operands
                .chunks(2)
                .find(|pair| matches!(pair, [(_, Operand::Def(to)), _] if to.reg == reg))?;
            let constant = matches!(
                pair,
                [_, (_, Operand::Uniform(_) | Operand::Fixed(Fixed::Imm(_)))]
            );
            constant.then(|| Inst {
                operands: pair.to_vec(),
                ..inst.clone()
            })
        }
        Opcode::Machine { op, .. } => {
            let constant = match op {
                Op::MovImm | Op::Bitop | Op::StackLoad => inst.uses().next().is_none(),
                Op::GetSr => is_steady(inst),
                _ => false,
            };
            (constant && inst.memory.is_none()).then(|| inst.clone())
        }
        Opcode::Undefined => None,
    }
}

/// Whether a special register is the same wherever a thread reads it.
fn is_steady(inst: &Inst) -> bool {
    let named = inst.operands.iter().find_map(|(_, operand)| match operand {
        Operand::Fixed(Fixed::Special(number)) => assay_agx::special_register_name(*number),
        _ => None,
    });
    named.is_some_and(|name| name.contains("_in_"))
}

/// Registers to keep elsewhere so that at no point more than `target` halves are alive.
pub(crate) fn choose(
    function: &Function,
    ranges: &Ranges,
    pressure: &[u16],
    target: u16,
    keep: &[bool],
) -> Vec<(VReg, Candidate)> {
    let mut candidates = candidates(function);
    let mut now: Vec<i32> = pressure.iter().map(|halves| i32::from(*halves)).collect();
    let occurrences = occurrences(function);
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
    for point in 0..now.len() {
        while let Some((_, end, reg)) = starts.next_if(|(start, _, _)| *start as usize <= point) {
            active.push((end, reg));
        }
        let excess = now.get(point).copied().unwrap_or(0) - i32::from(target);
        if excess <= 0 {
            continue;
        }
        active.retain(|(end, _)| *end as usize > point);
        while now.get(point).is_some_and(|now| *now > i32::from(target)) {
            let here = occurrences.get(point / 2);
            let best = active
                .iter()
                .map(|(_, reg)| *reg)
                .filter(|reg| {
                    let kept = keep.get(reg.index()).copied().unwrap_or(false);
                    let done = gone.get(reg.index()).copied().unwrap_or(true);
                    let fixed = candidates.get(reg.index()).is_none_or(|c| c.fixed);
                    let used = touched(here, *reg);
                    let spare = alive(ranges, *reg, point as u32) & !used;
                    !kept && !done && !fixed && spare != 0
                })
                .min_by(|a, b| {
                    let score = |reg: &VReg| score(*reg, &candidates, ranges);
                    score(a).total_cmp(&score(b))
                });
            let Some(reg) = best else { break };
            if let Some(gone) = gone.get_mut(reg.index()) {
                *gone = true;
            }
            relieve(&mut now, ranges, reg, &occurrences);
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

/// The registers each instruction names, with the halves it names.
fn occurrences(function: &Function) -> Vec<Vec<(VReg, u16)>> {
    let insts = function
        .blocks
        .as_slice()
        .iter()
        .flat_map(|block| &block.insts);
    insts
        .map(|inst| {
            inst.uses()
                .chain(inst.defs())
                .map(|slice| (slice.reg, mask(slice)))
                .collect()
        })
        .collect()
}

/// The halves of a register that an instruction names.
fn touched(inst: Option<&Vec<(VReg, u16)>>, reg: VReg) -> u16 {
    let named = inst.into_iter().flatten();
    named
        .filter(|(other, _)| *other == reg)
        .fold(0, |all, (_, halves)| all | halves)
}

/// The halves of a register that are alive at a point.
fn alive(ranges: &Ranges, reg: VReg, point: u32) -> u16 {
    let here = ranges.of(reg).iter();
    here.filter(|segment| segment.start <= point && point < segment.end)
        .fold(0, |all, segment| all | segment.halves)
}

/// Takes a register away wherever it is alive and not just being used.
fn relieve(now: &mut [i32], ranges: &Ranges, reg: VReg, occurrences: &[Vec<(VReg, u16)>]) {
    for segment in ranges.of(reg) {
        for point in segment.start..segment.end {
            let used = touched(occurrences.get(point as usize / 2), reg);
            if let Some(now) = now.get_mut(point as usize) {
                *now -= (segment.halves & !used).count_ones() as i32;
            }
        }
    }
}
