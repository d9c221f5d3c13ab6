//! Just enough JSON writing for the exports, so that the crate needs no dependency.

use std::fmt::{Display, Write};

/// A document under construction: an object with one member a line, and arrays with one
/// element a line.
pub(super) struct Document {
    text: String,
    empty: bool,
}

impl Document {
    /// Opens a document that names its schema and its producer.
    pub(super) fn new(schema: &str, version: u32) -> Document {
        let mut document = Document {
            text: String::from("{"),
            empty: true,
        };
        let named = Object::new()
            .string("name", schema)
            .number("version", version);
        document.member("schema", &named.close());
        let producer = Object::new()
            .string("name", env!("CARGO_PKG_NAME"))
            .string("version", env!("CARGO_PKG_VERSION"));
        document.member("producer", &producer.close());
        document
    }

    /// Opens a document without a schema of ours.
    pub(super) fn bare() -> Document {
        Document {
            text: String::from("{"),
            empty: true,
        }
    }

    /// Adds a member whose value is JSON already.
    pub(super) fn member(&mut self, name: &str, value: &str) {
        let comma = if self.empty { "" } else { "," };
        self.empty = false;
        let _ = write!(self.text, "{comma}\n  \"{name}\": {value}");
    }

    /// Adds an array, one element a line, each JSON already.
    pub(super) fn array(&mut self, name: &str, elements: impl IntoIterator<Item = String>) {
        self.member(name, "[");
        let mut comma = "";
        for element in elements {
            let _ = write!(self.text, "{comma}\n    {element}");
            comma = ",";
        }
        self.text
            .push_str(if comma.is_empty() { "]" } else { "\n  ]" });
    }

    /// The finished text, with a final newline.
    pub(super) fn close(mut self) -> String {
        self.text.push_str("\n}\n");
        self.text
    }
}

/// A one-line object.
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Object {
        Object(String::from("{"))
    }

    /// Adds a member whose value is JSON already.
    pub(super) fn raw(mut self, name: &str, value: &str) -> Object {
        let comma = if self.0.len() > 1 { ", " } else { "" };
        let _ = write!(self.0, "{comma}\"{name}\": {value}");
        self
    }

    /// Adds a whole number.
    pub(super) fn number(self, name: &str, value: impl Display) -> Object {
        self.raw(name, &value.to_string())
    }

    /// Adds a number with `digits` decimals; `null` if it is none.
    pub(super) fn float(self, name: &str, value: Option<f64>, digits: usize) -> Object {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.raw(name, &format!("{value:.digits$}")),
            None => self.raw(name, "null"),
        }
    }

    /// Adds a number or `null`.
    pub(super) fn optional(self, name: &str, value: Option<impl Display>) -> Object {
        match value {
            Some(value) => self.number(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// Adds a number if there is one.
    pub(super) fn present(self, name: &str, value: Option<impl Display>) -> Object {
        match value {
            Some(value) => self.number(name, value),
            None => self,
        }
    }

    /// Adds a text.
    pub(super) fn string(self, name: &str, value: &str) -> Object {
        self.raw(name, &quote(value))
    }

    /// The finished object.
    pub(super) fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A text as a JSON string.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_character_survives_quoting() {
        let all: String = (0..0x300u32).filter_map(char::from_u32).collect();
        let back: String = serde_json::from_str(&quote(&all)).unwrap();
        assert_eq!(back, all);
    }
}
