//! Loads and stores.
//!
//! From the quickest way to the most general: words side by side are moved as one block ([`super::contiguous`]); addresses that
//! lie in one region in runs are moved run by run; any addresses inside one region, lane by lane without further checks; anything
//! else goes through [`View::place`](crate::memory::View::place), which checks each lane and says what is wrong.

use super::address_range::RunShape;
use super::addresses::{Addresses, CheckedAccess};
use super::affine::Affine;
use super::lane_copy::{copy, load_lanes, store_lanes};
use super::lazy::UNIFORM;
use super::moves::blend;
use super::observer::Observer;
use super::{Batch, ExecutionContext, Trap};
use crate::code::{Cell, Reg, Transfer};
use crate::lanes::lanes_of;
use crate::memory::{Action, CheckedRange, Number};
use crate::simd::{Simd, outlined};

/// A load or store that is being run.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub(super) transfer: &'a Transfer,
    pub(super) action: Action,
    /// The position of the operation in the program.
    pub(super) position: usize,
}

impl Batch {
    /// A load or store of all active simdgroups.
    #[inline(always)]
    pub(super) fn load_or_store<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        access: Access<'_>,
    ) -> Result<(), Trap> {
        let contiguous =
            !O::OBSERVES && self.transfer_contiguous(simd, context, access.transfer, access.action);
        if contiguous {
            return Ok(());
        }
        self.transfer(simd, context, observer, access)
    }

    outlined! {
        /// A load or store of all active simdgroups, contiguous or not.
        fn transfer [O: Observer] (
            &mut self,
            context: &ExecutionContext<'_>,
            observer: &mut O,
            access: Access<'_>,
        ) -> Result<(), Trap> = transfer_at
    }

    #[inline(always)]
    fn transfer_at<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        access: Access<'_>,
    ) -> Result<(), Trap> {
        let (t, action) = (access.transfer, access.action);
        if self.masks.active.count == 0 {
            return Ok(());
        }
        let mut reported = false;
        if O::LAZY
            && let Some(range) = self.affine_range(t, self.active_simdgroups())
            && let Some(found) = CheckedAccess::of(context, t, &range, true, action)
        {
            reported = O::OBSERVES && self.report_affine_access(context, observer, access, found);
            if reported && self.transfer_contiguous(simd, context, t, action) {
                return Ok(());
            }
            if (reported || !O::OBSERVES)
                && self.transfer_fast::<O, S>(simd, context, t, found, action)
            {
                return Ok(());
            }
        }
        self.transfer_any::<O, S>(simd, context, observer, access, reported)
    }

    /// A transfer of all lanes of the active simdgroups, if it is of one number or of runs of words. Returns false, with nothing
    /// done, if it is not.
    #[inline(always)]
    fn transfer_fast<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        t: &Transfer,
        found: CheckedAccess<'_>,
        action: Action,
    ) -> bool {
        // No operation reads what a load leaves in inactive lanes.
        let may_load_all = O::LAZY && self.masks.allow_lazy && action == Action::Read;
        let all_lanes = self.masks.active.full || may_load_all;
        let regs = context.program.list(t.regs);
        if may_load_all && self.load_uniform(t, found, regs) {
            return true;
        }
        let &[reg] = regs else { return false };
        let RunShape { length, step } = found.runs;
        let words = t.cell == Cell::Word && (step == 4 || step == 0 && action == Action::Read);
        if !all_lanes || !words {
            return false;
        }
        if action != Action::Read {
            self.registers.narrow.materialise(reg.index);
        }
        match length {
            32 => self.transfer_runs::<S, 32>(simd, t, found, reg.index, action),
            16 => self.transfer_runs::<S, 16>(simd, t, found, reg.index, action),
            8 => self.transfer_runs::<S, 8>(simd, t, found, reg.index, action),
            _ => return false,
        }
        true
    }

    outlined! {
        /// A load or store of any kind. `reported`: the observer knows of it.
        fn transfer_any [O: Observer] (
            &mut self,
            context: &ExecutionContext<'_>,
            observer: &mut O,
            access: Access<'_>,
            reported: bool,
        ) -> Result<(), Trap> = transfer_any_at
    }

    #[inline(always)]
    fn transfer_any_at<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        access: Access<'_>,
        reported: bool,
    ) -> Result<(), Trap> {
        let (t, action) = (access.transfer, access.action);
        let active = self.masks.active;
        if O::LAZY && action != Action::Read {
            for &reg in context.program.list(t.regs) {
                self.registers.materialise(reg);
            }
        }
        let whole = self.check_transfer(simd, context, t, self.active_simdgroups(), action);
        if O::OBSERVES && !reported && !self.report_access(context, observer, access, whole)? {
            return Ok(());
        }
        if (O::LAZY || active.full)
            && let Some(found) = whole
            && self.transfer_fast::<O, S>(simd, context, t, found, action)
        {
            return Ok(());
        }
        let all_lanes = O::LAZY && (active.full || self.masks.allow_lazy && action == Action::Read);
        for at in active.range() {
            let mut mask = self.mask_of(at);
            if mask == 0 {
                continue;
            }
            if all_lanes {
                mask = !0;
            }
            let found = match whole {
                None if active.count > 1 => self.check_transfer_of_one(context, t, at, action),
                found => found,
            };
            let addresses = if found.is_some_and(|found| found.affine) {
                Addresses::Affine(self.affine_addresses(t).of_simdgroup(at))
            } else {
                self.materialise_address(t);
                // SAFETY: the transfer writes none of its address registers.
                unsafe { self.held_addresses(t, at) }
            };
            match (found, action) {
                (Some(found), Action::Read) => {
                    self.load(simd, context, t, &addresses, found, (at, mask));
                }
                (Some(found), _) => {
                    self.store(simd, context, t, &addresses, found, (at, mask));
                }
                (None, _) => {
                    // Inactive lanes may have any address.
                    mask &= self.mask_of(at);
                    self.progress.current = at;
                    self.transfer_per_lane(&context.of(self), access, &addresses, mask)?;
                    self.progress.current = 0;
                }
            }
        }
        Ok(())
    }

    /// A load from one address, into uniform registers. Returns false, with nothing done, if lanes have different addresses.
    #[inline(always)]
    fn load_uniform(&mut self, t: &Transfer, found: CheckedAccess<'_>, regs: &[Reg]) -> bool {
        let state = match t.index {
            None => self.registers.wide.lazy.state(t.base),
            Some(scaled) => self.registers.narrow.lazy.state(scaled.reg),
        };
        if !found.affine || state & UNIFORM == 0 {
            return false;
        }
        // SAFETY: the lowest address of the range that was checked, with the transfer's size.
        let mut place = unsafe { found.range.place(found.first, t.size()) };
        for reg in regs {
            let number = Affine::uniform(place.read(t.cell));
            if reg.wide {
                self.registers.wide.lazy.set_affine(reg.index, &number);
            } else {
                self.registers.narrow.lazy.set_affine(reg.index, &number);
            }
            place = place.at(t.cell.bytes());
        }
        true
    }

    /// A transfer in runs of `LEN` lanes: each of words side by side, or of one word.
    #[inline(always)]
    fn transfer_runs<S: Simd, const LEN: usize>(
        &mut self,
        simd: S,
        t: &Transfer,
        found: CheckedAccess<'_>,
        reg: u32,
        action: Action,
    ) {
        let (first, count) = (self.masks.active.first, self.masks.active.count);
        let registers: *mut u32 = match action {
            Action::Read => self.narrow_ptr_mut(reg).cast(),
            _ => self.narrow_ptr(reg).cast_mut().cast(),
        };
        let affine = self.affine_addresses(t);
        if LEN == 32 && found.affine && found.runs.step == 4 && affine.is_progression() {
            let place = found.range.at(found.first);
            // SAFETY: so many rows of 32 words in the range, aligned, and as many registers.
            unsafe { copy_words(simd, registers, place, count * 128, action) };
            return;
        }
        for at in 0..count {
            let addresses = if found.affine {
                Addresses::Affine(affine.of_simdgroup(first + at))
            } else {
                self.addresses(t, first + at)
            };
            let mut lane = 0;
            while lane < 32 {
                let place = found.range.at(addresses.at(lane));
                let register = registers.wrapping_add(at * 32 + lane);
                // SAFETY: as above, `LEN` words; or one, for as many lanes.
                unsafe {
                    if found.runs.step == 4 {
                        copy_words(simd, register, place, LEN * 4, action);
                    } else {
                        *register.cast::<[u32; LEN]>() = [u32::get(place); LEN];
                    }
                }
                lane += LEN;
            }
        }
    }

    #[inline(always)]
    fn load<S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        CheckedAccess { range, runs, .. }: CheckedAccess<'_>,
        (at, mask): (usize, u32),
    ) {
        let mut extra = 0;
        for &reg in context.program.list(t.regs) {
            macro_rules! narrow {
                ($t:ty, |$x:ident| $widen:expr) => {{
                    let mut numbers = [0 as $t; 32];
                    // SAFETY: in the range, and aligned.
                    unsafe {
                        load_lanes::<$t, S>(simd, &mut numbers, range, addresses, runs, extra)
                    };
                    let mut widened = [0u32; 32];
                    for lane in 0..32 {
                        let $x = numbers[lane];
                        widened[lane] = $widen;
                    }
                    blend(self.registers.narrow.of_mut(reg.index, at), &widened, mask);
                }};
            }
            match t.cell {
                Cell::Word if mask == !0 => {
                    let d = self.registers.narrow.of_mut(reg.index, at);
                    // SAFETY: as above.
                    unsafe { load_lanes(simd, d, range, addresses, runs, extra) };
                }
                Cell::Word => narrow!(u32, |x| x),
                Cell::Short => narrow!(u16, |x| u32::from(x)),
                Cell::Byte => narrow!(u8, |x| u32::from(x)),
                Cell::Truth => narrow!(u8, |x| u32::from(x != 0)),
                Cell::Long => {
                    let mut numbers = [0; 32];
                    // SAFETY: as above.
                    unsafe { load_lanes(simd, &mut numbers, range, addresses, runs, extra) };
                    blend(self.registers.wide.of_mut(reg.index, at), &numbers, mask);
                }
            }
            extra += u64::from(t.cell.bytes());
        }
    }

    #[inline(always)]
    fn store<S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        CheckedAccess { range, runs, .. }: CheckedAccess<'_>,
        (at, mask): (usize, u32),
    ) {
        let &[reg] = context.program.list(t.regs) else {
            // Numbers of several lanes that overlap must be written lane by lane.
            return self.store_vectors(context, t, addresses, range, (at, mask));
        };
        macro_rules! narrow {
            ($t:ty, |$x:ident| $narrowed:expr) => {{
                let mut numbers = [0 as $t; 32];
                let source = self.registers.narrow.of(reg.index, at);
                for lane in 0..32 {
                    let $x = source[lane];
                    numbers[lane] = $narrowed;
                }
                // SAFETY: in the range, and aligned.
                unsafe { store_lanes(simd, &numbers, mask, range, addresses, runs, 0) };
            }};
        }
        match t.cell {
            Cell::Word => {
                let numbers = self.registers.narrow.of(reg.index, at);
                // SAFETY: as above.
                unsafe { store_lanes(simd, numbers, mask, range, addresses, runs, 0) };
            }
            Cell::Short => narrow!(u16, |x| x as u16),
            Cell::Byte => narrow!(u8, |x| x as u8),
            Cell::Truth => narrow!(u8, |x| x as u8 & 1),
            Cell::Long => {
                let numbers = self.registers.wide.of(reg.index, at);
                // SAFETY: as above.
                unsafe { store_lanes(simd, numbers, mask, range, addresses, runs, 0) };
            }
        }
    }

    /// A store of several numbers a lane, all checked to be in bounds and aligned.
    #[inline(always)]
    fn store_vectors(
        &self,
        context: &ExecutionContext<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        range: CheckedRange<'_>,
        (at, mask): (usize, u32),
    ) {
        let regs = context.program.list(t.regs);
        for lane in lanes_of(mask) {
            let mut place = range.at(addresses.at(lane));
            for &reg in regs {
                // SAFETY: in the range, and aligned.
                unsafe {
                    match t.cell {
                        Cell::Word => {
                            u32::set(place, self.registers.narrow.of(reg.index, at)[lane])
                        }
                        Cell::Short => {
                            u16::set(place, self.registers.narrow.of(reg.index, at)[lane] as u16)
                        }
                        Cell::Byte => {
                            u8::set(place, self.registers.narrow.of(reg.index, at)[lane] as u8)
                        }
                        Cell::Truth => u8::set(
                            place,
                            self.registers.narrow.of(reg.index, at)[lane] as u8 & 1,
                        ),
                        Cell::Long => u64::set(place, self.registers.wide.of(reg.index, at)[lane]),
                    }
                }
                place = place.wrapping_add(t.cell.bytes() as usize);
            }
        }
    }

    /// A transfer of the current simdgroup, lane by lane with a check of each.
    #[inline(never)]
    pub(super) fn transfer_per_lane(
        &mut self,
        context: &ExecutionContext<'_>,
        access: Access<'_>,
        addresses: &Addresses<'_>,
        mask: u32,
    ) -> Result<(), Trap> {
        let Access {
            transfer: t,
            action,
            position,
        } = access;
        for lane in lanes_of(mask) {
            let address = addresses.at(lane);
            let found = context.memory.find(address, t.size(), lane, action);
            let Some(mut place) = found else {
                let kind = || context.memory.fault(address, t.size(), action);
                let Some(forgiven) = context.forgiven else {
                    return Err(Trap {
                        kind: kind(),
                        position,
                        lane,
                    });
                };
                let operations = context.program.ops.len();
                forgiven.add(position, operations, || {
                    context.of(self).fault(kind(), position, lane)
                });
                if action == Action::Read {
                    for &reg in context.program.list(t.regs) {
                        self.set(reg, lane, 0);
                    }
                }
                continue;
            };
            for &reg in context.program.list(t.regs) {
                if action == Action::Read {
                    self.set(reg, lane, place.read(t.cell));
                } else {
                    place.write(t.cell, self.get(reg, lane));
                }
                place = place.at(t.cell.bytes());
            }
        }
        Ok(())
    }
}

/// Copies words between registers and memory.
///
/// # Safety
/// Both must have that many bytes, aligned; the CPU must have such vector registers.
#[inline(always)]
unsafe fn copy_words<S: Simd>(
    simd: S,
    registers: *mut u32,
    place: *mut u8,
    bytes: usize,
    action: Action,
) {
    // SAFETY: as the caller promises.
    unsafe {
        match action {
            Action::Read => copy::<u32, S>(simd, registers.cast(), place, bytes),
            _ => copy::<u32, S>(simd, place, registers.cast(), bytes),
        }
    }
}
