//! Contiguous words: what most loads and stores are.
//!
//! The addresses are affine, each lane one word further than the lane before it, over all simdgroups of the batch. Then one
//! check of the first and the last address is enough, and the words are moved as one block.

use super::lane_copy::copy;
#[cfg(target_arch = "x86_64")]
use super::lane_copy::store_masked;
use super::lane_interval::first_of_progression;
use super::lazy::AFFINE;
use super::{Batch, ExecutionContext};
use crate::code::{Cell, Scaled, Transfer};
use crate::memory::{Action, OFFSET_BITS, THREADGROUP};
use crate::simd::{Simd, outlined};

/// Regions whose last prefetch is remembered.
const STREAMS: usize = 8;

/// Bytes from an access to what is prefetched: far enough that it has arrived when it is accessed, and past the end of a page,
/// where the CPU's own prefetcher stops.
const DISTANCE: usize = 4096;

/// Bytes before the end of the last prefetch that count as prefetched.
const RECENT: usize = 64 << 10;

/// Per region (by its number modulo [`STREAMS`]): the end of the last prefetched range.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prefetched([usize; STREAMS]);

impl Prefetched {
    /// Prefetches a block, unless that was done recently.
    #[inline(always)]
    fn prefetch(&mut self, region: u64, place: usize, bytes: usize, action: Action) {
        let end = &mut self.0[region as usize % STREAMS];
        if (*end).wrapping_sub(place + bytes) < RECENT {
            return;
        }
        *end = place + bytes;
        prefetch(place, bytes, action);
    }
}

impl Batch {
    outlined! {
        /// A load or store of contiguous words. Returns false, with nothing done, if it is of another kind.
        fn transfer_contiguous [] (&mut self, context: &ExecutionContext<'_>, t: &Transfer, action: Action) -> bool = transfer_contiguous_at
    }

    #[inline(always)]
    fn transfer_contiguous_at<S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        t: &Transfer,
        action: Action,
    ) -> bool {
        if self.masks.active.count == 0 {
            return false;
        }
        let &[reg] = context.program.list(t.regs) else {
            return false;
        };
        let Some(start) = self.first_address(t) else {
            return false;
        };
        let (first, count) = (self.masks.active.first, self.masks.active.count);
        let start = start.wrapping_add(first as u64 * 128);
        let bytes = count * 128;
        let last = start.wrapping_add(bytes as u64 - 4);
        let Some(range) = context.memory.check_range(start, last, 4, action) else {
            return false;
        };
        let place = range.at(start);
        if !(place as usize).is_multiple_of(4) {
            return false;
        }
        match action {
            // No operation reads what a load leaves in inactive lanes.
            Action::Read if self.masks.active.full || self.masks.allow_lazy => {
                let registers = self.narrow_ptr_mut(reg.index).cast();
                // SAFETY: so many words in the range, aligned, and as many in the registers.
                unsafe { copy::<u32, S>(simd, registers, place, bytes) };
            }
            Action::Write if self.masks.active.full => {
                self.registers.narrow.materialise(reg.index);
                let registers = self.narrow_ptr(reg.index).cast_mut().cast();
                // SAFETY: as above.
                unsafe { copy::<u32, S>(simd, place, registers, bytes) };
            }
            #[cfg(target_arch = "x86_64")]
            Action::Write if S::VECTOR_BYTES != 0 => {
                self.registers.narrow.materialise(reg.index);
                let registers: *const u8 = self.narrow_ptr(reg.index).cast();
                for at in 0..count {
                    let (to, from) = (
                        place.wrapping_add(at * 128),
                        registers.wrapping_add(at * 128),
                    );
                    // SAFETY: as above, 32 words each.
                    unsafe { store_masked(simd, to, from, self.mask_of(first + at)) };
                }
            }
            _ => return false,
        }
        let region = start >> OFFSET_BITS;
        if region != THREADGROUP {
            // Loops over a row, and threadgroups one after the other, come there next.
            let ahead = place as usize + DISTANCE;
            self.prefetched.prefetch(region, ahead, bytes, action);
        }
        true
    }

    /// The address of the first lane of the batch, if each lane is a word further than the one before and none of the
    /// active simdgroups wraps around.
    #[inline(always)]
    fn first_address(&self, t: &Transfer) -> Option<u64> {
        if t.cell != Cell::Word {
            return None;
        }
        let Some(Scaled { reg, signed, scale }) = t.index else {
            let (wide, reg) = (&self.registers.wide.lazy, t.base);
            let (affine, state) = (wide.affine(reg), wide.state(reg));
            let words = affine.strides.progression && affine.strides.of_bit[0] == 4;
            return (state & AFFINE != 0 && words).then(|| affine.base.wrapping_add(t.offset));
        };
        let sum = self.registers.narrow.lazy.affine(reg);
        let step = i64::from(sum.strides.of_bit[0]);
        if self.registers.narrow.lazy.state(reg) & AFFINE == 0 || step * i64::from(scale) != 4 {
            return None;
        }
        let index = first_of_progression(sum, self.masks.active.range().end * 32, signed)?;
        let distance = (index as u64).wrapping_mul(scale.into());
        Some(
            self.registers.wide.of(t.base, 0)[0]
                .wrapping_add(t.offset)
                .wrapping_add(distance),
        )
    }
}

/// Prefetches memory into the first-level cache.
#[inline(always)]
fn prefetch(place: usize, bytes: usize, action: Action) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in (place..place + bytes).step_by(64) {
        // SAFETY: a prefetch accesses nothing, at whatever address.
        unsafe {
            if action == Action::Read {
                std::arch::asm!("prefetcht0 [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
            } else {
                std::arch::asm!("prefetchw [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
            }
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = (place, bytes, action);
}
