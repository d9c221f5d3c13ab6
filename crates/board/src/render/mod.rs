//! The board for people and for programs.

mod csv;
mod html;
mod markdown;
mod roofline;
mod sources;
mod text;

pub use csv::csv;
pub use html::html;
pub use markdown::markdown;
pub use text::{TextStyle, text};

use crate::claim::Claim;
use crate::entry::{Device, Entry};
use crate::modelled::Modelled;
use serde::Serialize;

/// What is shown: the document of `--format json`, and what all other forms are made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// Verified results: by kernel, type, sizes and device, the holder of the record first.
    pub results: Vec<Entry>,
    /// What others say. Nothing here was verified, and nothing here is ranked.
    pub claims: Vec<Claim>,
    /// Predicted times. No clock told them, and they are not ranked with those that one told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modelled: Vec<Modelled>,
}

/// Devices in the order of their first result, GPUs first, each with its results.
fn by_device(results: &[Entry]) -> Vec<(&Device, Vec<&Entry>)> {
    let mut devices: Vec<(&Device, Vec<&Entry>)> = Vec::new();
    for entry in results {
        let same = |device: &Device| {
            device.name == entry.device.name && device.origin == entry.device.origin
        };
        match devices.iter_mut().find(|(device, _)| same(device)) {
            Some((_, entries)) => entries.push(entry),
            None => devices.push((&entry.device, vec![entry])),
        }
    }
    devices.sort_by_key(|(device, _)| device.origin != "measured");
    devices
}

/// Whose clock, in a sentence.
fn clock(device: &Device) -> &'static str {
    match device.origin.as_str() {
        "measured" => "measured by the GPU's clock",
        _ => "host times of a CPU, which say nothing about a GPU",
    }
}

/// The first characters of a hash: enough to tell sources of a kernel apart.
fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// The old and the new time of the race in which a source took the record; empty where it did not take it from another.
fn changed_hands(entry: &Entry) -> String {
    let time = |ms: f64| assay_report::number::nanoseconds(ms * 1e6);
    let beaten = entry.beaten.as_ref().filter(|_| entry.record);
    beaten.map_or(String::new(), |beaten| {
        format!("{} → {}", time(beaten.old_ms), time(beaten.new_ms))
    })
}

/// Half the interval of the median, in per cent of it.
fn precision(entry: &Entry) -> f64 {
    let run = &entry.run;
    (run.median_high_ms - run.median_low_ms) / run.median_ms * 50.0
}

/// A figure with about three digits.
pub(crate) fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.01 => format!("{value:.2}"),
        value => format!("{value:.1e}"),
    }
}
