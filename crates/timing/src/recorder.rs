//! The recorder: what a program calls while it runs, and what it asks for at the end.

use crate::cell::Read;
use crate::clock::{ClockFit, ClockSync};
use crate::histogram::Counts;
use crate::label::{Interner, LabelId};
use crate::ring::Ring;
use crate::sample::{
    CommandBufferId, CommandBufferSample, DispatchSample, ERROR_TIMESTAMP, IMPLAUSIBLE_NS, Invalid,
    StoredDispatch, TimeSource, check_interval,
};
use crate::shard::{Shards, Table};
use crate::snapshot::{
    ClockReport, CommandBufferRecord, DispatchRecord, LabelStats, Losses, Process, Snapshot,
};
use crate::switch::Switches;
use crate::sync::lock;
use crate::tally::Tally;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Most labels a recorder can be given room for.
pub const MAX_LABELS: usize = 1 << 16;
/// Largest ring of samples a recorder can be given.
pub const MAX_RING: usize = 1 << 24;
/// Most different notes a recorder keeps.
const MAX_NOTES: usize = 32;

/// Switch bits.
pub(crate) const COMMAND_BUFFERS: u8 = 1;
pub(crate) const DISPATCHES: u8 = 2;

/// Sizes of a recorder. Memory is bounded by them, whatever is recorded.
///
/// ```
/// use assay_timing::{Recorder, RecorderOptions};
///
/// let recorder = Recorder::with_options(&RecorderOptions {
///     labels: 64,
///     ..RecorderOptions::default()
/// });
/// assert!(recorder.is_enabled());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderOptions {
    /// Different labels (command buffers and kernels together) before the overflow label
    /// takes the rest; at most [`MAX_LABELS`].
    pub labels: usize,
    /// Dispatches kept, rounded up to a power of two; 64 bytes each, taken with the first.
    pub dispatches: usize,
    /// Command buffers kept with their times, rounded up likewise; 128 bytes each.
    pub command_buffers: usize,
    /// Threads with cells of their own; more threads share a slower set.
    pub threads: usize,
    /// What [`Recorder::is_enabled`] and [`Recorder::is_dispatch_enabled`] answer.
    pub switches: Switches,
    /// Where the times come from.
    pub time_source: TimeSource,
    /// The program's name in exports; the executable's file name when `None`.
    pub process_name: Option<String>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        RecorderOptions {
            labels: 1024,
            dispatches: 1 << 16,
            command_buffers: 1 << 14,
            threads: 64,
            switches: Switches::ALL,
            time_source: TimeSource::Measured,
            process_name: None,
        }
    }
}

struct Inner {
    shards: Arc<Shards>,
    labels: Interner,
    command_buffers: Ring<{ CommandBufferSample::WORDS }>,
    dispatches: Ring<{ StoredDispatch::WORDS }>,
    invalid_buffers: Tally,
    invalid_kernels: Tally,
    clock: Mutex<ClockSync>,
    next_buffer: AtomicU64,
    pending: AtomicU64,
    implausible: AtomicU64,
    switches: AtomicU8,
    /// Where the process-wide recorder's switches can be read without finding it first.
    mirror: Option<&'static AtomicU8>,
    notes: Mutex<Vec<String>>,
    time_source: TimeSource,
    process_name: Option<String>,
    /// Held by reset and snapshot, never while recording.
    control: Mutex<()>,
}

/// Records GPU time. Cheap to clone; clones share one set of figures.
///
/// *Recording is unconditional*: ask [`is_enabled`](Self::is_enabled) first where a
/// program's switch should decide.
///
/// ```
/// use assay_timing::Recorder;
///
/// let recorder = Recorder::new();
/// let attention = recorder.label("attention"); // once
/// recorder.record_id(attention, 41_000);       // per command buffer
/// recorder.record_id(attention, 43_000);
/// recorder.record("ffn", 90_000);              // or by name
///
/// let snapshot = recorder.snapshot();
/// assert_eq!(&*snapshot.labels[0].label, "ffn");
/// assert_eq!(snapshot.labels[1].count, 2);
/// ```
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Inner>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::new()
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("labels", &self.inner.labels.len())
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder of the default sizes, everything on.
    pub fn new() -> Recorder {
        Recorder::with_options(&RecorderOptions::default())
    }

    /// A recorder of the given sizes.
    pub fn with_options(options: &RecorderOptions) -> Recorder {
        Recorder::with_mirror(options, None)
    }

    /// A recorder that also keeps its switches in `mirror`.
    pub(crate) fn with_mirror(
        options: &RecorderOptions,
        mirror: Option<&'static AtomicU8>,
    ) -> Recorder {
        let labels = Interner::new(options.labels.min(MAX_LABELS));
        let recorder = Recorder {
            inner: Arc::new(Inner {
                shards: Arc::new(Shards::new(labels.capacity(), options.threads)),
                command_buffers: Ring::new(options.command_buffers.min(MAX_RING)),
                dispatches: Ring::new(options.dispatches.min(MAX_RING)),
                invalid_buffers: Tally::new(labels.capacity()),
                invalid_kernels: Tally::new(labels.capacity()),
                labels,
                clock: Mutex::default(),
                next_buffer: AtomicU64::new(1),
                pending: AtomicU64::new(0),
                implausible: AtomicU64::new(0),
                switches: AtomicU8::new(0),
                mirror,
                notes: Mutex::default(),
                time_source: options.time_source,
                process_name: options.process_name.clone(),
                control: Mutex::default(),
            }),
        };
        recorder.set_switches(options.switches);
        recorder
    }

    /// Whether figures per command buffer are wanted.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.inner.switches.load(Ordering::Relaxed) & COMMAND_BUFFERS != 0
    }

    /// Whether samples per dispatch are wanted.
    #[inline]
    pub fn is_dispatch_enabled(&self) -> bool {
        self.inner.switches.load(Ordering::Relaxed) & DISPATCHES != 0
    }

    /// Changes what is wanted while the program runs. Dispatches imply command buffers.
    pub fn set_switches(&self, switches: Switches) {
        let bits = match switches {
            Switches {
                dispatches: true, ..
            } => DISPATCHES | COMMAND_BUFFERS,
            Switches {
                command_buffers: true,
                ..
            } => COMMAND_BUFFERS,
            _ => 0,
        };
        for place in std::iter::once(&self.inner.switches).chain(self.inner.mirror) {
            place.store(bits, Ordering::Relaxed);
        }
    }

    /// The number of a label, for the calls that take one. Ask once and keep it: numbers
    /// stay valid for the recorder's life, across resets too.
    pub fn label(&self, text: &str) -> LabelId {
        self.inner.labels.intern(text)
    }

    /// Like [`label`](Self::label) for bytes from elsewhere, which may not be UTF-8.
    pub fn label_bytes(&self, bytes: &[u8]) -> LabelId {
        self.inner.labels.intern_bytes(bytes)
    }

    /// The text of a label this recorder has given out.
    pub fn label_text(&self, label: LabelId) -> Option<Arc<str>> {
        self.inner.labels.text(label)
    }

    /// Adds a command buffer's GPU time to a label: no lock, and after a thread's first
    /// samples of the label no allocation.
    #[inline]
    pub fn record_id(&self, label: LabelId, ns: u64) {
        // One comparison for the usual case: neither 0 nor suspiciously large.
        if ns.wrapping_sub(1) >= IMPLAUSIBLE_NS - 1 && !self.accept_odd(label, ns) {
            return;
        }
        self.inner.shards.record(Table::CommandBuffers, label, ns);
    }

    /// Like [`record_id`](Self::record_id), looking the label up first.
    #[inline]
    pub fn record(&self, label: &str, ns: u64) {
        self.record_id(self.label(label), ns);
    }

    #[cold]
    fn accept_odd(&self, label: LabelId, ns: u64) -> bool {
        let reason = match ns {
            0 => Invalid::Zero,
            ERROR_TIMESTAMP => Invalid::AllOnes,
            _ => {
                self.inner.implausible.fetch_add(1, Ordering::Relaxed);
                return true;
            }
        };
        self.record_invalid(label, reason);
        false
    }

    /// Counts a command buffer of which the time is not known.
    pub fn record_invalid(&self, label: LabelId, reason: Invalid) {
        self.inner.invalid_buffers.add(label, reason);
    }

    /// Counts a dispatch of which the time is not known.
    pub fn record_dispatch_invalid(&self, kernel: LabelId, reason: Invalid) {
        self.inner.invalid_kernels.add(kernel, reason);
    }

    /// A number for a command buffer about to be encoded. Until
    /// [`record_command_buffer`](Self::record_command_buffer) or
    /// [`fail_command_buffer`](Self::fail_command_buffer) it counts as pending.
    pub fn begin_command_buffer(&self) -> CommandBufferId {
        self.inner.pending.fetch_add(1, Ordering::Relaxed);
        CommandBufferId(self.inner.next_buffer.fetch_add(1, Ordering::Relaxed))
    }

    fn end_command_buffer(&self, id: CommandBufferId) {
        if id != CommandBufferId::NONE {
            let pending = &self.inner.pending;
            let _ =
                pending.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        }
    }

    /// Records a finished command buffer: its duration under its label, its times for
    /// utilisation, gaps and the cross-check.
    pub fn record_command_buffer(&self, sample: &CommandBufferSample) {
        self.end_command_buffer(sample.id);
        let mut check = check_interval(sample.start_ns, sample.end_ns);
        if check.is_ok() && sample.start_ns == sample.end_ns {
            check = Err(Invalid::Zero);
        }
        match check {
            Ok(()) => {
                self.record_id(sample.label, sample.end_ns - sample.start_ns);
                self.inner.command_buffers.push(sample.pack());
            }
            Err(reason) => self.record_invalid(sample.label, reason),
        }
    }

    /// Counts a command buffer that ended without a usable time.
    pub fn fail_command_buffer(&self, id: CommandBufferId, label: LabelId, reason: Invalid) {
        self.end_command_buffer(id);
        self.record_invalid(label, reason);
    }

    /// Records one dispatch: its duration under its kernel, its times in the ring.
    #[inline]
    pub fn record_dispatch(&self, sample: &DispatchSample) {
        let gpu_ns = sample.end_ns.saturating_sub(sample.start_ns);
        self.store_dispatch(&StoredDispatch {
            sample: *sample,
            gpu_ns,
        });
    }

    #[inline]
    pub(crate) fn store_dispatch(&self, dispatch: &StoredDispatch) {
        let sample = &dispatch.sample;
        let mut check = check_interval(sample.start_ns, sample.end_ns);
        // The old interface may know the duration only.
        if check == Err(Invalid::Zero) && dispatch.gpu_ns > 0 && sample.start_ns == 0 {
            check = Ok(());
        }
        if dispatch.gpu_ns == ERROR_TIMESTAMP {
            check = Err(Invalid::AllOnes);
        }
        if let Err(reason) = check {
            return self.record_dispatch_invalid(sample.kernel, reason);
        }
        self.inner
            .shards
            .record(Table::Kernels, sample.kernel, dispatch.gpu_ns);
        self.inner.dispatches.push(dispatch.pack());
    }

    /// Takes in one reading of both clocks, host nanoseconds and GPU ticks.
    pub fn record_clock_pair(&self, cpu_ns: u64, gpu_ticks: u64) {
        lock(&self.inner.clock).add(cpu_ns, gpu_ticks);
    }

    /// The conversion from GPU ticks to host nanoseconds as known now.
    pub fn clock(&self) -> ClockFit {
        lock(&self.inner.clock).fit()
    }

    /// Converts one tick count; for several take [`clock`](Self::clock) once.
    pub fn convert_gpu_ticks_to_ns(&self, gpu_ticks: u64) -> u64 {
        self.clock().to_ns(gpu_ticks)
    }

    /// Keeps a remark that every report shows, once however often it is made.
    pub fn note(&self, text: &str) {
        let mut notes = lock(&self.inner.notes);
        if notes.len() < MAX_NOTES && !notes.iter().any(|known| known == text) {
            notes.push(text.to_owned());
        }
    }

    /// Starts over: figures, samples, counts and clock pairs go, labels and their numbers
    /// and notes stay.
    ///
    /// While other threads record, each of their samples is wholly before or wholly after
    /// the reset; one made by a thread that knows the reset has returned is after it. A
    /// command buffer pending now is recorded when it completes.
    pub fn reset(&self) {
        let _control = lock(&self.inner.control);
        let inner = &*self.inner;
        inner.shards.reset();
        inner.command_buffers.reset();
        inner.dispatches.reset();
        inner.invalid_buffers.reset();
        inner.invalid_kernels.reset();
        inner.labels.reset_losses();
        inner.implausible.store(0, Ordering::Relaxed);
        *lock(&inner.clock) = ClockSync::default();
    }

    /// Everything recorded since the last reset, as plain data. Recording goes on
    /// meanwhile; a label's figures always belong together.
    pub fn snapshot(&self) -> Snapshot {
        let _control = lock(&self.inner.control);
        let inner = &*self.inner;
        let mut torn_reads = 0;
        let labels = self.stats(
            Table::CommandBuffers,
            &inner.invalid_buffers,
            &mut torn_reads,
        );
        let kernels = self.stats(Table::Kernels, &inner.invalid_kernels, &mut torn_reads);
        let buffers = inner.command_buffers.read();
        let dispatches = inner.dispatches.read();
        let clock = lock(&inner.clock);
        Snapshot {
            time_source: inner.time_source,
            process: Process::current(inner.process_name.as_deref()),
            labels,
            kernels,
            command_buffers: self.buffer_records(&buffers.samples),
            dispatches: self.dispatch_records(&dispatches.samples),
            losses: Losses {
                labels: inner.labels.losses(),
                command_buffers_dropped: buffers.dropped,
                dispatches_dropped: dispatches.dropped,
                pending: inner.pending.load(Ordering::Relaxed),
                implausible: inner.implausible.load(Ordering::Relaxed),
                torn_reads,
            },
            clock: ClockReport {
                fit: clock.fit(),
                counts: clock.counts(),
            },
            notes: lock(&inner.notes).clone(),
        }
    }

    /// The dispatches recorded for one command buffer, in order, without reading everything else. Dispatches are recorded
    /// in one go when their command buffer completes, so only what was recorded since is looked at.
    ///
    /// ```
    /// use assay_timing::{DispatchSample, Recorder};
    ///
    /// let recorder = Recorder::new();
    /// let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
    /// let id = recorder.begin_command_buffer();
    /// for index in 0..3 {
    ///     let start_ns = 1000 + 100 * u64::from(index);
    ///     recorder.record_dispatch(&DispatchSample {
    ///         command_buffer: id, label, kernel, index, start_ns, end_ns: start_ns + 40,
    ///     });
    /// }
    /// let found = recorder.dispatches_of(id);
    /// assert_eq!(found.iter().map(|sample| sample.index).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn dispatches_of(&self, id: CommandBufferId) -> Vec<DispatchSample> {
        let mut found = Vec::new();
        self.inner.dispatches.visit_newest(|words| {
            let sample = StoredDispatch::unpack(&words).sample;
            if sample.command_buffer != id {
                return true;
            }
            found.push(sample);
            sample.index > 0
        });
        found.reverse();
        found
    }

    /// One label's figures for command buffers, without reading everything else; `None`
    /// if nothing was recorded under it since the last reset.
    pub fn label_stats(&self, label: LabelId) -> Option<LabelStats> {
        let _control = lock(&self.inner.control);
        let invalid = &self.inner.invalid_buffers;
        let mut counts = Counts::new();
        self.read_label(Table::CommandBuffers, label, invalid, &mut counts, &mut 0)
    }

    /// Labels with samples, valid or not, by total time.
    fn stats(&self, table: Table, invalid: &Tally, torn_reads: &mut u64) -> Vec<LabelStats> {
        let mut counts = Counts::new();
        let mut stats: Vec<LabelStats> = (0..self.inner.labels.len() as u32)
            .filter_map(|number| {
                self.read_label(table, LabelId(number), invalid, &mut counts, torn_reads)
            })
            .collect();
        stats.sort_by(|a, b| {
            b.total_ns
                .cmp(&a.total_ns)
                .then_with(|| a.label.cmp(&b.label))
        });
        stats
    }

    fn read_label(
        &self,
        table: Table,
        label: LabelId,
        invalid: &Tally,
        counts: &mut Counts,
        torn_reads: &mut u64,
    ) -> Option<LabelStats> {
        let (totals, read) = self.inner.shards.read(table, label, counts);
        *torn_reads += u64::from(read == Read::Torn);
        let invalid = invalid.read(label);
        (totals.count > 0 || invalid.total() > 0).then(|| LabelStats {
            label: self.text(label),
            count: totals.count,
            total_ns: totals.total,
            min_ns: if totals.count == 0 { 0 } else { totals.min },
            max_ns: totals.max,
            histogram: counts.take(),
            invalid,
        })
    }

    fn text(&self, label: LabelId) -> Arc<str> {
        let text = self.inner.labels.text(label);
        text.or_else(|| self.inner.labels.text(LabelId::OVERFLOW))
            .unwrap_or_default()
    }

    fn buffer_records(
        &self,
        samples: &[[u64; CommandBufferSample::WORDS]],
    ) -> Vec<CommandBufferRecord> {
        let record = |words| {
            let sample = CommandBufferSample::unpack(words);
            CommandBufferRecord {
                label: self.text(sample.label),
                sample,
            }
        };
        samples.iter().map(record).collect()
    }

    fn dispatch_records(&self, samples: &[[u64; StoredDispatch::WORDS]]) -> Vec<DispatchRecord> {
        let record = |words| {
            let stored = StoredDispatch::unpack(words);
            DispatchRecord {
                command_buffer: stored.sample.command_buffer,
                label: self.text(stored.sample.label),
                kernel: self.text(stored.sample.kernel),
                index: stored.sample.index,
                gpu_ns: stored.gpu_ns,
                start_ns: stored.sample.start_ns,
                end_ns: stored.sample.end_ns,
            }
        };
        samples.iter().map(record).collect()
    }
}
