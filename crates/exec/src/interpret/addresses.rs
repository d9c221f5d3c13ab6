//! The addresses of a load or store: from affine registers without looking at lanes, else from materialised ones.

use super::address_range::{AddressRange, IndexRange, RunShape, SimdgroupRange};
use super::lazy::{AFFINE, ANALYSED, MATERIALISED};
use super::strides::Strides;
use super::{Batch, ExecutionContext};
use crate::code::{Scaled, Transfer};
use crate::lanes::{Narrow, Wide};
use crate::memory::{Action, CheckedRange};
use crate::simd::{Portable, Simd};

/// The addresses of a simdgroup's access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Addresses<'a> {
    /// A pointer in each lane, and a distance.
    Pointers(&'a Wide, u64),
    /// One pointer and an index in each lane.
    Indexed {
        base: u64,
        index: &'a Narrow,
        signed: bool,
        scale: u64,
    },
    /// Addresses of an affine register.
    Affine(AffineRuns),
}

impl Addresses<'_> {
    /// The address of a lane: this is where an affine address becomes that of a lane.
    #[inline(always)]
    pub(super) fn at(&self, lane: usize) -> u64 {
        match *self {
            Self::Pointers(pointers, distance) => pointers[lane].wrapping_add(distance),
            Self::Indexed {
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
            Self::Affine(runs) => {
                let more = (lane as u64 & 7).wrapping_mul(runs.step);
                runs.starts[lane >> 3 & 3].wrapping_add(more)
            }
        }
    }
}

/// The affine addresses of a simdgroup: four runs of eight lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AffineRuns {
    /// The address of the first lane of each run.
    starts: [u64; 4],
    /// Bytes from a lane to the next of its run.
    step: u64,
}

impl AffineRuns {
    /// All addresses so much further on.
    #[inline(always)]
    fn moved(&self, distance: i64) -> Self {
        let [a, b, c, d] = self.starts;
        let moved = |start: u64| start.wrapping_add_signed(distance);
        Self {
            starts: [moved(a), moved(b), moved(c), moved(d)],
            step: self.step,
        }
    }
}

/// The affine addresses of all simdgroups of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AffineAddresses {
    /// Those of the first simdgroup.
    runs: AffineRuns,
    pub(super) strides: Strides,
    /// What the strides are multiplied by.
    scale: i64,
}

impl AffineAddresses {
    /// The addresses of a simdgroup.
    #[inline(always)]
    pub(super) fn of_simdgroup(&self, simdgroup: usize) -> AffineRuns {
        self.runs.moved(
            self.strides
                .of_simdgroup(simdgroup)
                .wrapping_mul(self.scale),
        )
    }

    /// The address a lane of a simdgroup accesses.
    #[inline(always)]
    pub(crate) fn address(&self, simdgroup: usize, lane: usize) -> u64 {
        let more = self
            .strides
            .of_simdgroup(simdgroup)
            .wrapping_mul(self.scale);
        Addresses::Affine(self.runs)
            .at(lane & 31)
            .wrapping_add_signed(more)
    }

    /// Returns true if all simdgroups access the same addresses.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.strides.of_bit[5..] == [0; 3]
    }

    /// Returns true if the addresses of all lanes of the batch are one arithmetic progression.
    #[inline(always)]
    pub(crate) fn is_progression(&self) -> bool {
        self.strides.progression
    }
}

/// An access whose addresses lie in one region, all aligned.
#[derive(Clone, Copy)]
pub(super) struct CheckedAccess<'a> {
    pub(super) range: CheckedRange<'a>,
    /// The lowest address.
    pub(super) first: u64,
    pub(super) runs: RunShape,
    /// True if the addresses are affine, and no lane was looked at.
    pub(super) affine: bool,
}

impl<'a> CheckedAccess<'a> {
    /// An access to a range of addresses, if all of them are in one region and aligned.
    #[inline(always)]
    pub(super) fn of(
        context: &ExecutionContext<'a>,
        t: &Transfer,
        addresses: &AddressRange,
        affine: bool,
        action: Action,
    ) -> Option<Self> {
        let memory = &context.memory;
        let range = memory.check_range(addresses.first, addresses.last, t.size(), action)?;
        let cell = u64::from(t.cell.bytes());
        let aligned = (addresses.bits | range.at(0) as u64) & (cell - 1) == 0;
        aligned.then_some(Self {
            range,
            first: addresses.first,
            runs: addresses.runs,
            affine,
        })
    }
}

impl Batch {
    /// The range of the pointers in a register of some simdgroups. Lanes are looked at once after each write.
    #[inline(always)]
    fn pointer_range(&mut self, reg: u32, simdgroups: SimdgroupRange) -> AddressRange {
        let wide = &mut self.registers.wide;
        wide.materialise(reg);
        let known = wide.ranges[reg as usize];
        if wide.lazy.state(reg) & ANALYSED != 0 && known.simdgroups == simdgroups {
            return known;
        }
        let found = AddressRange::of(wide.slice(reg, simdgroups), simdgroups);
        wide.ranges[reg as usize] = found;
        wide.lazy.set(reg, wide.lazy.state(reg) | ANALYSED);
        found
    }

    /// The range of the indices in a register of some simdgroups. Lanes are looked at once after each write.
    #[inline(always)]
    fn index_range<S: Simd>(
        &mut self,
        simd: S,
        reg: u32,
        signed: bool,
        simdgroups: SimdgroupRange,
    ) -> IndexRange {
        let narrow = &mut self.registers.narrow;
        narrow.materialise(reg);
        let known = narrow.ranges[reg as usize];
        let analysed = narrow.lazy.state(reg) & ANALYSED != 0;
        if analysed && known.signed == signed && known.simdgroups == simdgroups {
            return known;
        }
        let found = IndexRange::of(simd, narrow.slice(reg, simdgroups), signed, simdgroups);
        narrow.ranges[reg as usize] = found;
        narrow.lazy.set(reg, narrow.lazy.state(reg) | ANALYSED);
        found
    }

    /// The range of the addresses of a transfer, if they are affine and their runs are long enough.
    #[inline(always)]
    pub(super) fn affine_range(
        &self,
        t: &Transfer,
        simdgroups: SimdgroupRange,
    ) -> Option<AddressRange> {
        let (narrow, wide) = (&self.registers.narrow.lazy, &self.registers.wide.lazy);
        let found = match t.index {
            None if wide.state(t.base) & AFFINE != 0 => {
                let range = wide.affine(t.base).address_range(simdgroups)?;
                range.moved(t.offset)
            }
            Some(Scaled { reg, signed, scale }) if narrow.state(reg) & AFFINE != 0 => {
                let indices = narrow.affine(reg).index_range(simdgroups, signed)?;
                AddressRange::of_indices(self.base(t), &indices, scale.into())
            }
            _ => return None,
        };
        (found.runs.length != 0).then_some(found)
    }

    /// The pointer that indices are added to: the same in all lanes.
    #[inline(always)]
    pub(super) fn base(&self, t: &Transfer) -> u64 {
        self.registers.wide.of(t.base, 0)[0].wrapping_add(t.offset)
    }

    /// Checks a transfer of some simdgroups as a whole; nothing if its lanes have to be checked one by one.
    #[inline(always)]
    pub(super) fn check_transfer<'a, S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'a>,
        t: &Transfer,
        simdgroups: SimdgroupRange,
        action: Action,
    ) -> Option<CheckedAccess<'a>> {
        let affine = self.affine_range(t, simdgroups);
        let range = match (affine, t.index) {
            (Some(range), _) => range,
            (None, None) => self.pointer_range(t.base, simdgroups).moved(t.offset),
            (None, Some(Scaled { reg, signed, scale })) => {
                let indices = self.index_range(simd, reg, signed, simdgroups);
                AddressRange::of_indices(self.base(t), &indices, scale.into())
            }
        };
        CheckedAccess::of(context, t, &range, affine.is_some(), action)
    }

    /// The same for one of several simdgroups.
    #[inline(never)]
    pub(super) fn check_transfer_of_one<'a>(
        &mut self,
        context: &ExecutionContext<'a>,
        t: &Transfer,
        simdgroup: usize,
        action: Action,
    ) -> Option<CheckedAccess<'a>> {
        self.check_transfer(Portable, context, t, (simdgroup as u8, 1), action)
    }

    /// Materialises the registers of a transfer's address.
    #[inline(always)]
    pub(super) fn materialise_address(&mut self, t: &Transfer) {
        match t.index {
            None => self.registers.wide.materialise(t.base),
            Some(scaled) => self.registers.narrow.materialise(scaled.reg),
        }
    }

    /// The addresses of a simdgroup, from materialised registers or else from an affine one.
    #[inline(always)]
    pub(super) fn addresses(&self, t: &Transfer, simdgroup: usize) -> Addresses<'_> {
        let state = match t.index {
            None => self.registers.wide.lazy.state(t.base),
            Some(scaled) => self.registers.narrow.lazy.state(scaled.reg),
        };
        if state & MATERIALISED == 0 {
            return Addresses::Affine(self.affine_addresses(t).of_simdgroup(simdgroup));
        }
        match t.index {
            None => Addresses::Pointers(self.registers.wide.of(t.base, simdgroup), t.offset),
            Some(Scaled { reg, signed, scale }) => Addresses::Indexed {
                base: self.base(t),
                index: self.registers.narrow.of(reg, simdgroup),
                signed,
                scale: scale.into(),
            },
        }
    }

    /// The addresses of a simdgroup, valid while other registers are written.
    ///
    /// # Safety
    /// The registers of the transfer's address must not be written, nor the batch moved or dropped, while the result is in use.
    /// (A load writes none of them: `compile::verify` admits no operation that writes a register it reads, except lane functions.)
    #[inline(always)]
    pub(super) unsafe fn held_addresses<'b>(
        &self,
        t: &Transfer,
        simdgroup: usize,
    ) -> Addresses<'b> {
        match self.addresses(t, simdgroup) {
            Addresses::Affine(runs) => Addresses::Affine(runs),
            Addresses::Pointers(pointers, distance) => {
                // SAFETY: registers stay where they are; the caller promises not to write this one.
                let pointers = unsafe { &*std::ptr::from_ref(pointers) };
                Addresses::Pointers(pointers, distance)
            }
            Addresses::Indexed {
                base,
                index,
                signed,
                scale,
            } => Addresses::Indexed {
                base,
                // SAFETY: as above.
                index: unsafe { &*std::ptr::from_ref(index) },
                signed,
                scale,
            },
        }
    }

    /// The addresses of all simdgroups, of a transfer whose address is affine.
    #[inline(always)]
    pub(super) fn affine_addresses(&self, t: &Transfer) -> AffineAddresses {
        let (base, scale, affine) = match t.index {
            None => {
                let affine = self.registers.wide.lazy.affine(t.base);
                (affine.base.wrapping_add(t.offset), 1, affine)
            }
            Some(Scaled { reg, signed, scale }) => {
                let affine = self.registers.narrow.lazy.affine(reg);
                let first = if signed {
                    i64::from(affine.base as i32) as u64
                } else {
                    affine.base
                };
                let distance = first.wrapping_mul(scale.into());
                let base = self.base(t).wrapping_add(distance);
                (base, i64::from(scale), affine)
            }
        };
        let stride = |bit: usize| i64::from(affine.strides.of_bit[bit]) * scale;
        let (second, half) = (base.wrapping_add_signed(stride(3)), stride(4));
        AffineAddresses {
            runs: AffineRuns {
                starts: [
                    base,
                    second,
                    base.wrapping_add_signed(half),
                    second.wrapping_add_signed(half),
                ],
                step: stride(0) as u64,
            },
            strides: affine.strides,
            scale,
        }
    }
}
