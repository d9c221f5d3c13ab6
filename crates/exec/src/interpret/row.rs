//! Words side by side: what most loads and stores are.
//!
//! The addresses are a sum in which each lane is one word further than the lane before it, over all simdgroups. Then one
//! look at the first and the last says that all are there, and the words are moved as one block.

use super::copy::copy;
#[cfg(target_arch = "x86_64")]
use super::copy::store_some;
use super::known::LINEAR;
use super::threshold::first_of_row;
use super::{Batch, Surroundings};
use crate::code::{Cell, Scaled, Transfer};
use crate::lanes::apart;
use crate::memory::{Action, OFFSET_BITS, THREADGROUP};

/// Regions whose last request is remembered.
pub(super) const STREAMS: usize = 8;

/// Bytes from an access to what is asked for: far enough that it has come when it is wanted, and past the end of a page,
/// where the CPU's own guesses end.
const DISTANCE: usize = 4096;

/// Bytes before the end of the last request that were asked for not long ago.
const RECENT: usize = 64 << 10;

impl Batch {
    apart! {
        /// A load or store of words side by side; whether it was one, and is done.
        fn row [] (&mut self, around: &Surroundings<'_>, t: &Transfer, action: Action) -> bool = row_at
    }

    #[inline(always)]
    fn row_at<const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        t: &Transfer,
        action: Action,
    ) -> bool {
        if self.active.count == 0 {
            return false;
        }
        let &[reg] = around.program.list(t.regs) else {
            return false;
        };
        let Some(start) = self.row_start(t) else {
            return false;
        };
        let (first, count) = (self.active.first, self.active.count);
        let start = start.wrapping_add(first as u64 * 128);
        let bytes = count * 128;
        let last = start.wrapping_add(bytes as u64 - 4);
        let Some(stretch) = around.memory.stretch(start, last, 4, action) else {
            return false;
        };
        let place = stretch.at(start);
        if !(place as usize).is_multiple_of(4) {
            return false;
        }
        match action {
            // Nobody reads what a load leaves in lanes that are not active.
            Action::Read if self.active.full || self.free => {
                let registers = self.ns_mut(reg.index).cast();
                // SAFETY: so many words in the stretch, aligned, and as many in the registers.
                unsafe { copy::<u32, VECTOR>(registers, place, bytes) };
            }
            Action::Write if self.active.full => {
                self.need_n(reg.index);
                let registers = self.ns(reg.index).cast_mut().cast();
                // SAFETY: as above.
                unsafe { copy::<u32, VECTOR>(place, registers, bytes) };
            }
            #[cfg(target_arch = "x86_64")]
            Action::Write if VECTOR != 0 => {
                self.need_n(reg.index);
                let registers: *const u8 = self.ns(reg.index).cast();
                for at in 0..count {
                    let (to, from) = (
                        place.wrapping_add(at * 128),
                        registers.wrapping_add(at * 128),
                    );
                    // SAFETY: as above, 32 words each.
                    unsafe { store_some::<VECTOR>(to, from, self.mask_of(first + at)) };
                }
            }
            _ => return false,
        }
        let region = start >> OFFSET_BITS;
        if region != THREADGROUP {
            self.ahead(region, place as usize + DISTANCE, bytes, action);
        }
        true
    }

    /// Asks for a block further on than one that was accessed, if that was not done yet: loops over a row, and threadgroups
    /// after each other, come there.
    #[inline(always)]
    fn ahead(&mut self, region: u64, place: usize, bytes: usize, action: Action) {
        let asked = &mut self.asked[region as usize % STREAMS];
        if (*asked).wrapping_sub(place + bytes) < RECENT {
            return;
        }
        *asked = place + bytes;
        ask(place, bytes, action);
    }

    /// The address of the first lane of the batch, if each lane is a word further than the one before and none of the
    /// active simdgroups wraps around.
    #[inline(always)]
    fn row_start(&self, t: &Transfer) -> Option<u64> {
        if t.cell != Cell::Word {
            return None;
        }
        let Some(Scaled { reg, signed, scale }) = t.index else {
            let sum = self.known_w.linear(t.base);
            let row = self.known_w.state(t.base) & LINEAR != 0 && sum.shape.row;
            return (row && sum.shape.parts[0] == 4).then(|| sum.base.wrapping_add(t.offset));
        };
        let sum = self.known_n.linear(reg);
        let step = i64::from(sum.shape.parts[0]);
        if self.known_n.state(reg) & LINEAR == 0 || step * i64::from(scale) != 4 {
            return None;
        }
        let index = first_of_row(sum, self.active.range().end * 32, signed)?;
        let distance = (index as u64).wrapping_mul(scale.into());
        Some(
            self.w_of(t.base, 0)[0]
                .wrapping_add(t.offset)
                .wrapping_add(distance),
        )
    }
}

/// Asks the CPU for memory.
#[inline(always)]
fn ask(place: usize, bytes: usize, action: Action) {
    #[cfg(target_arch = "x86_64")]
    for line in (place..place + bytes).step_by(64) {
        // SAFETY: asks for memory without accessing it, wherever that may be.
        unsafe {
            if action == Action::Read {
                std::arch::asm!("prefetcht0 [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
            } else {
                std::arch::asm!("prefetchw [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, bytes, action);
}
