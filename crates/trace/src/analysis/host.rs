//! The host's part: encoding, the driver, and what the process did while the GPU
//! waited for it.

use super::document::{Cpu, HostActivity, HostFunction, HostThread, HotFunctions};
use super::gaps::Gap;
use super::stats::{fraction, ms, total, union_of, us};
use super::view::View;
use crate::events::{CpuSample, Span};
use crate::xml::builder::Frame;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) fn report(view: &View<'_>, gaps: &[Gap<'_>]) -> Cpu {
    let events = &view.recording.events;
    let encodings: Vec<_> = events
        .encodings
        .iter()
        .filter(|e| view.is_target(e.pid))
        .collect();
    let has_encodings = view.recording.has_table("metal-application-encoders-list");
    let known: FxHashSet<u64> = encodings.iter().map(|e| e.encoder).collect();
    let encode: u64 = encodings.iter().map(|e| e.span.duration()).sum();
    let unmatched = view
        .target
        .iter()
        .filter(|i| !known.contains(&i.encoder))
        .count();
    let driver: Vec<Span> = events
        .driver
        .iter()
        .filter(|named| view.is_target(named.pid))
        .filter_map(|named| named.span.clip(view.window))
        .collect();
    let has_driver = view.recording.has_table("metal-driver-intervals");
    let mean = encode as f64 / encodings.len().max(1) as f64;
    Cpu {
        encoders: has_encodings.then_some(encodings.len() as u64),
        encode_ms: has_encodings.then(|| ms(encode)),
        encode_mean_us: (!encodings.is_empty()).then(|| us(mean)),
        unmatched_executions: has_encodings.then_some(unmatched as u64),
        driver_ms: has_driver.then(|| ms(total(&union_of(driver)))),
        while_gpu_waits: activity(view, gaps),
        hot: hot(view),
    }
}

/// Functions listed.
const TOP: usize = 10;

/// Names that mean the host waits for the GPU.
const WAITS: [&str; 4] = [
    "waitUntilCompleted",
    "waitUntilScheduled",
    "waitUntilSignaledValue",
    "notifyListener",
];

fn activity(view: &View<'_>, gaps: &[Gap<'_>]) -> Option<HostActivity> {
    let recording = view.recording;
    if recording.events.samples.is_empty() {
        return None;
    }
    // Gaps are disjoint and in order, so are their host-late parts.
    let waits: Vec<Span> = gaps
        .iter()
        .filter_map(|gap| Some(Span::new(gap.span().start, gap.host_wait()?)))
        .filter(|span| span.duration() > 0)
        .collect();
    let profile = Profile::of(view, |time| contains(&waits, time));
    let mut thread_times: Vec<(u64, u64)> = profile.threads.iter().map(|(&t, &w)| (t, w)).collect();
    thread_times.sort_unstable_by_key(|&(thread, time)| (std::cmp::Reverse(time), thread));
    let thread = |(id, time): (u64, u64)| HostThread {
        thread: thread_name(view, id),
        ms: ms(time),
    };
    Some(HostActivity {
        host_wait_ms: ms(total(&waits)),
        samples: profile.samples,
        sampled_ms: ms(profile.sampled),
        waiting_samples: profile.waiting,
        functions: functions(view, profile.own, profile.sampled),
        callers: functions(view, profile.inside, profile.sampled),
        threads: thread_times.into_iter().take(TOP).map(thread).collect(),
    })
}

/// Where CPU time went in the whole window.
fn hot(view: &View<'_>) -> Option<HotFunctions> {
    let window = view.window;
    let profile = Profile::of(view, |time| time >= window.start && time < window.end);
    (profile.samples > 0).then(|| HotFunctions {
        samples: profile.samples,
        sampled_ms: ms(profile.sampled),
        functions: functions(view, profile.own, profile.sampled),
        callers: functions(view, profile.inside, profile.sampled),
    })
}

/// CPU samples of the target, summed.
#[derive(Default)]
struct Profile {
    samples: u64,
    /// Time they stand for.
    sampled: u64,
    /// Samples inside a wait for the GPU.
    waiting: u64,
    /// Time by innermost function.
    own: FxHashMap<Frame, u64>,
    /// Time by function anywhere on the stack.
    inside: FxHashMap<Frame, u64>,
    threads: FxHashMap<u64, u64>,
}

impl Profile {
    /// Sums the samples taken at times that `wanted` holds for.
    fn of(view: &View<'_>, wanted: impl Fn(u64) -> bool) -> Self {
        let mut profile = Profile::default();
        let mut seen: FxHashSet<Frame> = FxHashSet::default();
        for sample in &view.recording.events.samples {
            if view.is_target(sample.pid) && wanted(sample.time) {
                profile.add(view, sample, &mut seen);
            }
        }
        profile
    }

    fn add(&mut self, view: &View<'_>, sample: &CpuSample, seen: &mut FxHashSet<Frame>) {
        let recording = view.recording;
        self.samples += 1;
        self.sampled = self.sampled.saturating_add(sample.weight);
        *self.threads.entry(sample.thread).or_default() += sample.weight;
        let stack = sample
            .stack
            .and_then(|index| recording.stacks.get(index as usize));
        let frames = stack.iter().flat_map(|stack| stack.iter());
        let frames = frames.filter_map(|&frame| recording.frames.get(frame as usize).copied());
        seen.clear();
        let mut waits_here = false;
        for (depth, frame) in frames.enumerate() {
            if depth == 0 {
                *self.own.entry(frame).or_default() += sample.weight;
            }
            if seen.insert(frame) {
                *self.inside.entry(frame).or_default() += sample.weight;
            }
            let name = recording.texts.get(frame.function);
            waits_here |= WAITS.iter().any(|wait| name.contains(wait));
        }
        self.waiting += u64::from(waits_here);
    }
}

fn thread_name(view: &View<'_>, id: u64) -> String {
    let name = view
        .recording
        .threads
        .get(&id)
        .map_or("", |thread| view.text(thread.name));
    if name.is_empty() {
        format!("{id:#x}")
    } else {
        format!("{name} ({id:#x})")
    }
}

fn functions(view: &View<'_>, times: FxHashMap<Frame, u64>, whole: u64) -> Vec<HostFunction> {
    let mut rows: Vec<HostFunction> = times
        .into_iter()
        .map(|(frame, time)| HostFunction {
            function: view.text(frame.function).to_owned(),
            binary: view.text(frame.binary).to_owned(),
            ms: ms(time),
            share: fraction(time as f64, whole as f64),
        })
        .collect();
    rows.sort_by(|a, b| {
        let by_time = b.ms.total_cmp(&a.ms);
        by_time.then_with(|| (&a.function, &a.binary).cmp(&(&b.function, &b.binary)))
    });
    rows.truncate(TOP);
    rows
}

fn contains(spans: &[Span], time: u64) -> bool {
    let index = spans.partition_point(|span| span.end <= time);
    spans.get(index).is_some_and(|span| span.start <= time)
}
