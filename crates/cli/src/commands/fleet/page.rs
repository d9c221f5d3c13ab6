//! The page of `assay fleet serve`: everything at one moment, asked for again every few seconds.

use super::look::{at, hardware};
use assay_fleet::{Answer, Overview, WorkerState};
use assay_report::html::{escape, page};
use assay_report::number;
use std::fmt::Write as _;

const STYLE: &str = "
table { width: 100% } .wide { overflow-x: auto } td, th { white-space: nowrap }
td.long { white-space: normal; min-width: 18em; overflow-wrap: anywhere }
a { color: var(--accent) } nav { margin: 0 0 1rem }
";

const SCRIPT: &str = "setTimeout(function () { location.reload() }, 5000)";

/// A column: its heading, and whether it holds numbers.
type Column = (&'static str, bool);

/// A cell, and whether it says that something went wrong.
struct Cell {
    text: String,
    is_bad: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            is_bad: false,
        }
    }
}

pub(super) fn front(found: &Overview, recent: &[Answer]) -> String {
    let mut body = format!(
        "<h1>Fleet</h1>\n<p class=\"dim\">{}</p>\n\
         <nav><a href=\"/board\">The board</a> · <a href=\"/overview.json\">as JSON</a></nav>\n",
        escape(&summary(found))
    );
    table(
        &mut body,
        "Workers",
        &[
            ("worker", false),
            ("pool", false),
            ("machine", false),
            ("assay", false),
            ("answered", true),
            ("failed", true),
            ("at", false),
        ],
        found.workers.iter().map(worker).collect(),
        "Nobody works.",
    );
    let lanes = found.lanes.iter().map(|lane| {
        vec![
            lane.pool.clone().into(),
            lane.priority.name().to_owned().into(),
            lane.submitter.clone().into(),
            number::grouped(lane.jobs).into(),
        ]
    });
    table(
        &mut body,
        "Queues",
        &[
            ("pool", false),
            ("priority", false),
            ("submitter", false),
            ("jobs", true),
        ],
        lanes.collect(),
        "Nothing waits.",
    );
    table(
        &mut body,
        "Recent answers",
        &[
            ("job", false),
            ("ended", false),
            ("worker", false),
            ("seconds (host)", true),
            ("deliveries", true),
        ],
        recent.iter().map(answer).collect(),
        "None, or the key is not a viewer\u{2019}s.",
    );
    let dead = found.dead.iter().map(|(pool, submitter, job)| {
        vec![
            job.clone().into(),
            pool.clone().into(),
            submitter.clone().into(),
        ]
    });
    table(
        &mut body,
        "Given up",
        &[("job", false), ("pool", false), ("submitter", false)],
        dead.collect(),
        "Nothing.",
    );
    page("Fleet", STYLE, &body, SCRIPT)
}

fn summary(found: &Overview) -> String {
    let busy = found.workers.iter().filter(|one| one.running.is_some());
    let jobs: u64 = found.lanes.iter().map(|lane| lane.jobs).sum();
    format!(
        "Workers {}, at a job {} · jobs that wait or run {} · answers kept {}, questions known {}",
        found.workers.len(),
        busy.count(),
        number::grouped(jobs),
        number::grouped(found.results),
        number::grouped(found.known)
    )
}

fn worker(worker: &WorkerState) -> Vec<Cell> {
    vec![
        worker.machine.worker.clone().into(),
        worker.pool.clone().into(),
        hardware(worker).into(),
        worker.machine.version.clone().into(),
        number::grouped(worker.answered).into(),
        Cell {
            text: number::grouped(worker.failed),
            is_bad: worker.failed > 0,
        },
        at(worker).into(),
    ]
}

fn answer(answer: &Answer) -> Vec<Cell> {
    let trouble = answer.ending.trouble();
    vec![
        answer.job.clone().into(),
        Cell {
            is_bad: trouble.is_some(),
            text: trouble.unwrap_or_else(|| answer.ending.name().to_owned()),
        },
        answer.machine.worker.clone().into(),
        format!("{:.2}", answer.seconds).into(),
        answer.deliveries.to_string().into(),
    ]
}

/// A text of more bytes than this takes several lines.
const LONG: usize = 48;

fn table(body: &mut String, title: &str, columns: &[Column], rows: Vec<Vec<Cell>>, none: &str) {
    let _ = writeln!(body, "<h2>{title}</h2>");
    if rows.is_empty() {
        let _ = writeln!(body, "<p class=\"dim\">{none}</p>");
        return;
    }
    *body += "<div class=\"wide\"><table><tr>";
    let class = |is_number: bool| if is_number { " class=\"n\"" } else { "" };
    for (head, is_number) in columns {
        let _ = write!(body, "<th{}>{head}</th>", class(*is_number));
    }
    *body += "</tr>\n";
    for row in rows {
        *body += "<tr>";
        for (cell, (_, is_number)) in row.iter().zip(columns) {
            let text = escape(&cell.text);
            let text = if cell.is_bad {
                format!("<span class=\"bad\">{text}</span>")
            } else {
                text
            };
            let class = match cell.text.len() > LONG {
                true => " class=\"long\"",
                false => class(*is_number),
            };
            let _ = write!(body, "<td{class}>{text}</td>");
        }
        *body += "</tr>\n";
    }
    *body += "</table></div>\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_others_is_escaped() {
        let found = Overview {
            dead: vec![("m2".to_owned(), "<b>".to_owned(), "j\"".to_owned())],
            ..Overview::default()
        };
        let page = front(&found, &[]);
        assert!(page.contains("<td>&lt;b&gt;</td>") && page.contains("<td>j&quot;</td>"));
        assert!(page.contains("Nobody works.") && page.contains("Workers 0, at a job 0"));
    }
}
