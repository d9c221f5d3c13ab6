//! Loads and stores.
//!
//! The quick way needs all addresses of the simdgroups, or of one of them, inside one region; then lanes are moved by runs, or
//! one by one without further checks. Anything else goes lane by lane through [`View::place`](crate::memory::View::place), which also says what is wrong.

use super::batch::Aligned;
use super::copy::{Addresses, Runs, copy, fetch, put};
use super::known::{FILLED, LINEAR, SEEN, UNIFORM};
use super::linear::{Linear, Shape};
use super::pointer::blend;
use super::span::{Form, Indices, Part, Span};
use super::watch::Watch;
use super::{Batch, Surroundings, Trap};
use crate::code::{Cell, Reg, Scaled, Transfer};
use crate::lanes::{apart, lanes_of};
use crate::memory::{Action, Number, Place, Stretch};

/// Numbers of an access that lie in one stretch, all aligned.
#[derive(Clone, Copy)]
pub(super) struct Found {
    stretch: Stretch,
    /// The lowest address.
    first: u64,
    pub(super) form: Form,
    /// Whether the addresses are a sum, and were not looked at.
    pub(super) described: bool,
}

impl Batch {
    /// The form of the pointers in a filled register of some simdgroups; looked at once.
    #[inline(always)]
    fn span(&mut self, reg: u32, part: Part) -> Span {
        self.need_w(reg);
        if self.known_w.state(reg) & SEEN != 0 && self.spans[reg as usize].part == part {
            return self.spans[reg as usize];
        }
        let start = reg as usize * self.len + usize::from(part.0);
        let found = self.wide.get(start..start + usize::from(part.1));
        let found = Span::of(plain(found.unwrap_or(&[])), part);
        self.spans[reg as usize] = found;
        self.known_w.set(reg, self.known_w.state(reg) | SEEN);
        found
    }

    /// The form of the indices in a filled register of some simdgroups; looked at once.
    #[inline(always)]
    fn indices<const VECTOR: usize>(&mut self, reg: u32, signed: bool, part: Part) -> Indices {
        self.need_n(reg);
        let known = &self.indices[reg as usize];
        let seen = self.known_n.state(reg) & SEEN != 0;
        if seen && known.signed == signed && known.part == part {
            return *known;
        }
        let start = reg as usize * self.len + usize::from(part.0);
        let found = self.narrow.get(start..start + usize::from(part.1));
        let found = Indices::of::<VECTOR>(plain(found.unwrap_or(&[])), signed, part);
        self.indices[reg as usize] = found;
        self.known_n.set(reg, self.known_n.state(reg) | SEEN);
        found
    }

    /// The form of the addresses of a transfer, if they are a sum whose runs are long enough.
    #[inline(always)]
    fn described(&self, t: &Transfer, part: Part) -> Option<Span> {
        let found = match t.index {
            None if self.known_w.state(t.base) & LINEAR != 0 => {
                self.known_w.linear(t.base).span(part)?.moved(t.offset)
            }
            Some(Scaled { reg, signed, scale }) if self.known_n.state(reg) & LINEAR != 0 => {
                let indices = self.known_n.linear(reg).indices(part, signed)?;
                Span::of_indices(self.base(t), &indices, scale.into())
            }
            _ => return None,
        };
        (found.form.length != 0).then_some(found)
    }

    /// The pointer that indices are added to.
    #[inline(always)]
    fn base(&self, t: &Transfer) -> u64 {
        self.w_of(t.base, 0)[0].wrapping_add(t.offset)
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
        let described = self.described(t, part);
        let span = match (described, t.index) {
            (Some(span), _) => span,
            (None, None) => self.span(t.base, part).moved(t.offset),
            (None, Some(Scaled { reg, signed, scale })) => {
                let indices = self.indices::<VECTOR>(reg, signed, part);
                Span::of_indices(self.base(t), &indices, scale.into())
            }
        };
        within(around, t, &span, described.is_some(), action)
    }

    /// The same for one of several simdgroups.
    #[inline(never)]
    pub(super) fn find_one(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        at: usize,
        action: Action,
    ) -> Option<Found> {
        self.find::<0>(around, t, (at as u8, 1), action)
    }

    /// Sees to it that the registers of an address are filled.
    #[inline(always)]
    pub(super) fn fill_address(&mut self, t: &Transfer) {
        match t.index {
            None => self.need_w(t.base),
            Some(scaled) => self.need_n(scaled.reg),
        }
    }

    /// The addresses of a simdgroup, from filled registers. They borrow registers that the transfer does not write.
    #[inline(always)]
    pub(super) fn addresses<'b>(&self, t: &Transfer, simdgroup: usize) -> Addresses<'b> {
        match t.index {
            None => {
                let pointers = std::ptr::from_ref(self.w_of(t.base, simdgroup));
                // SAFETY: registers stay where they are, and a transfer does not write its own address.
                Addresses::Pointers(unsafe { &*pointers }, t.offset)
            }
            Some(Scaled { reg, signed, scale }) => {
                let index = std::ptr::from_ref(self.n_of(reg, simdgroup));
                Addresses::Indices {
                    base: self.base(t),
                    // SAFETY: as above.
                    index: unsafe { &*index },
                    signed,
                    scale: scale.into(),
                }
            }
        }
    }

    /// The same, from registers that are filled or else a sum whose runs are long enough.
    #[inline(always)]
    pub(super) fn known_addresses<'b>(&self, t: &Transfer, simdgroup: usize) -> Addresses<'b> {
        let state = match t.index {
            None => self.known_w.state(t.base),
            Some(scaled) => self.known_n.state(scaled.reg),
        };
        match state & FILLED {
            0 => Addresses::Runs(self.runs(t, simdgroup)),
            _ => self.addresses(t, simdgroup),
        }
    }

    /// The same of addresses that were found to be a sum: those of the batch's first simdgroup, and the sum itself with what
    /// its parts are multiplied by.
    #[inline(always)]
    pub(super) fn sum(&self, t: &Transfer) -> (Runs, Shape, i64) {
        let (base, scale, linear) = match t.index {
            None => {
                let linear = self.known_w.linear(t.base);
                (linear.base.wrapping_add(t.offset), 1, linear)
            }
            Some(Scaled { reg, signed, scale }) => {
                let linear = self.known_n.linear(reg);
                let first = match signed {
                    true => i64::from(linear.base as i32) as u64,
                    false => linear.base,
                };
                let distance = first.wrapping_mul(scale.into());
                (
                    self.base(t).wrapping_add(distance),
                    i64::from(scale),
                    linear,
                )
            }
        };
        let part = |bit: usize| i64::from(linear.shape.parts[bit]) * scale;
        let (third, fourth) = (base.wrapping_add_signed(part(3)), part(4));
        let runs = Runs {
            starts: [
                base,
                third,
                base.wrapping_add_signed(fourth),
                third.wrapping_add_signed(fourth),
            ],
            step: part(0) as u64,
        };
        (runs, linear.shape, scale)
    }

    /// Those of one simdgroup.
    #[inline(always)]
    fn runs(&self, t: &Transfer, simdgroup: usize) -> Runs {
        let (runs, shape, scale) = self.sum(t);
        runs.moved(shape.group(simdgroup) * scale)
    }

    apart! {
        /// A load or store of all active simdgroups: together, if that goes, or one after the other.
        fn transfer [W: Watch] (
            &mut self,
            around: &Surroundings<'_>,
            watch: &mut W,
            t: &Transfer,
            action: Action,
            position: usize,
        ) -> Result<(), Trap> = transfer_at
    }

    #[inline(always)]
    fn transfer_at<W: Watch, const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        action: Action,
        position: usize,
    ) -> Result<(), Trap> {
        if self.active.count == 0 {
            return Ok(());
        }
        let mut told = false;
        if W::DESCRIBES
            && let Some(span) = self.described(t, self.part())
            && let Some(found) = within(around, t, &span, true, action)
        {
            told = W::ACTIVE && self.told(around, watch, t, found, action, position);
            if told && self.row::<VECTOR>(around, t, action) {
                return Ok(());
            }
            if (told || !W::ACTIVE) && self.quick::<W, VECTOR>(around, t, found, action) {
                return Ok(());
            }
        }
        self.each::<W, VECTOR>(around, watch, t, action, position, told)
    }

    /// An access of all lanes of the active simdgroups to one number, or to rows of words; whether it was one.
    #[inline(always)]
    fn quick<W: Watch, const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        found: Found,
        action: Action,
    ) -> bool {
        // Nobody reads what a load leaves in lanes that are not active.
        let free = W::DESCRIBES && self.free && action == Action::Read;
        let all_lanes = self.active.full || free;
        let regs = around.program.list(t.regs);
        if free && self.load_one(t, found, regs) {
            return true;
        }
        let &[reg] = regs else { return false };
        let Form { length, step } = found.form;
        let words = t.cell == Cell::Word && (step == 4 || step == 0 && action == Action::Read);
        if !all_lanes || !words {
            return false;
        }
        if action != Action::Read {
            self.need_n(reg.index);
        }
        match length {
            32 => self.rows::<VECTOR, 32>(t, found, reg.index, action),
            16 => self.rows::<VECTOR, 16>(t, found, reg.index, action),
            8 => self.rows::<VECTOR, 8>(t, found, reg.index, action),
            _ => return false,
        }
        true
    }

    apart! {
        /// A load or store of any kind. `told`: the watch knows of it.
        fn each [W: Watch] (
            &mut self,
            around: &Surroundings<'_>,
            watch: &mut W,
            t: &Transfer,
            action: Action,
            position: usize,
            told: bool,
        ) -> Result<(), Trap> = each_at
    }

    #[inline(always)]
    fn each_at<W: Watch, const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        action: Action,
        position: usize,
        told: bool,
    ) -> Result<(), Trap> {
        let active = self.active;
        if W::DESCRIBES && action != Action::Read {
            for reg in around.program.list(t.regs) {
                match reg.wide {
                    true => self.need_w(reg.index),
                    false => self.need_n(reg.index),
                }
            }
        }
        let together = self.find::<VECTOR>(around, t, self.part(), action);
        if W::ACTIVE && !told && !self.watched(around, watch, t, together, action, position)? {
            return Ok(());
        }
        if (W::DESCRIBES || active.full)
            && let Some(found) = together
            && self.quick::<W, VECTOR>(around, t, found, action)
        {
            return Ok(());
        }
        let all_lanes = W::DESCRIBES && (active.full || self.free && action == Action::Read);
        for at in active.range() {
            let mut mask = self.mask_of(at);
            if mask == 0 {
                continue;
            }
            if all_lanes {
                mask = !0;
            }
            let found = match together {
                None if active.count > 1 => self.find_one(around, t, at, action),
                found => found,
            };
            let addresses = match found {
                Some(Found {
                    described: true, ..
                }) => Addresses::Runs(self.runs(t, at)),
                _ => {
                    self.fill_address(t);
                    self.addresses(t, at)
                }
            };
            match (found, action) {
                (Some(found), Action::Read) => {
                    self.load::<VECTOR>(around, t, &addresses, found, at, mask);
                }
                (Some(found), _) => {
                    self.store::<VECTOR>(around, t, &addresses, found, at, mask);
                }
                (None, _) => {
                    // Only active lanes are where they should be.
                    mask &= self.mask_of(at);
                    self.current = at;
                    self.one_by_one(&around.of(self), t, &addresses, mask, action, position)?;
                    self.current = 0;
                }
            }
        }
        Ok(())
    }

    /// A load of what is the same for all lanes; whether it was one.
    #[inline(always)]
    fn load_one(&mut self, t: &Transfer, found: Found, regs: &[Reg]) -> bool {
        let state = match t.index {
            None => self.known_w.state(t.base),
            Some(scaled) => self.known_n.state(scaled.reg),
        };
        if !found.described || state & UNIFORM == 0 {
            return false;
        }
        let mut place = found.stretch.place(found.first);
        for reg in regs {
            let number = Linear::uniform(place.read(t.cell));
            match reg.wide {
                true => self.known_w.describe(reg.index, &number),
                false => self.known_n.describe(reg.index, &number),
            }
            place = place.at(t.cell.bytes());
        }
        true
    }

    /// What most accesses are: rows of `LEN` words, or one word for so many lanes, of a register of each simdgroup.
    #[inline(always)]
    fn rows<const VECTOR: usize, const LEN: usize>(
        &mut self,
        t: &Transfer,
        found: Found,
        reg: u32,
        action: Action,
    ) {
        let (first, count) = (self.active.first, self.active.count);
        let registers: *mut u32 = match action {
            Action::Read => self.ns_mut(reg).cast(),
            _ => self.ns(reg).cast_mut().cast(),
        };
        let (runs, shape, scale) = self.sum(t);
        if LEN == 32 && found.described && found.form.step == 4 && shape.row {
            let place = found.stretch.at(found.first);
            // SAFETY: so many rows of 32 words in the stretch, aligned, and as many registers.
            unsafe { row::<VECTOR>(registers, place, count * 128, action) };
            return;
        }
        for at in 0..count {
            let addresses = match found.described {
                true => Addresses::Runs(runs.moved(shape.group(first + at) * scale)),
                false => self.addresses(t, first + at),
            };
            let mut lane = 0;
            while lane < 32 {
                let place = found.stretch.at(addresses.at(lane));
                let register = registers.wrapping_add(at * 32 + lane);
                // SAFETY: as above, `LEN` words; or one, for as many lanes.
                unsafe {
                    if found.form.step == 4 {
                        row::<VECTOR>(register, place, LEN * 4, action);
                    } else {
                        *register.cast::<[u32; LEN]>() = [u32::get(place); LEN];
                    }
                }
                lane += LEN;
            }
        }
    }

    #[inline(always)]
    fn load<const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        addresses: &Addresses<'_>,
        Found { stretch, form, .. }: Found,
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
        Found { stretch, form, .. }: Found,
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
    pub(super) fn one_by_one(
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
}

/// Where the numbers of a transfer are, if they lie in one stretch and are aligned.
#[inline(always)]
fn within(
    around: &Surroundings<'_>,
    t: &Transfer,
    span: &Span,
    described: bool,
    action: Action,
) -> Option<Found> {
    let memory = &around.memory;
    let stretch = memory.stretch(span.first, span.last, t.size(), action)?;
    let cell = u64::from(t.cell.bytes());
    let aligned = (span.bits | stretch.at(0) as u64) & (cell - 1) == 0;
    aligned.then_some(Found {
        stretch,
        first: span.first,
        form: span.form,
        described,
    })
}

/// Copies words between registers and memory.
///
/// # Safety
/// Both must have that many bytes, aligned; the CPU must have such vector registers.
#[inline(always)]
unsafe fn row<const VECTOR: usize>(
    registers: *mut u32,
    place: *mut u8,
    bytes: usize,
    action: Action,
) {
    // SAFETY: as the caller promises.
    unsafe {
        match action {
            Action::Read => copy::<u32, VECTOR>(registers.cast(), place, bytes),
            _ => copy::<u32, VECTOR>(place, registers.cast(), bytes),
        }
    }
}

/// Registers without what aligns them.
#[inline(always)]
fn plain<T>(registers: &[Aligned<T>]) -> &[T] {
    // SAFETY: a register is as large as its alignment allows, so there is nothing between them.
    unsafe { std::slice::from_raw_parts(registers.as_ptr().cast(), registers.len()) }
}
