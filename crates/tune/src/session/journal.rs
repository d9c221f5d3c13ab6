//! Attempts of a session: recorded ones answer, new ones are made, predicted and recorded.

use super::{Level, Options, Prepared, Progress, Surroundings, Workbench};
use crate::attempts::{
    self, Attempt, Failure, Genome, Outcome, Phase, Prediction, Stage, Verified,
};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Why a session could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database.
    #[error(transparent)]
    Database(#[from] attempts::Error),
    /// The original itself fails.
    #[error("{}", .0.why)]
    Original(Failure),
    /// Somebody wants it to end; what was finished is recorded.
    #[error("the session was interrupted")]
    Interrupted,
}

/// Candidates that are made at once: fixed, so that what is tried does not depend on the machine.
const BATCH: usize = 4;

/// Something to try.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) parent: u32,
    pub(super) genome: Genome,
}

/// The attempts of a session.
pub(super) struct Journal<'a, W: Workbench> {
    pub(super) workbench: &'a W,
    pub(super) options: &'a Options,
    surroundings: Surroundings<'a>,
    /// What an earlier run of the session recorded, from the next ordinal on.
    recorded: std::vec::IntoIter<Attempt>,
    pub(super) attempts: Vec<Attempt>,
    /// The first attempt with each program.
    programs: FxHashMap<String, u32>,
    /// The attempt of each genome.
    genomes: FxHashMap<Genome, u32>,
    /// No further batch begins.
    pub(super) stopped: bool,
}

impl<'a, W: Workbench> Journal<'a, W> {
    pub(super) fn open(
        workbench: &'a W,
        options: &'a Options,
        surroundings: Surroundings<'a>,
    ) -> Result<Self, Error> {
        let recorded = surroundings
            .database
            .attempts_from(surroundings.session, 0)?;
        Ok(Journal {
            workbench,
            options,
            surroundings,
            recorded: recorded.into_iter(),
            attempts: Vec::new(),
            programs: FxHashMap::default(),
            genomes: FxHashMap::default(),
            stopped: false,
        })
    }

    /// The original, which must have a time.
    pub(super) fn original(&mut self) -> Result<u32, Error> {
        let wanted = Wanted {
            parent: 0,
            genome: Genome::default(),
        };
        let made = self.batch(Phase::Original, &[wanted])?;
        let ordinal = made.first().copied().unwrap_or(0);
        match self.attempts.first().map(|attempt| &attempt.outcome) {
            Some(Outcome::Timed(_)) => Ok(ordinal),
            Some(Outcome::Failed(failure)) => Err(Error::Original(failure.clone())),
            None => Err(Error::Original(Failure::new(
                Stage::Abandoned,
                "the session was stopped before the original had a time",
            ))),
        }
    }

    /// Attempts that are left.
    pub(super) fn left(&self) -> usize {
        if self.stopped {
            return 0;
        }
        self.options.evaluations.saturating_sub(self.attempts.len())
    }

    pub(super) fn attempt(&self, ordinal: u32) -> Option<&Attempt> {
        self.attempts.get(ordinal as usize)
    }

    /// The predicted time of an attempt.
    pub(super) fn time(&self, ordinal: u32) -> Option<f64> {
        self.attempt(ordinal)?.time()
    }

    /// The attempt of a genome, if it was tried.
    pub(super) fn known(&self, genome: &Genome) -> Option<u32> {
        self.genomes.get(genome).copied()
    }

    /// Attempts with a time, the fastest first.
    pub(super) fn fastest(&self) -> Vec<u32> {
        let timed = self
            .attempts
            .iter()
            .filter(|attempt| attempt.time().is_some());
        let mut order: Vec<u32> = timed.map(|attempt| attempt.ordinal).collect();
        order.sort_by(|a, b| {
            let time = |ordinal: &u32| self.time(*ordinal).unwrap_or(f64::INFINITY);
            time(a).total_cmp(&time(b)).then(a.cmp(b))
        });
        order
    }

    /// Tries candidates in order, as far as evaluations and time last. Those that were tried before are not tried again.
    pub(super) fn try_all(&mut self, phase: Phase, wanted: &[Wanted]) -> Result<Vec<u32>, Error> {
        let mut fresh: Vec<Wanted> = Vec::new();
        for one in wanted {
            let twice = fresh.iter().any(|other| other.genome == one.genome);
            if self.known(&one.genome).is_none() && !twice {
                fresh.push(one.clone());
            }
        }
        let mut made = Vec::new();
        for batch in fresh.chunks(BATCH) {
            let batch = batch
                .get(..self.left().min(batch.len()))
                .unwrap_or_default();
            if batch.is_empty() {
                break;
            }
            made.extend(self.batch(phase, batch)?);
        }
        Ok(made)
    }

    fn batch(&mut self, phase: Phase, wanted: &[Wanted]) -> Result<Vec<u32>, Error> {
        let mut made = Vec::new();
        let mut rest = wanted;
        while let [one, others @ ..] = rest
            && let Some(recorded) = self.recorded.next()
        {
            if recorded.genome != one.genome {
                return Err(Error::Database(attempts::Error::Diverged {
                    ordinal: recorded.ordinal,
                    recorded: recorded.genome.to_string(),
                    proposed: one.genome.to_string(),
                }));
            }
            made.push(self.keep(recorded));
            rest = others;
        }
        if rest.is_empty() {
            return Ok(made);
        }
        if (self.surroundings.interrupted)() {
            return Err(Error::Interrupted);
        }
        if !self.attempts.is_empty() && (self.surroundings.stop)() {
            self.stopped = true;
            return Ok(made);
        }
        self.tell(&rest[0].genome.to_string());
        for attempt in self.fresh(phase, rest)? {
            let of = (self.options.chip.as_str(), self.options.model.as_str());
            let session = self.surroundings.session;
            self.surroundings
                .database
                .record(session, &attempt, of, self.options.now)?;
            made.push(self.keep(attempt));
        }
        Ok(made)
    }

    fn keep(&mut self, attempt: Attempt) -> u32 {
        let ordinal = attempt.ordinal;
        if let (Some(program), Some(_)) = (&attempt.program, attempt.time()) {
            self.programs.entry(program.clone()).or_insert(ordinal);
        }
        self.genomes
            .entry(attempt.genome.clone())
            .or_insert(ordinal);
        self.attempts.push(attempt);
        ordinal
    }

    /// Makes and predicts a batch: in parallel, with a result that does not depend on it.
    fn fresh(&mut self, phase: Phase, wanted: &[Wanted]) -> Result<Vec<Attempt>, Error> {
        let workbench = self.workbench;
        let prepared: Vec<_> = wanted
            .par_iter()
            .map(|one| workbench.prepare(&one.genome))
            .collect();
        let mut known: Vec<Option<Result<Prediction, Failure>>> = Vec::new();
        let mut programs = self.programs.clone();
        for (place, prepared) in prepared.iter().enumerate() {
            let Ok(prepared) = prepared else {
                known.push(None);
                continue;
            };
            let ordinal = (self.attempts.len() + place) as u32;
            let of = (self.options.chip.as_str(), self.options.model.as_str());
            let first = *programs.entry(prepared.program.clone()).or_insert(ordinal);
            known.push(if first != ordinal {
                let why = format!("the same program as attempt {first}");
                Some(Err(Failure::new(Stage::Duplicate, why)))
            } else {
                self.surroundings
                    .database
                    .prediction(&prepared.program, of)?
                    .map(Ok)
            });
        }
        let predict =
            |(prepared, known): (&Result<Prepared<W::Made>, Failure>, Option<_>)| match prepared {
                Err(failure) => Err(failure.clone()),
                Ok(prepared) => known.unwrap_or_else(|| workbench.predict(prepared)),
            };
        let predicted: Vec<Result<Prediction, Failure>> =
            prepared.par_iter().zip(known).map(predict).collect();
        let first = self.attempts.len() as u32;
        let all = wanted.iter().zip(prepared).zip(predicted).zip(first..);
        Ok(all
            .map(|(((wanted, prepared), predicted), ordinal)| {
                attempt(phase, wanted, prepared.ok(), predicted, ordinal)
            })
            .collect())
    }

    /// What is proven about an attempt at a level: recorded, or proven now.
    pub(super) fn verify(
        &mut self,
        ordinal: u32,
        level: Level,
    ) -> Result<Result<Verified, Failure>, Error> {
        let session = self.surroundings.session;
        let known = self
            .surroundings
            .database
            .verification(session, ordinal, level.name())?;
        if let Some(known) = known {
            return Ok(known);
        }
        let Some(genome) = self.attempt(ordinal).map(|attempt| attempt.genome.clone()) else {
            return Ok(Err(Failure::new(
                Stage::Results,
                "there is no such attempt",
            )));
        };
        if (self.surroundings.interrupted)() {
            return Err(Error::Interrupted);
        }
        self.tell(&format!("proving {genome}"));
        let verified = self.workbench.verify(&genome, level);
        // A session that was cut short proves what a whole one would not.
        if !self.stopped {
            let database = &mut self.surroundings.database;
            database.verified(session, ordinal, level.name(), &verified)?;
        }
        Ok(verified)
    }

    /// Records how the session ended.
    pub(super) fn end(&mut self, decision: &attempts::Decision) -> Result<(), Error> {
        let session = self.surroundings.session;
        self.surroundings
            .database
            .decide(session, decision, self.options.now)?;
        Ok(())
    }

    fn tell(&self, trying: &str) {
        let best = self
            .fastest()
            .first()
            .and_then(|&ordinal| self.time(ordinal));
        (self.surroundings.progress)(&Progress {
            attempts: self.attempts.len(),
            evaluations: self.options.evaluations,
            original_us: self.time(0),
            best_us: best,
            trying: trying.to_owned(),
        });
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
