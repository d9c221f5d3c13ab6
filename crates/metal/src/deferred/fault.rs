//! Accesses of the program to pages that it is locked out of.
//!
//! The handler of the signal does nothing but hand the address to a thread and wait: it may interrupt the program anywhere, so that it
//! must not allocate or lock. The thread runs what is needed, opens the pages, and the access is tried again. A fault anywhere else is
//! passed on to whoever handled such signals before.
//!
//! A system call that is given such memory does not fault: it fails with `EFAULT`. A child made by `fork` has no such thread and ends
//! by the signal.

use super::region;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

const SIGSEGV: i32 = 11;
/// `SA_SIGINFO`, `SA_RESTART`, `SA_ONSTACK`.
const FLAGS: i32 = 0x4 | 0x1000_0000 | 0x0800_0000;

/// `struct sigaction` of Linux's C libraries on 64-bit machines.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: i32,
    restorer: usize,
}

unsafe extern "C" {
    fn sigaction(signal: i32, new: *const Action, old: *mut Action) -> i32;
    fn pipe2(ends: *mut i32, flags: i32) -> i32;
    fn read(file: i32, to: *mut c_void, bytes: usize) -> isize;
    fn write(file: i32, from: *const c_void, bytes: usize) -> isize;
    fn poll(files: *mut c_void, count: usize, milliseconds: i32) -> i32;
    fn getpid() -> i32;
    fn __errno_location() -> *mut i32;
}

/// An access that waits.
struct Request {
    address: usize,
    /// 1 if it is to be tried again, 2 if it is none of ours.
    answer: AtomicU32,
}

/// Where requests go, and the process that answers them.
static PIPE: AtomicI32 = AtomicI32::new(-1);
static PROCESS: AtomicI32 = AtomicI32::new(0);
static BEFORE: OnceLock<Action> = OnceLock::new();
/// The last address that was tried again, and how often in a row: what faults for ever is not ours.
static LAST: AtomicUsize = AtomicUsize::new(0);
static TIMES: AtomicU32 = AtomicU32::new(0);

/// Handles faults from now on.
pub(super) fn start() {
    let mut ends = [-1; 2];
    // SAFETY: room for two numbers; 0x80000 closes them when another program is executed.
    if unsafe { pipe2(ends.as_mut_ptr(), 0x8_0000) } != 0 {
        assay_objc::diagnostics::fatal("faults cannot be handled: no pipe", &[]);
    }
    let [from, to] = ends;
    let thread = std::thread::Builder::new().name("metal faults".to_owned());
    if thread.spawn(move || answer(from)).is_err() {
        assay_objc::diagnostics::fatal("faults cannot be handled: no thread", &[]);
    }
    PIPE.store(to, Ordering::Release);
    // SAFETY: it has no preconditions.
    PROCESS.store(unsafe { getpid() }, Ordering::Release);
    let action = Action {
        handler: on_fault as *const () as usize,
        mask: [0; 16],
        flags: FLAGS,
        restorer: 0,
    };
    let mut before = MaybeUninit::<Action>::uninit();
    // SAFETY: both are of the C library's layout; it fills the second.
    unsafe {
        if sigaction(SIGSEGV, &raw const action, before.as_mut_ptr()) == 0 {
            let _ = BEFORE.set(before.assume_init());
        }
    }
}

/// Answers requests until the process ends.
fn answer(from: i32) {
    loop {
        let mut request: usize = 0;
        // SAFETY: room for an address.
        let got = unsafe { read(from, (&raw mut request).cast(), size_of::<usize>()) };
        if got != size_of::<usize>() as isize {
            continue;
        }
        // SAFETY: a handler that waits for the answer has it on its stack.
        let request = unsafe { &*(request as *const Request) };
        let found = region::find(request.address);
        if let Some(region) = &found {
            super::run_for(region);
        }
        let is_ours = found.is_some() && !is_endless(request.address);
        request
            .answer
            .store(if is_ours { 1 } else { 2 }, Ordering::Release);
    }
}

/// Returns true for an address that was opened again and again.
fn is_endless(address: usize) -> bool {
    const MOST: u32 = 1000;
    if LAST.swap(address, Ordering::Relaxed) != address {
        TIMES.store(0, Ordering::Relaxed);
    }
    TIMES.fetch_add(1, Ordering::Relaxed) > MOST
}

extern "C" fn on_fault(signal: i32, info: *mut c_void, context: *mut c_void) {
    // SAFETY: the system's own; the address of a fault is at byte 16 of `siginfo_t` on 64-bit machines.
    let (address, errno, process) = unsafe {
        (
            info.cast::<u8>().add(16).cast::<usize>().read(),
            *__errno_location(),
            getpid(),
        )
    };
    let mut is_ours = false;
    if process == PROCESS.load(Ordering::Acquire) {
        let request = Request {
            address,
            answer: AtomicU32::new(0),
        };
        let place = &raw const request as usize;
        // SAFETY: both calls may be made in handlers; the request lives until it is answered.
        unsafe {
            let sent = write(
                PIPE.load(Ordering::Acquire),
                (&raw const place).cast(),
                size_of::<usize>(),
            );
            while sent == size_of::<usize>() as isize && request.answer.load(Ordering::Acquire) == 0
            {
                poll(std::ptr::null_mut(), 0, 1);
            }
        }
        is_ours = request.answer.load(Ordering::Acquire) == 1;
    }
    // SAFETY: the interrupted code may be about to look at it.
    unsafe { *__errno_location() = errno };
    if !is_ours {
        pass_on(signal, info, context);
    }
}

/// Lets whoever handled faults before handle this one.
fn pass_on(signal: i32, info: *mut c_void, context: *mut c_void) {
    const SIGINFO: i32 = 4;
    let Some(before) = BEFORE.get() else { return };
    if before.handler <= 1 || before.flags & SIGINFO == 0 {
        // Tried again, the access ends the process as it would have, or reaches the older handler.
        // SAFETY: what the system gave us before.
        unsafe { sigaction(signal, before, std::ptr::null_mut()) };
        return;
    }
    // SAFETY: a handler with this flag is such a function.
    unsafe {
        type Handler = extern "C" fn(i32, *mut c_void, *mut c_void);
        let handler = std::mem::transmute::<usize, Handler>(before.handler);
        handler(signal, info, context);
    }
}
