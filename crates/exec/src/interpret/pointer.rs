//! Moves, choices and pointer arithmetic.
//!
//! Loops count rather than iterate: this is compiled into the interpreter's loop, where the compiler no longer takes in
//! the adaptors of iterators.

use super::batch::Batch;
use super::watch::Watch;
use crate::code::Index;
use crate::lanes::{Narrow, Wide, one_simdgroup};

impl Batch {
    /// The narrow registers of the active simdgroups, alive while others are written.
    ///
    /// # Safety
    /// None of them may be written as long as the reference lives; an operation writes none of the registers it
    /// reads (`compile::verify`).
    #[inline(always)]
    unsafe fn held_ns<'b>(&self, index: u32) -> &'b [Narrow] {
        // SAFETY: they lie one after the other and stay where they are; the caller promises not to write them.
        unsafe { std::slice::from_raw_parts(self.ns(index), self.active.count) }
    }

    /// The same for wide registers.
    ///
    /// # Safety
    /// As for [`Batch::held_ns`].
    #[inline(always)]
    unsafe fn held_ws<'b>(&self, index: u32) -> &'b [Wide] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.ws(index), self.active.count) }
    }

    #[inline(always)]
    fn ns_slice(&mut self, index: u32) -> &mut [Narrow] {
        let count = self.active.count;
        // SAFETY: they lie one after the other.
        unsafe { std::slice::from_raw_parts_mut(self.ns_mut(index), count) }
    }

    #[inline(always)]
    fn ws_slice(&mut self, index: u32) -> &mut [Wide] {
        let count = self.active.count;
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.ws_mut(index), count) }
    }

    /// The masks of the active simdgroups; nothing if all lanes are active.
    #[inline(always)]
    fn partial(&self) -> Option<[u32; super::MOST]> {
        if self.active.full {
            return None;
        }
        let mut masks = self.masks();
        masks.rotate_left(self.active.first);
        Some(masks)
    }

    #[inline(always)]
    pub(super) fn move_narrow<W: Watch>(&mut self, d: u32, a: u32) {
        if W::DESCRIBES {
            if self.known_n.shift(self.whole, d, a) {
                return;
            }
            self.need_n(a);
            if !self.whole {
                self.need_n(d);
            }
        }
        let partial = self.partial();
        // SAFETY: a move is to another register.
        let a = unsafe { self.held_ns(a) };
        blend_all(self.ns_slice(d), a, partial);
    }

    #[inline(always)]
    pub(super) fn move_wide<W: Watch>(&mut self, d: u32, a: u32) {
        if W::DESCRIBES {
            if self.known_w.shift(self.whole, d, a) {
                return;
            }
            self.need_w(a);
            if !self.whole {
                self.need_w(d);
            }
        }
        let partial = self.partial();
        // SAFETY: a move is to another register.
        let a = unsafe { self.held_ws(a) };
        blend_all(self.ws_slice(d), a, partial);
    }

    #[inline(always)]
    pub(super) fn select_narrow<W: Watch>(&mut self, d: u32, cond: u32, yes: u32, no: u32) {
        if W::DESCRIBES {
            self.need_n(cond);
            self.need_n(yes);
            self.need_n(no);
        }
        // SAFETY: an operation writes none of the registers it reads.
        let (cond, yes, no) = unsafe { (self.held_ns(cond), self.held_ns(yes), self.held_ns(no)) };
        select_all(self.ns_slice(d), cond, yes, no);
    }

    #[inline(always)]
    pub(super) fn select_wide<W: Watch>(&mut self, d: u32, cond: u32, yes: u32, no: u32) {
        if W::DESCRIBES {
            self.need_n(cond);
            self.need_w(yes);
            self.need_w(no);
        }
        // SAFETY: an operation writes none of the registers it reads.
        let (cond, yes, no) = unsafe { (self.held_ns(cond), self.held_ws(yes), self.held_ws(no)) };
        select_all(self.ws_slice(d), cond, yes, no);
    }

    /// `d = base + index * scale + offset`
    #[inline(always)]
    pub(super) fn pointer(
        &mut self,
        d: u32,
        base: u32,
        index: u32,
        kind: Index,
        scale: u32,
        offset: i64,
    ) {
        let scale = u64::from(scale);
        // SAFETY: an operation writes none of the registers it reads.
        let base = unsafe { self.held_ws(base) };
        match kind {
            Index::None => {
                let d = self.ws_slice(d);
                for at in 0..d.len() {
                    one_simdgroup();
                    let (d, base) = (&mut d[at], &base[at]);
                    for lane in 0..32 {
                        d[lane] = base[lane].wrapping_add_signed(offset);
                    }
                }
            }
            Index::Wide => {
                // SAFETY: as above.
                let index = unsafe { self.held_ws(index) };
                add_scaled(self.ws_slice(d), base, index, scale, offset, |index| index);
            }
            Index::Narrow { bits, signed } => {
                // SAFETY: as above.
                let index = unsafe { self.held_ns(index) };
                let d = self.ws_slice(d);
                if signed {
                    let shift = 32 - u32::from(bits.clamp(1, 32));
                    add_scaled(d, base, index, scale, offset, |index| {
                        i64::from((index << shift) as i32 >> shift) as u64
                    });
                } else {
                    add_scaled(d, base, index, scale, offset, u64::from);
                }
            }
        }
    }
}

#[inline(always)]
fn add_scaled<T: Copy>(
    d: &mut [Wide],
    base: &[Wide],
    index: &[[T; 32]],
    scale: u64,
    offset: i64,
    wide: impl Fn(T) -> u64,
) {
    for at in 0..d.len() {
        one_simdgroup();
        let (d, base, index) = (&mut d[at], &base[at], &index[at]);
        for lane in 0..32 {
            let distance = wide(index[lane]).wrapping_mul(scale);
            d[lane] = base[lane]
                .wrapping_add(distance)
                .wrapping_add_signed(offset);
        }
    }
}

/// One of two by a truth value.
#[inline(always)]
fn select_all<T: Copy>(d: &mut [[T; 32]], cond: &[Narrow], yes: &[[T; 32]], no: &[[T; 32]]) {
    for at in 0..d.len() {
        one_simdgroup();
        let (d, cond, yes, no) = (&mut d[at], &cond[at], &yes[at], &no[at]);
        for lane in 0..32 {
            d[lane] = if cond[lane] & 1 != 0 {
                yes[lane]
            } else {
                no[lane]
            };
        }
    }
}

#[inline(always)]
fn blend_all<T: Copy>(d: &mut [[T; 32]], a: &[[T; 32]], partial: Option<[u32; super::MOST]>) {
    match partial {
        None => {
            for at in 0..d.len() {
                one_simdgroup();
                d[at] = a[at];
            }
        }
        Some(masks) => {
            for at in 0..d.len() {
                one_simdgroup();
                blend(&mut d[at], &a[at], masks[at & (super::MOST - 1)]);
            }
        }
    }
}

/// Takes over the numbers of the lanes in the mask.
#[inline(always)]
pub(super) fn blend<T: Copy>(d: &mut [T; 32], a: &[T; 32], mask: u32) {
    if mask == !0 {
        *d = *a;
        return;
    }
    for lane in 0..32 {
        d[lane] = if mask >> lane & 1 != 0 {
            a[lane]
        } else {
            d[lane]
        };
    }
}
