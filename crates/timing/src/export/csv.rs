//! Tables for spreadsheets and data frames.

use crate::snapshot::{LabelStats, Snapshot};
use std::borrow::Cow;
use std::fmt::Write;

impl Snapshot {
    /// One row per label and per kernel; the first column says which. Empty cells where
    /// nothing was measured.
    pub fn to_csv(&self) -> String {
        let mut out = String::from(
            "table,label,count,total_ns,mean_ns,p50_ns,p90_ns,p99_ns,min_ns,max_ns,invalid\n",
        );
        let buffers = self.labels.iter().map(|stats| ("command_buffer", stats));
        let kernels = self.kernels.iter().map(|stats| ("kernel", stats));
        for (table, stats) in buffers.chain(kernels) {
            label_row(&mut out, table, stats);
        }
        out
    }

    /// One row per dispatch in the ring, grouped by nothing, in the order of recording.
    pub fn to_dispatch_csv(&self) -> String {
        let mut out = String::from("command_buffer,label,kernel,index,gpu_ns,start_ns,end_ns\n");
        for dispatch in &self.dispatches {
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{}",
                dispatch.command_buffer.get(),
                cell(&dispatch.label),
                cell(&dispatch.kernel),
                dispatch.index,
                dispatch.gpu_ns,
                dispatch.start_ns,
                dispatch.end_ns
            );
        }
        out
    }
}

fn label_row(out: &mut String, table: &str, stats: &LabelStats) {
    let measured = (stats.count > 0).then_some(stats);
    let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let percentile = |percent| number(measured.and_then(|stats| stats.percentile(percent)));
    let mean = stats
        .mean_ns()
        .map_or_else(String::new, |ns| format!("{ns:.1}"));
    let _ = writeln!(
        out,
        "{table},{},{},{},{mean},{},{},{},{},{},{}",
        cell(&stats.label),
        stats.count,
        stats.total_ns,
        percentile(50.0),
        percentile(90.0),
        percentile(99.0),
        number(measured.map(|stats| stats.min_ns)),
        number(measured.map(|stats| stats.max_ns)),
        stats.invalid.total(),
    );
}

/// A text as a CSV cell, quoted where it has to be (RFC 4180), and never a formula that a spreadsheet would execute: an
/// apostrophe before it makes it text. Other reports use `assay_report::csv`; this crate stands in other people's
/// programs and depends on nothing.
fn cell(text: &str) -> Cow<'_, str> {
    let mark = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => "'",
        false => "",
    };
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
    } else if mark.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{mark}{text}"))
    }
}
