//! Throughput, library versions, another engine's run, and what is missing.

use super::plain;
use crate::analysis::document::*;
use crate::render::{baseline_cells, millis, part_of_chip, rate};
use assay_report::number::{grouped, or_unknown};
use std::fmt::Write;

/// Operations against what the chip can do.
pub(super) fn throughput(out: &mut String, a: &Analysis) {
    if a.throughput.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## Throughput of operations\n\nTimes are {}; FLOPs and bytes are given.",
        a.recording.time_source
    );
    if let Some(chip) = &a.recording.chip {
        let figure = |value: Option<f64>| or_unknown(value.map(|value| format!("{value:.1}")));
        let _ = writeln!(
            out,
            "The chip: {} GB/s, {} GFLOP/s ({}).",
            figure(chip.bandwidth_gbs),
            figure(chip.peak_gflops),
            plain(&chip.note)
        );
    }
    out.push_str(
        "\n| operation | share | total | count | GFLOP/s | of peak | GB/s | of bandwidth | work from |\n|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
    );
    for row in &a.throughput {
        let _ = writeln!(
            out,
            "| {} | {:.1} % | {} | {} | {} | {} | {} | {} | {} |",
            plain(&row.operation),
            row.share * 100.0,
            millis(row.total_ms),
            grouped(row.count),
            rate(row.gflops),
            part_of_chip(row.of_compute),
            rate(row.gbs),
            part_of_chip(row.of_bandwidth),
            plain(&row.source)
        );
    }
}

/// Versions of libraries, as rows of the configuration.
pub(super) fn libraries(out: &mut String, libraries: &[LibraryVersion]) {
    for library in libraries {
        let _ = writeln!(
            out,
            "| {} | {} ({}) |",
            plain(&library.name),
            library
                .version
                .as_deref()
                .map_or_else(|| "version unknown".to_owned(), plain),
            plain(&library.source)
        );
    }
    if libraries.is_empty() {
        out.push_str(
            "| Libraries | unknown (--library NAME=VERSION or --libraries FILE says them) |\n",
        );
    }
}

/// This run beside another engine's.
pub(super) fn baseline(out: &mut String, a: &Analysis) {
    let Some(baseline) = &a.baseline else {
        return;
    };
    let name = plain(&baseline.name);
    let _ = writeln!(
        out,
        "\n## Baseline\n\n{name} ran on {}.\n\n| metric | this run | {name} | ratio |\n|---|--:|--:|--:|",
        baseline
            .gpu
            .as_deref()
            .map_or_else(|| "an unknown GPU".to_owned(), plain)
    );
    for row in &baseline.rows {
        let [measured, other, ratio] = baseline_cells(row);
        let _ = writeln!(out, "| {} | {measured} | {other} | {ratio} |", row.metric);
    }
}

/// Tables that would say more.
pub(super) fn missing(out: &mut String, a: &Analysis) {
    if a.recording.missing.is_empty() {
        return;
    }
    out.push_str("\n## Not in the inputs\n\n");
    for table in &a.recording.missing {
        let _ = writeln!(out, "- {}: {}", plain(&table.table), table.shows);
        for command in table.record.iter().chain([&table.export]) {
            let _ = writeln!(out, "  `{command}`");
        }
    }
}
