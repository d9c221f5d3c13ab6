//! `assay tune --fleet`: candidates are made, predicted and proven by workers; the search and its attempts stay here.
//!
//! What a language model wrote is evaluated here: its source is known to this process alone.

use super::args::SearchArgs;
use super::candidate::{Document, Proof};
use crate::commands::fleet::line::Line;
use crate::commands::fleet::submit::Session;
use crate::context::Context;
use crate::failure::{Failure, Kind};
use assay_fleet::{Answer, Ending, Submission};
use assay_tune::attempts::{self, Genome, Outcome, Prediction, Stage, Verified};
use assay_tune::fingerprint::Fingerprint;
use assay_tune::session::proposer::WRITTEN;
use assay_tune::session::{AllPrepared, Halt, Level, Prepared, Proposal, Workbench, Written};
use std::sync::Arc;

/// Candidates that are out at once.
const AT_ONCE: usize = 64;

/// A workbench whose work is done by others.
pub(super) struct Fleet<'a, W> {
    /// Knows which recipes apply, and evaluates what cannot be sent.
    here: &'a W,
    session: Session,
    line: Line,
    pools: Vec<String>,
    args: &'a SearchArgs,
    context: Context,
}

/// What predicts a candidate: what was made here, or what a worker said.
pub(super) enum Made<M> {
    Here(Box<Prepared<M>>),
    There(Result<Prediction, attempts::Failure>),
}

impl<'a, W: Workbench> Fleet<'a, W> {
    /// Connects; `here` is the same workbench on this machine.
    pub(super) fn open(
        here: &'a W,
        args: &'a SearchArgs,
        context: &Context,
    ) -> Result<Self, Failure> {
        if args.fleet.detach {
            return Err(Failure::usage("a search waits for its answers")
                .advice("leave --detach out; Ctrl-C ends the search, and --resume continues it"));
        }
        let words = context.line.iter().position(|word| word == "tune");
        let words = words.and_then(|place| context.line.get(place + 1..));
        let line = Line::read("tune", words.unwrap_or_default())?;
        let session = Session::open(&args.fleet)?;
        let pools = session.pools(&args.fleet, context)?;
        Ok(Self {
            here,
            session,
            line,
            pools,
            args,
            // The search shows its own progress.
            context: Context {
                progress: false,
                ..context.clone()
            },
        })
    }

    /// The question about a genome. The same genome goes to the same pool, so that it is known there the next time.
    fn ask(&self, genome: &Genome, level: Option<Level>) -> Result<Arc<Submission>, Halt> {
        let word = serde_json::to_string(genome).map_err(|error| Halt::Away(error.to_string()))?;
        let mut words = vec!["tune".to_owned()];
        words.extend(self.line.names.iter().cloned());
        words.extend(self.line.flags.iter().cloned());
        words.push("--format=json".to_owned());
        if let Some(level) = level {
            words.push(format!("--prove={}", level.name()));
        }
        let hash = Fingerprint::default().with(word.as_bytes()).text();
        words.push(format!("--candidate={word}"));
        let number = hash.bytes().fold(0_usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let pool = self.pools.get(number % self.pools.len().max(1));
        let pool = pool.ok_or_else(|| Halt::Away("no pool".to_owned()))?;
        Ok(Arc::new(self.line.job(&self.args.fleet, words, pool)))
    }

    /// Has questions answered, in their order.
    fn answers(&self, questions: Vec<Arc<Submission>>) -> Result<Vec<Answer>, Halt> {
        let mut answers: Vec<Option<Answer>> = vec![None; questions.len()];
        let asked = self
            .session
            .evaluate(questions, &self.context, |place, answer| {
                if let Some(slot) = answers.get_mut(place) {
                    *slot = Some(answer);
                }
                Ok(())
            });
        asked.map_err(|failure| match failure.kind {
            Kind::Interrupted => Halt::Interrupted,
            _ => Halt::Away(failure.message),
        })?;
        let all: Option<Vec<Answer>> = answers.into_iter().collect();
        all.ok_or_else(|| Halt::Away("an answer is missing".to_owned()))
    }
}

/// What a worker's answer says about a candidate: the document, or a failure of the candidate.
fn read(answer: Answer) -> Result<Result<Document, attempts::Failure>, Halt> {
    let worker = &answer.machine.worker;
    match answer.ending {
        Ending::Done {
            output,
            error: None,
            ..
        } => serde_json::from_str(&output)
            .map(Ok)
            .map_err(|error| Halt::Away(format!("{worker} answered with no candidate: {error}"))),
        Ending::Done {
            error: Some(error), ..
        } => {
            let document: serde_json::Value = serde_json::from_str(&error).unwrap_or_default();
            let message = document["error"]["message"].as_str().unwrap_or(&error);
            Err(Halt::Away(format!("on {worker}: {message}")))
        }
        Ending::Refused { why, advice } => Err(Halt::Away(format!("{worker}: {why}; {advice}"))),
        Ending::Cancelled => Err(Halt::Interrupted),
        // A candidate that hangs, or takes its process along, is no good: that is known now.
        ending @ (Ending::TimedOut { .. } | Ending::GaveUp { .. }) => {
            let why = ending.trouble().unwrap_or_default();
            Ok(Err(attempts::Failure::new(
                Stage::Abandoned,
                format!("on {worker}: {why}"),
            )))
        }
    }
}

/// Returns true if a genome means the same elsewhere.
fn can_be_sent(genome: &Genome) -> bool {
    !genome.steps.iter().any(|step| step.starts_with(WRITTEN))
}

fn prepared<M>(document: Document) -> Result<Prepared<Made<M>>, attempts::Failure> {
    let outcome = document.outcome.unwrap_or_else(|| {
        Outcome::Failed(attempts::Failure::new(
            Stage::Model,
            "the worker said nothing about it",
        ))
    });
    let made = match (document.made, &outcome) {
        (Some(made), _) => made,
        (None, Outcome::Failed(failure)) => return Err(failure.clone()),
        (None, Outcome::Timed(_)) => {
            let why = "the worker timed what it did not make";
            return Err(attempts::Failure::new(Stage::Model, why));
        }
    };
    Ok(Prepared {
        program: made.program,
        class: made.class,
        geometry: made.geometry,
        source: made.source,
        made: Made::There(match outcome {
            Outcome::Timed(prediction) => Ok(prediction),
            Outcome::Failed(failure) => Err(failure),
        }),
    })
}

impl<W: Workbench> Workbench for Fleet<'_, W> {
    type Made = Made<W::Made>;

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn prepare(&self, genome: &Genome) -> Result<Prepared<Self::Made>, attempts::Failure> {
        let prepared = self.here.prepare(genome)?;
        Ok(Prepared {
            program: prepared.program.clone(),
            class: prepared.class.clone(),
            geometry: prepared.geometry.clone(),
            source: prepared.source.clone(),
            made: Made::Here(Box::new(prepared)),
        })
    }

    fn prepare_all(&self, genomes: &[&Genome]) -> Result<AllPrepared<Self::Made>, Halt> {
        let sent: Vec<&Genome> = genomes
            .iter()
            .copied()
            .filter(|it| can_be_sent(it))
            .collect();
        let questions = sent.iter().map(|genome| self.ask(genome, None));
        let answers = self.answers(questions.collect::<Result<_, _>>()?)?;
        let mut answers = answers.into_iter();
        let mut all = Vec::new();
        for genome in genomes {
            all.push(match can_be_sent(genome) {
                true => match answers.next().map(read).transpose()? {
                    Some(Ok(document)) => prepared(document),
                    Some(Err(failure)) => Err(failure),
                    None => return Err(Halt::Away("an answer is missing".to_owned())),
                },
                false => self.prepare(genome),
            });
        }
        Ok(all)
    }

    fn predict(&self, prepared: &Prepared<Self::Made>) -> Result<Prediction, attempts::Failure> {
        match &prepared.made {
            Made::There(predicted) => predicted.clone(),
            Made::Here(prepared) => self.here.predict(prepared),
        }
    }

    fn choices(&self, genome: &Genome) -> Vec<Proposal> {
        self.here.choices(genome)
    }

    fn offer(&self, written: &Written) -> Option<String> {
        self.here.offer(written)
    }

    fn verify(&self, genome: &Genome, level: Level) -> Result<Verified, attempts::Failure> {
        self.here.verify(genome, level)
    }

    fn prove(
        &self,
        genome: &Genome,
        level: Level,
    ) -> Result<Result<Verified, attempts::Failure>, Halt> {
        if !can_be_sent(genome) {
            return Ok(self.here.verify(genome, level));
        }
        let answers = self.answers(vec![self.ask(genome, Some(level))?])?;
        let answer = answers.into_iter().next().map(read).transpose()?;
        match answer {
            Some(Err(failure)) => Ok(Err(failure)),
            Some(Ok(document)) => match document.proof {
                Some(Proof::Verified(verified)) => Ok(Ok(verified)),
                Some(Proof::Failed(failure)) => Ok(Err(failure)),
                None => Err(Halt::Away("the worker proved nothing".to_owned())),
            },
            None => Err(Halt::Away("an answer is missing".to_owned())),
        }
    }
}
