//! One self-contained page: verdict, graph, loops, findings, listing with pressure.

use super::listing::rows;
use super::side::{SCRIPT, STYLE, source};
use super::text::{loop_name, unknown_operations};
use super::{Lead, Sources};
use crate::cfg::EdgeKind;
use crate::cost::number;
use crate::part::Part;
use crate::profile::{Profile, stand_in};
use assay_report::html::{escape, page};

const CSS: &str = "
figure svg.chart { min-width: 0; max-width: 44rem; }
@media (max-width: 40rem) { figure { overflow-x: auto; } figure svg.chart { min-width: 32rem; } }
.cols { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.5rem; }
table.listing td { font-family: ui-monospace, monospace; font-size: 12px; padding: 0 .6em; white-space: nowrap; }
table.listing tr.stall td { background: rgba(220, 60, 40, .14); }
table.listing tr.carried td:nth-child(7) { font-weight: 600; }
table.listing tr.head td { border-top: 1px solid rgba(128,128,128,.4); }
:root { --bar: min(220px, 20vw); }
.bar { display: inline-block; height: 9px; background: #5b8def; border-radius: 1px; vertical-align: middle; }
.bar.hot { background: #d9534f; }
.num { text-align: right; font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; }
svg text { font: 11px ui-monospace, monospace; fill: currentColor; }
.sev-high { color: #d9534f; font-weight: 600; } .sev-medium { color: #c98a1b; font-weight: 600; } .sev-low { opacity: .7; }
.scroll { overflow-x: auto; }
";

/// The page, without the text of the source.
pub fn html(profile: &Profile) -> String {
    html_with_source(profile, &Sources::default())
}

/// The page; source lines and instructions stand side by side.
pub fn html_with_source(profile: &Profile, sources: &Sources) -> String {
    html_with_time(profile, sources, None)
}

/// The page; with a predicted time it leads with that, and lines show their part of it.
pub fn html_with_time(profile: &Profile, sources: &Sources, lead: Option<&Lead>) -> String {
    let part = &profile.main;
    let (bounds, hot) = profile.verdict();
    let mut body = String::new();
    let name = match profile.name.as_str() {
        "" => "(unnamed)",
        name => name,
    };
    match lead {
        Some(lead) => {
            body += &lead.answer.html();
            body += &beside(profile, sources, Some(lead));
            body += "<h2>The code</h2>";
        }
        None => body += &format!("<h1>{}</h1>", escape(name)),
    }
    body += &format!(
        "<p>{} code, costs <b>{}</b> on <b>{}</b>. All cycles are <b>modelled</b>, per \
         simdgroup of 32 threads. {} instructions, {} bytes, {} blocks, {} loop{}.</p>",
        profile.isa,
        profile.cost_model,
        profile.chip,
        part.instructions,
        part.code_bytes,
        part.blocks.len(),
        part.loops.len(),
        if part.loops.len() == 1 { "" } else { "s" }
    );
    if let Some(estimate) = stand_in(profile.chip) {
        body += &format!("<p>{}.</p>", escape(&capitalised(&estimate)));
    }
    if let Some(sentence) = profile.origin.sentence() {
        body += &format!("<p>{}.</p>", escape(&capitalised(sentence)));
    }
    if !profile.unknown_operations.is_empty() {
        let text = unknown_operations(&profile.unknown_operations);
        body += &format!("<p>{}.</p>", escape(&capitalised(&text)));
    }
    let occupancy = &profile.occupancy;
    body += &format!(
        "<p>Occupancy <b>{} of 1024 threads per core</b> ({:.0} %), limited by {}. {} \
         half-registers, {} live at once. A threadgroup may have {} threads.</p>",
        occupancy.threads,
        occupancy.share * 100.0,
        occupancy.limit,
        occupancy.half_registers,
        part.peak_half_registers,
        profile.max_threads_per_threadgroup
    );
    let place = hot.map_or("the program".to_owned(), |report| {
        format!(
            "an iteration of {}",
            loop_name(report).trim_start_matches('·')
        )
    });
    body += &format!(
        "<h2>What limits {}</h2><p>{}</p>",
        escape(&place),
        escape(&bounds.sentence())
    );
    if let Some(sentence) = bounds.latency_sentence(profile.stalls(hot)) {
        body += &format!("<p>{}</p>", escape(&sentence));
    }
    let largest = bounds
        .bounds
        .iter()
        .map(|bound| bound.cycles.known)
        .fold(1e-9, f64::max);
    body += "<div class=scroll><table><tr><th>bound</th><th>cycles</th><th></th><th>cost without it</th></tr>";
    for bound in &bounds.bounds {
        let class = match bounds.verdict == Some(bound.kind) {
            true => "bar hot",
            false => "bar",
        };
        body += &format!(
            "<tr><td>{}</td><td class=num>{}</td><td><span class=\"{class}\" \
             style=\"width:calc(var(--bar) * {:.3})\"></span></td><td class=num>{}</td></tr>",
            bound.kind.name(),
            bound.cycles,
            bound.cycles.known / largest,
            number(bound.without)
        );
    }
    body += "</table></div>";
    if lead.is_none() {
        body += &findings(profile);
    }
    body += &loops(part);
    body += &super::flame::flame(profile);
    if lead.is_none() {
        body += &beside(profile, sources, None);
    }
    body += "<h2>Control flow</h2><div class=scroll>";
    body += &graph(part);
    body += "</div>";
    if let Some(constant) = &profile.constant_program {
        body += "<h2>Constant program</h2><div class=scroll>";
        body += &table(constant);
        body += "</div>";
    }
    let style = format!(
        "{}{}{CSS}{STYLE}",
        assay_report::blocks::STYLE,
        assay_report::chart::STYLE
    );
    page(&format!("{name} – assay profile"), &style, &body, SCRIPT)
}

/// The source beside its machine code, or the listing where there is no source.
fn beside(profile: &Profile, sources: &Sources, lead: Option<&Lead>) -> String {
    let part = &profile.main;
    let Some(shown) = source(profile, sources, lead) else {
        return format!("<h2>Listing</h2><div class=scroll>{}</div>", table(part));
    };
    let what = match lead.is_some_and(|lead| !lead.lines.is_empty()) {
        true => "Heat and bars are shares of the predicted time; pointing at one says why.",
        false => {
            "Heat and bars are shares of what a simdgroup alone spends because of a line, by known trip counts."
        }
    };
    format!(
        "<h2>Source and code</h2><p class=dim>{what} A line lights up its instructions, a click goes to them.</p><div class=side>\
         <div class=pane tabindex=0 role=region aria-label=source>{shown}</div>\
         <div class=pane tabindex=0 role=region aria-label=code>{}</div></div>",
        table(part)
    )
}

/// A sentence with a capital letter at its start.
fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn findings(profile: &Profile) -> String {
    let mut out = "<h2>Findings</h2>".to_owned();
    if profile.findings.is_empty() {
        return out + "<p>None.</p>";
    }
    out += "<div class=scroll><table><tr><th>severity</th><th>rule</th><th>at</th><th>what</th><th>estimated gain</th></tr>";
    for finding in &profile.findings {
        let gain = finding.gain.map_or(String::new(), |gain| {
            format!("{} {}", number(gain.amount), gain.metric.words())
        });
        let severity = finding.severity.name();
        out += &format!(
            "<tr><td class=sev-{severity}>{severity}</td><td>{}</td><td><a href=\"#i{:x}\">{:#x}</a></td>\
             <td>{}{}</td><td>{}</td></tr>",
            finding.rule,
            finding.range.0,
            finding.range.0,
            finding.source.as_ref().map_or(String::new(), |at| format!(
                "{}:{}: ",
                escape(&at.file),
                at.line
            )),
            escape(&finding.message),
            escape(&gain)
        );
    }
    out + "</table></div>"
}

fn loops(part: &Part) -> String {
    if part.loops.is_empty() {
        return String::new();
    }
    let mut out =
        "<h2>Loops, per iteration</h2><div class=scroll><table><tr><th>loop</th><th>range</th>\
         <th>trips</th><th>instructions</th><th>issue</th><th>IC</th><th>memory</th>\
         <th>carried chain</th><th>alone</th><th>limited by</th></tr>"
            .to_owned();
    for report in &part.loops {
        out += &format!(
            "<tr><td>{}</td><td><a href=\"#i{:x}\">{:#x}..{:#x}</a></td><td class=num>{}</td>\
             <td class=num>{}</td><td class=num>{}</td><td class=num>{}</td><td class=num>{}</td>\
             <td class=num>{}</td><td class=num>{}</td><td>{}</td></tr>",
            loop_name(report),
            report.start,
            report.start,
            report.end,
            report
                .trips
                .map_or("unknown".to_owned(), |trips| trips.to_string()),
            number(report.costs.instructions),
            report.costs.issue,
            report.costs.ic,
            report.costs.memory,
            report
                .carried
                .as_ref()
                .map_or("–".to_owned(), |chain| number(chain.cycles)),
            report.bounds.alone,
            report
                .bounds
                .verdict
                .map_or("no verdict", |kind| kind.name())
        );
    }
    out + "</table></div>"
}

/// A page with more instructions would be too heavy to open.
const MOST_ROWS: usize = 20_000;

fn table(part: &Part) -> String {
    let peak = f64::from(part.peak_half_registers.max(1));
    let mut out = "<table class=listing><tr><th>offset</th><th>line</th><th>unit</th><th>cost</th><th>live</th>\
         <th>loop</th><th>instruction</th><th>remark</th></tr>"
        .to_owned();
    let all = rows(part);
    let mut block = None;
    for row in all.iter().take(MOST_ROWS) {
        let mut class = String::new();
        if row.stall.is_some_and(|stall| stall > 0.0) {
            class += "stall ";
        }
        if row.carried {
            class += "carried ";
        }
        if block != Some(row.block) {
            class += "head";
        }
        block = Some(row.block);
        let cost = match row.unit {
            "IC" => row.cycles,
            _ => row.issue,
        };
        let waits: Vec<String> = row
            .waits_for
            .iter()
            .map(|offset| format!("<a href=\"#i{offset:x}\">{offset:x}</a>"))
            .collect();
        let remark = match (row.stall, waits.is_empty()) {
            (Some(stall), false) => format!("stalls {} for {}", number(stall), waits.join(" ")),
            (None, false) => format!("waits for {}", waits.join(" ")),
            _ if row.carried => "carried to the next iteration".to_owned(),
            _ => String::new(),
        };
        let width = f64::from(row.pressure) / peak * 90.0;
        let hot = if f64::from(row.pressure) == peak {
            " hot"
        } else {
            ""
        };
        out += &format!(
            "<tr id=i{:x} class=\"{}\"{}><td class=num>{:x}</td><td class=num>{}</td><td>{}</td>\
             <td class=num>{}</td>\
             <td><span class=\"bar{hot}\" style=\"width:{width:.0}px\"></span> {}</td><td>{}</td>\
             <td>{}</td><td>{remark}</td></tr>",
            row.offset,
            class.trim_end(),
            row.file
                .zip(row.line)
                .map_or(String::new(), |(file, line)| format!(
                    " data-l=\"{file}-{line}\""
                )),
            row.offset,
            row.file
                .zip(row.line)
                .map_or(String::new(), |(file, line)| {
                    format!("<a href=\"#l{file}-{line}\">{line}</a>")
                }),
            row.unit,
            cost.map_or("?".to_owned(), number),
            row.pressure,
            "│".repeat(row.loop_depth.min(6) as usize),
            escape(&row.text)
        );
    }
    out += "</table>";
    if all.len() > MOST_ROWS {
        out += &format!(
            "<p>The first {MOST_ROWS} of {} instructions.</p>",
            all.len()
        );
    }
    out
}

/// More blocks than this make no picture a person can read.
const MOST_BLOCKS: usize = 150;
const BOX: (f64, f64) = (250.0, 40.0);
const STEP: f64 = 58.0;

/// Blocks in a column in order of address; jumps as arcs beside it, indented by loops.
fn graph(part: &Part) -> String {
    let shown = part.blocks.get(..part.blocks.len().min(MOST_BLOCKS));
    let shown = shown.unwrap_or_default();
    let most = shown
        .iter()
        .map(|block| block.costs.alu().known * block.weight)
        .fold(1e-9, f64::max);
    let row = |id: crate::BlockId| shown.iter().position(|block| block.id == id);
    let left = |depth: u32| 150.0 + f64::from(depth.min(6)) * 22.0;
    let height = shown.len() as f64 * STEP + 20.0;
    let mut out = format!(
        "<svg role=img aria-label=\"control flow\" width=640 viewBox=\"0 0 640 {height:.0}\" \
         xmlns=\"http://www.w3.org/2000/svg\"><defs><marker id=a viewBox=\"0 0 8 8\" refX=7 refY=4 \
         markerWidth=7 markerHeight=7 orient=auto><path d=\"M0 0L8 4L0 8z\" fill=\"#888\"/></marker></defs>"
    );
    for (index, block) in shown.iter().enumerate() {
        let (x, y) = (left(block.loop_depth), 10.0 + index as f64 * STEP);
        let heat = block.costs.alu().known * block.weight / most;
        out += &format!(
            "<a href=\"#i{:x}\"><rect x={x:.0} y={y:.0} width={} height={} rx=4 \
             fill=\"rgba(217,83,79,{:.2})\" stroke=\"#888\"/><text x={:.0} y={:.0}>b{} {:#x}..{:#x} \
             ({} insns)</text><text x={:.0} y={:.0}>issue {} · IC {} · live {}</text></a>",
            block.start,
            BOX.0,
            BOX.1,
            0.08 + heat * 0.6,
            x + 8.0,
            y + 16.0,
            block.id.0,
            block.start,
            block.end,
            number(block.costs.instructions),
            x + 8.0,
            y + 32.0,
            block.costs.issue,
            block.costs.ic,
            block.pressure
        );
        let Some(graph_block) = part.cfg.block(block.id) else {
            continue;
        };
        for edge in graph_block.edges() {
            let Some(to) = row(edge.to) else {
                continue;
            };
            let target = shown.get(to).map_or(0, |block| block.loop_depth);
            let to_y = 10.0 + to as f64 * STEP;
            match edge.kind {
                EdgeKind::Fall => {
                    out += &format!(
                        "<path d=\"M{:.0} {:.0}L{:.0} {:.0}\" stroke=\"#888\" fill=none marker-end=\"url(#a)\"/>",
                        x.max(left(target)) + 20.0,
                        y + BOX.1,
                        x.max(left(target)) + 20.0,
                        to_y
                    );
                }
                EdgeKind::Jump => {
                    let span = (to as f64 - index as f64).abs();
                    // Back edges on the left, forward jumps on the right.
                    let back = to <= index;
                    let (from_x, to_x) = match back {
                        true => (x, left(target)),
                        false => (x + BOX.0, left(target) + BOX.0),
                    };
                    let reach = (18.0 + span * 7.0).min(130.0);
                    let bend = match back {
                        true => from_x.min(to_x) - reach,
                        false => from_x.max(to_x) + reach,
                    };
                    out += &format!(
                        "<path d=\"M{from_x:.0} {:.0}C{bend:.0} {:.0} {bend:.0} {:.0} {to_x:.0} {:.0}\" \
                         stroke=\"#5b8def\" fill=none marker-end=\"url(#a)\"/>",
                        y + BOX.1 * 0.7,
                        y + BOX.1 * 0.7,
                        to_y + BOX.1 * 0.3,
                        to_y + BOX.1 * 0.3
                    );
                }
            }
        }
    }
    out += "</svg>";
    if part.blocks.len() > shown.len() {
        out += &format!(
            "<p>The first {} of {} blocks; `--format dot` gives the whole graph.</p>",
            shown.len(),
            part.blocks.len()
        );
    }
    out
}
