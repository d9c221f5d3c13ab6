//! What is recorded: one command buffer, one dispatch, or the reason why there is nothing.

use crate::label::LabelId;

/// The value Metal writes for a counter sample that failed (`MTLCounterErrorValue`), and
/// the one this crate uses for "not known" where numbers are packed.
pub const ERROR_TIMESTAMP: u64 = u64::MAX;

/// Durations from here on are recorded, and counted as implausible: 292 years look like a
/// negative difference.
pub(crate) const IMPLAUSIBLE_NS: u64 = 1 << 63;

/// Why a sample carries no time. Such samples are counted, per label and reason, and
/// never enter a total as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// A timestamp or duration with all bits set: the GPU's error value.
    AllOnes,
    /// A timestamp or duration of zero: never written.
    Zero,
    /// The end lies before the start.
    EndBeforeStart,
    /// A time in seconds that is not a finite, positive number.
    NotFinite,
    /// The GPU's samples could not be read back.
    Unresolved,
    /// The command buffer ended with an error.
    Failed,
}

impl Invalid {
    /// Every reason, in the order in which they are shown.
    pub const ALL: [Invalid; 6] = [
        Invalid::AllOnes,
        Invalid::Zero,
        Invalid::EndBeforeStart,
        Invalid::NotFinite,
        Invalid::Unresolved,
        Invalid::Failed,
    ];

    /// The reason's name in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Invalid::AllOnes => "all_ones",
            Invalid::Zero => "zero",
            Invalid::EndBeforeStart => "end_before_start",
            Invalid::NotFinite => "not_finite",
            Invalid::Unresolved => "unresolved",
            Invalid::Failed => "failed",
        }
    }

    /// The reason in words, for people.
    pub const fn description(self) -> &'static str {
        match self {
            Invalid::AllOnes => "all ones (the GPU's error value)",
            Invalid::Zero => "zero (never written)",
            Invalid::EndBeforeStart => "end before start",
            Invalid::NotFinite => "not a finite positive time",
            Invalid::Unresolved => "unresolved (samples could not be read back)",
            Invalid::Failed => "failed (command buffer ended with an error)",
        }
    }
}

/// Where the recorded times come from. Reports say so when it is not the GPU's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimeSource {
    /// A GPU's clock.
    #[default]
    Measured,
    /// A cost model or a simulation.
    Modelled,
    /// The host's clock.
    Host,
}

impl TimeSource {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TimeSource::Measured => "measured",
            TimeSource::Modelled => "modelled",
            TimeSource::Host => "host",
        }
    }
}

/// How many samples carried no time, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InvalidCounts(pub(crate) [u64; Invalid::ALL.len()]);

impl InvalidCounts {
    /// Samples with this reason.
    pub fn get(&self, reason: Invalid) -> u64 {
        self.0[reason as usize]
    }

    /// Samples with any reason.
    pub fn total(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The reasons that occurred and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Invalid, u64)> + '_ {
        Invalid::ALL
            .into_iter()
            .zip(self.0)
            .filter(|(_, count)| *count > 0)
    }

    pub(crate) fn merge(&mut self, other: &InvalidCounts) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(count);
        }
    }
}

/// A command buffer's number in one [`Recorder`](crate::Recorder): ties dispatches to the
/// command buffer they ran in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandBufferId(pub(crate) u64);

impl CommandBufferId {
    /// No particular command buffer: only the label is known.
    pub const NONE: CommandBufferId = CommandBufferId(0);

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The command buffer with this number, for passing through C.
    pub const fn from_raw(number: u64) -> CommandBufferId {
        CommandBufferId(number)
    }
}

/// How a command buffer's dispatches were timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// Not known, or not at all.
    #[default]
    Unknown,
    /// Samples around each dispatch inside one encoder, with a barrier.
    DispatchBoundary,
    /// One encoder for each dispatch, sampled where the encoder starts and ends. The
    /// encoders run one after another, which costs time the program does not spend
    /// otherwise.
    EncoderPerDispatch,
}

impl Sampling {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Sampling::Unknown => "unknown",
            Sampling::DispatchBoundary => "dispatch_boundary",
            Sampling::EncoderPerDispatch => "encoder_per_dispatch",
        }
    }

    pub(crate) const fn from_number(number: u64) -> Sampling {
        match number {
            1 => Sampling::DispatchBoundary,
            2 => Sampling::EncoderPerDispatch,
            _ => Sampling::Unknown,
        }
    }
}

/// One finished command buffer. Times are nanoseconds of one host clock; those that are
/// not known stay `None`.
///
/// ```
/// use assay_timing::{CommandBufferSample, Recorder};
///
/// let recorder = Recorder::new();
/// let id = recorder.begin_command_buffer();
/// let sample = CommandBufferSample {
///     committed_ns: Some(900),
///     ..CommandBufferSample::new(id, recorder.label("decode"), 1_000, 51_000)
/// };
/// recorder.record_command_buffer(&sample);
/// assert_eq!(recorder.snapshot().labels[0].total_ns, 50_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandBufferSample {
    /// From [`Recorder::begin_command_buffer`](crate::Recorder::begin_command_buffer).
    pub id: CommandBufferId,
    /// The label it is counted under.
    pub label: LabelId,
    /// Any number that tells command queues apart.
    pub queue: u32,
    /// How many dispatches were encoded, if known: tells lost samples from idle time.
    pub dispatches: Option<u32>,
    /// How its dispatches were timed.
    pub sampling: Sampling,
    /// When the host created it.
    pub created_ns: Option<u64>,
    /// When the host committed it.
    pub committed_ns: Option<u64>,
    /// When it was scheduled for the GPU.
    pub scheduled_ns: Option<u64>,
    /// When the GPU started it.
    pub start_ns: u64,
    /// When the GPU finished it.
    pub end_ns: u64,
    /// When the host learnt that it had finished.
    pub completed_ns: Option<u64>,
}

impl CommandBufferSample {
    /// A sample of which only the GPU's times are known.
    pub const fn new(id: CommandBufferId, label: LabelId, start_ns: u64, end_ns: u64) -> Self {
        CommandBufferSample {
            id,
            label,
            queue: 0,
            dispatches: None,
            sampling: Sampling::Unknown,
            created_ns: None,
            committed_ns: None,
            scheduled_ns: None,
            start_ns,
            end_ns,
            completed_ns: None,
        }
    }

    pub(crate) const WORDS: usize = 9;

    pub(crate) fn pack(&self) -> [u64; Self::WORDS] {
        let time = |ns: Option<u64>| ns.unwrap_or(ERROR_TIMESTAMP);
        // 0 dispatches encoded and an unknown number are different things.
        let dispatches = self.dispatches.map_or(0, |count| u64::from(count) + 1);
        [
            self.id.0,
            pair(self.label.0, self.queue),
            (dispatches << 8) | self.sampling as u64,
            time(self.created_ns),
            time(self.committed_ns),
            time(self.scheduled_ns),
            self.start_ns,
            self.end_ns,
            time(self.completed_ns),
        ]
    }

    pub(crate) fn unpack(words: &[u64; Self::WORDS]) -> CommandBufferSample {
        let time = |ns: u64| (ns != ERROR_TIMESTAMP).then_some(ns);
        let [
            id,
            label_queue,
            how,
            created,
            committed,
            scheduled,
            start_ns,
            end_ns,
            completed,
        ] = *words;
        let (label, queue) = halves(label_queue);
        CommandBufferSample {
            id: CommandBufferId(id),
            label: LabelId(label),
            queue,
            dispatches: (how >> 8).checked_sub(1).map(|count| count as u32),
            sampling: Sampling::from_number(how & 0xff),
            created_ns: time(created),
            committed_ns: time(committed),
            scheduled_ns: time(scheduled),
            start_ns,
            end_ns,
            completed_ns: time(completed),
        }
    }
}

/// One dispatch inside a command buffer, in nanoseconds of the host clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DispatchSample {
    /// The command buffer it ran in, or [`CommandBufferId::NONE`].
    pub command_buffer: CommandBufferId,
    /// The command buffer's label.
    pub label: LabelId,
    /// The kernel's name or the kind of operation, a label too.
    pub kernel: LabelId,
    /// Its place among the command buffer's dispatches, from 0.
    pub index: u32,
    /// When it started.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// A dispatch as the ring keeps it: the old interface gives the duration beside the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredDispatch {
    pub(crate) sample: DispatchSample,
    pub(crate) gpu_ns: u64,
}

impl StoredDispatch {
    pub(crate) const WORDS: usize = 6;

    #[inline]
    pub(crate) fn pack(&self) -> [u64; Self::WORDS] {
        [
            self.sample.command_buffer.0,
            pair(self.sample.label.0, self.sample.kernel.0),
            u64::from(self.sample.index),
            self.gpu_ns,
            self.sample.start_ns,
            self.sample.end_ns,
        ]
    }

    pub(crate) fn unpack(words: &[u64; Self::WORDS]) -> StoredDispatch {
        let [id, label_kernel, index, gpu_ns, start_ns, end_ns] = *words;
        let (label, kernel) = halves(label_kernel);
        StoredDispatch {
            sample: DispatchSample {
                command_buffer: CommandBufferId(id),
                label: LabelId(label),
                kernel: LabelId(kernel),
                index: index as u32,
                start_ns,
                end_ns,
            },
            gpu_ns,
        }
    }
}

#[inline]
fn pair(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Whether two timestamps make an interval.
#[inline]
pub(crate) fn check_interval(start: u64, end: u64) -> Result<(), Invalid> {
    if start == ERROR_TIMESTAMP || end == ERROR_TIMESTAMP {
        Err(Invalid::AllOnes)
    } else if end == 0 {
        Err(Invalid::Zero)
    } else if end < start {
        Err(Invalid::EndBeforeStart)
    } else {
        Ok(())
    }
}

/// Metal's host times in seconds as nanoseconds, or why they are none. Metal reports 0
/// for a command buffer that never ran.
///
/// ```
/// use assay_timing::{Invalid, seconds_to_ns};
///
/// assert_eq!(seconds_to_ns(2.0, 2.000_05), Ok((2_000_000_000, 2_000_050_000)));
/// assert_eq!(seconds_to_ns(0.0, 0.0), Err(Invalid::Zero));
/// assert_eq!(seconds_to_ns(2.0, 1.0), Err(Invalid::EndBeforeStart));
/// assert_eq!(seconds_to_ns(f64::NAN, 1.0), Err(Invalid::NotFinite));
/// ```
pub fn seconds_to_ns(start: f64, end: f64) -> Result<(u64, u64), Invalid> {
    // Whole nanoseconds that a u64 can hold, short of the error value.
    let limit = u64::MAX as f64 / 1e9;
    for seconds in [start, end] {
        if !seconds.is_finite() || seconds < 0.0 || seconds >= limit {
            return Err(Invalid::NotFinite);
        }
        if seconds == 0.0 {
            return Err(Invalid::Zero);
        }
    }
    let (start, end) = ((start * 1e9).round() as u64, (end * 1e9).round() as u64);
    check_interval(start, end).map(|()| (start, end))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let sample = CommandBufferSample {
            queue: 7,
            dispatches: Some(0),
            sampling: Sampling::EncoderPerDispatch,
            committed_ns: Some(5),
            completed_ns: Some(99),
            ..CommandBufferSample::new(CommandBufferId(3), LabelId(2), 10, 20)
        };
        assert_eq!(CommandBufferSample::unpack(&sample.pack()), sample);
        let unknown = CommandBufferSample {
            dispatches: None,
            ..sample
        };
        assert_eq!(CommandBufferSample::unpack(&unknown.pack()), unknown);
        let most = CommandBufferSample {
            dispatches: Some(u32::MAX),
            ..sample
        };
        assert_eq!(CommandBufferSample::unpack(&most.pack()), most);
    }

    #[test]
    fn times_too_large_for_nanoseconds_are_not_times() {
        assert_eq!(seconds_to_ns(1.0, 1e300), Err(Invalid::NotFinite));
        assert_eq!(seconds_to_ns(-1.0, 1.0), Err(Invalid::NotFinite));
    }
}
