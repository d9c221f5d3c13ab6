//! Writing sessions.

use super::{
    Attempt, Database, Decision, Error, Failure, Measurement, Outcome, Prediction, Verified,
};
use crate::fingerprint;
use rusqlite::{Transaction, params};
use serde::Serialize;

/// A session of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub i64);

/// What a session is about.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// Equal keys search the same kernel in the same way.
    pub key: &'a str,
    /// The kernel's name.
    pub kernel: &'a str,
    /// The chip.
    pub chip: &'a str,
    /// The seed.
    pub seed: u64,
    /// What was asked for, for people.
    pub command: &'a str,
    /// Seconds since 1970.
    pub now: i64,
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Database {
    /// Starts a session.
    pub fn start(&mut self, new: &NewSession<'_>) -> Result<SessionId, Error> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO session (key, kernel, chip, seed, command, started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![new.key, new.kernel, new.chip, new.seed.to_string(), new.command, new.now],
            )?;
            Ok(SessionId(transaction.last_insert_rowid()))
        })
    }

    /// The newest session of a key that has not ended.
    pub fn unfinished(&self, key: &str) -> Result<Option<SessionId>, Error> {
        let query = "SELECT max(id) FROM session WHERE key = ?1 AND ended_at IS NULL";
        let found = self
            .connection
            .query_row(query, [key], |row| row.get::<_, Option<i64>>(0));
        let found = found.map_err(|error| self.explain(&error))?;
        Ok(found.map(SessionId))
    }

    /// The newest session of a key, ended or not: one that ended answers everything from its records.
    pub fn newest(&self, key: &str) -> Result<Option<SessionId>, Error> {
        let query = "SELECT max(id) FROM session WHERE key = ?1";
        let found = self
            .connection
            .query_row(query, [key], |row| row.get::<_, Option<i64>>(0));
        let found = found.map_err(|error| self.explain(&error))?;
        Ok(found.map(SessionId))
    }

    /// Records an attempt with what became of it. An attempt that is there already is left as it is.
    pub fn record(
        &mut self,
        session: SessionId,
        attempt: &Attempt,
        (chip, model): (&str, &str),
        now: i64,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            if let (Some(program), Outcome::Timed(prediction)) = (&attempt.program, &attempt.outcome) {
                keep(transaction, program, (chip, model), prediction)?;
            }
            let source = match &attempt.source {
                Some(text) => Some(keep_source(transaction, text)?),
                None => None,
            };
            let failure = match &attempt.outcome {
                Outcome::Failed(failure) => Some(failure),
                Outcome::Timed(_) => None,
            };
            transaction.execute(
                "INSERT OR IGNORE INTO attempt (session, ordinal, parent, phase, knobs, steps, program, model, class, \
                 geometry, source, stage, why, made_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                params![
                    session.0,
                    attempt.ordinal,
                    attempt.parent,
                    attempt.phase.name(),
                    json(&attempt.genome.knobs),
                    json(&attempt.genome.steps),
                    attempt.program,
                    model,
                    attempt.class,
                    attempt.geometry.as_ref().map(json),
                    source,
                    failure.map(|failure| failure.stage.name()),
                    failure.map(|failure| failure.why.as_str()),
                    now,
                ],
            )?;
            Ok(())
        })
    }

    /// Records what was proven at a level, or what was not.
    pub fn verified(
        &mut self,
        session: SessionId,
        ordinal: u32,
        level: &str,
        verified: &Result<Verified, Failure>,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            let failure = verified.as_ref().err();
            transaction.execute(
                "INSERT OR IGNORE INTO verification (session, ordinal, level, stage, why, detail) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    session.0,
                    ordinal,
                    level,
                    failure.map(|failure| failure.stage.name()),
                    failure.map(|failure| failure.why.as_str()),
                    verified.as_ref().ok().map(json),
                ],
            )?;
            Ok(())
        })
    }

    /// Records a measured time.
    pub fn measured(
        &mut self,
        session: SessionId,
        ordinal: u32,
        measured: &Measurement,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            let (low, high) = measured.ratio.unzip();
            transaction.execute(
                "INSERT OR REPLACE INTO measurement (session, ordinal, device, median_us, ratio_low, ratio_high) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![session.0, ordinal, measured.device, measured.median_us, low, high],
            )?;
            Ok(())
        })
    }

    /// Ends a session with a decision.
    pub fn decide(
        &mut self,
        session: SessionId,
        decision: &Decision,
        now: i64,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO decision (session, winner, kept, gain, claimed, reason) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    session.0,
                    decision.winner,
                    decision.kept,
                    decision.gain,
                    decision.claimed,
                    decision.reason
                ],
            )?;
            transaction.execute(
                "UPDATE session SET ended_at = ?2 WHERE id = ?1",
                params![session.0, now],
            )?;
            Ok(())
        })
    }
}

pub(super) fn keep(
    transaction: &Transaction<'_>,
    program: &str,
    (chip, model): (&str, &str),
    prediction: &Prediction,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR IGNORE INTO prediction (program, chip, model, time_us, low_us, high_us, limited_by, class, terms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            program,
            chip,
            model,
            prediction.time_us,
            prediction.low_us,
            prediction.high_us,
            prediction.limited_by,
            prediction.class,
            json(&prediction.terms),
        ],
    )?;
    Ok(())
}

pub(super) fn keep_source(transaction: &Transaction<'_>, text: &str) -> rusqlite::Result<String> {
    let hash = fingerprint::of(text);
    transaction.execute(
        "INSERT OR IGNORE INTO source (hash, text) VALUES (?1, ?2)",
        params![hash, text],
    )?;
    Ok(hash)
}
