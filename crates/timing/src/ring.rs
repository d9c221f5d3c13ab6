//! The last N samples of all threads, in arrival order, in memory that never grows.
//!
//! A writer draws a ticket; the ticket says which slot it writes, and its place in the
//! order. A slot is a sequence lock whose version names the ticket it holds. When the
//! ring is full the oldest sample makes room for the newest. A writer that finds its slot
//! still being written, because another thread was stopped in the middle a whole ring
//! ago, gives its sample up rather than wait. Every ticket that cannot be read back is
//! counted as dropped, so *recorded = kept + dropped* always holds.

use crate::sync::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// Aligned so that threads with neighbouring tickets do not write to one cache line.
#[repr(align(64))]
struct Slot<const WORDS: usize> {
    /// 0: never used; `2·ticket + 1`: being written; `2·ticket + 2`: holds that ticket.
    version: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Slot<WORDS> {
    fn new() -> Self {
        Slot {
            version: AtomicU64::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// The counter every writer changes, on a cache line of its own.
#[repr(align(128))]
struct Tickets(AtomicU64);

/// A ring of samples of `WORDS` numbers each.
pub(crate) struct Ring<const WORDS: usize> {
    /// A power of two.
    capacity: usize,
    slots: OnceLock<Box<[Slot<WORDS>]>>,
    next: Tickets,
    /// The first ticket after the last reset.
    first: AtomicU64,
}

/// What a ring held when it was read.
pub(crate) struct Contents<const WORDS: usize> {
    /// The samples kept, oldest first.
    pub(crate) samples: Vec<[u64; WORDS]>,
    /// Samples recorded since the last reset that are not among them.
    pub(crate) dropped: u64,
}

impl<const WORDS: usize> Ring<WORDS> {
    /// Keeps at least `capacity` samples; the memory is taken with the first one.
    pub(crate) fn new(capacity: usize) -> Ring<WORDS> {
        Ring {
            capacity: capacity.next_power_of_two().max(2),
            slots: OnceLock::new(),
            next: Tickets(AtomicU64::new(0)),
            first: AtomicU64::new(0),
        }
    }

    #[inline]
    fn slots(&self) -> &[Slot<WORDS>] {
        match self.slots.get() {
            Some(slots) => slots,
            None => self.allocate(),
        }
    }

    #[cold]
    fn allocate(&self) -> &[Slot<WORDS>] {
        self.slots
            .get_or_init(|| (0..self.capacity).map(|_| Slot::new()).collect())
    }

    /// Adds a sample; any thread may do so.
    #[inline]
    pub(crate) fn push(&self, words: [u64; WORDS]) {
        let slots = self.slots();
        let ticket = self.next.0.fetch_add(1, Ordering::Relaxed);
        let slot = &slots[ticket as usize & (slots.len() - 1)];
        let found = slot.version.load(Ordering::Relaxed);
        let writing = 2 * ticket + 1;
        // Odd: someone is writing. Newer than ours: we were overtaken by a whole ring.
        if !found.is_multiple_of(2) || found >= writing {
            return;
        }
        // Acquire orders our words after those of the slot's previous writer.
        let claim =
            slot.version
                .compare_exchange(found, writing, Ordering::Acquire, Ordering::Relaxed);
        if claim.is_err() {
            return;
        }
        for (place, word) in slot.words.iter().zip(words) {
            place.store(word, Ordering::Release);
        }
        slot.version.store(writing + 1, Ordering::Release);
    }

    /// Everything kept since the last reset, oldest first.
    pub(crate) fn read(&self) -> Contents<WORDS> {
        let next = self.next.0.load(Ordering::Acquire);
        let first = self.first.load(Ordering::Acquire);
        let recorded = next.saturating_sub(first);
        let mut samples = Vec::new();
        if let Some(slots) = self.slots.get() {
            let oldest = first.max(next.saturating_sub(slots.len() as u64));
            let tickets = oldest..next;
            samples.reserve(tickets.clone().count());
            samples.extend(tickets.filter_map(|ticket| read_slot(slots, ticket)));
        }
        Contents {
            dropped: recorded.saturating_sub(samples.len() as u64),
            samples,
        }
    }

    /// Shows samples kept since the last reset, newest first, until `visit` returns false. Nothing is copied but the sample
    /// shown.
    pub(crate) fn visit_newest(&self, mut visit: impl FnMut([u64; WORDS]) -> bool) {
        let next = self.next.0.load(Ordering::Acquire);
        let first = self.first.load(Ordering::Acquire);
        let Some(slots) = self.slots.get() else {
            return;
        };
        let oldest = first.max(next.saturating_sub(slots.len() as u64));
        for ticket in (oldest..next).rev() {
            if let Some(words) = read_slot(slots, ticket)
                && !visit(words)
            {
                return;
            }
        }
    }

    /// Forgets what was recorded so far: samples whose ticket was drawn before this.
    pub(crate) fn reset(&self) {
        let next = self.next.0.load(Ordering::Acquire);
        self.first.store(next, Ordering::Release);
    }
}

fn read_slot<const WORDS: usize>(slots: &[Slot<WORDS>], ticket: u64) -> Option<[u64; WORDS]> {
    let slot = &slots[ticket as usize & (slots.len() - 1)];
    let expected = 2 * ticket + 2;
    if slot.version.load(Ordering::Acquire) != expected {
        return None;
    }
    let words = std::array::from_fn(|word| slot.words[word].load(Ordering::Acquire));
    (slot.version.load(Ordering::Relaxed) == expected).then_some(words)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_newest_samples_stay_in_order_and_the_rest_is_counted() {
        let ring = Ring::<1>::new(4);
        for n in 0..10 {
            ring.push([n]);
        }
        let contents = ring.read();
        assert_eq!(contents.samples, [[6], [7], [8], [9]]);
        assert_eq!(contents.dropped, 6);
    }

    #[test]
    fn the_newest_samples_are_shown_first_and_no_more_than_asked_for() {
        let ring = Ring::<1>::new(4);
        ring.visit_newest(|_| panic!("an empty ring shows nothing"));
        for n in 0..10 {
            ring.push([n]);
        }
        let mut shown = Vec::new();
        ring.visit_newest(|[n]| {
            shown.push(n);
            n > 8
        });
        assert_eq!(shown, [9, 8]);
    }

    #[test]
    fn a_reset_forgets_samples_and_drops() {
        let ring = Ring::<1>::new(4);
        for n in 0..10 {
            ring.push([n]);
        }
        ring.reset();
        assert!(ring.read().samples.is_empty());
        ring.push([77]);
        let contents = ring.read();
        assert_eq!((contents.samples, contents.dropped), (vec![[77]], 0));
    }

    #[test]
    fn a_slot_left_in_the_middle_costs_one_sample_each_lap_and_is_counted() {
        let ring = Ring::<1>::new(2);
        ring.push([0]);
        ring.push([1]);
        // The writer of ticket 2 was stopped for good.
        ring.next.0.fetch_add(1, Ordering::Relaxed);
        ring.slots()[0].version.store(5, Ordering::Relaxed);
        for n in 3..7 {
            ring.push([n]);
        }
        let contents = ring.read();
        assert_eq!((contents.samples, contents.dropped), (vec![[5]], 6));
    }

    #[test]
    fn many_writers_lose_nothing_uncounted_and_tear_nothing() {
        let ring = Ring::<3>::new(1 << 10);
        let per_thread = 50_000;
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let ring = &ring;
                scope.spawn(move || {
                    for n in 0..per_thread {
                        ring.push([thread, n, thread ^ n]);
                    }
                });
            }
            for _ in 0..50 {
                for [thread, n, check] in ring.read().samples {
                    assert_eq!(thread ^ n, check);
                }
            }
        });
        let contents = ring.read();
        assert_eq!(
            contents.samples.len() as u64 + contents.dropped,
            4 * per_thread
        );
        // One thread's samples stay in its own order.
        for thread in 0..4 {
            let own: Vec<u64> = contents
                .samples
                .iter()
                .filter(|s| s[0] == thread)
                .map(|s| s[1])
                .collect();
            assert!(own.is_sorted());
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn loom_two_writers_and_a_reader_never_see_a_torn_sample() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let ring = Arc::new(Ring::<2>::new(2));
            ring.allocate();
            let threads: Vec<_> = (1..=2u64)
                .map(|n| {
                    let ring = Arc::clone(&ring);
                    thread::spawn(move || ring.push([n, n * 10]))
                })
                .collect();
            let reader = Arc::clone(&ring);
            let reading = thread::spawn(move || {
                for [n, ten] in reader.read().samples {
                    assert_eq!(ten, n * 10);
                }
            });
            for thread in threads {
                thread.join().unwrap();
            }
            reading.join().unwrap();
            let contents = ring.read();
            assert_eq!((contents.samples.len(), contents.dropped), (2, 0));
        });
    }

    #[test]
    fn loom_writers_that_share_a_slot_tear_nothing_and_every_loss_is_counted() {
        // Two slots, three tickets: the first writer may be overtaken in its own slot.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let ring = Arc::new(Ring::<2>::new(2));
            ring.allocate();
            let writer = Arc::clone(&ring);
            let thread = thread::spawn(move || writer.push([1, 10]));
            ring.push([2, 20]);
            ring.push([3, 30]);
            for [n, ten] in ring.read().samples {
                assert_eq!(ten, n * 10);
            }
            thread.join().unwrap();
            let contents = ring.read();
            assert_eq!(contents.samples.len() as u64 + contents.dropped, 3);
            for [n, ten] in contents.samples {
                assert_eq!(ten, n * 10);
            }
        });
    }
}
