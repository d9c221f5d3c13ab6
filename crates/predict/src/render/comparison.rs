//! Two predictions of one task as blocks: the first screen of `assay diff` with a launch.

use super::answer::notes;
use super::text::time;
use crate::compare::{Call, Compared};
use assay_report::blocks::{Answer, Block, Detail, Headline};
use assay_report::number;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};

/// Terms of the first screen.
const TERMS: usize = 6;

/// What is called, then the terms and the work that changed.
pub fn compared(compared: &Compared, detail: Detail) -> Answer {
    let (before, after) = (&compared.before, &compared.after);
    let mut answer = Answer::default();
    answer.push(Headline {
        name: match before.kernel == after.kernel {
            true => after.kernel.clone(),
            false => format!("{} → {}", before.kernel, after.kernel),
        },
        place: format!("on {} ({} cores)", after.chip, after.cores),
        value: format!(
            "{} → {}, {}",
            time(before.time_us),
            time(after.time_us),
            call(compared)
        ),
        note: format!(
            "{:.2}–{:.2}, 4 of 5 pairs of variants; modelled",
            compared.low, compared.high
        ),
        role: Some(role(compared)),
    });
    if let Some(reason) = compared.reason {
        answer.push(Block::text(reason));
    }
    if !compared.why.is_empty() {
        answer.push(why(compared, detail));
    }
    answer.push(terms(compared, detail));
    if detail == Detail::Full || compared.why.is_empty() {
        answer.push(work(compared));
    }
    let fresh = after
        .notes
        .iter()
        .filter(|note| !before.notes.contains(note));
    notes(&mut answer, before.notes.iter().chain(fresh), detail);
    answer
}

/// The ratio and what it amounts to.
pub fn call(compared: &Compared) -> String {
    let ratio = match compared.call {
        Call::Slower | Call::ProbablySlower => {
            let slower = 1.0 / compared.speedup.max(f64::MIN_POSITIVE);
            format!("{slower:.2} times as slow")
        }
        _ => format!("{:.2} times as fast", compared.speedup),
    };
    format!("{ratio}: {}", compared.call.name())
}

/// Green and red only where the whole band agrees.
fn role(compared: &Compared) -> Role {
    match compared.call {
        Call::Faster => Role::Good,
        Call::Slower => Role::Bad,
        _ => Role::Heading,
    }
}

/// Rows of the first screen that say why.
const CAUSES: usize = 4;

/// What the kernels do differently, the rows that explain most of the time.
pub(super) fn why(compared: &Compared, detail: Detail) -> Table {
    let mut table = Table::new([
        Column::left("why").shrink(),
        Column::right("before"),
        Column::right("after"),
        Column::right("ratio"),
        Column::right("explains"),
    ]);
    let shown = |name: &str, value: f64| match value {
        _ if name.starts_with("bytes") => number::bytes(value.round() as u64),
        100.0.. => number::grouped(value.round() as u64),
        value => format!("{value:.1}"),
    };
    let least = 0.01 * compared.before.time_us.max(compared.after.time_us);
    for row in compared.why.iter().take(detail.rows(CAUSES)) {
        let ratio = match row.before > 0.0 {
            true => format!("{:.3}", row.after / row.before),
            false => "–".to_owned(),
        };
        table.row([
            row.name.to_owned(),
            shown(row.name, row.before),
            shown(row.name, row.after),
            ratio,
            match row.explains_us.abs() >= least {
                true => signed(row.explains_us),
                false => "–".to_owned(),
            },
        ]);
    }
    table
}

fn terms(compared: &Compared, detail: Detail) -> Table {
    let mut table = Table::new([
        Column::left("term"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
    ]);
    let (before, after) = (&compared.before, &compared.after);
    let band = |one: &crate::document::Predicted| super::answer::band(one);
    table.row([
        "predicted time".to_owned(),
        time(before.time_us),
        time(after.time_us),
        signed(after.time_us - before.time_us),
    ]);
    table.row([
        "  band".to_owned(),
        band(before),
        band(after),
        String::new(),
    ]);
    let least = 0.01 * before.time_us.max(after.time_us);
    let most = detail.rows(TERMS);
    let matter = compared.terms.iter().filter(|term| {
        detail == Detail::Full
            || term.change().abs() >= least
            || term.before_us.max(term.after_us) >= 5.0 * least
    });
    for term in matter.take(most) {
        let shown = |us: f64| match us > 0.0 {
            true => time(us),
            false => "–".to_owned(),
        };
        let change = match term.change().abs() < least {
            true => Cell::new("about the same", Role::Dim),
            false => signed(term.change()).into(),
        };
        table.row([
            Cell::from(term.name),
            shown(term.before_us).into(),
            shown(term.after_us).into(),
            change,
        ]);
    }
    table
}

fn signed(us: f64) -> String {
    let sign = if us < 0.0 { "-" } else { "+" };
    format!("{sign}{}", time(us.abs()))
}

/// What both do, whatever the chip.
fn work(compared: &Compared) -> Table {
    let (before, after) = (&compared.before.work, &compared.after.work);
    let mut table = Table::new([
        Column::left("work of the whole launch").shrink(),
        Column::right("before"),
        Column::right("after"),
        Column::right("ratio"),
    ]);
    type Show = fn(f64) -> String;
    let bytes: Show = |value| number::bytes(value.round() as u64);
    let count: Show = |value| number::grouped(value.round() as u64);
    let rows = [
        (
            "instructions of simdgroups",
            before.instructions,
            after.instructions,
            count,
        ),
        (
            "moved to and from device memory",
            before.device_bytes,
            after.device_bytes,
            bytes,
        ),
        (
            "distinct cache lines",
            before.touched_bytes,
            after.touched_bytes,
            bytes,
        ),
        (
            "moved to and from threadgroup memory",
            before.threadgroup_bytes,
            after.threadgroup_bytes,
            bytes,
        ),
    ];
    for (name, before, after, show) in rows {
        if before == 0.0 && after == 0.0 {
            continue;
        }
        let ratio = match before > 0.0 {
            true => format!("{:.2}", after / before),
            false => "–".to_owned(),
        };
        table.row([name.to_owned(), show(before), show(after), ratio]);
    }
    table
}
