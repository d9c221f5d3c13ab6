//! Whose recording it is, what the verdict says, what to do about it.

use super::page::Page;
use crate::analysis::document::*;
use assay_report::number::grouped;
use assay_report::style::Role;
use assay_report::table::{Column, fitted};
use std::fmt::Write;

impl Page {
    pub(super) fn head(&mut self, analysis: &Analysis) {
        let recording = &analysis.recording;
        let target = &recording.target;
        let name = target.name.as_deref().unwrap_or("(unknown process)");
        let mut title = self.paint(Role::Name, name);
        if let Some(pid) = target.pid {
            let _ = write!(title, " (pid {pid})");
        }
        if let Some(status) = target.exit_status {
            let _ = write!(title, ", exit status {status}");
        }
        self.line(&title);
        let mut parts: Vec<String> = Vec::new();
        let push = |parts: &mut Vec<String>, name: &str, value: &Option<String>| {
            if let Some(value) = value {
                parts.push(format!("{name}{value}"));
            }
        };
        push(&mut parts, "", &recording.model);
        push(&mut parts, "GPU ", &recording.gpu);
        push(&mut parts, "macOS ", &recording.os_version);
        push(&mut parts, "Instruments ", &recording.instruments_version);
        if let Some(duration) = recording.duration_s {
            parts.push(format!("recorded for {duration:.3} s"));
        }
        if !parts.is_empty() {
            let line = fitted(&parts.join(" · "), self.style.width);
            let line = self.paint(Role::Dim, &line);
            self.line(&line);
        }
    }

    pub(super) fn verdict(&mut self, verdict: &Verdict) {
        let role = match verdict.kind {
            VerdictKind::KernelBound => Role::Good,
            VerdictKind::Mixed => Role::Warn,
            _ => Role::Bad,
        };
        let word = self.paint(role, verdict.kind.word());
        let confidence = verdict.confidence.word();
        self.out.push('\n');
        self.wrapped(
            "",
            &format!(
                "verdict: {word} ({confidence} confidence): {}",
                verdict.summary
            ),
        );
        for evidence in &verdict.evidence {
            self.wrapped("  - ", evidence);
        }
        if !verdict.also.is_empty() {
            let also: Vec<&str> = verdict.also.iter().map(|kind| kind.word()).collect();
            self.line(&format!("  in part also {}", also.join(", ")));
        }
    }

    pub(super) fn findings(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.heading("Findings");
        for finding in findings {
            let role = match finding.severity {
                Severity::High => Role::Bad,
                Severity::Medium => Role::Warn,
                Severity::Low => Role::Dim,
            };
            let severity = self.paint(role, finding.severity.name());
            let rule = self.paint(Role::Dim, &format!("[{}]", finding.rule));
            self.line(&format!("  {severity} {rule}"));
            self.wrapped("    ", &finding.message);
            self.wrapped("    → ", &finding.advice);
            if let Some(gain) = &finding.gain {
                self.wrapped("      gain: ", gain);
            }
        }
    }

    pub(super) fn tables(&mut self, recording: &RecordingInfo) {
        self.heading("Tables read");
        let mut table = self.table([
            Column::left("table").shrink(),
            Column::right("rows"),
            Column::right("unusable"),
            Column::left("used"),
            Column::left("file").shrink(),
        ]);
        for read in &recording.tables {
            table.row([
                read.schema.clone(),
                grouped(read.rows),
                grouped(read.unusable),
                if read.used { "yes" } else { "no" }.to_owned(),
                read.input.clone(),
            ]);
        }
        self.show(&table);
    }

    pub(super) fn warnings(&mut self, warnings: &[String]) {
        if warnings.is_empty() {
            return;
        }
        self.heading("Warnings");
        for warning in warnings {
            self.wrapped("  - ", warning);
        }
    }
}
