//! One self-contained page: for each device a roofline and a table. Nothing is fetched.

use super::sources::Sources;
use super::{View, by_device, changed_hands, clock, figure, precision, roofline};
use crate::claim::Claim;
use crate::entry::{Device, Entry, Reference};
use assay_report::html::{escape, page};
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("board.css");
const SCRIPT: &str = include_str!("board.js");

/// The view as a page. `history` are all sources at the places of the view, with their texts: the page shows them, each with what
/// it changed.
pub fn html(view: &View, history: &[Entry]) -> String {
    let mut sources = Sources::new(history);
    let mut body = "<h1>Board</h1>\n".to_owned();
    let devices = by_device(&view.results);
    let records = view.results.iter().filter(|entry| entry.record).count();
    let _ = writeln!(
        body,
        "<p class=\"lead\">{records} records on {} device{}. Every result was verified before it was timed; a record \
         changes hands only when the samples prove a difference. A source's figure is its middle run.</p>\n\
         <p class=\"filter\" hidden><input id=\"filter\" type=\"search\" placeholder=\"Filter: softmax f16\" aria-label=\"Filter \
         rows and points\"> <span id=\"found\" role=\"status\"></span></p>",
        devices.len(),
        if devices.len() == 1 { "" } else { "s" }
    );
    if view.results.is_empty() && view.claims.is_empty() {
        body +=
            "<p>Nothing is on the board. <code>assay bench NAME</code> puts something there.</p>\n";
    }
    let mut row = 0;
    for (device, entries) in &devices {
        let keyed = keyed("r", &mut row, entries.iter().copied());
        section(&mut body, device, &keyed, &mut sources);
    }
    if !view.claims.is_empty() {
        claims(&mut body, &view.claims);
    }
    sources.section(&mut body);
    let style = format!("{STYLE}{}", assay_report::chart::STYLE);
    page("Board", &style, &body, SCRIPT)
}

/// Rows with keys, by which points of a chart are found again.
fn keyed<'a, T>(
    kind: &str,
    number: &mut usize,
    rows: impl Iterator<Item = &'a T>,
) -> Vec<(String, &'a T)> {
    let key = |row| {
        *number += 1;
        (format!("{kind}{number}"), row)
    };
    rows.map(key).collect()
}

/// A heading: its text, and whether it is of figures or only for wide screens.
type Heading = (&'static str, &'static str);

fn headings(out: &mut String, headings: &[Heading]) {
    out.push_str("<div class=\"scroll\"><table class=\"sortable\"><thead><tr>");
    for (text, class) in headings {
        let _ = write!(
            out,
            "<th class=\"{class}\"><button type=\"button\">{text}</button></th>"
        );
    }
    out.push_str("</tr></thead><tbody>\n");
}

fn section<'a>(
    out: &mut String,
    device: &Device,
    entries: &[(String, &'a Entry)],
    sources: &mut Sources<'a>,
) {
    let _ = writeln!(
        out,
        "<h2>{}</h2>\n<p class=\"dim\">{}</p>",
        escape(&device.name),
        clock(device)
    );
    if let Some(chart) = roofline::of_results(device, entries) {
        out.push_str(&chart);
        out.push_str(
            "<p class=\"legend\"><span><i class=\"set-common\"></i>common</span><span><i class=\"set-standard\"></i>\
             standard</span><span><i class=\"set-full\"></i>full</span></p>\n",
        );
    }
    let any = |is: fn(&Entry) -> bool| entries.iter().any(|(_, entry)| is(entry));
    let shown = Shown {
        roofline: any(|entry| entry.run.roofline.is_some()),
        speedup: any(|entry| entry.run.reference.is_some()),
        taken: any(|entry| !changed_hands(entry).is_empty()),
    };
    let columns = [
        (true, ("kernel", "")),
        (true, ("sizes", "")),
        (true, ("time", "n")),
        (true, ("±", "n")),
        (true, ("Gflop/s", "n wide")),
        (true, ("GB/s", "n wide")),
        (shown.roofline, ("roofline", "n")),
        (shown.speedup, ("speed-up", "n")),
        (shown.taken, ("record from → to", "n wide")),
        (true, ("runs", "n wide")),
        (true, ("source", "")),
        (true, ("taken", "wide")),
    ];
    let columns = columns.into_iter().filter(|(shown, _)| *shown);
    headings(out, &columns.map(|(_, column)| column).collect::<Vec<_>>());
    for (key, entry) in entries {
        row(out, key, entry, shown, &sources.cell(entry));
    }
    out.push_str("</tbody></table></div>\n");
}

/// Columns that not every device has figures for.
#[derive(Clone, Copy)]
struct Shown {
    roofline: bool,
    speedup: bool,
    taken: bool,
}

fn row(out: &mut String, key: &str, entry: &Entry, shown: Shown, source: &str) {
    let run = &entry.run;
    let class = match entry.record {
        true => "",
        false => " class=\"other\"",
    };
    let sizes = entry.sizes.iter();
    let sizes: Vec<String> = sizes.map(|(name, size)| format!("{name} {size}")).collect();
    let _ = write!(
        out,
        "<tr{class} data-key=\"{key}\"><td>{} <span class=\"dim wide\">{}</span></td><td title=\"{}\">{}</td>",
        escape(&entry.title()),
        escape(&entry.set),
        escape(&sizes.join(", ")),
        escape(&entry.size_set)
    );
    let time = assay_report::number::nanoseconds(run.median_ms * 1e6);
    number(out, "n", Some(run.median_ms), &time);
    let precision = precision(entry);
    number(out, "n", Some(precision), &format!("{precision:.1} %"));
    number(out, "n wide", Some(run.gflops), &figure(run.gflops));
    number(out, "n wide", Some(run.gbps), &figure(run.gbps));
    if shown.roofline {
        number(out, "n", run.roofline, &roof(run.roofline));
    }
    if shown.speedup {
        let reference = run.reference.as_ref();
        let speedup = reference.map(|reference| reference.speedup);
        number(
            out,
            "n",
            speedup,
            &reference.map_or(String::new(), self::speedup),
        );
    }
    if shown.taken {
        let ratio = entry.beaten.as_ref().map(|beaten| beaten.ratio);
        number(out, "n wide", ratio, &changed_hands(entry));
    }
    number(
        out,
        "n wide",
        Some(entry.runs as f64),
        &entry.runs.to_string(),
    );
    let _ = writeln!(
        out,
        "<td class=\"mono\" title=\"{}\">{source}</td><td class=\"wide\">{}</td></tr>",
        escape(&run.source_path),
        escape(run.taken_at.get(..10).unwrap_or_default())
    );
}

/// The part of the roof that is reached, as a bar and a figure.
fn roof(part: Option<f64>) -> String {
    let Some(part) = part else {
        return String::new();
    };
    let percent = part * 100.0;
    let bar = percent.clamp(0.0, 100.0);
    format!("<span class=\"roof\"><b style=\"width:{bar:.0}%\"></b></span>{percent:.0} %")
}

fn speedup(reference: &Reference) -> String {
    let class = match reference.speedup {
        speedup if speedup >= 1.0 => "good",
        _ => "warn",
    };
    let (name, speedup) = (escape(&reference.name), figure(reference.speedup));
    format!("<span class=\"{class}\">{speedup}× over {name}</span>")
}

/// A cell of a figure, which sorts by its value. `shown` is markup.
fn number(out: &mut String, class: &str, value: Option<f64>, shown: &str) {
    let value = value.map_or(String::new(), |value| value.to_string());
    let _ = write!(
        out,
        "<td class=\"{class}\" data-value=\"{value}\">{shown}</td>"
    );
}

fn claims(out: &mut String, claims: &[Claim]) {
    out.push_str(
        "<h2>Claims of others</h2>\n<p class=\"lead\">Read from other programs' files. Nothing here was verified, \
         and nothing here is ranked with what was.</p>\n",
    );
    let claims = keyed("c", &mut 0, claims.iter());
    let mut devices: BTreeMap<&str, Vec<(String, &Claim)>> = BTreeMap::new();
    for (key, claim) in &claims {
        let device = devices.entry(&claim.device).or_default();
        device.push((key.clone(), claim));
    }
    for (device, claims) in &devices {
        if let Some(chart) = roofline::of_claims(device, claims) {
            let _ = writeln!(out, "<h3>{}</h3>\n{chart}", escape(device));
        }
    }
    headings(
        out,
        &[
            ("kernel", ""),
            ("device", ""),
            ("time", "n"),
            ("speed-up", "n"),
            ("what speaks against it", ""),
            ("read from", "wide"),
        ],
    );
    for (key, claim) in &claims {
        let _ = write!(
            out,
            "<tr data-key=\"{key}\"><td>{}</td><td>{}</td>",
            escape(&claim.kernel),
            escape(&claim.device)
        );
        let time = claim.time_ms.map_or("unknown".to_owned(), |ms| {
            assay_report::number::nanoseconds(ms * 1e6)
        });
        number(out, "n", claim.time_ms, &time);
        number(out, "n", claim.speedup, &escape(&claim.shown_speedup()));
        let _ = writeln!(
            out,
            "<td class=\"warn\">{}</td><td class=\"wide\">{}</td></tr>",
            escape(&claim.doubts.join("; ")),
            escape(&claim.format)
        );
    }
    out.push_str("</tbody></table></div>\n");
}
