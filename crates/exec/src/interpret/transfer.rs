//! Loads and stores.
//!
//! The quick way needs all addresses of the simdgroups, or of one of them, inside one region; then lanes are moved by runs, or
//! one by one without further checks. Anything else goes lane by lane through [`View::place`](crate::memory::View::place), which also says what is wrong.

use super::batch::Aligned;
use super::copy::{Addresses, copy, fetch, put};
use super::pointer::blend;
use super::span::{Form, Indices, Part, Span};
use super::watch::{Seen, Watch};
use super::{Batch, MOST, Surroundings, Trap};
use crate::code::{Cell, Transfer};
use crate::lanes::lanes_of;
use crate::memory::{Action, Number, Place, Stretch};

/// Numbers of an access that lie in one stretch, all aligned.
#[derive(Clone, Copy)]
struct Found {
    stretch: Stretch,
    form: Form,
}

impl Batch {
    /// The form of the pointers in a register of some simdgroups; looked at once.
    #[inline(always)]
    fn span(&mut self, reg: u32, part: Part) -> Span {
        if self.spans_hold[reg as usize] && self.spans[reg as usize].part == part {
            return self.spans[reg as usize];
        }
        let start = reg as usize * self.len + usize::from(part.0);
        let found = self.wide.get(start..start + usize::from(part.1));
        let found = Span::of(plain(found.unwrap_or(&[])), part);
        self.spans[reg as usize] = found;
        self.spans_hold[reg as usize] = true;
        found
    }

    /// The form of the indices in a register of some simdgroups; looked at once.
    #[inline(always)]
    fn indices<const VECTOR: usize>(&mut self, reg: u32, signed: bool, part: Part) -> Indices {
        let known = &self.indices[reg as usize];
        if self.indices_hold[reg as usize] && known.signed == signed && known.part == part {
            return *known;
        }
        let start = reg as usize * self.len + usize::from(part.0);
        let found = self.narrow.get(start..start + usize::from(part.1));
        let found = Indices::of::<VECTOR>(plain(found.unwrap_or(&[])), signed, part);
        self.indices[reg as usize] = found;
        self.indices_hold[reg as usize] = true;
        found
    }

    /// Where some simdgroups' numbers of a transfer are, if the quick way is open to them.
    #[inline(always)]
    fn find<const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        part: Part,
        action: Action,
    ) -> Option<Found> {
        let span = match t.index {
            None => self.span(t.base, part).moved(t.offset),
            Some(scaled) => {
                let base = self.w_of(t.base, 0)[0].wrapping_add(t.offset);
                let indices = self.indices::<VECTOR>(scaled.reg, scaled.signed, part);
                Span::of_indices(base, &indices, scaled.scale.into())
            }
        };
        let memory = &around.memory;
        let stretch = memory.stretch(span.first, span.last, t.size(), action)?;
        let cell = u64::from(t.cell.bytes());
        let aligned = (span.bits | stretch.at(0) as u64) & (cell - 1) == 0;
        aligned.then_some(Found {
            stretch,
            form: span.form,
        })
    }

    /// The same for one of several simdgroups.
    #[inline(never)]
    fn find_one(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        at: usize,
        action: Action,
    ) -> Option<Found> {
        self.find::<0>(around, t, (at as u8, 1), action)
    }

    /// The addresses of a simdgroup. They borrow registers that the transfer does not write.
    #[inline(always)]
    pub(super) fn addresses<'b>(&self, t: &Transfer, simdgroup: usize) -> Addresses<'b> {
        match t.index {
            None => {
                let pointers = std::ptr::from_ref(self.w_of(t.base, simdgroup));
                // SAFETY: registers stay where they are, and a transfer does not write its own address.
                Addresses::Pointers(unsafe { &*pointers }, t.offset)
            }
            Some(scaled) => {
                let index = std::ptr::from_ref(self.n_of(scaled.reg, simdgroup));
                Addresses::Indices {
                    base: self.w_of(t.base, 0)[0].wrapping_add(t.offset),
                    // SAFETY: as above.
                    index: unsafe { &*index },
                    signed: scaled.signed,
                    scale: scaled.scale.into(),
                }
            }
        }
    }

    /// A load or store of all active simdgroups: together, if that goes, or one after the other.
    #[inline(always)]
    pub(super) fn transfer<W: Watch, const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        action: Action,
        position: usize,
    ) -> Result<(), Trap> {
        let active = self.active;
        let part = (active.first as u8, active.count as u8);
        if active.count == 0 {
            return Ok(());
        }
        let together = self.find::<VECTOR>(around, t, part, action);
        if W::ACTIVE && !self.watched(around, watch, t, together, action, position)? {
            return Ok(());
        }
        if active.full
            && t.cell == Cell::Word
            && let Some(found) = together
            && found.form
                == (Form {
                    length: 32,
                    step: 4,
                })
            && let &[reg] = around.program.list(t.regs)
        {
            self.rows::<VECTOR>(t, found.stretch, reg.index, action);
            return Ok(());
        }
        for at in active.range() {
            let mask = self.mask_of(at);
            if mask == 0 {
                continue;
            }
            let found = match together {
                None if active.count > 1 => self.find_one(around, t, at, action),
                found => found,
            };
            let addresses = self.addresses(t, at);
            match (found, action) {
                (Some(found), Action::Read) => {
                    self.load::<VECTOR>(around, t, &addresses, found, at, mask);
                }
                (Some(found), _) => {
                    self.store::<VECTOR>(around, t, &addresses, found, at, mask);
                }
                (None, _) => {
                    self.current = at;
                    self.one_by_one(&around.of(self), t, &addresses, mask, action, position)?;
                    self.current = 0;
                }
            }
        }
        Ok(())
    }

    /// What most accesses are: a row of words for each simdgroup, all lanes active.
    #[inline(always)]
    fn rows<const VECTOR: usize>(
        &mut self,
        t: &Transfer,
        stretch: Stretch,
        reg: u32,
        action: Action,
    ) {
        for at in self.active.range() {
            let place = stretch.at(self.addresses(t, at).at(0));
            // SAFETY: 32 words in the stretch, aligned, and as many in a register.
            unsafe {
                if action == Action::Read {
                    let register = self.n_of_mut(reg, at).as_mut_ptr().cast();
                    copy::<u32, VECTOR>(register, place, 128);
                } else {
                    let register = self.n_of(reg, at).as_ptr().cast_mut().cast();
                    copy::<u32, VECTOR>(place, register, 128);
                }
            }
        }
    }

    #[inline(always)]
    fn load<const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        Found { stretch, form }: Found,
        at: usize,
        mask: u32,
    ) {
        let mut extra = 0;
        for &reg in around.program.list(t.regs) {
            macro_rules! narrow {
                ($t:ty, |$x:ident| $widen:expr) => {{
                    let mut numbers = [0 as $t; 32];
                    // SAFETY: in the stretch, and aligned.
                    unsafe { fetch::<$t, VECTOR>(&mut numbers, stretch, addresses, form, extra) };
                    let mut widened = [0u32; 32];
                    for lane in 0..32 {
                        let $x = numbers[lane];
                        widened[lane] = $widen;
                    }
                    blend(self.n_of_mut(reg.index, at), &widened, mask);
                }};
            }
            match t.cell {
                Cell::Word if mask == !0 => {
                    let d = self.n_of_mut(reg.index, at);
                    // SAFETY: as above.
                    unsafe { fetch::<u32, VECTOR>(d, stretch, addresses, form, extra) };
                }
                Cell::Word => narrow!(u32, |x| x),
                Cell::Short => narrow!(u16, |x| u32::from(x)),
                Cell::Byte => narrow!(u8, |x| u32::from(x)),
                Cell::Truth => narrow!(u8, |x| u32::from(x != 0)),
                Cell::Long => {
                    let mut numbers = [0; 32];
                    // SAFETY: as above.
                    unsafe { fetch::<u64, VECTOR>(&mut numbers, stretch, addresses, form, extra) };
                    blend(self.w_of_mut(reg.index, at), &numbers, mask);
                }
            }
            extra += u64::from(t.cell.bytes());
        }
    }

    #[inline(always)]
    fn store<const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        Found { stretch, form }: Found,
        at: usize,
        mask: u32,
    ) {
        let &[reg] = around.program.list(t.regs) else {
            // Numbers of several lanes that overlap must be written lane by lane.
            return self.store_vectors(around, t, addresses, stretch, at, mask);
        };
        macro_rules! narrow {
            ($t:ty, |$x:ident| $narrowed:expr) => {{
                let mut numbers = [0 as $t; 32];
                let source = self.n_of(reg.index, at);
                for lane in 0..32 {
                    let $x = source[lane];
                    numbers[lane] = $narrowed;
                }
                // SAFETY: in the stretch, and aligned.
                unsafe { put::<$t, VECTOR>(&numbers, mask, stretch, addresses, form, 0) };
            }};
        }
        match t.cell {
            Cell::Word => {
                let numbers = self.n_of(reg.index, at);
                // SAFETY: as above.
                unsafe { put::<u32, VECTOR>(numbers, mask, stretch, addresses, form, 0) };
            }
            Cell::Short => narrow!(u16, |x| x as u16),
            Cell::Byte => narrow!(u8, |x| x as u8),
            Cell::Truth => narrow!(u8, |x| x as u8 & 1),
            Cell::Long => {
                let numbers = self.w_of(reg.index, at);
                // SAFETY: as above.
                unsafe { put::<u64, VECTOR>(numbers, mask, stretch, addresses, form, 0) };
            }
        }
    }

    /// Several numbers a lane, all known to be in bounds and aligned.
    #[inline(always)]
    fn store_vectors(
        &self,
        around: &Surroundings<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        stretch: Stretch,
        at: usize,
        mask: u32,
    ) {
        let regs = around.program.list(t.regs);
        for lane in lanes_of(mask) {
            let mut place = stretch.at(addresses.at(lane));
            for &reg in regs {
                // SAFETY: in the stretch, and aligned.
                unsafe {
                    match t.cell {
                        Cell::Word => u32::set(place, self.n_of(reg.index, at)[lane]),
                        Cell::Short => u16::set(place, self.n_of(reg.index, at)[lane] as u16),
                        Cell::Byte => u8::set(place, self.n_of(reg.index, at)[lane] as u8),
                        Cell::Truth => u8::set(place, self.n_of(reg.index, at)[lane] as u8 & 1),
                        Cell::Long => u64::set(place, self.w_of(reg.index, at)[lane]),
                    }
                }
                place = place.wrapping_add(t.cell.bytes() as usize);
            }
        }
    }

    /// Lane by lane in the current simdgroup, each looked at by itself.
    #[inline(never)]
    fn one_by_one(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        mask: u32,
        action: Action,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(mask) {
            let place = around
                .memory
                .place(addresses.at(lane), t.size(), lane, action);
            let mut place: Place = place.map_err(|kind| Trap {
                kind,
                position,
                lane,
            })?;
            for &reg in around.program.list(t.regs) {
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

    /// Tells the watch about a transfer of all active simdgroups; whether all lanes go on with it. If not, those that may
    /// have done it, and the others have read zero.
    #[inline(never)]
    fn watched<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        together: Option<Found>,
        action: Action,
        position: usize,
    ) -> Result<bool, Trap> {
        let active = self.active;
        let mut found = [together; MOST];
        if together.is_none() && active.count > 1 {
            for at in active.range() {
                found[at & (MOST - 1)] = self.find_one(around, t, at, action);
            }
        }
        let regs = around.program.list(t.regs);
        let mut allowed = self.masks();
        let mut seen = Seen {
            around,
            group: self,
            at: active.first,
            position,
            mask: self.mask_of(active.first),
            addresses: self.addresses(t, active.first),
            form: together.map_or(Form::SCATTERED, |found| found.form),
            inside: together.is_some(),
            size: t.size(),
            align: t.align,
            cell: t.cell,
            regs,
            transfer: Some(t),
            action,
        };
        if active.full && seen.inside && watch.access_by_all(&seen) {
            return Ok(true);
        }
        for at in active.range().filter(|&at| self.mask_of(at) != 0) {
            let found = found[at & (MOST - 1)];
            seen.at = at;
            seen.mask = self.mask_of(at);
            seen.addresses = self.addresses(t, at);
            seen.form = found.map_or(Form::SCATTERED, |found| found.form);
            seen.inside = found.is_some();
            allowed[at & (MOST - 1)] = watch.access(&seen);
        }
        if allowed == self.masks() {
            return Ok(true);
        }
        for at in self.active.range() {
            let (mask, allowed) = (self.mask_of(at), allowed[at & (MOST - 1)]);
            let addresses = self.addresses(t, at);
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

/// Registers without what aligns them.
#[inline(always)]
fn plain<T>(registers: &[Aligned<T>]) -> &[T] {
    // SAFETY: a register is as large as its alignment allows, so there is nothing between them.
    unsafe { std::slice::from_raw_parts(registers.as_ptr().cast(), registers.len()) }
}
