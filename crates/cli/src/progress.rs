//! How far a command is, told to whoever runs it in a process of its own.
//!
//! On a terminal a command draws a bar. The server for agents has no terminal: its worker process installs a listener
//! ([`listen`]) and passes steps on to the client. Without a listener every function here does nothing but look for one.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What a command does now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// What is done, or with a count what is counted.
    pub(crate) what: String,
    /// How much of it is finished, if that is known.
    pub(crate) count: Option<Count>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) done: u64,
    pub(crate) total: u64,
}

type Listener = Box<dyn Fn(Step) + Send + Sync>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Steps of this process are told to a function from now on.
#[cfg(feature = "mcp")]
pub(crate) fn listen(listener: Listener) {
    // A process has one task and one listener.
    let _ = LISTENER.set(listener);
}

/// Returns true if somebody listens.
pub(crate) fn is_heard() -> bool {
    LISTENER.get().is_some()
}

/// A stage begins whose length is not known.
pub(crate) fn stage(what: &str) {
    if let Some(listener) = LISTENER.get() {
        listener(Step {
            what: what.to_owned(),
            count: None,
        });
    }
}

/// So much of a stage is finished.
pub(crate) fn count(what: &str, done: u64, total: u64) {
    if let Some(listener) = LISTENER.get() {
        listener(Step {
            what: what.to_owned(),
            count: Some(Count {
                done: done.min(total),
                total,
            }),
        });
    }
}

/// How often a counter is looked at.
const PERIOD: Duration = Duration::from_millis(200);

/// Does some work while another thread looks at a counter and shows it, if `wanted`.
pub(crate) fn watched<T>(
    wanted: bool,
    counter: &AtomicU64,
    show: impl Fn(u64) + Sync,
    work: impl FnOnce() -> T,
) -> T {
    counter.store(0, Ordering::Relaxed);
    if !wanted {
        return work();
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            loop {
                std::thread::park_timeout(PERIOD);
                if finished.load(Ordering::Acquire) {
                    return;
                }
                show(counter.load(Ordering::Relaxed));
            }
        });
        let result = work();
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_counter_is_shown_while_work_goes_on_and_not_afterwards() {
        let counter = AtomicU64::new(7);
        let shown = Mutex::new(Vec::new());
        let result = watched(
            true,
            &counter,
            |done| shown.lock().unwrap().push(done),
            || {
                counter.store(3, Ordering::Relaxed);
                while shown.lock().unwrap().is_empty() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                "done"
            },
        );
        assert_eq!(result, "done");
        let shown = shown.into_inner().unwrap();
        assert!(shown.iter().all(|&done| done == 3), "{shown:?}");
        let nothing = watched(false, &counter, |_| panic!("not wanted"), || 1);
        assert_eq!(nothing, 1);
    }
}
