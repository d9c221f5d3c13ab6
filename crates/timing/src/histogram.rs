//! Durations in buckets fine enough for percentiles within 1 %, small enough to keep one
//! set per label and thread.
//!
//! An octave (the durations between two powers of two) is cut into 64 equal buckets, so a
//! bucket is at most 1/64 as wide as its lower bound and its middle is never more than
//! 0.79 % away from any duration in it. Below 64 ns every nanosecond has its own bucket.
//! A label's durations fall into a few octaves, so octaves are allocated when first seen:
//! a label costs about 1 KB and 256 bytes per octave on each thread that records it.

use crate::sync::{AtomicU32, Ordering};
use std::sync::OnceLock;

/// Buckets per octave, and the number of nanoseconds that have a bucket each.
const SPLIT: usize = 64;
const SPLIT_BITS: u32 = 6;
/// One block for 0..64 and one for each octave from 2^6 to 2^63.
const BLOCKS: usize = 64 - SPLIT_BITS as usize + 1;
/// Number of buckets over all of `u64`.
pub(crate) const BUCKETS: usize = BLOCKS * SPLIT;

/// The largest distance of a reported percentile from the sample of that rank, as a
/// share of the sample.
pub const PERCENTILE_ERROR: f64 = 1.0 / 128.0;

/// Block and bucket of a duration.
#[inline]
fn position(ns: u64) -> (usize, usize) {
    if ns < SPLIT as u64 {
        return (0, ns as usize);
    }
    let octave = 63 - ns.leading_zeros();
    let bucket = (ns >> (octave - SPLIT_BITS)) as usize % SPLIT;
    ((octave - SPLIT_BITS + 1) as usize, bucket)
}

/// Smallest and largest duration of bucket number `index`.
fn bounds(index: usize) -> (u64, u64) {
    let (block, bucket) = (index / SPLIT, (index % SPLIT) as u64);
    if block == 0 {
        return (bucket, bucket);
    }
    let shift = block as u32 - 1;
    let low = (SPLIT as u64 + bucket) << shift;
    (low, low + ((1u64 << shift) - 1))
}

#[repr(align(64))]
struct Block([AtomicU32; SPLIT]);

impl Block {
    fn new() -> Box<Block> {
        Box::new(Block(std::array::from_fn(|_| AtomicU32::new(0))))
    }
}

/// Bucket counts with one writer and any number of readers.
pub(crate) struct SparseHistogram {
    blocks: [OnceLock<Box<Block>>; BLOCKS],
}

impl SparseHistogram {
    pub(crate) fn new() -> SparseHistogram {
        SparseHistogram {
            blocks: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    /// Counts one duration. Only the owning thread may call this: the load and the store
    /// are two steps. A bucket stays at 2^32 − 1 once it is there.
    #[inline]
    pub(crate) fn add(&self, ns: u64) {
        let (block, bucket) = position(ns);
        let block = match self.blocks[block].get() {
            Some(block) => block,
            None => self.allocate(block),
        };
        let bucket = &block.0[bucket];
        let count = bucket.load(Ordering::Relaxed);
        bucket.store(count.saturating_add(1), Ordering::Relaxed);
    }

    #[cold]
    fn allocate(&self, block: usize) -> &Block {
        self.blocks[block].get_or_init(Block::new)
    }

    /// Sets every bucket to zero; for the owning thread.
    pub(crate) fn clear(&self) {
        for block in self.blocks.iter().filter_map(OnceLock::get) {
            for bucket in &block.0 {
                bucket.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Adds the counts to `into`.
    pub(crate) fn read(&self, into: &mut Counts) {
        for (number, block) in self.blocks.iter().enumerate() {
            let Some(block) = block.get() else { continue };
            let sums = &mut into.0[number * SPLIT..][..SPLIT];
            for (sum, bucket) in sums.iter_mut().zip(&block.0) {
                *sum += u64::from(bucket.load(Ordering::Relaxed));
            }
        }
    }
}

/// Bucket counts of several threads added up; reused from label to label.
pub(crate) struct Counts(Vec<u64>);

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts(vec![0; BUCKETS])
    }

    /// Moves the counts out and leaves zeros.
    pub(crate) fn take(&mut self) -> Histogram {
        let mut buckets = Vec::new();
        for (index, count) in self.0.iter_mut().enumerate() {
            if *count > 0 {
                let (low_ns, high_ns) = bounds(index);
                buckets.push(Bucket {
                    low_ns,
                    high_ns,
                    count: std::mem::take(count),
                });
            }
        }
        Histogram { buckets }
    }
}

/// Durations between two bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest duration counted here.
    pub low_ns: u64,
    /// Largest duration counted here.
    pub high_ns: u64,
    /// Number of samples.
    pub count: u64,
}

/// How a label's durations are distributed: its non-empty buckets, ascending.
///
/// ```
/// let recorder = assay_timing::Recorder::new();
/// for ns in 1..=1000 {
///     recorder.record("copy", ns * 1000);
/// }
/// let label = &recorder.snapshot().labels[0];
/// let p99 = label.histogram.percentile(99.0).unwrap();
/// assert!((980_000..=1_000_000).contains(&p99));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The buckets that hold at least one sample.
    pub buckets: Vec<Bucket>,
}

impl Histogram {
    /// A histogram of the given durations, for tests and tools.
    pub fn from_durations(durations: impl IntoIterator<Item = u64>) -> Histogram {
        let mut counts = Counts::new();
        for ns in durations {
            let (block, bucket) = position(ns);
            counts.0[block * SPLIT + bucket] += 1;
        }
        counts.take()
    }

    /// Number of samples counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }

    /// The duration that `percent` % of the samples do not exceed (nearest rank), within
    /// [`PERCENTILE_ERROR`]: the middle of the bucket it falls into. `None` without
    /// samples. `percent` is clamped to 0..=100.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let count = self.count();
        let share = if percent.is_nan() {
            0.0
        } else {
            percent.clamp(0.0, 100.0) / 100.0
        };
        // The smallest rank r with r ≥ share · count, at least the first sample.
        let rank = ((share * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        for bucket in &self.buckets {
            seen += bucket.count;
            if seen >= rank {
                return Some(bucket.low_ns + (bucket.high_ns - bucket.low_ns) / 2);
            }
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(ns: u64) -> usize {
        let (block, bucket) = position(ns);
        block * SPLIT + bucket
    }

    #[test]
    fn buckets_tile_all_durations_without_gap_or_overlap() {
        let mut next = 0u64;
        for bucket in 0..BUCKETS {
            let (low, high) = bounds(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert_eq!((index(low), index(high)), (bucket, bucket));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at 2^64 - 1");
    }

    proptest! {
        #[test]
        fn percentiles_stay_within_one_percent_of_the_sorted_samples(
            // Durations spread over all magnitudes, not only the large ones.
            mut samples in prop::collection::vec((0u32..64, any::<u64>()).prop_map(|(shift, ns)| ns >> shift), 1..400),
            percent in 0.0f64..=100.0,
        ) {
            let histogram = Histogram::from_durations(samples.iter().copied());
            samples.sort_unstable();
            let rank = ((percent / 100.0 * samples.len() as f64).ceil() as usize).clamp(1, samples.len());
            let exact = samples[rank - 1];
            let reported = histogram.percentile(percent).unwrap();
            prop_assert!(exact.abs_diff(reported) as f64 <= exact as f64 * PERCENTILE_ERROR, "{exact} reported as {reported}");
        }
    }

    #[test]
    fn a_histogram_without_samples_has_no_percentile() {
        assert_eq!(Histogram::default().percentile(50.0), None);
    }
}
