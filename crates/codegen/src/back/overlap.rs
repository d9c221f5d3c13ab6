//! Asks memory early and uses the answers late.
//!
//! Loads come first, each with what computes its address, then what does not depend on
//! them, then their uses. Once as many are outstanding as may be, they are used until
//! half are left; then the next loads go out while the rest is still computed with.

use super::counts::Counts;
use super::dag::is_slow_load;
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

/// An order, and how many loads were outstanding at most; instructions are named by where
/// they were. `base` is the order that is kept where nothing speaks against it, `counts` is
/// at the start of the block.
pub(crate) fn overlap(
    region: &Region<'_>,
    base: &[u32],
    counts: &mut Counts,
    how: Overlap,
) -> (Vec<u32>, usize) {
    Scheduler::new(region, base, counts, how).run()
}

struct Scheduler<'a> {
    region: &'a Region<'a>,
    counts: &'a mut Counts,
    /// Where each is in the base order.
    place: Vec<u32>,
    /// The first load that a node helps to compute the address of, or is.
    serves: Vec<u32>,
    before: Vec<u32>,
    /// In the base order.
    ready: Vec<(u32, u32)>,
    /// Loads that nobody has used yet.
    waiting: Vec<bool>,
    outstanding: usize,
    most_outstanding: usize,
    issuing: bool,
    /// Loads that are not out yet.
    loads: usize,
    how: Overlap,
}

const NOTHING: u32 = u32::MAX;

impl<'a> Scheduler<'a> {
    fn new(
        region: &'a Region<'a>,
        base: &[u32],
        counts: &'a mut Counts,
        how: Overlap,
    ) -> Scheduler<'a> {
        let (insts, dag) = (region.insts, &region.dag);
        let mut place = vec![NOTHING; insts.len()];
        for (at, node) in (0u32..).zip(base) {
            if let Some(place) = place.get_mut(*node as usize) {
                *place = at;
            }
        }
        let mut serves = vec![NOTHING; insts.len()];
        for (node, inst) in insts.iter().enumerate().rev() {
            if is_slow_load(inst)
                && let (Some(serves), Some(place)) = (serves.get_mut(node), place.get(node))
            {
                *serves = *place;
            }
            let mine = serves.get(node).copied().unwrap_or(NOTHING);
            for from in dag.reads.get(node).into_iter().flatten() {
                if let Some(serves) = serves.get_mut(*from as usize) {
                    *serves = mine.min(*serves);
                }
            }
        }
        let mut scheduler = Scheduler {
            region,
            counts,
            place,
            serves,
            before: dag.before.clone(),
            ready: Vec::new(),
            waiting: vec![false; insts.len()],
            outstanding: 0,
            most_outstanding: 0,
            issuing: true,
            loads: insts.iter().filter(|inst| is_slow_load(inst)).count(),
            how,
        };
        for (node, before) in (0u32..).zip(&dag.before) {
            if *before == 0 {
                scheduler.release(node);
            }
        }
        scheduler
    }

    /// It may go next: all that must come before it is placed.
    fn release(&mut self, node: u32) {
        let place = self.place_of(node);
        let at = self.ready.partition_point(|other| *other < (place, node));
        self.ready.insert(at, (place, node));
    }

    fn place_of(&self, node: u32) -> u32 {
        self.place.get(node as usize).copied().unwrap_or(NOTHING)
    }

    fn run(mut self) -> (Vec<u32>, usize) {
        let mut order = Vec::with_capacity(self.region.insts.len());
        while let Some(node) = self.choose() {
            self.place(node);
            order.push(node);
        }
        (order, self.most_outstanding)
    }

    fn choose(&self) -> Option<u32> {
        let candidates = || self.ready.iter().map(|(_, node)| *node).take(CHOICE);
        let change = |node: u32| self.counts.change(self.region, node);
        if self.how.frugal && self.loads == 0 {
            return candidates().min_by_key(|node| {
                let place = self.place_of(*node);
                (self.rank(*node).0, change(*node), place)
            });
        }
        let best = candidates().min_by_key(|node| self.rank(*node))?;
        let grows = change(best);
        if grows <= 0 || self.counts.now + grows <= i32::from(self.how.room) {
            return Some(best);
        }
        candidates()
            .take(CHOICE_BY_REGISTERS)
            .min_by_key(|node| (change(*node), self.place_of(*node)))
    }

    /// The lowest goes next.
    fn rank(&self, node: u32) -> (bool, bool, u32) {
        let load = self
            .region
            .insts
            .get(node as usize)
            .is_some_and(is_slow_load);
        let place = self.place_of(node);
        if !self.issuing {
            return (load, false, place);
        }
        let serves = self.serves.get(node as usize).copied().unwrap_or(NOTHING);
        let reads = self
            .region
            .dag
            .reads
            .get(node as usize)
            .into_iter()
            .flatten();
        let stalls = reads
            .into_iter()
            .any(|from| self.waiting.get(*from as usize).copied().unwrap_or(false));
        (stalls, serves == NOTHING, place.min(serves))
    }

    fn place(&mut self, node: u32) {
        let entry = (self.place_of(node), node);
        if let Ok(at) = self.ready.binary_search(&entry) {
            self.ready.remove(at);
        }
        let at = node as usize;
        self.counts.retire(self.region, node);
        if self.region.insts.get(at).is_some_and(is_slow_load)
            && let Some(waiting) = self.waiting.get_mut(at)
        {
            *waiting = true;
            self.outstanding += 1;
            self.loads = self.loads.saturating_sub(1);
        }
        for from in self.region.dag.reads.get(at).into_iter().flatten() {
            if let Some(waiting) = self.waiting.get_mut(*from as usize)
                && std::mem::take(waiting)
            {
                self.outstanding -= 1;
            }
        }
        self.most_outstanding = self.most_outstanding.max(self.outstanding);
        if self.outstanding >= self.how.outstanding {
            self.issuing = false;
        } else if self.outstanding <= self.how.outstanding / 2 {
            self.issuing = true;
        }
        let region = self.region;
        for next in region.dag.after.get(at).into_iter().flatten() {
            if let Some(before) = self.before.get_mut(*next as usize) {
                *before -= 1;
                if *before == 0 {
                    self.release(*next);
                }
            }
        }
    }
}
