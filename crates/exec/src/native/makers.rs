//! Who makes machine code in the background: a few threads for all programs of the process. Each runs a clang for seconds, and the
//! kernels that wait for code run meanwhile: a clang for each kernel that is worth it would take the machine from them all.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Code that is to be made.
pub(super) trait Order: Send + 'static {
    /// How much time interpreting has taken so far: who has waited longest comes first.
    fn taken(&self) -> Duration;

    fn make(self);

    /// There is nobody to make it.
    fn refuse(self, why: String);
}

/// A queue of orders and how many threads work on it.
#[derive(Debug)]
pub(super) struct Makers<O>(Mutex<Waiting<O>>);

#[derive(Debug)]
struct Waiting<O> {
    orders: Vec<O>,
    working: usize,
}

impl<O: Order> Makers<O> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Waiting {
            orders: Vec::new(),
            working: 0,
        }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has an order made when its turn comes.
    pub(super) fn add(&'static self, order: O) {
        let mut waiting = self.waiting();
        waiting.orders.push(order);
        if waiting.working >= most() {
            return;
        }
        waiting.working += 1;
        drop(waiting);
        let thread = std::thread::Builder::new().name("assay native".to_owned());
        if let Err(why) = thread.spawn(|| self.work()) {
            self.cannot_work(&format!("no thread to make it: {why}"));
        }
    }

    /// An order whose turn has not come.
    pub(super) fn take(&self, is_it: impl Fn(&O) -> bool) -> Option<O> {
        let mut waiting = self.waiting();
        let at = waiting.orders.iter().position(is_it)?;
        Some(waiting.orders.swap_remove(at))
    }

    /// Makes what waits, until nothing does.
    fn work(&self) {
        while let Some(order) = self.next() {
            order.make();
        }
    }

    /// The next order; with none, the thread is counted out under the same lock, so that an order added then starts another.
    fn next(&self) -> Option<O> {
        let mut waiting = self.waiting();
        let all = waiting.orders.iter().enumerate();
        match all.max_by_key(|(_, order)| order.taken()).map(|(at, _)| at) {
            Some(at) => Some(waiting.orders.swap_remove(at)),
            None => {
                waiting.working -= 1;
                None
            }
        }
    }

    /// One thread less; without any, nothing may be left waiting.
    fn cannot_work(&self, why: &str) {
        let mut waiting = self.waiting();
        waiting.working -= 1;
        let left = match waiting.working {
            0 => std::mem::take(&mut waiting.orders),
            _ => Vec::new(),
        };
        drop(waiting);
        for order in left {
            order.refuse(why.to_owned());
        }
    }
}

/// One processor is left to what the code is made for.
fn most() -> usize {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    processors.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    static MADE: Mutex<Vec<u64>> = Mutex::new(Vec::new());

    struct Slow(u64);

    impl Order for Slow {
        fn taken(&self) -> Duration {
            Duration::from_secs(self.0)
        }

        fn make(self) {
            MOST.fetch_max(NOW.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            NOW.fetch_sub(1, SeqCst);
            MADE.lock().unwrap().push(self.0);
        }

        fn refuse(self, why: String) {
            panic!("{why}");
        }
    }

    #[test]
    fn few_work_at_once_and_the_longest_waiting_comes_first() {
        static MAKERS: Makers<Slow> = Makers::new();
        for taken in 0..40 {
            MAKERS.add(Slow(taken));
        }
        let mine = MAKERS.take(|order| order.0 == 3).expect("it waits");
        assert_eq!(mine.0, 3);
        let all = || MADE.lock().unwrap().len() == 39;
        for _ in 0..2000 {
            if all() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(all());
        assert!(MOST.load(SeqCst) <= most());
        let made = MADE.lock().unwrap().clone();
        let place = |taken: u64| made.iter().position(|one| *one == taken).unwrap();
        assert!(place(39) < place(20) && place(20) < place(4));
        assert!(!made.contains(&3));
    }
}
