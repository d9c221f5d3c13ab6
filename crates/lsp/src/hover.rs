//! What is shown when the cursor rests: the instructions of a line and what limits them, or a kernel as a whole.

use crate::analysis::Analysis;
use crate::hints::{percent, summary};
use crate::report::{KernelReport, LineReport};
use crate::text::{Encoding, Text};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};

/// Kernels shown for one line.
const MOST_KERNELS: usize = 3;

/// What there is to say about a position; `page` gives the manual page of a rule.
pub fn hover(
    text: &Text,
    analysis: &Analysis,
    position: Position,
    page: &dyn Fn(&str) -> Option<String>,
    encoding: Encoding,
) -> Option<Hover> {
    let line = position.line;
    let mut parts = Vec::new();
    let offset = text.offset(position, encoding);
    let start = text.offset(Position::new(line, 0), encoding);
    let byte = offset.saturating_sub(start);
    let on_name = |one: &&crate::Declaration| {
        one.line == line && (one.byte..=one.byte + one.name.len()).contains(&byte)
    };
    let named = analysis.declarations.iter().find(on_name);
    if let Some(kernel) = named.and_then(|one| analysis.kernel(&one.name)) {
        parts.push(of_kernel(kernel));
    }
    let mut here: Vec<(&KernelReport, &LineReport)> = analysis
        .kernels
        .iter()
        .filter_map(|kernel| Some((kernel, kernel.line(line)?)))
        .collect();
    here.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    parts.extend(
        here.iter()
            .take(MOST_KERNELS)
            .map(|(kernel, report)| of_line(kernel, report)),
    );
    if here.len() > MOST_KERNELS {
        parts.push(format!(
            "… and in {} kernels more",
            here.len() - MOST_KERNELS
        ));
    }
    let rules = analysis.kernels.iter().flat_map(|kernel| &kernel.findings);
    let mut rules: Vec<&str> = rules
        .filter(|finding| finding.line == Some(line))
        .map(|finding| finding.rule)
        .collect();
    rules.sort_unstable();
    rules.dedup();
    parts.extend(
        rules
            .into_iter()
            .filter_map(|rule| page(rule).map(|page| format!("### {rule}\n\n{}", page.trim()))),
    );
    if parts.is_empty() {
        return None;
    }
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: parts.join("\n\n---\n\n"),
        }),
        range: Some(text.line_range(line, encoding)),
    })
}

fn of_kernel(kernel: &KernelReport) -> String {
    let mut out = format!(
        "**{}**: {}\n\n{}",
        kernel.name,
        summary(kernel),
        kernel.verdict
    );
    if kernel.instructions > 0 {
        out += &format!(
            "\n\n{} instructions; {} threads on a core, limited by {}",
            kernel.instructions, kernel.threads, kernel.limit
        );
    }
    if let Some(time) = &kernel.time {
        out += &format!(
            "\n\nmodelled time {}, limited by {}",
            time.text(),
            time.limited_by
        );
    }
    out
}

fn of_line(kernel: &KernelReport, report: &LineReport) -> String {
    let what = match &kernel.time {
        Some(_) => "of the predicted time",
        None => "of the modelled cycles of a simdgroup alone",
    };
    let mut out = format!(
        "**{}**: {} {what}\n\n{}\n\nat most {} registers live",
        kernel.name,
        percent(report.share),
        report.why,
        report.live
    );
    if report.loop_depth > 0 {
        let plural = if report.loop_depth == 1 { "" } else { "s" };
        out += &format!(", inside {} loop{plural}", report.loop_depth);
    }
    out += "\n\n```\n";
    for row in &report.listing {
        out += row;
        out.push('\n');
    }
    out += "```";
    if report.more > 0 {
        out += &format!("\n\n… and {} instructions more", report.more);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, declarations};
    use assay_report::rule::Severity;
    use expect_test::expect;

    #[test]
    fn a_line_shows_its_instructions_and_the_page_of_its_finding() {
        let text = Text::new("kernel void k() {\n  x = a[i];\n}\n");
        let kernel = KernelReport {
            name: "k".to_owned(),
            instructions: 2,
            registers: 8,
            occupancy: 1.0,
            threads: 1024,
            limit: "nothing",
            lines: vec![LineReport {
                line: 1,
                share: 0.5,
                why: "memory unit 8 cycles".to_owned(),
                loop_depth: 1,
                live: 6,
                listing: vec!["device_load …".to_owned()],
                more: 0,
            }],
            findings: vec![Finding {
                rule: "narrow-loads",
                severity: Severity::High,
                message: String::new(),
                line: Some(1),
                recipes: &[],
            }],
            ..KernelReport::default()
        };
        let analysis = Analysis {
            declarations: declarations(text.as_str()),
            kernels: vec![kernel],
            ..Analysis::default()
        };
        let page = |rule: &str| Some(format!("The page of {rule}."));
        let at = |line, character| {
            let position = Position::new(line, character);
            hover(&text, &analysis, position, &page, Encoding::Utf16).map(|hover| {
                match hover.contents {
                    HoverContents::Markup(content) => content.value,
                    _ => String::new(),
                }
            })
        };
        expect![[r#"
            **k**: 50 % of the modelled cycles of a simdgroup alone

            memory unit 8 cycles

            at most 6 registers live, inside 1 loop

            ```
            device_load …
            ```

            ---

            ### narrow-loads

            The page of narrow-loads."#]]
        .assert_eq(&at(1, 4).unwrap());
        assert!(
            at(0, 12)
                .unwrap()
                .starts_with("**k**: 8 registers · 100 % of occupancy")
        );
        assert_eq!(at(0, 2), None);
        assert_eq!(at(7, 0), None);
    }
}
