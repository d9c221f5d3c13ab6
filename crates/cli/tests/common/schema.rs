//! A document held against a schema under `schemas/`: as much of JSON Schema as these files use.

use serde_json::Value;
use std::path::Path;

/// What is wrong with a document of the schema `name`; nothing if it satisfies it.
pub(crate) fn faults(name: &str, document: &Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../schemas")
        .join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let root: Value = serde_json::from_str(&text).expect("JSON");
    let mut faults = Vec::new();
    check(&root, &root, document, "", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let mut fault = |what: String| faults.push(format!("{at}: {what}"));
    if schema == &Value::Bool(false) {
        fault("nothing may be here".to_owned());
    }
    let Some(rules) = schema.as_object() else {
        return;
    };
    for (rule, told) in rules {
        match (rule.as_str(), told) {
            ("type", Value::String(one)) if !is(value, one) => fault(format!("is no {one}")),
            ("type", Value::Array(several)) => {
                let names = several.iter().filter_map(Value::as_str);
                if !names.clone().any(|one| is(value, one)) {
                    fault(format!("is none of {:?}", names.collect::<Vec<_>>()));
                }
            }
            ("const", told) if told != value => fault(format!("is not {told}")),
            ("enum", Value::Array(all)) if !all.contains(value) => {
                fault(format!("{value} is not listed"));
            }
            ("minimum", told) if value.as_f64() < told.as_f64() && value.is_number() => {
                fault(format!("is less than {told}"));
            }
            ("maximum", told) if value.as_f64() > told.as_f64() && value.is_number() => {
                fault(format!("is more than {told}"));
            }
            _ => {}
        }
    }
    if let Some(object) = value.as_object() {
        for name in rules
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = name.as_str().unwrap_or_default();
            if !object.contains_key(name) {
                fault(format!("{name} is missing"));
            }
        }
    }
    if let Some(list) = value.as_array() {
        let limit = |rule: &str| rules.get(rule).and_then(Value::as_u64);
        let length = list.len() as u64;
        if limit("minItems").is_some_and(|least| length < least)
            || limit("maxItems").is_some_and(|most| length > most)
        {
            fault(format!("has {length} items"));
        }
    }
    for rule in ["anyOf", "oneOf"] {
        let Some(choices) = rules.get(rule).and_then(Value::as_array) else {
            continue;
        };
        let wrong: Vec<Vec<String>> = choices
            .iter()
            .map(|choice| {
                let mut inside = Vec::new();
                check(root, choice, value, at, &mut inside);
                inside
            })
            .collect();
        let fitting = wrong.iter().filter(|faults| faults.is_empty()).count();
        if fitting == 0 || rule == "oneOf" && fitting > 1 {
            faults.push(format!("{at}: {fitting} of {rule} fit: {wrong:?}"));
        }
    }
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(name.trim_start_matches('#'));
        let target = target.unwrap_or_else(|| panic!("{name} is not in the schema"));
        check(root, target, value, at, faults);
    }
    members(root, schema, value, at, faults);
}

fn members(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(name);
        let Some(rule) = known.or_else(|| schema.get("additionalProperties")) else {
            continue;
        };
        check(root, rule, member, &format!("{at}/{name}"), faults);
    }
    let first = schema["prefixItems"].as_array();
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        let own = first.and_then(|first| first.get(index));
        let Some(rule) = own.or_else(|| schema.get("items")) else {
            continue;
        };
        check(root, rule, item, &format!("{at}/{index}"), faults);
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}
