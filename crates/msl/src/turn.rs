//! How many compilers of this process run at once: one for each processor. A program that has sixteen threads compile at once would
//! else give each a sixteenth of the time in which it must end, and need sixteen times the memory.

use std::sync::{Condvar, Mutex, PoisonError};

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// The right to run a compiler, until it is dropped.
pub(crate) struct Turn(());

impl Turn {
    /// Waits for one.
    pub(crate) fn wait() -> Self {
        let most = std::thread::available_parallelism().map_or(2, usize::from);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        while *running >= most {
            running = ENDED.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        *running += 1;
        Self(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::Turn;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn no_more_run_at_once_than_there_are_processors() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    let _turn = Turn::wait();
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    now.fetch_sub(1, SeqCst);
                });
            }
        });
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        assert!(most.into_inner() <= processors);
    }
}
