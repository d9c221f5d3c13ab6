//! Arithmetic on times: unions, percentiles, units.

use crate::events::Span;

/// Nanoseconds as microseconds, to the femtosecond.
pub(crate) fn us(nanoseconds: f64) -> f64 {
    rounded(nanoseconds / 1e3)
}

/// Nanoseconds as milliseconds.
pub(crate) fn ms(nanoseconds: u64) -> f64 {
    rounded(nanoseconds as f64 / 1e6)
}

/// Six digits behind the point: reports carry no noise of binary fractions.
pub(crate) fn rounded(value: f64) -> f64 {
    let scaled = (value * 1e6).round() / 1e6;
    if scaled.is_finite() { scaled } else { value }
}

/// `part / whole`, 0 when there is no whole.
pub(crate) fn fraction(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        rounded(part / whole)
    } else {
        0.0
    }
}

/// The union of spans sorted by start: disjoint, in order.
///
/// Busy time is the length of a union. Summing durations counts overlapping work
/// twice, which is the most common mistake made with these tables.
pub(crate) fn union(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}

/// The length of a union of spans that come sorted by start, without keeping them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunningUnion {
    before: u64,
    open: Option<Span>,
}

impl RunningUnion {
    pub(crate) fn add(&mut self, span: Span) {
        match &mut self.open {
            Some(open) if span.start <= open.end => open.end = open.end.max(span.end),
            Some(open) => {
                self.before += open.duration();
                *open = span;
            }
            None => self.open = Some(span),
        }
    }

    pub(crate) fn total(self) -> u64 {
        self.before + self.open.map_or(0, Span::duration)
    }

    pub(crate) fn of(spans: impl IntoIterator<Item = Span>) -> u64 {
        let mut union = RunningUnion::default();
        spans.into_iter().for_each(|span| union.add(span));
        union.total()
    }
}

/// The union of spans in any order.
pub(crate) fn union_of(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    union(spans)
}

/// Total length.
pub(crate) fn total(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.duration()).sum()
}

/// How much of `window` disjoint, ordered `spans` cover, found by binary search.
pub(crate) fn covered(spans: &[Span], window: Span) -> u64 {
    let first = spans.partition_point(|span| span.end <= window.start);
    spans
        .iter()
        .skip(first)
        .take_while(|span| span.start < window.end)
        .filter_map(|span| span.clip(window))
        .map(Span::duration)
        .sum()
}

/// What a set of durations looks like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    sorted: Vec<u64>,
    sum: u128,
}

impl Summary {
    pub(crate) fn new(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let sum = values.iter().map(|&value| u128::from(value)).sum();
        Summary {
            sorted: values,
            sum,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.sorted.len() as u64
    }

    pub(crate) fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        let count = self.sorted.len();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    pub(crate) fn median(&self) -> Option<f64> {
        let count = self.sorted.len();
        let upper = *self.sorted.get(count / 2)?;
        if count % 2 == 1 {
            return Some(upper as f64);
        }
        let lower = *self.sorted.get(count / 2 - 1)?;
        Some((lower as f64 + upper as f64) / 2.0)
    }

    /// The smallest value that at least `fraction` of all values do not exceed.
    pub(crate) fn percentile(&self, fraction: f64) -> Option<f64> {
        let rank = (fraction * self.sorted.len() as f64).ceil() as usize;
        let index = rank.max(1) - 1;
        self.sorted.get(index).map(|&value| value as f64)
    }

    pub(crate) fn min(&self) -> Option<f64> {
        self.sorted.first().map(|&value| value as f64)
    }

    pub(crate) fn max(&self) -> Option<f64> {
        self.sorted.last().map(|&value| value as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    #[test]
    fn a_union_counts_overlap_once() {
        let spans = [span(0, 10), span(5, 12), span(12, 15), span(20, 30)];
        let union = union(spans);
        assert_eq!(union, [span(0, 15), span(20, 30)]);
        assert_eq!(total(&union), 25);
        assert_eq!(RunningUnion::of(spans), 25);
        assert_eq!(covered(&union, span(10, 22)), 7);
        assert_eq!(covered(&union, span(15, 20)), 0);
    }

    #[test]
    fn medians_and_percentiles() {
        let even = Summary::new(vec![4, 1, 3, 2]);
        assert_eq!(even.median(), Some(2.5));
        assert_eq!(even.percentile(0.99), Some(4.0));
        assert_eq!(Summary::new(vec![7]).median(), Some(7.0));
        assert_eq!(Summary::new(vec![]).median(), None);
        let hundred = Summary::new((1..=100).collect());
        assert_eq!(hundred.percentile(0.99), Some(99.0));
    }
}
