//! Reading sessions.

use super::write::json;
use super::{
    Attempt, Database, Decision, Error, Failure, Genome, Outcome, Phase, Prediction, SessionId,
    Stage, Verified,
};
use rusqlite::{OptionalExtension, Params, Row, params};
use serde::de::DeserializeOwned;

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// Its number.
    pub id: SessionId,
    /// Equal keys search the same kernel in the same way.
    pub key: String,
    /// The kernel's name.
    pub kernel: String,
    /// The chip.
    pub chip: String,
    /// The seed.
    pub seed: String,
    /// What was asked for.
    pub command: String,
    /// Seconds since 1970.
    pub started_at: i64,
    /// Seconds since 1970; `None` while it runs, or after it was killed.
    pub ended_at: Option<i64>,
    /// Attempts.
    pub attempts: u32,
    /// Those that failed.
    pub failed: u32,
    /// How it ended.
    pub decision: Option<Decision>,
}

/// Which attempts to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this session; of the newest when empty.
    pub session: Option<SessionId>,
    /// Of kernels whose name contains this.
    pub kernel: Option<String>,
    /// With a step of this recipe.
    pub recipe: Option<String>,
    /// That failed at this stage.
    pub stage: Option<Stage>,
    /// The fastest so many, fastest first.
    pub best: Option<usize>,
}

/// A level, and what was proven at it or why not.
pub type Proven = (String, Result<Verified, Failure>);

/// An attempt of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The session.
    pub session: SessionId,
    /// The attempt.
    pub attempt: Attempt,
    /// What was proven, or not, by level.
    pub verified: Vec<Proven>,
}

pub(super) fn prediction(row: &Row<'_>) -> rusqlite::Result<Prediction> {
    Ok(Prediction {
        time_us: row.get(0)?,
        low_us: row.get(1)?,
        high_us: row.get(2)?,
        limited_by: row.get(3)?,
        class: row.get(4)?,
        terms: parsed(&row.get::<_, String>(5)?),
    })
}

/// What was written as JSON; what somebody else wrote there instead counts as nothing.
fn parsed<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}

const ATTEMPTS: &str = "SELECT p.time_us, p.low_us, p.high_us, p.limited_by, p.class, p.terms, \
    a.ordinal, a.parent, a.phase, a.knobs, a.steps, a.program, a.class, a.geometry, s.text, a.stage, a.why \
    FROM attempt a JOIN session e ON e.id = a.session \
    LEFT JOIN source s ON s.hash = a.source \
    LEFT JOIN prediction p ON a.stage IS NULL AND p.program = a.program AND p.chip = e.chip AND p.model = a.model \
    WHERE a.session = ?1 AND a.ordinal >= ?2 ORDER BY a.ordinal";

fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let stage: Option<String> = row.get(15)?;
    let outcome = match stage {
        None => Outcome::Timed(prediction(row)?),
        Some(stage) => Outcome::Failed(Failure {
            stage: Stage::named(&stage).unwrap_or(Stage::Model),
            why: row.get::<_, Option<String>>(16)?.unwrap_or_default(),
        }),
    };
    let geometry: Option<String> = row.get(13)?;
    Ok(Attempt {
        ordinal: row.get(6)?,
        parent: row.get(7)?,
        phase: Phase::named(&row.get::<_, String>(8)?).unwrap_or(Phase::Recipes),
        genome: Genome {
            knobs: parsed(&row.get::<_, String>(9)?),
            steps: parsed(&row.get::<_, String>(10)?),
        },
        program: row.get(11)?,
        class: row.get(12)?,
        geometry: geometry.map(|text| parsed(&text)),
        source: row.get(14)?,
        outcome,
    })
}

impl Database {
    /// All sessions, the newest first.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, Error> {
        let query = "SELECT s.id, s.key, s.kernel, s.chip, s.seed, s.command, s.started_at, s.ended_at, \
            (SELECT count(*) FROM attempt a WHERE a.session = s.id), \
            (SELECT count(*) FROM attempt a WHERE a.session = s.id AND a.stage IS NOT NULL), \
            d.winner, d.kept, d.gain, d.claimed, d.reason \
            FROM session s LEFT JOIN decision d ON d.session = s.id ORDER BY s.id DESC";
        let read = |row: &Row<'_>| {
            let kept: Option<bool> = row.get(11)?;
            let decision = match kept {
                None => None,
                Some(kept) => Some(Decision {
                    winner: row.get(10)?,
                    kept,
                    gain: row.get(12)?,
                    claimed: row.get(13)?,
                    reason: row.get(14)?,
                }),
            };
            Ok(SessionRow {
                id: SessionId(row.get(0)?),
                key: row.get(1)?,
                kernel: row.get(2)?,
                chip: row.get(3)?,
                seed: row.get(4)?,
                command: row.get(5)?,
                started_at: row.get(6)?,
                ended_at: row.get(7)?,
                attempts: row.get(8)?,
                failed: row.get(9)?,
                decision,
            })
        };
        self.rows(query, [], read)
    }

    pub(super) fn rows<T>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let run = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare(query)?;
            statement.query_map(parameters, read)?.collect()
        };
        run().map_err(|error| self.explain(&error))
    }

    /// The attempts of a session from an ordinal on, in order.
    pub fn attempts_from(&self, session: SessionId, ordinal: u32) -> Result<Vec<Attempt>, Error> {
        self.rows(ATTEMPTS, params![session.0, ordinal], attempt)
    }

    /// What was proven about an attempt at a level, or why not; `None` if nobody tried.
    pub fn verification(
        &self,
        session: SessionId,
        ordinal: u32,
        level: &str,
    ) -> Result<Option<Result<Verified, Failure>>, Error> {
        let query = "SELECT stage, why, detail FROM verification WHERE session = ?1 AND ordinal = ?2 AND level = ?3";
        let found = self
            .connection
            .query_row(query, params![session.0, ordinal, level], |row| {
                verified(row, 0)
            });
        found.optional().map_err(|error| self.explain(&error))
    }

    /// Attempts that a filter selects.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error> {
        let sessions = self.sessions()?;
        let named = |row: &&SessionRow| {
            let kernel = filter.kernel.as_ref();
            kernel.is_none_or(|part| row.kernel.contains(part.as_str()))
        };
        let session = match filter.session {
            Some(id) => sessions.iter().find(|row| row.id == id),
            None => sessions.iter().find(named),
        };
        let Some(session) = session else {
            return Ok(Vec::new());
        };
        let mut listed = Vec::new();
        for attempt in self.attempts_from(session.id, 0)? {
            if filter.selects(&attempt) {
                listed.push(Listed {
                    verified: self.verifications(session.id, attempt.ordinal)?,
                    session: session.id,
                    attempt,
                });
            }
        }
        if let Some(best) = filter.best {
            listed.retain(|listed| listed.attempt.time().is_some());
            let time = |listed: &Listed| listed.attempt.time().unwrap_or(f64::INFINITY);
            listed.sort_by(|a, b| time(a).total_cmp(&time(b)));
            listed.truncate(best);
        }
        Ok(listed)
    }

    fn verifications(&self, session: SessionId, ordinal: u32) -> Result<Vec<Proven>, Error> {
        let query = "SELECT level, stage, why, detail FROM verification WHERE session = ?1 AND ordinal = ?2 ORDER BY level";
        self.rows(query, params![session.0, ordinal], |row| {
            Ok((row.get(0)?, verified(row, 1)?))
        })
    }

    /// A session's trace: every attempt with everything that does not depend on when it ran, a line each. Sessions of
    /// one key and seed have equal traces as far as both go.
    pub fn trace(&self, session: SessionId) -> Result<String, Error> {
        let mut trace = String::new();
        for attempt in self.attempts_from(session, 0)? {
            let verified = self.verifications(session, attempt.ordinal)?;
            let verified: Vec<_> = verified
                .iter()
                .map(|(level, result)| (level, result.as_ref().ok(), result.as_ref().err()))
                .collect();
            let source = attempt.source.as_deref().map(crate::fingerprint::of);
            let head = (
                attempt.ordinal,
                attempt.parent,
                attempt.phase,
                &attempt.genome,
            );
            let made = (&attempt.program, &attempt.class, &attempt.geometry, source);
            trace += &json(&(head, made, &attempt.outcome, verified));
            trace.push('\n');
        }
        Ok(trace)
    }
}

pub(super) fn verified(row: &Row<'_>, from: usize) -> rusqlite::Result<Result<Verified, Failure>> {
    let stage: Option<String> = row.get(from)?;
    Ok(match stage {
        Some(stage) => Err(Failure {
            stage: Stage::named(&stage).unwrap_or(Stage::Results),
            why: row.get::<_, Option<String>>(from + 1)?.unwrap_or_default(),
        }),
        None => Ok(parsed(
            &row.get::<_, Option<String>>(from + 2)?.unwrap_or_default(),
        )),
    })
}

impl Filter {
    fn selects(&self, attempt: &Attempt) -> bool {
        let recipe = self.recipe.as_ref().is_none_or(|recipe| {
            let of = |step: &String| step.split(':').next() == Some(recipe);
            attempt.genome.steps.iter().any(of)
        });
        let stage = self.stage.is_none_or(
            |stage| matches!(&attempt.outcome, Outcome::Failed(failure) if failure.stage == stage),
        );
        recipe && stage
    }
}
