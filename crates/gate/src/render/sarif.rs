//! For code scanning: SARIF 2.1.0 with a result per problem, at its line.

use super::in_repository;
use crate::report::{Problem, Report};
use crate::rules::rules;
use serde_json::{Value, json};

/// GitHub takes so many results of a run.
const MOST_RESULTS: usize = 5000;

/// The report as SARIF. `prefix` is the folder of the configuration in its repository.
pub fn sarif(report: &Report, prefix: &str) -> String {
    let rules = rules();
    let described: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.title() },
                "help": { "text": rule.page(), "markdown": rule.page() },
                "defaultConfiguration": { "level": "error" },
            })
        })
        .collect();
    let results = report.problems.iter().take(MOST_RESULTS);
    let results: Vec<Value> = results
        .map(|problem| {
            let rule = rules.iter().position(|rule| rule.id == problem.rule);
            result(problem, rule, prefix)
        })
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "assay",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": described,
            }},
            "automationDetails": { "id": "assay-gate/" },
            "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "the root of the repository" } } },
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn result(problem: &Problem, rule: Option<usize>, prefix: &str) -> Value {
    let file = in_repository(prefix, &problem.place.file);
    let mut region = json!({ "startLine": problem.place.line.max(1) });
    if problem.place.column > 0 {
        region["startColumn"] = json!(problem.place.column);
    }
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&file), "uriBaseId": "%SRCROOT%" },
            "region": region,
        },
    });
    if let Some(function) = &problem.function {
        location["logicalLocations"] = json!([{ "name": function, "kind": "function" }]);
    }
    let function = problem.function.as_deref().unwrap_or_default();
    json!({
        "ruleId": problem.rule,
        "ruleIndex": rule.map_or(-1, |index| index as i64),
        "level": problem.level.name(),
        "message": { "text": format!("{}\n{}", problem.message, problem.advice) },
        "locations": [location],
        // The same problem of a kernel is one alert, wherever its line moves.
        "partialFingerprints": { "kernelAndRule/v1": format!("{file}:{function}:{}", problem.rule) },
    })
}

/// A path as a URI: everything but the characters that may stand as they are is escaped.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}
