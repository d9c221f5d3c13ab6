//! Memory in huge pages, for buffers of several: threads that walk through them wait less for address translation, and they take fewer
//! page faults to fill.
//!
//! Asked for from the system directly. What an allocator hands out may have been used before, in small pages, and stays in those.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// Zeroed memory that begins a huge page, if the system has any to give; nothing depends on it.
#[derive(Debug)]
pub(crate) struct HugePages {
    first: NonNull<u8>,
    /// What was mapped: the first huge page begins somewhere in it.
    mapped: *mut u8,
    length: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for HugePages {}
// SAFETY: as above; it has no way to access it.
unsafe impl Sync for HugePages {}

impl HugePages {
    /// So many zero bytes; nothing if they are less than two pages, or the system declines.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        if len < 2 * HUGE {
            return None;
        }
        let length = len.checked_add(HUGE)?;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: new memory, wherever the system has room.
        let mapped: *mut u8 =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, flags) }
                .ok()?
                .cast();
        let first = mapped.wrapping_add((mapped as usize).next_multiple_of(HUGE) - mapped as usize);
        // SAFETY: inside what was mapped; advice changes neither contents nor addresses.
        let _ = unsafe { madvise(first.cast(), len, Advice::LinuxHugepage) };
        Some(Self {
            first: NonNull::new(first)?,
            mapped,
            length,
        })
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.first.as_ptr()
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // SAFETY: what `zeroed` mapped, and nobody borrows any more.
        let _ = unsafe { munmap(self.mapped.cast(), self.length) };
    }
}
