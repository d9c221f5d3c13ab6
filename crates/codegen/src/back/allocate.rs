//! Chooses half registers.
//!
//! Groups are placed one after the other, each at the lowest place that is free wherever
//! it lives. In the order in which they come to life that is nearly the best there is;
//! when wide groups find no room that way, they are placed first and the small ones
//! fill the gaps.

use super::groups::{Group, Groups, Stretch, is_free, take};
use crate::mir::VReg;
use assay_chip::occupancy::STEPS;

/// Half registers of the machine.
pub(crate) const FILE: u16 = 256;

/// Where every group is.
#[derive(Debug)]
pub(crate) struct Allocation {
    groups: Groups,
    /// First half of each group.
    places: Vec<u16>,
    /// One more than the highest half in use.
    pub(crate) halves: u16,
}

/// The half registers there are: from the first to before the second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) first: u16,
    pub(crate) limit: u16,
}

impl Allocation {
    /// The first half of a register.
    pub(crate) fn place(&self, reg: VReg) -> Option<u16> {
        let (group, offset) = self.groups.of(reg)?;
        let place = self.places.get(group as usize).copied();
        place
            .filter(|place| *place != NOWHERE)
            .map(|place| place + u16::from(offset))
    }
}

const NOWHERE: u16 = u16::MAX;

/// The row of the occupancy table that so many half registers are in.
pub(crate) fn row(halves: u16) -> usize {
    let row = STEPS
        .iter()
        .position(|step| u32::from(halves) <= step.half_registers);
    row.unwrap_or(STEPS.len())
}

/// The most half registers with as many threads as so many leave.
fn step(halves: u16) -> u16 {
    let step = STEPS.get(row(halves));
    step.map_or(halves, |step| step.half_registers as u16)
}

/// With so many groups, a place within the step is good enough.
const MANY: usize = 2000;

/// In which order groups are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Start,
    WideFirst,
    LongFirst,
    End,
    AlignedFirst,
}

impl Order {
    const ALL: [Order; 5] = [
        Order::Start,
        Order::WideFirst,
        Order::LongFirst,
        Order::End,
        Order::AlignedFirst,
    ];
}

/// Places all groups. `needed` is how many halves are alive at once where most are: with
/// that many, it cannot be done better. The error is for when there is no room.
pub(crate) fn allocate(groups: Groups, needed: u16, bounds: Bounds) -> Result<Allocation, Groups> {
    let mut best: Option<(u16, Vec<u16>)> = None;
    for order in Order::ALL {
        let limit = best.as_ref().map_or(bounds.limit, |(halves, _)| *halves);
        if let Some(found) = place_all(&groups, order, Bounds { limit, ..bounds }) {
            let better = best.as_ref().is_none_or(|(halves, _)| found.0 < *halves);
            if better {
                best = Some(found);
            }
        }
        let enough = match groups.iter().count() {
            ..MANY => needed + bounds.first,
            MANY.. => step(needed + bounds.first),
        };
        let good = best.as_ref().is_some_and(|(halves, _)| *halves <= enough);
        if good {
            break;
        }
    }
    match best {
        Some((halves, places)) => Ok(Allocation {
            groups,
            places,
            halves,
        }),
        None => Err(groups),
    }
}

/// How many more halves than there are these groups take in the order in which they come to life.
pub(crate) fn beyond(groups: &Groups, bounds: Bounds) -> u16 {
    let wide = Bounds {
        limit: bounds.limit.saturating_mul(2),
        ..bounds
    };
    let end = place_all(groups, Order::Start, wide).map_or(wide.limit, |(end, _)| end);
    end.saturating_sub(bounds.limit)
}

/// The registers that find no place when the dearest are placed first, or in the order in which they come to life: the
/// cheaper lot. Empty if either way a register is among them that has no cost, because it cannot be kept elsewhere.
pub(crate) fn left_over(
    groups: &Groups,
    bounds: Bounds,
    cost: impl Fn(VReg) -> Option<f64>,
) -> Vec<VReg> {
    let price = |group: &Group| {
        let costs = group.members().iter().map(|reg| cost(*reg));
        costs.sum::<Option<f64>>()
    };
    let by_start = sorted(groups, Order::Start);
    let mut by_cost = by_start.clone();
    // A register's cost is for all its life; what is dear for each point of it comes first.
    by_cost.sort_by_cached_key(|(_, group)| {
        let dear = price(group).map_or(f64::MAX, |cost| cost / (group.weight() as f64 + 1.0));
        std::cmp::Reverse(dear.to_bits())
    });
    let lots = [by_start, by_cost].into_iter().filter_map(|list| {
        let left = place(&list, bounds, true)?.left;
        let total = left.iter().map(|group| price(group)).sum::<Option<f64>>()?;
        Some((total, left))
    });
    let cheapest = lots.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let left = cheapest.map(|(_, left)| left).unwrap_or_default();
    left.iter()
        .flat_map(|group| group.members())
        .copied()
        .collect()
}

fn place_all(groups: &Groups, order: Order, bounds: Bounds) -> Option<(u16, Vec<u16>)> {
    let placed = place(&sorted(groups, order), bounds, false)?;
    Some((placed.end, placed.places))
}

fn sorted(groups: &Groups, order: Order) -> Vec<(u32, &Group)> {
    let mut list: Vec<(u32, &Group)> = groups.iter().collect();
    match order {
        Order::Start => list.sort_by_cached_key(|(_, group)| group.start()),
        Order::WideFirst => list.sort_by_cached_key(|(_, group)| {
            let width = group.halves.len();
            (
                std::cmp::Reverse(width.max(usize::from(group.align))),
                group.start(),
            )
        }),
        Order::End => list.sort_by_cached_key(|(_, group)| std::cmp::Reverse(group.end())),
        Order::AlignedFirst => {
            list.sort_by_cached_key(|(_, group)| (std::cmp::Reverse(group.align), group.start()))
        }
        Order::LongFirst => {
            list.sort_by_cached_key(|(_, group)| (std::cmp::Reverse(group.weight()), group.start()))
        }
    }
    list
}

/// Where groups are that were placed one after the other.
struct Placed<'a> {
    /// One more than the highest half in use.
    end: u16,
    /// First half of each group by its number.
    places: Vec<u16>,
    /// Groups without a place.
    left: Vec<&'a Group>,
}

/// Places groups in this order. If one finds no place it is left over, or, unless `leave`, all are given up.
fn place<'a>(list: &[(u32, &'a Group)], bounds: Bounds, leave: bool) -> Option<Placed<'a>> {
    let size = list
        .iter()
        .map(|(number, _)| *number + 1)
        .max()
        .unwrap_or(0);
    let mut places = vec![NOWHERE; size as usize];
    let mut taken = vec![Vec::new(); usize::from(bounds.limit)];
    let mut end = bounds.first;
    let mut left = Vec::new();
    for &(number, group) in list {
        let Some(base) = find(&taken, group, bounds) else {
            if leave {
                left.push(group);
                continue;
            }
            return None;
        };
        for (half, stretches) in group.halves.iter().enumerate() {
            if let Some(taken) = taken.get_mut(usize::from(base) + half) {
                stretches.iter().for_each(|stretch| take(taken, *stretch));
            }
        }
        // Halves at the edges that nobody lives in do not count.
        let used = group.halves.iter().rposition(|half| !half.is_empty());
        end = end.max(base + used.map_or(0, |last| last as u16 + 1));
        if let Some(place) = places.get_mut(number as usize) {
            *place = base;
        }
    }
    Some(Placed { end, places, left })
}

/// The lowest free place. A single half goes beside one that is taken, if it can: words
/// stay whole for those who need them.
fn find(taken: &[Vec<Stretch>], group: &Group, bounds: Bounds) -> Option<u16> {
    let width = group.halves.len() as u16;
    let align = group.align.max(1);
    let skipped = bounds.first.saturating_sub(group.residue);
    let start = skipped.next_multiple_of(align) + group.residue;
    let last = (taken.len() as u16).checked_sub(width)?;
    let places = || (start..=last).step_by(usize::from(align));
    if let ([half], 1) = (group.halves.as_slice(), align) {
        let beside = |base: &u16| {
            let other = taken.get(usize::from(base ^ 1));
            other.is_some_and(|other| half.iter().any(|stretch| !is_free(other, *stretch)))
        };
        let lonely = places().find(|base| fits(taken, group, *base) && beside(base));
        if lonely.is_some() {
            return lonely;
        }
    }
    places().find(|base| fits(taken, group, *base))
}

fn fits(taken: &[Vec<Stretch>], group: &Group, base: u16) -> bool {
    let places = taken.get(usize::from(base)..).unwrap_or_default();
    group
        .halves
        .iter()
        .zip(places)
        .all(|(half, taken)| half.iter().all(|stretch| is_free(taken, *stretch)))
}
