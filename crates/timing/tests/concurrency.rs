//! Many threads at once: totals are exact, figures belong together, a reset is clean, and
//! the steady state allocates nothing.

use assay_timing::{CommandBufferId, DispatchSample, Recorder, RecorderOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the calling thread's allocations.
struct Counting;

// SAFETY: hands every request on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn totals_are_exact_whatever_threads_come_and_go() {
    let recorder = Recorder::new();
    let shared = recorder.label("shared");
    let per_thread = 20_000u64;
    // Waves of threads, so that cells are handed on while others record.
    for wave in 0..5u64 {
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let recorder = &recorder;
                scope.spawn(move || {
                    let own = recorder.label(&format!("thread {thread}"));
                    for n in 1..=per_thread {
                        recorder.record_id(shared, n);
                        recorder.record_id(own, wave + 1);
                    }
                });
            }
        });
    }
    let snapshot = recorder.snapshot();
    assert_eq!(&*snapshot.labels[0].label, "shared");
    assert_eq!(snapshot.labels[0].count, 5 * 8 * per_thread);
    let sum = u128::from(per_thread * (per_thread + 1) / 2);
    assert_eq!(snapshot.labels[0].total_ns, 5 * 8 * sum);
    assert_eq!(
        (snapshot.labels[0].min_ns, snapshot.labels[0].max_ns),
        (1, per_thread)
    );
    assert_eq!(
        snapshot.labels[0].histogram.count(),
        snapshot.labels[0].count
    );
    for own in &snapshot.labels[1..] {
        assert_eq!(
            (own.count, own.total_ns),
            (5 * per_thread, u128::from(15 * per_thread))
        );
    }
    let p99 = snapshot.labels[0].percentile(99.0).unwrap() as f64;
    let exact = 0.99 * per_thread as f64;
    assert!((p99 - exact).abs() <= 0.01 * exact, "{p99} for {exact}");
}

#[test]
fn a_snapshot_in_the_middle_has_figures_that_belong_together() {
    let recorder = Recorder::new();
    let label = recorder.label("x");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    recorder.record_id(label, 7);
                }
            });
        }
        let _stop = StopOnDrop(&stop);
        let mut last = 0;
        for _ in 0..300 {
            let snapshot = recorder.snapshot();
            // The system may keep a thread from running in the middle of a record: the snapshot says so.
            let Some(stats) = snapshot.labels.first() else {
                continue;
            };
            if snapshot.losses.torn_reads > 0 {
                continue;
            }
            assert_eq!(stats.total_ns, 7 * u128::from(stats.count));
            assert!(stats.count >= last, "counts never go back");
            assert!(stats.histogram.count() >= stats.count);
            last = stats.count;
        }
    });
    assert_eq!(recorder.snapshot().losses.torn_reads, 0);
}

/// Tells the other threads to end, also when the test fails.
struct StopOnDrop<'flag>(&'flag AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const GENERATIONS: usize = 60;

/// Records the current generation as the time (below 64 ns each has its own bucket) until
/// told to stop; says how often it recorded each.
fn record_generations(
    recorder: &Recorder,
    generation: &AtomicU64,
    stop: &AtomicBool,
) -> [u64; GENERATIONS + 1] {
    let label = recorder.label("x");
    let mut recorded = [0; GENERATIONS + 1];
    while !stop.load(Ordering::Relaxed) {
        // Acquire: whoever sees a generation also knows that the reset before it returned.
        let now = generation.load(Ordering::Acquire);
        recorder.record_id(label, now);
        recorder.record_dispatch(&DispatchSample {
            command_buffer: CommandBufferId::NONE,
            label,
            kernel: label,
            index: 0,
            start_ns: 1,
            end_ns: 1 + now,
        });
        recorded[now as usize] += 1;
    }
    recorded
}

#[test]
fn a_record_is_wholly_before_or_wholly_after_a_reset() {
    let recorder = Recorder::new();
    let label = recorder.label("x");
    let generation = AtomicU64::new(1);
    let stop = AtomicBool::new(false);
    let recorded: Vec<[u64; GENERATIONS + 1]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| record_generations(&recorder, &generation, &stop)))
            .collect();
        {
            let _stop = StopOnDrop(&stop);
            for next in 2..=GENERATIONS as u64 {
                recorder.reset();
                generation.store(next, Ordering::Release);
                std::thread::sleep(std::time::Duration::from_micros(300));
                if let Some(stats) = recorder.label_stats(label) {
                    let count = u128::from(stats.count);
                    assert!(stats.total_ns >= count * u128::from(stats.min_ns));
                    assert!(stats.total_ns <= count * u128::from(stats.max_ns));
                    assert!(stats.max_ns <= next);
                }
            }
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let sum = |generation: u64| {
        recorded
            .iter()
            .map(|counts| counts[generation as usize])
            .sum::<u64>()
    };
    let snapshot = recorder.snapshot();
    for stats in snapshot.labels.iter().chain(&snapshot.kernels) {
        let buckets = &stats.histogram.buckets;
        let last = buckets
            .iter()
            .find(|bucket| bucket.low_ns == GENERATIONS as u64);
        // Every sample made in the knowledge of the last reset is there ...
        assert_eq!(
            last.map_or(0, |bucket| bucket.count),
            sum(GENERATIONS as u64)
        );
        // ... older ones only as far as they were under way ...
        assert!(
            buckets
                .iter()
                .all(|bucket| bucket.count <= sum(bucket.low_ns))
        );
        // ... and all of them are whole.
        assert_eq!(stats.histogram.count(), stats.count);
        let total: u64 = buckets
            .iter()
            .map(|bucket| bucket.low_ns * bucket.count)
            .sum();
        assert_eq!(stats.total_ns, u128::from(total));
    }
    recorder.reset();
    assert!(recorder.snapshot().labels.is_empty());
}

#[test]
fn recorded_dispatches_are_kept_or_counted_as_dropped() {
    let recorder = Recorder::with_options(&RecorderOptions {
        dispatches: 4096,
        ..RecorderOptions::default()
    });
    let (label, kernel) = (recorder.label("cb"), recorder.label("kernel"));
    let per_thread = 30_000;
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for index in 0..per_thread {
                    recorder.record_dispatch(&DispatchSample {
                        command_buffer: CommandBufferId::NONE,
                        label,
                        kernel,
                        index,
                        start_ns: 10,
                        end_ns: 30,
                    });
                }
            });
        }
    });
    let snapshot = recorder.snapshot();
    let recorded = u64::from(6 * per_thread);
    assert_eq!(
        snapshot.dispatches.len() as u64 + snapshot.losses.dispatches_dropped,
        recorded
    );
    assert_eq!(
        snapshot.kernels[0].count, recorded,
        "a kernel's figures lose nothing"
    );
    assert_eq!(snapshot.kernels[0].total_ns, u128::from(20 * recorded));
}

#[test]
fn the_steady_state_allocates_nothing() {
    let recorder = Recorder::new();
    let label = recorder.label("decode.layer");
    let work = || {
        for ns in 40_000..60_000 {
            recorder.record_id(label, ns);
            recorder.record("decode.layer", ns);
            recorder.record_dispatch(&DispatchSample {
                command_buffer: CommandBufferId::from_raw(3),
                label,
                kernel: label,
                index: 0,
                start_ns: 1,
                end_ns: ns,
            });
        }
    };
    work();
    recorder.reset();
    let before = ALLOCATIONS.get();
    work();
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
