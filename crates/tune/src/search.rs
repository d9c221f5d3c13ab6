//! Searches: which configuration to evaluate next, given what is known.
//!
//! A search has no state of its own. [`Search::next`] is a function of the space, a seed and the trials so far, and its
//! random numbers are those of the seed and the number of trials. A session that was stopped anywhere continues as if
//! it had not been: replaying its trials gives every proposal again.
//!
//! | strategy | what it does |
//! |---|---|
//! | [`Strategy::Random`] | the next of a random order of all configurations |
//! | [`Strategy::Tpe`] | categorical TPE: the candidate most typical of good trials and untypical of the others |
//! | [`Strategy::TpePolish`] | the same, then the whole neighbourhood of the best |
//!
//! Each takes an optional [`Prior`]: predicted times of a model that errs.

mod polish;
mod prior;
mod tpe;

pub use prior::Prior;

use crate::space::{Point, Space};
use assay_launch::random::Random;

/// A configuration that was evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Which.
    pub point: Point,
    /// Its time, in any unit; `None` if it failed.
    pub time: Option<f64>,
}

/// How to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// In random order.
    Random,
    /// By tree-structured Parzen estimators over categories.
    Tpe,
    /// The same, and neighbourhoods of the best.
    #[default]
    TpePolish,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 3] = [Strategy::Random, Strategy::Tpe, Strategy::TpePolish];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Random => "random",
            Strategy::Tpe => "tpe",
            Strategy::TpePolish => "tpe+polish",
        }
    }
}

/// Spaces with no more configurations are evaluated whole.
pub const WHOLE: usize = 256;

/// A search of a space.
///
/// ```
/// use assay_tune::search::{Search, Strategy, Trial};
/// use assay_tune::space::{Knob, Space};
/// let values = (0..30).map(|value| value.to_string());
/// let space = Space::new(vec![Knob::new("a", values.clone()), Knob::new("b", values)], &[])?;
/// let search = Search::new(&space, Strategy::Tpe, 1);
/// let mut trials = Vec::new();
/// while let Some(point) = search.next(&trials).filter(|_| trials.len() < 60) {
///     let [a, b] = space.indices(point) else { break };
///     let time = 1.0 + f64::from(a.abs_diff(7)) + f64::from(b.abs_diff(20));
///     trials.push(Trial { point, time: Some(time) });
/// }
/// assert_eq!(trials.len(), 60);
/// # Ok::<(), assay_tune::space::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Search<'a> {
    space: &'a Space,
    strategy: Strategy,
    seed: u64,
    prior: Option<Prior>,
}

impl<'a> Search<'a> {
    /// A search without a model.
    pub fn new(space: &'a Space, strategy: Strategy, seed: u64) -> Search<'a> {
        Search {
            space,
            strategy,
            seed,
            prior: None,
        }
    }

    /// The same with times that a model predicts.
    pub fn with_prior(self, prior: Prior) -> Search<'a> {
        Search {
            prior: Some(prior),
            ..self
        }
    }

    /// The next configuration to evaluate; `None` when all were.
    pub fn next(&self, trials: &[Trial]) -> Option<Point> {
        let mut tried = vec![false; self.space.len()];
        for trial in trials {
            if let Some(place) = tried.get_mut(trial.point.0 as usize) {
                *place = true;
            }
        }
        let mut random = Random::of(self.seed, trials.len() as u64);
        let open = |point: &Point| !tried.get(point.0 as usize).copied().unwrap_or(true);
        if self.space.len() <= WHOLE && self.prior.is_none() && self.strategy != Strategy::Random {
            return self.space.points().find(open);
        }
        let chosen = match (self.strategy, &self.prior) {
            (Strategy::Random, None) => None,
            (Strategy::Random, Some(prior)) => prior.best(self.space.points().filter(open)),
            (strategy, prior) => {
                let polish = match strategy {
                    Strategy::TpePolish => polish::next(self.space, trials, &open, prior.as_ref()),
                    _ => None,
                };
                let propose = || tpe::next(self.space, trials, &open, prior.as_ref(), &mut random);
                polish.or_else(propose)
            }
        };
        chosen.or_else(|| self.in_random_order(&open))
    }

    /// The first open point of a random order that the seed alone decides.
    fn in_random_order(&self, open: &impl Fn(&Point) -> bool) -> Option<Point> {
        let mut order: Vec<Point> = self.space.points().collect();
        Random::of(self.seed, u64::MAX).shuffle(&mut order);
        order.into_iter().find(open)
    }
}
