//! The report as one HTML file with a zoomable timeline. Nothing is fetched.

use super::timeline_data::Drawn;
use super::{
    baseline_cells, gigabytes, micros, millis, part_of_chip, percent, rate, regularity, timeline,
};
use crate::analysis::document::*;
use crate::analysis::view::View;
use crate::analysis::{Options, analyze_view, gaps};
use crate::error::Error;
use crate::recording::Recording;
use assay_report::html::{escape, page};
use assay_report::number::{bytes, grouped};
use std::fmt::Write;

use timeline::STYLE;

/// The report on a recording as a page.
pub fn report_html(recording: &Recording, options: &Options) -> Result<(Analysis, String), Error> {
    let view = View::new(recording, options)?;
    let analysis = analyze_view(&view, options);
    let name = analysis
        .recording
        .target
        .name
        .as_deref()
        .unwrap_or("recording");
    let title = format!("{name}: where the GPU's time goes");
    let mut body = String::new();
    head(&mut body, &analysis);
    verdict(&mut body, &analysis.verdict);
    if let Some(capture) = &recording.capture {
        let style = super::text::TextStyle {
            detail: assay_report::blocks::Detail::Full,
            width: 120,
            painter: assay_report::style::Painter::default(),
            top: usize::MAX,
            verbose: true,
        };
        let text = crate::capture::text::render(capture, style);
        let _ = writeln!(body, "<pre>{}</pre>", escape(&text));
        return Ok((analysis, page(&title, STYLE, &body, "")));
    }
    let mut script = "";
    if analysis.intervals.rows_target > 0 {
        figures(&mut body, &analysis);
        let drawn = Drawn {
            view: &view,
            gaps: &gaps::find(&view),
            title: None,
            step: None,
        };
        timeline::section(&mut body, &[drawn]);
        script = timeline::SCRIPT;
    }
    findings(&mut body, &analysis.findings);
    baseline(&mut body, &analysis);
    tables(&mut body, &analysis);
    missing(&mut body, &analysis.recording);
    warnings(&mut body, &analysis.recording.warnings);
    Ok((analysis, page(&title, STYLE, &body, script)))
}

fn head(out: &mut String, a: &Analysis) {
    let recording = &a.recording;
    let name = recording.target.name.as_deref().unwrap_or("Recording");
    let pid = recording
        .target
        .pid
        .map_or_else(String::new, |pid| format!(" (pid {pid})"));
    let _ = writeln!(out, "<h1>{}{pid}</h1>", escape(name));
    let parts: Vec<String> = [
        recording.model.clone(),
        recording.gpu.as_ref().map(|gpu| format!("GPU {gpu}")),
        recording
            .os_version
            .as_ref()
            .map(|os| format!("macOS {os}")),
        recording
            .instruments_version
            .as_ref()
            .map(|v| format!("Instruments {v}")),
        recording
            .duration_s
            .map(|s| format!("recorded for {s:.3} s")),
        recording.start_date.clone(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let _ = writeln!(
        out,
        "<div class=\"dim\">{}</div>",
        escape(&parts.join(" · "))
    );
}

fn verdict(out: &mut String, verdict: &Verdict) {
    let _ = writeln!(
        out,
        "<div class=\"verdict\"><b>{}</b> <span class=\"dim\">({} confidence)</span>: {}<ul>",
        verdict.kind.word(),
        verdict.confidence.word(),
        escape(&verdict.summary)
    );
    for evidence in &verdict.evidence {
        let _ = writeln!(out, "<li>{}</li>", escape(evidence));
    }
    out.push_str("</ul></div>\n");
}

fn figures(out: &mut String, a: &Analysis) {
    out.push_str("<div class=\"figures\">\n");
    let mut figure = |name: &str, value: String| {
        let _ = writeln!(
            out,
            "<div class=\"figure\"><span>{name}</span><strong>{}</strong></div>",
            escape(&value)
        );
    };
    if let Some(program) = &a.program {
        let ms = |ms: f64| assay_report::number::nanoseconds(ms * 1e6);
        let band = format!("{} to {}", ms(program.low_ms), ms(program.high_ms));
        figure(
            &format!("GPU time on {} (modelled)", program.chip),
            ms(program.gpu_ms),
        );
        figure("four of five in", band);
    }
    figure(
        &format!("utilisation ({})", a.recording.time_source),
        percent(a.gpu.utilization),
    );
    figure("GPU busy", millis(a.gpu.busy_ms));
    figure("window", millis(a.window.span_ms));
    figure("encoder executions", grouped(a.intervals.rows_target));
    figure("command buffers", grouped(a.intervals.command_buffers));
    figure("mean execution", micros(a.intervals.mean_us));
    figure("mean gap", micros(a.gaps.mean_us));
    figure("commit to start, median", micros(a.latency.median_us));
    figure(
        "strong sync points",
        format!(
            "{} of {}",
            grouped(a.synchronisation.strong),
            grouped(a.synchronisation.pairs)
        ),
    );
    out.push_str("</div>\n");
}

pub(super) fn findings(out: &mut String, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    out.push_str("<h2>Findings</h2>\n");
    for finding in findings {
        let _ = writeln!(
            out,
            "<div class=\"finding {}\"><code>{}</code> {}<br>→ {}",
            finding.severity.name(),
            escape(&finding.rule),
            escape(&finding.message),
            escape(&finding.advice)
        );
        if let Some(gain) = &finding.gain {
            let _ = writeln!(
                out,
                "<br><span class=\"dim\">gain: {}; effort: {}</span>",
                escape(gain),
                escape(&finding.effort)
            );
        }
        out.push_str("</div>\n");
    }
}

/// A table with a heading; the first column is text, the others figures. It scrolls sideways
/// where it does not fit, by keys, too.
pub(super) fn table(out: &mut String, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let heading = escape(heading);
    let _ = write!(
        out,
        "<h2>{heading}</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{heading}\"><table><thead><tr>"
    );
    for (index, column) in columns.iter().enumerate() {
        let class = if index > 0 { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(column));
    }
    out.push_str("</tr></thead>\n<tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let class = if index > 0 { " class=\"n\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Chips and kernels of a recorded program.
fn program(out: &mut String, a: &Analysis) {
    let Some(program) = &a.program else { return };
    let chip = |c: &ChipTime| {
        vec![
            c.chip.clone(),
            millis(c.gpu_ms),
            millis(c.low_ms),
            millis(c.high_ms),
            if c.stand_in { "stand-in code" } else { "" }.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = program.chips.iter().map(chip).collect();
    let columns = ["chip", "GPU time", "low", "high", ""];
    table(out, "Chips (modelled)", &columns, &rows);
    let kernel = |k: &KernelTime| {
        vec![
            k.kernel.clone(),
            percent(k.share),
            millis(k.total_ms),
            grouped(k.dispatches),
            part_of_chip(k.of_roof),
            part_of_chip(k.program_gain),
            k.limited_by.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = program.kernels.iter().take(40).map(kernel).collect();
    let columns = [
        "kernel",
        "share",
        "total",
        "count",
        "of roof",
        "gain at roof",
        "limited by",
    ];
    table(out, "Kernels (modelled)", &columns, &rows);
}

fn tables(out: &mut String, a: &Analysis) {
    let label = |l: &Label| {
        vec![
            l.label.clone(),
            format!("{:.1} %", l.share * 100.0),
            millis(l.total_ms),
            grouped(l.count),
            micros(Some(l.mean_us)),
            micros(Some(l.median_us)),
            micros(Some(l.max_us)),
        ]
    };
    let rows: Vec<Vec<String>> = a.families.iter().take(40).map(label).collect();
    table(
        out,
        "GPU time by label (numbers ignored)",
        &["label", "share", "total", "count", "mean", "median", "max"],
        &rows,
    );
    program(out, a);
    throughput(out, a);
    let bin = |b: &Bin| {
        vec![
            match b.to_us {
                Some(to) => format!("{} to {to} µs", b.from_us),
                None => format!("from {} µs", b.from_us),
            },
            grouped(b.count),
            millis(b.total_ms),
        ]
    };
    let rows: Vec<Vec<String>> = a
        .gaps
        .histogram
        .iter()
        .filter(|b| b.count > 0)
        .map(bin)
        .collect();
    table(out, "Gaps", &["length", "gaps", "together"], &rows);
    if let Some(found) = &a.gaps.regularity {
        let _ = writeln!(out, "<p>Gaps are {}.</p>", escape(&regularity(found)));
    }
    if let Some(activity) = &a.cpu.while_gpu_waits {
        let function = |f: &HostFunction| {
            vec![
                format!("{} ({})", f.function, f.binary),
                format!("{:.1} %", f.share * 100.0),
                millis(f.ms),
            ]
        };
        let rows: Vec<Vec<String>> = activity.functions.iter().map(function).collect();
        table(
            out,
            "Host functions while the GPU waited",
            &["function", "own time", "CPU"],
            &rows,
        );
    }
    host(out, a);
    memory(out, a);
    let other = |o: &OtherProcess| vec![o.name.clone(), millis(o.busy_ms), grouped(o.count)];
    let rows: Vec<Vec<String>> = a.other_processes.iter().map(other).collect();
    table(
        out,
        "Other processes in the window",
        &["process", "busy", "executions"],
        &rows,
    );
    let phase = |p: &Phase| {
        vec![
            p.number.to_string(),
            millis(p.start_ms),
            millis(p.span_ms),
            percent(p.utilization),
            grouped(p.executions),
        ]
    };
    if a.window.phases.len() > 1 {
        let rows: Vec<Vec<String>> = a.window.phases.iter().take(50).map(phase).collect();
        table(
            out,
            "Phases",
            &["phase", "start", "length", "utilisation", "executions"],
            &rows,
        );
    }
}

fn throughput(out: &mut String, a: &Analysis) {
    let row = |row: &Throughput| {
        vec![
            row.operation.clone(),
            format!("{:.1} %", row.share * 100.0),
            millis(row.total_ms),
            grouped(row.count),
            rate(row.gflops),
            part_of_chip(row.of_compute),
            rate(row.gbs),
            part_of_chip(row.of_bandwidth),
        ]
    };
    let rows: Vec<Vec<String>> = a.throughput.iter().map(row).collect();
    table(
        out,
        "Throughput of operations (work given)",
        &[
            "operation",
            "share",
            "total",
            "count",
            "GFLOP/s",
            "of peak",
            "GB/s",
            "of bandwidth",
        ],
        &rows,
    );
    if let Some(chip) = a.recording.chip.as_ref().filter(|_| !rows.is_empty()) {
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", escape(&chip.note));
    }
}

/// Hot functions in the whole window.
fn host(out: &mut String, a: &Analysis) {
    let Some(hot) = &a.cpu.hot else {
        return;
    };
    let row = |f: &HostFunction| {
        vec![
            format!("{} ({})", f.function, f.binary),
            format!("{:.1} %", f.share * 100.0),
            millis(f.ms),
        ]
    };
    let rows: Vec<Vec<String>> = hot.functions.iter().map(row).collect();
    table(
        out,
        "Hot functions of the CPU in the window",
        &["function", "own time", "CPU"],
        &rows,
    );
}

fn memory(out: &mut String, a: &Analysis) {
    let (t, memory) = (&a.transfers, &a.memory);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if t.blits > 0 {
        let volume = t.blit_bytes.map_or_else(|| "unknown".to_owned(), bytes);
        row(
            "copied by blits",
            format!("{volume}{}", gigabytes(t.blit_gbs, t.blit_of_bandwidth)),
        );
    }
    if let (Some(first), Some(last), Some(peak)) =
        (memory.first_bytes, memory.last_bytes, memory.peak_bytes)
    {
        row(
            "Metal memory at start, end, peak",
            format!("{}, {}, {}", bytes(first), bytes(last), bytes(peak)),
        );
    }
    if let Some(growing) = memory.growing {
        row(
            "keeps growing",
            if growing { "yes" } else { "no" }.to_owned(),
        );
    }
    if let Some(count) = memory.unfreed {
        row("resources not freed", grouped(count));
    }
    if let Some(leaks) = &memory.leaks {
        row(
            "leaked objects",
            grouped(leaks.iter().map(|leak| leak.count).sum()),
        );
    }
    table(out, "Copies and memory", &["", ""], &rows);
    let row = |row: &Allocator| {
        vec![
            format!("{} ({})", row.function, row.binary),
            bytes(row.bytes),
            grouped(row.count),
        ]
    };
    let rows: Vec<Vec<String>> = memory.allocators.iter().map(row).collect();
    table(
        out,
        "Who allocates Metal memory",
        &["function", "bytes", "resources"],
        &rows,
    );
}

fn baseline(out: &mut String, a: &Analysis) {
    let Some(baseline) = &a.baseline else {
        return;
    };
    let row = |row: &BaselineRow| {
        let [measured, other, ratio] = baseline_cells(row);
        vec![row.metric.clone(), measured, other, ratio]
    };
    let rows: Vec<Vec<String>> = baseline.rows.iter().map(row).collect();
    let heading = format!("Beside {}", baseline.name);
    table(
        out,
        &heading,
        &["", "this run", &baseline.name, "ratio"],
        &rows,
    );
}

/// Tables that would say more, folded.
fn missing(out: &mut String, recording: &RecordingInfo) {
    if recording.missing.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Not in the inputs</h2>\n<details><summary>Tables that would say more, and the commands that export them</summary>\n<ul>\n",
    );
    for table in &recording.missing {
        let _ = write!(
            out,
            "<li>{}: {}",
            escape(&table.table),
            escape(&table.shows)
        );
        for command in table.record.iter().chain([&table.export]) {
            let _ = write!(out, "<br><code>{}</code>", escape(command));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul></details>\n");
}

pub(super) fn warnings(out: &mut String, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    out.push_str("<h2>Warnings</h2>\n<ul>\n");
    for warning in warnings {
        let _ = writeln!(out, "<li>{}</li>", escape(warning));
    }
    out.push_str("</ul>\n");
}
