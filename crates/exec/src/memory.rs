//! Addresses, and the regions of memory they point into.
//!
//! An address is a region number above bit 40 and an offset below it. Region 0 is nothing, so a
//! null pointer points nowhere; then come the buffers and the program's constant data; threadgroup and thread
//! memory have numbers of their own, so a pointer whose address space is not known works like any other. A
//! negative offset lands far beyond the end of the region before, and is found out of bounds.
//!
//! Buffers are shared by the workers, and a kernel may race; every access is therefore a relaxed atomic one of
//! the accessed size (an ordinary move to the CPU).

use crate::buffer::Buffer;
use crate::code::Cell;
use crate::error::FaultKind;
use crate::texture::Resource;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Bits of the offset.
pub(crate) const OFFSET_BITS: u32 = 40;
pub(crate) const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
/// Region of threadgroup memory.
pub(crate) const THREADGROUP: u64 = 0xf_0000;
/// Region of thread memory.
pub(crate) const THREAD: u64 = 0xf_0001;

/// A region of memory: a buffer, constant data, threadgroup memory or thread memory.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    base: *mut u8,
    pub(crate) len: u64,
    /// Bytes from one lane's copy to the next; 0 for memory that lanes share.
    lane_stride: u64,
    pub(crate) writable: bool,
    pub(crate) name: Cow<'static, str>,
    /// The index of the buffer it is, if one names it.
    pub(crate) buffer: Option<u32>,
    /// True for buffers, also those that no index names.
    pub(crate) is_buffer: bool,
    /// The texture or sampler that its address is the handle of.
    pub(crate) resource: Option<Resource>,
    /// Nothing had written it before the run: a check reports reads of what the kernel has not written.
    pub(crate) unwritten: bool,
}

// SAFETY: a region is only accessed through atomic operations, and its memory outlives it (`Region::new`).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Memory that lanes share.
    ///
    /// # Safety
    /// As long as the region or a copy of it is used, there must be `len` bytes from `base` on that are accessed through regions
    /// only; writable ones if `writable` is set.
    pub(crate) unsafe fn shared(
        base: *mut u8,
        len: usize,
        writable: bool,
        name: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            base,
            len: len as u64,
            lane_stride: 0,
            writable,
            name: name.into(),
            buffer: None,
            is_buffer: false,
            resource: None,
            unwritten: false,
        }
    }

    /// The memory of a buffer.
    ///
    /// # Safety
    /// As long as the region is used the buffer must not be moved out of, dropped or accessed otherwise.
    pub(crate) unsafe fn of_buffer(buffer: &mut Buffer, name: String) -> Self {
        let (base, len, writable) = (buffer.as_mut_ptr(), buffer.len(), buffer.is_writable());
        // SAFETY: the caller's promise.
        unsafe { Self::shared(base, len, writable, name) }
    }

    /// Memory of which each of 32 lanes has a copy of `len` bytes.
    ///
    /// # Safety
    /// As for [`Region::shared`], with 32 times as many bytes.
    pub(crate) unsafe fn per_lane(base: *mut u8, len: u32, name: &'static str) -> Self {
        Self {
            base,
            len: len.into(),
            lane_stride: len.into(),
            writable: true,
            name: name.into(),
            buffer: None,
            is_buffer: false,
            resource: None,
            unwritten: false,
        }
    }

    /// No memory: all accesses are out of bounds.
    pub(crate) fn nothing() -> Self {
        // SAFETY: there are no bytes to access.
        unsafe { Self::shared(std::ptr::NonNull::dangling().as_ptr(), 0, false, "") }
    }

    /// Where it begins for the CPU, its length, and whether it may be written: a row of the table that machine code looks
    /// regions up in. Memory that each lane has a copy of has no bytes there.
    #[cfg(feature = "native")]
    pub(crate) fn row(&self) -> [u64; 3] {
        let len = if self.lane_stride == 0 { self.len } else { 0 };
        [self.base as u64, len, self.writable.into()]
    }

    /// The bytes of memory that lanes share.
    ///
    /// # Safety
    /// Nothing else may write the region while the result is in use.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        if self.lane_stride != 0 {
            return &[];
        }
        // SAFETY: the region has that many bytes; the caller promises that they do not change.
        unsafe { std::slice::from_raw_parts(self.base, self.len as usize) }
    }

    /// Overwrites a writable region that lanes share, if it is as long as the bytes.
    ///
    /// # Safety
    /// Nothing else may access the region meanwhile.
    pub(crate) unsafe fn restore(&self, bytes: &[u8]) {
        if self.writable && self.lane_stride == 0 && bytes.len() as u64 == self.len {
            // SAFETY: the region has that many writable bytes; the caller promises that nothing else accesses them.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base, bytes.len()) };
        }
    }
}

/// The action of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    Write,
    Atomic,
}

impl Action {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic access",
        }
    }
}

/// All memory one simdgroup sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) shared: &'a [Region],
    pub(crate) threadgroup: &'a Region,
    pub(crate) thread: &'a Region,
}

/// Some bytes of a region, checked to be inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    start: *mut u8,
    len: u32,
    writable: bool,
    region: PhantomData<&'a Region>,
}

/// A region in which a range of addresses was checked to lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedRange<'a> {
    base: *mut u8,
    region: PhantomData<&'a Region>,
}

impl<'a> CheckedRange<'a> {
    /// Where an address of the range is.
    #[inline(always)]
    pub(crate) fn at(self, address: u64) -> *mut u8 {
        self.base.wrapping_add((address & OFFSET_MASK) as usize)
    }

    /// The bytes from an address of the range on, to be read.
    ///
    /// # Safety
    /// They must be inside the range that was checked.
    #[inline(always)]
    pub(crate) unsafe fn place(self, address: u64, len: u32) -> Place<'a> {
        Place {
            start: self.at(address),
            len,
            writable: false,
            region: PhantomData,
        }
    }
}

impl<'a> View<'a> {
    #[inline]
    fn region(&self, address: u64) -> Option<&'a Region> {
        match address >> OFFSET_BITS {
            THREADGROUP => Some(self.threadgroup),
            THREAD => Some(self.thread),
            0 => None,
            number => self.shared.get(number as usize),
        }
    }

    /// Returns true if a region holds texels.
    #[inline]
    pub(crate) fn is_texture(&self, number: u64) -> bool {
        let region = self.shared.get(number as usize);
        region.is_some_and(|region| region.resource.is_some())
    }

    /// Where an address of a buffer is on this machine; nothing for other memory.
    pub(crate) fn in_buffer(&self, address: u64) -> Option<u64> {
        let region = self.region(address)?;
        if !region.is_buffer {
            return None;
        }
        Some((region.base as u64).wrapping_add(address & OFFSET_MASK))
    }

    /// Checks an access of one lane.
    #[inline]
    pub(crate) fn place(
        &self,
        address: u64,
        size: u32,
        lane: usize,
        action: Action,
    ) -> Result<Place<'a>, FaultKind> {
        let found = self.find(address, size, lane, action);
        found.ok_or_else(|| self.fault(address, size, action))
    }

    /// The same without saying what is wrong, which takes longer than the access.
    #[inline]
    pub(crate) fn find(
        &self,
        address: u64,
        size: u32,
        lane: usize,
        action: Action,
    ) -> Option<Place<'a>> {
        let offset = address & OFFSET_MASK;
        match self.region(address) {
            Some(region)
                if offset + u64::from(size) <= region.len
                    && (action == Action::Read || region.writable) =>
            {
                // SAFETY: the access ends within the region's `len` bytes (of this lane's copy, if each lane has one).
                let start = unsafe {
                    region
                        .base
                        .add((offset + (lane as u64 & 31) * region.lane_stride) as usize)
                };
                Some(Place {
                    start,
                    len: size,
                    writable: region.writable,
                    region: PhantomData,
                })
            }
            _ => None,
        }
    }

    /// Checks accesses of `size` bytes at addresses from `first` up to `last`, all at once. Nothing if one of them might be wrong,
    /// or if each lane has its own memory: then each is to be checked by itself.
    #[inline(always)]
    pub(crate) fn check_range(
        &self,
        first: u64,
        last: u64,
        size: u32,
        action: Action,
    ) -> Option<CheckedRange<'a>> {
        let region = self.region(first)?;
        let fits = first <= last
            && first >> OFFSET_BITS == last >> OFFSET_BITS
            && (last & OFFSET_MASK) + u64::from(size) <= region.len
            && (action == Action::Read || region.writable)
            && region.lane_stride == 0;
        fits.then_some(CheckedRange {
            base: region.base,
            region: PhantomData,
        })
    }

    /// The region an address means, and the offset in it.
    pub(crate) fn locate(&self, address: u64) -> (Option<&'a Region>, i64) {
        let offset = (address & OFFSET_MASK) as i64;
        if offset >> (OFFSET_BITS - 1) == 0 {
            return (self.region(address), offset);
        }
        // Just below the start of the next region.
        let next = (address >> OFFSET_BITS).wrapping_add(1) << OFFSET_BITS;
        (self.region(next), offset - (1 << OFFSET_BITS))
    }

    /// What is wrong with an access that was not found.
    #[cold]
    pub(crate) fn fault(&self, address: u64, size: u32, action: Action) -> FaultKind {
        let (region, offset) = self.locate(address);
        match region {
            Some(region) if offset >= 0 && offset as u64 + u64::from(size) <= region.len => {
                FaultKind::ReadOnly {
                    target: region.name.to_string(),
                }
            }
            Some(region) if !region.name.is_empty() => FaultKind::OutOfBounds {
                action: action.name(),
                size,
                offset,
                target: region.name.to_string(),
                length: region.len,
            },
            _ => FaultKind::NoTarget {
                action: action.name(),
                size,
                address,
            },
        }
    }
}

/// A number of one size in memory, read and written whole by relaxed atomic operations.
pub(crate) trait Number: Copy + Default {
    /// Reads it from an aligned place.
    ///
    /// # Safety
    /// The place must be inside a region, and aligned.
    unsafe fn get(pointer: *mut u8) -> Self;
    /// Writes it to an aligned place.
    ///
    /// # Safety
    /// As for [`Number::get`].
    unsafe fn set(pointer: *mut u8, value: Self);
}

macro_rules! number {
    ($get:ident, $set:ident, $atomic:ty, $plain:ty) => {
        impl Number for $plain {
            #[inline(always)]
            unsafe fn get(pointer: *mut u8) -> Self {
                // SAFETY: inside a region and aligned, says the caller; others only use atomic operations.
                unsafe { (*pointer.cast::<$atomic>()).load(Relaxed) }
            }
            #[inline(always)]
            unsafe fn set(pointer: *mut u8, value: Self) {
                // SAFETY: as above.
                unsafe { (*pointer.cast::<$atomic>()).store(value, Relaxed) }
            }
        }

        impl Place<'_> {
            #[inline(always)]
            fn $get(self) -> $plain {
                if !self.holds(size_of::<$plain>()) {
                    return 0;
                }
                if (self.start as usize).is_multiple_of(size_of::<$plain>()) {
                    // SAFETY: inside the place and aligned.
                    return unsafe { <$plain>::get(self.start) };
                }
                let mut bytes = [0; size_of::<$plain>()];
                for (index, byte) in bytes.iter_mut().enumerate() {
                    // SAFETY: inside the place, byte by byte.
                    *byte = unsafe { u8::get(self.start.add(index)) };
                }
                <$plain>::from_le_bytes(bytes)
            }

            #[inline(always)]
            fn $set(self, value: $plain) {
                if !self.holds(size_of::<$plain>()) {
                    return;
                }
                if (self.start as usize).is_multiple_of(size_of::<$plain>()) {
                    // SAFETY: inside the place and aligned; it was checked for the action that is done now.
                    return unsafe { <$plain>::set(self.start, value) };
                }
                for (index, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: as above, byte by byte.
                    unsafe { u8::set(self.start.add(index), byte) };
                }
            }
        }
    };
}
number!(get8, set8, AtomicU8, u8);
number!(get16, set16, AtomicU16, u16);
number!(get32, set32, AtomicU32, u32);
number!(get64, set64, AtomicU64, u64);

impl Place<'_> {
    /// Returns true if so many bytes are inside what was checked.
    #[inline(always)]
    fn holds(self, bytes: usize) -> bool {
        self.len as usize >= bytes
    }

    /// The place some bytes further on.
    #[inline(always)]
    pub(crate) fn at(self, offset: u32) -> Self {
        Self {
            start: self.start.wrapping_add(offset as usize),
            len: self.len.saturating_sub(offset),
            ..self
        }
    }

    /// Reads a number; one that does not fit the place is zero.
    #[inline(always)]
    pub(crate) fn read(self, cell: Cell) -> u64 {
        match cell {
            Cell::Truth => u64::from(self.get8() != 0),
            Cell::Byte => u64::from(self.get8()),
            Cell::Short => u64::from(self.get16()),
            Cell::Word => u64::from(self.get32()),
            Cell::Long => self.get64(),
        }
    }

    /// Writes a number, if it fits the place and that was checked to be writable.
    #[inline(always)]
    pub(crate) fn write(self, cell: Cell, value: u64) {
        if !self.writable {
            return;
        }
        match cell {
            Cell::Truth => self.set8(value as u8 & 1),
            Cell::Byte => self.set8(value as u8),
            Cell::Short => self.set16(value as u16),
            Cell::Word => self.set32(value as u32),
            Cell::Long => self.set64(value),
        }
    }

    /// Replaces a number by a function of it, atomically. Returns the old one; nothing if it is misaligned or does not fit.
    pub(crate) fn update(self, cell: Cell, mut function: impl FnMut(u64) -> u64) -> Option<u64> {
        let bytes = cell.bytes() as usize;
        if !self.writable || !self.holds(bytes) || !(self.start as usize).is_multiple_of(bytes) {
            return None;
        }
        macro_rules! update {
            ($atomic:ty, $plain:ty) => {{
                // SAFETY: inside the place, writable and aligned.
                let number = unsafe { &*self.start.cast::<$atomic>() };
                let changed = number.fetch_update(Relaxed, Relaxed, |old| {
                    Some(function(u64::from(old)) as $plain)
                });
                changed.ok().map(u64::from)
            }};
        }
        match cell {
            Cell::Byte | Cell::Truth => update!(AtomicU8, u8),
            Cell::Short => update!(AtomicU16, u16),
            Cell::Word => update!(AtomicU32, u32),
            Cell::Long => update!(AtomicU64, u64),
        }
    }
}
