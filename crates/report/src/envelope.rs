//! The JSON envelope: which schema, which version, produced by what.
//!
//! ```
//! use assay_report::envelope::Envelope;
//! use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct Body { threads: u32 }
//!
//! let json = Envelope::new("assay.example", 1, Body { threads: 1024 }).to_json();
//! assert!(json.starts_with("{\n  \"schema\": {\n    \"name\": \"assay.example\","));
//! assert!(json.contains("\"threads\": 1024"));
//! ```

use serde::Serialize;

/// Name and version of the schema a document follows.
#[derive(Clone, Debug, Serialize)]
pub struct Schema {
    /// Dotted name, `assay.profile`.
    pub name: &'static str,
    /// Raised when a field changes meaning or goes away.
    pub version: u32,
}

/// The program that wrote a document.
#[derive(Clone, Debug, Serialize)]
pub struct Producer {
    /// Always `assay`.
    pub name: &'static str,
    /// The program's version.
    pub version: &'static str,
}

/// A document: schema, producer, and the fields of the body beside them.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope<T> {
    /// Which schema the document follows.
    pub schema: Schema,
    /// Who wrote it.
    pub producer: Producer,
    /// The document's own fields.
    #[serde(flatten)]
    pub body: T,
}

impl<T: Serialize> Envelope<T> {
    /// Wraps `body`; its fields appear at the top level beside `schema`.
    pub fn new(name: &'static str, version: u32, body: T) -> Self {
        Envelope {
            schema: Schema { name, version },
            producer: Producer {
                name: "assay",
                version: env!("CARGO_PKG_VERSION"),
            },
            body,
        }
    }

    /// Indented JSON without a final newline.
    pub fn to_json(&self) -> String {
        // A body of plain data cannot fail to serialise; a map with non-string keys
        // could, and the message then stands where the document would.
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|error| format!("{{\"error\":{error:?}}}"))
    }

    /// One line of JSON, for JSON Lines output.
    pub fn to_json_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| format!("{{\"error\":{error:?}}}"))
    }
}
