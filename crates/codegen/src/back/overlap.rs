//! Asks memory early and uses the answers late.
//!
//! Loads come first, each with what computes its address, then what does not depend on
//! them, then their uses. Once as many are outstanding as may be, they are used until
//! half are left; then the next loads go out while the rest is still computed with.

use super::counts::Counts;
use super::ready::Ready;
use super::region::Region;

/// Instructions that are ready and compared with each other, at most: by rank, and by
/// what they do to registers when those run out.
const CHOICE: usize = 24;
const CHOICE_BY_REGISTERS: usize = 8;

/// How loads are overlapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overlap {
    /// Loads outstanding at most, before some are used.
    pub(crate) outstanding: usize,
    /// Once all loads are out, prefer what frees registers.
    pub(crate) frugal: bool,
    /// Halves alive at most, where it can be helped.
    pub(crate) room: u16,
}

/// An order to start from.
#[derive(Debug)]
pub(crate) struct Base {
    /// Where each instruction is in it.
    place: Vec<u32>,
    /// The first load that a node helps to compute the address of, or is.
    serves: Vec<u32>,
}

impl Base {
    pub(crate) fn new(region: &Region<'_>, order: &[u32]) -> Base {
        let count = region.insts.len();
        let mut place = vec![NOTHING; count];
        for (at, node) in (0u32..).zip(order) {
            if let Some(place) = place.get_mut(*node as usize) {
                *place = at;
            }
        }
        let mut serves = vec![NOTHING; count];
        for (node, slow) in region.slow.iter().enumerate().rev() {
            if *slow && let (Some(serves), Some(place)) = (serves.get_mut(node), place.get(node)) {
                *serves = *place;
            }
            let mine = serves.get(node).copied().unwrap_or(NOTHING);
            for from in region.dag.reads.get(node).into_iter().flatten() {
                if let Some(serves) = serves.get_mut(*from as usize) {
                    *serves = mine.min(*serves);
                }
            }
        }
        Base { place, serves }
    }
}

/// Overlaps the loads of regions; keeps its tables from one order to the next.
#[derive(Debug, Default)]
pub(crate) struct Overlapping {
    before: Vec<u32>,
    /// In the base order.
    ready: Ready<CHOICE>,
    /// Loads that nobody has used yet.
    waiting: Vec<bool>,
    /// How many of those each one reads.
    stalls: Vec<u32>,
}

impl Overlapping {
    /// An order, and how many loads were outstanding at most; instructions are named by
    /// where they were. The base order is kept where nothing speaks against it; `counts` is
    /// at the start of the block.
    pub(crate) fn order(
        &mut self,
        region: &Region<'_>,
        base: &Base,
        counts: &mut Counts,
        how: Overlap,
    ) -> (Vec<u32>, usize) {
        let count = region.insts.len();
        self.before.clone_from(&region.dag.before);
        self.ready.clear();
        self.waiting.clear();
        self.waiting.resize(count, false);
        self.stalls.clear();
        self.stalls.resize(count, 0);
        let scheduler = Scheduler {
            region,
            base,
            counts,
            tables: self,
            outstanding: 0,
            most_outstanding: 0,
            issuing: true,
            loads: region.slow.iter().filter(|slow| **slow).count(),
            how,
        };
        scheduler.run()
    }
}

struct Scheduler<'a> {
    region: &'a Region<'a>,
    base: &'a Base,
    counts: &'a mut Counts,
    tables: &'a mut Overlapping,
    outstanding: usize,
    most_outstanding: usize,
    issuing: bool,
    /// Loads that are not out yet.
    loads: usize,
    how: Overlap,
}

const NOTHING: u32 = u32::MAX;

impl Scheduler<'_> {
    /// It may go next: all that must come before it is placed.
    fn release(&mut self, node: u32) {
        let entry = (self.place_of(node), node);
        self.tables.ready.insert(entry);
    }

    fn place_of(&self, node: u32) -> u32 {
        let place = self.base.place.get(node as usize);
        place.copied().unwrap_or(NOTHING)
    }

    fn is_slow(&self, node: u32) -> bool {
        self.region
            .slow
            .get(node as usize)
            .copied()
            .unwrap_or(false)
    }

    fn run(mut self) -> (Vec<u32>, usize) {
        for (node, before) in (0u32..).zip(&self.region.dag.before) {
            if *before == 0 {
                self.release(node);
            }
        }
        let mut order = Vec::with_capacity(self.region.insts.len());
        while let Some(node) = self.choose() {
            self.place(node);
            order.push(node);
        }
        (order, self.most_outstanding)
    }

    fn choose(&self) -> Option<u32> {
        let candidates = || self.tables.ready.few().iter().map(|(_, node)| *node);
        let change = |node: u32| self.counts.change(self.region, node);
        let at_once = || candidates().filter(|node| !self.rank(*node).0);
        if self.how.frugal && self.loads == 0 {
            let cost = |node: &u32| (change(*node), self.place_of(*node));
            let best = at_once().min_by_key(cost);
            return best.or_else(|| candidates().min_by_key(cost));
        }
        // They are in the order of their places, which alone decide once no load is asked for.
        let best = match self.issuing && self.loads > 0 {
            true => candidates().min_by_key(|node| self.rank(*node)),
            false => at_once().next().or_else(|| candidates().next()),
        }?;
        let grows = change(best);
        if grows <= 0 || self.counts.now + grows <= i32::from(self.how.room) {
            return Some(best);
        }
        candidates()
            .take(CHOICE_BY_REGISTERS)
            .min_by_key(|node| (change(*node), self.place_of(*node)))
    }

    /// The lowest goes next; first of all, what need not be put off.
    fn rank(&self, node: u32) -> (bool, bool, u32) {
        let place = self.place_of(node);
        if !self.issuing {
            return (self.is_slow(node), false, place);
        }
        let serves = self.base.serves.get(node as usize);
        let serves = serves.copied().unwrap_or(NOTHING);
        let stalls = self.tables.stalls.get(node as usize);
        let stalls = stalls.is_some_and(|stalls| *stalls > 0);
        (stalls, serves == NOTHING, place.min(serves))
    }

    fn place(&mut self, node: u32) {
        let entry = (self.place_of(node), node);
        if let Ok(at) = self.tables.ready.few().binary_search(&entry) {
            self.tables.ready.remove(at);
        }
        self.counts.retire(self.region, node);
        let region = self.region;
        if self.is_slow(node) {
            self.outstanding += 1;
            self.loads = self.loads.saturating_sub(1);
            self.wait(node, true);
        }
        for from in region.dag.reads.get(node as usize).into_iter().flatten() {
            if self.tables.waiting.get(*from as usize) == Some(&true) {
                self.outstanding -= 1;
                self.wait(*from, false);
            }
        }
        self.most_outstanding = self.most_outstanding.max(self.outstanding);
        if self.outstanding >= self.how.outstanding {
            self.issuing = false;
        } else if self.outstanding <= self.how.outstanding / 2 {
            self.issuing = true;
        }
        for next in region.dag.after.get(node as usize).into_iter().flatten() {
            if let Some(before) = self.tables.before.get_mut(*next as usize) {
                *before -= 1;
                if *before == 0 {
                    self.release(*next);
                }
            }
        }
    }

    /// Whoever reads a load has to wait for it now, or no longer.
    fn wait(&mut self, load: u32, waits: bool) {
        if let Some(waiting) = self.tables.waiting.get_mut(load as usize) {
            *waiting = waits;
        }
        for reader in self.region.readers.of(load as usize) {
            if let Some(stalls) = self.tables.stalls.get_mut(*reader as usize) {
                *stalls = if waits { *stalls + 1 } else { *stalls - 1 };
            }
        }
    }
}
