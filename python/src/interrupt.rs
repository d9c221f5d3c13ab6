//! Ctrl-C while a kernel runs in the calling thread.
//!
//! A kernel of a few microseconds cannot afford another thread. Instead, as long as kernels run, a signal handler stands
//! before Python's: it sets the flag that the executor looks at, and calls Python's handler, which remembers the signal
//! for when the interpreter goes on. A host that ignores the signal, or leaves it to the system, keeps it that way.

use libc::{SA_SIGINFO, SIG_DFL, SIG_IGN, SIGINT, c_int, c_void, sigaction, siginfo_t};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

static STOP: AtomicBool = AtomicBool::new(false);

/// The handler before ours, for ours to call.
static BEFORE: AtomicUsize = AtomicUsize::new(SIG_DFL);
static BEFORE_TAKES_INFO: AtomicBool = AtomicBool::new(false);

/// Kernels that run, and what to restore after the last.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    count: 0,
    before: None,
});

struct Running {
    count: usize,
    before: Option<sigaction>,
}

extern "C" fn on_interrupt(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    STOP.store(true, Ordering::Relaxed);
    let before = BEFORE.load(Ordering::Relaxed);
    if before == SIG_DFL || before == SIG_IGN {
        return;
    }
    if BEFORE_TAKES_INFO.load(Ordering::Relaxed) {
        // SAFETY: `sigaction` gave this address as a handler with three parameters.
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(before) };
        handler(signal, info, context);
    } else {
        // SAFETY: as above, with one parameter.
        let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(before) };
        handler(signal);
    }
}

/// As long as it exists, Ctrl-C sets [`Watch::flag`].
pub(crate) struct Watch(());

impl Watch {
    pub(crate) fn start() -> Watch {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.count += 1;
        if running.count == 1 {
            STOP.store(false, Ordering::Relaxed);
            running.before = install();
        }
        Watch(())
    }

    /// Set when Ctrl-C was pressed.
    pub(crate) fn flag(&self) -> &'static AtomicBool {
        &STOP
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.count -= 1;
        if running.count == 0
            && let Some(before) = running.before.take()
        {
            restore(&before);
        }
    }
}

/// Puts our handler before the present one, unless there is none.
fn install() -> Option<sigaction> {
    // SAFETY: an all-zero `sigaction` is a valid value to be overwritten.
    let mut before: sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks only; `before` is valid for writes.
    if unsafe { sigaction(SIGINT, std::ptr::null(), &mut before) } != 0
        || [SIG_DFL, SIG_IGN].contains(&before.sa_sigaction)
    {
        return None;
    }
    BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
    BEFORE_TAKES_INFO.store(before.sa_flags & SA_SIGINFO != 0, Ordering::Relaxed);
    let ours = sigaction {
        sa_sigaction: on_interrupt as *const () as usize,
        sa_flags: before.sa_flags | SA_SIGINFO,
        ..before
    };
    // SAFETY: the handler stores an atomic and calls the handler that stood there: as safe in a signal as that one.
    let installed = unsafe { sigaction(SIGINT, &ours, std::ptr::null_mut()) } == 0;
    installed.then_some(before)
}

/// Takes our handler away, if nobody has replaced it meanwhile.
fn restore(before: &sigaction) {
    // SAFETY: an all-zero `sigaction` is a valid value to be overwritten.
    let mut present: sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks only; `present` is valid for writes.
    let asked = unsafe { sigaction(SIGINT, std::ptr::null(), &mut present) } == 0;
    if asked && present.sa_sigaction == on_interrupt as *const () as usize {
        // SAFETY: `before` is what the system gave us.
        unsafe { sigaction(SIGINT, before, std::ptr::null_mut()) };
    }
}
