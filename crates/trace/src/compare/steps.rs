//! Steps: the unit in which two runs are compared.
//!
//! Two runs rarely do the same amount of work: 1000 iterations here, 800 there. What
//! repeats in a run (a token, a training step, an iteration) is found from the
//! sequence of labels, unless the user says how many steps there were.

use crate::analysis::labels;
use crate::analysis::view::View;
use rustc_hash::FxHashMap;

/// How a run divides into steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steps {
    /// How many.
    pub(crate) count: f64,
    /// Executions per step, when found by a repeating pattern.
    pub(crate) period: Option<usize>,
    /// The pattern's label families, when there is one.
    pub(crate) pattern: Vec<String>,
}

/// Longest pattern looked for.
const LONGEST: usize = 5000;
/// Pairs of labels compared per candidate.
const SAMPLE: usize = 20_000;
/// Share of labels that must agree one period later.
const AGREEMENT: f64 = 0.97;

/// Finds the shortest period of the label sequence. Labels are taken as they are, so
/// that `layer 1` to `layer 32` make up one step; if nothing repeats that way (labels
/// that count tokens), numbers are ignored.
pub(crate) fn find(view: &View<'_>) -> Option<Steps> {
    let labels = labels::of(view);
    repeating(&labels.ids, &labels.names).or_else(|| {
        let mut ids: FxHashMap<String, u32> = FxHashMap::default();
        let mut names: Vec<String> = Vec::new();
        let mut family_of: Vec<u32> = Vec::with_capacity(labels.names.len());
        for name in &labels.names {
            let family = labels::label_family(name);
            let id = *ids.entry(family.clone()).or_insert_with(|| {
                names.push(family);
                names.len() as u32 - 1
            });
            family_of.push(id);
        }
        let sequence = labels
            .ids
            .iter()
            .filter_map(|&id| family_of.get(id as usize).copied());
        repeating(&sequence.collect::<Vec<u32>>(), &names)
    })
}

fn repeating(sequence: &[u32], names: &[String]) -> Option<Steps> {
    let period = period(sequence)?;
    let pattern = sequence.iter().take(period);
    let pattern = pattern.map(|&id| names.get(id as usize).cloned().unwrap_or_default());
    Some(Steps {
        count: sequence.len() as f64 / period as f64,
        period: Some(period),
        pattern: pattern.collect(),
    })
}

/// The shortest shift under which a sequence agrees with itself.
fn period(sequence: &[u32]) -> Option<usize> {
    let longest = (sequence.len() / 3).min(LONGEST);
    (1..=longest).find(|&period| {
        let later = sequence.get(period..).unwrap_or(&[]);
        let compared = later.len().min(SAMPLE);
        let allowed = ((1.0 - AGREEMENT) * compared as f64) as usize;
        let mut wrong = 0;
        for (a, b) in sequence.iter().zip(later).take(compared) {
            wrong += usize::from(a != b);
            if wrong > allowed {
                return false;
            }
        }
        true
    })
}

/// Whether two runs are made of the same steps, so that one of each can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// The same pattern.
    Same,
    /// Different patterns with labels of their own: one pattern is taken as one step.
    Assumed,
    /// Nothing to go by: totals are compared.
    None,
}

/// Runs whose numbers of unlabelled executions differ more than this are not
/// compared execution by execution: fewer, longer executions may be the same work.
const SIMILAR: f64 = 2.0;

pub(crate) fn compare(a: &Steps, b: &Steps) -> Match {
    if a.pattern == b.pattern {
        let unlabelled = a.pattern.iter().all(|label| labels::is_default(label));
        let ratio = (a.count / b.count).max(b.count / a.count);
        return if unlabelled && ratio > SIMILAR {
            Match::None
        } else {
            Match::Same
        };
    }
    match (a.period, b.period) {
        (Some(1), _) | (_, Some(1)) => Match::None,
        _ => Match::Assumed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_found_despite_a_few_odd_labels() {
        let mut sequence: Vec<u32> = (0..900).map(|i| i % 9).collect();
        assert_eq!(period(&sequence), Some(9));
        for at in [100, 350, 700] {
            sequence[at] = 77;
        }
        assert_eq!(period(&sequence), Some(9));
        assert_eq!(period(&[1; 50]), Some(1));
        assert_eq!(period(&[1, 2, 3, 4, 5, 6, 7]), None);
    }

    fn steps(pattern: &[&str], count: f64) -> Steps {
        Steps {
            count,
            period: Some(pattern.len()),
            pattern: pattern.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn unlabelled_runs_of_very_different_size_are_not_divided() {
        let one = |count| steps(&["Command Buffer #:Compute Command #"], count);
        assert_eq!(compare(&one(1000.0), &one(800.0)), Match::Same);
        assert_eq!(compare(&one(49_000.0), &one(3000.0)), Match::None);
        let eager = steps(&["qk", "softmax", "v"], 100.0);
        let fused = steps(&["attention", "mlp"], 100.0);
        assert_eq!(compare(&eager, &fused), Match::Assumed);
    }
}
