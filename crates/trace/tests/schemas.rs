//! The JSON schemas under `schemas/` are those of the types. `BLESS=1` rewrites them.

use assay_trace::compare_document::Comparison;
use assay_trace::document::Document;
use serde_json::{Value, json};
use std::path::Path;

/// A document's schema with the fields of the envelope around it.
fn enveloped(name: &str, schema: schemars::Schema) -> Value {
    let mut schema = schema.to_value();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert(
            "schema".to_owned(),
            json!({
                "type": "object",
                "properties": { "name": { "const": name }, "version": { "const": 1 } },
                "required": ["name", "version"],
            }),
        );
        properties.insert(
            "producer".to_owned(),
            json!({
                "type": "object",
                "properties": { "name": { "type": "string" }, "version": { "type": "string" } },
                "required": ["name", "version"],
            }),
        );
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(json!("schema"));
        required.push(json!("producer"));
    }
    schema
}

fn check(name: &str, schema: schemars::Schema) {
    let file = format!("{}/../../schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let current = format!(
        "{}\n",
        serde_json::to_string_pretty(&enveloped(name, schema)).expect("JSON")
    );
    if std::env::var_os("BLESS").is_some() {
        let folder = Path::new(&file).parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(&file, &current).expect("a file");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == current,
        "{file} is out of date: run this test with BLESS=1"
    );
}

#[test]
fn schemas_are_current() {
    check("assay.trace", schemars::schema_for!(Document));
    check("assay.trace.compare", schemars::schema_for!(Comparison));
}
