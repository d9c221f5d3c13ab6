//! Addresses, and what they point into.
//!
//! An address is a region number above bit 40 and an offset below it. Region 0 is nothing, so a
//! null pointer points nowhere; then come the buffers and the program's constant data; threadgroup and thread
//! memory have numbers of their own, so a pointer whose address space is not known works like any other. A
//! negative offset lands far beyond the end of the region before, and is found out of bounds.
//!
//! Buffers are shared by the workers, and a kernel may race; every access is therefore a relaxed atomic one of
//! the accessed size (an ordinary move to the CPU).

use crate::code::Cell;
use crate::error::FaultKind;
use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Bits of the offset.
pub(crate) const OFFSET_BITS: u32 = 40;
pub(crate) const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
/// Region of threadgroup memory.
pub(crate) const THREADGROUP: u64 = 0xf_0000;
/// Region of thread memory.
pub(crate) const THREAD: u64 = 0xf_0001;

/// A piece of memory.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) base: *mut u8,
    pub(crate) len: u64,
    /// Bytes from one lane's copy to the next; 0 for memory that lanes share.
    pub(crate) lane_stride: u64,
    pub(crate) writable: bool,
    pub(crate) name: Cow<'static, str>,
    /// The index of the buffer it is, if it is one.
    pub(crate) buffer: Option<u32>,
}

// SAFETY: a region is only accessed through atomic operations, and what it points to outlives the dispatch.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn nothing() -> Self {
        Self {
            base: std::ptr::null_mut(),
            len: 0,
            lane_stride: 0,
            writable: false,
            name: Cow::Borrowed(""),
            buffer: None,
        }
    }
}

/// What an access is for.
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

/// A place in memory that was found to hold as many bytes as asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(*mut u8);

/// The start of a region in which a range of addresses was found to lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch(*mut u8);

impl Stretch {
    /// Where an address of the range is.
    #[inline(always)]
    pub(crate) fn at(self, address: u64) -> *mut u8 {
        self.0.wrapping_add((address & OFFSET_MASK) as usize)
    }

    /// The same, to read or write numbers of any kind.
    #[inline(always)]
    pub(crate) fn place(self, address: u64) -> Place {
        Place(self.at(address))
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

    /// Checks an access.
    #[inline]
    pub(crate) fn place(
        &self,
        address: u64,
        size: u32,
        lane: usize,
        action: Action,
    ) -> Result<Place, FaultKind> {
        let offset = address & OFFSET_MASK;
        match self.region(address) {
            Some(region)
                if offset + u64::from(size) <= region.len
                    && (action == Action::Read || region.writable) =>
            {
                // SAFETY: the access ends within the region's `len` bytes (of this lane's copy, if each lane has one).
                Ok(Place(unsafe {
                    region
                        .base
                        .add((offset + lane as u64 * region.lane_stride) as usize)
                }))
            }
            _ => Err(self.fault(address, size, action)),
        }
    }

    /// Checks accesses of `size` bytes from `first` up to `last`, all at once. Nothing if one of them might be wrong, or
    /// if each lane has its own memory: then each is to be checked by itself.
    #[inline(always)]
    pub(crate) fn stretch(
        &self,
        first: u64,
        last: u64,
        size: u32,
        action: Action,
    ) -> Option<Stretch> {
        let region = self.region(first)?;
        let fits = first <= last
            && first >> OFFSET_BITS == last >> OFFSET_BITS
            && (last & OFFSET_MASK) + u64::from(size) <= region.len
            && (action == Action::Read || region.writable)
            && region.lane_stride == 0;
        fits.then_some(Stretch(region.base))
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

    #[cold]
    fn fault(&self, address: u64, size: u32, action: Action) -> FaultKind {
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

macro_rules! access {
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
        #[inline(always)]
        fn $get(pointer: *mut u8) -> $plain {
            if pointer as usize % size_of::<$plain>() == 0 {
                // SAFETY: inside a region (see `View::place`) and aligned.
                unsafe { <$plain>::get(pointer) }
            } else {
                let mut bytes = [0; size_of::<$plain>()];
                for (index, byte) in bytes.iter_mut().enumerate() {
                    // SAFETY: as above, byte by byte.
                    *byte = unsafe { u8::get(pointer.add(index)) };
                }
                <$plain>::from_le_bytes(bytes)
            }
        }
        #[inline(always)]
        fn $set(pointer: *mut u8, value: $plain) {
            if pointer as usize % size_of::<$plain>() == 0 {
                // SAFETY: as above.
                unsafe { <$plain>::set(pointer, value) }
            } else {
                for (index, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: as above, byte by byte.
                    unsafe { u8::set(pointer.add(index), byte) };
                }
            }
        }
    };
}
access!(get8, set8, AtomicU8, u8);
access!(get16, set16, AtomicU16, u16);
access!(get32, set32, AtomicU32, u32);
access!(get64, set64, AtomicU64, u64);

impl Place {
    /// The place some bytes further; still inside what was checked.
    #[inline(always)]
    pub(crate) fn at(self, offset: u32) -> Self {
        Self(self.0.wrapping_add(offset as usize))
    }

    #[inline(always)]
    pub(crate) fn read(self, cell: Cell) -> u64 {
        match cell {
            Cell::Truth => u64::from(get8(self.0) != 0),
            Cell::Byte => u64::from(get8(self.0)),
            Cell::Short => u64::from(get16(self.0)),
            Cell::Word => u64::from(get32(self.0)),
            Cell::Long => get64(self.0),
        }
    }

    #[inline(always)]
    pub(crate) fn write(self, cell: Cell, value: u64) {
        match cell {
            Cell::Truth => set8(self.0, value as u8 & 1),
            Cell::Byte => set8(self.0, value as u8),
            Cell::Short => set16(self.0, value as u16),
            Cell::Word => set32(self.0, value as u32),
            Cell::Long => set64(self.0, value),
        }
    }

    /// Replaces the number by a function of it, atomically; gives the old one. Nothing if misaligned.
    pub(crate) fn update(self, cell: Cell, mut function: impl FnMut(u64) -> u64) -> Option<u64> {
        if !(self.0 as usize).is_multiple_of(cell.bytes() as usize) {
            return None;
        }
        match cell {
            Cell::Word => {
                // SAFETY: inside a region and aligned.
                let word = unsafe { &*self.0.cast::<AtomicU32>() };
                let changed =
                    word.fetch_update(
                        Relaxed,
                        Relaxed,
                        |old| Some(function(u64::from(old)) as u32),
                    );
                changed.ok().map(u64::from)
            }
            Cell::Long => {
                // SAFETY: inside a region and aligned.
                let word = unsafe { &*self.0.cast::<AtomicU64>() };
                word.fetch_update(Relaxed, Relaxed, |old| Some(function(old)))
                    .ok()
            }
            Cell::Short => {
                // SAFETY: inside a region and aligned.
                let word = unsafe { &*self.0.cast::<AtomicU16>() };
                let changed =
                    word.fetch_update(
                        Relaxed,
                        Relaxed,
                        |old| Some(function(u64::from(old)) as u16),
                    );
                changed.ok().map(u64::from)
            }
            Cell::Byte | Cell::Truth => {
                // SAFETY: inside a region.
                let word = unsafe { &*self.0.cast::<AtomicU8>() };
                let changed =
                    word.fetch_update(Relaxed, Relaxed, |old| Some(function(u64::from(old)) as u8));
                changed.ok().map(u64::from)
            }
        }
    }
}
