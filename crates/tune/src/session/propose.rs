//! Rounds of proposals.
//!
//! A round asks, reads the answers, tries what they propose, and has faults repaired up to [`REPAIRS`] times with the exact
//! message. A proposal whose program was tried before is refused before anything is predicted. What is predicted faster than
//! the original is proven at small sizes, as everything is that is built upon, so that wrong results are told to the model.

use super::journal::{Error, Journal, Wanted};
use super::knobs::search_steps;
use super::proposer::{Ask, Content, Fault, Proposed, Proposer, Reply, Situation, Story, WRITTEN};
use super::{Level, Workbench};
use crate::attempts::{Call, Failure, Genome, Outcome, Phase, ProposalRow, Stage};
use crate::knobs::Knobs;

/// Repairs of an answer at most.
const REPAIRS: usize = 2;
/// Evaluations for the knobs of one written source at most.
const KNOBS: usize = 24;
/// Written sources whose knobs are searched.
const SOURCES: usize = 3;

/// An answer whose proposals were tried.
struct Answered {
    ask: Ask,
    text: String,
    faults: Vec<Fault>,
}

/// Runs the rounds; the fastest attempt that is not known to be wrong.
pub(super) fn rounds<W: Workbench>(
    journal: &mut Journal<'_, W>,
    proposer: &dyn Proposer,
    base: u32,
) -> Result<u32, Error> {
    let mut stories: Vec<Story> = Vec::new();
    for round in 0..proposer.rounds() {
        if journal.left() == 0 {
            break;
        }
        let asks = {
            let best = best(journal, base);
            let (Some(original), Some(fastest)) = (journal.attempt(0), journal.attempt(best))
            else {
                break;
            };
            let choices = journal.workbench.choices(&fastest.genome);
            proposer.asks(&Situation {
                round,
                original,
                best: fastest,
                choices: &choices,
                stories: &stories,
            })
        };
        if asks.is_empty() || !ask_and_try(journal, proposer, round, asks, &mut stories)? {
            break;
        }
    }
    declared_knobs(journal)?;
    Ok(best(journal, base))
}

/// One round with its repairs. Returns false if nothing more can be asked.
fn ask_and_try<W: Workbench>(
    journal: &mut Journal<'_, W>,
    proposer: &dyn Proposer,
    round: u32,
    asks: Vec<Ask>,
    stories: &mut Vec<Story>,
) -> Result<bool, Error> {
    let mut asks = asks;
    for repair in 0..=REPAIRS {
        let replies = journal.replies(proposer, round, &asks)?;
        let all = replies.len() == asks.len();
        let mut answered = Vec::new();
        for (ask, (call, reply)) in asks.into_iter().zip(replies) {
            answered.push(tried(journal, proposer, ask, (call, reply), stories)?);
        }
        if !all || journal.stopped {
            return Ok(false);
        }
        if repair == REPAIRS || journal.left() == 0 {
            break;
        }
        asks = answered
            .iter()
            .filter(|it| !it.faults.is_empty())
            .filter_map(|it| proposer.repair(&it.ask, &it.text, &it.faults))
            .collect();
        if asks.is_empty() {
            break;
        }
    }
    Ok(true)
}

/// Tries the proposals of an answer.
fn tried<W: Workbench>(
    journal: &mut Journal<'_, W>,
    proposer: &dyn Proposer,
    ask: Ask,
    (call, reply): (u32, Reply),
    stories: &mut Vec<Story>,
) -> Result<Answered, Error> {
    let whole = |why: String| Fault {
        place: None,
        technique: "the answer".to_owned(),
        failure: Failure::new(Stage::Filter, why),
    };
    let text = match reply.text {
        Ok(text) => text,
        Err(why) => {
            let fault = whole(why);
            stories.push(unread(&fault));
            let faults = vec![fault];
            return Ok(Answered {
                ask,
                text: String::new(),
                faults,
            });
        }
    };
    let proposals = match proposer.read(&ask, &text) {
        Ok(proposals) => proposals,
        Err(why) => {
            let fault = whole(why);
            stories.push(unread(&fault));
            let faults = vec![fault];
            return Ok(Answered { ask, text, faults });
        }
    };
    let mut faults = Vec::new();
    for (place, proposed) in proposals.into_iter().enumerate() {
        let (row, story, failure) = match proposed {
            Ok(proposed) => try_one(journal, call, place, proposed)?,
            Err(why) => unreadable(call, place, why),
        };
        if let Some(failure) = failure {
            faults.push(Fault {
                place: Some(place),
                technique: story.technique.clone(),
                failure,
            });
        }
        // What time kept from being tried is tried when the session is resumed.
        if !journal.stopped || row.attempt.is_some() {
            journal.propose(&row)?;
        }
        stories.push(story);
    }
    Ok(Answered { ask, text, faults })
}

type Tried = (ProposalRow, Story, Option<Failure>);

fn unread(fault: &Fault) -> Story {
    Story {
        attempt: None,
        technique: fault.technique.clone(),
        genome: String::new(),
        hypothesis: None,
        time: None,
        failure: Some(fault.failure.why.clone()),
    }
}

/// A part of an answer that is no proposal.
fn unreadable(call: u32, place: usize, why: String) -> Tried {
    let row = ProposalRow {
        call,
        place: place as u32,
        attempt: None,
        technique: String::new(),
        hypothesis: None,
        genome: String::new(),
        source: None,
        refusal: Some(why.clone()),
    };
    let failure = Failure::new(Stage::Filter, why);
    let story = Story {
        technique: format!("proposal {}", place + 1),
        ..unread(&Fault {
            place: Some(place),
            technique: String::new(),
            failure: failure.clone(),
        })
    };
    (row, story, Some(failure))
}

/// Tries one proposal: makes and predicts it, and proves it at small sizes if it is predicted faster than the original.
fn try_one<W: Workbench>(
    journal: &mut Journal<'_, W>,
    call: u32,
    place: usize,
    proposed: Proposed,
) -> Result<Tried, Error> {
    let mut row = ProposalRow {
        call,
        place: place as u32,
        attempt: None,
        technique: proposed.technique.clone(),
        hypothesis: proposed.hypothesis.clone(),
        genome: String::new(),
        source: None,
        refusal: None,
    };
    let steps = match &proposed.content {
        Content::Steps(steps) => steps.clone(),
        Content::Source(written) => {
            row.source = Some(written.source.clone());
            match journal.workbench.offer(written) {
                Some(step) => vec![step],
                None => {
                    let why = "sources are not taken here".to_owned();
                    return Ok(refused(row, proposed, why));
                }
            }
        }
    };
    let genome = Genome {
        knobs: proposed.knobs.clone(),
        steps,
    };
    row.genome = genome.to_string();
    if let Some(known) = journal.known(&genome) {
        row.attempt = Some(known);
        let why = format!("the same as attempt {known}, which was tried before");
        return Ok(refused(row, proposed, why));
    }
    let parent = parent(journal, &genome);
    let made = journal.try_all(Phase::Model, &[Wanted { parent, genome }])?;
    let Some(&ordinal) = made.first() else {
        return Ok(refused(
            row,
            proposed,
            "evaluations or time are used up".to_owned(),
        ));
    };
    row.attempt = Some(ordinal);
    let failure = judged(journal, ordinal)?;
    let time = match journal.attempt(ordinal).map(|attempt| &attempt.outcome) {
        Some(Outcome::Timed(prediction)) => Some((prediction.time_us, prediction.terms.clone())),
        _ => None,
    };
    let story = Story {
        attempt: Some(ordinal),
        technique: proposed.technique,
        genome: row.genome.clone(),
        hypothesis: proposed.hypothesis,
        time,
        failure: failure
            .as_ref()
            .map(|failure| format!("{}: {}", failure.stage.name(), failure.why)),
    };
    Ok((row, story, failure))
}

fn refused(mut row: ProposalRow, proposed: Proposed, why: String) -> Tried {
    row.refusal = Some(why.clone());
    let story = Story {
        attempt: row.attempt,
        technique: proposed.technique,
        genome: row.genome.clone(),
        hypothesis: proposed.hypothesis,
        time: None,
        failure: Some(why.clone()),
    };
    (row, story, Some(Failure::new(Stage::Duplicate, why)))
}

/// The attempt that a genome extends: its longest prefix that was tried.
fn parent<W: Workbench>(journal: &Journal<'_, W>, genome: &Genome) -> u32 {
    let mut prefix = genome.clone();
    while prefix.steps.pop().is_some() {
        if let Some(known) = journal.known(&prefix) {
            return known;
        }
    }
    0
}

/// Why an attempt is no improvement to build on: it failed, or is wrong at small sizes. Slow ones are not proven.
fn judged<W: Workbench>(
    journal: &mut Journal<'_, W>,
    ordinal: u32,
) -> Result<Option<Failure>, Error> {
    let original = journal.time(0).unwrap_or(0.0);
    match journal.attempt(ordinal).map(|attempt| &attempt.outcome) {
        Some(Outcome::Failed(failure)) => Ok(Some(failure.clone())),
        Some(Outcome::Timed(prediction)) if prediction.time_us < original => {
            Ok(journal.verify(ordinal, Level::Quick)?.err())
        }
        _ => Ok(None),
    }
}

/// The fastest attempt that is not known to be wrong.
fn best<W: Workbench>(journal: &Journal<'_, W>, base: u32) -> u32 {
    let fastest = journal.fastest();
    let sound = |ordinal: &u32| {
        let model = journal
            .attempt(*ordinal)
            .is_some_and(|attempt| attempt.phase == Phase::Model);
        !model || journal.is_proven(*ordinal)
    };
    fastest.into_iter().find(sound).unwrap_or(base)
}

/// Searches the knobs that the best written sources declare.
fn declared_knobs<W: Workbench>(journal: &mut Journal<'_, W>) -> Result<(), Error> {
    let mut sources: Vec<u32> = Vec::new();
    for ordinal in journal.fastest() {
        let written = journal.attempt(ordinal).is_some_and(|attempt| {
            attempt.genome.steps.len() == 1 && attempt.genome.steps[0].starts_with(WRITTEN)
        });
        if written && journal.is_proven(ordinal) && sources.len() < SOURCES {
            sources.push(ordinal);
        }
    }
    for ordinal in sources {
        let Some(attempt) = journal.attempt(ordinal) else {
            continue;
        };
        let steps = attempt.genome.steps.clone();
        let text = attempt.source.clone().unwrap_or_default();
        let space = Knobs::of_source(&text)
            .ok()
            .and_then(|it| it.space().ok())
            .flatten();
        let Some(space) = space else {
            continue;
        };
        let most = journal.left().min(KNOBS);
        search_steps(journal, &space, (ordinal, &steps), Phase::Model, most)?;
    }
    Ok(())
}

impl<W: Workbench> Journal<'_, W> {
    /// Answers with the numbers of their calls: recorded ones, or asked now and recorded. Fewer than requests if budgets or
    /// time are used up.
    fn replies(
        &mut self,
        proposer: &dyn Proposer,
        round: u32,
        asks: &[Ask],
    ) -> Result<Vec<(u32, Reply)>, Error> {
        let mut replies = Vec::new();
        let mut rest = asks;
        while let [ask, others @ ..] = rest
            && let Some(call) = self.recorded_call(ask)?
        {
            let reply = Reply {
                text: call.answer,
                input_tokens: call.input_tokens,
                output_tokens: call.output_tokens,
                cost: call.cost,
            };
            proposer.recall(ask, &reply);
            replies.push((call.number, reply));
            rest = others;
        }
        if rest.is_empty() || !self.may_ask(rest)? {
            return Ok(replies);
        }
        for (ask, answer) in rest.iter().zip(proposer.answer(rest)) {
            let reply = match answer {
                Ok(reply) => reply,
                Err(super::proposer::Unanswered::Budget(why)) => {
                    self.note_end_of_budget(why);
                    return Ok(replies);
                }
                Err(super::proposer::Unanswered::Interrupted) => return Err(Error::Interrupted),
                Err(super::proposer::Unanswered::Failed(why)) => return Err(Error::Proposer(why)),
            };
            let call = Call {
                number: self.next_call(),
                round,
                model: ask.model.clone(),
                prompt: ask.prompt.clone(),
                request: ask.request.clone(),
                answer: reply.text.clone(),
                input_tokens: reply.input_tokens,
                output_tokens: reply.output_tokens,
                cost: reply.cost,
            };
            self.record_call(&call)?;
            replies.push((call.number, reply));
        }
        Ok(replies)
    }
}
