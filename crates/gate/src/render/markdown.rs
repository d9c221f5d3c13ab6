//! For a job's summary and for comments: a heading that says it all, problems, and a table of what changed.

use super::{band, cells, changes, in_repository, sentence, state, told};
use crate::report::{Level, Report, Standing, Verdict};

/// Rows of the table of figures; a summary may have a megabyte, and nobody reads a thousand rows.
const MOST_ROWS: usize = 200;

/// The report as Markdown. `prefix` is the folder of the configuration in its repository.
pub fn markdown(report: &Report, prefix: &str) -> String {
    let (mark, word) = match report.passed {
        true => ("✅", "passed"),
        false => ("❌", "failed"),
    };
    let mut out = format!(
        "## {mark} assay gate {word}\n\n{}\n",
        escaped(&sentence(report))
    );
    if !report.problems.is_empty() {
        out += "\n| | where | kernel | what | rule |\n|---|---|---|---|---|\n";
    }
    for problem in report.problems.iter().take(MOST_ROWS) {
        let mark = match problem.level {
            Level::Error => "❌",
            Level::Warning => "⚠️",
        };
        let function = problem.function.as_deref();
        let function = function.map_or(String::new(), code);
        let place = in_repository(prefix, &problem.place.to_string());
        out += &format!(
            "| {mark} | {} | {function} | {}<br>{} | {} |\n",
            code(&place),
            escaped(&problem.message),
            escaped(&problem.advice),
            code(problem.rule)
        );
    }
    if !report.configuration.is_empty() {
        out += "\n### Configuration changed\n\n";
    }
    for change in report.configuration.iter().take(MOST_ROWS) {
        let place = in_repository(prefix, &change.place.to_string());
        let mark = match change.weakens && !change.allowed {
            true => "❌",
            false => "ℹ️",
        };
        let what = escaped(&format!("{}{}", change.what, state(change)));
        out += &format!("- {mark} {}: {what}\n", code(&place));
    }
    out += &figures(report);
    out += &programs(report);
    let noted: Vec<&Verdict> = told(report)
        .filter(|kernel| !kernel.notes.is_empty())
        .collect();
    let notes = report.notes.iter().map(|note| escaped(note));
    let of_kernels = noted.iter().flat_map(|kernel| {
        let name = code(&kernel.function);
        kernel
            .notes
            .iter()
            .map(move |note| format!("{name}: {}", escaped(note)))
    });
    let of_programs = report.programs.iter().flat_map(|program| {
        let name = code(&program.name);
        let notes = program.notes.iter();
        notes.map(move |note| format!("{name}: {}", escaped(note)))
    });
    let notes: Vec<String> = notes.chain(of_kernels).chain(of_programs).collect();
    if !notes.is_empty() {
        out += &format!("\n- {}\n", notes.join("\n- "));
    }
    out
}

fn programs(report: &Report) -> String {
    if report.programs.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n| program | figure (modelled) | before | after | band | change | |\n|---|---|--:|--:|---|--:|---|\n",
    );
    for program in &report.programs {
        let mut name = code(&program.name);
        if program.differences.is_empty() {
            out += &format!("| {name} | | | | | | **failed** |\n");
        }
        for difference in &program.differences {
            let [before, after, change] = cells(difference);
            let word = emphasised(difference.standing);
            let (title, band) = (escaped(&difference.title()), band(difference));
            let name = std::mem::take(&mut name);
            out += &format!(
                "| {name} | {title} | {before} | {after} | {band} | {change} | {word} |\n"
            );
        }
    }
    out
}

/// What a figure amounts to; what is worse stands out.
fn emphasised(standing: Standing) -> String {
    match standing {
        Standing::Worse => format!("**{}**", standing.name()),
        _ => standing.name().to_owned(),
    }
}

fn figures(report: &Report) -> String {
    let mut rows = Vec::new();
    for kernel in told(report) {
        let state = match kernel.was() {
            Some(was) => escaped(&was),
            None => kernel.outcome.name().to_owned(),
        };
        let mut name = format!("{} {state}", code(&kernel.function));
        let mut any = false;
        for difference in changes(kernel) {
            let [before, after, change] = cells(difference);
            let word = emphasised(difference.standing);
            let title = escaped(&difference.title());
            let name = std::mem::take(&mut name);
            rows.push(format!(
                "| {name} | {title} | {before} | {after} | {change} | {word} |"
            ));
            any = true;
        }
        if !any {
            rows.push(format!("| {name} | | | | | |"));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n| kernel | figure (modelled) | before | after | change | |\n|---|---|--:|--:|--:|---|\n",
    );
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    out += &rows.join("\n");
    out.push('\n');
    if more > 0 {
        out += &format!("\nand {more} more rows; `--format json` has all\n");
    }
    out
}

/// Text in which nothing is markup: names and messages come from files of strangers.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out += "<br>",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// Text as code in a table.
fn code(text: &str) -> String {
    let text = text.replace(['`', '\n', '\r'], "'").replace('|', "\\|");
    format!("`{text}`")
}
