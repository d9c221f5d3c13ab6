//! One label's figures on one thread: a single writer, any number of readers, no lock.
//!
//! A cell is a sequence lock. The owning thread makes the version odd, changes the
//! figures and makes the version even again; a reader that sees the same even version
//! before and after has figures that belong together. The figures are stored with
//! `Release` and loaded with `Acquire`, so a reader that meets any new figure also meets
//! the odd version in front of it. None of these is a read-modify-write, which is why
//! recording costs a few nanoseconds.
//!
//! A cell also holds the *epoch* it belongs to. Resetting a recorder only raises the
//! recorder's epoch: readers then pass over cells of older epochs, and a writer that
//! meets one clears it first. So a record is wholly before or wholly after a reset.

use crate::histogram::{Counts, SparseHistogram};
use crate::sync::{AtomicU64, Ordering, relax};

/// Tries before a reader gives up on a consistent view. A writer holds the version odd
/// for nanoseconds; only one that was descheduled or killed in there makes a reader wait.
const READ_TRIES: u32 = if cfg!(loom) { 1 } else { 20_000 };
/// Tries before the reader lets other threads run between tries.
#[cfg(not(loom))]
const SPIN_TRIES: u32 = 200;

/// A label's figures on one thread. Aligned so that two threads never write to one cache
/// line (Apple's are 128 bytes).
#[repr(align(128))]
pub(crate) struct Cell {
    version: AtomicU64,
    epoch: AtomicU64,
    count: AtomicU64,
    total_low: AtomicU64,
    total_high: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    histogram: SparseHistogram,
}

/// Figures read from one or several cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) count: u64,
    pub(crate) total: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Totals {
    pub(crate) const EMPTY: Totals = Totals {
        count: 0,
        total: 0,
        min: u64::MAX,
        max: 0,
    };

    fn merge(&mut self, other: Totals) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// Whether a reader got figures that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Consistent,
    Torn,
}

impl Cell {
    pub(crate) fn new() -> Cell {
        Cell {
            version: AtomicU64::new(0),
            // Epochs start at 1, so a fresh cell belongs to none.
            epoch: AtomicU64::new(0),
            count: AtomicU64::new(0),
            total_low: AtomicU64::new(0),
            total_high: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            histogram: SparseHistogram::new(),
        }
    }

    /// Adds one duration; only one thread at a time may do so.
    #[inline]
    pub(crate) fn record(&self, epoch: u64, ns: u64) {
        let version = self.version.load(Ordering::Relaxed);
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        if self.epoch.load(Ordering::Relaxed) != epoch {
            self.restart(epoch);
        }
        bump(&self.count, 1);
        let low = self.total_low.load(Ordering::Relaxed);
        let (sum, carry) = low.overflowing_add(ns);
        self.total_low.store(sum, Ordering::Release);
        if carry {
            bump(&self.total_high, 1);
        }
        if ns < self.min.load(Ordering::Relaxed) {
            self.min.store(ns, Ordering::Release);
        }
        if ns > self.max.load(Ordering::Relaxed) {
            self.max.store(ns, Ordering::Release);
        }
        self.histogram.add(ns);
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
    }

    /// Empties the cell for a new epoch; the version is odd meanwhile.
    #[cold]
    fn restart(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Release);
        self.count.store(0, Ordering::Release);
        self.total_low.store(0, Ordering::Release);
        self.total_high.store(0, Ordering::Release);
        self.min.store(u64::MAX, Ordering::Release);
        self.max.store(0, Ordering::Release);
        self.histogram.clear();
    }

    /// Adds this cell's figures of `epoch` to `totals` and `counts`. The epoch must not
    /// change meanwhile (the recorder's control lock sees to that), so buckets read after
    /// the totals can only have grown: they hold every counted sample and perhaps a few
    /// newer ones.
    pub(crate) fn read(&self, epoch: u64, totals: &mut Totals, counts: &mut Counts) -> Read {
        let (found, figures, read) = self.figures();
        if found == epoch {
            totals.merge(figures);
            self.histogram.read(counts);
        }
        read
    }

    /// The epoch and the figures, consistent unless the writer is stuck in the middle.
    fn figures(&self) -> (u64, Totals, Read) {
        for attempt in 0..READ_TRIES {
            let before = self.version.load(Ordering::Acquire);
            let (epoch, totals) = self.load();
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                return (epoch, totals, Read::Consistent);
            }
            pause(attempt);
        }
        let (epoch, totals) = self.load();
        (epoch, totals, Read::Torn)
    }

    fn load(&self) -> (u64, Totals) {
        let epoch = self.epoch.load(Ordering::Acquire);
        let low = self.total_low.load(Ordering::Acquire);
        let high = self.total_high.load(Ordering::Acquire);
        let totals = Totals {
            count: self.count.load(Ordering::Acquire),
            total: (u128::from(high) << 64) | u128::from(low),
            min: self.min.load(Ordering::Acquire),
            max: self.max.load(Ordering::Acquire),
        };
        (epoch, totals)
    }
}

#[inline]
fn bump(value: &AtomicU64, by: u64) {
    let old = value.load(Ordering::Relaxed);
    value.store(old.wrapping_add(by), Ordering::Release);
}

fn pause(attempt: u32) {
    #[cfg(not(loom))]
    if attempt > SPIN_TRIES {
        return std::thread::yield_now();
    }
    let _ = attempt;
    relax();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn read(cell: &Cell, epoch: u64) -> Totals {
        let mut totals = Totals::EMPTY;
        let read = cell.read(epoch, &mut totals, &mut Counts::new());
        assert_eq!(read, Read::Consistent);
        totals
    }

    #[test]
    fn totals_are_exact_beyond_64_bits() {
        let cell = Cell::new();
        for _ in 0..3 {
            cell.record(1, u64::MAX - 1);
        }
        let totals = read(&cell, 1);
        assert_eq!(totals.total, 3 * u128::from(u64::MAX - 1));
        assert_eq!((totals.count, totals.max), (3, u64::MAX - 1));
    }

    #[test]
    fn a_new_epoch_starts_empty_and_old_ones_are_not_shown() {
        let cell = Cell::new();
        cell.record(1, 10);
        assert_eq!(read(&cell, 2), Totals::EMPTY);
        cell.record(2, 30);
        let totals = read(&cell, 2);
        assert_eq!((totals.count, totals.total, totals.min), (1, 30, 30));
    }

    #[test]
    fn a_writer_stuck_in_the_middle_does_not_hang_the_reader() {
        let cell = Cell::new();
        cell.record(1, 10);
        cell.version.store(7, Ordering::Relaxed);
        let read = cell.read(1, &mut Totals::EMPTY.clone(), &mut Counts::new());
        assert_eq!(read, Read::Torn);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// The figures without the 64 buckets of an octave, whose every load would multiply
    /// the interleavings; `None` when the tries ran out.
    fn read(cell: &Cell, epoch: u64) -> Option<Totals> {
        let (found, figures, read) = cell.figures();
        let totals = if found == epoch {
            figures
        } else {
            Totals::EMPTY
        };
        (read == Read::Consistent).then_some(totals)
    }

    /// Every interleaving with at most two switches away from a running thread, which is
    /// where bugs of this kind show; without a bound the search takes hours.
    fn check(run: impl Fn() + Sync + Send + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(run);
    }

    const ONE: Totals = Totals {
        count: 1,
        total: 7,
        min: 7,
        max: 7,
    };

    // Readers have threads of their own: loom does not switch away from its first thread
    // everywhere, and a torn read would go unseen there.

    #[test]
    fn loom_a_reader_sees_whole_records_only() {
        check(|| {
            let cell = Arc::new(Cell::new());
            let (writer, reader) = (Arc::clone(&cell), Arc::clone(&cell));
            let writing = thread::spawn(move || writer.record(1, 7));
            let reading = thread::spawn(move || {
                if let Some(seen) = read(&reader, 1) {
                    assert!([Totals::EMPTY, ONE].contains(&seen), "{seen:?}");
                }
            });
            writing.join().unwrap();
            reading.join().unwrap();
            assert_eq!(read(&cell, 1), Some(ONE));
        });
    }

    #[test]
    fn loom_a_reader_sees_whole_records_in_a_cell_already_used() {
        check(|| {
            let cell = Arc::new(Cell::new());
            let first = Arc::clone(&cell);
            thread::spawn(move || first.record(1, 7)).join().unwrap();
            let (writer, reader) = (Arc::clone(&cell), Arc::clone(&cell));
            let writing = thread::spawn(move || writer.record(1, 9));
            let two = Totals {
                count: 2,
                total: 16,
                min: 7,
                max: 9,
            };
            let reading = thread::spawn(move || {
                if let Some(seen) = read(&reader, 1) {
                    assert!([ONE, two].contains(&seen), "{seen:?}");
                }
            });
            writing.join().unwrap();
            reading.join().unwrap();
            assert_eq!(read(&cell, 1), Some(two));
        });
    }

    #[test]
    fn loom_a_record_is_wholly_before_or_wholly_after_a_reset() {
        check(|| {
            let cell = Arc::new(Cell::new());
            let epoch = Arc::new(AtomicU64::new(1));
            let (writer, writer_epoch) = (Arc::clone(&cell), Arc::clone(&epoch));
            let writing = thread::spawn(move || {
                writer.record(writer_epoch.load(Ordering::Relaxed), 7);
            });
            let (reader, reader_epoch) = (Arc::clone(&cell), Arc::clone(&epoch));
            let resetting = thread::spawn(move || {
                reader_epoch.store(2, Ordering::Release);
                if let Some(seen) = read(&reader, 2) {
                    assert!([Totals::EMPTY, ONE].contains(&seen), "{seen:?}");
                }
            });
            writing.join().unwrap();
            resetting.join().unwrap();
            let after = read(&cell, 2).unwrap();
            assert!([Totals::EMPTY, ONE].contains(&after), "{after:?}");
            // From here on the new epoch is seen by everyone.
            cell.record(epoch.load(Ordering::Relaxed), 7);
            assert_eq!(read(&cell, 2).unwrap().count, after.count + 1);
        });
    }

    #[test]
    fn loom_a_cell_handed_from_thread_to_thread_loses_nothing() {
        loom::model(|| {
            let cell = Arc::new(Cell::new());
            let free = Arc::new(loom::sync::Mutex::new(()));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (cell, free) = (Arc::clone(&cell), Arc::clone(&free));
                    thread::spawn(move || {
                        let _held = free.lock().unwrap();
                        cell.record(1, 3);
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(read(&cell, 1).unwrap().total, 6);
        });
    }
}
