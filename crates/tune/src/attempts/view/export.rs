//! Attempts for other tools: comma-separated values, and Kernel Tuner's T4.

use super::{Row, View};
use crate::attempts::{Outcome, Stage};
use assay_report::csv::cell;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One line per attempt.
pub fn csv(view: &View) -> String {
    let mut out = String::from(
        "session,attempt,parent,phase,knobs,steps,class,time_us,low_us,high_us,limited_by,stage,why\n",
    );
    for row in &view.attempts {
        let knobs = row.genome.knobs.iter();
        let knobs: Vec<String> = knobs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut cells = vec![
            row.session.to_string(),
            row.ordinal.to_string(),
            row.parent
                .map_or(String::new(), |parent| parent.to_string()),
            row.phase.to_owned(),
            knobs.join(" "),
            row.genome.steps.join(" "),
            row.class.clone().unwrap_or_default(),
        ];
        cells.extend(match &row.outcome {
            Outcome::Timed(timed) => [
                timed.time_us.to_string(),
                timed.low_us.to_string(),
                timed.high_us.to_string(),
                timed.limited_by.clone(),
                String::new(),
                String::new(),
            ],
            Outcome::Failed(failure) => [
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                failure.stage.name().to_owned(),
                failure.why.clone(),
            ],
        });
        let cells: Vec<_> = cells.iter().map(|text| cell(text)).collect();
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

/// Results in the T4 format of Kernel Tuner and its kin: a configuration, whether it is valid, its time in milliseconds.
/// Steps of recipes are parameters `step0`, `step1`, …; the time is modelled, and says so.
pub fn t4(view: &View) -> String {
    let knobs = knobs(view);
    let steps = view.attempts.iter().map(|row| row.genome.steps.len());
    let steps = steps.max().unwrap_or(0);
    let results: Vec<Value> = view
        .attempts
        .iter()
        .map(|row| result(row, &knobs, steps))
        .collect();
    let document = json!({
        "schema_version": "1.0.0",
        "metadata": { "producer": "assay", "basis": "modelled" },
        "results": results,
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// The knobs of all attempts: a configuration has every parameter.
fn knobs(view: &View) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in view.attempts.iter().flat_map(|row| &row.genome.knobs) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn result(row: &Row, knobs: &[String], steps: usize) -> Value {
    let mut configuration = serde_json::Map::new();
    for name in knobs {
        let set = row.genome.knobs.iter().find(|(known, _)| known == name);
        let value = match set {
            Some((_, value)) => value
                .parse::<u64>()
                .map_or_else(|_| json!(value), |number| json!(number)),
            None => json!("original"),
        };
        configuration.insert(name.clone(), value);
    }
    for place in 0..steps {
        let step = row.genome.steps.get(place).map_or("", String::as_str);
        configuration.insert(format!("step{place}"), json!(step));
    }
    let (invalidity, measurements) = match &row.outcome {
        Outcome::Timed(timed) => (
            "correct",
            json!([{ "name": "time", "value": timed.time_us / 1000.0, "unit": "ms" }]),
        ),
        Outcome::Failed(failure) => (
            match failure.stage {
                Stage::Apply | Stage::Filter | Stage::Duplicate => "constraints",
                Stage::Print | Stage::Compile => "compile",
                Stage::Results | Stage::Check | Stage::Oracle => "correctness",
                Stage::Abandoned => "timeout",
                Stage::Limits | Stage::Model => "runtime",
            },
            json!([]),
        ),
    };
    json!({
        "configuration": configuration,
        "objectives": ["time"],
        "times": {},
        "invalidity": invalidity,
        "correctness": u8::from(invalidity == "correct"),
        "measurements": measurements,
    })
}
