//! Asks memory early and uses the answers late.
//!
//! Loads come first, each with what computes its address, then what does not depend on
//! them, then their uses. Once as many are outstanding as may be, they are used until
//! half are left; then the next loads go out while the rest is still computed with.

use super::counts::Counts;
use super::dag::{Dag, is_slow_load};
use crate::mir::Inst;
use std::collections::BTreeSet;

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

/// An order; instructions are named by where they were. `base` is the order that is kept
/// where nothing speaks against it, `counts` is at the start of the block.
pub(crate) fn overlap(
    insts: &[Inst],
    dag: &Dag,
    base: &[u32],
    counts: &mut Counts,
    how: Overlap,
) -> Vec<u32> {
    Scheduler::new(insts, dag, base, counts, how).run()
}

struct Scheduler<'a> {
    insts: &'a [Inst],
    dag: &'a Dag,
    counts: &'a mut Counts,
    /// Where each is in the base order.
    place: Vec<u32>,
    /// The first load that a node helps to compute the address of, or is.
    serves: Vec<u32>,
    before: Vec<u32>,
    /// In the base order.
    ready: BTreeSet<(u32, u32)>,
    /// Loads that nobody has used yet.
    waiting: Vec<bool>,
    outstanding: usize,
    issuing: bool,
    /// Loads that are not out yet.
    loads: usize,
    how: Overlap,
}

const NOTHING: u32 = u32::MAX;

impl<'a> Scheduler<'a> {
    fn new(
        insts: &'a [Inst],
        dag: &'a Dag,
        base: &[u32],
        counts: &'a mut Counts,
        how: Overlap,
    ) -> Scheduler<'a> {
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
            insts,
            dag,
            counts,
            place,
            serves,
            before: dag.before.clone(),
            ready: BTreeSet::new(),
            waiting: vec![false; insts.len()],
            outstanding: 0,
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
        self.ready.insert((place, node));
    }

    fn place_of(&self, node: u32) -> u32 {
        self.place.get(node as usize).copied().unwrap_or(NOTHING)
    }

    fn run(mut self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.insts.len());
        while let Some(node) = self.choose() {
            self.place(node);
            order.push(node);
        }
        order
    }

    fn choose(&self) -> Option<u32> {
        let candidates = || self.ready.iter().map(|(_, node)| *node).take(CHOICE);
        let inst = |node: u32| self.insts.get(node as usize);
        let change = |node: u32| inst(node).map_or(0, |inst| self.counts.change(inst));
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
        let load = self.insts.get(node as usize).is_some_and(is_slow_load);
        let place = self.place_of(node);
        if !self.issuing {
            return (load, false, place);
        }
        let serves = self.serves.get(node as usize).copied().unwrap_or(NOTHING);
        let reads = self.dag.reads.get(node as usize).into_iter().flatten();
        let stalls = reads
            .into_iter()
            .any(|from| self.waiting.get(*from as usize).copied().unwrap_or(false));
        (stalls, serves == NOTHING, place.min(serves))
    }

    fn place(&mut self, node: u32) {
        self.ready.remove(&(self.place_of(node), node));
        let at = node as usize;
        if let Some(inst) = self.insts.get(at) {
            self.counts.retire(inst);
            if is_slow_load(inst)
                && let Some(waiting) = self.waiting.get_mut(at)
            {
                *waiting = true;
                self.outstanding += 1;
                self.loads = self.loads.saturating_sub(1);
            }
        }
        for from in self.dag.reads.get(at).into_iter().flatten() {
            if let Some(waiting) = self.waiting.get_mut(*from as usize)
                && std::mem::take(waiting)
            {
                self.outstanding -= 1;
            }
        }
        if self.outstanding >= self.how.outstanding {
            self.issuing = false;
        } else if self.outstanding <= self.how.outstanding / 2 {
            self.issuing = true;
        }
        let dag = self.dag;
        for next in dag.after.get(at).into_iter().flatten() {
            if let Some(before) = self.before.get_mut(*next as usize) {
                *before -= 1;
                if *before == 0 {
                    self.release(*next);
                }
            }
        }
    }
}
