//! Telling a watch about loads and stores.

use super::copy::Addresses;
use super::span::Form;
use super::transfer::Found;
use super::watch::{Seen, Sum, Watch};
use super::{Batch, MOST, Surroundings, Trap};
use crate::code::Transfer;
use crate::lanes::lanes_of;
use crate::memory::Action;

impl Batch {
    /// Tells the watch about a transfer found to be a sum: of all lanes of the active simdgroups, or of some if the watch
    /// lets all of them go on; whether it wants to hear no more.
    #[inline(always)]
    pub(super) fn told<W: Watch>(
        &self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        found: Found,
        action: Action,
        position: usize,
    ) -> bool {
        let active = self.active;
        if !active.full && !W::ALLOWS {
            return false;
        }
        let (runs, shape, scale) = self.sum(t);
        let own = runs.moved(shape.group(active.first) * scale);
        let mut seen = Seen {
            around,
            group: self,
            at: active.first,
            position,
            mask: !0,
            addresses: Addresses::Runs(own),
            sum: Some(Sum { runs, shape, scale }),
            form: found.form,
            inside: true,
            size: t.size(),
            align: t.align,
            cell: t.cell,
            regs: around.program.list(t.regs),
            transfer: Some(t),
            action,
        };
        if active.full {
            return watch.access_by_all(&seen);
        }
        for at in active.range().filter(|&at| self.mask_of(at) != 0) {
            seen.at = at;
            seen.mask = self.mask_of(at);
            seen.addresses = Addresses::Runs(runs.moved(shape.group(at) * scale));
            watch.access(&seen);
        }
        true
    }

    /// Tells the watch about a transfer of all active simdgroups; whether all lanes go on with it. If not, those that may
    /// have done it, and the others have read zero.
    #[inline(never)]
    pub(super) fn watched<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        together: Option<Found>,
        action: Action,
        position: usize,
    ) -> Result<bool, Trap> {
        let active = self.active;
        let is_sum = together.is_some_and(|found| found.described);
        if !is_sum {
            self.fill_address(t);
        }
        let each = (together.is_none() && active.count > 1).then(|| {
            let mut each = [None; MOST];
            for at in active.range() {
                each[at & (MOST - 1)] = self.find_one(around, t, at, action);
            }
            each
        });
        let regs = around.program.list(t.regs);
        let mut seen = Seen {
            around,
            group: self,
            at: active.first,
            position,
            mask: self.mask_of(active.first),
            addresses: self.known_addresses(t, active.first),
            sum: None,
            form: together.map_or(Form::SCATTERED, |found| found.form),
            inside: together.is_some(),
            size: t.size(),
            align: t.align,
            cell: t.cell,
            regs,
            transfer: Some(t),
            action,
        };
        if active.full && seen.inside && !is_sum && watch.access_by_all(&seen) {
            return Ok(true);
        }
        let mut allowed = self.masks();
        for at in active.range().filter(|&at| self.mask_of(at) != 0) {
            let found = each.map_or(together, |each| each[at & (MOST - 1)]);
            seen.at = at;
            seen.mask = self.mask_of(at);
            seen.addresses = self.known_addresses(t, at);
            seen.form = found.map_or(Form::SCATTERED, |found| found.form);
            seen.inside = found.is_some();
            allowed[at & (MOST - 1)] = watch.access(&seen);
        }
        if allowed == self.masks() {
            return Ok(true);
        }
        for at in self.active.range() {
            let (mask, allowed) = (self.mask_of(at), allowed[at & (MOST - 1)]);
            let addresses = self.known_addresses(t, at);
            self.current = at;
            self.one_by_one(&around.of(self), t, &addresses, allowed, action, position)?;
            if action == Action::Read {
                for lane in lanes_of(mask & !allowed) {
                    regs.iter().for_each(|&reg| self.set(reg, lane, 0));
                }
            }
        }
        self.current = 0;
        Ok(false)
    }
}
