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
//! | [`Strategy::Gaussian`] | a Gaussian process: the candidate with the greatest expected improvement, and the same neighbourhood |
//! | [`Strategy::Descent`] | the neighbourhood of the best from the start |
//!
//! Each takes an optional [`Prior`]: predicted times of a model that errs.

mod gaussian;
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
    TpePolish,
    /// By a Gaussian process, and neighbourhoods of the best. Where there is a model, or after many trials:
    /// [`Strategy::TpePolish`].
    #[default]
    Gaussian,
    /// Neighbourhoods of the best from the start, for what is nearly right already.
    Descent,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 5] = [
        Strategy::Random,
        Strategy::Tpe,
        Strategy::TpePolish,
        Strategy::Gaussian,
        Strategy::Descent,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Random => "random",
            Strategy::Tpe => "tpe",
            Strategy::TpePolish => "tpe+polish",
            Strategy::Gaussian => "gaussian",
            Strategy::Descent => "descent",
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
    whole: usize,
    /// Spares work when trials are a continuation of those of the last call; changes no answer.
    memory: gaussian::Memory,
}

impl<'a> Search<'a> {
    /// A search without a model.
    pub fn new(space: &'a Space, strategy: Strategy, seed: u64) -> Search<'a> {
        Search {
            space,
            strategy,
            seed,
            prior: None,
            whole: WHOLE,
            memory: gaussian::Memory::default(),
        }
    }

    /// The same for so many evaluations: a space with more configurations is not evaluated in order.
    pub fn within(self, evaluations: usize) -> Search<'a> {
        Search {
            whole: WHOLE.min(evaluations),
            ..self
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
        if self.space.len() <= self.whole
            && self.prior.is_none()
            && self.strategy != Strategy::Random
        {
            return self.space.points().find(open);
        }
        let prior = self.prior.as_ref();
        let chosen = match self.strategy {
            Strategy::Random => {
                prior.and_then(|prior| prior.best(self.space.points().filter(open)))
            }
            Strategy::Gaussian if prior.is_none() && trials.len() < gaussian::MOST_TRIALS => {
                gaussian::next(self.space, trials, &open, &self.memory, &mut random)
            }
            strategy => {
                let patience = match strategy {
                    Strategy::TpePolish | Strategy::Gaussian => Some(polish::PATIENCE),
                    Strategy::Descent => Some(0),
                    Strategy::Random | Strategy::Tpe => None,
                };
                let polish = patience
                    .and_then(|patience| polish::next(self.space, trials, &open, prior, patience));
                polish.or_else(|| tpe::next(self.space, trials, &open, prior, &mut random))
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
