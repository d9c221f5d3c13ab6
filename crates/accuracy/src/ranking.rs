//! Ranking variants of one task: is the faster one called, and how fast is the one that
//! the model would pick?

use crate::stats::quantile;
use std::collections::BTreeMap;

/// A variant of a task: its group (task and size), task, measured and predicted time.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// Task and size.
    pub group: &'a str,
    /// Task.
    pub task: &'a str,
    /// Measured time.
    pub measured: f64,
    /// Predicted time.
    pub predicted: f64,
}

/// How well one task is ranked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskRanking {
    /// The task.
    pub task: String,
    /// Pairs that differ enough to be called.
    pub pairs: usize,
    /// Pairs whose faster variant was predicted faster.
    pub called: usize,
    /// Pairs predicted so close that the model would call a tie.
    pub ties: usize,
    /// Speed of the picked variant over the best one's, geometric mean over sizes.
    pub pick: f64,
}

/// Measured times must differ by this factor.
const DIFFERENCE: f64 = 1.25;

/// Ranks every task. `tie` is the ratio below which two predictions are a tie.
pub fn rank(variants: &[Variant<'_>], tie: f64) -> Vec<TaskRanking> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Variant<'_>>> = BTreeMap::new();
    for variant in variants {
        let key = (variant.task, variant.group);
        groups.entry(key).or_default().push(variant);
    }
    let mut tasks: BTreeMap<&str, (TaskRanking, Vec<f64>)> = BTreeMap::new();
    for ((task, _), members) in &groups {
        let (ranking, picks) = tasks.entry(task).or_default();
        for (index, a) in members.iter().enumerate() {
            for b in &members[..index] {
                count(ranking, a, b, tie);
            }
        }
        picks.push(pick(members));
    }
    tasks
        .into_iter()
        .map(|(task, (ranking, picks))| TaskRanking {
            task: task.to_owned(),
            pick: (picks.iter().map(|p| p.ln()).sum::<f64>() / picks.len() as f64).exp(),
            ..ranking
        })
        .collect()
}

fn count(ranking: &mut TaskRanking, a: &Variant<'_>, b: &Variant<'_>, tie: f64) {
    let (fast, slow) = if a.measured < b.measured {
        (a, b)
    } else {
        (b, a)
    };
    if slow.measured / fast.measured <= DIFFERENCE {
        return;
    }
    ranking.pairs += 1;
    let ratio = slow.predicted / fast.predicted;
    if ratio > tie {
        ranking.called += 1;
    } else if ratio >= 1.0 / tie {
        ranking.ties += 1;
    }
}

/// Speed of the picked variant over the best one's. Among equal predictions the pick is
/// the median one: the model has no opinion between them.
fn pick(members: &[&Variant<'_>]) -> f64 {
    let least = |value: fn(&Variant<'_>) -> f64| {
        let values = members.iter().map(|variant| value(variant));
        values.fold(f64::INFINITY, f64::min)
    };
    let best = least(|variant| variant.measured);
    let fastest = least(|variant| variant.predicted);
    let picked: Vec<f64> = members
        .iter()
        .filter(|variant| variant.predicted <= fastest * (1.0 + 1e-9))
        .map(|variant| variant.measured)
        .collect();
    best / quantile(&picked, 0.5)
}

/// The share of pairs called, averaged over the tasks that have pairs.
pub fn mean_called(rankings: &[TaskRanking]) -> f64 {
    let shares: Vec<f64> = rankings
        .iter()
        .filter(|ranking| ranking.pairs > 0)
        .map(|ranking| ranking.called as f64 / ranking.pairs as f64)
        .collect();
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// Speed of the picked variants over the best ones', geometric mean over tasks.
pub fn mean_pick(rankings: &[TaskRanking]) -> f64 {
    let sum: f64 = rankings.iter().map(|ranking| ranking.pick.ln()).sum();
    (sum / rankings.len() as f64).exp()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn variant(measured: f64, predicted: f64) -> Variant<'static> {
        Variant {
            group: "t/1",
            task: "t",
            measured,
            predicted,
        }
    }

    #[test]
    fn a_tie_is_not_called_and_small_differences_do_not_count() {
        let variants = [
            variant(100.0, 90.0),
            variant(110.0, 120.0),
            variant(200.0, 90.0),
            variant(300.0, 200.0),
        ];
        let ranking = &rank(&variants, 1.05)[0];
        // All pairs but 100/110; 100/200 is a tie, 110/200 is called the wrong way round.
        assert_eq!((ranking.pairs, ranking.called, ranking.ties), (5, 3, 1));
    }

    #[test]
    fn the_pick_is_judged_by_the_speed_it_really_has() {
        let ranking = &rank(&[variant(100.0, 50.0), variant(80.0, 60.0)], 1.0)[0];
        assert!((ranking.pick - 0.8).abs() < 1e-12);
    }
}
