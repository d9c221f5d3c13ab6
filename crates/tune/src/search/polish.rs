//! Polish: the neighbourhood of the best configuration, looked at whole.

use super::{Prior, Trial};
use crate::space::{Point, Space};

/// Trials without a better one after which the neighbourhood is looked at.
pub(super) const PATIENCE: usize = 10;

/// A neighbour of the best trial that was not evaluated, if the search has not improved for a while.
pub(super) fn next(
    space: &Space,
    trials: &[Trial],
    open: &impl Fn(&Point) -> bool,
    prior: Option<&Prior>,
    patience: usize,
) -> Option<Point> {
    if !is_due(trials, patience) {
        return None;
    }
    let mut near = neighbourhood(space, trials, open).into_iter();
    match prior {
        Some(prior) => prior.best(near),
        None => near.next(),
    }
}

/// Returns true if the search has not improved for a while.
pub(super) fn is_due(trials: &[Trial], patience: usize) -> bool {
    best(trials).is_some_and(|number| trials.len() - number > patience)
}

/// Neighbours of the best trial that were not evaluated, the nearest first.
pub(super) fn neighbourhood(
    space: &Space,
    trials: &[Trial],
    open: &impl Fn(&Point) -> bool,
) -> Vec<Point> {
    let best = best(trials).and_then(|number| trials.get(number));
    let near = best.map(|trial| space.neighbours(trial.point));
    near.into_iter().flatten().filter(open).collect()
}

/// The number of the fastest trial, of equal ones the first.
fn best(trials: &[Trial]) -> Option<usize> {
    let timed = trials.iter().enumerate();
    let timed = timed.filter_map(|(number, trial)| Some((trial.time?, number)));
    let best = timed.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map(|(_, number)| number)
}
