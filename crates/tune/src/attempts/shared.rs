//! What sessions share: predictions by program, proofs by program and source.

use super::write::keep;
use super::{Database, Error, Failure, Prediction, Stage, Verified};
use crate::fingerprint;
use rusqlite::{OptionalExtension, params};

/// What a proof is about. Runs and inputs follow from the source, so equal sources of one program have equal proofs.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// The fingerprint of program, geometry and launch.
    pub program: &'a str,
    /// The version of the model the attempt was made with.
    pub model: &'a str,
    /// `E` or `R`: what results are compared by.
    pub class: &'a str,
    /// The source.
    pub source: &'a str,
    /// The level.
    pub level: &'a str,
}

impl Database {
    /// What some session recorded as a program's prediction: a time, or why there is none.
    pub fn prediction(
        &self,
        program: &str,
        (chip, model): (&str, &str),
    ) -> Result<Option<Result<Prediction, Failure>>, Error> {
        let run = || {
            let times = "SELECT time_us, low_us, high_us, limited_by, class, terms FROM prediction \
                         WHERE program = ?1 AND chip = ?2 AND model = ?3";
            let of = params![program, chip, model];
            let found = self
                .connection
                .query_row(times, of, super::query::prediction);
            if let Some(time) = found.optional()? {
                return Ok(Some(Ok(time)));
            }
            let failures = "SELECT stage, why FROM unpredicted WHERE program = ?1 AND chip = ?2 AND model = ?3";
            let found = self.connection.query_row(failures, of, |row| {
                let stage: String = row.get(0)?;
                let stage = Stage::named(&stage).unwrap_or(Stage::Model);
                Ok(Failure::new(stage, row.get::<_, String>(1)?))
            });
            Ok(found.optional()?.map(Err))
        };
        run().map_err(|error: rusqlite::Error| self.explain(&error))
    }

    /// Records a program's prediction, or why there is none.
    pub fn predicted(
        &mut self,
        program: &str,
        (chip, model): (&str, &str),
        predicted: &Result<Prediction, Failure>,
    ) -> Result<(), Error> {
        self.write(|transaction| match predicted {
            Ok(prediction) => keep(transaction, program, (chip, model), prediction),
            Err(failure) => {
                transaction.execute(
                    "INSERT OR IGNORE INTO unpredicted (program, chip, model, stage, why) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![program, chip, model, failure.stage.name(), failure.why],
                )?;
                Ok(())
            }
        })
    }

    /// What any session proved, or could not prove, about a source of a program.
    pub fn proven(&self, proof: &Proof<'_>) -> Result<Option<Result<Verified, Failure>>, Error> {
        let query = "SELECT v.stage, v.why, v.detail FROM attempt a \
             JOIN verification v ON v.session = a.session AND v.ordinal = a.ordinal AND v.level = ?1 \
             WHERE a.program = ?2 AND a.model = ?3 AND a.class = ?4 AND a.source = ?5 \
             ORDER BY a.session, a.ordinal LIMIT 1";
        let source = fingerprint::of(proof.source);
        let of = params![proof.level, proof.program, proof.model, proof.class, source];
        let found = self
            .connection
            .query_row(query, of, |row| super::query::verified(row, 0));
        found.optional().map_err(|error| self.explain(&error))
    }
}
