//! The CPU's functions, copies and memory.

use super::plain;
use crate::analysis::document::*;
use crate::render::{gigabytes, millis, signed_bytes};
use assay_report::number::{bytes, grouped, or_unknown};
use std::fmt::Write;

/// Hot functions of the CPU.
pub(super) fn host(out: &mut String, a: &Analysis) {
    let Some(hot) = &a.cpu.hot else {
        return;
    };
    let _ = writeln!(
        out,
        "\n## CPU\n\n{} samples, {} of CPU time in the window.\n\n| function | own time | CPU | in |\n|---|--:|--:|---|",
        grouped(hot.samples),
        millis(hot.sampled_ms)
    );
    for function in &hot.functions {
        let _ = writeln!(
            out,
            "| {} | {:.1} % | {} | {} |",
            plain(&function.function),
            function.share * 100.0,
            millis(function.ms),
            plain(&function.binary)
        );
    }
}

pub(super) fn memory(out: &mut String, a: &Analysis) {
    out.push_str("\n## Memory patterns\n\n| | |\n|---|---|\n");
    for (name, value) in memory_rows(a) {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    let memory = &a.memory;
    if !memory.unfreed_groups.is_empty() {
        out.push_str("\n| not freed | count | resource | allocated by |\n|--:|--:|---|---|\n");
        for group in &memory.unfreed_groups {
            let _ = writeln!(
                out,
                "| {} | {} | {} {} | {} |",
                bytes(group.bytes),
                grouped(group.count),
                plain(&group.label),
                plain(&group.resource),
                group.caller.as_deref().map_or_else(String::new, plain)
            );
        }
    }
    if !memory.allocators.is_empty() {
        out.push_str("\n| Metal memory | resources | allocated by |\n|--:|--:|---|\n");
        for row in &memory.allocators {
            let _ = writeln!(
                out,
                "| {} | {} | {} ({}) |",
                bytes(row.bytes),
                grouped(row.count),
                plain(&row.function),
                plain(&row.binary)
            );
        }
    }
    if !memory.heap.is_empty() {
        out.push_str("\n| heap category | all | still there | blocks |\n|---|--:|--:|--:|\n");
        for row in &memory.heap {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                plain(&row.category),
                bytes(row.total_bytes),
                bytes(row.persistent_bytes),
                grouped(row.total)
            );
        }
    }
}

fn memory_rows(a: &Analysis) -> Vec<(&'static str, String)> {
    let (t, memory) = (&a.transfers, &a.memory);
    let absent = || "unknown (table not exported)".to_owned();
    let mut rows = vec![
        (
            "Blit executions",
            format!(
                "{}, {} ({:.1} % of GPU time)",
                grouped(t.blits),
                millis(t.blit_ms),
                t.blit_share * 100.0
            ),
        ),
        (
            "Bytes moved by blits",
            format!(
                "{}{}",
                or_unknown(t.blit_bytes.map(bytes)),
                gigabytes(t.blit_gbs, t.blit_of_bandwidth)
            ),
        ),
        (
            "Memory wired",
            match (t.wirings, t.wiring_ms) {
                (Some(count), Some(time)) => format!(
                    "{} times, {}, {}{}",
                    grouped(count),
                    millis(time),
                    or_unknown(t.wired_bytes.map(bytes)),
                    gigabytes(t.wiring_gbs, None)
                ),
                _ => absent(),
            },
        ),
        (
            "Resources allocated in the window",
            t.allocations.map_or_else(absent, |count| {
                format!(
                    "{}, {}",
                    grouped(count),
                    or_unknown(t.allocated_bytes.map(bytes))
                )
            }),
        ),
        (
            "Not freed",
            memory.unfreed.map_or_else(absent, |count| {
                format!(
                    "{}, {}",
                    grouped(count),
                    or_unknown(memory.unfreed_bytes.map(bytes))
                )
            }),
        ),
        ("Peak allocated", or_unknown(memory.peak_bytes.map(bytes))),
        (
            "Growth after the first quarter",
            match (memory.growing, memory.growth_bytes_per_s) {
                (Some(growing), Some(rate)) => format!(
                    "{} per second ({})",
                    signed_bytes(rate),
                    if growing {
                        "keeps growing"
                    } else {
                        "does not last"
                    }
                ),
                _ => "unknown".to_owned(),
            },
        ),
    ];
    rows.push((
        "Leaks",
        match &memory.leaks {
            None => "unknown (Leaks instrument not recorded)".to_owned(),
            Some(leaks) => format!(
                "{}, {}",
                grouped(leaks.iter().map(|leak| leak.count).sum()),
                bytes(leaks.iter().map(|leak| leak.bytes).sum())
            ),
        },
    ));
    rows
}
