//! Timing single dispatches: which way a device allows, where samples go, and what they
//! say once they are back. Everything that needs no GPU, so that it is tested without one.
//!
//! Metal writes timestamps into *counter sample buffers* of at most 4,096 samples (32 KB).
//! A dispatch takes two, so a buffer serves 2,048 dispatches; a command buffer with more
//! gets a chain of buffers. Buffers go back to a pool when their samples are read.

use crate::clock::ClockFit;
use crate::label::LabelId;
use crate::recorder::Recorder;
use crate::sample::{CommandBufferId, DispatchSample, ERROR_TIMESTAMP, Invalid, Sampling};
use crate::sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Samples in one counter sample buffer, Metal's limit.
pub const SAMPLES_PER_BUFFER: usize = 4096;
/// Dispatches one counter sample buffer can time.
pub const DISPATCHES_PER_BUFFER: usize = SAMPLES_PER_BUFFER / 2;

/// The remark about a GPU whose counters say nothing, as reported of M4 and of macOS 26.
const ZEROS: &str = "dispatches are not timed: the GPU wrote zeros for the timestamps of whole command buffers; times of command buffers are right all the same";

/// What a device can sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capability {
    /// It has the counter set of timestamps.
    pub timestamps: bool,
    /// It samples between dispatches of one encoder.
    pub dispatch_boundary: bool,
    /// It samples where encoders start and end. All that Apple's own GPUs offer.
    pub stage_boundary: bool,
}

/// Whether a program accepts one encoder per dispatch, which changes how it runs: the
/// encoders run one after another and creating each takes host time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncoderPerDispatch {
    /// Rather no dispatch times than that.
    #[default]
    Refuse,
    /// Fine, if there is no other way.
    Accept,
}

/// How dispatches are timed on a device, or why they are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Samples around each dispatch.
    DispatchBoundary,
    /// One encoder for each dispatch.
    EncoderPerDispatch,
    /// Only command buffers are timed; the text says why, once, in every report.
    CommandBuffersOnly(&'static str),
}

impl Strategy {
    /// The way to time dispatches on a device.
    ///
    /// ```
    /// use assay_timing::sampling::{Capability, EncoderPerDispatch, Strategy};
    ///
    /// let apple = Capability { timestamps: true, stage_boundary: true, dispatch_boundary: false };
    /// let strategy = Strategy::choose(apple, EncoderPerDispatch::Accept);
    /// assert_eq!(strategy, Strategy::EncoderPerDispatch);
    /// let strategy = Strategy::choose(apple, EncoderPerDispatch::Refuse);
    /// assert!(matches!(strategy, Strategy::CommandBuffersOnly(_)));
    /// ```
    pub fn choose(device: Capability, encoders: EncoderPerDispatch) -> Strategy {
        match (device, encoders) {
            (
                Capability {
                    timestamps: false, ..
                },
                _,
            ) => Strategy::CommandBuffersOnly(
                "dispatches are not timed: the device has no timestamp counters",
            ),
            (
                Capability {
                    dispatch_boundary: true,
                    ..
                },
                _,
            ) => Strategy::DispatchBoundary,
            (
                Capability {
                    stage_boundary: true,
                    ..
                },
                EncoderPerDispatch::Accept,
            ) => Strategy::EncoderPerDispatch,
            (
                Capability {
                    stage_boundary: true,
                    ..
                },
                EncoderPerDispatch::Refuse,
            ) => Strategy::CommandBuffersOnly(
                "dispatches are not timed: the device samples at encoders only; accept one encoder per dispatch to time them, at the cost of running them one after another",
            ),
            _ => Strategy::CommandBuffersOnly(
                "dispatches are not timed: the device samples neither at dispatches nor at encoders",
            ),
        }
    }

    /// What a command buffer's record says about it.
    pub const fn sampling(self) -> Sampling {
        match self {
            Strategy::DispatchBoundary => Sampling::DispatchBoundary,
            Strategy::EncoderPerDispatch => Sampling::EncoderPerDispatch,
            Strategy::CommandBuffersOnly(_) => Sampling::Unknown,
        }
    }
}

/// Where a dispatch's two samples go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSlot {
    /// Which buffer of the chain.
    pub buffer: usize,
    /// Index of the sample before the dispatch.
    pub start: usize,
    /// Index of the sample after it.
    pub end: usize,
}

impl SampleSlot {
    /// The slot of dispatch number `index` of a command buffer.
    ///
    /// ```
    /// use assay_timing::sampling::SampleSlot;
    ///
    /// assert_eq!(SampleSlot::of(0), SampleSlot { buffer: 0, start: 0, end: 1 });
    /// assert_eq!(SampleSlot::of(2048), SampleSlot { buffer: 1, start: 0, end: 1 });
    /// ```
    pub const fn of(index: usize) -> SampleSlot {
        let start = index % DISPATCHES_PER_BUFFER * 2;
        SampleSlot {
            buffer: index / DISPATCHES_PER_BUFFER,
            start,
            end: start + 1,
        }
    }
}

/// A sample buffer that is used again and again. Metal cannot clear one, so a sample that
/// was not written this time still shows a timestamp of an earlier use; it is told from a
/// fresh one by not being newer than everything read before.
#[derive(Debug)]
pub struct Recycled<Buffer> {
    buffer: Buffer,
    newest: u64,
}

impl<Buffer> Recycled<Buffer> {
    /// A buffer never used so far.
    pub const fn new(buffer: Buffer) -> Recycled<Buffer> {
        Recycled { buffer, newest: 0 }
    }

    /// Turns left-over timestamps of earlier uses into zeros, which is what never-written
    /// samples of a new buffer are. After a wrap of the tick counter everything looks left
    /// over once.
    fn forget_left_overs(&mut self, ticks: &mut [u64]) {
        let written = |tick: &u64| *tick != 0 && *tick != ERROR_TIMESTAMP;
        let newest = ticks.iter().copied().filter(written).max();
        for tick in ticks.iter_mut() {
            if *tick <= self.newest {
                *tick = 0;
            }
        }
        self.newest = newest.unwrap_or(self.newest);
    }
}

/// The sample buffers of one command buffer, `Buffer` being whatever the GPU's is.
///
/// A buffer that cannot be made does not stop the program: its dispatches run untimed
/// and are counted as unresolved.
#[derive(Debug)]
pub struct SampleChain<Buffer> {
    buffers: Vec<Option<Recycled<Buffer>>>,
    kernels: Vec<LabelId>,
}

impl<Buffer> Default for SampleChain<Buffer> {
    fn default() -> Self {
        SampleChain {
            buffers: Vec::new(),
            kernels: Vec::new(),
        }
    }
}

impl<Buffer> SampleChain<Buffer> {
    /// A slot for the next dispatch and the buffer it lies in, `None` if there is none.
    /// `make` gives another buffer when the chain's last one is full.
    pub fn next(
        &mut self,
        kernel: LabelId,
        make: impl FnOnce() -> Option<Recycled<Buffer>>,
    ) -> Option<(&Buffer, SampleSlot)> {
        let slot = SampleSlot::of(self.kernels.len());
        self.kernels.push(kernel);
        if slot.buffer == self.buffers.len() {
            self.buffers.push(make());
        }
        let buffer = self.buffers.get(slot.buffer)?.as_ref()?;
        Some((&buffer.buffer, slot))
    }

    /// Dispatches encoded so far, timed or not.
    pub fn dispatches(&self) -> u32 {
        u32::try_from(self.kernels.len()).unwrap_or(u32::MAX)
    }

    /// Reads the samples back and records them under `label` and `id`. `read` gives a
    /// buffer's first `n` samples as raw ticks, `None` if they cannot be had. Returns the
    /// buffers, for the pool.
    pub fn resolve(
        self,
        recorder: &Recorder,
        id: CommandBufferId,
        label: LabelId,
        mut read: impl FnMut(&Buffer, usize) -> Option<Vec<u64>>,
    ) -> Vec<Recycled<Buffer>> {
        let clock = recorder.clock();
        let groups = self.kernels.chunks(DISPATCHES_PER_BUFFER);
        let mut buffers = self.buffers;
        let mut index = 0;
        for (buffer, kernels) in buffers.iter_mut().zip(groups) {
            let mut ticks = Vec::new();
            if let Some(buffer) = buffer {
                ticks = read(&buffer.buffer, kernels.len() * 2).unwrap_or_default();
                if !ticks.is_empty() && ticks.iter().all(|tick| *tick == 0) {
                    recorder.note(ZEROS);
                }
                buffer.forget_left_overs(&mut ticks);
            }
            let (pairs, _) = ticks.as_chunks::<2>();
            for (at, kernel) in kernels.iter().enumerate() {
                let sample = DispatchSample {
                    command_buffer: id,
                    label,
                    kernel: *kernel,
                    index,
                    start_ns: 0,
                    end_ns: 0,
                };
                let pair = pairs.get(at).map(|[start, end]| (*start, *end));
                record_ticks(recorder, &clock, sample, pair);
                index = index.saturating_add(1);
            }
        }
        buffers.into_iter().flatten().collect()
    }
}

/// Records a dispatch from its raw timestamps, or counts why there is no time in them.
/// `sample`'s own times are ignored; `ticks` is `None` when nothing could be read back.
pub fn record_ticks(
    recorder: &Recorder,
    clock: &ClockFit,
    sample: DispatchSample,
    ticks: Option<(u64, u64)>,
) {
    let invalid = match ticks {
        None => Some(Invalid::Unresolved),
        Some((start, end)) if start == ERROR_TIMESTAMP || end == ERROR_TIMESTAMP => {
            Some(Invalid::AllOnes)
        }
        Some((start, end)) if start == 0 || end == 0 => Some(Invalid::Zero),
        Some(_) => None,
    };
    match (invalid, ticks) {
        (None, Some((start, end))) => recorder.record_dispatch(&DispatchSample {
            start_ns: clock.to_ns(start),
            end_ns: clock.to_ns(end),
            ..sample
        }),
        (reason, _) => {
            recorder.record_dispatch_invalid(sample.kernel, reason.unwrap_or(Invalid::Unresolved));
        }
    }
}

/// Raw timestamps out of the bytes Metal resolves samples to, one little-endian `u64`
/// each; bytes that make no whole sample are left out.
pub fn timestamps(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// So many of a thing that may live at once.
///
/// Metal gives a process some 32 counter sample buffers, across all its devices, and an error for the next.
#[derive(Debug)]
pub struct Budget {
    left: AtomicUsize,
}

impl Budget {
    /// Room for so many.
    pub const fn new(most: usize) -> Budget {
        Budget {
            left: AtomicUsize::new(most),
        }
    }

    /// Room for one, until the permit is dropped; `None` when there is none.
    pub fn take(&'static self) -> Option<Permit> {
        let less = |left: usize| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .ok()
            .map(|_| Permit(self))
    }
}

/// One of a [`Budget`].
#[derive(Debug)]
pub struct Permit(&'static Budget);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::Relaxed);
    }
}

/// Things to use again: at most `capacity` wait here, more are let go.
#[derive(Debug)]
pub struct Pool<T> {
    idle: Mutex<Vec<T>>,
    capacity: usize,
}

impl<T> Pool<T> {
    /// An empty pool.
    pub const fn new(capacity: usize) -> Pool<T> {
        Pool {
            idle: Mutex::new(Vec::new()),
            capacity,
        }
    }

    /// One that was given back, if any.
    pub fn take(&self) -> Option<T> {
        lock(&self.idle).pop()
    }

    /// Gives some back.
    pub fn give(&self, items: impl IntoIterator<Item = T>) {
        let mut idle = lock(&self.idle);
        let room = self.capacity.saturating_sub(idle.len());
        idle.extend(items.into_iter().take(room));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Stands for a counter sample buffer: what the GPU wrote.
    type Written = Vec<u64>;

    #[test]
    fn more_than_2048_dispatches_are_timed_through_a_chain() {
        let recorder = Recorder::new();
        let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
        let mut chain = SampleChain::<usize>::default();
        let mut made = 0;
        for n in 0..5000 {
            let (buffer, slot) = chain
                .next(kernel, || {
                    made += 1;
                    Some(Recycled::new(made - 1))
                })
                .unwrap();
            assert_eq!(*buffer, n / 2048);
            assert!(slot.end < SAMPLES_PER_BUFFER);
        }
        assert_eq!((made, chain.dispatches()), (3, 5000));
        let id = recorder.begin_command_buffer();
        let buffers = chain.resolve(&recorder, id, label, |buffer, samples| {
            // Sample s of buffer b was taken at 1000 · (4096 b + s) + 1.
            Some(
                (0..samples)
                    .map(|s| 1000 * (4096 * buffer + s) as u64 + 1)
                    .collect(),
            )
        });
        let buffers: Vec<usize> = buffers.iter().map(|buffer| buffer.buffer).collect();
        assert_eq!(buffers, [0, 1, 2]);
        let snapshot = recorder.snapshot();
        assert_eq!(
            (snapshot.kernels[0].count, snapshot.kernels[0].total_ns),
            (5000, 5_000_000)
        );
        assert!(
            snapshot
                .dispatches
                .iter()
                .enumerate()
                .all(|(n, d)| d.index as usize == n)
        );
    }

    #[test]
    fn bad_samples_are_counted_by_reason_and_good_ones_kept() {
        let recorder = Recorder::new();
        let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
        let mut chain = SampleChain::<Written>::default();
        let written = vec![100, 250, u64::MAX, 300, 0, 400, 500, 450, 600];
        for _ in 0..5 {
            chain.next(kernel, || Some(Recycled::new(written.clone())));
        }
        chain.resolve(&recorder, CommandBufferId(1), label, |buffer, _| {
            Some(buffer.clone())
        });
        let stats = &recorder.snapshot().kernels[0];
        assert_eq!((stats.count, stats.total_ns), (1, 150));
        let reasons: Vec<_> = stats.invalid.iter().collect();
        let expected = [
            Invalid::AllOnes,
            Invalid::Zero,
            Invalid::EndBeforeStart,
            Invalid::Unresolved,
        ];
        assert_eq!(reasons, expected.map(|reason| (reason, 1)));
    }

    #[test]
    fn a_sample_buffer_that_cannot_be_made_costs_its_samples_only() {
        let recorder = Recorder::new();
        let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
        let mut chain = SampleChain::<Written>::default();
        for n in 0..2050 {
            let slot = chain.next(kernel, || {
                (n > 0).then(|| Recycled::new(vec![10, 20, 30, 40]))
            });
            assert_eq!(slot.is_some(), n >= 2048);
        }
        chain.resolve(&recorder, CommandBufferId(1), label, |buffer, _| {
            Some(buffer.clone())
        });
        let stats = &recorder.snapshot().kernels[0];
        assert_eq!(
            (stats.count, stats.invalid.get(Invalid::Unresolved)),
            (2, 2048)
        );
    }

    #[test]
    fn a_recycled_buffer_does_not_pass_old_samples_off_as_new() {
        let recorder = Recorder::new();
        let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
        let mut buffer = Recycled::new(());
        // The second dispatch of the second use was never run: its samples are the old ones.
        for ticks in [vec![10, 20, 30, 40], vec![50, 60, 30, 40]] {
            let mut chain = SampleChain::default();
            chain.next(kernel, || Some(buffer));
            chain.next(kernel, || None);
            let mut back = chain.resolve(&recorder, CommandBufferId(1), label, |(), _| {
                Some(ticks.clone())
            });
            buffer = back.remove(0);
        }
        let stats = &recorder.snapshot().kernels[0];
        assert_eq!((stats.count, stats.invalid.get(Invalid::Zero)), (3, 1));
    }

    #[test]
    fn every_device_gets_a_strategy() {
        let check = |timestamps, dispatch_boundary, stage_boundary| {
            let device = Capability {
                timestamps,
                dispatch_boundary,
                stage_boundary,
            };
            [EncoderPerDispatch::Refuse, EncoderPerDispatch::Accept]
                .map(|encoders| Strategy::choose(device, encoders).sampling())
        };
        use Sampling::{DispatchBoundary, EncoderPerDispatch as PerDispatch, Unknown};
        assert_eq!(
            check(true, true, true),
            [DispatchBoundary, DispatchBoundary]
        );
        assert_eq!(check(true, false, true), [Unknown, PerDispatch]);
        assert_eq!(check(true, false, false), [Unknown, Unknown]);
        assert_eq!(check(false, true, true), [Unknown, Unknown]);
    }

    #[test]
    fn the_33rd_sample_buffer_is_not_asked_for() {
        static BUDGET: Budget = Budget::new(28);
        let mut permits: Vec<_> = (0..40).filter_map(|_| BUDGET.take()).collect();
        assert_eq!(permits.len(), 28);
        permits.pop();
        assert!(BUDGET.take().is_some(), "one was given back");
    }

    #[test]
    fn a_gpu_that_writes_zeros_only_is_noted_once() {
        let recorder = Recorder::new();
        let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
        for ticks in [vec![0; 4], vec![0; 4], vec![0, 0, 30, 40]] {
            let mut chain = SampleChain::<Written>::default();
            chain.next(kernel, || Some(Recycled::new(ticks)));
            chain.next(kernel, || None);
            chain.resolve(&recorder, CommandBufferId(1), label, |buffer, _| {
                Some(buffer.clone())
            });
        }
        let snapshot = recorder.snapshot();
        assert_eq!(snapshot.notes, [ZEROS]);
        assert_eq!(snapshot.kernels[0].invalid.get(Invalid::Zero), 5);
        assert_eq!(snapshot.kernels[0].count, 1);
    }

    #[test]
    fn a_pool_keeps_no_more_than_its_capacity() {
        let pool = Pool::new(2);
        pool.give([1, 2, 3]);
        assert_eq!(
            (pool.take(), pool.take(), pool.take()),
            (Some(2), Some(1), None)
        );
    }

    #[test]
    fn resolved_bytes_become_timestamps() {
        let bytes = [
            1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 7,
        ];
        assert_eq!(timestamps(&bytes), [1, u64::MAX]);
    }
}
