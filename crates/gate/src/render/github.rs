//! For GitHub's runners: workflow commands that annotate lines.

use super::{in_repository, sentence};
use crate::report::{Level, Report};
use std::fmt::Write as _;

/// GitHub shows ten annotations of a level per step; more only cost log.
const MOST: usize = 10;

/// The problems as workflow commands, and what the gate looked at as a line of the log. `prefix` is the folder of the
/// configuration in its repository.
pub fn github(report: &Report, prefix: &str) -> String {
    let mut out = String::new();
    for level in [Level::Error, Level::Warning] {
        let of_level = report
            .problems
            .iter()
            .filter(|problem| problem.level == level);
        for problem in of_level.take(MOST) {
            let file = in_repository(prefix, &problem.place.file);
            let title = match &problem.function {
                Some(function) => format!("{function}: {}", problem.rule),
                None => problem.rule.to_owned(),
            };
            let mut place = format!("file={},line={}", property(&file), problem.place.line);
            if problem.place.column > 0 {
                let _ = write!(place, ",col={}", problem.place.column);
            }
            let message = format!("{}\n{}", problem.message, problem.advice);
            let _ = writeln!(
                out,
                "::{} {place},title={}::{}",
                level.name(),
                property(&title),
                data(&message)
            );
        }
    }
    let word = if report.passed { "passed" } else { "failed" };
    let _ = writeln!(
        out,
        "assay gate {word}: {}",
        sentence(report).replace(['\n', '\r'], " ")
    );
    out
}

/// A message: line ends would end the command.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// A value among others.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
