//! Pairs of variants of one task: how far the ratio of two predictions is from the ratio of the
//! two measurements.

use crate::ranking::Variant;
use std::collections::BTreeMap;

/// A pair, the slower measured time over the faster one's, and the same ratio as predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<'a> {
    /// The task.
    pub task: &'a str,
    /// Measured ratio, at least 1.
    pub measured: f64,
    /// Predicted ratio of the same two.
    pub predicted: f64,
}

/// All pairs of variants of one task and size.
pub fn pairs<'a>(variants: &[Variant<'a>]) -> Vec<Pair<'a>> {
    let mut groups: BTreeMap<&str, Vec<&Variant<'a>>> = BTreeMap::new();
    for variant in variants {
        groups.entry(variant.group).or_default().push(variant);
    }
    let mut found = Vec::new();
    for members in groups.values() {
        for (index, a) in members.iter().enumerate() {
            for b in &members[..index] {
                let (slow, fast) = if a.measured >= b.measured {
                    (a, b)
                } else {
                    (b, a)
                };
                found.push(Pair {
                    task: a.task,
                    measured: slow.measured / fast.measured,
                    predicted: slow.predicted / fast.predicted,
                });
            }
        }
    }
    found
}

/// The factor up and down that holds `share` of the ratios, each task counting alike.
pub fn band(pairs: &[Pair<'_>], share: f64) -> f64 {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for pair in pairs {
        *counts.entry(pair.task).or_default() += 1.0;
    }
    let mut errors: Vec<(f64, f64)> = pairs
        .iter()
        .map(|pair| {
            let error = (pair.predicted / pair.measured).ln().abs();
            (error, 1.0 / counts.get(pair.task).copied().unwrap_or(1.0))
        })
        .collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole: f64 = errors.iter().map(|(_, weight)| weight).sum();
    let mut held = 0.0;
    for (error, weight) in errors {
        held += weight;
        if held >= share * whole {
            return error.exp();
        }
    }
    1.0
}

/// Of pairs whose predictions differ by more than `tie`: how many there are, and the share of
/// them whose faster variant is the one predicted faster. Each task counts alike.
pub fn called(pairs: &[Pair<'_>], tie: f64) -> (f64, f64) {
    let mut tasks: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for pair in pairs {
        let (all, called, right) = tasks.entry(pair.task).or_default();
        *all += 1.0;
        if pair.predicted > tie {
            *called += 1.0;
            *right += 1.0;
        } else if pair.predicted < 1.0 / tie {
            *called += 1.0;
        }
    }
    let calls: f64 = tasks.values().map(|(all, called, _)| called / all).sum();
    let right: f64 = tasks.values().map(|(all, _, right)| right / all).sum();
    (calls / tasks.len().max(1) as f64, right / calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::tests::variant;

    #[test]
    fn a_factor_that_all_variants_share_cancels() {
        let variants = [variant(1.0, 3.0), variant(2.0, 6.0), variant(4.0, 12.0)];
        let pairs = pairs(&variants);
        assert_eq!(pairs.len(), 3);
        assert!((band(&pairs, 0.8) - 1.0).abs() < 1e-9);
        assert_eq!(called(&pairs, 1.5), (1.0, 1.0));
    }
}
