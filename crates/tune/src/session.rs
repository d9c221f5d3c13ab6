//! A session: one search for a faster kernel, from the original to a decision.
//!
//! The session knows no compiler and no chip. A [`Workbench`] makes candidates, predicts their time and proves them; the
//! session decides what to try. What it tries is a function of the seed and of what became of earlier attempts, and every
//! attempt is recorded before the next batch begins. A session that was killed is resumed by running it again: recorded
//! attempts answer instead of the workbench until there are no more.
//!
//! 1. *Knobs*: values of the kernel's own parameters, by [`Search`](crate::search::Search).
//! 2. *Recipes*: a beam of [`BEAM`] sequences, up to [`DEPTH`] steps. The dominant term chooses recipes
//!    ([`advice`](crate::advice)).
//! 3. *Proposals* of a language model, where there is a [`Proposer`]: before recipes, which then build on them.
//! 4. *Parameters* of the best [`SEQUENCES`] sequences, by descent.
//! 5. *Proof* of the fastest, until one passes: all sizes, several inputs; then once at sizes that were held out.
//! 6. *Decision*: the gain, shrunk for selection, must exceed the tie band.

mod beam;
mod decide;
mod journal;
mod knobs;
mod parameters;
mod propose;
pub mod proposer;
mod shared;

pub use decide::{Found, Proof};
pub use journal::Error;
pub use proposer::{Proposer, Written};

use crate::attempts::{Database, Failure, Genome, Geometry, Prediction, SessionId, Verified};
use crate::space::Space;
use journal::Journal;
use rayon::prelude::*;

/// Sequences that are extended at each depth.
pub const BEAM: usize = 4;
/// Steps of a sequence at most.
pub const DEPTH: usize = 4;
/// Sequences whose parameters are searched.
pub const SEQUENCES: usize = 6;

/// A candidate that was made.
#[derive(Clone, Debug)]
pub struct Prepared<M> {
    /// The fingerprint of program and geometry.
    pub program: String,
    /// `E` or `R`.
    pub class: String,
    /// How it is dispatched.
    pub geometry: Geometry,
    /// Its source.
    pub source: String,
    /// What the workbench needs to predict it.
    pub made: M,
}

/// A step that applies to a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The recipe's id.
    pub recipe: String,
    /// The step's text.
    pub step: String,
}

/// How much is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Small and odd sizes, and checked once: for everything that is built upon.
    Quick,
    /// All sizes, several inputs: for finalists.
    Full,
    /// Sizes nobody has looked at: for the winner, once.
    HeldOut,
}

impl Level {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Quick => "quick",
            Level::Full => "full",
            Level::HeldOut => "held-out",
        }
    }
}

/// Why a workbench cannot go on; says nothing about a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Whoever evaluates does not answer.
    Away(String),
}

/// What a workbench says about several candidates, in their order.
pub type AllPrepared<M> = Vec<Result<Prepared<M>, Failure>>;

/// Makes, predicts and proves candidates. Every answer is a function of the genome.
pub trait Workbench: Sync {
    /// What is needed to predict a candidate.
    type Made: Send + Sync;

    /// Candidates that are evaluated together. What is tried, and in which order, does not depend on it.
    fn at_once(&self) -> usize {
        4
    }

    /// Makes a candidate: applies steps, prints, compiles, checks limits.
    fn prepare(&self, genome: &Genome) -> Result<Prepared<Self::Made>, Failure>;

    /// Makes several candidates in parallel.
    fn prepare_all(&self, genomes: &[&Genome]) -> Result<AllPrepared<Self::Made>, Halt> {
        let genomes = genomes.par_iter();
        Ok(genomes.map(|genome| self.prepare(genome)).collect())
    }

    /// Predicts its time.
    fn predict(&self, prepared: &Prepared<Self::Made>) -> Result<Prediction, Failure>;

    /// The steps that apply to it, by recipe.
    fn choices(&self, genome: &Genome) -> Vec<Proposal>;

    /// Takes a source that somebody wrote; the step that stands for it in genomes. None if it cannot.
    fn offer(&self, _written: &Written) -> Option<String> {
        None
    }

    /// Proves it.
    fn verify(&self, genome: &Genome, level: Level) -> Result<Verified, Failure>;

    /// The standard deviation of the logarithm of its predicted time that the model itself leaves open; none if it is not
    /// known.
    fn doubt(&self, _genome: &Genome) -> Option<f64> {
        None
    }

    /// Proves it here or elsewhere.
    fn prove(&self, genome: &Genome, level: Level) -> Result<Result<Verified, Failure>, Halt> {
        Ok(self.verify(genome, level))
    }
}

/// What a session is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides every random choice.
    pub seed: u64,
    /// Attempts at most, the original included.
    pub evaluations: usize,
    /// Standard deviation of the logarithm of one predicted over true time, where two variants are compared.
    pub error: f64,
    /// A gain below this is a tie.
    pub tie: f64,
    /// Rewritings are searched, besides knobs.
    pub recipes: bool,
    /// The chip, as predictions are kept by it.
    pub chip: String,
    /// The version of the model.
    pub model: String,
    /// Seconds since 1970, for records.
    pub now: i64,
}

/// What a session is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Attempts so far.
    pub attempts: usize,
    /// Attempts at most.
    pub evaluations: usize,
    /// Predicted microseconds of the original.
    pub original_us: Option<f64>,
    /// Predicted microseconds of the fastest so far.
    pub best_us: Option<f64>,
    /// What is being tried.
    pub trying: String,
}

/// What a session works with.
pub struct Surroundings<'a> {
    /// Where attempts are recorded.
    pub database: &'a mut Database,
    /// The session.
    pub session: SessionId,
    /// Returns true when no further batch should begin: time is up.
    pub stop: &'a dyn Fn() -> bool,
    /// Returns true when the session should end at once, without a decision: somebody pressed Ctrl-C.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Is told what is going on.
    pub progress: &'a dyn Fn(&Progress),
}

/// Runs a session to its decision, or to where it is stopped. `space` has the kernel's own knobs.
pub fn run<W: Workbench>(
    workbench: &W,
    space: Option<&Space>,
    options: &Options,
    surroundings: Surroundings<'_>,
) -> Result<Found, Error> {
    run_with(workbench, space, options, surroundings, None)
}

/// The same with somebody who proposes candidates.
pub fn run_with<W: Workbench>(
    workbench: &W,
    space: Option<&Space>,
    options: &Options,
    surroundings: Surroundings<'_>,
    proposer: Option<&dyn Proposer>,
) -> Result<Found, Error> {
    let mut journal = Journal::open(workbench, options, surroundings)?;
    let original = journal.original()?;
    let mut base = match space {
        Some(space) => knobs::search(&mut journal, space)?,
        None => original,
    };
    if let Some(proposer) = proposer {
        base = propose::rounds(&mut journal, proposer, base)?;
    }
    if options.recipes {
        beam::search(&mut journal, base)?;
        parameters::search(&mut journal)?;
    }
    decide::decide(&mut journal, original)
}
