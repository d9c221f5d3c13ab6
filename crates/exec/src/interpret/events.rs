//! Access events of loads and stores.

use super::address_range::RunShape;
use super::addresses::{Addresses, CheckedAccess};
use super::observer::{AccessEvent, Observer};
use super::transfer::Access;
use super::{Batch, ExecutionContext, MAX_SIMDGROUPS, Trap};
use crate::lanes::lanes_of;
use crate::memory::Action;

impl Batch {
    /// The event of a transfer by a simdgroup.
    #[inline(always)]
    fn transfer_event<'a>(
        &'a self,
        context: &'a ExecutionContext<'a>,
        access: Access<'a>,
        simdgroup: usize,
        addresses: Addresses<'a>,
    ) -> AccessEvent<'a> {
        let Access {
            transfer: t,
            action,
            position,
        } = access;
        let mask = self.mask_of(simdgroup);
        let number = (action, t.cell, t.size());
        AccessEvent {
            simdgroup,
            align: t.align,
            regs: context.program.list(t.regs),
            transfer: Some(t),
            ..AccessEvent::new(context, self, position, (addresses, mask), number)
        }
    }

    /// Reports an affine access to the observer: of all lanes of the active simdgroups, or of some of them if the observer
    /// never masks lanes. Returns true if per-lane reports are unnecessary.
    #[inline(always)]
    pub(super) fn report_affine_access<O: Observer>(
        &self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        access: Access<'_>,
        found: CheckedAccess<'_>,
    ) -> bool {
        let active = self.masks.active;
        if !active.full && !O::NEVER_MASKS {
            return false;
        }
        let affine = self.affine_addresses(access.transfer);
        let addresses = |at: usize| Addresses::Affine(affine.of_simdgroup(at));
        let first = active.first;
        let mut event = AccessEvent {
            affine: Some(affine),
            runs: found.runs,
            inside: true,
            ..self.transfer_event(context, access, first, addresses(first))
        };
        if active.full {
            return observer.on_batch_access(&event);
        }
        for at in self.running() {
            event.simdgroup = at;
            event.mask = self.mask_of(at);
            event.addresses = addresses(at);
            observer.on_access(&event);
        }
        true
    }

    /// Reports a transfer of the active simdgroups to the observer. Returns true if all lanes may go on with it. If not, the
    /// lanes that may have done it already, and the others have read zero.
    #[inline(never)]
    pub(super) fn report_access<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        access: Access<'_>,
        checked: Option<CheckedAccess<'_>>,
    ) -> Result<bool, Trap> {
        let (t, action) = (access.transfer, access.action);
        let active = self.masks.active;
        let is_affine = checked.is_some_and(|found| found.affine);
        if !is_affine {
            self.materialise_address(t);
        }
        let each = (checked.is_none() && active.count > 1).then(|| {
            let mut each = [None; MAX_SIMDGROUPS];
            for at in active.range() {
                each[at & (MAX_SIMDGROUPS - 1)] =
                    self.check_transfer_of_one(context, t, at, action);
            }
            each
        });
        let event = |at: usize, found: Option<CheckedAccess<'_>>| AccessEvent {
            runs: found.map_or(RunShape::SCATTERED, |found| found.runs),
            inside: found.is_some(),
            ..self.transfer_event(context, access, at, self.addresses(t, at))
        };
        if active.full
            && checked.is_some()
            && !is_affine
            && observer.on_batch_access(&event(active.first, checked))
        {
            return Ok(true);
        }
        let mut allowed = self.masks.all();
        for at in self.running() {
            let found = each.map_or(checked, |each| each[at & (MAX_SIMDGROUPS - 1)]);
            allowed[at & (MAX_SIMDGROUPS - 1)] = observer.on_access(&event(at, found));
        }
        if allowed == self.masks.all() {
            return Ok(true);
        }
        for at in active.range() {
            let (mask, allowed) = (self.mask_of(at), allowed[at & (MAX_SIMDGROUPS - 1)]);
            // SAFETY: the transfer writes none of its address registers.
            let addresses = unsafe { self.held_addresses(t, at) };
            self.progress.current = at;
            self.transfer_per_lane(&context.of(self), access, &addresses, allowed)?;
            if action == Action::Read {
                for lane in lanes_of(mask & !allowed) {
                    for &reg in context.program.list(t.regs) {
                        self.set(reg, lane, 0);
                    }
                }
            }
        }
        self.progress.current = 0;
        Ok(false)
    }
}
