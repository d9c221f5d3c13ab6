//! A capture as text.

use super::document::{Capture, CommandBuffer, Dispatch, Pipeline};
use crate::render::text::TextStyle;
use assay_report::number::{bytes, grouped, or_unknown};
use assay_report::style::Role;
use assay_report::table::{Column, Table};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(crate) fn render(capture: &Capture, style: TextStyle) -> String {
    let mut out = String::new();
    if let Some(device) = &capture.device {
        let parts = [
            &device.gpu,
            &device.product,
            &device.os_version,
            &device.os_build,
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let _ = writeln!(
            out,
            "{}",
            style.painter.paint(Role::Dim, &parts.join(" · "))
        );
    }
    let encoders: usize = capture
        .command_buffers
        .iter()
        .map(|b| b.encoders.len())
        .sum();
    let _ = writeln!(
        out,
        "\ncapture: {} command buffers, {encoders} encoders, {} dispatches, {} waits for completion; it holds calls, not times",
        capture.command_buffers.len(),
        grouped(capture.dispatches),
        grouped(capture.waits)
    );
    let committed = capture
        .command_buffers
        .iter()
        .filter(|b| b.committed)
        .count();
    if capture.waits > 0 {
        let _ = writeln!(
            out,
            "  the program waited for {} of {committed} committed command buffers (waitUntilCompleted)",
            capture.waits
        );
    }
    kernels(&mut out, capture, style);
    calls(&mut out, capture, style);
    for pipeline in &capture.pipelines {
        statistics(&mut out, pipeline, style);
    }
    libraries(&mut out, capture, style);
    code(&mut out, capture, style);
    if style.verbose && !capture.unknown_selectors.is_empty() {
        let selector = |(name, count): (&String, &u64)| format!("{name} ×{count}");
        let all: Vec<String> = capture.unknown_selectors.iter().map(selector).collect();
        let _ = writeln!(out, "\nselectors not understood: {}", all.join(", "));
    }
    out
}

fn heading(out: &mut String, text: &str, style: TextStyle) {
    let _ = writeln!(out, "\n{}", style.painter.paint(Role::Heading, text));
}

fn kernels(out: &mut String, capture: &Capture, style: TextStyle) {
    let mut counts: BTreeMap<&str, (u64, u128)> = BTreeMap::new();
    for dispatch in dispatches(&capture.command_buffers) {
        let entry = counts
            .entry(dispatch.kernel.as_deref().unwrap_or("(unknown)"))
            .or_default();
        entry.0 += 1;
        entry.1 += dispatch
            .grid
            .iter()
            .map(|&n| u128::from(n))
            .product::<u128>();
    }
    if counts.len() < 2 {
        return;
    }
    heading(out, "Kernels", style);
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|&(name, (count, _))| (std::cmp::Reverse(count), name));
    let mut table = Table::new([Column::right("dispatches"), Column::left("kernel").shrink()])
        .painter(style.painter)
        .indent(2);
    for (name, (count, _)) in rows.into_iter().take(style.top) {
        table.row([grouped(count), name.to_owned()]);
    }
    out.push_str(&table.render(style.width));
}

fn dispatches(buffers: &[CommandBuffer]) -> impl Iterator<Item = &Dispatch> {
    buffers
        .iter()
        .flat_map(|b| &b.encoders)
        .flat_map(|e| &e.dispatches)
}

fn calls(out: &mut String, capture: &Capture, style: TextStyle) {
    heading(out, "Calls", style);
    let shown = if style.verbose { usize::MAX } else { style.top };
    for (index, buffer) in capture.command_buffers.iter().take(shown).enumerate() {
        let label = buffer
            .label
            .as_deref()
            .map_or_else(String::new, |l| format!(" “{l}”"));
        let end = match (buffer.committed, buffer.waited) {
            (true, true) => "committed, waited for",
            (true, false) => "committed",
            _ => "not committed",
        };
        let _ = writeln!(out, "  command buffer {index}{label} {} ({end})", buffer.id);
        for (number, encoder) in buffer.encoders.iter().enumerate() {
            let label = encoder
                .label
                .as_deref()
                .map_or_else(String::new, |l| format!(" “{l}”"));
            let _ = writeln!(out, "    encoder {number}{label} {}", encoder.id);
            for dispatch in encoder.dispatches.iter().take(shown) {
                self::dispatch(out, dispatch);
            }
            let rest = encoder.dispatches.len().saturating_sub(shown);
            if rest > 0 {
                let _ = writeln!(out, "      and {rest} more dispatches (-v shows all)");
            }
        }
    }
    let rest = capture.command_buffers.len().saturating_sub(shown);
    if rest > 0 {
        let _ = writeln!(out, "  and {rest} more command buffers (-v shows all)");
    }
}

fn dispatch(out: &mut String, dispatch: &Dispatch) {
    let size = |[x, y, z]: [u64; 3]| format!("{x}×{y}×{z}");
    let unit = match dispatch.grid_unit.as_str() {
        "threads" => "threads",
        _ => "(threads or threadgroups)",
    };
    let _ = writeln!(
        out,
        "      {}  {} {unit} in threadgroups of {}",
        dispatch.kernel.as_deref().unwrap_or("(unknown kernel)"),
        size(dispatch.grid),
        size(dispatch.threadgroup)
    );
    for binding in &dispatch.buffers {
        let name = binding
            .name
            .as_deref()
            .or(binding.label.as_deref())
            .unwrap_or("");
        let offset = if binding.offset > 0 {
            format!(" + {}", binding.offset)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "        [{}] {name} {}{offset}, {}",
            binding.index,
            binding.buffer,
            or_unknown(binding.length.map(bytes))
        );
    }
}

fn statistics(out: &mut String, pipeline: &Pipeline, style: TextStyle) {
    let Some(statistics) = &pipeline.statistics else {
        return;
    };
    let name = pipeline.kernel.as_deref().unwrap_or(&pipeline.id);
    heading(out, &format!("{name}, as Apple's compiler sees it"), style);
    if let Some(source) = &pipeline.source {
        let _ = writeln!(out, "  source       {source}");
    }
    let _ = writeln!(
        out,
        "  instructions {}, temporary registers {}, uniform registers {}",
        or_unknown(statistics.instructions),
        or_unknown(statistics.temporary_registers),
        or_unknown(statistics.uniform_registers)
    );
    let spilled = statistics.spilled_bytes;
    let spills = format!("spilled {}", or_unknown(spilled.map(bytes)));
    let spills = if spilled > Some(0) {
        style.painter.paint(Role::Bad, &spills)
    } else {
        spills
    };
    let _ = writeln!(
        out,
        "  {spills}, threadgroup memory {}",
        or_unknown(statistics.threadgroup_memory_bytes.map(bytes))
    );
    let mix = statistics
        .instruction_mix
        .iter()
        .filter(|&(_, &count)| count > 0);
    let mix: Vec<String> = mix.map(|(kind, count)| format!("{kind} {count}")).collect();
    let _ = writeln!(out, "  mix          {}", mix.join(", "));
    let lines = statistics
        .remarks
        .iter()
        .filter(|remark| remark.line.is_some());
    for remark in lines.take(if style.verbose { usize::MAX } else { 0 }) {
        let _ = writeln!(
            out,
            "  {}:{} {} ({}, {})",
            remark.file.as_deref().unwrap_or("?"),
            or_unknown(remark.line),
            remark.message,
            remark.name,
            remark.function
        );
    }
}

fn libraries(out: &mut String, capture: &Capture, style: TextStyle) {
    if capture.libraries.is_empty() {
        return;
    }
    heading(out, "Libraries", style);
    for library in &capture.libraries {
        let _ = writeln!(
            out,
            "  {} ({}, member {}): {}",
            library.path.as_deref().unwrap_or(&library.id),
            or_unknown(library.bytes.map(bytes)),
            library.member.as_deref().unwrap_or("none"),
            library.functions.join(", ")
        );
    }
}

fn code(out: &mut String, capture: &Capture, style: TextStyle) {
    if capture.code.is_empty() {
        return;
    }
    heading(out, "Machine code", style);
    let mut table = Table::new([
        Column::left("member").shrink(),
        Column::left("GPU"),
        Column::right("functions"),
        Column::left("can be read"),
    ])
    .painter(style.painter)
    .indent(2);
    for slice in &capture.code {
        let readable = if slice.decodable { "yes" } else { "no" };
        table.row([
            slice.member.clone(),
            slice.target.clone(),
            grouped(slice.functions),
            readable.to_owned(),
        ]);
    }
    out.push_str(&table.render(style.width));
}
