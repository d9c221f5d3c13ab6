//! A session as Markdown: what was decided, every call with its proposals, every attempt with its story.

use super::{Proposed, Row, View};
use crate::attempts::Outcome;
use assay_report::number::nanoseconds;
use std::fmt::Write as _;

/// The story of a session.
pub fn markdown(view: &View) -> String {
    let Some(session) = view.sessions.first() else {
        return "# No attempts\n".to_owned();
    };
    let mut text = format!(
        "# {} on {}\n\nSession {}, seed {}: {} attempts, {} failed. Times are modelled.\n",
        cell(&session.kernel),
        session.chip,
        session.id,
        session.seed,
        session.attempts,
        session.failed
    );
    if let Some(decision) = &session.decision {
        let verdict = match (decision.kept, decision.winner) {
            (true, Some(winner)) => format!("Kept: attempt {winner}."),
            _ => "Nothing was kept.".to_owned(),
        };
        let _ = writeln!(text, "\n{verdict} {}", cell(&decision.reason));
    }
    text += &asked(view);
    text += "\n## Attempts\n\n| attempt | parent | what | time | story |\n|---|---|---|---|---|\n";
    for row in &view.attempts {
        let parent = row
            .parent
            .map_or(String::new(), |parent| parent.to_string());
        let time = row.time().map_or(String::new(), |us| nanoseconds(us * 1e3));
        let _ = writeln!(
            text,
            "| {} | {parent} | {} | {time} | {} |",
            row.ordinal,
            cell(&row.genome.to_string()),
            cell(&story(view, row))
        );
    }
    text
}

fn asked(view: &View) -> String {
    if view.calls.is_empty() {
        return String::new();
    }
    let mut text = "\n## Language models\n\n| call | round | model | tokens | proposal | expects | outcome |\n|---|---|---|---|---|---|---|\n".to_owned();
    for call in &view.calls {
        let head = format!(
            "| {} | {} | {} | {} + {} |",
            call.number,
            call.round,
            cell(&call.model),
            call.input_tokens,
            call.output_tokens
        );
        if let Some(error) = &call.error {
            let _ = writeln!(text, "{head} | | {} |", cell(error));
        }
        for proposal in &call.proposals {
            let _ = writeln!(
                text,
                "{head} {} ({}) | {} | {} |",
                cell(&proposal.technique),
                cell(&proposal.genome),
                cell(&expects(proposal)),
                cell(&fate(view, proposal))
            );
        }
    }
    text
}

/// What a proposal expects of the time.
pub(super) fn expects(proposal: &Proposed) -> String {
    proposal.hypothesis.as_ref().map_or(String::new(), |it| {
        format!("{} falls by {:.0} %", it.term, 100.0 * it.falls_by)
    })
}

/// What became of a proposal.
pub(super) fn fate(view: &View, proposal: &Proposed) -> String {
    if let Some(refusal) = &proposal.refusal {
        return format!("refused: {refusal}");
    }
    let mut rows = view.attempts.iter();
    let row = rows.find(|row| Some(row.ordinal) == proposal.attempt);
    row.map_or(String::new(), |row| {
        format!("attempt {}: {}", row.ordinal, story(view, row))
    })
}

/// An attempt's outcome in a line.
fn story(view: &View, row: &Row) -> String {
    let mut text = match (&row.outcome, view.original_us) {
        (Outcome::Timed(prediction), Some(original)) => format!(
            "{:.2} times as fast, limited by {}",
            original / prediction.time_us,
            prediction.limited_by
        ),
        (Outcome::Timed(prediction), None) => format!("limited by {}", prediction.limited_by),
        (Outcome::Failed(failure), _) => format!("{}: {}", failure.stage.name(), failure.why),
    };
    for level in &row.verified {
        let _ = match &level.failure {
            Some(failure) => write!(
                text,
                "; {} {}: {}",
                level.level,
                failure.stage.name(),
                failure.why
            ),
            None => write!(text, "; proven ({})", level.level),
        };
    }
    text
}

/// A text as the cell of a table: models and compilers write what they like.
fn cell(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('`', "'")
}
