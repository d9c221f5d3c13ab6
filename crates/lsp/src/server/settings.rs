//! What a user can set.

use super::state::Client;
use crate::Shown;
use assay_launch::Written;
use serde_json::Value;
use std::time::Duration;

/// The settings, section `assay`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub chip: String,
    /// Flags of a launch for kernels without a comment: for all, or by the kernel's name.
    launch: Value,
    pub defines: Vec<String>,
    pub include_folders: Vec<String>,
    pub shown: Shown,
    /// Kernels that are looked at unasked.
    pub most_kernels: usize,
    /// How long a document must be left alone before it is looked at.
    pub debounce: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            chip: assay_chip::DEFAULT_CHIP.to_owned(),
            launch: Value::Null,
            defines: Vec::new(),
            include_folders: Vec::new(),
            shown: Shown {
                kernels: true,
                lines: true,
            },
            most_kernels: 64,
            debounce: Duration::from_millis(300),
        }
    }
}

impl Settings {
    /// Takes over what is there; the rest stays. Returns what is wrong with it.
    pub fn update(&mut self, given: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let given = given.get("assay").unwrap_or(given);
        let Some(given) = given.as_object() else {
            return wrong;
        };
        for (name, value) in given {
            let taken = match (name.as_str(), value) {
                (_, Value::Null) => true,
                ("chip", Value::String(chip)) => match assay_chip::Chip::named(chip) {
                    Ok(_) => {
                        self.chip.clone_from(chip);
                        true
                    }
                    Err(error) => {
                        wrong.push(format!("assay.chip: {error}"));
                        true
                    }
                },
                ("launch", Value::String(_) | Value::Object(_)) => {
                    self.launch = value.clone();
                    true
                }
                ("defines", Value::Array(list)) => {
                    self.defines = texts(list);
                    true
                }
                ("includeFolders", Value::Array(list)) => {
                    self.include_folders = texts(list);
                    true
                }
                ("hints", Value::Object(hints)) => {
                    let on = |name: &str| hints.get(name).and_then(Value::as_bool);
                    self.shown.kernels = on("kernels").unwrap_or(self.shown.kernels);
                    self.shown.lines = on("lines").unwrap_or(self.shown.lines);
                    true
                }
                ("maxKernels", Value::Number(number)) => {
                    self.most_kernels = number.as_u64().map_or(0, |number| number as usize);
                    true
                }
                ("debounceMilliseconds", Value::Number(number)) => {
                    let most = Duration::from_secs(60);
                    let given = Duration::from_millis(number.as_u64().unwrap_or(0));
                    self.debounce = given.min(most);
                    true
                }
                // Settings of the editor's side.
                ("server" | "trace" | "path", _) => true,
                _ => false,
            };
            if !taken {
                wrong.push(format!("assay.{name}: {value} is not understood"));
            }
        }
        wrong
    }

    /// Returns true if documents look the same with others: when and which hints are shown does not matter.
    pub fn looks_like(&self, others: &Settings) -> bool {
        let same = Settings {
            shown: others.shown,
            debounce: others.debounce,
            ..self.clone()
        };
        same == *others
    }

    /// The flags of a launch for a kernel, if the settings have some.
    pub fn launch_flags(&self, kernel: &str) -> Option<&str> {
        match &self.launch {
            Value::String(flags) if !flags.trim().is_empty() => Some(flags),
            Value::Object(by_name) => by_name.get(kernel).and_then(Value::as_str),
            _ => None,
        }
    }

    /// The same, understood.
    pub fn launch(&self, kernel: &str) -> Result<Option<Written>, String> {
        match self.launch_flags(kernel) {
            Some(flags) => match Written::parse(flags) {
                Ok((_, written)) => Ok(Some(written)),
                Err(mistake) => Err(format!("assay.launch: {mistake}")),
            },
            None => Ok(None),
        }
    }

    /// How source is compiled, as flags.
    pub fn source_flags(&self) -> Vec<String> {
        let defines = self.defines.iter().map(|define| format!("-D{define}"));
        let folders = self
            .include_folders
            .iter()
            .map(|folder| format!("-I{folder}"));
        defines.chain(folders).collect()
    }
}

fn texts(list: &[Value]) -> Vec<String> {
    list.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// What the client can do that not every client can.
pub fn client(parameters: &Value) -> Client {
    let has = |path: &str| parameters.pointer(path).and_then(Value::as_bool) == Some(true);
    let lists = |path: &str, wanted: &str| {
        let list = parameters.pointer(path).and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|value| value == wanted))
    };
    let edits = "/capabilities/workspace/workspaceEdit";
    Client {
        utf8: lists("/capabilities/general/positionEncodings", "utf-8"),
        refreshes_hints: has("/capabilities/workspace/inlayHint/refreshSupport"),
        refreshes_lenses: has("/capabilities/workspace/codeLens/refreshSupport"),
        has_configuration: has("/capabilities/workspace/configuration"),
        creates_files: has(&format!("{edits}/documentChanges"))
            && lists(&format!("{edits}/resourceOperations"), "create"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_there_is_taken_and_what_is_wrong_is_told() {
        let mut settings = Settings::default();
        let wrong = settings.update(&json!({ "assay": {
            "chip": "m1-max", "launch": { "k": "--grid 64 --threadgroup 32" }, "hints": { "lines": false }, "colour": 3
        } }));
        assert_eq!(wrong, ["assay.colour: 3 is not understood"]);
        assert_eq!(settings.chip, "m1-max");
        assert_eq!(
            (settings.shown.kernels, settings.shown.lines),
            (true, false)
        );
        assert!(settings.launch("k").unwrap().is_some());
        assert!(settings.launch("other").unwrap().is_none());
        assert_eq!(settings.update(&json!({ "chip": "m99" })).len(), 1);
        assert_eq!(settings.chip, "m1-max");
    }
}
