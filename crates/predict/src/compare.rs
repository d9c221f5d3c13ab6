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
#[serde(rename_all = "lowercase")]
pub enum Call {
    /// The one after.
    Faster,
    /// The one before.
    Slower,
    /// Neither, as far as the model can tell.
    Tie,
}

impl Call {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Call::Faster => "faster",
            Call::Slower => "slower",
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
    /// Terms of the time, the largest change first.
    pub terms: Vec<TermChange>,
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
            speedup if speedup > tie => (Call::Faster, None),
            speedup if speedup < 1.0 / tie => (Call::Slower, None),
            speedup if (speedup - 1.0).abs() < 0.005 => (Call::Tie, None),
            _ => (Call::Tie, Some("predictions this close are not told apart")),
        };
        Compared {
            terms: terms(&before, &after),
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
        assert_eq!(call(100.0, 100.0, "compute"), Call::Tie);
        // Overheads belong to the protocol, not to the kernel.
        assert_eq!(call(15.0, 7.0, "short"), Call::Tie);
    }
}
