//! Gaps: where the target left the GPU idle, and why.
//!
//! A gap lies between two stretches of the target's work. The work after it was
//! committed at a known moment (GPU start − start latency, exactly). Before that
//! moment the GPU waited for the host; after it, for the launch: driver, firmware,
//! or another process that held the GPU.

use super::document::{Anatomy, Bin, CauseShare, GapInfo, Gaps};
use super::stats::{Summary, covered, ms, us};
use super::view::View;
use crate::events::{GpuInterval, Maybe, Span};

/// Why the GPU was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Nothing had been committed.
    HostLate,
    /// Work was committed and being launched.
    Launch,
    /// Work was committed and another process held the GPU.
    Contended,
    /// The commit is not known.
    Unknown,
}

impl Cause {
    /// All causes, in the order reports list them.
    pub const ALL: [Cause; 4] = [
        Cause::HostLate,
        Cause::Launch,
        Cause::Contended,
        Cause::Unknown,
    ];

    /// The word used in reports.
    pub fn word(self) -> &'static str {
        match self {
            Cause::HostLate => "host-late",
            Cause::Launch => "launch",
            Cause::Contended => "contended",
            Cause::Unknown => "unknown",
        }
    }
}

/// One gap. Runs have as many gaps as executions, so it is kept small.
#[derive(Clone, Debug)]
pub(crate) struct Gap<'a> {
    pub(crate) before: &'a GpuInterval,
    pub(crate) after: &'a GpuInterval,
    wait: Maybe,
    /// Part of the rest in which another process held the GPU.
    pub(crate) contended: u64,
    pub(crate) cause: Cause,
}

impl Gap<'_> {
    /// When the GPU was idle.
    pub(crate) fn span(&self) -> Span {
        Span {
            start: self.before.span.end,
            end: self.after.span.start,
        }
    }

    pub(crate) fn duration(&self) -> u64 {
        self.span().duration()
    }

    /// Idle time before the commit; `None` when the commit is unknown.
    pub(crate) fn host_wait(&self) -> Option<u64> {
        self.wait.get()
    }
}

/// Finds the gaps of the target inside the window.
pub(crate) fn find<'a>(view: &View<'a>) -> Vec<Gap<'a>> {
    let mut gaps = Vec::new();
    let mut latest: Option<&'a GpuInterval> = None;
    for &interval in &view.target {
        if let Some(before) = latest
            && interval.span.start > before.span.end
        {
            let whole = Span {
                start: before.span.end,
                end: interval.span.start,
            };
            if whole.start >= view.window.start && whole.end <= view.window.end {
                gaps.push(explain(view, whole, before, interval));
            }
        }
        if latest.is_none_or(|before| interval.span.end > before.span.end) {
            latest = Some(interval);
        }
    }
    gaps
}

fn explain<'a>(
    view: &View<'a>,
    span: Span,
    before: &'a GpuInterval,
    after: &'a GpuInterval,
) -> Gap<'a> {
    let Some(commit) = view.commit(after) else {
        return Gap {
            wait: Maybe::UNKNOWN,
            contended: 0,
            cause: Cause::Unknown,
            before,
            after,
        };
    };
    let committed = commit.clamp(span.start, span.end);
    let host_wait = committed - span.start;
    let launch = Span {
        start: committed,
        end: span.end,
    };
    let contended = covered(&view.others, launch);
    let cause = if host_wait >= launch.duration() {
        Cause::HostLate
    } else if contended * 2 >= launch.duration() {
        Cause::Contended
    } else {
        Cause::Launch
    };
    Gap {
        wait: Some(host_wait).into(),
        contended,
        cause,
        before,
        after,
    }
}

/// Edges of the histogram, in microseconds.
const EDGES: [f64; 9] = [0.0, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 10_000.0];
const LONGEST: usize = 8;

pub(crate) fn report(view: &View<'_>, gaps: &[Gap<'_>]) -> Gaps {
    let summary = Summary::new(gaps.iter().map(|gap| gap.duration()).collect());
    let sum = |part: fn(&Gap<'_>) -> u64| ms(gaps.iter().map(part).sum());
    Gaps {
        count: summary.count(),
        total_ms: ms(summary.sum()),
        mean_us: summary.mean().map(us),
        median_us: summary.median().map(us),
        p99_us: summary.percentile(0.99).map(us),
        max_us: summary.max().map(us),
        host_late: gaps.iter().filter(|gap| gap.host_wait() > Some(0)).count() as u64,
        host_wait_ms: sum(|gap| gap.host_wait().unwrap_or(0)),
        launch_ms: sum(|gap| gap.host_wait().map_or(0, |wait| gap.duration() - wait)),
        unexplained_ms: sum(|gap| match gap.host_wait() {
            None => gap.duration(),
            Some(_) => 0,
        }),
        contended_ms: sum(|gap| gap.contended),
        causes: causes(gaps),
        anatomy: anatomy(view, gaps),
        regularity: super::regularity::of(gaps),
        histogram: histogram(gaps),
        longest: longest(view, gaps),
    }
}

fn causes(gaps: &[Gap<'_>]) -> Vec<CauseShare> {
    let share = |cause: Cause| {
        let these = gaps.iter().filter(|gap| gap.cause == cause);
        CauseShare {
            cause: cause.word().to_owned(),
            count: these.clone().count() as u64,
            total_ms: ms(these.map(|gap| gap.duration()).sum()),
        }
    };
    let shares = Cause::ALL.into_iter().map(share);
    shares.filter(|share| share.count > 0).collect()
}

/// The mean parts of gaps at strong synchronisation points: the next buffer was
/// committed only after the notice that the one before was complete.
fn anatomy(view: &View<'_>, gaps: &[Gap<'_>]) -> Option<Anatomy> {
    let completed: rustc_hash::FxHashMap<u64, u64> = view
        .buffers
        .iter()
        .filter_map(|buffer| Some((buffer.id, buffer.completed.get()?)))
        .collect();
    let (mut notice, mut host, mut launch, mut count) = (0u64, 0u64, 0u64, 0u64);
    for gap in gaps {
        let (Some(&done), Some(commit)) = (
            completed.get(&gap.before.command_buffer),
            view.commit(gap.after),
        ) else {
            continue;
        };
        if done >= gap.span().start && commit >= done && commit <= gap.span().end {
            notice += done - gap.span().start;
            host += commit - done;
            launch += gap.span().end - commit;
            count += 1;
        }
    }
    let mean = |sum: u64| us(sum as f64 / count as f64);
    (count > 0).then(|| Anatomy {
        notice_us: mean(notice),
        host_us: mean(host),
        launch_us: mean(launch),
    })
}

fn histogram(gaps: &[Gap<'_>]) -> Vec<Bin> {
    let mut bins: Vec<Bin> = EDGES
        .iter()
        .enumerate()
        .map(|(index, &from_us)| Bin {
            from_us,
            to_us: EDGES.get(index + 1).copied(),
            count: 0,
            total_ms: 0.0,
        })
        .collect();
    let mut sums = vec![0u64; bins.len()];
    for gap in gaps {
        let length = gap.duration() as f64 / 1e3;
        let index = EDGES.iter().rposition(|&from| length >= from).unwrap_or(0);
        if let (Some(bin), Some(sum)) = (bins.get_mut(index), sums.get_mut(index)) {
            bin.count += 1;
            *sum += gap.duration();
        }
    }
    for (bin, sum) in bins.iter_mut().zip(sums) {
        bin.total_ms = ms(sum);
    }
    bins
}

fn longest(view: &View<'_>, gaps: &[Gap<'_>]) -> Vec<GapInfo> {
    let mut order: Vec<&Gap<'_>> = gaps.iter().collect();
    order.sort_by_key(|gap| (std::cmp::Reverse(gap.duration()), gap.span().start));
    let info = |gap: &Gap<'_>| GapInfo {
        start_ms: ms(gap.span().start),
        duration_us: us(gap.duration() as f64),
        cause: gap.cause.word().to_owned(),
        before: view.text(gap.before.label).trim().to_owned(),
        after: view.text(gap.after.label).trim().to_owned(),
    };
    order.into_iter().take(LONGEST).map(info).collect()
}
