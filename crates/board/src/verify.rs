//! A new run beside what the board says about its source.

use crate::record::LEAST;
use assay_bench::stats::{self, Comparison, Order};

/// How a new run compares with earlier ones of the same source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// What it comes to.
    pub answer: Answer,
    /// The middle earlier run beside the new one: the ratio says how many times faster the new one is.
    pub comparison: Comparison,
    /// The fastest and slowest median of the earlier runs, in seconds.
    pub earlier: [f64; 2],
    /// How many earlier runs there are.
    pub runs: usize,
    /// The new median, in seconds.
    pub median: f64,
}

/// What a new run says about the board's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The same, as far as the samples tell.
    Tie,
    /// The samples differ, but the source has shown both faster and slower medians before.
    WithinEarlier,
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
            Self::WithinEarlier => "within-earlier",
            Self::Faster => "faster",
            Self::Slower => "slower",
        }
    }
}

/// Compares the samples of a new run, in seconds, with those of earlier runs. `None` when there are none, or ones that
/// are no times.
///
/// An interval from the samples of one run knows nothing of what changes between runs, such as the machine's other
/// work or its heat. Where there are several earlier runs, their medians do: a new one among them is no news.
///
/// ```
/// use assay_board::verify::{Answer, judge};
/// let about = |ms: f64| (0..30).map(|i| ms * (1.0 + 0.001 * f64::from(i % 5))).collect::<Vec<_>>();
/// assert_eq!(judge(&[about(2.0)], &about(2.0)).map(|found| found.answer), Some(Answer::Tie));
/// assert_eq!(judge(&[about(2.0)], &about(3.0)).map(|found| found.answer), Some(Answer::Slower));
/// let earlier = [about(1.9), about(2.0), about(2.4)];
/// assert_eq!(judge(&earlier, &about(2.2)).map(|found| found.answer), Some(Answer::WithinEarlier));
/// ```
pub fn judge(earlier: &[Vec<f64>], new: &[f64]) -> Option<Judgement> {
    let mut medians: Vec<(f64, &Vec<f64>)> = earlier
        .iter()
        .filter_map(|samples| Some((stats::median(samples)?, samples)))
        .collect();
    medians.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (fastest, slowest) = (medians.first()?.0, medians.last()?.0);
    let (_, middle) = medians.get(medians.len() / 2)?;
    let comparison = stats::compare(middle, new, LEAST)?;
    let median = stats::median(new)?;
    let answer = match comparison.order {
        Order::Tie => Answer::Tie,
        _ if (fastest..=slowest).contains(&median) => Answer::WithinEarlier,
        Order::SecondFaster => Answer::Faster,
        Order::FirstFaster => Answer::Slower,
    };
    Some(Judgement {
        answer,
        comparison,
        earlier: [fastest, slowest],
        runs: medians.len(),
        median,
    })
}
