//! What processes of a run reported: lines of JSON that each of them appends to one file.

use serde::{Deserialize, Serialize};
use std::path::Path;

#[cfg(test)]
use schemars::JsonSchema;

/// A line of the file.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Summary { summary: Summary },
    Report(Report),
}

/// Something that a kernel or the program did wrong.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Report {
    /// `check` (an access of a kernel), `fault` (a kernel was stopped), `validation` (a wrong use of the API), `race` (two dispatches
    /// without an order).
    kind: String,
    /// What, in one word: `out-of-bounds`, `missing-barrier`, …
    rule: String,
    /// In words.
    text: String,
    /// The kernel of a dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// The line of the kernel's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The dispatches it is about, with their labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dispatches: Vec<Dispatch>,
    /// The calls of the program that led to a wrong use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

/// A dispatch or a command of a blit encoder.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Dispatch {
    /// Its kernel, grid and labels in words.
    text: String,
    /// The calls of the program that encoded it, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

/// What a process did in all.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Summary {
    /// Dispatches that ran.
    pub(super) dispatches: u64,
    /// Seconds of this CPU in kernels.
    pub(super) host_seconds: f64,
    /// Wrong accesses of kernels, each time.
    pub(super) reports: u64,
    /// Kernels that were stopped.
    pub(super) faults: u64,
    /// Wrong uses of the API.
    pub(super) wrong_uses: u64,
    /// Pairs of dispatches without an order.
    pub(super) races: u64,
    /// Reports that the suppressions file keeps quiet.
    pub(super) suppressed: u64,
    /// What the program was told of the GPU's times, where these are modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gpu: Option<Modelled>,
}

/// GPU times of a model.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Modelled {
    /// The chip.
    pub(super) chip: String,
    /// Seconds of command buffers, from the start to the end of each.
    pub(super) modelled_seconds: f64,
    /// Command buffers that have no time.
    pub(super) unknown: u64,
}

impl Report {
    /// In a line.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.rule, self.text)
    }
}

impl Summary {
    fn add(&mut self, other: &Summary) {
        self.dispatches += other.dispatches;
        self.host_seconds += other.host_seconds;
        self.reports += other.reports;
        self.faults += other.faults;
        self.wrong_uses += other.wrong_uses;
        self.races += other.races;
        self.suppressed += other.suppressed;
        if let Some(other) = &other.gpu {
            let own = self.gpu.get_or_insert_default();
            own.chip.clone_from(&other.chip);
            own.modelled_seconds += other.modelled_seconds;
            own.unknown += other.unknown;
        }
    }

    /// Returns true if anything was wrong.
    pub(super) fn is_wrong(&self) -> bool {
        self.reports + self.faults + self.wrong_uses + self.races > 0
    }
}

/// All that was reported.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) reports: Vec<Report>,
    pub(super) summary: Summary,
    pub(super) processes: u64,
}

/// Reads the file of a run; lines that a killed process left unfinished are left out.
pub(super) fn read(path: &Path) -> std::io::Result<Found> {
    let mut found = Found::default();
    for line in std::fs::read_to_string(path)?.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Summary { summary }) => {
                found.summary.add(&summary);
                found.processes += 1;
            }
            Ok(Line::Report(report)) => found.reports.push(report),
            Err(_) => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_added_and_unfinished_lines_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reports");
        let summary = r#"{"summary":{"dispatches":3,"host_seconds":0.5,"reports":1,"faults":0,"wrong_uses":0,"races":0,"suppressed":2}}"#;
        let report = r#"{"kind":"check","rule":"out-of-bounds","text":"a write","kernel":"k"}"#;
        std::fs::write(
            &path,
            format!("{report}\n{summary}\n{summary}\n{{\"kind\":\"che"),
        )
        .unwrap();
        let found = read(&path).unwrap();
        assert_eq!((found.reports.len(), found.processes), (1, 2));
        assert_eq!((found.summary.dispatches, found.summary.suppressed), (6, 4));
        assert!(found.summary.is_wrong());
    }
}
