//! The report as Markdown: the profiling-results document that the profiling guides
//! ask for, filled in.

mod memory;
mod program;
mod work;

use super::{micros, millis, percent, regularity};
use crate::analysis::document::*;
use assay_report::number::{grouped, or_unknown};
use std::fmt::Write;

/// Text that Markdown would take for markup, made harmless.
pub(in crate::render) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(
            character,
            '|' | '*' | '_' | '`' | '<' | '>' | '\\' | '[' | ']'
        ) {
            out.push('\\');
        }
        out.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    out
}

/// The profiling-results document.
pub fn report_markdown(a: &Analysis) -> String {
    let mut out = String::new();
    let name = a
        .recording
        .target
        .name
        .as_deref()
        .unwrap_or("unknown process");
    let _ = writeln!(out, "# Profiling results: {}\n", plain(name));
    configuration(&mut out, a);
    let _ = writeln!(
        out,
        "\n## Verdict\n\n**{}** ({} confidence): {}.\n",
        a.verdict.kind.word(),
        a.verdict.confidence.word(),
        a.verdict.summary
    );
    for evidence in &a.verdict.evidence {
        let _ = writeln!(out, "- {}", plain(evidence));
    }
    findings(&mut out, a);
    if a.intervals.rows_target > 0 {
        program::program(&mut out, a);
        utilisation(&mut out, a);
        work::throughput(&mut out, a);
        memory::host(&mut out, a);
        memory::memory(&mut out, a);
        opportunities(&mut out, a);
        metrics(&mut out, a);
        work::baseline(&mut out, a);
    }
    work::missing(&mut out, a);
    if !a.recording.warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
        for warning in &a.recording.warnings {
            let _ = writeln!(out, "- {}", plain(warning));
        }
    }
    out
}

fn configuration(out: &mut String, a: &Analysis) {
    let r = &a.recording;
    let unknown = || "unknown".to_owned();
    let text = |value: &Option<String>| value.as_deref().map_or_else(unknown, plain);
    out.push_str("## Configuration\n\n| | |\n|---|---|\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "| {name} | {value} |");
    };
    row("Machine", text(&r.model));
    row("GPU", text(&r.gpu));
    row("macOS", text(&r.os_version));
    row("Instruments", text(&r.instruments_version));
    row("Template", text(&r.template));
    row("Recorded", text(&r.start_date));
    row(
        "Duration",
        r.duration_s
            .map_or_else(unknown, |seconds| format!("{seconds:.3} s")),
    );
    row(
        "Process",
        format!(
            "{} (pid {}), exit status {}",
            text(&r.target.name),
            or_unknown(r.target.pid),
            or_unknown(r.target.exit_status)
        ),
    );
    row("Arguments", text(&r.target.arguments));
    row(
        "Window",
        format!(
            "{} to {} ({})",
            millis(a.window.start_ms),
            millis(a.window.end_ms),
            a.window.chosen_by
        ),
    );
    work::libraries(out, &r.libraries);
}

fn findings(out: &mut String, a: &Analysis) {
    out.push_str("\n## Key findings\n\n");
    if a.findings.is_empty() {
        out.push_str("None.\n");
    }
    for (index, finding) in a.findings.iter().enumerate() {
        let _ = writeln!(
            out,
            "{}. **{}** ({}): {}. *{}*",
            index + 1,
            finding.rule,
            finding.severity.name(),
            plain(&finding.message),
            plain(&finding.advice)
        );
    }
}

fn utilisation(out: &mut String, a: &Analysis) {
    out.push_str("\n## GPU utilisation\n\n");
    let _ = writeln!(
        out,
        "The GPU ran the target's work for {} of {}: **{}**. It was busy for anybody for {} of the recording ({}).\n",
        millis(a.gpu.busy_ms),
        millis(a.window.span_ms),
        percent(a.gpu.utilization),
        millis(a.gpu.machine_busy_ms),
        a.gpu.machine_busy_from
    );
    let _ = writeln!(
        out,
        "{} gaps, {} together: {} waiting for the host, {} from commit to start, {} of that while other processes held the GPU.\n",
        grouped(a.gaps.count),
        millis(a.gaps.total_ms),
        millis(a.gaps.host_wait_ms),
        millis(a.gaps.launch_ms),
        millis(a.gaps.contended_ms)
    );
    if let Some(found) = &a.gaps.regularity {
        let _ = writeln!(out, "Gaps are {}.\n", regularity(found));
    }
    out.push_str("| gap length | gaps | together |\n|---|--:|--:|\n");
    for bin in a.gaps.histogram.iter().filter(|bin| bin.count > 0) {
        let range = match bin.to_us {
            Some(to) => format!("{} to {to} µs", bin.from_us),
            None => format!("from {} µs", bin.from_us),
        };
        let _ = writeln!(
            out,
            "| {range} | {} | {} |",
            grouped(bin.count),
            millis(bin.total_ms)
        );
    }
    out.push_str("\n| label | share | total | count | mean | median | max |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for label in a.families.iter().take(15) {
        let _ = writeln!(
            out,
            "| {} | {:.1} % | {} | {} | {} | {} | {} |",
            plain(&label.label),
            label.share * 100.0,
            millis(label.total_ms),
            grouped(label.count),
            micros(Some(label.mean_us)),
            micros(Some(label.median_us)),
            micros(Some(label.max_us))
        );
    }
}

fn opportunities(out: &mut String, a: &Analysis) {
    out.push_str(
        "\n## Optimisation opportunities\n\n| what | effort | expected gain |\n|---|---|---|\n",
    );
    for finding in &a.findings {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            plain(&finding.advice),
            finding.effort,
            finding
                .gain
                .as_deref()
                .map_or_else(|| "not computable from this recording".to_owned(), plain)
        );
    }
}

fn metrics(out: &mut String, a: &Analysis) {
    out.push_str("\n## Metrics\n\n| metric | measured | target | |\n|---|--:|--:|---|\n");
    let mut row = |name: &str, value: String, target: &str, met: Option<bool>| {
        let mark = match met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "",
        };
        let _ = writeln!(out, "| {name} | {value} | {target} | {mark} |");
    };
    let utilization = a.gpu.utilization;
    row(
        "GPU utilisation",
        percent(utilization),
        "> 80 %",
        Some(utilization > 0.8),
    );
    row(
        "Launch efficiency (GPU time / run time)",
        percent(a.gpu.launch_efficiency),
        "> 70 %",
        Some(a.gpu.launch_efficiency > 0.7),
    );
    row(
        "Encoder executions",
        grouped(a.intervals.rows_target),
        "",
        None,
    );
    row(
        "Command buffers",
        grouped(a.intervals.command_buffers),
        "",
        None,
    );
    row("Mean execution", micros(a.intervals.mean_us), "", None);
    row(
        "Median execution",
        micros(a.intervals.median_us),
        "> 20 µs",
        a.intervals.median_us.map(|us| us > 20.0),
    );
    row("Mean gap", micros(a.gaps.mean_us), "", None);
    row(
        "Commit to start, median",
        micros(a.latency.median_us),
        "",
        None,
    );
    row(
        "GPU end to completed, mean",
        micros(a.completion.gpu_end_to_completed_mean_us),
        "",
        None,
    );
    let sync = &a.synchronisation;
    let share = sync.strong as f64 / sync.pairs.max(1) as f64;
    row(
        "Strong synchronisation points",
        format!("{} of {}", grouped(sync.strong), grouped(sync.pairs)),
        "few",
        (sync.pairs > 0).then_some(share < 0.1),
    );
    row(
        "Copies' share of GPU time",
        percent(a.transfers.blit_share),
        "< 10 %",
        Some(a.transfers.blit_share < 0.1),
    );
    if let Some(mean) = a.queue.mean_depth {
        row(
            "Mean queue depth",
            format!("{mean:.2}"),
            "> 1",
            Some(mean > 1.0),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn labels_cannot_break_a_table() {
        assert_eq!(plain("a|b\n*c*"), "a\\|b \\*c\\*");
    }
}
