//! Who proposes candidates besides the search itself: the seam to language models.
//!
//! A [`Proposer`] makes requests of a [`Situation`], gets them answered and reads answers. The session records every answer
//! before it uses it, so that a session that was killed continues with the same answers and asks nobody twice.

use super::Proposal;
use crate::attempts::{Attempt, Failure, Geometry, Hypothesis};
use crate::fingerprint::Fingerprint;
use std::fmt;

/// A source that somebody wrote in place of the kernel's own. Comments `// assay: tune TM = 1,2,4` declare knobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Metal source with a kernel of the same name and arguments.
    pub source: String,
    /// How it is dispatched; formulas may use sizes and knobs. As the original where nothing is said.
    pub geometry: Geometry,
}

impl Written {
    /// The step that stands for it in genomes: `written:0a1b…`.
    pub fn step(&self) -> String {
        let geometry = format!("{:?}", self.geometry);
        let print = Fingerprint::default()
            .with(self.source.as_bytes())
            .with(geometry.as_bytes())
            .text();
        format!("{WRITTEN}{}", &print[..16])
    }
}

/// What starts the step of a written source.
pub const WRITTEN: &str = "written:";

/// What a proposal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Steps of recipes on top of the original, with values of the kernel's knobs.
    Steps(Vec<String>),
    /// A source.
    Source(Written),
}

/// A proposal, read from an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    /// What it does, in a few words.
    pub technique: String,
    /// What it expects of the time.
    pub hypothesis: Option<Hypothesis>,
    /// Values of knobs.
    pub knobs: Vec<(String, String)>,
    /// What it is.
    pub content: Content,
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The model.
    pub model: String,
    /// The template with its version.
    pub prompt: String,
    /// The fingerprint of the normalised request.
    pub request: String,
    /// The request, as the proposer writes it.
    pub content: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What came back, or why it cannot be used: cut, too long, malformed.
    pub text: Result<String, String>,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Dollars, where a price is known.
    pub cost: Option<f64>,
}

/// Why a request has no answer at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// What is left of calls, tokens or money is not enough.
    Budget(String),
    /// The provider cannot be reached or refuses; asking later may help.
    Failed(String),
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unanswered::Budget(why) | Unanswered::Failed(why) => f.write_str(why),
            Unanswered::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// What became of a proposal, as it is told to models.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// The attempt that it became, or that was the same.
    pub attempt: Option<u32>,
    /// In the model's words.
    pub technique: String,
    /// Knobs and steps.
    pub genome: String,
    /// What it expected.
    pub hypothesis: Option<Hypothesis>,
    /// Predicted microseconds, and the terms.
    pub time: Option<(f64, Vec<(String, f64)>)>,
    /// Why it is no improvement: refused, failed, wrong.
    pub failure: Option<String>,
}

/// Where a session stands.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// The round, from 0.
    pub round: u32,
    /// The original.
    pub original: &'a Attempt,
    /// The fastest attempt that is not known to be wrong.
    pub best: &'a Attempt,
    /// Steps that apply to the fastest attempt.
    pub choices: &'a [Proposal],
    /// Proposals so far with what became of them, the oldest first.
    pub stories: &'a [Story],
}

/// What was wrong with a proposal, for the model that made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The proposal's place in the answer; none if the answer as a whole cannot be read.
    pub place: Option<usize>,
    /// What it is, in a few words.
    pub technique: String,
    /// Where it failed and why, exactly.
    pub failure: Failure,
}

/// Proposes candidates.
pub trait Proposer: Sync {
    /// Rounds at most.
    fn rounds(&self) -> u32;

    /// What to ask in a round; a function of the situation.
    fn asks(&self, situation: &Situation<'_>) -> Vec<Ask>;

    /// What to ask so that faults of an answer are repaired; a function of its arguments.
    fn repair(&self, ask: &Ask, answer: &str, faults: &[Fault]) -> Option<Ask>;

    /// Asks. Answers are in the order of the requests.
    fn answer(&self, asks: &[Ask]) -> Vec<Result<Reply, Unanswered>>;

    /// Is told of an answer that an earlier run of the session recorded, which counts against budgets.
    fn recall(&self, ask: &Ask, reply: &Reply);

    /// Reads an answer; what cannot be read says why. A function of its arguments.
    fn read(&self, ask: &Ask, answer: &str) -> Result<Vec<Result<Proposed, String>>, String>;
}
