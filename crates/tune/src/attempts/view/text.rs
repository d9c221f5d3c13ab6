//! Sessions and attempts as text.

use super::{Row, Session, Tree, View};
use crate::attempts::Outcome;
use assay_report::number::nanoseconds;
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};
use std::fmt::Write as _;

/// Sessions, the newest first.
pub fn sessions(view: &View, painter: Painter, width: usize) -> String {
    let mut table = Table::new([
        Column::right("session"),
        Column::left("kernel"),
        Column::left("chip"),
        Column::right("seed"),
        Column::right("attempts"),
        Column::right("failed"),
        Column::right("claimed"),
        Column::left("outcome").shrink(),
    ])
    .painter(painter);
    for session in &view.sessions {
        table.row([
            Cell::from(session.id.to_string()),
            Cell::new(session.kernel.clone(), Role::Name),
            Cell::from(session.chip.clone()),
            Cell::from(session.seed.clone()),
            Cell::from(session.attempts.to_string()),
            Cell::from(session.failed.to_string()),
            Cell::from(claimed(session)),
            Cell::from(outcome(session)),
        ]);
    }
    table.render(width)
}

fn claimed(session: &Session) -> String {
    match &session.decision {
        Some(decision) if decision.kept => format!("{:.2}×", decision.claimed),
        _ => "–".to_owned(),
    }
}

fn outcome(session: &Session) -> String {
    match &session.decision {
        Some(decision) => match (decision.kept, decision.winner) {
            (true, Some(winner)) => format!("attempt {winner} is kept"),
            _ => format!("no improvement found: {}", decision.reason),
        },
        None => "not ended: --resume continues it".to_owned(),
    }
}

/// Attempts as a table.
pub fn table(view: &View, painter: Painter, width: usize) -> String {
    let mut table = Table::new([
        Column::right("attempt"),
        Column::right("parent"),
        Column::left("class"),
        Column::right("time"),
        Column::right("gain"),
        Column::left("limited by"),
        Column::left("proof"),
        Column::left("what").shrink(),
    ])
    .painter(painter);
    for row in &view.attempts {
        let gain = match (view.original_us, row.time()) {
            (Some(original), Some(time)) => format!("{:.2}×", original / time),
            _ => String::new(),
        };
        let (time, limit) = match &row.outcome {
            Outcome::Timed(prediction) => (
                nanoseconds(prediction.time_us * 1e3),
                prediction.limited_by.clone(),
            ),
            Outcome::Failed(failure) => ("failed".to_owned(), failure.stage.name().to_owned()),
        };
        table.row([
            Cell::from(row.ordinal.to_string()),
            Cell::from(
                row.parent
                    .map_or(String::new(), |parent| parent.to_string()),
            ),
            Cell::from(row.class.clone().unwrap_or_default()),
            Cell::from(time),
            Cell::from(gain),
            Cell::from(limit),
            Cell::from(proof(row)),
            Cell::from(what(row)),
        ]);
    }
    table.render(width)
}

/// The last thing that was proven, or what was not.
fn proof(row: &Row) -> String {
    let failed = row.verified.iter().find_map(|level| level.failure.as_ref());
    if let Some(failure) = failed {
        return format!("no: {}", failure.stage.name());
    }
    // Levels are in the order of their names: full, held-out, quick.
    let highest = ["held-out", "full", "quick"]
        .into_iter()
        .find(|name| row.verified.iter().any(|level| level.level == *name));
    highest.unwrap_or_default().to_owned()
}

/// Knobs and steps, or why there is nothing.
pub(super) fn what(row: &Row) -> String {
    match &row.outcome {
        Outcome::Timed(_) => row.genome.to_string(),
        Outcome::Failed(failure) => format!("{}: {}", row.genome, failure.why),
    }
}

/// Attempts below those they were made of.
pub fn tree(view: &View, painter: Painter) -> String {
    let mut out = String::new();
    let tree = Tree::new(view);
    let winner = view.sessions.first().and_then(Session::kept);
    for root in &tree.roots {
        branch(&tree, root, ("", ""), winner, painter, &mut out);
    }
    out
}

fn branch(
    tree: &Tree<'_>,
    row: &Row,
    (first, rest): (&str, &str),
    winner: Option<u32>,
    painter: Painter,
    out: &mut String,
) {
    let time = match row.time() {
        Some(time) => nanoseconds(time * 1e3),
        None => "failed".to_owned(),
    };
    let own = tree.last_step(row);
    let mark = if winner == Some(row.ordinal) {
        painter.paint(Role::Good, "  kept")
    } else {
        String::new()
    };
    let why = match &row.outcome {
        Outcome::Failed(failure) => format!("  {}", failure.stage.name()),
        Outcome::Timed(_) => String::new(),
    };
    let _ = writeln!(out, "{first}{} {own}  {time}{why}{mark}", row.ordinal);
    let mut children = tree.children(row).iter().peekable();
    while let Some(child) = children.next() {
        let (own, below) = match children.peek() {
            Some(_) => ("├─ ", "│  "),
            None => ("└─ ", "   "),
        };
        let (own, below) = (format!("{rest}{own}"), format!("{rest}{below}"));
        branch(tree, child, (&own, &below), winner, painter, out);
    }
}
