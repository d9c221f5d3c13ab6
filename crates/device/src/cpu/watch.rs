//! Stopping what runs: on request, or when its time is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

#[cfg(not(target_arch = "wasm32"))]
use std::time::Instant;
#[cfg(target_arch = "wasm32")]
use web_time::Instant;

/// How often a request to stop is looked for.
const PERIOD: Duration = Duration::from_millis(20);

/// Runs `work` with a flag that is set when it should stop.
pub(super) fn watched<T>(
    request: Option<&AtomicBool>,
    deadline: Option<Instant>,
    work: impl FnOnce(&AtomicBool) -> T,
) -> T {
    let stop = AtomicBool::new(false);
    // WebAssembly has no thread that could watch: steps bound a run there, and whoever started it ends its worker.
    if cfg!(target_arch = "wasm32") || request.is_none() && deadline.is_none() {
        return work(&stop);
    }
    let done = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| watch(request, deadline, &done, &stop));
        let result = work(&stop);
        *done.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        done.1.notify_one();
        result
    })
}

fn watch(
    request: Option<&AtomicBool>,
    deadline: Option<Instant>,
    (done, changed): &(Mutex<bool>, Condvar),
    stop: &AtomicBool,
) {
    let mut finished = done.lock().unwrap_or_else(PoisonError::into_inner);
    while !*finished {
        let asked = request.is_some_and(|request| request.load(Ordering::Relaxed));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if asked || left == Some(Duration::ZERO) {
            stop.store(true, Ordering::Relaxed);
            return;
        }
        let mut pause = left.unwrap_or(PERIOD);
        if request.is_some() {
            pause = pause.min(PERIOD);
        }
        finished = match changed.wait_timeout(finished, pause) {
            Ok((finished, _)) => finished,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
}
