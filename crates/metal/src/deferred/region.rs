//! Memory that the program sees at one address and kernels at another, so that the program can be locked out of it.

use crate::resource::lock;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, Weak};

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        access: i32,
        flags: i32,
        file: i32,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> i32;
    fn mprotect(at: *mut c_void, bytes: usize, access: i32) -> i32;
    fn memfd_create(name: *const c_char, flags: u32) -> i32;
    fn ftruncate(file: i32, bytes: i64) -> i32;
    fn close(file: i32) -> i32;
}

/// What the program may do in a region, as `mprotect` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Access {
    Nothing = 0,
    Read = 1,
    All = 3,
}

/// A region of whole pages.
#[derive(Debug)]
pub(crate) struct Region {
    number: u64,
    program: usize,
    kernels: usize,
    bytes: usize,
    access: AtomicU8,
    /// The program gave its pages back; what it has at that address is none of ours.
    gone: Mutex<bool>,
}

#[derive(Debug, Default)]
struct Regions {
    /// Those that the program has, by the address at which it sees them.
    all: BTreeMap<usize, Weak<Region>>,
    /// Those of `vm_allocate`.
    allocated: BTreeMap<usize, Arc<Region>>,
}

static REGIONS: Mutex<Regions> = Mutex::new(Regions {
    all: BTreeMap::new(),
    allocated: BTreeMap::new(),
});

/// Takes over the pages of `vm_allocate`.
pub(crate) fn start() {
    let _ = assay_foundation::system::PAGES.set((allocate, give_back));
}

fn allocate(bytes: usize) -> Option<usize> {
    let region = Region::with_room(bytes)?;
    let start = region.program;
    lock(&REGIONS).allocated.insert(start, region);
    Some(start)
}

/// `vm_deallocate` of a region. Its memory stays as long as commands that are put off have it.
fn give_back(start: usize, _bytes: usize) -> bool {
    let region = lock(&REGIONS).allocated.remove(&start);
    let Some(region) = region else { return false };
    region.unmap();
    true
}

/// The region of `vm_allocate` that a range lies in.
pub(crate) fn region_at(start: usize, bytes: usize) -> Option<Arc<Region>> {
    let regions = lock(&REGIONS);
    let (_, region) = regions.allocated.range(..=start).next_back()?;
    let end = start.checked_add(bytes)?;
    (end <= region.program + region.bytes).then(|| Arc::clone(region))
}

/// The region that the program sees at an address.
pub(super) fn find(address: usize) -> Option<Arc<Region>> {
    // The lock is let go of before the region: the last who has it takes the lock.
    let found = {
        let regions = lock(&REGIONS);
        let (_, region) = regions.all.range(..=address).next_back()?;
        region.upgrade()?
    };
    (address < found.program + found.bytes).then_some(found)
}

/// Returns true if a range is mapped for reading only.
pub(crate) fn is_constant(start: usize, bytes: usize) -> bool {
    if crate::settings::settings().skip != crate::settings::Skip::Unread {
        return false;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let end = start.saturating_add(bytes);
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    maps.lines().any(|line| {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let range = range.and_then(|(from, to)| Some((number(from)?, number(to)?)));
        let is_private_or_file = words.next().is_some_and(|access| access.starts_with("r--"));
        is_private_or_file && range.is_some_and(|(from, to)| from <= start && end <= to)
    })
}

impl Region {
    /// Zeroed pages. A process has room for some ten thousand regions: commands that are put off keep those that the program has let
    /// go of, so that these run where no more can be made.
    pub(crate) fn with_room(bytes: usize) -> Option<Arc<Self>> {
        Self::new(bytes).or_else(|| {
            super::run_all();
            Self::new(bytes)
        })
    }

    /// Zeroed pages.
    fn new(bytes: usize) -> Option<Arc<Self>> {
        const READ_WRITE: i32 = 3;
        const SHARED: i32 = 1;
        const CLOSE_ON_EXEC: u32 = 1;
        const PAGE: usize = 16 << 10;
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        static HANDLED: Once = Once::new();
        HANDLED.call_once(super::fault::start);
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        let length = i64::try_from(bytes).ok()?;
        // SAFETY: a file in memory that only this function has, mapped twice at places that the system chooses.
        let places = unsafe {
            let file = memfd_create(c"metal buffer".as_ptr(), CLOSE_ON_EXEC);
            if file < 0 {
                return None;
            }
            let has_room = ftruncate(file, length) == 0;
            let map = || mmap(null_mut(), bytes, READ_WRITE, SHARED, file, 0) as usize;
            let places = if has_room {
                [map(), map()]
            } else {
                [usize::MAX; 2]
            };
            close(file);
            places
        };
        let [program, kernels] = places;
        if places.contains(&usize::MAX) {
            for place in places.into_iter().filter(|place| *place != usize::MAX) {
                // SAFETY: mapped above, and used by nobody.
                unsafe { munmap(place as *mut c_void, bytes) };
            }
            return None;
        }
        let made = Arc::new(Self {
            number: NUMBERS.fetch_add(1, Relaxed),
            program,
            kernels,
            bytes,
            access: AtomicU8::new(Access::All as u8),
            gone: Mutex::new(false),
        });
        lock(&REGIONS).all.insert(program, Arc::downgrade(&made));
        Some(made)
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Where kernels see it.
    pub(crate) fn work(&self) -> usize {
        self.kernels
    }

    /// The address that the program has for one of kernels.
    pub(crate) fn seen_by_program(&self, address: usize) -> usize {
        address - self.kernels + self.program
    }

    /// The address that kernels have for one of the program.
    pub(crate) fn seen_by_kernels(&self, address: usize) -> usize {
        address - self.program + self.kernels
    }

    /// Lets the program do as much, and no more.
    pub(super) fn allow(&self, access: Access) {
        if self.access.swap(access as u8, Relaxed) == access as u8 {
            return;
        }
        let gone = lock(&self.gone);
        if !*gone {
            // SAFETY: pages of this mapping, which the program has not given back; an access that is not allowed waits in `fault`.
            unsafe {
                mprotect(
                    self.program as *mut c_void,
                    self.bytes,
                    i32::from(access as u8),
                )
            };
        }
    }

    /// The program's pages go away.
    fn unmap(&self) {
        let mut gone = lock(&self.gone);
        if !std::mem::replace(&mut *gone, true) {
            lock(&REGIONS).all.remove(&self.program);
            // SAFETY: the program has given them back, or nothing of it has them any more.
            unsafe { munmap(self.program as *mut c_void, self.bytes) };
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.unmap();
        // SAFETY: who binds it keeps it.
        unsafe { munmap(self.kernels as *mut c_void, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_the_same_bytes() {
        let region = Region::new(5).unwrap();
        let at = region.program + 3;
        assert_eq!(region.seen_by_program(region.seen_by_kernels(at)), at);
        // SAFETY: a byte of the region, seen twice.
        unsafe {
            (region.seen_by_kernels(at) as *mut u8).write(7);
            assert_eq!((at as *const u8).read(), 7);
        }
        assert_eq!(find(at).unwrap().number(), region.number());
        let start = region.program;
        drop(region);
        assert!(find(start).is_none());
    }

    #[test]
    fn what_is_mapped_for_reading_is_constant() {
        // Only asked where kernels are put off.
        assert!(!is_constant(0, 1));
    }
}
