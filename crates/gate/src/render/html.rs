//! One page: the verdict, every kernel with what it cost before and after, what does not hold, and what changed.

use super::{band, cells, changes, sentence, state, told};
use crate::examine::number;
use crate::figure::TIME;
use crate::report::{Difference, Level, Problem, Report, Standing, Verdict};
use assay_report::blocks::{Advice, Answer, Block, Headline, STYLE};
use assay_report::html::page;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};

/// Rows of the table: beyond these, kernels that are as before are left out.
const MOST: usize = 300;

/// The report as a page.
pub fn html(report: &Report) -> String {
    let mut answer = Answer::default();
    let (word, role) = match report.passed {
        true => ("passed", Role::Good),
        false => ("failed", Role::Bad),
    };
    answer.push(Headline {
        name: "gate".to_owned(),
        value: word.to_owned(),
        note: format!("{}; all figures are modelled", sentence(report)),
        role: Some(role),
        ..Headline::default()
    });
    if !report.kernels.is_empty() {
        kernels(&mut answer, report);
    }
    if !report.programs.is_empty() {
        answer.push(Block::Heading("Programs".to_owned()));
        answer.push(programs(report));
    }
    if !report.problems.is_empty() {
        answer.push(Block::Heading("What does not hold".to_owned()));
        let advice = report.problems.iter().map(|problem| advice(problem).into());
        answer.blocks.extend(advice);
    }
    let table = changed(report);
    if !table.is_empty() {
        answer.push(Block::Heading("Figures that changed".to_owned()));
        answer.push(table);
    }
    if !report.configuration.is_empty() {
        answer.push(Block::Heading("Configuration".to_owned()));
        answer.push(configuration(report));
    }
    notes(&mut answer, report);
    page(&format!("gate {word} – assay"), STYLE, &answer.html(), "")
}

/// A row for each kernel: those that fail first, then those that changed.
fn kernels(answer: &mut Answer, report: &Report) {
    let mut table = Table::new([
        Column::left("kernel"),
        Column::left("verdict"),
        Column::right("registers"),
        Column::right("occupancy"),
        Column::right("time, µs"),
        Column::left("of"),
        Column::left("file"),
    ]);
    let mut rows: Vec<&Verdict> = report.kernels.iter().collect();
    rows.sort_by_key(|kernel| (kernel.passed, changes(kernel).count() == 0));
    for kernel in rows.iter().take(MOST) {
        let time = slowest(named(kernel, TIME));
        let of = time.map_or(String::new(), |time| {
            let parts = [&time.chip, &time.sizes].into_iter().flatten();
            parts.map(String::as_str).collect::<Vec<_>>().join(" ")
        });
        let verdict = match kernel.passed {
            true => Cell::from(kernel.outcome.name()),
            false => Cell::new("failed", Role::Bad),
        };
        table.row([
            Cell::from(kernel.function.clone()),
            verdict,
            both(named(kernel, "registers").next()),
            both(named(kernel, "occupancy").next()),
            both(time),
            Cell::new(of, Role::Dim),
            Cell::new(kernel.file.clone(), Role::Dim),
        ]);
    }
    answer.push(Block::Heading("Kernels".to_owned()));
    answer.push(table);
    let left = rows.len().saturating_sub(MOST);
    if left > 0 {
        answer.push(Block::noted(
            format!("and {left} more that pass"),
            Role::Dim,
        ));
    }
}

/// Every figure of every program.
fn programs(report: &Report) -> Table {
    let mut table = Table::new([
        Column::left("program"),
        Column::left("figure"),
        Column::right("before"),
        Column::right("after"),
        Column::left("band"),
        Column::right("change"),
        Column::left(""),
        Column::left("command line"),
    ]);
    for program in &report.programs {
        let run = Cell::new(program.run.clone(), Role::Dim);
        let mut first = (Cell::from(program.name.clone()), run);
        if program.differences.is_empty() {
            let (name, run) = std::mem::replace(&mut first, ("".into(), "".into()));
            let failed = Cell::new("failed", Role::Bad);
            let none = || Cell::from("");
            table.row([name, none(), none(), none(), none(), none(), failed, run]);
        }
        for difference in &program.differences {
            let [before, after, change] = cells(difference);
            let standing = difference.standing;
            let word = match role(standing) {
                Some(role) => Cell::new(standing.name(), role),
                None => Cell::from(standing.name()),
            };
            let (name, run) = std::mem::replace(&mut first, ("".into(), "".into()));
            table.row([
                name,
                difference.title().into(),
                before.into(),
                after.into(),
                Cell::new(band(difference), Role::Dim),
                change.into(),
                word,
                run,
            ]);
        }
    }
    table
}

/// The values of a figure.
fn named<'k>(kernel: &'k Verdict, name: &'static str) -> impl Iterator<Item = &'k Difference> {
    let all = kernel.differences.iter();
    all.filter(move |difference| difference.figure == name)
}

/// The time that became worst, where a kernel has one for each chip and size.
fn slowest<'d>(times: impl Iterator<Item = &'d Difference>) -> Option<&'d Difference> {
    let growth = |one: &Difference| one.per_cent().unwrap_or(0.0);
    times.max_by(|a, b| growth(a).total_cmp(&growth(b)))
}

/// Before and after in a cell; one number where they are the same.
fn both(difference: Option<&Difference>) -> Cell {
    let Some(difference) = difference else {
        return Cell::from("");
    };
    let text = match (difference.before, difference.after) {
        (Some(before), Some(after)) if before != after => {
            format!("{} → {}", number(before), number(after))
        }
        // The kernel had this figure before and has none now.
        (Some(before), None) => format!("{} → –", number(before)),
        (before, after) => after.or(before).map_or(String::new(), number),
    };
    match role(difference.standing) {
        Some(role) => Cell::new(text, role),
        None => Cell::from(text),
    }
}

fn role(standing: Standing) -> Option<Role> {
    match standing {
        Standing::Worse => Some(Role::Bad),
        Standing::Better => Some(Role::Good),
        Standing::PaidFor | Standing::Free | Standing::Accepted => Some(Role::Warn),
        Standing::Fine | Standing::Shown => None,
    }
}

fn advice(problem: &Problem) -> Advice {
    let of = problem.function.as_deref();
    let of = of.map_or(String::new(), |function| format!("{function}: "));
    let text = format!("{of}{} → {}", problem.message, problem.advice);
    Advice {
        rule: problem.rule.to_owned(),
        weight: problem.level.name().to_owned(),
        place: problem.place.to_string(),
        text,
        role: Some(match problem.level {
            Level::Error => Role::Bad,
            Level::Warning => Role::Warn,
        }),
        ..Advice::default()
    }
}

/// Every figure of the kernels that are worth a row.
fn changed(report: &Report) -> Table {
    let mut table = Table::new([
        Column::left("kernel"),
        Column::left("figure"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
        Column::right("allowed"),
        Column::left(""),
    ]);
    for kernel in told(report) {
        for difference in changes(kernel).filter(|one| one.is_change()) {
            let [before, after, change] = cells(difference);
            let allowed = difference.allowed;
            let allowed = allowed.map_or(String::new(), |most| format!("{} %", number(most)));
            let standing = difference.standing;
            let word = match role(standing) {
                Some(role) => Cell::new(standing.name(), role),
                None => Cell::from(standing.name()),
            };
            table.row([
                Cell::from(kernel.function.clone()),
                difference.title().into(),
                before.into(),
                after.into(),
                change.into(),
                allowed.into(),
                word,
            ]);
        }
    }
    table
}

fn configuration(report: &Report) -> Table {
    let mut table = Table::new([
        Column::left("what"),
        Column::left(""),
        Column::left("where"),
    ]);
    for change in &report.configuration {
        let word = match (change.weakens, change.allowed) {
            (false, _) => Cell::from(""),
            (true, true) => Cell::new(state(change).trim(), Role::Warn),
            (true, false) => Cell::new(state(change).trim(), Role::Bad),
        };
        table.row([
            Cell::from(change.what.clone()),
            word,
            Cell::new(change.place.to_string(), Role::Dim),
        ]);
    }
    table
}

/// What else to know, of kernels and of the whole.
fn notes(answer: &mut Answer, report: &Report) {
    let of_kernels = told(report).flat_map(|kernel| {
        let notes = kernel.notes.iter();
        notes.map(|note| format!("{}: {}: {note}", kernel.file, kernel.function))
    });
    let of_programs = report.programs.iter().flat_map(|program| {
        let notes = program.notes.iter();
        notes.map(|note| format!("{}: {note}", program.name))
    });
    let notes = of_kernels.chain(of_programs);
    for note in notes.chain(report.notes.iter().cloned()) {
        answer.push(Block::noted(format!("note: {note}"), Role::Dim));
    }
}
