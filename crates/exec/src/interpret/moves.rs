//! Moves, selections and pointer arithmetic.
//!
//! Loops count rather than iterate: this code is inlined into the interpreter's loop, which is so large that the compiler
//! no longer inlines the adaptors of iterators.

use super::observer::Observer;
use super::{Batch, MAX_SIMDGROUPS};
use crate::code::{Index, Reg};
use crate::lanes::{Narrow, Wide, one_simdgroup};

impl Batch {
    /// A narrow register of the active simdgroups, valid while other registers are written.
    ///
    /// # Safety
    /// The register must not be written, nor the batch moved or dropped, while the result is in use. (These operations write
    /// none of the registers they read, see `compile::verify`.)
    #[inline(always)]
    unsafe fn held_narrow<'b>(&self, index: u32) -> &'b [Narrow] {
        // SAFETY: simdgroups' lanes of a register follow each other and stay where they are; the caller promises not to write them.
        unsafe { std::slice::from_raw_parts(self.narrow_ptr(index), self.masks.active.count) }
    }

    /// The same for wide registers.
    ///
    /// # Safety
    /// As for [`Batch::held_narrow`].
    #[inline(always)]
    unsafe fn held_wide<'b>(&self, index: u32) -> &'b [Wide] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.wide_ptr(index), self.masks.active.count) }
    }

    #[inline(always)]
    fn narrow_slice(&mut self, index: u32) -> &mut [Narrow] {
        let count = self.masks.active.count;
        // SAFETY: simdgroups' lanes of a register follow each other, and the batch is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.narrow_ptr_mut(index), count) }
    }

    #[inline(always)]
    fn wide_slice(&mut self, index: u32) -> &mut [Wide] {
        let count = self.masks.active.count;
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.wide_ptr_mut(index), count) }
    }

    /// The masks of the active simdgroups; nothing if all lanes are active.
    #[inline(always)]
    fn partial(&self) -> Option<[u32; MAX_SIMDGROUPS]> {
        if self.masks.active.full {
            return None;
        }
        let mut masks = self.masks.all();
        masks.rotate_left(self.masks.active.first);
        Some(masks)
    }

    #[inline(always)]
    pub(super) fn move_narrow<O: Observer>(&mut self, d: u32, a: u32) {
        if O::LAZY {
            if self
                .registers
                .narrow
                .lazy
                .move_formula(self.masks.whole, d, a)
            {
                return;
            }
            self.registers.narrow.materialise(a);
            if !self.masks.whole {
                self.registers.narrow.materialise(d);
            }
        }
        let partial = self.partial();
        // SAFETY: a move is to another register.
        let a = unsafe { self.held_narrow(a) };
        blend_all(self.narrow_slice(d), a, partial);
    }

    #[inline(always)]
    pub(super) fn move_wide<O: Observer>(&mut self, d: u32, a: u32) {
        if O::LAZY {
            if self
                .registers
                .wide
                .lazy
                .move_formula(self.masks.whole, d, a)
            {
                return;
            }
            self.registers.wide.materialise(a);
            if !self.masks.whole {
                self.registers.wide.materialise(d);
            }
        }
        let partial = self.partial();
        // SAFETY: a move is to another register.
        let a = unsafe { self.held_wide(a) };
        blend_all(self.wide_slice(d), a, partial);
    }

    /// Several moves, one after the other: pairs of a register and its new value.
    #[inline(always)]
    pub(super) fn moves<O: Observer>(&mut self, list: &[Reg], wide: bool) {
        for pair in list.chunks_exact(2) {
            let (d, a) = (pair[0].index, pair[1].index);
            if wide {
                self.move_wide::<O>(d, a);
            } else {
                self.move_narrow::<O>(d, a);
            }
        }
    }

    #[inline(always)]
    pub(super) fn select_narrow<O: Observer>(&mut self, d: u32, cond: u32, yes: u32, no: u32) {
        if O::LAZY {
            self.registers.narrow.materialise(cond);
            self.registers.narrow.materialise(yes);
            self.registers.narrow.materialise(no);
        }
        // SAFETY: an operation writes none of the registers it reads.
        let (cond, yes, no) = unsafe {
            (
                self.held_narrow(cond),
                self.held_narrow(yes),
                self.held_narrow(no),
            )
        };
        select_all(self.narrow_slice(d), cond, yes, no);
    }

    #[inline(always)]
    pub(super) fn select_wide<O: Observer>(&mut self, d: u32, cond: u32, yes: u32, no: u32) {
        if O::LAZY {
            self.registers.narrow.materialise(cond);
            self.registers.wide.materialise(yes);
            self.registers.wide.materialise(no);
        }
        // SAFETY: an operation writes none of the registers it reads.
        let (cond, yes, no) = unsafe {
            (
                self.held_narrow(cond),
                self.held_wide(yes),
                self.held_wide(no),
            )
        };
        select_all(self.wide_slice(d), cond, yes, no);
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
        let base = unsafe { self.held_wide(base) };
        match kind {
            Index::None => {
                let d = self.wide_slice(d);
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
                let index = unsafe { self.held_wide(index) };
                add_scaled(self.wide_slice(d), base, index, scale, offset, |index| {
                    index
                });
            }
            Index::Narrow { bits, signed } => {
                // SAFETY: as above.
                let index = unsafe { self.held_narrow(index) };
                let d = self.wide_slice(d);
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

/// Selects between two registers by a truth value in each lane.
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
fn blend_all<T: Copy>(d: &mut [[T; 32]], a: &[[T; 32]], partial: Option<[u32; MAX_SIMDGROUPS]>) {
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
                blend(&mut d[at], &a[at], masks[at & (MAX_SIMDGROUPS - 1)]);
            }
        }
    }
}

/// Copies the lanes in the mask.
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
