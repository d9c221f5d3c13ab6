//! What C programs ask of macOS: the machine's facts by name, the clock, light locks, a little CoreFoundation.

use crate::string::text;
use assay_objc::Id;
use assay_objc::pool::{objc_release, objc_retain};
use std::ffi::{CStr, c_char, c_void};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Number of CPUs.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Memory of the machine in bytes.
pub fn memory() -> u64 {
    let facts = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = facts
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(8 << 20) * 1024
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds of a clock that only goes forward.
pub fn nanoseconds() -> u64 {
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX) + 1
}

/// A fact of the machine.
enum Fact {
    Number(u64),
    Text(&'static str),
}

/// What `sysctlbyname` answers: the host's memory and CPUs, the names of an Apple machine.
fn fact(name: &str) -> Option<Fact> {
    Some(match name {
        "hw.memsize" | "hw.physmem" => Fact::Number(memory()),
        "hw.pagesize" => Fact::Number(16384),
        "hw.ncpu"
        | "hw.logicalcpu"
        | "hw.physicalcpu"
        | "hw.perflevel0.logicalcpu"
        | "hw.perflevel0.physicalcpu" => Fact::Number(processors() as u64),
        "iogpu.wired_limit_mb" => Fact::Number(0),
        "iogpu.rsrc_limit" => Fact::Number(499_000),
        "machdep.cpu.brand_string" => Fact::Text("Apple M2"),
        "hw.model" => Fact::Text("Mac14,3"),
        "hw.machine" => Fact::Text("arm64"),
        "kern.osproductversion" => Fact::Text("15.5"),
        "kern.osrelease" => Fact::Text("24.5.0"),
        _ => return None,
    })
}

/// `sysctlbyname`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sysctlbyname(
    name: *const c_char,
    to: *mut u8,
    room: *mut usize,
    _new: *const c_void,
    _new_length: usize,
) -> i32 {
    if name.is_null() {
        return -1;
    }
    // SAFETY: the caller's name ends with NUL, and its room is as it says.
    unsafe {
        let Some(fact) = CStr::from_ptr(name).to_str().ok().and_then(fact) else {
            return -1;
        };
        let bytes = match fact {
            Fact::Number(value) => value.to_le_bytes().to_vec(),
            Fact::Text(text) => [text.as_bytes(), b"\0"].concat(),
        };
        let Some(room) = room.as_mut() else { return 0 };
        let count = if to.is_null() {
            bytes.len()
        } else {
            bytes.len().min(*room)
        };
        if !to.is_null() {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, count);
        }
        *room = count;
        0
    }
}

/// `mach_absolute_time`, in nanoseconds: [`mach_timebase_info`] says 1.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mach_absolute_time() -> u64 {
    nanoseconds()
}

/// `mach_timebase_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mach_timebase_info(ratio: *mut [u32; 2]) -> i32 {
    // SAFETY: the caller's place is writable.
    unsafe { *ratio = [1, 1] };
    0
}

/// `clock_gettime_nsec_np`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn clock_gettime_nsec_np(_clock: i32) -> u64 {
    nanoseconds()
}

/// `vm_page_size`: that of the machine programs are told they run on.
#[unsafe(no_mangle)]
pub static vm_page_size: usize = 16384;

/// `mach_task_self`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mach_task_self() -> u32 {
    std::process::id()
}

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
}

/// Makes and gives back pages, where the runtime over this one wants to know them: zeroed pages of so many bytes, and whether a range
/// was of that kind.
pub type PageMaker = (fn(usize) -> Option<usize>, fn(usize, usize) -> bool);

/// Who makes the pages of `vm_allocate`, if not the system.
pub static PAGES: std::sync::OnceLock<PageMaker> = std::sync::OnceLock::new();

/// `KERN_NO_SPACE`.
const NO_SPACE: i32 = 3;

/// `vm_allocate`: zeroed pages, wherever there is room.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn vm_allocate(
    _task: u32,
    place: *mut usize,
    bytes: usize,
    _flags: i32,
) -> i32 {
    const READ_WRITE: i32 = 3;
    const PRIVATE_ANONYMOUS: i32 = 0x22;
    if let Some((make, _)) = PAGES.get() {
        let Some(start) = make(bytes.max(1)) else {
            return NO_SPACE;
        };
        // SAFETY: the caller's word is writable.
        unsafe { *place = start };
        return 0;
    }
    // SAFETY: new pages, at a place the system chooses; the caller's word is writable.
    unsafe {
        let start = mmap(
            std::ptr::null_mut(),
            bytes.max(1),
            READ_WRITE,
            PRIVATE_ANONYMOUS,
            -1,
            0,
        ) as usize;
        if start == usize::MAX {
            return NO_SPACE;
        }
        *place = start;
    }
    0
}

/// `vm_deallocate`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn vm_deallocate(_task: u32, start: usize, bytes: usize) -> i32 {
    if let Some((_, give_back)) = PAGES.get()
        && give_back(start, bytes)
    {
        return 0;
    }
    // SAFETY: the caller got these pages from `vm_allocate` and no longer uses them.
    unsafe { munmap(start as *mut c_void, bytes.max(1)) }
}

/// `os_unfair_lock_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn os_unfair_lock_lock(lock: *const AtomicU32) {
    // SAFETY: the caller's lock is one.
    while unsafe { &*lock }.swap(1, Ordering::Acquire) != 0 {
        std::thread::yield_now();
    }
}

/// `os_unfair_lock_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn os_unfair_lock_trylock(lock: *const AtomicU32) -> bool {
    // SAFETY: as above.
    unsafe { &*lock }.swap(1, Ordering::Acquire) == 0
}

/// `os_unfair_lock_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn os_unfair_lock_unlock(lock: *const AtomicU32) {
    // SAFETY: as above.
    unsafe { &*lock }.store(0, Ordering::Release);
}

/// `CFRetain`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn CFRetain(object: Id) -> Id {
    // SAFETY: the caller's object is alive.
    unsafe { objc_retain(object) }
}

/// `CFRelease`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn CFRelease(object: Id) {
    // SAFETY: the reference is the caller's.
    unsafe { objc_release(object) }
}

/// `CFStringGetCString`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn CFStringGetCString(
    string: Id,
    to: *mut u8,
    room: isize,
    _encoding: u32,
) -> u8 {
    // SAFETY: the caller passes a string and room as it says.
    unsafe {
        let bytes = text(string).as_bytes();
        if isize::try_from(bytes.len()).is_ok_and(|length| length < room) {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            *to.add(bytes.len()) = 0;
            return 1;
        }
        0
    }
}

/// `CFStringGetLength`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn CFStringGetLength(string: Id) -> isize {
    // SAFETY: the caller passes a string.
    let units = unsafe { text(string) }.encode_utf16().count();
    isize::try_from(units).unwrap_or(isize::MAX)
}

/// Constants that are strings: clang's layout, filled when the classes are registered.
macro_rules! constants {
    ($($name:ident = $text:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            pub static $name: std::sync::atomic::AtomicPtr<assay_objc::Object> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        )*
        /// Makes the strings.
        pub(crate) fn register() {
            $($name.store(crate::string::string($text).into_owned(), Ordering::Release);)*
        }
    };
}
constants! {
    NSLocalizedDescriptionKey = "NSLocalizedDescription";
    NSCocoaErrorDomain = "NSCocoaErrorDomain";
    NSFileType = "NSFileType";
    NSFileTypeSymbolicLink = "NSFileTypeSymbolicLink";
    NSFileTypeDirectory = "NSFileTypeDirectory";
    NSFileTypeRegular = "NSFileTypeRegular";
    NSFileSize = "NSFileSize";
    NSInvalidArgumentException = "NSInvalidArgumentException";
    NSDefaultRunLoopMode = "kCFRunLoopDefaultMode";
}
