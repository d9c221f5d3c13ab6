//! For a terminal: what failed first, then what changed, then one line.

use super::{band, cells, changes, sentence, state, told};
use crate::report::{Level, Report, Standing};
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::hanging;

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Colours.
    pub painter: Painter,
    /// Columns.
    pub width: usize,
    /// Rows for kernels that are the same, too.
    pub all: bool,
}

/// The report as text.
pub fn text(report: &Report, style: &Style) -> String {
    let mut out = String::new();
    for problem in &report.problems {
        let role = match problem.level {
            Level::Error => Role::Bad,
            Level::Warning => Role::Warn,
        };
        let word = style.painter.paint(role, problem.level.name());
        let of = problem.function.as_deref();
        let of = of.map_or(String::new(), |function| format!("{function}: "));
        out += &format!(
            "{}: {word}: {of}{} [{}]\n",
            problem.place, problem.message, problem.rule
        );
        let advice = format!("help: {}", problem.advice);
        out += &format!(
            "  {}\n",
            hanging(&advice, style.width, 2, 8).join("\n        ")
        );
    }
    if !report.configuration.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        out += "configuration changed:\n";
        for change in &report.configuration {
            let state = state(change);
            let line = format!("{}: {}{state}", change.place, change.what);
            out += &format!("  {}\n", hanging(&line, style.width, 2, 4).join("\n    "));
        }
    }
    let table = table(report, style);
    if !table.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        out += &table;
    }
    let programs = programs(report, style);
    if !programs.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        out += &programs;
    }
    for program in &report.programs {
        for note in &program.notes {
            out += &format!("note: {}: {note}\n", program.name);
        }
    }
    for kernel in told(report) {
        for note in &kernel.notes {
            out += &format!("{}: note: {}: {note}\n", kernel.file, kernel.function);
        }
    }
    for note in &report.notes {
        let note = hanging(&format!("note: {note}"), style.width, 0, 6);
        out += &format!("{}\n", note.join("\n      "));
    }
    let (role, word) = match report.passed {
        true => (Role::Good, "passed"),
        false => (Role::Bad, "failed"),
    };
    out += &format!(
        "{}: {}\n",
        style.painter.paint(role, word),
        sentence(report)
    );
    out
}

fn programs(report: &Report, style: &Style) -> String {
    let mut table = Table::new([
        Column::left("program").shrink(),
        Column::left("figure (modelled)"),
        Column::right("before"),
        Column::right("after"),
        Column::left("band"),
        Column::right("change"),
        Column::left(""),
    ])
    .painter(style.painter);
    for program in &report.programs {
        let mut name = program.name.clone();
        for difference in &program.differences {
            let [before, after, change] = cells(difference);
            table.row([
                Cell::from(std::mem::take(&mut name)),
                difference.title().into(),
                before.into(),
                after.into(),
                Cell::new(band(difference), Role::Dim),
                change.into(),
                Cell::new(difference.standing.name(), role(difference.standing)),
            ]);
        }
    }
    match table.is_empty() {
        true => String::new(),
        false => table.render(style.width),
    }
}

fn role(standing: Standing) -> Role {
    match standing {
        Standing::Worse => Role::Bad,
        Standing::Better => Role::Good,
        _ => Role::Dim,
    }
}

fn table(report: &Report, style: &Style) -> String {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("figure (modelled)"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
        Column::left(""),
    ])
    .painter(style.painter);
    let kernels: Vec<_> = match style.all {
        true => report.kernels.iter().collect(),
        false => told(report).collect(),
    };
    for kernel in kernels {
        let mut name = kernel.function.clone();
        let mut word = match kernel.was() {
            Some(was) => was,
            None => match kernel.outcome {
                crate::Outcome::Changed => String::new(),
                outcome => outcome.name().to_owned(),
            },
        };
        let rows: Vec<_> = match style.all {
            true => kernel.differences.iter().collect(),
            false => changes(kernel).collect(),
        };
        if rows.is_empty() || !word.is_empty() {
            table.row([
                Cell::from(std::mem::take(&mut name)),
                "".into(),
                "".into(),
                "".into(),
                "".into(),
                Cell::new(std::mem::take(&mut word), Role::Dim),
            ]);
        }
        for difference in rows {
            let role = role(difference.standing);
            let [before, after, change] = cells(difference);
            table.row([
                Cell::from(std::mem::take(&mut name)),
                difference.title().into(),
                before.into(),
                after.into(),
                change.into(),
                Cell::new(difference.standing.name(), role),
            ]);
        }
    }
    match table.is_empty() {
        true => String::new(),
        false => table.render(style.width),
    }
}
