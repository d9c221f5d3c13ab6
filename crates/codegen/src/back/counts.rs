//! How many half registers are alive while a block is put in order.

use super::liveness::members;
use super::region::Region;

/// How many halves are alive while a block is put in order.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Uses of each half that are still to come; live at the end counts as one.
    left: Vec<u16>,
    alive: Vec<u16>,
    pub(crate) now: i32,
}

impl Counts {
    /// The state at the start of a region.
    pub(crate) fn of(region: &Region<'_>) -> Counts {
        let mut left = vec![0; region.halves];
        let uses = (0..region.insts.len()).flat_map(|node| region.uses.of(node));
        for part in uses.copied().chain(region.parts(&region.live_out)) {
            members(part.halves).for_each(|half| {
                if let Some(left) = left.get_mut(part.half(half)) {
                    *left += 1;
                }
            });
        }
        let alive = region.live_in.clone();
        let named: i32 = alive.iter().map(|halves| halves.count_ones() as i32).sum();
        Counts {
            left,
            now: region.through + named,
            alive,
        }
    }

    /// Becomes as another is.
    pub(crate) fn become_as(&mut self, other: &Counts) {
        self.left.clone_from(&other.left);
        self.alive.clone_from(&other.alive);
        self.now = other.now;
    }

    /// How many halves more are alive after an instruction.
    pub(crate) fn change(&self, region: &Region<'_>, node: u32) -> i32 {
        let mut change = 0;
        for part in region.uses.of(node as usize) {
            let last = |half: &u8| self.left.get(part.half(*half)) == Some(&1);
            change -= members(part.halves).filter(last).count() as i32;
        }
        for part in region.defs.of(node as usize) {
            let alive = self.alive.get(part.reg as usize).copied().unwrap_or(0);
            change += (part.halves & !alive).count_ones() as i32;
        }
        change
    }

    pub(crate) fn retire(&mut self, region: &Region<'_>, node: u32) {
        for part in region.uses.of(node as usize) {
            let Some(alive) = self.alive.get_mut(part.reg as usize) else {
                continue;
            };
            for half in members(part.halves) {
                let Some(left) = self.left.get_mut(part.half(half)) else {
                    continue;
                };
                *left = left.saturating_sub(1);
                if *left == 0 && *alive >> half & 1 != 0 {
                    *alive &= !(1 << half);
                    self.now -= 1;
                }
            }
        }
        for part in region.defs.of(node as usize) {
            let Some(alive) = self.alive.get_mut(part.reg as usize) else {
                continue;
            };
            for half in members(part.halves & !*alive) {
                if self
                    .left
                    .get(part.half(half))
                    .is_some_and(|left| *left != 0)
                {
                    *alive |= 1 << half;
                    self.now += 1;
                }
            }
        }
    }

    /// The most that are alive in an order.
    pub(crate) fn peak(&mut self, region: &Region<'_>, order: &[u32]) -> i32 {
        let mut peak = self.now;
        for node in order {
            self.retire(region, *node);
            peak = peak.max(self.now);
        }
        peak
    }
}
