//! Every recording thread has its own cells; a thread that ends passes them on.
//!
//! A shard is claimed with a thread's first sample and returned when the thread ends, its
//! figures untouched, for the next thread to continue. So there are never more shards
//! than threads recording at the same time, and nothing is lost when a worker dies. Past
//! a limit, and in a thread's last moments, samples go to one shared shard under a lock:
//! slower, as exact.

use crate::cell::{Cell, Read, Totals};
use crate::histogram::Counts;
use crate::label::LabelId;
use crate::sync::lock;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Which table a sample belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    CommandBuffers,
    Kernels,
}

/// The cells of one thread at a time.
pub(crate) struct Shard {
    command_buffers: Box<[OnceLock<Box<Cell>>]>,
    kernels: Box<[OnceLock<Box<Cell>>]>,
}

impl Shard {
    fn new(labels: usize) -> Shard {
        let cells = || (0..labels).map(|_| OnceLock::new()).collect();
        Shard {
            command_buffers: cells(),
            kernels: cells(),
        }
    }

    #[inline]
    fn cells(&self, table: Table) -> &[OnceLock<Box<Cell>>] {
        match table {
            Table::CommandBuffers => &self.command_buffers,
            Table::Kernels => &self.kernels,
        }
    }

    /// Adds a sample; for the thread that holds the shard.
    #[inline]
    fn record(&self, table: Table, label: LabelId, epoch: u64, ns: u64) {
        let cells = self.cells(table);
        // A number no label has goes to the overflow label, which always exists.
        let Some(cell) = cells.get(label.0 as usize).or(cells.first()) else {
            return;
        };
        match cell.get() {
            Some(cell) => cell.record(epoch, ns),
            None => Self::first_record(cell, epoch, ns),
        }
    }

    #[cold]
    fn first_record(cell: &OnceLock<Box<Cell>>, epoch: u64, ns: u64) {
        cell.get_or_init(|| Box::new(Cell::new())).record(epoch, ns);
    }
}

/// All shards of one recorder.
pub(crate) struct Shards {
    /// Tells recorders apart in a thread's list; never used twice.
    recorder: u64,
    labels: usize,
    limit: usize,
    /// Raised by a reset.
    epoch: AtomicU64,
    all: Mutex<Vec<Arc<Shard>>>,
    free: Mutex<Vec<Arc<Shard>>>,
    shared: Mutex<Arc<Shard>>,
}

/// A shard in a thread's hands.
struct Held {
    recorder: u64,
    shard: Arc<Shard>,
    home: Weak<Shards>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            lock(&home.free).push(Arc::clone(&self.shard));
        }
    }
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

impl Shards {
    /// `labels` cells a table in each of at most `limit` shards beside the shared one.
    pub(crate) fn new(labels: usize, limit: usize) -> Shards {
        static RECORDERS: AtomicU64 = AtomicU64::new(1);
        let shared = Arc::new(Shard::new(labels));
        Shards {
            recorder: RECORDERS.fetch_add(1, Ordering::Relaxed),
            labels,
            limit,
            epoch: AtomicU64::new(1),
            all: Mutex::new(vec![Arc::clone(&shared)]),
            free: Mutex::new(Vec::new()),
            shared: Mutex::new(shared),
        }
    }

    /// Adds a sample to the calling thread's cells.
    #[inline]
    pub(crate) fn record(self: &Arc<Self>, table: Table, label: LabelId, ns: u64) {
        // Relaxed is enough: whoever knows that a reset has returned also sees its epoch.
        let epoch = self.epoch.load(Ordering::Relaxed);
        let done = HELD.try_with(|held| {
            // Borrowed already only if an allocator called from below records in turn.
            let Ok(held) = held.try_borrow() else {
                return false;
            };
            let own = held.iter().find(|held| held.recorder == self.recorder);
            own.map(|held| held.shard.record(table, label, epoch, ns))
                .is_some()
        });
        if done != Ok(true) {
            self.record_slowly(table, label, ns);
        }
    }

    #[cold]
    fn record_slowly(self: &Arc<Self>, table: Table, label: LabelId, ns: u64) {
        let claimed = HELD.try_with(|held| {
            let Ok(mut held) = held.try_borrow_mut() else {
                return false;
            };
            // Shards of recorders that no longer exist need not be kept.
            held.retain(|held| held.home.strong_count() > 0);
            let Some(shard) = self.claim() else {
                return false;
            };
            let epoch = self.epoch.load(Ordering::Relaxed);
            shard.record(table, label, epoch, ns);
            held.push(Held {
                recorder: self.recorder,
                shard,
                home: Arc::downgrade(self),
            });
            true
        });
        if claimed != Ok(true) {
            let shared = lock(&self.shared);
            // Read under the lock, so that the epoch of a cell never goes back.
            let epoch = self.epoch.load(Ordering::Relaxed);
            shared.record(table, label, epoch, ns);
        }
    }

    /// A shard no other thread uses, unless there are too many already.
    fn claim(&self) -> Option<Arc<Shard>> {
        if let Some(shard) = lock(&self.free).pop() {
            return Some(shard);
        }
        let mut all = lock(&self.all);
        (all.len() <= self.limit).then(|| {
            let shard = Arc::new(Shard::new(self.labels));
            all.push(Arc::clone(&shard));
            shard
        })
    }

    /// Starts a new epoch. Callers hold the recorder's control lock.
    pub(crate) fn reset(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// A label's figures over all threads. Callers hold the recorder's control lock.
    pub(crate) fn read(&self, table: Table, label: LabelId, counts: &mut Counts) -> (Totals, Read) {
        let epoch = self.epoch.load(Ordering::Acquire);
        let mut totals = Totals::EMPTY;
        let mut read = Read::Consistent;
        for shard in lock(&self.all).iter() {
            let cell = shard.cells(table).get(label.0 as usize);
            if let Some(cell) = cell.and_then(OnceLock::get)
                && cell.read(epoch, &mut totals, counts) == Read::Torn
            {
                read = Read::Torn;
            }
        }
        (totals, read)
    }

    #[cfg(all(test, not(loom)))]
    fn count(&self) -> usize {
        lock(&self.all).len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn totals(shards: &Shards) -> Totals {
        shards
            .read(Table::CommandBuffers, LabelId(0), &mut Counts::new())
            .0
    }

    #[test]
    fn threads_that_end_pass_their_cells_on() {
        let shards = Arc::new(Shards::new(1, 64));
        for _ in 0..100 {
            let shards = Arc::clone(&shards);
            std::thread::spawn(move || shards.record(Table::CommandBuffers, LabelId(0), 5))
                .join()
                .unwrap();
        }
        assert_eq!(totals(&shards).count, 100);
        assert_eq!(
            shards.count(),
            2,
            "the shared shard and one that was handed on"
        );
    }

    #[test]
    fn threads_past_the_limit_are_counted_too() {
        let shards = Arc::new(Shards::new(1, 2));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        shards.record(Table::CommandBuffers, LabelId(0), 5);
                    }
                });
            }
        });
        assert_eq!(totals(&shards).total, 8 * 1000 * 5);
        assert!(shards.count() <= 3);
    }

    #[test]
    fn one_thread_may_feed_several_recorders() {
        let (a, b) = (Arc::new(Shards::new(1, 4)), Arc::new(Shards::new(1, 4)));
        for n in 0..10 {
            a.record(Table::CommandBuffers, LabelId(0), 1);
            if n % 2 == 0 {
                b.record(Table::CommandBuffers, LabelId(0), 1);
            }
        }
        assert_eq!((totals(&a).count, totals(&b).count), (10, 5));
    }

    #[test]
    fn a_recorder_that_is_gone_leaves_nothing_behind_in_the_thread() {
        std::thread::spawn(|| {
            for _ in 0..10 {
                let shards = Arc::new(Shards::new(1, 4));
                shards.record(Table::CommandBuffers, LabelId(0), 1);
            }
            HELD.with_borrow(|held| assert_eq!(held.len(), 1));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_sample_in_the_last_moments_of_a_thread_is_counted() {
        struct AtExit(Arc<Shards>);
        impl Drop for AtExit {
            fn drop(&mut self) {
                self.0.record(Table::CommandBuffers, LabelId(0), 1);
            }
        }
        thread_local! {
            static LATE: RefCell<Option<AtExit>> = const { RefCell::new(None) };
        }
        let shards = Arc::new(Shards::new(1, 4));
        let own = Arc::clone(&shards);
        std::thread::spawn(move || {
            LATE.set(Some(AtExit(Arc::clone(&own))));
            own.record(Table::CommandBuffers, LabelId(0), 1);
        })
        .join()
        .unwrap();
        assert_eq!(totals(&shards).count, 2);
    }
}
