//! `best_times.md`: kernels down, devices across.

use super::{View, by_device};
use crate::claim::Claim;
use crate::entry::Entry;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The view as Markdown. Cells are milliseconds of the source that holds the record, with its speed-up over the
/// reference where there was one.
pub fn markdown(view: &View) -> String {
    let mut out = "# Best times\n\n".to_owned();
    if !view.results.is_empty() {
        results(&mut out, &view.results);
    }
    if !view.claims.is_empty() {
        claims(&mut out, &view.claims);
    }
    out
}

fn results(out: &mut String, results: &[Entry]) {
    out.push_str(
        "Median time in milliseconds of the source that holds the record, and in brackets its speed-up over the \
         reference. Every figure is of a kernel that was verified here. `measured` is a GPU's clock; `host` is a \
         CPU's, which says nothing about a GPU. `—`: not run there.\n\n",
    );
    let devices = by_device(results);
    out.push_str("| kernel | type | set | sizes |");
    for (device, _) in &devices {
        let _ = write!(out, " {} |", cell(&device.heading()));
    }
    out.push_str("\n|---|---|---|---|");
    out.push_str(&"---|".repeat(devices.len()));
    out.push('\n');
    let rows: BTreeSet<_> = results.iter().map(row).collect();
    for row in &rows {
        let (kernel, dtype, size_set, sizes, set) = row;
        let _ = write!(out, "| `{}` | {dtype} | {set} | ", cell(kernel));
        let sizes: Vec<String> = sizes
            .iter()
            .map(|(name, size)| format!("{name} {size}"))
            .collect();
        let _ = write!(out, "{}: {} |", cell(size_set), cell(&sizes.join(", ")));
        for (_, entries) in &devices {
            let here = |entry: &&&Entry| entry.record && self::row(entry) == *row;
            let time = entries
                .iter()
                .find(here)
                .map_or("—".to_owned(), |entry| time(entry));
            let _ = write!(out, " {time} |");
        }
        out.push('\n');
    }
    let kernels: BTreeSet<&str> = results.iter().map(|entry| entry.kernel.as_str()).collect();
    let _ = writeln!(
        out,
        "\n{} kernels on {} device{}.",
        kernels.len(),
        devices.len(),
        if devices.len() == 1 { "" } else { "s" }
    );
}

/// What a row is of, in the order of rows.
fn row(entry: &Entry) -> (&str, String, &str, Vec<(&str, u64)>, &str) {
    let sizes = entry.sizes.iter();
    let sizes = sizes.map(|(name, size)| (name.as_str(), *size)).collect();
    let variant = match entry.mode.as_str() {
        "" => entry.dtype.clone(),
        mode => format!("{} {mode}", entry.dtype),
    };
    (&entry.kernel, variant, &entry.size_set, sizes, &entry.set)
}

fn time(entry: &Entry) -> String {
    let run = &entry.run;
    match &run.reference {
        None => format!("{:.3}", run.median_ms),
        Some(reference) => format!(
            "{:.3} ({:.2}× over {})",
            run.median_ms,
            reference.speedup,
            reference.name.replace('|', "\\|")
        ),
    }
}

fn claims(out: &mut String, claims: &[Claim]) {
    out.push_str(
        "\n## Claims of others\n\nRead from other programs' files. Nothing here was verified, and nothing here is \
         ranked with what was.\n\n| kernel | device | ms | speed-up | what speaks against it |\n|---|---|---|---|---|\n",
    );
    for claim in claims {
        let time = claim
            .time_ms
            .map_or("—".to_owned(), |ms| format!("{ms:.3}"));
        let speedup = match claim.shown_speedup() {
            shown if shown.is_empty() => "—".to_owned(),
            shown => shown,
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {time} | {speedup} | {} |",
            cell(&claim.kernel),
            cell(&claim.device),
            cell(&claim.doubts.join("; "))
        );
    }
}

/// Text that stays in its cell and is no markup.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace(['\n', '\r', '`'], " ")
        .replace('<', "&lt;")
}
