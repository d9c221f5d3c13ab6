//! MetalBench's two kinds of files.

use super::{ImportError, Read};
use crate::claim::Claim;
use assay_bench::registry::hash;
use serde_json::{Map, Value};

/// Most characters of a name.
const MOST_NAME: usize = 100;

pub(super) fn read(value: &Value) -> Result<Read, ImportError> {
    let Value::Object(fields) = value else {
        return Err(ImportError::Unknown("it is no object"));
    };
    let read = match fields.contains_key("task") {
        true => result(fields),
        false => session(fields),
    };
    match read.claims.is_empty() {
        true => Err(ImportError::Unknown("there is no kernel with a time in it")),
        false => Ok(read),
    }
}

/// `results/DEVICE/KERNEL.json`.
fn result(fields: &Map<String, Value>) -> Read {
    let at = |path: &[&str]| {
        let mut place = fields.get(*path.first()?)?;
        for name in path.iter().skip(1) {
            place = place.get(name)?;
        }
        Some(place)
    };
    let number = |path: &[&str]| at(path).and_then(number);
    let device = at(&["chip", "bucket"]).or(at(&["metal_device"]));
    let (Some(kernel), Some(device)) = (name(fields.get("task")), name(device)) else {
        return Read {
            skipped: 1,
            ..Read::default()
        };
    };
    let time_ms = number(&["kernel_timing", "median_ms"]);
    if time_ms.is_none() {
        return Read {
            skipped: 1,
            ..Read::default()
        };
    }
    let claim = Claim {
        kernel,
        device,
        gpu_cores: at(&["chip", "gpu_cores"]).and_then(count),
        format: "metalbench-result".to_owned(),
        time_ms,
        speedup: number(&["speedup"]),
        gflops: number(&["metrics", "gflops"]),
        gbps: number(&["metrics", "gbps"]),
        iterations: at(&["kernel_timing", "iters"]).and_then(Value::as_u64),
        correct: at(&["correct"]).and_then(Value::as_bool),
        max_error: at(&["outputs"])
            .and_then(|outputs| outputs.get(0)?.get("max_err"))
            .and_then(self::number),
        body: Value::Object(fields.clone()).to_string(),
        ..Claim::default()
    };
    Read {
        claims: vec![claim],
        skipped: 0,
    }
}

/// `session.json`: devices, in them kernels.
fn session(devices: &Map<String, Value>) -> Read {
    let mut read = Read::default();
    for (device, kernels) in devices {
        let (Some(device), Value::Object(kernels)) = (checked(device), kernels) else {
            read.skipped += 1;
            continue;
        };
        for (kernel, record) in kernels {
            match (checked(kernel), record) {
                (Some(kernel), Value::Object(record)) if record.contains_key("best_time_ms") => {
                    read.claims.push(best(kernel, &device, record));
                }
                _ => read.skipped += 1,
            }
        }
    }
    read
}

/// One record of `session.json`.
fn best(kernel: String, device: &str, record: &Map<String, Value>) -> Claim {
    let number = |name: &str| record.get(name).and_then(number);
    let text = |name: &str| {
        let text = record.get(name)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let source = text("metal_source");
    let mut body = record.clone();
    body.remove("metal_source");
    Claim {
        kernel,
        device: device.to_owned(),
        format: "metalbench-session".to_owned(),
        taken_at: name(record.get("updated_at")),
        time_ms: number("best_time_ms"),
        speedup: number("speedup_vs_mlx"),
        gflops: number("gflops"),
        gbps: number("gbps"),
        iterations: record.get("iters").and_then(Value::as_u64),
        // A record is kept only of what was called right.
        correct: Some(true),
        max_error: number("max_err"),
        source_path: name(record.get("metal_source_path")),
        source_hash: source.as_deref().map(hash),
        source,
        body: Value::Object(body).to_string(),
        ..Claim::default()
    }
}

/// A number that is one: not negative, as all of these are.
fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|number| number.is_finite() && *number >= 0.0)
}

fn count(value: &Value) -> Option<u32> {
    let count = u32::try_from(value.as_u64()?).ok()?;
    (1..=1024).contains(&count).then_some(count)
}

fn name(value: Option<&Value>) -> Option<String> {
    checked(value?.as_str()?)
}

/// A name that can be shown: short, and without characters that move the cursor.
fn checked(name: &str) -> Option<String> {
    let shown = !name.is_empty()
        && name.chars().count() <= MOST_NAME
        && !name.chars().any(char::is_control);
    shown.then(|| name.to_owned())
}
