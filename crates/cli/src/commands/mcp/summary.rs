//! A document in a few lines: what a person would read first.

use super::tools::Tool;
use crate::failure::Failure;
use serde_json::{Value, json};

/// The document that a command printed, without what makes it long and was not asked for.
pub(super) fn document(tool: &Tool, output: &str, listing: bool) -> Result<Value, Failure> {
    let bad =
        |error: serde_json::Error| Failure::input(format!("{}: no document: {error}", tool.name));
    if tool.document == "assay.disasm" {
        return Ok(rows_and_summary(output));
    }
    let document = serde_json::from_str(output);
    let mut document = match document {
        Ok(document @ Value::Object(_)) => document,
        // Lists, as `bench --list` prints them, become a field.
        Ok(list) => json!({ "schema": { "name": "assay.list", "version": 1 }, "list": list }),
        // So do texts.
        Err(_) if !output.trim_start().starts_with('{') => {
            json!({ "schema": { "name": "assay.text", "version": 1 }, "text": output })
        }
        Err(error) => return Err(bad(error)),
    };
    if !listing {
        for profile in list_mut(&mut document, "profiles") {
            if let Some(all) = profile.get_mut("listing") {
                *all = json!([]);
            }
        }
    }
    Ok(document)
}

/// One object a line, the last a summary.
fn rows_and_summary(output: &str) -> Value {
    let mut rows: Vec<Value> = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let mut document = rows.pop().unwrap_or_else(|| json!({}));
    if let Some(object) = document.as_object_mut() {
        object.insert("instructions".to_owned(), Value::Array(rows));
    }
    document
}

/// A few lines about a document.
pub(super) fn text(tool: &Tool, document: &Value) -> String {
    let lines: Vec<String> = match tool.name {
        "profile" => list(document, "profiles").iter().map(answer).collect(),
        "predict" | "diff" => vec![answer(document)],
        "run" => run(document),
        "compare" => compared(document),
        "rewrite" => rewritten(document),
        "tune" => tuned(document),
        "inspect" => inspected(document),
        "disasm" => disassembled(document),
        "explain" => explained(document),
        "bench" => benched(document),
        "chips" => list(document, "chips").iter().map(chip).collect(),
        _ => Vec::new(),
    };
    let mut out = Vec::new();
    for line in lines.iter().take(MOST_LINES) {
        out.push(line.as_str());
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    let rest = format!("… and {more} lines more in the structured result");
    if more > 0 {
        out.push(&rest);
    }
    out.join("\n")
}

/// Lines shown of any document.
const MOST_LINES: usize = 400;

/// The first screen that the command made for people, as Markdown.
fn answer(document: &Value) -> String {
    word(document, "answer").to_owned()
}

fn run(document: &Value) -> Vec<String> {
    let mut lines = vec![format!(
        "{} ran on grid {} with threadgroups of {}",
        word(document, "kernel"),
        extent(document, "grid"),
        extent(document, "threadgroup"),
    )];
    if let Some(time) = document.get("time") {
        lines.push(format!(
            "{:.3} ms on this CPU (host time, nothing about a GPU)",
            number(time, "median_ms")
        ));
    }
    if let Some(Value::Array(found)) = document.get("checked") {
        lines.push(match found.len() {
            0 => "check: nothing found with these inputs".to_owned(),
            count => format!("check: {count} found"),
        });
        lines.extend(found.iter().take(20).map(|finding| {
            format!(
                "  {} {}: {}",
                word(finding, "severity"),
                word(finding, "kind"),
                word(finding, "message")
            )
        }));
    }
    for buffer in list(document, "buffers") {
        let values: Vec<String> = list(buffer, "values")
            .iter()
            .map(ToString::to_string)
            .collect();
        lines.push(format!(
            "buffer {} ({}): {}",
            number(buffer, "index"),
            word(buffer, "name"),
            values.join(" ")
        ));
    }
    if document.get("counts").is_some() {
        lines.push("counts are in the structured result".to_owned());
    }
    lines
}

fn compared(document: &Value) -> Vec<String> {
    let same = document.get("same") == Some(&Value::Bool(true));
    let mut lines = vec![
        if same {
            "the same, bit for bit"
        } else {
            "not the same"
        }
        .to_owned(),
    ];
    lines.extend(list(document, "buffers").iter().map(|buffer| {
        let mut line = format!(
            "buffer {}: {} of {} {} differ",
            number(buffer, "index"),
            number(buffer, "differ"),
            number(buffer, "length"),
            word(buffer, "type"),
        );
        if let Some(first) = buffer.get("first") {
            line += &format!(
                ", first element {}: {} → {}",
                number(first, "element"),
                word(first, "before"),
                word(first, "after")
            );
        }
        if let Some(largest) = buffer.get("largest_relative").and_then(Value::as_f64) {
            line += &format!(", largest relative difference {largest:.3e}");
        }
        line
    }));
    lines
}

fn speedup(predicted: &Value) -> String {
    let side = |name: &str| number(predicted.get(name).unwrap_or(&Value::Null), "time_us");
    format!(
        "modelled on {}: {:.1} → {:.1} µs, {:.2} times as fast ({:.2} to {:.2}): {}",
        word(predicted.get("after").unwrap_or(&Value::Null), "chip"),
        side("before"),
        side("after"),
        number(predicted, "speedup"),
        number(predicted, "low"),
        number(predicted, "high"),
        word(predicted, "call"),
    )
}

fn rewritten(document: &Value) -> Vec<String> {
    let choices = list(document, "choices");
    let mut lines = Vec::new();
    for choice in choices {
        let steps: Vec<&str> = list(choice, "steps")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let what = match choice.get("refused").and_then(Value::as_str) {
            Some(why) => format!("no: {why}"),
            None => steps.join(" "),
        };
        lines.push(format!(
            "{} (class {}): {what}",
            word(choice, "recipe"),
            word(choice, "class")
        ));
    }
    if let Some(source) = document.get("source").and_then(Value::as_str) {
        lines.push(format!(
            "class {}: {}",
            word(document, "class"),
            match word(document, "class") {
                "E" => "the same bytes",
                _ => "floats are added in another order",
            }
        ));
        match document.get("predicted") {
            Some(predicted) => lines.push(speedup(predicted)),
            None => lines.push(format!(
                "no predicted change: {}",
                word(document, "not_predicted")
            )),
        }
        lines.push(source.to_owned());
    }
    lines
}

fn tuned(document: &Value) -> Vec<String> {
    let mut lines = vec![
        word(document, "reason").to_owned(),
        format!(
            "modelled on {}: {:.1} → {:.1} µs, claimed gain {:.2} (up to {:.2}), class {}, {} candidates",
            word(document, "chip"),
            number(document, "original_us"),
            number(document, "best_us"),
            number(document, "claimed_gain"),
            number(document, "high_gain"),
            word(document, "class"),
            number(document, "evaluations"),
        ),
    ];
    let recipes: Vec<&str> = list(document, "recipes")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !recipes.is_empty() {
        lines.push(format!("recipes: {}", recipes.join(" ")));
    }
    if !word(document, "source").is_empty() {
        lines.push(format!("launch: {}", word(document, "launch")));
        lines.push(word(document, "source").to_owned());
    }
    lines
}

fn inspected(document: &Value) -> Vec<String> {
    let kernels = list(document, "kernels");
    let all = if kernels.is_empty() {
        list(document, "functions")
    } else {
        kernels
    };
    let mut lines = Vec::new();
    for function in all {
        lines.push(format!(
            "{} {}",
            word(function, "type"),
            word(function, "name")
        ));
        lines.extend(list(function, "arguments").iter().map(|argument| {
            let index = argument.get("index").and_then(Value::as_u64);
            let index = index.map_or(String::new(), |index| format!(" {index}"));
            format!(
                "  {}{index}: {} {} {}",
                word(argument, "kind"),
                word(argument, "type"),
                word(argument, "name"),
                word(argument, "access")
            )
        }));
    }
    lines
}

fn disassembled(document: &Value) -> Vec<String> {
    let rows = list(document, "instructions").iter();
    let rows = rows.map(|row| {
        let operands: Vec<&str> = list(row, "operands")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let offset = row.get("offset").and_then(Value::as_u64).unwrap_or(0);
        format!(
            "{offset:#06x}: {} {}",
            word(row, "mnemonic"),
            operands.join(", ")
        )
    });
    rows.collect()
}

fn explained(document: &Value) -> Vec<String> {
    match list(document, "rules") {
        [page] => vec![word(page, "page").to_owned()],
        pages => pages
            .iter()
            .map(|page| {
                format!(
                    "{} ({}): {}",
                    word(page, "id"),
                    word(page, "command"),
                    word(page, "title")
                )
            })
            .collect(),
    }
}

fn benched(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for kernel in list(document, "kernels") {
        let mut line = format!("{} {}", word(kernel, "name"), word(kernel, "dtype"));
        if let Some(right) = kernel.get("right").and_then(Value::as_bool) {
            line += if right { ": right" } else { ": wrong" };
        }
        if let Some(why) = kernel.get("refused").and_then(Value::as_str) {
            line += &format!(": {why}");
        }
        if let Some(time) = kernel.get("time").filter(|time| time.is_object()) {
            line += &format!(
                ", {:.3} ms ({} time)",
                number(time, "median_ms"),
                word(time, "origin")
            );
        }
        lines.push(line);
        let findings = list(kernel, "findings").iter();
        lines.extend(findings.take(5).map(|finding| match finding.as_str() {
            Some(text) => format!("  {text}"),
            None => format!("  {finding}"),
        }));
    }
    if lines.is_empty() {
        lines.extend(
            document
                .get("text")
                .and_then(Value::as_str)
                .map(str::to_owned),
        );
    }
    lines
}

fn chip(chip: &Value) -> String {
    format!("{}: {}", word(chip, "name"), word(chip, "title"))
}

fn extent(value: &Value, name: &str) -> String {
    let numbers: Vec<String> = list(value, name).iter().map(ToString::to_string).collect();
    numbers.join("×")
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn list_mut<'v>(value: &'v mut Value, name: &str) -> &'v mut [Value] {
    value
        .get_mut(name)
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}
