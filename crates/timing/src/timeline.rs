//! How busy the GPU was: command buffers joined as a union, and the gaps between them.
//!
//! Command buffers of several queues, or of one with several in flight, overlap; adding
//! their durations would count that time twice. A gap has one of two causes when the host
//! says when it committed the work that ended it: before the commit the GPU waited for
//! the *host*, after it for the *launch*.

use crate::snapshot::{CommandBufferRecord, Snapshot};
use std::sync::Arc;

/// Time in which no recorded command buffer ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When the work before ended.
    pub start_ns: u64,
    /// When the work after started.
    pub end_ns: u64,
    /// Label of the command buffer that ended last before.
    pub after: Arc<str>,
    /// Label of the command buffer that ended the gap.
    pub before: Arc<str>,
    /// The part before that command buffer was committed; `None` when that is not known.
    pub host_wait_ns: Option<u64>,
    /// The part after it; `None` when that is not known.
    pub launch_ns: Option<u64>,
}

impl Gap {
    /// Length of the gap.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The GPU's time as seen from the recorded command buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Command buffers looked at.
    pub command_buffers: usize,
    /// From the first start to the last end.
    pub span_ns: u64,
    /// Time in which at least one of them ran.
    pub busy_ns: u64,
    /// Time that simply adding them up would count more than once.
    pub overlap_ns: u128,
    /// The gaps, in order of time.
    pub gaps: Vec<Gap>,
    /// Sum of the gaps' host parts, where known.
    pub host_wait_ns: u64,
    /// Sum of the gaps' launch parts, where known.
    pub launch_ns: u64,
    /// Command buffers not looked at because the ring no longer holds them.
    pub dropped: u64,
}

impl Timeline {
    /// Busy time as a share of the span, 0 to 1; `None` without command buffers.
    pub fn utilization(&self) -> Option<f64> {
        (self.span_ns > 0).then(|| self.busy_ns as f64 / self.span_ns as f64)
    }

    /// Idle time between command buffers.
    pub fn idle_ns(&self) -> u64 {
        self.span_ns - self.busy_ns
    }
}

impl Snapshot {
    /// Joins the recorded command buffers into one timeline.
    ///
    /// ```
    /// use assay_timing::{CommandBufferSample, Recorder};
    ///
    /// let recorder = Recorder::new();
    /// let step = recorder.label("step");
    /// for (committed, start, end) in [(900, 1_000, 5_000), (5_600, 6_000, 10_000)] {
    ///     recorder.record_command_buffer(&CommandBufferSample {
    ///         committed_ns: Some(committed),
    ///         ..CommandBufferSample::new(recorder.begin_command_buffer(), step, start, end)
    ///     });
    /// }
    /// let timeline = recorder.snapshot().timeline();
    /// assert_eq!((timeline.busy_ns, timeline.span_ns), (8_000, 9_000));
    /// assert_eq!((timeline.host_wait_ns, timeline.launch_ns), (600, 400));
    /// ```
    pub fn timeline(&self) -> Timeline {
        let mut records: Vec<&CommandBufferRecord> = self.command_buffers.iter().collect();
        records.sort_by_key(|record| (record.sample.start_ns, record.sample.end_ns));
        let mut timeline = Timeline {
            command_buffers: records.len(),
            dropped: self.losses.command_buffers_dropped,
            ..Timeline::default()
        };
        let Some(first) = records.first() else {
            return timeline;
        };
        let mut sum = 0u128;
        let mut last = *first;
        for record in &records {
            sum += u128::from(record.sample.end_ns - record.sample.start_ns);
            if record.sample.start_ns > last.sample.end_ns {
                timeline.gaps.push(gap(last, record));
            }
            if record.sample.end_ns >= last.sample.end_ns {
                last = record;
            }
        }
        timeline.span_ns = last.sample.end_ns - first.sample.start_ns;
        let idle: u64 = timeline.gaps.iter().map(Gap::duration_ns).sum();
        timeline.busy_ns = timeline.span_ns - idle;
        timeline.overlap_ns = sum.saturating_sub(u128::from(timeline.busy_ns));
        timeline.host_wait_ns = timeline
            .gaps
            .iter()
            .filter_map(|gap| gap.host_wait_ns)
            .sum();
        timeline.launch_ns = timeline.gaps.iter().filter_map(|gap| gap.launch_ns).sum();
        timeline
    }
}

fn gap(last: &CommandBufferRecord, next: &CommandBufferRecord) -> Gap {
    let (start_ns, end_ns) = (last.sample.end_ns, next.sample.start_ns);
    let committed = next
        .sample
        .committed_ns
        .map(|ns| ns.clamp(start_ns, end_ns));
    Gap {
        start_ns,
        end_ns,
        after: Arc::clone(&last.label),
        before: Arc::clone(&next.label),
        host_wait_ns: committed.map(|ns| ns - start_ns),
        launch_ns: committed.map(|ns| end_ns - ns),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{CommandBufferSample, Recorder};

    /// Intervals `(start, end)` in any order → (span, busy, overlap, gaps).
    #[track_caller]
    fn check(intervals: &[(u64, u64)], expected: (u64, u64, u128, &[(u64, u64)])) {
        let recorder = Recorder::new();
        let label = recorder.label("x");
        for &(start, end) in intervals {
            let id = recorder.begin_command_buffer();
            recorder.record_command_buffer(&CommandBufferSample::new(id, label, start, end));
        }
        let timeline = recorder.snapshot().timeline();
        let gaps: Vec<(u64, u64)> = timeline
            .gaps
            .iter()
            .map(|gap| (gap.start_ns, gap.end_ns))
            .collect();
        let found = (
            timeline.span_ns,
            timeline.busy_ns,
            timeline.overlap_ns,
            &gaps[..],
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn overlapping_command_buffers_count_once() {
        check(&[(10, 20), (15, 30)], (20, 20, 5, &[]));
        // One inside another, and a third after a gap counted from the longer one's end.
        check(&[(10, 50), (20, 30), (60, 70)], (60, 50, 10, &[(50, 60)]));
        // Recorded out of order, as completion handlers do.
        check(&[(60, 70), (10, 20)], (60, 20, 0, &[(20, 60)]));
        // Touching intervals leave no gap.
        check(&[(10, 20), (20, 30)], (20, 20, 0, &[]));
        check(&[], (0, 0, 0, &[]));
    }

    #[test]
    fn intervals_at_the_end_of_time_do_not_overflow() {
        check(
            &[(1, u64::MAX - 1), (1, u64::MAX - 1)],
            (u64::MAX - 2, u64::MAX - 2, u128::from(u64::MAX - 2), &[]),
        );
    }
}
