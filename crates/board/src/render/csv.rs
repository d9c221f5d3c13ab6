//! For spreadsheets: one line per source at a place, claims after results.

use super::View;
use crate::claim::Claim;
use crate::entry::Entry;
use assay_report::csv::cell;

const HEADINGS: [&str; 27] = [
    "verified",
    "kernel",
    "set",
    "dtype",
    "size_set",
    "sizes",
    "device",
    "origin",
    "chip",
    "gpu_cores",
    "mode",
    "record",
    "source_hash",
    "runs",
    "median_ms",
    "median_low_ms",
    "median_high_ms",
    "least_ms",
    "samples",
    "gflops",
    "gbps",
    "roofline",
    "reference",
    "speedup",
    "taken_at",
    "record_old_ms",
    "record_new_ms",
];

/// The view as CSV (RFC 4180), with a line of headings. A field that is not known is empty.
pub fn csv(view: &View) -> String {
    let mut out = line(HEADINGS.map(str::to_owned));
    for entry in &view.results {
        out += &line(result(entry));
    }
    for claim in &view.claims {
        out += &line(self::claim(claim));
    }
    out
}

fn result(entry: &Entry) -> [String; 27] {
    let (run, device) = (&entry.run, &entry.device);
    let sizes = entry.sizes.iter();
    let sizes: Vec<String> = sizes.map(|(name, size)| format!("{name}={size}")).collect();
    let reference = run.reference.as_ref();
    let beaten = entry.beaten.as_ref();
    [
        "true".to_owned(),
        entry.kernel.clone(),
        entry.set.clone(),
        entry.dtype.clone(),
        entry.size_set.clone(),
        sizes.join(" "),
        device.name.clone(),
        device.origin.clone(),
        or_empty(device.chip.clone()),
        or_empty(device.gpu_cores),
        entry.mode.clone(),
        entry.record.to_string(),
        entry.source_hash.clone(),
        entry.runs.to_string(),
        run.median_ms.to_string(),
        run.median_low_ms.to_string(),
        run.median_high_ms.to_string(),
        run.least_ms.to_string(),
        run.samples_ms.len().to_string(),
        run.gflops.to_string(),
        run.gbps.to_string(),
        or_empty(run.roofline),
        or_empty(reference.map(|reference| reference.name.clone())),
        or_empty(reference.map(|reference| reference.speedup)),
        run.taken_at.clone(),
        or_empty(beaten.map(|beaten| beaten.old_ms)),
        or_empty(beaten.map(|beaten| beaten.new_ms)),
    ]
}

fn claim(claim: &Claim) -> [String; 27] {
    let mut fields = [const { String::new() }; 27];
    let known = [
        ("verified", Some("false".to_owned())),
        ("kernel", Some(claim.kernel.clone())),
        ("device", Some(claim.device.clone())),
        ("origin", Some("claimed".to_owned())),
        ("chip", claim.chip().map(|chip| chip.name.to_owned())),
        ("gpu_cores", claim.gpu_cores.map(|cores| cores.to_string())),
        ("record", Some("false".to_owned())),
        ("source_hash", claim.source_hash.clone()),
        ("median_ms", claim.time_ms.map(|ms| ms.to_string())),
        ("samples", claim.iterations.map(|count| count.to_string())),
        ("gflops", claim.gflops.map(|rate| rate.to_string())),
        ("gbps", claim.gbps.map(|rate| rate.to_string())),
        ("reference", claim.speedup_over.clone()),
        ("speedup", claim.speedup.map(|speedup| speedup.to_string())),
        ("taken_at", claim.taken_at.clone()),
    ];
    for (name, value) in known {
        let place = HEADINGS.iter().position(|heading| *heading == name);
        if let (Some(field), Some(value)) = (place.and_then(|place| fields.get_mut(place)), value) {
            *field = value;
        }
    }
    fields
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn line(fields: [String; 27]) -> String {
    fields.map(|field| cell(&field).into_owned()).join(",") + "\r\n"
}
