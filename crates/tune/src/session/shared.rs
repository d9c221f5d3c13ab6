//! Evaluations that sessions of one database share: no program is predicted, and no source proven, twice.
//!
//! Before a program is evaluated its session takes the turn ([`Turn`]); another session that comes to the same program
//! waits for the result. What a session predicted is recorded before it waits for others, so that two sessions whose batches
//! overlap never wait for each other.

use super::journal::{Error, Journal, Wanted};
use super::{Level, Prepared, Workbench};
use crate::attempts::{
    Attempt, Failure, Genome, Outcome, Phase, Prediction, Proof, Stage, Turn, Verified,
};
use rayon::prelude::*;

/// How long to wait before looking again for what another session evaluates.
const WAIT: std::time::Duration = std::time::Duration::from_millis(20);

/// A prediction, or why there is none.
type Predicted = Result<Prediction, Failure>;

/// Who predicts a candidate.
enum Source {
    /// Nobody needs to: it failed before, or some session predicted it.
    Known(Predicted),
    /// This session.
    Own,
    /// Another session, which is at it.
    Other,
}

impl<W: Workbench> Journal<'_, W> {
    /// Makes and predicts a batch: in parallel, with a result that does not depend on it.
    pub(super) fn fresh(&mut self, phase: Phase, wanted: &[Wanted]) -> Result<Vec<Attempt>, Error> {
        let workbench = self.workbench;
        let genomes: Vec<&Genome> = wanted.iter().map(|one| &one.genome).collect();
        let prepared = workbench.prepare_all(&genomes)?;
        let sources = self.sources(&prepared)?;
        let own = prepared.par_iter().zip(&sources);
        let own: Vec<Option<Predicted>> = own
            .map(|(prepared, source)| match (prepared, source) {
                (Ok(prepared), Source::Own) => Some(workbench.predict(prepared)),
                _ => None,
            })
            .collect();
        for (prepared, predicted) in prepared.iter().zip(&own) {
            if let (Ok(prepared), Some(predicted)) = (prepared, predicted) {
                self.keep_prediction(&prepared.program, predicted)?;
            }
        }
        let first = self.attempts.len() as u32;
        let mut attempts = Vec::new();
        let all = prepared.into_iter().zip(sources).zip(own);
        for ((((prepared, source), own), wanted), ordinal) in all.zip(wanted).zip(first..) {
            let predicted = match (&prepared, source, own) {
                (_, Source::Known(known), _) => known,
                (_, _, Some(own)) => own,
                (Ok(prepared), ..) => self.awaited(prepared)?,
                (Err(failure), ..) => Err(failure.clone()),
            };
            attempts.push(attempt(phase, wanted, prepared.ok(), predicted, ordinal));
        }
        Ok(attempts)
    }

    /// Who predicts each candidate of a batch; takes the turns of those that nobody is at.
    fn sources(
        &mut self,
        prepared: &[Result<Prepared<W::Made>, Failure>],
    ) -> Result<Vec<Source>, Error> {
        let mut programs = self.programs.clone();
        let mut sources = Vec::new();
        for (place, prepared) in prepared.iter().enumerate() {
            let prepared = match prepared {
                Ok(prepared) => prepared,
                Err(failure) => {
                    sources.push(Source::Known(Err(failure.clone())));
                    continue;
                }
            };
            let ordinal = (self.attempts.len() + place) as u32;
            let program = &prepared.program;
            let first = *programs.entry(program.clone()).or_insert(ordinal);
            if first != ordinal {
                let why = format!("the same program as attempt {first}");
                let failure = Failure::new(Stage::Duplicate, why);
                sources.push(Source::Known(Err(failure)));
                continue;
            }
            let mut known = self.predicted(program)?;
            let mut turn = Turn::Own;
            if known.is_none() {
                turn = self.turn(program)?;
                // Another session may have ended its turn just before.
                known = self.predicted(program)?;
            }
            sources.push(match (known, turn) {
                (Some(known), _) => Source::Known(known),
                (None, Turn::Own) => Source::Own,
                (None, Turn::Other) => Source::Other,
            });
        }
        Ok(sources)
    }

    /// What some session recorded as a program's prediction.
    fn predicted(&self, program: &str) -> Result<Option<Predicted>, Error> {
        let of = (self.options.chip.as_str(), self.options.model.as_str());
        Ok(self.surroundings.database.prediction(program, of)?)
    }

    fn keep_prediction(&mut self, program: &str, predicted: &Predicted) -> Result<(), Error> {
        let of = (self.options.chip.as_str(), self.options.model.as_str());
        Ok(self
            .surroundings
            .database
            .predicted(program, of, predicted)?)
    }

    /// The prediction that another session is at; made here if it gives up.
    fn awaited(&mut self, prepared: &Prepared<W::Made>) -> Result<Predicted, Error> {
        let program = &prepared.program;
        if let Some(known) = self.found_or_turn(program, |journal| journal.predicted(program))? {
            return Ok(known);
        }
        let predicted = self.workbench.predict(prepared);
        self.keep_prediction(program, &predicted)?;
        Ok(predicted)
    }

    /// What some session proved about the source of an attempt at a level; `None` if it is this session's turn to.
    pub(super) fn proven_elsewhere(
        &mut self,
        ordinal: u32,
        level: Level,
    ) -> Result<Option<Result<Verified, Failure>>, Error> {
        let Some((program, class, source)) = self.attempt(ordinal).and_then(|attempt| {
            let made = (attempt.program.clone(), attempt.class.clone());
            Some((made.0?, made.1?, attempt.source.clone()?))
        }) else {
            return Ok(None);
        };
        let name = format!("{} of {program}", level.name());
        let model = self.options.model.clone();
        self.found_or_turn(&name, |journal| {
            let proof = Proof {
                program: &program,
                model: &model,
                class: &class,
                source: &source,
                level: level.name(),
            };
            Ok(journal.surroundings.database.proven(&proof)?)
        })
    }

    /// Waits until something is found, or the turn to make it is this session's.
    fn found_or_turn<T>(
        &mut self,
        name: &str,
        find: impl Fn(&Self) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        loop {
            if let Some(found) = find(self)? {
                return Ok(Some(found));
            }
            let turn = self.turn(name)?;
            // Between the two questions another session may have ended its turn.
            if let Some(found) = find(self)? {
                return Ok(Some(found));
            }
            if turn == Turn::Own {
                return Ok(None);
            }
            if (self.surroundings.interrupted)() {
                return Err(Error::Interrupted);
            }
            std::thread::sleep(WAIT);
        }
    }

    /// Whose turn it is to evaluate something.
    fn turn(&mut self, name: &str) -> Result<Turn, Error> {
        let of = (self.options.chip.as_str(), self.options.model.as_str());
        let session = self.surroundings.session;
        let turn = self.surroundings.database.take_turn(session, name, of)?;
        self.has_turns |= turn == Turn::Own;
        Ok(turn)
    }

    /// Gives all turns back: what they were taken for is recorded.
    pub(super) fn end_turns(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.has_turns) {
            let session = self.surroundings.session;
            self.surroundings.database.end_turns(session)?;
        }
        Ok(())
    }
}

fn attempt<M>(
    phase: Phase,
    wanted: &Wanted,
    prepared: Option<Prepared<M>>,
    predicted: Result<Prediction, Failure>,
    ordinal: u32,
) -> Attempt {
    let (program, class, geometry, source) = match prepared {
        Some(made) => (
            Some(made.program),
            Some(made.class),
            Some(made.geometry),
            Some(made.source),
        ),
        None => (None, None, None, None),
    };
    Attempt {
        ordinal,
        parent: Some(wanted.parent).filter(|parent| *parent < ordinal),
        phase,
        genome: wanted.genome.clone(),
        program,
        class,
        geometry,
        source,
        outcome: match predicted {
            Ok(prediction) => Outcome::Timed(prediction),
            Err(failure) => Outcome::Failed(failure),
        },
    }
}
