//! Predictions as one self-contained page, with a picture of the simulated core.

use super::text::{headline, origin, reasons, shown, time, useful, verdict, work_line};
use crate::compare::{Call, Compared};
use crate::document::{Predicted, Report};
use crate::picture::{Activity, Picture};
use assay_report::blocks::Detail;
use assay_report::html::{escape, page};
use serde_json::{Value, json};
use std::fmt::Write as _;

const CSS: &str = include_str!("picture.css");
const SCRIPT: &str = include_str!("picture.js");

/// Stretches of a picture that are drawn at most; rows after that are left out and counted.
const MOST_STRETCHES: usize = 120_000;

/// The page: predictions, and the simulated cores of one of them.
pub fn html(report: &Report, pictures: &[Picture]) -> String {
    let mut body = String::new();
    let title = match report.predictions.as_slice() {
        [only] => {
            one(&mut body, only);
            format!("{} on {}", only.kernel, only.chip)
        }
        many => {
            body += "<h1>Predicted GPU times</h1>";
            table(&mut body, many);
            "Predicted GPU times".to_owned()
        }
    };
    if !report.refused.is_empty() {
        body += "<h2>No prediction</h2><ul>";
        for refused in &report.refused {
            let chip = refused.chip.as_deref();
            let chip = chip.map_or(String::new(), |chip| format!(" on {chip}"));
            let text = format!("{}{chip}: {}", refused.kernel, refused.reason);
            let _ = write!(body, "<li>{}</li>", escape(&text));
        }
        body += "</ul>";
    }
    let script = picture(&mut body, pictures);
    if let [only] = report.predictions.as_slice() {
        lines(&mut body, only);
        notes(&mut body, only.notes.iter());
    }
    page(&title, CSS, &body, script)
}

fn one(body: &mut String, predicted: &Predicted) {
    let _ = write!(
        body,
        "<h1>{} on {}</h1><p class=verdict><b>{}</b> <span class=dim>({} to {})</span>, limited by <b>{}</b></p>\
         <p class=dim>{}<br>{}</p>",
        escape(&predicted.kernel),
        escape(&predicted.chip),
        time(predicted.time_us),
        time(predicted.low_us),
        time(predicted.high_us),
        escape(&predicted.limited_by),
        escape(&origin(predicted)),
        escape(&work_line(predicted))
    );
    *body += "<h2>Where the time goes</h2><div class=wide><table>";
    for term in &predicted.terms {
        let share = term.us / predicted.time_us.max(f64::MIN_POSITIVE);
        if share >= 0.005 {
            let _ = write!(
                body,
                "<tr><td>{}</td><td class=n>{}</td><td class=n>{:.0} %</td><td class=track><span class=bar \
                 style=\"width:{:.1}%\"></span></td></tr>",
                term.name,
                time(term.us),
                100.0 * share,
                100.0 * share.clamp(0.0, 1.0)
            );
        }
    }
    *body += "</table></div><h2>Twice as much would bring</h2>";
    let useful = useful(predicted);
    if useful.is_empty() {
        *body += "<p>Nothing of any one resource: overheads and latencies count.</p>";
    } else {
        *body += "<div class=wide><table>";
        for doubled in useful {
            let faster = predicted.time_us / doubled.time_us.max(f64::MIN_POSITIVE);
            let _ = write!(
                body,
                "<tr><td>{}</td><td class=n>{}</td><td>{faster:.2} times as fast</td></tr>",
                doubled.resource,
                time(doubled.time_us)
            );
        }
        *body += "</table></div>";
    }
}

fn notes<'n>(body: &mut String, notes: impl Iterator<Item = &'n String>) {
    let mut seen: Vec<&String> = Vec::new();
    for note in notes {
        if !seen.contains(&note) {
            let _ = write!(body, "<p class=note>{}</p>", escape(note));
            seen.push(note);
        }
    }
}

fn lines(body: &mut String, predicted: &Predicted) {
    if predicted.lines.is_empty() {
        return;
    }
    *body += "<h2>Time by source line</h2><div class=wide><table class=stack><tr><th class=n>line</th><th class=n>time</th>\
              <th class=n>share</th><th>why</th><th>source</th></tr>";
    for line in shown(predicted).take(40) {
        let _ = write!(
            body,
            "<tr><td class=n data-h=line>{}</td><td class=n>{}</td><td class=n>{:.0} %</td><td class=why>{}</td>\
             <td class=all><code>{}</code></td></tr>",
            line.line,
            time(line.us),
            100.0 * line.us / predicted.time_us.max(f64::MIN_POSITIVE),
            escape(&reasons(line)),
            escape(line.text.as_deref().unwrap_or("").trim())
        );
    }
    *body += "</table></div>";
}

fn table(body: &mut String, predictions: &[Predicted]) {
    *body += "<div class=wide><table class=stack><tr><th>kernel</th><th>chip</th><th class=n>time</th><th class=n>from</th>\
              <th class=n>to</th><th>limited by</th><th>class</th></tr>";
    for predicted in predictions {
        let mark = if predicted.is_stand_in() { " *" } else { "" };
        let _ = write!(
            body,
            "<tr><td><b>{}</b></td><td data-h=on>{}{mark}</td><td class=n>{}</td><td class=n data-h=from>{}</td>\
             <td class=n data-h=to>{}</td><td data-h=\"limited by\">{}</td><td data-h=class>{}</td></tr>",
            escape(&predicted.kernel),
            escape(&predicted.chip),
            time(predicted.time_us),
            time(predicted.low_us),
            time(predicted.high_us),
            escape(&predicted.limited_by),
            escape(&predicted.class)
        );
    }
    *body += "</table></div>";
    if predictions.iter().any(Predicted::is_stand_in) {
        *body += "<p class=dim>* code for M1 and M2 as a stand-in: this chip runs another instruction set</p>";
    }
    *body += "<p class=dim>Modelled; four of five kernels of a class lie between from and to.</p>";
    notes(body, predictions.iter().flat_map(|p| &p.notes));
}

/// What the picture shows. A threadgroup that waits for a place has no row yet.
fn shown_activities() -> impl Iterator<Item = Activity> {
    let all = Activity::ALL.into_iter();
    all.filter(|activity| *activity != Activity::NoSlot)
}

/// The picture, and the script that draws it.
fn picture(body: &mut String, pictures: &[Picture]) -> &'static str {
    if pictures.iter().all(|picture| picture.rows.is_empty()) {
        return "";
    }
    *body += "<h2>One core, simulated</h2><p class=dim>A row is a place for a simdgroup, in which threadgroups follow one \
              another; loops that were cut short show each turn with the work of several. Wheel, pinch or + and − zoom, dragging or arrow keys move, 0 shows all.</p>";
    *body += "<div class=tools><select id=dispatch aria-label=\"dispatch\"></select>\
              <button id=in aria-label=\"zoom in\">+</button><button id=out aria-label=\"zoom out\">−</button>\
              <button id=all>all</button><span id=range class=dim></span></div>\
              <div class=stage><canvas id=core tabindex=0 role=img \
              aria-label=\"what each simdgroup of a core does over time; the table below has the totals\"></canvas>\
              <div class=tip id=tip></div></div>";
    *body += "<div class=legend>";
    for activity in shown_activities() {
        let _ = write!(
            body,
            "<span><i class=\"a{}\"></i>{}</span>",
            activity as u8,
            activity.name()
        );
    }
    *body += "</div>";
    totals(body, pictures);
    let data: Vec<Value> = pictures.iter().map(packed).collect();
    // Inside a script element only `</` could end it.
    let data = Value::Array(data).to_string().replace("</", "<\\/");
    let _ = write!(
        body,
        "<script type=\"application/json\" id=core-data>{data}</script>"
    );
    SCRIPT
}

/// Shares of simdgroups' time by activity, for those who cannot see the picture.
fn totals(body: &mut String, pictures: &[Picture]) {
    *body += "<div class=wide><table class=stack><tr><th>time of simdgroups</th>";
    for activity in shown_activities() {
        let _ = write!(body, "<th class=n>{}</th>", activity.name());
    }
    *body += "</tr>";
    for picture in pictures {
        let mut totals = picture.totals();
        totals.retain(|(activity, _)| *activity != Activity::NoSlot);
        let all: f64 = totals.iter().map(|(_, cycles)| cycles).sum();
        let _ = write!(body, "<tr><td class=all>{}</td>", escape(&picture.kernel));
        for (activity, cycles) in totals {
            let share = 100.0 * cycles / all.max(f64::MIN_POSITIVE);
            let name = activity.name();
            let _ = write!(body, "<td class=n data-h=\"{name}\">{share:.0} %</td>");
        }
        *body += "</tr>";
    }
    *body += "</table></div>";
}

/// A picture as small arrays: of each row, gap, length and activity of every stretch, in cycles.
fn packed(picture: &Picture) -> Value {
    let mut rows = Vec::new();
    let mut count = 0;
    for row in &picture.rows {
        count += row.stretches.len();
        if count > MOST_STRETCHES {
            break;
        }
        let mut values: Vec<u64> = Vec::with_capacity(3 * row.stretches.len());
        let mut at = 0;
        for stretch in &row.stretches {
            let from = (stretch.from.round() as u64).max(at);
            let to = (stretch.to.round() as u64).max(from);
            values.extend([from - at, to - from, stretch.activity as u64]);
            at = to;
        }
        rows.push(json!([row.threadgroup, row.scheduler, values]));
    }
    let title = format!(
        "{}: {} of a core's {} threadgroups",
        picture.kernel, picture.simulated, picture.per_core
    );
    let left_out = picture.rows.len() - rows.len();
    // The picture is as wide as what it shows.
    let shown = picture.rows.iter().take(rows.len());
    let ends = shown.filter_map(|row| Some(row.stretches.last()?.to));
    let cycles = ends.fold(0.0, f64::max);
    json!({
        "title": title,
        "cycles": cycles.ceil(),
        "perUs": picture.cycles_per_us,
        "leftOut": left_out,
        "names": Activity::ALL.map(Activity::name),
        "rows": rows,
    })
}

/// A page for two predictions of one task; `below` is what follows the terms.
pub fn html_of_comparison(compared: &[Compared], below: &str) -> String {
    let mut body = String::new();
    let mut title = "Two kernels".to_owned();
    for one in compared {
        title = format!("{} → {}", one.before.kernel, one.after.kernel);
        let role = match one.call {
            Call::Faster => "good",
            Call::Slower => "bad",
            Call::Tie => "warn",
            Call::ProbablyFaster | Call::ProbablySlower => "dim",
        };
        let _ = write!(
            body,
            "<h1>{}</h1><p class=\"verdict {role}\"><b>{}</b></p><p class=dim>modelled ({}), {} caches; of variants of one task, four of \
             five ratios lie between {:.2} and {:.2}, and four of five calls are right. Before: {}. After: {}.</p>",
            escape(&title),
            escape(&verdict(one)),
            one.after.model,
            one.after.state,
            one.low,
            one.high,
            escape(&headline(&one.before)),
            escape(&headline(&one.after)),
        );
        if !one.why.is_empty() {
            let table = super::comparison::why(one, Detail::Full).html();
            let _ = write!(body, "<h2>Why</h2><div class=wide>{table}</div>");
        }
        body += "<h2>Terms that changed</h2><div class=wide><table class=stack><tr><th>term</th><th class=n>before</th><th class=n>after\
                 </th><th class=n>change</th></tr>";
        for term in &one.terms {
            if term.before_us.max(term.after_us) > 0.005 * one.before.time_us {
                let sign = if term.change() < 0.0 { "−" } else { "+" };
                let _ = write!(
                    body,
                    "<tr><td class=all>{}</td><td class=n data-h=before>{}</td><td class=n data-h=after>{}</td><td class=n data-h=change>{sign}{}</td></tr>",
                    term.name,
                    time(term.before_us),
                    time(term.after_us),
                    time(term.change().abs())
                );
            }
        }
        body += "</table></div>";
        notes(&mut body, one.before.notes.iter().chain(&one.after.notes));
    }
    body += below;
    page(&title, CSS, &body, "")
}
