//! How much a figure varies within one run.
//!
//! A run is cut into batches of consecutive executions; the spread of the batch means
//! gives the error of the overall mean (the method of batch means, which stays right
//! when neighbours are alike).

use crate::analysis::stats::union;
use crate::analysis::view::View;
use crate::events::Span;

/// Batches a run is cut into.
const BATCHES: usize = 20;
/// Fewer batches say nothing.
const FEWEST: usize = 4;

/// Relative standard errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noise {
    /// Of run time per execution.
    pub(crate) time: Option<f64>,
    /// Of busy time per execution.
    pub(crate) busy: Option<f64>,
    /// Of idle time per execution.
    pub(crate) idle: Option<f64>,
}

impl Noise {
    /// A model gives the same times every time.
    const NONE: Self = Self {
        time: Some(0.0),
        busy: Some(0.0),
        idle: Some(0.0),
    };
}

pub(crate) fn estimate(view: &View<'_>) -> Noise {
    if view.recording.program.is_some() {
        return Noise::NONE;
    }
    let count = view.target.len();
    let batches = BATCHES.min(count / 2);
    if batches < FEWEST {
        return Noise::default();
    }
    let bound = |batch: usize| batch * count / batches;
    let (mut times, mut busies, mut idles) = (Vec::new(), Vec::new(), Vec::new());
    for batch in 0..batches {
        let (first, last) = (bound(batch), bound(batch + 1));
        let Some(members) = view.target.get(first..last) else {
            continue;
        };
        let Some(start) = members.first().map(|i| i.span.start) else {
            continue;
        };
        let next = view.target.get(last).map(|i| i.span.start);
        let end = next.unwrap_or(view.window.end).max(start);
        let busy: u64 = union(members.iter().map(|i| i.span))
            .iter()
            .filter_map(|span| span.clip(Span { start, end }))
            .map(Span::duration)
            .sum();
        let size = members.len() as f64;
        times.push((end - start) as f64 / size);
        busies.push(busy as f64 / size);
        idles.push((end - start).saturating_sub(busy) as f64 / size);
    }
    Noise {
        time: relative_error(&times),
        busy: relative_error(&busies),
        idle: relative_error(&idles),
    }
}

/// The standard error of a mean as a fraction of it.
fn relative_error(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < FEWEST {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0);
    (mean > 0.0).then(|| (variance / count).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::relative_error;

    #[test]
    fn equal_values_have_no_error_and_few_values_none_known() {
        assert_eq!(relative_error(&[3.0; 8]), Some(0.0));
        assert_eq!(relative_error(&[3.0; 3]), None);
        let error = relative_error(&[9.0, 11.0, 9.0, 11.0]).expect("an error");
        assert!((error - 0.0577).abs() < 1e-3, "{error}");
    }
}
