//! A report as text, Markdown, a page, SARIF, JUnit and workflow commands. As JSON it is the document itself.

mod github;
mod html;
mod junit;
mod markdown;
mod sarif;
mod text;

pub use github::github;
pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use text::{Style, text};

use crate::report::{ConfigurationChange, Difference, Outcome, Report, Verdict};

/// A path as a whole repository knows it: the folder of the configuration before it.
fn in_repository(prefix: &str, file: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    // Headers beside the configuration's folder begin with `..`.
    for part in prefix.split('/').chain(file.split('/')) {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if prefix.is_empty() && file.starts_with('/') {
        "/"
    } else {
        ""
    };
    format!("{root}{}", parts.join("/"))
}

/// Kernels worth a row: those that fail, changed, came or went.
fn told(report: &Report) -> impl Iterator<Item = &Verdict> {
    report.kernels.iter().filter(|kernel| {
        !kernel.passed
            || kernel.was().is_some()
            || !matches!(kernel.outcome, Outcome::Same | Outcome::Alone)
    })
}

/// Whether a change of the configuration may be, in words.
fn state(change: &ConfigurationChange) -> &'static str {
    match (change.weakens, change.allowed) {
        (false, _) => "",
        (true, true) => " (the base allows it)",
        (true, false) => " (the base does not allow it)",
    }
}

/// Figures worth a row.
fn changes(kernel: &Verdict) -> impl Iterator<Item = &Difference> {
    let compared = matches!(kernel.outcome, Outcome::Same | Outcome::Changed);
    let changed = kernel.differences.iter();
    changed.filter(move |difference| !compared || difference.is_change())
}

/// What the gate looked at, in a sentence.
fn sentence(report: &Report) -> String {
    let summary = &report.summary;
    let plural = if summary.kernels == 1 { "" } else { "s" };
    let mut text = format!("{} kernel{plural}", summary.kernels);
    if report.against != crate::Against::Nothing {
        text += &format!(" against {}", report.against);
    }
    let parts = [
        (summary.failed, "failed"),
        (summary.changed, "changed"),
        (summary.same, "the same"),
        (summary.new, "new"),
        (summary.deleted, "deleted"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if !parts.is_empty() {
        text += &format!(": {}", parts.join(", "));
    }
    match summary.broken_files {
        0 => {}
        1 => text += "; 1 file does not compile",
        files => text += &format!("; {files} files do not compile"),
    }
    match (summary.programs, summary.failed_programs) {
        (0, _) => {}
        (all, failed) => {
            let plural = if all == 1 { "" } else { "s" };
            let failed = match failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            text += &format!("; {all} program{plural}{failed}");
        }
    }
    text
}

/// Before, after and the change, for tables.
fn cells(difference: &Difference) -> [String; 3] {
    let value = |value: Option<f64>| value.map_or("–".to_owned(), crate::examine::number);
    let change = difference.per_cent().filter(|change| *change != 0.0);
    [
        value(difference.before),
        value(difference.after),
        change.map_or(String::new(), |change| format!("{change:+.1} %")),
    ]
}

/// The band of a time, for tables.
fn band(difference: &Difference) -> String {
    difference.band.map_or(String::new(), |ends| {
        let [low, high] = ends.map(crate::examine::number);
        format!("{low} to {high}")
    })
}

#[cfg(test)]
mod tests;
