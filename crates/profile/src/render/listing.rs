//! The annotated listing: unit, cost, pressure, loop depth, stalls and their causes.

use super::Style;
use crate::cost::number;
use crate::part::Part;
use crate::schedule::raw_penalties;
use crate::{BlockId, InsnId, LoopId};
use assay_chip::Unit;
use assay_report::style::Role;

/// One instruction with everything known about it.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListingRow {
    /// Byte offset.
    pub offset: u32,
    /// The instruction in words.
    pub text: String,
    /// Place of its source file in the program's list.
    pub file: Option<u32>,
    /// Its source line, from 1.
    pub line: Option<u32>,
    /// Its block.
    pub block: BlockId,
    /// The innermost loop around it.
    pub in_loop: Option<LoopId>,
    /// Loops around it.
    pub loop_depth: u32,
    /// Row of the cost table it is charged as.
    pub cost_row: &'static str,
    /// The unit it occupies.
    pub unit: &'static str,
    /// Issue slots.
    pub issue: Option<f64>,
    /// Cycles of its unit.
    pub cycles: Option<f64>,
    /// Cycles until its result can be used.
    pub latency: Option<f64>,
    /// Half-registers live here.
    pub pressure: u16,
    /// Cycles a simdgroup alone stands here, for a wait.
    pub stall: Option<f64>,
    /// Cycles a simdgroup alone waits here for the result of an arithmetic instruction before it (read after write).
    pub raw_penalty: f64,
    /// What it waits for, by byte offset.
    pub waits_for: Vec<u32>,
    /// Whether it is part of its loop's carried chain.
    pub carried: bool,
}

/// The rows of a part's executed instructions.
pub fn rows(part: &Part) -> Vec<ListingRow> {
    let mut carried = vec![false; part.code.len()];
    for chain in part
        .loops
        .iter()
        .filter_map(|report| report.carried.as_ref())
    {
        for id in &chain.instructions {
            if let Some(slot) = carried.get_mut(id.index()) {
                *slot = true;
            }
        }
    }
    let penalties = raw_penalties(
        &part.timing(None),
        part.cfg.reached().flat_map(|(_, b)| b.ids()),
    );
    let mut rows = Vec::with_capacity(part.instructions as usize);
    for (block_id, block) in part.cfg.reached() {
        for id in block.ids() {
            let (Some(entry), Some(charge)) = (part.code.get(id), part.charges.get(id.index()))
            else {
                continue;
            };
            let wait = part
                .waits
                .binary_search_by_key(&id, |wait| wait.at)
                .ok()
                .and_then(|at| part.waits.get(at));
            let place = part.line_at(entry.offset);
            rows.push(ListingRow {
                offset: entry.offset,
                text: entry.words(),
                file: place.map(|(file, _)| file),
                line: place.map(|(_, line)| line),
                block: block_id,
                in_loop: part.loop_nest.innermost(block_id),
                loop_depth: part.loop_nest.depth(block_id),
                cost_row: charge.key.name(),
                unit: match entry.is_unknown() {
                    true => "?",
                    false => charge.unit.name(),
                },
                issue: charge.issue.map(f64::from),
                cycles: charge.cycles.map(f64::from),
                latency: charge.latency.map(f64::from),
                pressure: part.liveness.at(id),
                stall: wait.and_then(|wait| wait.stall),
                raw_penalty: penalties.get(id.index()).copied().unwrap_or(0.0),
                waits_for: wait
                    .map(|wait| wait.producers.iter().map(|&id| part.offset(id)).collect())
                    .unwrap_or_default(),
                carried: carried.get(id.index()).copied().unwrap_or(false),
            });
        }
    }
    rows
}

/// The annotated listing as text; source lines stand before the instructions they became.
pub fn listing(part: &Part, style: &Style<'_>) -> String {
    let painter = style.painter;
    let mut out = String::new();
    let heading = format!(
        "{:>6}  {:<7} {:>5} {:>5} {:>4}  {:<4} instruction",
        "offset", "unit", "cost", "raw", "live", "loop"
    );
    out += &painter.paint(Role::Dim, heading.trim_end());
    out.push('\n');
    let functions: Vec<(u32, String)> = part
        .functions
        .iter()
        .skip(1)
        .map(|function| {
            let name = function.name.clone();
            (
                function.offset,
                name.unwrap_or_else(|| format!("function at {:#x}", function.offset)),
            )
        })
        .collect();
    let mut place = None;
    for row in rows(part) {
        let here = row.file.zip(row.line);
        if here.is_some() && here != place {
            out += &source_line(here, &part.files, style);
        }
        place = here.or(place);
        if let Some((_, name)) = functions.iter().find(|(offset, _)| *offset == row.offset) {
            out += &format!("{}\n", painter.paint(Role::Heading, &format!("{name}:")));
        }
        let cost = match row.unit {
            "IC" => row.cycles,
            _ => row.issue,
        };
        let line = format!(
            "{:>6x}  {:<7} {:>5} {:>5} {:>4}  {:<4} {:<48}",
            row.offset,
            row.unit,
            cost.map_or("?".to_owned(), number),
            match row.raw_penalty {
                penalty if penalty > 0.0 => format!("+{}", number(penalty)),
                _ => String::new(),
            },
            row.pressure,
            "│".repeat(row.loop_depth.min(4) as usize),
            row.text
        );
        let remark = remark(&row);
        if remark.is_empty() {
            out += line.trim_end();
        } else {
            let role = match row.stall {
                Some(stall) if stall > 0.0 => Role::Bad,
                _ => Role::Warn,
            };
            out += &line;
            out += &painter.paint(role, &format!(" ◀ {remark}"));
        }
        out.push('\n');
    }
    out
}

/// The source line that the instructions below it came from.
fn source_line(place: Option<(u32, u32)>, files: &[String], style: &Style<'_>) -> String {
    let Some((file, line)) = place else {
        return String::new();
    };
    let name = files.get(file as usize).map_or("?", String::as_str);
    let text = style.sources.and_then(|sources| sources.line(name, line));
    let base = name.rsplit('/').next().unwrap_or(name);
    let mut shown = format!("{base}:{line}");
    if let Some(text) = text {
        shown += &format!("  {}", text.trim_start());
    }
    let shown = assay_report::table::fitted(&shown, style.width.max(20));
    format!("{}\n", style.painter.paint(Role::Name, &shown))
}

/// From here on an operation is worth pointing at.
const DEAR: f64 = 8.0;

fn remark(row: &ListingRow) -> String {
    let mut remarks = Vec::new();
    if let Some(stall) = row.stall {
        let producers: Vec<String> = row
            .waits_for
            .iter()
            .map(|offset| format!("{offset:#x}"))
            .collect();
        remarks.push(match producers.is_empty() {
            true => "nothing to wait for".to_owned(),
            false => format!("stalls {} for {}", number(stall), producers.join(", ")),
        });
    } else if !row.waits_for.is_empty() {
        remarks.push("waits for stores; how long is unknown".to_owned());
    }
    if row.carried {
        remarks.push("carried".to_owned());
    }
    if row.unit == "?" {
        remarks.push("unknown: totals are lower bounds".to_owned());
    }
    let dear = row.unit != Unit::Memory.name() && row.cycles.is_some_and(|cycles| cycles >= DEAR);
    if dear {
        remarks.push("dear".to_owned());
    }
    remarks.join("; ")
}

/// The instruction an id names, in words, for messages.
pub(crate) fn words(part: &Part, id: InsnId) -> String {
    part.code
        .get(id)
        .map(|entry| format!("{:x}: {}", entry.offset, entry.words()))
        .unwrap_or_default()
}
