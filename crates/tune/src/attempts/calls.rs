//! Calls of language models and the proposals in their answers.

use super::write::{json, keep_source};
use super::{Database, Error, SessionId};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

/// What a proposal expects of the predicted time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hypothesis {
    /// The term of the time model that is expected to fall.
    pub term: String,
    /// By which share of its time, 0 to 1.
    pub falls_by: f64,
}

/// A call of a language model.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its number in the session, from 0.
    pub number: u32,
    /// The round it belongs to.
    pub round: u32,
    /// The model.
    pub model: String,
    /// The template with its version.
    pub prompt: String,
    /// The fingerprint of what was sent.
    pub request: String,
    /// What came back, or why nothing usable did.
    pub answer: Result<String, String>,
    /// Tokens of the prompt, as the provider counted them.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Dollars, where a price was given.
    pub cost: Option<f64>,
}

/// A proposal in the answer of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposalRow {
    /// The call.
    pub call: u32,
    /// Its place in the answer.
    pub place: u32,
    /// The attempt that it became, or that is the same.
    pub attempt: Option<u32>,
    /// What it does, in the model's words.
    pub technique: String,
    /// What it expects.
    pub hypothesis: Option<Hypothesis>,
    /// Knobs and steps.
    pub genome: String,
    /// The source it brought, where it brought one.
    pub source: Option<String>,
    /// Why it became no attempt.
    pub refusal: Option<String>,
}

/// What a model brought, over all sessions that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelRow {
    /// The model.
    pub model: String,
    /// Calls.
    pub calls: u32,
    /// Calls without a usable answer.
    pub unusable: u32,
    /// Tokens of prompts.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Dollars, as far as prices were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Proposals.
    pub proposals: u32,
    /// Proposals that were refused before they became an attempt: the same as another, or unreadable.
    pub refused: u32,
    /// Attempts with a predicted time.
    pub timed: u32,
    /// Attempts with another program than all before, predicted faster than the original.
    pub faster: u32,
    /// Attempts that were proven at the small sizes.
    pub proven: u32,
    /// Sessions whose kept winner is a proposal of the model.
    pub kept: u32,
    /// The largest predicted gain over the original among those that were proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_gain: Option<f64>,
}

fn call(row: &Row<'_>) -> rusqlite::Result<Call> {
    let error: Option<String> = row.get(6)?;
    Ok(Call {
        number: row.get(0)?,
        round: row.get(1)?,
        model: row.get(2)?,
        prompt: row.get(3)?,
        request: row.get(4)?,
        answer: match error {
            Some(error) => Err(error),
            None => Ok(row.get::<_, Option<String>>(5)?.unwrap_or_default()),
        },
        input_tokens: row.get::<_, i64>(7)?.max(0) as u64,
        output_tokens: row.get::<_, i64>(8)?.max(0) as u64,
        cost: row.get(9)?,
    })
}

fn proposal(row: &Row<'_>) -> rusqlite::Result<ProposalRow> {
    let hypothesis: Option<String> = row.get(4)?;
    Ok(ProposalRow {
        call: row.get(0)?,
        place: row.get(1)?,
        attempt: row.get(2)?,
        technique: row.get(3)?,
        hypothesis: hypothesis.and_then(|text| serde_json::from_str(&text).ok()),
        genome: row.get(5)?,
        source: row.get(6)?,
        refusal: row.get(7)?,
    })
}

impl Database {
    /// Records a call. One that is there already is left as it is.
    pub fn record_call(&mut self, session: SessionId, call: &Call, now: i64) -> Result<(), Error> {
        self.write(|transaction| {
            let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            transaction.execute(
                "INSERT OR IGNORE INTO call (session, number, round, model, prompt, request, answer, error, \
                 input_tokens, output_tokens, cost, made_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    session.0,
                    call.number,
                    call.round,
                    call.model,
                    call.prompt,
                    call.request,
                    call.answer.as_ref().ok(),
                    call.answer.as_ref().err(),
                    whole(call.input_tokens),
                    whole(call.output_tokens),
                    call.cost,
                    now,
                ],
            )?;
            Ok(())
        })
    }

    /// Records a proposal. One that is there already is left as it is.
    pub fn record_proposal(
        &mut self,
        session: SessionId,
        proposal: &ProposalRow,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            let source = match &proposal.source {
                Some(text) => Some(keep_source(transaction, text)?),
                None => None,
            };
            transaction.execute(
                "INSERT OR IGNORE INTO proposal (session, call, place, attempt, technique, hypothesis, genome, source, refusal) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    session.0,
                    proposal.call,
                    proposal.place,
                    proposal.attempt,
                    proposal.technique,
                    proposal.hypothesis.as_ref().map(json),
                    proposal.genome,
                    source,
                    proposal.refusal,
                ],
            )?;
            Ok(())
        })
    }

    /// The calls of a session, in order.
    pub fn calls(&self, session: SessionId) -> Result<Vec<Call>, Error> {
        let query = "SELECT number, round, model, prompt, request, answer, error, input_tokens, output_tokens, cost \
                     FROM call WHERE session = ?1 ORDER BY number";
        self.rows(query, params![session.0], call)
    }

    /// The proposals of a session, in the order of their calls.
    pub fn proposals(&self, session: SessionId) -> Result<Vec<ProposalRow>, Error> {
        let query = "SELECT p.call, p.place, p.attempt, p.technique, p.hypothesis, p.genome, s.text, p.refusal \
                     FROM proposal p LEFT JOIN source s ON s.hash = p.source WHERE p.session = ?1 ORDER BY p.call, p.place";
        self.rows(query, params![session.0], proposal)
    }

    /// What each model brought: of one session, or of all whose kernel's name contains a text.
    pub fn by_model(
        &self,
        session: Option<SessionId>,
        kernel: Option<&str>,
    ) -> Result<Vec<ModelRow>, Error> {
        let mut models: Vec<ModelRow> = Vec::new();
        for row in self.sessions()? {
            let named = kernel.is_none_or(|part| row.kernel.contains(part));
            if session.is_some_and(|id| id != row.id) || !named {
                continue;
            }
            let calls = self.calls(row.id)?;
            if calls.is_empty() {
                continue;
            }
            for call in &calls {
                let model = of(&mut models, &call.model);
                model.calls += 1;
                model.unusable += u32::from(call.answer.is_err());
                model.input_tokens += call.input_tokens;
                model.output_tokens += call.output_tokens;
                if let Some(cost) = call.cost {
                    model.cost = Some(model.cost.unwrap_or(0.0) + cost);
                }
            }
            self.count_proposals(&row, &calls, &mut models)?;
        }
        models.sort_by(|a, b| a.model.cmp(&b.model));
        Ok(models)
    }

    fn count_proposals(
        &self,
        row: &super::SessionRow,
        calls: &[Call],
        models: &mut Vec<ModelRow>,
    ) -> Result<(), Error> {
        let attempts = self.attempts_from(row.id, 0)?;
        let original = attempts.first().and_then(super::Attempt::time);
        for proposal in self.proposals(row.id)? {
            let Some(call) = calls.iter().find(|call| call.number == proposal.call) else {
                continue;
            };
            let model = of(models, &call.model);
            model.proposals += 1;
            if proposal.refusal.is_some() {
                model.refused += 1;
                continue;
            }
            let attempt = proposal
                .attempt
                .and_then(|ordinal| attempts.get(ordinal as usize));
            let Some((attempt, time)) = attempt.and_then(|it| Some((it, it.time()?))) else {
                continue;
            };
            model.timed += 1;
            let gain = original.map_or(1.0, |original| original / time);
            model.faster += u32::from(gain > 1.0);
            let proven = self.verification(row.id, attempt.ordinal, "quick")?;
            if matches!(proven, Some(Ok(_))) {
                model.proven += 1;
                model.best_gain = Some(model.best_gain.map_or(gain, |best| best.max(gain)));
            }
            let kept = row.decision.as_ref().filter(|decision| decision.kept);
            model.kept += u32::from(kept.and_then(|it| it.winner) == Some(attempt.ordinal));
        }
        Ok(())
    }
}

fn of<'a>(models: &'a mut Vec<ModelRow>, name: &str) -> &'a mut ModelRow {
    let place = models.iter().position(|known| known.model == name);
    let place = place.unwrap_or_else(|| {
        models.push(ModelRow {
            model: name.to_owned(),
            ..ModelRow::default()
        });
        models.len() - 1
    });
    &mut models[place]
}
