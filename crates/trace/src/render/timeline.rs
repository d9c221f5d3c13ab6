//! The timeline on a page: canvas, controls, legend and the line that says what is selected.

use super::timeline_data::{COLOURS, Drawn, collect};
use assay_report::html::escape;
use std::fmt::Write;

pub(super) const STYLE: &str = include_str!("timeline.css");
pub(super) const SCRIPT: &str = include_str!("timeline.js");

/// Writes the section with one run, or with two on the same axis.
pub(super) fn section(out: &mut String, runs: &[Drawn<'_>]) {
    let data = collect(runs);
    let two = data.groups.len() > 1;
    let alignable = two && data.groups.iter().all(|group| group.step.is_some());
    out.push_str(
        "<h2 id=\"timeline-heading\">Timeline</h2>\n<div class=\"tools\">\
         <input id=\"search\" type=\"search\" placeholder=\"Search labels (Enter: next)\" aria-label=\"Search labels; Enter goes to the next one found\">\
         <button id=\"next\" type=\"button\">Next</button><span id=\"found\" class=\"dim\" role=\"status\"></span>\
         <button id=\"in\" type=\"button\">Zoom in</button><button id=\"out\" type=\"button\">Zoom out</button>\
         <button id=\"all\" type=\"button\">All</button>",
    );
    if alignable {
        out.push_str(
            "<button id=\"align\" type=\"button\" aria-pressed=\"false\">Align steps</button>",
        );
    }
    let _ = write!(
        out,
        "</div>\n<div class=\"stage\" id=\"stage\"><canvas id=\"timeline\" tabindex=\"0\" height=\"200\" role=\"application\" \
         aria-roledescription=\"timeline\" aria-label=\"{}\" aria-describedby=\"keys said\"></canvas>\
         <div class=\"tip\" id=\"tip\" aria-hidden=\"true\"></div></div>\n\
         <p class=\"said\" id=\"said\" role=\"status\" aria-live=\"polite\"></p>\n",
        escape(&label(&data))
    );
    legend(out, two);
    out.push_str(
        "<p class=\"legend\" id=\"keys\"><span>Keys: <kbd>←</kbd> <kbd>→</kbd> interval before and after, <kbd>↑</kbd> <kbd>↓</kbd> lane, \
         <kbd>Enter</kbd> closer, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> all, <kbd>Shift</kbd> with an arrow moves, <kbd>/</kbd> searches, \
         <kbd>n</kbd> next found.</span><span>Wheel or pinch zooms, drag moves, click or tap selects, double click shows all.</span></p>\n",
    );
    if data.merged_below > 0 {
        let _ = writeln!(
            out,
            "<p class=\"dim\">There are too many executions to draw each: those less than {} apart are drawn as one. Figures count every one.</p>",
            assay_report::number::nanoseconds(data.merged_below as f64)
        );
    }
    // No text inside the data can end the script element.
    let json = serde_json::to_string(&data).unwrap_or_else(|_| "{}".to_owned());
    let json = json.replace('<', "\\u003c");
    let _ = writeln!(
        out,
        "<script type=\"application/json\" id=\"timeline-data\">{json}</script>"
    );
}

/// What a screen reader says of the canvas.
fn label(data: &super::timeline_data::TimelineData) -> String {
    let length = data.groups.iter().map(|group| group.length).max();
    format!(
        "Timeline of {} lanes over {}. The tables on this page hold the same figures.",
        data.lanes.len(),
        assay_report::number::nanoseconds(length.unwrap_or(0) as f64)
    )
}

fn legend(out: &mut String, two: bool) {
    let mut entries: Vec<(String, String)> = Vec::new();
    if two {
        for (group, name) in ["work before", "work after"].into_iter().enumerate() {
            let text = format!("{name} (shades: labels)");
            entries.push((text, COLOURS.of_group(group)));
        }
    } else {
        let text = "the target's work (shades: labels)".to_owned();
        entries.push((text, COLOURS.of_group(0)));
    }
    let gaps = [
        "gap: host late",
        "gap: launch",
        "gap: contended",
        "gap: cause unknown",
    ];
    for (name, colour) in gaps.into_iter().zip(COLOURS.gaps) {
        entries.push((name.to_owned(), colour.to_owned()));
    }
    entries.push(("other processes".to_owned(), COLOURS.other.to_owned()));
    out.push_str("<div class=\"legend\">");
    for (name, colour) in entries {
        let _ = write!(
            out,
            "<span><i style=\"background:{colour}\" aria-hidden=\"true\"></i>{name}</span>"
        );
    }
    out.push_str("</div>\n");
}
