//! New runs beside what the board says about their source.

use crate::record::LEAST;
use assay_bench::stats::{self, Comparison, Order};

/// How new runs compare with earlier ones of the same source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// What it comes to.
    pub answer: Answer,
    /// The middle earlier run beside the middle new one: the ratio says how many times faster the new one is.
    pub comparison: Comparison,
    /// The earlier runs.
    pub earlier: Spread,
    /// The new ones.
    pub new: Spread,
}

/// Medians of several runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many runs.
    pub runs: usize,
    /// The fastest.
    pub fastest: f64,
    /// The middle one: of an even number the slower of the two in the middle.
    pub middle: f64,
    /// The slowest.
    pub slowest: f64,
}

/// What new runs say about the board's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The same, as far as the samples tell.
    Tie,
    /// The samples of the middle runs differ, but runs of this source differ as much among themselves.
    WithinSpread,
    /// Faster than the board says.
    Faster,
    /// Slower than the board says.
    Slower,
}

impl Answer {
    /// The word for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tie => "tie",
            Self::WithinSpread => "within-spread",
            Self::Faster => "faster",
            Self::Slower => "slower",
        }
    }
}

/// Compares samples of new runs, in seconds, with those of earlier ones. `None` when there are none of either, or ones
/// that are no times.
///
/// An interval from the samples of one run knows nothing of what changes between runs, such as the machine's other
/// work or its heat. The medians of several runs do: where those of old and new overlap, a difference is no news.
///
/// ```
/// use assay_board::verify::{Answer, judge};
/// let about = |ms: f64| (0..30).map(|i| ms * (1.0 + 0.001 * f64::from(i % 5))).collect::<Vec<_>>();
/// let answer = |earlier: &[f64], new: &[f64]| {
///     let runs = |medians: &[f64]| medians.iter().map(|ms| about(*ms)).collect::<Vec<_>>();
///     judge(&runs(earlier), &runs(new)).map(|found| found.answer)
/// };
/// assert_eq!(answer(&[2.0], &[2.0]), Some(Answer::Tie));
/// assert_eq!(answer(&[2.0], &[2.9, 3.0, 3.1]), Some(Answer::Slower));
/// assert_eq!(answer(&[2.0, 2.1], &[1.5, 1.6, 1.7]), Some(Answer::Faster));
/// assert_eq!(answer(&[1.9, 2.0, 2.4], &[2.2]), Some(Answer::WithinSpread));
/// assert_eq!(answer(&[2.0], &[1.9, 2.2, 2.3]), Some(Answer::WithinSpread));
/// ```
pub fn judge(earlier: &[Vec<f64>], new: &[Vec<f64>]) -> Option<Judgement> {
    let (earlier, old_samples) = spread(earlier)?;
    let (new, new_samples) = spread(new)?;
    let comparison = stats::compare(old_samples, new_samples, LEAST)?;
    let overlap = earlier.fastest <= new.slowest && new.fastest <= earlier.slowest;
    let answer = match comparison.order {
        Order::Tie => Answer::Tie,
        _ if overlap => Answer::WithinSpread,
        Order::SecondFaster => Answer::Faster,
        Order::FirstFaster => Answer::Slower,
    };
    Some(Judgement {
        answer,
        comparison,
        earlier,
        new,
    })
}

/// The medians of runs, and the samples of the middle one.
fn spread(runs: &[Vec<f64>]) -> Option<(Spread, &[f64])> {
    let mut medians: Vec<(f64, &[f64])> = runs
        .iter()
        .filter_map(|samples| Some((stats::median(samples)?, samples.as_slice())))
        .collect();
    medians.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (middle, samples) = *medians.get(medians.len() / 2)?;
    let spread = Spread {
        runs: medians.len(),
        fastest: medians.first()?.0,
        middle,
        slowest: medians.last()?.0,
    };
    Some((spread, samples))
}
