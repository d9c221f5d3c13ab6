//! Sessions and attempts as people and programs look at them.

mod export;
mod html;
mod markdown;
mod models;
mod text;

pub use export::{csv, t4};
pub use html::html;
pub use markdown::markdown;
pub use models::models;
pub use text::{sessions, table, tree};

use super::{
    Database, Error, Filter, Genome, Geometry, Hypothesis, Listed, ModelRow, Outcome, SessionId,
    SessionRow, Verified,
};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Sessions, and the attempts of one of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// Sessions: all, or the one whose attempts are listed.
    pub sessions: Vec<Session>,
    /// Predicted microseconds of the original that attempts are compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_us: Option<f64>,
    /// Attempts that were asked for.
    pub attempts: Vec<Row>,
    /// What language models were asked in the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Asked>,
    /// What each model brought.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRow>,
}

/// A call of a language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// Its number in the session.
    pub number: u32,
    /// The round.
    pub round: u32,
    /// The model.
    pub model: String,
    /// The template with its version.
    pub prompt: String,
    /// The fingerprint of what was sent.
    pub request: String,
    /// Why the answer could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Dollars, where a price was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What the answer proposed.
    pub proposals: Vec<Proposed>,
}

/// A proposal of a language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proposed {
    /// The attempt that it became, or that was the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What it does, in the model's words.
    pub technique: String,
    /// What it expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<Hypothesis>,
    /// Knobs and steps.
    pub genome: String,
    /// Why it became no attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Its number.
    pub id: i64,
    /// The kernel.
    pub kernel: String,
    /// The chip.
    pub chip: String,
    /// The seed, in digits.
    pub seed: String,
    /// What was asked for.
    pub command: String,
    /// Seconds since 1970.
    pub started_at: i64,
    /// Seconds since 1970; none while it runs, or after it was cut short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// Attempts.
    pub attempts: u32,
    /// Those that failed.
    pub failed: u32,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decided>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decided {
    /// The winner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner: Option<u32>,
    /// It is kept.
    pub kept: bool,
    /// Predicted gain.
    pub gain: f64,
    /// The gain that is claimed.
    pub claimed: f64,
    /// Why.
    pub reason: String,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The session.
    pub session: i64,
    /// Its number in the session.
    pub ordinal: u32,
    /// The attempt it was made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Which part of the search it belongs to.
    pub phase: &'static str,
    /// Knobs and steps.
    pub genome: Genome,
    /// `E` or `R`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// How it is dispatched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry: Option<Geometry>,
    /// The fingerprint of program and geometry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// What was proven.
    pub verified: Vec<Level>,
    /// Its source.
    #[serde(skip)]
    pub source: Option<String>,
}

/// What was proven at a level, or why not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// `quick`, `full` or `held-out`.
    pub level: String,
    /// What was proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<Verified>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<super::Failure>,
}

/// Attempts below those they were made of.
struct Tree<'v> {
    /// Attempts whose parents are not shown.
    roots: Vec<&'v Row>,
    children: FxHashMap<u32, Vec<&'v Row>>,
    by_ordinal: FxHashMap<u32, &'v Row>,
}

impl<'v> Tree<'v> {
    fn new(view: &'v View) -> Tree<'v> {
        let rows = view.attempts.iter();
        let by_ordinal: FxHashMap<u32, &Row> = rows.map(|row| (row.ordinal, row)).collect();
        let mut roots = Vec::new();
        let mut children: FxHashMap<u32, Vec<&Row>> = FxHashMap::default();
        for row in &view.attempts {
            match row.parent.filter(|parent| by_ordinal.contains_key(parent)) {
                // A parent comes first, so that there are no circles.
                Some(parent) if row.ordinal > parent => {
                    children.entry(parent).or_default().push(row);
                }
                Some(_) => {}
                None => roots.push(row),
            }
        }
        Tree {
            roots,
            children,
            by_ordinal,
        }
    }

    fn children(&self, row: &Row) -> &[&'v Row] {
        self.children.get(&row.ordinal).map_or(&[], Vec::as_slice)
    }

    /// What an attempt adds to its parent.
    fn last_step(&self, row: &Row) -> String {
        let parent = row.parent.and_then(|parent| self.by_ordinal.get(&parent));
        let Some(parent) = parent else {
            return row.genome.to_string();
        };
        match row
            .genome
            .steps
            .strip_prefix(parent.genome.steps.as_slice())
        {
            Some(added) if !added.is_empty() && row.genome.knobs == parent.genome.knobs => {
                added.join(" ")
            }
            _ => row.genome.to_string(),
        }
    }
}

impl Session {
    /// The attempt that is kept.
    fn kept(&self) -> Option<u32> {
        let decision = self.decision.as_ref().filter(|it| it.kept)?;
        decision.winner
    }
}

impl Row {
    /// Its predicted time in microseconds.
    pub fn time(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Timed(prediction) => Some(prediction.time_us),
            Outcome::Failed(_) => None,
        }
    }
}

impl View {
    /// All sessions, without attempts.
    pub fn sessions(database: &Database) -> Result<View, Error> {
        let sessions = database.sessions()?;
        Ok(View {
            sessions: sessions.into_iter().map(session).collect(),
            original_us: None,
            attempts: Vec::new(),
            calls: Vec::new(),
            models: Vec::new(),
        })
    }

    /// What each model brought, in one session or in all.
    pub fn models(
        database: &Database,
        session: Option<SessionId>,
        kernel: Option<&str>,
    ) -> Result<View, Error> {
        let mut view = View::sessions(database)?;
        view.sessions.clear();
        view.models = database.by_model(session, kernel)?;
        Ok(view)
    }

    /// The attempts that a filter selects, and their session.
    pub fn attempts(database: &Database, filter: &Filter) -> Result<View, Error> {
        let listed = database.list(filter)?;
        let sessions = database.sessions()?.into_iter().map(session);
        let of = |found: &Session| match (listed.first(), filter.session) {
            (Some(first), _) => found.id == first.session.0,
            (None, wanted) => wanted.is_some_and(|wanted| wanted.0 == found.id),
        };
        let original = match listed.first() {
            Some(first) => database.attempts_from(first.session, 0)?.into_iter().next(),
            None => None,
        };
        let session = listed.first().map(|first| first.session).or(filter.session);
        let calls = match session {
            Some(session) => asked(database, session)?,
            None => Vec::new(),
        };
        Ok(View {
            calls,
            models: Vec::new(),
            sessions: sessions.filter(of).collect(),
            original_us: original.and_then(|attempt| attempt.time()),
            attempts: listed.into_iter().map(row).collect(),
        })
    }
}

fn asked(database: &Database, session: SessionId) -> Result<Vec<Asked>, Error> {
    let proposals = database.proposals(session)?;
    let calls = database.calls(session)?.into_iter().map(|call| {
        let own = proposals
            .iter()
            .filter(|proposal| proposal.call == call.number);
        let own = own.map(|proposal| Proposed {
            attempt: proposal.attempt,
            technique: proposal.technique.clone(),
            hypothesis: proposal.hypothesis.clone(),
            genome: proposal.genome.clone(),
            refusal: proposal.refusal.clone(),
        });
        Asked {
            number: call.number,
            round: call.round,
            model: call.model,
            prompt: call.prompt,
            request: call.request,
            error: call.answer.err(),
            input_tokens: call.input_tokens,
            output_tokens: call.output_tokens,
            cost: call.cost,
            proposals: own.collect(),
        }
    });
    Ok(calls.collect())
}

fn session(found: SessionRow) -> Session {
    Session {
        id: found.id.0,
        kernel: found.kernel,
        chip: found.chip,
        seed: found.seed,
        command: found.command,
        started_at: found.started_at,
        ended_at: found.ended_at,
        attempts: found.attempts,
        failed: found.failed,
        decision: found.decision.map(|decision| Decided {
            winner: decision.winner,
            kept: decision.kept,
            gain: decision.gain,
            claimed: decision.claimed,
            reason: decision.reason,
        }),
    }
}

fn row(listed: Listed) -> Row {
    let attempt = listed.attempt;
    let levels = listed.verified.into_iter().map(|(level, result)| {
        let (proven, failure) = match result {
            Ok(proven) => (Some(proven), None),
            Err(failure) => (None, Some(failure)),
        };
        Level {
            level,
            proven,
            failure,
        }
    });
    Row {
        session: listed.session.0,
        ordinal: attempt.ordinal,
        parent: attempt.parent,
        phase: attempt.phase.name(),
        genome: attempt.genome,
        class: attempt.class,
        geometry: attempt.geometry,
        program: attempt.program,
        outcome: attempt.outcome,
        verified: levels.collect(),
        source: attempt.source,
    }
}
