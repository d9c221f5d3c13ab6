//! Children made by `fork`. A child has none of its parent's threads, so nothing would run what it commits, and a lock that one of them
//! held is never given back. As on a Mac, a child of a process that has used Metal cannot use it: it is told so, and how to do without.

use crate::report::{self, wrong_use};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A queue was made, by this process or one that it was forked from.
static USED: AtomicBool = AtomicBool::new(false);
/// This process was forked from one that had made a queue.
static FORKED: AtomicBool = AtomicBool::new(false);

/// What a child is told.
pub(crate) const ADVICE: &str = "this process was forked from one that had used Metal, whose threads are not here: fork before Metal is \
     used, or start a program anew (posix_spawn, exec, in Python multiprocessing with \"spawn\")";

/// Metal is in use from now on.
pub(crate) fn used() {
    USED.store(true, Relaxed);
}

/// Returns true in a child that cannot use Metal.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// Tells a child that `what` it asked for cannot be. Returns true if this is such a child.
pub(crate) fn refused(what: &str) -> bool {
    if is_forked() {
        wrong_use(&format!("{what}: {ADVICE}"));
    }
    is_forked()
}

extern "C" fn child() {
    if USED.load(Relaxed) {
        FORKED.store(true, Relaxed);
        report::begin_anew();
    }
}

type Handler = Option<extern "C" fn()>;

unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> i32;
}

/// Has children noticed. Done when the shared object is loaded.
pub(crate) fn register() {
    // SAFETY: the function is there until the end; it only changes numbers.
    unsafe { pthread_atfork(None, None, Some(child)) };
}
