//! Chooses half registers.
//!
//! Registers are placed in the order in which they come to life, each at the lowest
//! place that is free wherever it lives. For ranges without holes and of one size that
//! is the best there is; sizes and alignments cost a little.

use super::ranges::{Ranges, Segment};
use crate::mir::{Function, VReg};
use assay_ssa::id::Id;

/// Half registers of the machine.
pub(crate) const FILE: u16 = 256;

/// Where every register is.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// First half of each register; `NOWHERE` for one that is never alive.
    place: Vec<u16>,
    /// One more than the highest half in use.
    pub(crate) halves: u16,
}

const NOWHERE: u16 = u16::MAX;

/// A register for which there is no place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

impl Allocation {
    /// The first half of a register.
    pub(crate) fn place(&self, reg: VReg) -> Option<u16> {
        let place = self.place.get(reg.index()).copied();
        place.filter(|place| *place != NOWHERE)
    }
}

/// What is in each half register, as disjoint stretches in ascending order.
struct Occupation {
    taken: Vec<Vec<(u32, u32)>>,
}

impl Occupation {
    /// Whether all of a register's segments are free with its first half at `base`.
    fn is_free(&self, segments: &[Segment], base: u16) -> bool {
        segments.iter().all(|segment| {
            super::liveness::members(segment.halves).all(|half| {
                let taken = self.taken.get(usize::from(base) + usize::from(half));
                taken.is_some_and(|taken| is_free(taken, segment.start, segment.end))
            })
        })
    }

    fn take(&mut self, segments: &[Segment], base: u16) {
        for segment in segments {
            for half in super::liveness::members(segment.halves) {
                let place = usize::from(base) + usize::from(half);
                if let Some(taken) = self.taken.get_mut(place) {
                    let at = taken.partition_point(|(start, _)| *start < segment.start);
                    taken.insert(at, (segment.start, segment.end));
                }
            }
        }
    }
}

fn is_free(taken: &[(u32, u32)], start: u32, end: u32) -> bool {
    let after = taken.partition_point(|(other, _)| *other < end);
    let before = after.checked_sub(1).and_then(|at| taken.get(at));
    before.is_none_or(|(_, other)| *other <= start)
}

/// Places all registers of a function in the halves from `first` to before `limit`.
pub(crate) fn allocate(
    function: &Function,
    ranges: &Ranges,
    first: u16,
    limit: u16,
) -> Result<Allocation, Full> {
    let mut order: Vec<VReg> = function.vregs.ids().collect();
    order.retain(|reg| !ranges.of(*reg).is_empty());
    order.sort_by_key(|reg| ranges.of(*reg).first().map(|segment| segment.start));
    let mut occupation = Occupation {
        taken: vec![Vec::new(); usize::from(FILE)],
    };
    let mut allocation = Allocation {
        place: vec![NOWHERE; function.vregs.len()],
        halves: first,
    };
    for reg in order {
        let Some(data) = function.vregs.get(reg) else {
            continue;
        };
        let segments = ranges.of(reg);
        let align = u16::from(data.align.max(1));
        let halves = u16::from(data.halves);
        let base = (first.next_multiple_of(align)..limit.min(FILE))
            .step_by(usize::from(align))
            .take_while(|base| base + halves <= limit)
            .find(|base| occupation.is_free(segments, *base))
            .ok_or(Full)?;
        occupation.take(segments, base);
        allocation.halves = allocation.halves.max(base + halves);
        if let Some(place) = allocation.place.get_mut(reg.index()) {
            *place = base;
        }
    }
    Ok(allocation)
}
