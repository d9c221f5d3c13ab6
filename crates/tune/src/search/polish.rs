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
    let timed = trials.iter().enumerate();
    let timed = timed.filter_map(|(number, trial)| Some((trial.time?, number, trial.point)));
    let (_, number, best) = timed.reduce(|best, next| match next.0 < best.0 {
        true => next,
        false => best,
    })?;
    if trials.len() - number <= patience {
        return None;
    }
    let mut near = space.neighbours(best).into_iter().filter(open);
    match prior {
        Some(prior) => prior.best(near),
        None => near.next(),
    }
}
