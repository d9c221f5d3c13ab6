//! Work in a thread of its own, while the calling thread listens for signals.
//!
//! Only Python's main thread handles signals, and only when it asks. So the work goes to another thread, with a stack
//! that deep inputs do not exhaust, and the caller looks for Ctrl-C every few milliseconds.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often signals are looked for.
const PERIOD: Duration = Duration::from_millis(50);

/// How long work that was asked to stop is waited for. What does not stop by then goes on unobserved, and its result
/// is dropped.
const PATIENCE: Duration = Duration::from_millis(400);

/// Bytes of stack.
const STACK: usize = 64 << 20;

/// Runs `work` without the interpreter's lock. A signal handler's exception ends the wait.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().stack_size(STACK);
    // A failure to send means that nobody waits any more.
    let spawned = thread.spawn(move || drop(sender.send(work())));
    spawned.map_err(|error| PyRuntimeError::new_err(format!("no thread: {error}")))?;
    // The lock of a channel's end is never contended: `Mutex` only makes it shareable with the closure.
    let receiver = std::sync::Mutex::new(receiver);
    let wait = |period: Duration| {
        py.detach(|| match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(period),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        })
    };
    loop {
        match wait(PERIOD) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "assay failed in a way it should not; please report it with the input",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(exception) = py.check_signals() {
            assay_metal::api::request_stop(true);
            let _ = wait(PATIENCE);
            assay_metal::api::request_stop(false);
            return Err(exception);
        }
    }
}
