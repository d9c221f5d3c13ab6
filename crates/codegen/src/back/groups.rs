//! Registers that keep a fixed distance from each other.
//!
//! A group starts as one virtual register. Joining two makes a copy between them
//! disappear: a scalar becomes an element of the vector it is put into, a loop's value
//! lives where its next one is computed.

use super::ranges::Ranges;
use crate::mir::{Function, VReg};
use assay_ssa::id::Id;

/// Points from the first to before the second.
pub(crate) type Stretch = (u32, u32);

/// No group is wider, in halves: the wider, the harder to place.
const WIDEST: i32 = 32;

/// Registers at fixed distances.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// When each half is in use: disjoint stretches in ascending order.
    pub(crate) halves: Vec<Vec<Stretch>>,
    /// Its first half must be `residue` beyond a multiple of `align`.
    pub(crate) align: u16,
    pub(crate) residue: u16,
    members: Vec<VReg>,
}

impl Group {
    /// Where it first comes to life.
    pub(crate) fn start(&self) -> u32 {
        let firsts = self.halves.iter().filter_map(|half| half.first());
        firsts.map(|(start, _)| *start).min().unwrap_or(u32::MAX)
    }

    /// Where it is alive last.
    pub(crate) fn end(&self) -> u32 {
        let lasts = self.halves.iter().filter_map(|half| half.last());
        lasts.map(|(_, end)| *end).max().unwrap_or(0)
    }

    /// Its registers.
    pub(crate) fn members(&self) -> &[VReg] {
        &self.members
    }

    /// How many points it is alive at, over all halves.
    pub(crate) fn weight(&self) -> u64 {
        let stretches = self.halves.iter().flatten();
        stretches
            .map(|(start, end)| u64::from(end.saturating_sub(*start)))
            .sum()
    }
}

/// All groups, and where in them each register is.
#[derive(Debug)]
pub(crate) struct Groups {
    groups: Vec<Option<Group>>,
    /// Group of each register, and its first half there.
    of: Vec<(u32, u8)>,
}

/// Whether nothing in ascending, disjoint stretches meets this one.
pub(crate) fn is_free(taken: &[Stretch], (start, end): Stretch) -> bool {
    // Mostly they are asked for in ascending order, and the last decides.
    match taken.last() {
        Some((_, last)) if *last > start => {}
        _ => return true,
    }
    let after = taken.partition_point(|(other, _)| *other < end);
    let before = after.checked_sub(1).and_then(|at| taken.get(at));
    before.is_none_or(|(_, other)| *other <= start)
}

/// Adds a stretch to ascending ones, joining it with a neighbour where they touch.
pub(crate) fn take(taken: &mut Vec<Stretch>, (start, end): Stretch) {
    let at = taken.partition_point(|(other, _)| *other < start);
    if let Some(before) = at.checked_sub(1).and_then(|at| taken.get_mut(at))
        && before.1 == start
    {
        before.1 = end;
        return;
    }
    taken.insert(at, (start, end));
}

impl Groups {
    /// Every register that is ever alive, alone.
    pub(crate) fn new(function: &Function, ranges: &Ranges) -> Groups {
        let mut groups = Vec::with_capacity(function.vregs.len());
        let mut of = Vec::with_capacity(function.vregs.len());
        for (reg, data) in function.vregs.iter() {
            of.push((groups.len() as u32, 0));
            let segments = ranges.of(reg);
            if segments.is_empty() {
                groups.push(None);
                continue;
            }
            let mut halves = vec![Vec::new(); usize::from(data.halves)];
            for (at, half) in halves.iter_mut().enumerate() {
                for segment in segments.iter().filter(|s| s.halves >> at & 1 != 0) {
                    take(half, (segment.start, segment.end));
                }
            }
            groups.push(Some(Group {
                halves,
                align: u16::from(data.align.max(1)),
                residue: 0,
                members: vec![reg],
            }));
        }
        Groups { groups, of }
    }

    /// The group of a register and the register's first half in it.
    pub(crate) fn of(&self, reg: VReg) -> Option<(u32, u8)> {
        self.of.get(reg.index()).copied()
    }

    /// All groups that are alive, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Group)> {
        (0..)
            .zip(&self.groups)
            .filter_map(|(number, group)| Some((number, group.as_ref()?)))
    }

    /// Makes half `to.1` of register `to.0` the same as half `from.1` of `from.0`, if
    /// nothing else stands against it. Says whether they are the same now.
    pub(crate) fn join(&mut self, to: (VReg, u8), from: (VReg, u8)) -> bool {
        let (Some((a, a_offset)), Some((b, b_offset))) = (self.of(to.0), self.of(from.0)) else {
            return false;
        };
        // Where the second group's first half is, seen from the first group's.
        let shift = i32::from(a_offset) + i32::from(to.1) - i32::from(b_offset) - i32::from(from.1);
        if a == b {
            return shift == 0;
        }
        // The larger group stays where it is.
        let sizes = |group: u32| self.group(group).map_or(0, |group| group.members.len());
        if sizes(a) >= sizes(b) {
            self.merge(a, b, shift)
        } else {
            self.merge(b, a, -shift)
        }
    }

    fn group(&self, number: u32) -> Option<&Group> {
        self.groups.get(number as usize)?.as_ref()
    }

    /// Puts group `b` into `a`, `shift` halves from its start.
    fn merge(&mut self, a: u32, b: u32, shift: i32) -> bool {
        let (Some(mine), Some(theirs)) = (self.group(a), self.group(b)) else {
            return false;
        };
        let Some((align, residue)) = alignment(mine, theirs, shift) else {
            return false;
        };
        let origin = shift.min(0);
        let end = (mine.halves.len() as i32).max(shift + theirs.halves.len() as i32);
        if end - origin > WIDEST || meet(mine, theirs, shift) {
            return false;
        }
        let Some(theirs) = self.groups.get_mut(b as usize).and_then(Option::take) else {
            return false;
        };
        let Some(Some(mine)) = self.groups.get_mut(a as usize) else {
            return false;
        };
        if origin < 0 {
            let front = (0..-origin).map(|_| Vec::new());
            mine.halves.splice(0..0, front);
        }
        mine.halves.resize((end - origin) as usize, Vec::new());
        mine.align = align;
        mine.residue = residue;
        for (half, stretches) in theirs.halves.iter().enumerate() {
            if let Some(place) = mine.halves.get_mut(half + (shift - origin) as usize) {
                for stretch in stretches {
                    take(place, *stretch);
                }
            }
        }
        for reg in &mine.members {
            if let Some((_, offset)) = self.of.get_mut(reg.index()) {
                *offset += -origin as u8;
            }
        }
        for reg in &theirs.members {
            if let Some(place) = self.of.get_mut(reg.index()) {
                *place = (a, place.1 + (shift - origin) as u8);
            }
        }
        mine.members.extend(theirs.members);
        true
    }
}

/// The alignment of the two together: powers of two, so the larger decides.
fn alignment(mine: &Group, theirs: &Group, shift: i32) -> Option<(u16, u16)> {
    let mine_residue = i32::from(mine.residue);
    let theirs_residue = i32::from(theirs.residue) - shift;
    let (align, residue) = match mine.align >= theirs.align {
        true => (mine.align, mine_residue),
        false => (theirs.align, theirs_residue),
    };
    let smaller = i32::from(mine.align.min(theirs.align).max(1));
    if (mine_residue - theirs_residue).rem_euclid(smaller) != 0 {
        return None;
    }
    let from_origin = residue + shift.min(0);
    Some((
        align,
        from_origin.rem_euclid(i32::from(align.max(1))) as u16,
    ))
}

/// Whether both need the same half at the same time.
fn meet(mine: &Group, theirs: &Group, shift: i32) -> bool {
    theirs.halves.iter().zip(shift..).any(|(stretches, at)| {
        let taken = usize::try_from(at).ok().and_then(|at| mine.halves.get(at));
        let taken = taken.map_or(&[][..], Vec::as_slice);
        stretches.iter().any(|stretch| !is_free(taken, *stretch))
    })
}
