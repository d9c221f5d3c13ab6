//! Two predictions of one task side by side: which kernel is faster, and why.
//!
//! What two variants of a task have in common errs alike and cancels: the ratio of two
//! predictions is better known than each. What it is worth was measured on pairs of variants
//! of one task: `band_pair` holds four of five ratios. The same program differs from itself by up to
//! `pair_tie` when other threadgroups of it are executed, so predictions nearer than that are a tie
//! ([`Constants`](crate::Constants)).

use crate::document::{Predicted, Target, TermTime, rounded};
use serde::Serialize;

/// Which of two is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// The one after: the band of the pair lies above one.
    Faster,
    /// The one before.
    Slower,
    /// The one after, but the band includes one.
    ProbablyFaster,
    /// The one before, but the band includes one.
    ProbablySlower,
    /// Neither, as far as the model can tell.
    Tie,
}

impl Call {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Call::Faster => "faster",
            Call::Slower => "slower",
            Call::ProbablyFaster => "probably faster (4 in 5)",
            Call::ProbablySlower => "probably slower (4 in 5)",
            Call::Tie => "tie",
        }
    }
}

/// Two predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// The one before.
    pub before: Predicted,
    /// The one after.
    pub after: Predicted,
    /// How many times as fast the one after is.
    pub speedup: f64,
    /// Four of five pairs lie between this and `high`.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// What that amounts to.
    pub call: Call,
    /// Why it is a tie although the times differ, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// What the kernels do differently, what explains most of the time first.
    pub why: Vec<CauseChange>,
    /// Terms of the time, the largest change first.
    pub terms: Vec<TermChange>,
}

/// A figure of what kernels do, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseChange {
    /// What is counted.
    pub name: &'static str,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// Microseconds that the terms which follow it gained or lost, if they went its way; figures that share terms explain the same
    /// time.
    pub explains_us: f64,
}

impl CauseChange {
    /// By what factor it changed, whichever way.
    fn factor(&self) -> f64 {
        let (low, high) = (self.before.min(self.after), self.before.max(self.after));
        if low > 0.0 { high / low } else { f64::INFINITY }
    }
}

/// A term before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TermChange {
    /// What takes the time.
    pub name: &'static str,
    /// Microseconds before.
    pub before_us: f64,
    /// Microseconds after.
    pub after_us: f64,
}

impl TermChange {
    /// Microseconds more than before.
    pub fn change(&self) -> f64 {
        self.after_us - self.before_us
    }
}

/// The class of kernels that are mostly overhead: their order is that of the protocol.
const SHORT: &str = "short";

impl Compared {
    /// Compares two predictions for the same chip.
    pub fn new(before: Predicted, after: Predicted, target: &Target) -> Compared {
        let constants = &target.constants;
        let wider = match target.is_stand_in() {
            true => constants.band_chip,
            false => 1.0,
        };
        let (band, tie) = (constants.band_pair * wider, constants.pair_tie * wider);
        let speedup = before.time_us / after.time_us.max(f64::MIN_POSITIVE);
        let overhead = before.class == SHORT && after.class == SHORT;
        let (call, reason) = match speedup {
            _ if overhead => (Call::Tie, Some("both are mostly the overhead of a launch")),
            speedup if speedup > band => (Call::Faster, None),
            speedup if speedup < 1.0 / band => (Call::Slower, None),
            speedup if speedup > tie => (Call::ProbablyFaster, None),
            speedup if speedup < 1.0 / tie => (Call::ProbablySlower, None),
            speedup if (speedup - 1.0).abs() < 0.005 => (Call::Tie, None),
            _ => (Call::Tie, Some("predictions this close are not told apart")),
        };
        let terms = terms(&before, &after);
        Compared {
            why: why(&before, &after, &terms),
            terms,
            speedup: rounded(speedup),
            low: rounded(speedup / band),
            high: rounded(speedup * band),
            call,
            reason,
            before,
            after,
        }
    }
}

/// A figure of what kernels do, and the terms of the time that follow it.
struct Cause {
    name: &'static str,
    figure: fn(&Predicted) -> f64,
    /// With more of it they grow; with more of what hides time they shrink.
    terms: &'static [&'static str],
    hides: bool,
}

/// Terms that grow with every line and byte that accesses ask for.
const OF_ACCESSES: &[&str] = &[
    "load/store unit",
    "L2 bandwidth",
    "SLC bandwidth",
    "DRAM bandwidth",
    "memory latency",
];
const OF_INSTRUCTIONS: &[&str] = &["arithmetic", "complex unit", "instruction cache"];

/// What can be a reason. Of two that explain as much the one that changed by more comes first.
const CAUSES: &[Cause] = &[
    cause(
        "cache lines touched by accesses",
        |p| p.causes.lines,
        OF_ACCESSES,
    ),
    cause(
        "lines per access of device memory",
        |p| p.causes.lines_per_access,
        OF_ACCESSES,
    ),
    cause(
        "bytes to and from device memory",
        |p| p.work.device_bytes,
        OF_ACCESSES,
    ),
    cause(
        "bytes to and from threadgroup memory",
        |p| p.work.threadgroup_bytes,
        &["threadgroup memory"],
    ),
    cause(
        "passes per row of threadgroup memory",
        |p| p.causes.passes_per_row,
        &["threadgroup memory"],
    ),
    cause(
        "instructions of simdgroups",
        |p| p.work.instructions,
        OF_INSTRUCTIONS,
    ),
    cause("atomics of simdgroups", |p| p.causes.atomics, OF_ACCESSES),
    cause(
        "barriers of simdgroups",
        |p| p.causes.barriers,
        &["barriers"],
    ),
    cause(
        "threadgroups",
        |p| p.threadgroups as f64,
        &["threadgroup launch"],
    ),
    hiding(
        "active lanes per instruction",
        |p| p.causes.active_lanes,
        OF_INSTRUCTIONS,
    ),
    hiding(
        "threads that a core keeps",
        |p| p.causes.resident_threads,
        &["memory latency", "dependences", "barriers"],
    ),
];

const fn cause(
    name: &'static str,
    figure: fn(&Predicted) -> f64,
    terms: &'static [&'static str],
) -> Cause {
    Cause {
        name,
        figure,
        terms,
        hides: false,
    }
}

const fn hiding(
    name: &'static str,
    figure: fn(&Predicted) -> f64,
    terms: &'static [&'static str],
) -> Cause {
    Cause {
        hides: true,
        ..cause(name, figure, terms)
    }
}

impl Cause {
    /// How much of the change of its terms goes the way that the figure went.
    fn explains(&self, before: f64, after: f64, terms: &[TermChange]) -> f64 {
        let own = terms.iter().filter(|term| self.terms.contains(&term.name));
        let change: f64 = own.map(TermChange::change).sum();
        match (change > 0.0) == ((after > before) != self.hides) {
            true => change,
            false => 0.0,
        }
    }
}

/// Figures that changed by more than a tenth: first what explains most of the time, then what changed most.
fn why(before: &Predicted, after: &Predicted, terms: &[TermChange]) -> Vec<CauseChange> {
    let row = |cause: &Cause| {
        let (old, new) = ((cause.figure)(before), (cause.figure)(after));
        CauseChange {
            name: cause.name,
            before: old,
            after: new,
            explains_us: rounded(cause.explains(old, new, terms)),
        }
    };
    let rows = CAUSES.iter().map(row);
    let mut rows: Vec<CauseChange> = rows
        .filter(|row| row.before != row.after && row.factor() > 1.1)
        .collect();
    rows.sort_by(|a, b| {
        let time = b.explains_us.abs().total_cmp(&a.explains_us.abs());
        time.then_with(|| b.factor().total_cmp(&a.factor()))
    });
    rows
}

fn terms(before: &Predicted, after: &Predicted) -> Vec<TermChange> {
    let us = |terms: &[TermTime], name: &str| {
        let found = terms.iter().find(|term| term.name == name);
        found.map_or(0.0, |term| term.us)
    };
    let mut names: Vec<&'static str> = before.terms.iter().map(|term| term.name).collect();
    for term in &after.terms {
        if !names.contains(&term.name) {
            names.push(term.name);
        }
    }
    let mut changes: Vec<TermChange> = names
        .into_iter()
        .map(|name| TermChange {
            name,
            before_us: us(&before.terms, name),
            after_us: us(&after.terms, name),
        })
        .collect();
    changes.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_chip::Chip;

    fn predicted(time_us: f64, class: &str) -> Predicted {
        Predicted {
            time_us,
            class: class.to_owned(),
            terms: vec![TermTime {
                name: "arithmetic",
                us: time_us,
                removal_us: None,
            }],
            ..Predicted::default()
        }
    }

    fn call(before: f64, after: f64, class: &str) -> Call {
        let target = Target::of(Chip::named("m2").expect("a chip"));
        Compared::new(predicted(before, class), predicted(after, class), &target).call
    }

    #[test]
    fn predictions_far_enough_apart_are_called() {
        assert_eq!(call(1000.0, 100.0, "compute"), Call::Faster);
        assert_eq!(call(100.0, 1000.0, "compute"), Call::Slower);
        assert_eq!(call(100.0, 101.0, "compute"), Call::Tie);
        assert_eq!(call(120.0, 100.0, "compute"), Call::ProbablyFaster);
        assert_eq!(call(100.0, 120.0, "compute"), Call::ProbablySlower);
        assert_eq!(call(100.0, 100.0, "compute"), Call::Tie);
        // Overheads belong to the protocol, not to the kernel.
        assert_eq!(call(15.0, 7.0, "short"), Call::Tie);
    }

    #[test]
    fn what_explains_the_time_comes_before_what_changed_most() {
        let with = |bytes: f64, barriers: f64, us: [f64; 2]| {
            let mut one = predicted(us[0] + us[1], "compute");
            one.work.device_bytes = bytes;
            one.causes.barriers = barriers;
            let term = |name, us| TermTime {
                name,
                us,
                removal_us: None,
            };
            one.terms = vec![term("load/store unit", us[0]), term("barriers", us[1])];
            one
        };
        let target = Target::of(Chip::named("m2").expect("a chip"));
        let compared = Compared::new(
            with(4000.0, 0.0, [900.0, 0.0]),
            with(1000.0, 50.0, [200.0, 20.0]),
            &target,
        );
        let rows: Vec<_> = compared
            .why
            .iter()
            .map(|row| (row.name, row.explains_us))
            .collect();
        assert_eq!(
            rows,
            [
                ("bytes to and from device memory", -700.0),
                ("barriers of simdgroups", 20.0)
            ]
        );
    }
}
