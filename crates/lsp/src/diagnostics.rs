//! Problems and findings as diagnostics.

use crate::analysis::{Analysis, Problem};
use crate::report::{Finding, KernelReport};
use crate::text::{Encoding, Text};
use assay_report::rule::Severity;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location,
    NumberOrString, Range, Uri,
};
use std::collections::BTreeMap;

/// Where the manual pages of rules are, by rule.
pub type Pages = BTreeMap<String, Uri>;

/// Everything there is to say about a document.
pub fn diagnostics(
    text: &Text,
    analysis: &Analysis,
    uri: &Uri,
    pages: &Pages,
    encoding: Encoding,
) -> Vec<Diagnostic> {
    let problems = analysis
        .problems
        .iter()
        .map(|problem| of_problem(text, problem, uri, pages, encoding));
    let mut all: Vec<Diagnostic> = problems.collect();
    for kernel in &analysis.kernels {
        for finding in &kernel.findings {
            add_finding(&mut all, text, analysis, (kernel, finding), pages, encoding);
        }
    }
    all
}

fn of_problem(
    text: &Text,
    problem: &Problem,
    uri: &Uri,
    pages: &Pages,
    encoding: Encoding,
) -> Diagnostic {
    let mut message = problem.message.clone();
    let range = match (problem.line, problem.byte, &problem.elsewhere) {
        (Some(line), Some(byte), _) => text.word_range(line, byte, encoding),
        (Some(line), None, _) => text.line_range(line, encoding),
        (None, _, Some((file, line))) => {
            message = format!("{file}:{}: {message}", line + 1);
            including(text, file, encoding)
        }
        (None, _, None) => text.line_range(0, encoding),
    };
    let notes = problem.notes.iter();
    let related = notes.clone().filter_map(|note| {
        let range = text.line_range(note.line?, encoding);
        Some(DiagnosticRelatedInformation {
            location: Location::new(uri.clone(), range),
            message: note.message.clone(),
        })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    for note in notes.filter(|note| note.line.is_none()) {
        message.push('\n');
        message.push_str(&note.message);
    }
    let page = problem.code.as_ref().and_then(|code| pages.get(code));
    Diagnostic {
        range,
        severity: Some(problem.severity),
        code: problem.code.clone().map(NumberOrString::String),
        code_description: page.map(|href| CodeDescription { href: href.clone() }),
        source: Some(problem.source.to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}

/// The line that includes a file, or the first.
fn including(text: &Text, file: &str, encoding: Encoding) -> Range {
    let name = file.rsplit('/').next().unwrap_or(file);
    let names = |line: &u32| {
        let line = text.line(*line).trim_start();
        line.starts_with('#') && line.contains("include") && line.contains(name)
    };
    let line = (0..text.line_count()).find(names).unwrap_or(0);
    text.line_range(line, encoding)
}

/// A finding at its line, or at the kernel's name. Variants of a template find the same at the same line: said once.
fn add_finding(
    all: &mut Vec<Diagnostic>,
    text: &Text,
    analysis: &Analysis,
    (kernel, finding): (&KernelReport, &Finding),
    pages: &Pages,
    encoding: Encoding,
) {
    let range = match (finding.line, analysis.declaration(&kernel.name)) {
        (Some(line), _) => text.line_range(line, encoding),
        (None, Some(place)) => text.word_range(place.line, place.byte, encoding),
        (None, None) => return,
    };
    let code = NumberOrString::String(finding.rule.to_owned());
    let known = |one: &Diagnostic| one.range == range && one.code.as_ref() == Some(&code);
    if all.iter().any(known) {
        return;
    }
    let mut message = format!("{}: {}", kernel.name, finding.message);
    if !finding.recipes.is_empty() {
        message += &format!(
            "\nrecipes that may answer it: {}",
            finding.recipes.join(", ")
        );
    }
    all.push(Diagnostic {
        range,
        severity: Some(match finding.severity {
            Severity::High => DiagnosticSeverity::WARNING,
            Severity::Medium => DiagnosticSeverity::INFORMATION,
            Severity::Low => DiagnosticSeverity::HINT,
        }),
        code: Some(code),
        code_description: pages
            .get(finding.rule)
            .map(|href| CodeDescription { href: href.clone() }),
        source: Some("assay".to_owned()),
        message,
        ..Diagnostic::default()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{declarations, range};

    fn uri() -> Uri {
        "file:///k.metal".parse().unwrap()
    }

    fn problem(message: &str) -> Problem {
        Problem {
            severity: DiagnosticSeverity::ERROR,
            message: message.to_owned(),
            line: None,
            byte: None,
            elsewhere: None,
            source: "clang",
            code: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn errors_are_at_their_word_and_those_of_headers_at_the_include() {
        let text = Text::new("#include \"a/tile.h\"\nkernel void k() { flaot x; }\n");
        let analysis = Analysis {
            problems: vec![
                Problem {
                    line: Some(1),
                    byte: Some(18),
                    ..problem("unknown type name")
                },
                Problem {
                    elsewhere: Some(("inc/a/tile.h".to_owned(), 6)),
                    ..problem("no member")
                },
            ],
            ..Analysis::default()
        };
        let found = diagnostics(&text, &analysis, &uri(), &Pages::new(), Encoding::Utf16);
        assert_eq!(found[0].range, range(1, 18, 23));
        assert_eq!(found[1].range, range(0, 0, 19));
        assert_eq!(found[1].message, "inc/a/tile.h:7: no member");
    }

    #[test]
    fn a_finding_has_its_page_and_is_said_once_for_all_variants() {
        let text = Text::new("kernel void k() {\n  load();\n}\n");
        let finding = Finding {
            rule: "narrow-loads",
            severity: Severity::High,
            message: "loads of 4 bytes".to_owned(),
            line: Some(1),
            recipes: &["vectorize"],
        };
        let nowhere = Finding {
            line: None,
            rule: "occupancy",
            recipes: &[],
            ..finding.clone()
        };
        let kernel = KernelReport {
            name: "k".to_owned(),
            findings: vec![finding.clone(), nowhere],
            ..KernelReport::default()
        };
        let variant = KernelReport {
            name: "k_f16".to_owned(),
            ..kernel.clone()
        };
        let analysis = Analysis {
            declarations: declarations(text.as_str()),
            kernels: vec![kernel, variant],
            ..Analysis::default()
        };
        let pages = Pages::from([(
            "narrow-loads".to_owned(),
            "file:///narrow-loads.md".parse().unwrap(),
        )]);
        let found = diagnostics(&text, &analysis, &uri(), &pages, Encoding::Utf16);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].range, range(1, 2, 9));
        assert!(found[0].code_description.is_some());
        assert!(found[0].message.contains("vectorize"));
        assert_eq!(found[1].range, range(0, 12, 13));
    }
}
