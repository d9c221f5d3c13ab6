//! Keeps the schemas under `schemas/` in step with the documents the commands write.
//!
//! A command's test calls [`check`]; `BLESS=1 cargo test` rewrites the file.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::path::Path;

/// Compares the schema of `T` in its envelope with `schemas/NAME.json`.
pub(crate) fn check<T: JsonSchema>(name: &str, version: u32) {
    check_stored(name, &envelope::<T>(name, version));
}

/// Compares the schema of `T`, a document that is kept by its users and names no producer, with `schemas/NAME.json`.
pub(crate) fn check_bare<T: JsonSchema>(name: &str, version: u32) {
    let mut schema = envelope::<T>(name, version);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove("producer");
    }
    if let Some(required) = schema["required"].as_array_mut() {
        let mut seen = std::collections::BTreeSet::new();
        required.retain(|field| field != "producer" && seen.insert(field.to_string()));
    }
    check_stored(name, &schema);
}

fn check_stored(name: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../schemas")
        .join(format!("{name}.json"));
    let mut current = serde_json::to_string_pretty(schema).expect("JSON");
    current.push('\n');
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &current).expect("schema written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == current,
        "{} is out of date: run BLESS=1 cargo test -p assay-metal",
        path.display()
    );
}

/// The body's schema with the fields every document has.
fn envelope<T: JsonSchema>(name: &str, version: u32) -> Value {
    // As written, not as read: a field that may be left out is not required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let object = schema.as_object_mut().expect("an object");
    object.insert("title".into(), json!(name));
    let properties = object
        .entry("properties")
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .expect("properties");
    properties.insert(
        "schema".into(),
        json!({
            "type": "object",
            "properties": { "name": { "const": name }, "version": { "const": version } },
            "required": ["name", "version"]
        }),
    );
    properties.insert(
        "producer".into(),
        json!({
            "type": "object",
            "properties": { "name": { "const": "assay" }, "version": { "type": "string" } },
            "required": ["name", "version"]
        }),
    );
    let required = object
        .entry("required")
        .or_insert_with(|| json!([]))
        .as_array_mut()
        .expect("required");
    required.push(json!("schema"));
    required.push(json!("producer"));
    schema
}
