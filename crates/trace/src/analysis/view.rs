//! The part of a recording that is examined: one target, one window.

use super::stats::{RunningUnion, union};
use super::{Options, document::Phase};
use crate::error::Error;
use crate::events::{GpuInterval, Maybe, Pid, Span};
use crate::recording::Recording;
use rustc_hash::{FxHashMap, FxHashSet};

/// How the target was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    Toc,
    User,
    MostGpuTime,
    Nothing,
}

/// The prepared input of every computation.
pub(crate) struct View<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) pids: Vec<Pid>,
    pub(crate) chosen_by: ChosenBy,
    pub(crate) window: Span,
    pub(crate) window_chosen_by: String,
    pub(crate) window_given: bool,
    pub(crate) phases: Vec<Phase>,
    /// The target's executions that touch the window, by start.
    pub(crate) target: Vec<&'a GpuInterval>,
    /// The union of everybody else's, over the whole recording.
    pub(crate) others: Vec<Span>,
    /// Commit times by command buffer, from the submission tables.
    commits: FxHashMap<u64, u64>,
    /// The target's command buffers, in order of their start on the GPU.
    pub(crate) buffers: Vec<Buffer>,
}

/// A command buffer of the target.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) id: u64,
    /// First start to last end on the GPU.
    pub(crate) gpu: Span,
    pub(crate) commit: Maybe,
    pub(crate) completed: Maybe,
    pub(crate) thread: Maybe,
    pub(crate) executions: u32,
}

impl<'a> View<'a> {
    pub(crate) fn new(recording: &'a Recording, options: &Options) -> Result<Self, Error> {
        let (pids, chosen_by) = choose_target(recording, options)?;
        let wanted: FxHashSet<Pid> = pids.iter().copied().collect();
        let is_target = |interval: &GpuInterval| {
            interval.active && interval.pid.is_some_and(|p| wanted.contains(&p))
        };
        let all: Vec<&GpuInterval> = recording
            .events
            .gpu
            .iter()
            .filter(|i| is_target(i))
            .collect();
        let others = union(
            recording
                .events
                .gpu
                .iter()
                .filter(|i| i.active && !is_target(i))
                .map(|i| i.span),
        );
        let active = Span {
            start: all.first().map_or(0, |i| i.span.start),
            end: all.iter().map(|i| i.span.end).max().unwrap_or(0),
        };
        let phases = phases(&all, options.phase_gap);
        let (window, window_chosen_by) = choose_window(active, &phases, options)?;
        let target: Vec<&GpuInterval> = all
            .into_iter()
            .filter(|i| i.span.start < window.end && i.span.end > window.start)
            .collect();
        let commits = commit_times(recording);
        let buffers = buffers(recording, &target, &commits);
        Ok(View {
            recording,
            pids,
            chosen_by,
            window,
            window_chosen_by,
            window_given: options.from.is_some() || options.to.is_some() || options.phase.is_some(),
            phases,
            target,
            others,
            commits,
            buffers,
        })
    }

    /// The union of the target's executions, clipped to the window.
    pub(crate) fn busy(&self) -> Vec<Span> {
        union(self.target.iter().filter_map(|i| i.span.clip(self.window)))
    }

    /// When the work of an execution was committed, if anything says so.
    pub(crate) fn commit(&self, interval: &GpuInterval) -> Option<u64> {
        interval
            .commit()
            .or_else(|| self.commits.get(&interval.command_buffer).copied())
    }

    pub(crate) fn is_target(&self, pid: Option<Pid>) -> bool {
        pid.is_some_and(|pid| self.pids.contains(&pid))
    }

    pub(crate) fn text(&self, id: crate::TextId) -> &'a str {
        self.recording.texts.get(id)
    }
}

fn commit_times(recording: &Recording) -> FxHashMap<u64, u64> {
    let events = &recording.events;
    let mut commits = FxHashMap::default();
    for event in &events.commits {
        commits.insert(event.command_buffer, event.value);
    }
    for submission in &events.submissions {
        commits.insert(submission.command_buffer, submission.span.end);
    }
    commits
}

fn buffers(
    recording: &Recording,
    target: &[&GpuInterval],
    commits: &FxHashMap<u64, u64>,
) -> Vec<Buffer> {
    let mut places: FxHashMap<u64, usize> = FxHashMap::default();
    let mut buffers: Vec<Buffer> = Vec::new();
    for interval in target {
        let id = interval.command_buffer;
        if id == 0 {
            continue;
        }
        let place = *places.entry(id).or_insert_with(|| {
            buffers.push(Buffer {
                id,
                gpu: interval.span,
                commit: interval
                    .commit()
                    .or_else(|| commits.get(&id).copied())
                    .into(),
                completed: Maybe::UNKNOWN,
                thread: Maybe::UNKNOWN,
                executions: 0,
            });
            buffers.len() - 1
        });
        if let Some(buffer) = buffers.get_mut(place) {
            buffer.gpu.end = buffer.gpu.end.max(interval.span.end);
            buffer.executions += 1;
        }
    }
    for event in &recording.events.completions {
        if let Some(buffer) = places
            .get(&event.command_buffer)
            .and_then(|&p| buffers.get_mut(p))
        {
            buffer.completed = Some(event.time).into();
        }
    }
    let encodings = recording.events.encodings.iter();
    let encodings = encodings.map(|e| (e.command_buffer, e.thread));
    let submissions = recording.events.submissions.iter();
    let submissions = submissions.map(|s| (s.command_buffer, s.thread));
    for (id, thread) in encodings.chain(submissions) {
        if let Some(buffer) = places.get(&id).and_then(|&place| buffers.get_mut(place)) {
            buffer.thread = thread.or(buffer.thread.get()).into();
        }
    }
    // Recordings lose encoder rows; where one thread does all the work, it did theirs.
    let threads: FxHashSet<u64> = buffers.iter().filter_map(|b| b.thread.get()).collect();
    if let (1, Some(&only)) = (threads.len(), threads.iter().next()) {
        buffers
            .iter_mut()
            .for_each(|b| b.thread = Some(only).into());
    }
    buffers
}

fn choose_target(recording: &Recording, options: &Options) -> Result<(Vec<Pid>, ChosenBy), Error> {
    if let Some(pid) = options.pid {
        return Ok((vec![pid], ChosenBy::User));
    }
    if let Some(name) = &options.process {
        let mut pids: Vec<Pid> = recording
            .processes
            .keys()
            .copied()
            .chain(
                recording
                    .toc
                    .iter()
                    .flat_map(|toc| toc.processes.keys().copied()),
            )
            .filter(|&pid| recording.process_name(pid) == Some(name))
            .collect();
        pids.sort_unstable();
        pids.dedup();
        if pids.is_empty() {
            return Err(Error::NoSuchProcess {
                name: name.clone(),
                known: busiest_names(recording),
            });
        }
        return Ok((pids, ChosenBy::User));
    }
    let toc_target = recording
        .toc
        .as_ref()
        .and_then(|toc| toc.target.as_ref()?.pid);
    if let Some(pid) = toc_target {
        return Ok((vec![pid], ChosenBy::Toc));
    }
    match busiest(recording).first() {
        Some(&(pid, _)) => Ok((vec![pid], ChosenBy::MostGpuTime)),
        None => Ok((Vec::new(), ChosenBy::Nothing)),
    }
}

/// Processes by GPU time. The window server draws everybody's windows and is only
/// taken when it is alone.
fn busiest(recording: &Recording) -> Vec<(Pid, u64)> {
    let mut sums: FxHashMap<Pid, u64> = FxHashMap::default();
    for interval in &recording.events.gpu {
        if let Some(pid) = interval.pid {
            let sum = sums.entry(pid).or_default();
            *sum = sum.saturating_add(interval.span.duration());
        }
    }
    let mut order: Vec<(Pid, u64)> = sums.into_iter().collect();
    order.sort_unstable_by_key(|&(pid, sum)| {
        let server = recording.process_name(pid) == Some("WindowServer");
        (server, std::cmp::Reverse(sum), pid)
    });
    order
}

fn busiest_names(recording: &Recording) -> Vec<String> {
    let name = |&(pid, _): &(Pid, u64)| recording.process_name(pid).map(|n| format!("{n} ({pid})"));
    busiest(recording)
        .iter()
        .filter_map(name)
        .take(12)
        .collect()
}

fn phases(all: &[&GpuInterval], phase_gap: u64) -> Vec<Phase> {
    use super::stats::{fraction, ms};
    let mut groups: Vec<(Span, RunningUnion, u64)> = Vec::new();
    for interval in all {
        let span = interval.span;
        match groups.last_mut() {
            Some((whole, busy, count)) if span.start.saturating_sub(whole.end) < phase_gap => {
                whole.end = whole.end.max(span.end);
                busy.add(span);
                *count += 1;
            }
            _ => {
                let mut busy = RunningUnion::default();
                busy.add(span);
                groups.push((span, busy, 1));
            }
        }
    }
    let phase = |(index, (whole, busy, executions)): (usize, (Span, RunningUnion, u64))| Phase {
        number: index as u32 + 1,
        start_ms: ms(whole.start),
        span_ms: ms(whole.duration()),
        busy_ms: ms(busy.total()),
        utilization: fraction(busy.total() as f64, whole.duration() as f64),
        executions,
    };
    groups.into_iter().enumerate().map(phase).collect()
}

fn choose_window(
    active: Span,
    phases: &[Phase],
    options: &Options,
) -> Result<(Span, String), Error> {
    let mut window = active;
    let mut chosen_by = "first to last GPU activity of the target".to_owned();
    if let Some(number) = options.phase {
        let index = (number as usize).wrapping_sub(1);
        let phase = phases.get(index).ok_or_else(|| {
            Error::Inconsistent(format!(
                "there is no phase {number}: the recording has {} (split at gaps of {} ms)",
                phases.len(),
                options.phase_gap as f64 / 1e6
            ))
        })?;
        let start = (phase.start_ms * 1e6).round() as u64;
        window = Span::new(start, (phase.span_ms * 1e6).round() as u64);
        chosen_by = format!("phase {number} of {}", phases.len());
    }
    if options.from.is_some() || options.to.is_some() {
        window.start = options.from.unwrap_or(window.start);
        window.end = options.to.unwrap_or(window.end);
        chosen_by = "given".to_owned();
        if window.end <= window.start {
            return Err(Error::Inconsistent(format!(
                "the window is empty: it would end at {} ms and start at {} ms",
                window.end as f64 / 1e6,
                window.start as f64 / 1e6
            )));
        }
    }
    Ok((window, chosen_by))
}
