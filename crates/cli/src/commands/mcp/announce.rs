//! Tools as clients are told of them: schemas made from the table.

use super::tools::{Kind, Own, Tool};
use rmcp::model::{JsonObject, Tool as Announced, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

impl Tool {
    /// What a client is told.
    pub(super) fn announced(&self) -> Announced {
        let writes = self
            .all_parameters()
            .any(|parameter| parameter.kind == Kind::Own(Own::Output));
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(!writes)
            .destructive(false)
            .idempotent(!writes)
            .open_world(false);
        Announced::new(self.name, self.about, Arc::new(self.input_schema()))
            .with_title(self.title)
            .with_annotations(annotations)
            .with_raw_output_schema(Arc::new(self.output_schema()))
    }

    fn input_schema(&self) -> JsonObject {
        let mut properties = JsonObject::new();
        let mut needed: Vec<&str> = Vec::new();
        for parameter in self.all_parameters() {
            let about = parameter.about;
            let schema = match parameter.kind {
                // That one of both is needed is not said here: clients hand schemas to models whose providers refuse
                // alternatives at the top.
                Kind::Input(_) | Kind::InputFlag(_) => {
                    properties.insert(parameter.text_name(), of_text(about));
                    json!({ "type": "string", "description": about })
                }
                Kind::Word | Kind::Text(_) | Kind::Launch | Kind::Own(Own::Output) => {
                    json!({ "type": "string", "description": about })
                }
                Kind::Words | Kind::Texts(_) | Kind::Folders(_) => {
                    json!({ "type": "array", "items": { "type": "string" }, "description": about })
                }
                Kind::Switch(_) | Kind::Own(Own::Listing) => {
                    json!({ "type": "boolean", "description": about })
                }
                Kind::Number(_) | Kind::Own(Own::Timeout) => {
                    json!({ "type": "integer", "minimum": 1, "description": about })
                }
                Kind::Own(Own::Buffers) => json!({
                    "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 0 }, "description": about
                }),
            };
            properties.insert(parameter.name.to_owned(), schema);
            if parameter.required && !matches!(parameter.kind, Kind::Input(_)) {
                needed.push(parameter.name);
            }
        }
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": false,
        });
        object(schema)
    }

    /// The document's name; its full schema is among those of the project.
    fn output_schema(&self) -> JsonObject {
        let schema = json!({
            "type": "object",
            "description": format!("The document {0}; schemas/{0}.json describes it in full.", self.document),
            "properties": {
                "schema": {
                    "type": "object",
                    "properties": { "name": { "type": "string" }, "version": { "type": "integer" } },
                    "required": ["name", "version"],
                },
            },
            "required": ["schema"],
        });
        object(schema)
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn of_text(about: &str) -> Value {
    json!({ "type": "string", "description": format!("Metal source as text, instead of a path. {about}") })
}
