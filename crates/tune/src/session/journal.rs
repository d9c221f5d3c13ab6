//! Attempts of a session: recorded ones answer, new ones are made, predicted and recorded.

use super::proposer::Ask;
use super::{Halt, Level, Options, Progress, Surroundings, Workbench};
use crate::attempts::{
    self, Attempt, Call, Failure, Genome, Outcome, Phase, ProposalRow, Stage, Verified,
};
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
    /// The model that proposes does not answer; what was finished is recorded.
    #[error("{0}")]
    Proposer(String),
    /// Whoever evaluates candidates does not answer; what was finished is recorded.
    #[error("{0}")]
    Away(String),
    /// Somebody wants it to end; what was finished is recorded.
    #[error("the session was interrupted")]
    Interrupted,
}

impl From<Halt> for Error {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Interrupted => Self::Interrupted,
            Halt::Away(why) => Self::Away(why),
        }
    }
}

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
    pub(super) surroundings: Surroundings<'a>,
    /// What an earlier run of the session recorded, from the next ordinal on.
    recorded: std::vec::IntoIter<Attempt>,
    pub(super) attempts: Vec<Attempt>,
    /// The first attempt with each program.
    pub(super) programs: FxHashMap<String, u32>,
    /// The attempt of each genome.
    genomes: FxHashMap<Genome, u32>,
    /// No further batch begins.
    pub(super) stopped: bool,
    /// Calls that an earlier run of the session recorded, from the next number on.
    calls: std::vec::IntoIter<Call>,
    /// Calls so far.
    called: u32,
    /// The session has turns at programs.
    pub(super) has_turns: bool,
    /// Why models were not asked any more.
    pub(super) end_of_budget: Option<String>,
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
        let calls = surroundings.database.calls(surroundings.session)?;
        Ok(Journal {
            workbench,
            options,
            surroundings,
            recorded: recorded.into_iter(),
            attempts: Vec::new(),
            programs: FxHashMap::default(),
            genomes: FxHashMap::default(),
            stopped: false,
            calls: calls.into_iter(),
            called: 0,
            has_turns: false,
            end_of_budget: None,
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
        for batch in fresh.chunks(self.workbench.at_once().max(1)) {
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
        self.end_turns()?;
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
        let verified = match self.proven_elsewhere(ordinal, level)? {
            Some(known) => known,
            None => self.workbench.prove(&genome, level)?,
        };
        // A session that was cut short proves what a whole one would not.
        if !self.stopped {
            let database = &mut self.surroundings.database;
            database.verified(session, ordinal, level.name(), &verified)?;
        }
        self.end_turns()?;
        Ok(verified)
    }

    /// The next recorded call, which must be of this request.
    pub(super) fn recorded_call(&mut self, ask: &Ask) -> Result<Option<Call>, Error> {
        let Some(call) = self.calls.next() else {
            return Ok(None);
        };
        if call.request != ask.request {
            return Err(Error::Database(attempts::Error::Diverged {
                ordinal: call.number,
                recorded: format!("call {} of {}", call.request, call.model),
                proposed: format!("call {} of {}", ask.request, ask.model),
            }));
        }
        self.called = call.number + 1;
        Ok(Some(call))
    }

    /// Returns true if a model may be asked now.
    pub(super) fn may_ask(&mut self, asks: &[Ask]) -> Result<bool, Error> {
        if (self.surroundings.interrupted)() {
            return Err(Error::Interrupted);
        }
        if (self.surroundings.stop)() {
            self.stopped = true;
            return Ok(false);
        }
        if let Some(ask) = asks.first() {
            self.tell(&format!("asking {}", ask.model));
        }
        Ok(true)
    }

    pub(super) fn next_call(&self) -> u32 {
        self.called
    }

    pub(super) fn record_call(&mut self, call: &Call) -> Result<(), Error> {
        let session = self.surroundings.session;
        self.called = call.number + 1;
        self.surroundings
            .database
            .record_call(session, call, self.options.now)?;
        Ok(())
    }

    pub(super) fn propose(&mut self, row: &ProposalRow) -> Result<(), Error> {
        let session = self.surroundings.session;
        self.surroundings.database.record_proposal(session, row)?;
        Ok(())
    }

    pub(super) fn note_end_of_budget(&mut self, why: String) {
        self.end_of_budget = Some(why);
    }

    /// Returns true if an attempt was proven at the small sizes.
    pub(super) fn is_proven(&self, ordinal: u32) -> bool {
        let session = self.surroundings.session;
        let level = Level::Quick.name();
        let known = self
            .surroundings
            .database
            .verification(session, ordinal, level);
        matches!(known, Ok(Some(Ok(_))))
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
