//! Control operations: where lanes diverge and meet again.
//!
//! A slot of the control stack holds the lanes that wait for others. Each function either changes the masks or returns where
//! to go on; bytecode is structured, so there is no other way a mask changes than these (and a thread's return).

use super::masks::{NONE, difference, union};
use super::observer::Observer;
use super::{Batch, ExecutionContext, Stop, Trap};
use crate::error::FaultKind;
use crate::simd::Simd;
use std::sync::atomic::Ordering;

impl Batch {
    /// Lanes for which the condition is `wanted` go on; the others wait in the slot. Returns true if no lane goes on.
    #[inline(always)]
    pub(super) fn begin_if<S: Simd>(
        &mut self,
        simd: S,
        cond: u32,
        wanted: bool,
        slot: u32,
    ) -> bool {
        let masks = self.masks.all();
        let rest = difference(masks, self.holds(simd, cond));
        let others = if wanted {
            rest
        } else {
            difference(masks, rest)
        };
        self.masks.slots[slot as usize] = others;
        if others != NONE {
            self.set_masks(difference(masks, others));
        }
        self.masks.is_idle()
    }

    /// The lanes that took the first arm wait in the next slot; those that waited take the second. Returns false if there
    /// are none, and the second arm is skipped.
    #[inline(always)]
    pub(super) fn begin_else(&mut self, slot: u32) -> bool {
        let others = self.masks.slots[slot as usize];
        if others == NONE {
            return false;
        }
        self.masks.slots[slot as usize + 1] = self.masks.all();
        self.set_masks(others);
        true
    }

    /// The lanes that wait in a slot are active again.
    #[inline(always)]
    pub(super) fn join(&mut self, slot: u32) {
        let waiting = self.masks.slots[slot as usize];
        if waiting != NONE {
            self.set_masks(union(self.masks.all(), waiting));
        }
    }

    /// Empties the slot of a scope or loop that begins.
    #[inline(always)]
    pub(super) fn begin_scope(&mut self, slot: u32) {
        self.masks.slots[slot as usize] = NONE;
    }

    /// The active lanes wait in the slot of the scope or loop that they leave.
    #[inline(always)]
    pub(super) fn leave(&mut self, slot: u32) {
        let waiting = self.masks.slots[slot as usize];
        self.masks.slots[slot as usize] = union(waiting, self.masks.all());
        self.set_masks(NONE);
    }

    /// Lanes that go on to the next iteration are active again. Returns true if there are any.
    #[inline(always)]
    pub(super) fn end_iteration(&mut self, slot: u32) -> bool {
        self.join(slot);
        self.begin_scope(slot);
        !self.masks.is_idle()
    }

    /// Counts the operations of an iteration, from `target` to `position`. An error if the limit is reached or the dispatch is
    /// to be stopped. Returns true if the turn of the batch is over.
    #[inline(always)]
    pub(super) fn count_iteration<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &O,
        position: usize,
        target: usize,
    ) -> Result<bool, Trap> {
        self.progress.steps += (position - target) as u64 + 1;
        let over = self.progress.steps > self.progress.turn_end;
        if over && self.progress.steps > context.max_steps {
            let steps = self.progress.steps;
            return Err(self.trap(FaultKind::TooManySteps { steps }, position));
        }
        let cancelled = context
            .cancel
            .is_some_and(|flag| flag.load(Ordering::Relaxed));
        if observer.wants_stop() || cancelled {
            return Err(self.trap(FaultKind::Cancelled, position));
        }
        Ok(over)
    }

    /// A barrier of the threadgroup. Returns why the batch has to stop there; nothing if it can go on.
    #[inline(always)]
    pub(super) fn stop_at_barrier<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        next: usize,
    ) -> Option<Stop> {
        self.progress.next = next;
        if self.masks.is_idle() {
            return None;
        }
        if self.simdgroups > 1 && self.masks.has_absent() {
            return Some(Stop::Parted);
        }
        (O::OBSERVES || !context.alone).then_some(Stop::Barrier)
    }

    /// A fault of the first active lane.
    #[cold]
    pub(super) fn trap(&mut self, kind: FaultKind, position: usize) -> Trap {
        self.progress.current = self.masks.active.first;
        Trap {
            kind,
            position,
            lane: self.mask().trailing_zeros() as usize & 31,
        }
    }
}
