//! Loads and stores.
//!
//! The quick way needs all addresses of the simdgroups, or of one of them, inside one region; then lanes are moved by runs, or
//! one by one without further checks. Anything else goes lane by lane through [`View::place`](crate::memory::View::place), which also says what is wrong.

use super::batch::Aligned;
use super::pointer::blend;
use super::span::{Form, Indices, Part, Span};
use super::watch::{Seen, Watch};
use super::{Batch, Surroundings, Trap};
use crate::code::{Cell, Transfer};
use crate::lanes::{Narrow, Wide, lanes_of};
use crate::memory::{Action, Number, Place, Stretch};

/// The addresses of an access.
#[derive(Clone, Copy)]
enum Addresses<'a> {
    /// A pointer in each lane, and a distance.
    Pointers(&'a Wide, u64),
    /// One pointer and an index in each lane.
    Indices {
        base: u64,
        index: &'a Narrow,
        signed: bool,
        scale: u64,
    },
}

impl Addresses<'_> {
    #[inline(always)]
    fn at(&self, lane: usize) -> u64 {
        match *self {
            Self::Pointers(pointers, distance) => pointers[lane].wrapping_add(distance),
            Self::Indices {
                base,
                index,
                signed,
                scale,
            } => {
                let number = if signed {
                    i64::from(index[lane] as i32) as u64
                } else {
                    u64::from(index[lane])
                };
                base.wrapping_add(number.wrapping_mul(scale))
            }
        }
    }
}

/// Copies bytes, with vector instructions of `VECTOR` bytes if there are any. Other threads may access either side
/// meanwhile, so this is no ordinary copy. The width is that of the operations that read the register next: a load of what
/// two narrower stores wrote has to wait for both.
///
/// # Safety
/// Both sides must have that many bytes, aligned to `T`; the CPU must have such instructions.
#[inline(always)]
unsafe fn copy<T: Number, const VECTOR: usize>(to: *mut u8, from: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        if VECTOR == 64 && len.is_multiple_of(64) {
            // SAFETY: as the caller promises.
            unsafe { copy_64(to, from, len) };
            return;
        }
        if VECTOR != 0 && len.is_multiple_of(16) {
            // SAFETY: as the caller promises.
            unsafe { copy_32(to, from, len) };
            return;
        }
    }
    let mut done = 0;
    while done < len {
        // SAFETY: inside what the caller promises, and aligned.
        unsafe { T::set(to.add(done), T::get(from.add(done))) };
        done += size_of::<T>();
    }
}

/// # Safety
/// Both sides must have `len` bytes, a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn copy_64(to: *mut u8, from: *mut u8, len: usize) {
    let mut done = 0;
    while done < len {
        // SAFETY: reads and writes 64 of the promised bytes; the CPU does so like a row of relaxed atomic accesses.
        unsafe {
            std::arch::asm!("vmovdqu64 {t}, [{from}]", "vmovdqu64 [{to}], {t}",
                from = in(reg) from.add(done), to = in(reg) to.add(done), t = out(zmm_reg) _,
                options(nostack, preserves_flags));
        }
        done += 64;
    }
}

/// # Safety
/// Both sides must have `len` bytes, a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
unsafe fn copy_32(to: *mut u8, from: *mut u8, len: usize) {
    use std::arch::asm;
    let mut done = 0;
    while done + 32 <= len {
        // SAFETY: as above, 32 bytes.
        unsafe {
            asm!("vmovdqu {t}, [{from}]", "vmovdqu [{to}], {t}",
                from = in(reg) from.add(done), to = in(reg) to.add(done), t = out(ymm_reg) _,
                options(nostack, preserves_flags));
        }
        done += 32;
    }
    if done < len {
        // SAFETY: as above, 16 bytes.
        unsafe {
            asm!("vmovdqu {t:x}, [{from}]", "vmovdqu [{to}], {t:x}",
                from = in(reg) from.add(done), to = in(reg) to.add(done), t = out(xmm_reg) _,
                options(nostack, preserves_flags));
        }
    }
}

/// Reads a number for each lane.
///
/// # Safety
/// All addresses, `extra` further on, must lie in the stretch with the size of a number and be aligned to it.
#[inline(always)]
unsafe fn fetch<T: Number, const VECTOR: usize>(
    numbers: &mut [T; 32],
    stretch: Stretch,
    addresses: &Addresses<'_>,
    form: Form,
    extra: u64,
) {
    let place = |lane: usize| stretch.at(addresses.at(lane).wrapping_add(extra));
    match form {
        Form::Runs { length, step } if usize::from(step) == size_of::<T>() => {
            let mut copy = |start: usize, lanes: usize| {
                let to = numbers[start..].as_mut_ptr().cast();
                // SAFETY: a run of lanes is a run of numbers, inside the stretch by the caller's promise.
                unsafe { copy::<T, VECTOR>(to, place(start), lanes * size_of::<T>()) }
            };
            match length {
                32 => copy(0, 32),
                16 => {
                    copy(0, 16);
                    copy(16, 16);
                }
                _ => (0..4).for_each(|run| copy(run * 8, 8)),
            }
        }
        Form::Runs {
            length: 32,
            step: 0,
        } => {
            // SAFETY: by the caller's promise.
            *numbers = [unsafe { T::get(place(0)) }; 32];
        }
        Form::Runs { step: 0, .. } => {
            for run in 0..4 {
                // SAFETY: by the caller's promise.
                let number = unsafe { T::get(place(run * 8)) };
                numbers[run * 8..run * 8 + 8].fill(number);
            }
        }
        _ => {
            for (lane, number) in numbers.iter_mut().enumerate() {
                // SAFETY: by the caller's promise.
                *number = unsafe { T::get(place(lane)) };
            }
        }
    }
}

/// Writes the active lanes' numbers, lowest lane first.
///
/// # Safety
/// As for [`fetch`].
#[inline(always)]
unsafe fn put<T: Number, const VECTOR: usize>(
    numbers: &[T; 32],
    mask: u32,
    stretch: Stretch,
    addresses: &Addresses<'_>,
    form: Form,
    extra: u64,
) {
    let place = |lane: usize| stretch.at(addresses.at(lane).wrapping_add(extra));
    match form {
        Form::Runs { length, step } if mask == !0 && usize::from(step) == size_of::<T>() => {
            let length = usize::from(length);
            let mut start = 0;
            while start < 32 {
                let from = numbers[start..].as_ptr().cast_mut().cast();
                // SAFETY: by the caller's promise.
                unsafe { copy::<T, VECTOR>(place(start), from, length * size_of::<T>()) };
                start += length;
            }
        }
        // The last one stays.
        Form::Runs {
            length: 32,
            step: 0,
        } if mask != 0 => {
            let lane = 31 - mask.leading_zeros() as usize;
            // SAFETY: by the caller's promise.
            unsafe { T::set(place(lane), numbers[lane]) }
        }
        _ => {
            for lane in lanes_of(mask) {
                // SAFETY: by the caller's promise.
                unsafe { T::set(place(lane), numbers[lane]) }
            }
        }
    }
}

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
        let known = self.spans[reg as usize];
        if known.form != Form::Unknown && known.part == part {
            return known;
        }
        let start = reg as usize * self.len + usize::from(part.0);
        let found = self.wide.get(start..start + usize::from(part.1));
        let found = Span::of(plain(found.unwrap_or(&[])), part);
        self.spans[reg as usize] = found;
        found
    }

    /// The form of the indices in a register of some simdgroups; looked at once.
    #[inline(always)]
    fn indices(&mut self, reg: u32, signed: bool, part: Part) -> Indices {
        let known = self.indices[reg as usize];
        if known.form != Form::Unknown && known.signed == signed && known.part == part {
            return known;
        }
        let start = reg as usize * self.len + usize::from(part.0);
        let found = self.narrow.get(start..start + usize::from(part.1));
        let found = Indices::of(plain(found.unwrap_or(&[])), signed, part);
        self.indices[reg as usize] = found;
        found
    }

    /// Where some simdgroups' numbers of a transfer are, if the quick way is open to them.
    #[inline(always)]
    fn find(
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
                let indices = self.indices(scaled.reg, scaled.signed, part);
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
        self.find(around, t, (at as u8, 1), action)
    }

    /// The addresses of a simdgroup. They borrow registers that the transfer does not write.
    #[inline(always)]
    fn addresses<'b>(&self, t: &Transfer, simdgroup: usize) -> Addresses<'b> {
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
        let together = self.find(around, t, part, action);
        for at in active.range() {
            let mut mask = self.mask_of(at);
            if mask == 0 {
                continue;
            }
            let found = match together {
                None if active.count > 1 => self.find_one(around, t, at, action),
                found => found,
            };
            let addresses = self.addresses(t, at);
            if W::ACTIVE {
                mask = self.watched(around, watch, t, position, &addresses, action);
            }
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

    /// Tells the watch about a transfer; gives the lanes that go on with it. The others read zero.
    #[inline(never)]
    fn watched<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        t: &Transfer,
        position: usize,
        addresses: &Addresses<'_>,
        action: Action,
    ) -> u32 {
        let regs = around.program.list(t.regs);
        let mut all = [0; 32];
        for (lane, address) in all.iter_mut().enumerate() {
            *address = addresses.at(lane);
        }
        let seen = Seen {
            around,
            group: self,
            position,
            mask: self.mask(),
            addresses: all,
            size: t.size(),
            align: t.align,
            cell: t.cell,
            regs,
            action,
        };
        let allowed = watch.access(&seen);
        if action == Action::Read {
            for lane in lanes_of(self.mask() & !allowed) {
                regs.iter().for_each(|&reg| self.set(reg, lane, 0));
            }
        }
        allowed
    }
}

/// Registers without what aligns them.
#[inline(always)]
fn plain<T>(registers: &[Aligned<T>]) -> &[T] {
    // SAFETY: a register is as large as its alignment allows, so there is nothing between them.
    unsafe { std::slice::from_raw_parts(registers.as_ptr().cast(), registers.len()) }
}
