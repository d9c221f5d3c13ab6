//! Hints in the text: what a kernel needs at its name, what a line costs at its end.

use crate::analysis::Analysis;
use crate::report::{KernelReport, LineReport};
use crate::text::{Encoding, Text};
use lsp_types::{InlayHint, InlayHintLabel, InlayHintTooltip, Position, Range};

/// Which hints are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// At names of kernels.
    pub kernels: bool,
    /// At ends of lines.
    pub lines: bool,
}

/// Lines that cost less have no hint.
const LEAST_SHARE: f64 = 0.005;

/// The hints of a range.
pub fn hints(
    text: &Text,
    analysis: &Analysis,
    range: Range,
    shown: Shown,
    encoding: Encoding,
) -> Vec<InlayHint> {
    let inside = |line: u32| (range.start.line..=range.end.line).contains(&line);
    let mut all = Vec::new();
    if shown.kernels {
        let declared = analysis.declarations.iter().filter(|one| inside(one.line));
        all.extend(declared.filter_map(|one| {
            let kernel = analysis.kernel(&one.name)?;
            let at = text.line_end(one.line, encoding);
            Some(hint(at, summary(kernel), tooltip(kernel)))
        }));
    }
    if shown.lines {
        for line in range.start.line..=range.end.line.min(text.line_count()) {
            let Some((kernel, report)) = dearest(analysis, line) else {
                continue;
            };
            let label = format!("{} · {} live", percent(report.share), report.live);
            let why = format!("{}: {}", kernel.name, report.why);
            all.push(hint(text.line_end(line, encoding), label, why));
        }
    }
    all
}

/// The kernel for which a line is the largest part.
pub(crate) fn dearest(analysis: &Analysis, line: u32) -> Option<(&KernelReport, &LineReport)> {
    let all = analysis.kernels.iter();
    let all = all.filter_map(|kernel| kernel.line(line).map(|report| (kernel, report)));
    let all = all.filter(|(_, report)| report.share >= LEAST_SHARE);
    all.max_by(|a, b| a.1.share.total_cmp(&b.1.share))
}

/// `38 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What a kernel needs, in a few words.
pub(crate) fn summary(kernel: &KernelReport) -> String {
    if kernel.instructions == 0 {
        return "no code".to_owned();
    }
    let mut parts = vec![
        format!("{} registers", kernel.registers),
        format!("{} of occupancy", percent(kernel.occupancy)),
    ];
    if kernel.spilled > 0 {
        parts.push(format!("{} bytes spilled", kernel.spilled));
    }
    parts.extend(kernel.time.as_ref().map(crate::report::Time::text));
    parts.join(" · ")
}

fn tooltip(kernel: &KernelReport) -> String {
    let mut lines = vec![kernel.verdict.clone()];
    if kernel.instructions > 0 {
        lines.push(format!(
            "{} instructions; {} threads on a core, limited by {}",
            kernel.instructions, kernel.threads, kernel.limit
        ));
    }
    match (&kernel.time, &kernel.not_timed) {
        (Some(time), _) => lines.push(format!(
            "The time is modelled, limited by {}.",
            time.limited_by
        )),
        (None, Some(why)) => lines.push(format!("No predicted time: {why}")),
        (None, None) => {
            lines.push("A comment `// assay: launch …` gives a predicted time.".to_owned())
        }
    }
    lines.join("\n\n")
}

fn hint(position: Position, label: String, tooltip: String) -> InlayHint {
    InlayHint {
        position,
        label: InlayHintLabel::String(label),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(tooltip)),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Time, declarations};

    #[test]
    fn names_tell_the_kernel_and_lines_their_share() {
        let text = Text::new("kernel void k() {\n  dear();\n  cheap();\n}\n");
        let line = |line, share| LineReport {
            line,
            share,
            live: 12,
            listing: vec!["fadd".to_owned()],
            ..LineReport::default()
        };
        let kernel = KernelReport {
            name: "k".to_owned(),
            registers: 24,
            instructions: 9,
            occupancy: 1.0,
            lines: vec![line(1, 0.375), line(2, 0.001)],
            time: Some(Time {
                chip: "m2".to_owned(),
                us: 8100.0,
                low_us: 6300.0,
                high_us: 10400.0,
                limited_by: "issue".to_owned(),
            }),
            ..KernelReport::default()
        };
        let analysis = Analysis {
            declarations: declarations(text.as_str()),
            kernels: vec![kernel],
            ..Analysis::default()
        };
        let whole = Range::new(Position::new(0, 0), Position::new(9, 0));
        let shown = Shown {
            kernels: true,
            lines: true,
        };
        let found = hints(&text, &analysis, whole, shown, Encoding::Utf16);
        let labels: Vec<String> = found
            .iter()
            .map(|hint| match &hint.label {
                InlayHintLabel::String(label) => label.clone(),
                InlayHintLabel::LabelParts(_) => String::new(),
            })
            .collect();
        assert_eq!(labels.len(), 2);
        assert!(
            labels[0].starts_with("24 registers · 100 % of occupancy · 8.1 ms"),
            "{}",
            labels[0]
        );
        assert_eq!(labels[1], "38 % · 12 live");
        assert_eq!(found[1].position, Position::new(1, 9));
    }
}
