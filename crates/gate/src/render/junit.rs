//! For CI servers: a suite per file, a case per kernel.

use crate::report::{Level, Problem, Report, Verdict};
use assay_report::html::escape;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The report as JUnit's XML.
pub fn junit(report: &Report) -> String {
    let mut suites: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for kernel in report
        .kernels
        .iter()
        .filter(|k| k.outcome != crate::Outcome::Deleted)
    {
        suites.entry(&kernel.file).or_default().push(kernel);
    }
    // A file that does not compile is a case of its own.
    let broken: Vec<&Problem> = report
        .problems
        .iter()
        .filter(|p| p.function.is_none())
        .collect();
    for problem in &broken {
        suites.entry(&problem.place.file).or_default();
    }
    let programs = report.programs.len();
    let cases: usize = suites.values().map(Vec::len).sum::<usize>() + broken.len() + programs;
    let failures = report.summary.failed + broken.len() + report.summary.failed_programs;
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay gate\" tests=\"{cases}\" failures=\"{failures}\">\n"
    );
    for (file, kernels) in suites {
        let own = broken.iter().filter(|problem| problem.place.file == file);
        let count = kernels.len() + own.clone().count();
        let failed = kernels.iter().filter(|kernel| !kernel.passed).count() + own.clone().count();
        let name = escaped(file);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{failed}\">"
        );
        for problem in own {
            let what = match problem.rule {
                crate::rules::CONFIGURATION_WEAKENED => "asks no less",
                _ => "compiles",
            };
            let _ = writeln!(out, "    <testcase classname=\"{name}\" name=\"{what}\">");
            out += &failure(&[*problem]);
            out += "    </testcase>\n";
        }
        for kernel in kernels {
            out += &case(report, kernel);
        }
        out += "  </testsuite>\n";
    }
    out += &of_programs(report);
    out + "</testsuites>\n"
}

/// A suite of the programs, if there are any.
fn of_programs(report: &Report) -> String {
    let (all, failed) = (report.programs.len(), report.summary.failed_programs);
    if all == 0 {
        return String::new();
    }
    let mut out =
        format!("  <testsuite name=\"programs\" tests=\"{all}\" failures=\"{failed}\">\n");
    for program in &report.programs {
        let own = report.problems.iter().filter(|problem| {
            problem.level == Level::Error
                && crate::program::RULES.contains(&problem.rule)
                && problem.function.as_deref() == Some(&program.name)
        });
        let own: Vec<&Problem> = own.collect();
        let name = escaped(&program.name);
        let _ = writeln!(out, "    <testcase classname=\"programs\" name=\"{name}\">");
        out += &failure(&own);
        out += "    </testcase>\n";
    }
    out + "  </testsuite>\n"
}

fn case(report: &Report, kernel: &Verdict) -> String {
    let own = report.problems.iter().filter(|problem| {
        problem.level == Level::Error
            && problem.function.as_deref() == Some(&kernel.function)
            && (problem.place.file == kernel.file || !kernel.passed)
    });
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\"",
        escaped(&kernel.file),
        escaped(&kernel.function)
    );
    if kernel.passed {
        return format!("{head}/>\n");
    }
    let own: Vec<&Problem> = own.collect();
    format!("{head}>\n{}    </testcase>\n", failure(&own))
}

/// One element for all problems of a case: servers look at the first only.
fn failure(problems: &[&Problem]) -> String {
    let Some(first) = problems.first() else {
        return String::new();
    };
    let told = problems.iter().map(|problem| {
        format!(
            "{}: {} [{}]\n{}",
            problem.place, problem.message, problem.rule, problem.advice
        )
    });
    let told: Vec<String> = told.collect();
    format!(
        "      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
        first.rule,
        escaped(&first.message),
        escaped(&told.join("\n"))
    )
}

/// Text in XML, which has no control characters even in escapes.
fn escaped(text: &str) -> String {
    let fine =
        |c: char| matches!(c, '\n' | '\t') || !c.is_control() && c != '\u{fffe}' && c != '\u{ffff}';
    let text: String = text
        .chars()
        .map(|c| if fine(c) { c } else { '\u{fffd}' })
        .collect();
    escape(&text)
}
