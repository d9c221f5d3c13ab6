//! The source beside the code, on a page.

use super::lines::{LineCost, lines};
use super::{Lead, LeadLine, Sources};
use crate::cost::number;
use crate::profile::Profile;
use assay_report::html::escape;

pub(super) const STYLE: &str = "
.side { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1.3fr); gap: 1rem; }
.side .pane { max-height: 88vh; overflow: auto; border: 1px solid rgba(128,128,128,.35); border-radius: 4px; }
@media (max-width: 1000px) { .side { grid-template-columns: minmax(0, 1fr); } .side .pane { max-height: 60vh; } }
.side .pane:focus-visible { outline: 2px solid var(--accent); }
table.source { border-collapse: collapse; }
table.source td, table.source th { font-family: ui-monospace, monospace; font-size: 12px; padding: 0 .6em; white-space: pre; border: 0; }
table.source td.none { opacity: .55; }
table.source tr[data-l] td { background: color-mix(in srgb, var(--bad) var(--heat, 0%), transparent); }
@media (max-width: 36rem) { table.source tr > :nth-child(2), table.source tr > :nth-child(3) { display: none; } }
tr.lit td { background: rgba(91, 141, 239, .22) !important; }
tr[data-l] { cursor: pointer; }
";

/// Pointing at a line or an instruction lights up what belongs to it; a click brings it
/// into view. Without scripts the numbers are links that do the same.
pub(super) const SCRIPT: &str = "
const rows = [...document.querySelectorAll('tr[data-l]')];
const of = key => rows.filter(row => row.dataset.l === key);
for (const row of rows) {
  row.addEventListener('mouseenter', () => of(row.dataset.l).forEach(r => r.classList.add('lit')));
  row.addEventListener('mouseleave', () => of(row.dataset.l).forEach(r => r.classList.remove('lit')));
  row.addEventListener('click', () => {
    const other = of(row.dataset.l).find(r => r.closest('table') !== row.closest('table'));
    if (other) other.scrollIntoView({ block: 'center', behavior: 'smooth' });
  });
}
";

/// A page with more source lines would be too heavy to open.
const MOST_LINES: usize = 5_000;

/// The files that became code, with what each line costs. Nothing when no text is known.
pub(super) fn source(profile: &Profile, sources: &Sources, lead: Option<&Lead>) -> Option<String> {
    let costs = lines(profile);
    let total: f64 = costs.iter().map(LineCost::time).sum();
    let mut out = String::new();
    for (index, name) in profile.main.files.iter().enumerate() {
        let of_file = |cost: &&LineCost| cost.file as usize == index;
        let Some(text) = sources.lines(name) else {
            continue;
        };
        if !costs.iter().any(|cost| of_file(&cost)) {
            continue;
        }
        out += &format!(
            "<table class=source><tr><th>line</th><th>insns</th><th>cost</th><th></th><th>{}</th></tr>",
            escape(name)
        );
        for (number, text) in (1..).zip(text.iter().take(MOST_LINES)) {
            let cost = costs
                .iter()
                .filter(of_file)
                .find(|cost| cost.line == number);
            let timed = lead.filter(|lead| !lead.lines.is_empty()).map(|lead| {
                let mut lines = lead.lines.iter();
                lines.find(|line| line.file == *name && line.line == number)
            });
            let share = match timed {
                Some(line) => Share::of_time(line),
                None => Share::of_cost(cost, total),
            };
            out += &row(profile, index, number, text, cost, &share);
        }
        out += "</table>";
    }
    (!out.is_empty()).then_some(out)
}

/// What the bar of a line shows.
struct Share {
    share: f64,
    why: String,
}

impl Share {
    fn of_time(line: Option<&LeadLine>) -> Share {
        Share {
            share: line.map_or(0.0, |line| line.share),
            why: line.map_or(String::new(), |line| line.why.clone()),
        }
    }

    fn of_cost(cost: Option<&LineCost>, total: f64) -> Share {
        Share {
            share: cost.map_or(0.0, |cost| cost.time() / total.max(1e-9)),
            why: String::new(),
        }
    }
}

/// How much red a line's background has, in per cent.
fn heat(share: f64) -> f64 {
    45.0 * share.clamp(0.0, 1.0).sqrt()
}

fn row(
    profile: &Profile,
    file: usize,
    line: u32,
    text: &str,
    cost: Option<&LineCost>,
    share: &Share,
) -> String {
    let Some(cost) = cost else {
        return format!(
            "<tr id=l{file}-{line}><td class=num>{line}</td><td></td><td></td><td></td>\
             <td class=none>{}</td></tr>",
            escape(text)
        );
    };
    let first = profile
        .main
        .lines
        .iter()
        .find(|at| at.file as usize == file && at.line == line);
    let Share { share, why } = share;
    let hot = if *share >= 0.25 { " hot" } else { "" };
    let why = match why.is_empty() {
        true => String::new(),
        false => format!(" title=\"{}\"", escape(why)),
    };
    format!(
        "<tr id=l{file}-{line} data-l=\"{file}-{line}\" style=\"--heat:{:.0}%\"><td class=num><a href=\"#i{:x}\">{line}</a></td>\
         <td class=num>{}</td><td class=num>{}</td><td{why}><span class=\"bar{hot}\" style=\"width:{:.0}px\">\
         </span> {:.0} %</td><td>{}</td></tr>",
        heat(*share),
        first.map_or(0, |at| at.offset),
        cost.instructions,
        number(cost.time()),
        share * 60.0,
        share * 100.0,
        escape(text)
    )
}
