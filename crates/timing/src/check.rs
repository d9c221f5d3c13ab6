//! Do the dispatches explain the command buffer? The check that catches lost samples and
//! mixed-up clocks.
//!
//! Dispatch times are taken with barriers or separate encoders between them, so each is
//! an upper bound and their sum should reach the command buffer's own time or exceed it.
//! A sum clearly *below* means samples were lost or are wrong; *above*, it is what the
//! sampling itself costs.

use crate::clock::ClockQuality;
use crate::sample::{CommandBufferId, Sampling};
use crate::snapshot::{CommandBufferRecord, DispatchRecord, Snapshot};
use std::collections::HashMap;
use std::sync::Arc;

/// A sum below this share of the command buffer's time is warned about.
pub const MISSING_BELOW: f64 = 0.95;
/// Up to this share the two agree: timestamps have a resolution, 42 ns on Apple's GPUs.
pub const AGREES_UP_TO: f64 = 1.005;
/// Above this share the clocks are suspected, unless every dispatch had its own encoder.
pub const SUSPECT_ABOVE: f64 = 1.10;

/// Why a sum of dispatches falls short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Fewer samples than dispatches encoded.
    DroppedSamples {
        /// Samples found.
        found: u32,
        /// Dispatches encoded.
        encoded: u32,
    },
    /// Dispatches lie outside of their command buffer: ticks and host time do not match.
    ClockDomain,
    /// Ticks were taken for nanoseconds or converted by a ratio, for want of clock pairs.
    UncalibratedClock,
    /// Samples of this snapshot were invalid or dropped; these may be among them.
    LostElsewhere,
    /// None of the above: work that was not sampled (copies, other encoders), or the GPU
    /// stood still inside the command buffer.
    UnsampledWork,
}

impl Cause {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::DroppedSamples { .. } => "dropped_samples",
            Cause::ClockDomain => "clock_domain",
            Cause::UncalibratedClock => "uncalibrated_clock",
            Cause::LostElsewhere => "lost_samples",
            Cause::UnsampledWork => "unsampled_work",
        }
    }

    /// The cause in words.
    pub fn description(self) -> String {
        match self {
            Cause::DroppedSamples { found, encoded } => {
                format!("dropped samples: {found} of {encoded} dispatches have one")
            }
            Cause::ClockDomain => {
                "clock domain: dispatches lie outside of their command buffer".into()
            }
            Cause::UncalibratedClock => {
                "clock domain: ticks were converted without two clock pairs".into()
            }
            Cause::LostElsewhere => "dropped or invalid samples, see the counts".into(),
            Cause::UnsampledWork => {
                "work without samples (copies, other encoders) or idle time inside".into()
            }
        }
    }
}

/// What the comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The sum is at most 5 % below the command buffer's time and no more than the
    /// clock's resolution above it.
    Agrees,
    /// The sum is more than 5 % below: samples are lost or wrong.
    SamplesMissing(Cause),
    /// The sum is above: the cost of timing dispatches one by one.
    SerialisationCost,
    /// The sum is more than 10 % above although dispatches shared an encoder: perhaps
    /// serialisation, perhaps the clock.
    SuspectClock,
}

impl Verdict {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::SamplesMissing(_) => "samples_missing",
            Verdict::SerialisationCost => "serialisation_cost",
            Verdict::SuspectClock => "suspect_clock",
        }
    }
}

/// The comparison for one command buffer, or for all of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The label.
    pub label: Arc<str>,
    /// The command buffer; [`CommandBufferId::NONE`] when a label's totals are compared.
    pub command_buffer: CommandBufferId,
    /// Dispatch samples added up.
    pub dispatches: u32,
    /// Their sum.
    pub dispatch_ns: u128,
    /// The command buffer's own time.
    pub buffer_ns: u128,
    /// What follows.
    pub verdict: Verdict,
}

impl Comparison {
    /// The sum as a share of the command buffer's time.
    pub fn ratio(&self) -> f64 {
        self.dispatch_ns as f64 / self.buffer_ns as f64
    }
}

/// The result over a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrossCheck {
    /// One row per command buffer with dispatches, in the order of the ring.
    pub command_buffers: Vec<Comparison>,
    /// One row per label whose dispatches name no command buffer: totals against totals.
    pub labels: Vec<Comparison>,
    /// Command buffers left out because the ring had already let go of some of their
    /// dispatches.
    pub incomplete: usize,
}

impl CrossCheck {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Comparison> {
        self.command_buffers.iter().chain(&self.labels)
    }

    /// The rows that say samples are lost or wrong.
    pub fn warnings(&self) -> impl Iterator<Item = &Comparison> {
        self.rows()
            .filter(|row| matches!(row.verdict, Verdict::SamplesMissing(_)))
    }
}

/// The dispatches of one command buffer or label.
#[derive(Default)]
struct Group {
    count: u32,
    sum_ns: u128,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Group {
    fn add(&mut self, dispatch: &DispatchRecord) {
        self.count = self.count.saturating_add(1);
        self.sum_ns += u128::from(dispatch.gpu_ns);
        let first = self.first_ns.unwrap_or(u64::MAX);
        self.first_ns = Some(first.min(dispatch.start_ns));
        self.last_ns = self.last_ns.max(dispatch.end_ns);
    }

    /// Whether the dispatches lie inside the command buffer, give or take 5 % of it.
    fn inside(&self, buffer: &CommandBufferRecord) -> bool {
        let sample = &buffer.sample;
        let slack = (sample.end_ns - sample.start_ns) / 20;
        self.first_ns
            .is_none_or(|first| first >= sample.start_ns.saturating_sub(slack))
            && self.last_ns <= sample.end_ns.saturating_add(slack)
    }
}

impl Snapshot {
    /// Compares, for each command buffer, the sum of its dispatches with its own time.
    ///
    /// ```
    /// use assay_timing::{Cause, CommandBufferSample, DispatchSample, Recorder, Verdict};
    ///
    /// let recorder = Recorder::new();
    /// let (label, kernel) = (recorder.label("decode"), recorder.label("matmul"));
    /// let id = recorder.begin_command_buffer();
    /// recorder.record_dispatch(&DispatchSample {
    ///     command_buffer: id, label, kernel, index: 0, start_ns: 1_000, end_ns: 3_000,
    /// });
    /// recorder.record_command_buffer(&CommandBufferSample {
    ///     dispatches: Some(2),
    ///     ..CommandBufferSample::new(id, label, 1_000, 5_000)
    /// });
    /// let check = recorder.snapshot().cross_check();
    /// let cause = Cause::DroppedSamples { found: 1, encoded: 2 };
    /// assert_eq!(check.command_buffers[0].verdict, Verdict::SamplesMissing(cause));
    /// ```
    pub fn cross_check(&self) -> CrossCheck {
        let mut by_buffer: HashMap<CommandBufferId, Group> = HashMap::new();
        let mut by_label: HashMap<&str, Group> = HashMap::new();
        for dispatch in &self.dispatches {
            let group = match dispatch.command_buffer {
                CommandBufferId::NONE => by_label.entry(&dispatch.label).or_default(),
                id => by_buffer.entry(id).or_default(),
            };
            group.add(dispatch);
        }
        let mut check = CrossCheck::default();
        for buffer in &self.command_buffers {
            let group = by_buffer.get(&buffer.sample.id);
            if self.partly_overwritten(buffer, group) {
                check.incomplete += 1;
            } else if let Some(row) = self.compare_buffer(buffer, group) {
                check.command_buffers.push(row);
            }
        }
        // Totals only match totals while the ring still has every dispatch.
        if self.losses.dispatches_dropped == 0 {
            check.labels = self.compare_labels(&by_label);
        }
        check
    }

    /// Whether the ring let go of dispatches of this command buffer: those recorded
    /// before the oldest it still has.
    fn partly_overwritten(&self, buffer: &CommandBufferRecord, group: Option<&Group>) -> bool {
        if self.losses.dispatches_dropped == 0 {
            return false;
        }
        let found = group.map_or(0, |group| group.count);
        let oldest = self
            .dispatches
            .first()
            .map(|dispatch| dispatch.command_buffer);
        match buffer.sample.dispatches {
            Some(encoded) => {
                found < encoded && oldest.is_none_or(|oldest| buffer.sample.id <= oldest)
            }
            None => oldest == Some(buffer.sample.id),
        }
    }

    fn compare_buffer(
        &self,
        buffer: &CommandBufferRecord,
        group: Option<&Group>,
    ) -> Option<Comparison> {
        let none = Group::default();
        let expects = buffer.sample.dispatches.is_some_and(|encoded| encoded > 0)
            && buffer.sample.sampling != Sampling::Unknown;
        let group = group.or(expects.then_some(&none))?;
        let buffer_ns = u128::from(buffer.sample.end_ns - buffer.sample.start_ns);
        let verdict = self.judge(group, buffer_ns, Some(buffer))?;
        Some(Comparison {
            label: Arc::clone(&buffer.label),
            command_buffer: buffer.sample.id,
            dispatches: group.count,
            dispatch_ns: group.sum_ns,
            buffer_ns,
            verdict,
        })
    }

    fn compare_labels(&self, groups: &HashMap<&str, Group>) -> Vec<Comparison> {
        let compare = |label: &crate::snapshot::LabelStats| {
            let group = groups.get(&*label.label)?;
            let verdict = self.judge(group, label.total_ns, None)?;
            Some(Comparison {
                label: Arc::clone(&label.label),
                command_buffer: CommandBufferId::NONE,
                dispatches: group.count,
                dispatch_ns: group.sum_ns,
                buffer_ns: label.total_ns,
                verdict,
            })
        };
        self.labels.iter().filter_map(compare).collect()
    }

    fn judge(
        &self,
        group: &Group,
        buffer_ns: u128,
        buffer: Option<&CommandBufferRecord>,
    ) -> Option<Verdict> {
        if buffer_ns == 0 {
            return None;
        }
        let ratio = group.sum_ns as f64 / buffer_ns as f64;
        let own_encoders =
            buffer.is_some_and(|buffer| buffer.sample.sampling == Sampling::EncoderPerDispatch);
        Some(if ratio < MISSING_BELOW {
            Verdict::SamplesMissing(self.likely_cause(group, buffer))
        } else if ratio <= AGREES_UP_TO {
            Verdict::Agrees
        } else if ratio > SUSPECT_ABOVE && !own_encoders {
            Verdict::SuspectClock
        } else {
            Verdict::SerialisationCost
        })
    }

    fn likely_cause(&self, group: &Group, buffer: Option<&CommandBufferRecord>) -> Cause {
        let encoded = buffer.and_then(|buffer| buffer.sample.dispatches);
        if let Some(encoded) = encoded.filter(|encoded| group.count < *encoded) {
            return Cause::DroppedSamples {
                found: group.count,
                encoded,
            };
        }
        if buffer.is_some_and(|buffer| !group.inside(buffer)) {
            return Cause::ClockDomain;
        }
        let sampled = buffer.is_some_and(|buffer| buffer.sample.sampling != Sampling::Unknown);
        if sampled && self.clock.fit.quality != ClockQuality::Fitted {
            return Cause::UncalibratedClock;
        }
        let invalid = self.kernels.iter().any(|kernel| kernel.invalid.total() > 0);
        if invalid || self.losses.dispatches_dropped > 0 {
            return Cause::LostElsewhere;
        }
        Cause::UnsampledWork
    }
}
