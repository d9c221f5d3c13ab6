//! Live ranges: at which points of the program a register's halves hold values.
//!
//! Instruction number `i` reads at point `2i` and writes at `2i + 1`, so a result may
//! take the place of an operand that dies there.

use super::liveness::{Liveness, mask, members};
use crate::mir::{Function, Inst, Opcode, Operand, VReg};
use assay_agx::{Field, Op};
use assay_ssa::id::Id;

/// Some halves of a register live from `start` until before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Which halves.
    pub(crate) halves: u16,
}

/// The segments of every register, ascending by start.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    segments: Vec<Vec<Segment>>,
}

/// The state of one block's backward walk: where each half that is live now dies.
struct Walk<'a> {
    segments: &'a mut [Vec<Segment>],
    /// Per register, the halves that are live, and per half, the end of its segment.
    live: Vec<u16>,
    ends: Vec<[u32; 16]>,
}

impl Ranges {
    /// The ranges of a function.
    pub(crate) fn new(function: &Function, liveness: &Liveness) -> Ranges {
        let first = first_numbers(function);
        let mut segments = vec![Vec::new(); function.vregs.len()];
        let mut walk = Walk {
            segments: &mut segments,
            live: vec![0; function.vregs.len()],
            ends: vec![[0; 16]; function.vregs.len()],
        };
        for (index, block) in function.blocks.as_slice().iter().enumerate().rev() {
            let start = first.get(index).copied().unwrap_or(0);
            let end = start + block.insts.len() as u32;
            for (reg, halves) in liveness.live_out(index) {
                walk.open(reg, halves, 2 * end);
            }
            for (inst, number) in block.insts.iter().zip(start..end).rev() {
                for slice in inst.defs() {
                    walk.close(slice.reg, mask(slice), 2 * number + 1, true);
                }
                for (field, operand) in &inst.operands {
                    if let Operand::Use(slice, _) = operand {
                        let end = 2 * number + 1 + u32::from(outlives(inst, *field));
                        walk.open(slice.reg, mask(*slice), end);
                    }
                }
            }
            for (reg, halves) in liveness.live_in(index) {
                walk.close(reg, halves, 2 * start, false);
            }
        }
        for list in &mut segments {
            list.sort_unstable_by_key(|segment| segment.start);
        }
        Ranges { segments }
    }

    /// The segments of a register.
    pub(crate) fn of(&self, reg: VReg) -> &[Segment] {
        self.segments.get(reg.index()).map_or(&[], Vec::as_slice)
    }
}

/// Whether an operand is still read while the result is written.
fn outlives(inst: &Inst, field: Field) -> bool {
    let matrix = matches!(
        inst.opcode,
        Opcode::Machine {
            op: Op::SimdMatrixFmadd16 | Op::SimdMatrixFmadd32,
            ..
        }
    );
    matrix && matches!(field, Field::A | Field::B)
}

/// Numbers instructions consecutively, in layout order.
fn first_numbers(function: &Function) -> Vec<u32> {
    let mut next = 0;
    let mut first = Vec::with_capacity(function.blocks.len() + 1);
    for block in function.blocks.as_slice() {
        first.push(next);
        next += block.insts.len() as u32;
    }
    first.push(next);
    first
}

impl Walk<'_> {
    /// The halves are needed before `end`.
    fn open(&mut self, reg: VReg, halves: u16, end: u32) {
        let (Some(live), Some(ends)) = (
            self.live.get_mut(reg.index()),
            self.ends.get_mut(reg.index()),
        ) else {
            return;
        };
        for half in members(halves & !*live) {
            if let Some(place) = ends.get_mut(usize::from(half)) {
                *place = end;
            }
        }
        *live |= halves;
    }

    /// The halves get their value at `start`. One that nobody needs still takes a place
    /// for a moment when it is written.
    fn close(&mut self, reg: VReg, halves: u16, start: u32, written: bool) {
        let (Some(live), Some(ends), Some(list)) = (
            self.live.get_mut(reg.index()),
            self.ends.get(reg.index()),
            self.segments.get_mut(reg.index()),
        ) else {
            return;
        };
        let mut rest = halves & *live;
        let unused = if written { halves & !*live } else { 0 };
        *live &= !halves;
        while rest != 0 {
            let end = ends[rest.trailing_zeros() as usize & 15];
            let group = members(rest)
                .filter(|half| ends[usize::from(*half)] == end)
                .fold(0, |group, half| group | 1 << half);
            rest &= !group;
            push(list, start, end, group);
        }
        if unused != 0 {
            push(list, start, start + 1, unused);
        }
    }
}

/// Adds a segment before those that are there.
fn push(list: &mut Vec<Segment>, start: u32, end: u32, halves: u16) {
    if let Some(next) = list
        .iter_mut()
        .rev()
        .take_while(|next| next.start <= end)
        .find(|next| next.start == end && next.halves == halves)
    {
        next.start = start;
        return;
    }
    list.push(Segment { start, end, halves });
}
