//! Recorded spaces from JSON: three encodings, one model.

use super::{Error, Recorded};
use crate::space::{Config, Knob, Space, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json};
use std::fmt;
use std::io::Read as _;

/// Bytes of a decompressed file at most.
const LARGEST: u64 = 1 << 30;

pub(super) fn read(bytes: &[u8]) -> Result<Recorded, Error> {
    let unpacked;
    let bytes = match bytes.starts_with(&[0x1f, 0x8b]) {
        true => {
            unpacked = unpack(bytes)?;
            &unpacked
        }
        false => bytes,
    };
    let json = parse(bytes)?;
    let recorded = match &json {
        Json::Object(object) if object.contains_key("configurations") => rows(bytes)?,
        Json::Object(object) if object.contains_key("cache") => cache(object)?,
        Json::Object(object) if object.contains_key("results") => results(object)?,
        _ => return Err(Error::Kind),
    };
    match recorded.times.iter().any(Option::is_some) {
        true => Ok(recorded),
        false => Err(Error::NoTimes),
    }
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut unpacked = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(bytes);
    let read = decoder.take(LARGEST + 1).read_to_end(&mut unpacked);
    let read = read.map_err(|error| Error::Json(format!("not decompressed: {error}")))?;
    match read as u64 > LARGEST {
        true => Err(Error::Json(
            "decompressed it has more than 1 GiB".to_owned(),
        )),
        false => Ok(unpacked),
    }
}

/// JSON, also that of Kernel Tuner's cache files: a session that has not ended leaves out the last braces, and Python
/// writes numbers that JSON does not have.
fn parse(bytes: &[u8]) -> Result<Json, Error> {
    let first = match serde_json::from_slice(bytes) {
        Ok(json) => return Ok(json),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(bytes);
    let mut text = without_nan(text.trim_end().trim_end_matches(','));
    for _ in 0..2 {
        if let Ok(json) = serde_json::from_str(&text) {
            return Ok(json);
        }
        text.push('}');
    }
    serde_json::from_str(&text).map_err(|_| Error::Json(format!("not JSON: {first}")))
}

/// The text with `NaN` and `Infinity` outside strings as `null`.
fn without_nan(text: &str) -> String {
    let mut clean = String::with_capacity(text.len() + 2);
    let mut quoted = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].into_iter();
        let word = word.filter(|_| !quoted).find(|word| rest.starts_with(word));
        if let Some(word) = word {
            clean.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        let escaped = quoted && next == '\\';
        quoted ^= next == '"';
        let taken: usize = rest
            .chars()
            .take(1 + usize::from(escaped))
            .map(char::len_utf8)
            .sum();
        clean.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    clean
}

fn missing(what: &str) -> Error {
    Error::Field(format!("{what} is missing"))
}

fn text(object: &Map<String, Json>, name: &str) -> String {
    let text = object.get(name).and_then(Json::as_str);
    text.unwrap_or_default().to_owned()
}

/// A value of a parameter as text.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A time above 0; anything else failed.
fn time(value: Option<&Json>) -> Option<f64> {
    let time = value.and_then(Json::as_f64);
    // Kernel Tuner marks failed configurations by 1e20.
    time.filter(|time| *time > 0.0 && *time < 1e20)
}

/// Rows of indices, one per parameter, and a time.
#[derive(serde::Deserialize)]
struct Rows {
    #[serde(default)]
    device: String,
    #[serde(default)]
    kernel: String,
    parameters: Parameters,
    configurations: Vec<Vec<Option<f64>>>,
}

/// Parameters in the order of the file, which is that of the indices in a row.
struct Parameters(Vec<Knob>);

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Parameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("parameters, each with a list of values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
                let mut knobs = Vec::new();
                while let Some((name, values)) = map.next_entry::<String, Vec<Json>>()? {
                    knobs.push(Knob::new(name, values.iter().map(shown)));
                }
                Ok(Parameters(knobs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn rows(bytes: &[u8]) -> Result<Recorded, Error> {
    let rows: Rows =
        serde_json::from_slice(bytes).map_err(|error| Error::Field(error.to_string()))?;
    let mut configs = Vec::with_capacity(rows.configurations.len());
    let mut times = Vec::with_capacity(rows.configurations.len());
    for (number, row) in rows.configurations.iter().enumerate() {
        let whole = |index: &Option<f64>| {
            let index = (*index)?;
            (index >= 0.0 && index.fract() == 0.0 && index < 65536.0).then_some(index as u16)
        };
        let parts = row.split_last();
        let parts = parts.and_then(|(last, indices)| {
            let indices: Option<Vec<u16>> = indices.iter().map(whole).collect();
            Some((last, indices?))
        });
        let (last, indices) = parts.ok_or_else(|| {
            let what = format!("configuration {number} is not a list of indices and a time");
            Error::Field(what)
        })?;
        configs.push(Config::new(indices));
        times.push(last.filter(|time| *time > 0.0));
    }
    Ok(Recorded {
        device: rows.device,
        kernel: rows.kernel,
        space: Space::of(rows.parameters.0, configs)?,
        times,
    })
}

/// A cache file of Kernel Tuner: an object per configuration.
fn cache(object: &Map<String, Json>) -> Result<Recorded, Error> {
    let names = object.get("tune_params_keys").and_then(Json::as_array);
    let names: Vec<String> = names
        .ok_or_else(|| missing("tune_params_keys"))?
        .iter()
        .map(shown)
        .collect();
    let cache = object.get("cache").and_then(Json::as_object);
    let cache = cache.ok_or_else(|| missing("cache"))?;
    let objective = match text(object, "objective") {
        none if none.is_empty() => "time".to_owned(),
        some => some,
    };
    let entries = cache.values().map(|entry| {
        let entry = entry
            .as_object()
            .ok_or_else(|| missing("an object per configuration"))?;
        Ok((entry, time(entry.get(&objective))))
    });
    let entries: Result<Vec<_>, Error> = entries.collect();
    let entries = entries?;
    gathered(
        text(object, "device_name"),
        text(object, "kernel_name"),
        names,
        &entries,
    )
}

/// T4 results: a list of objects with a configuration and measurements.
fn results(object: &Map<String, Json>) -> Result<Recorded, Error> {
    let results = object.get("results").and_then(Json::as_array);
    let results = results.ok_or_else(|| missing("the list of results"))?;
    let mut entries = Vec::with_capacity(results.len());
    for result in results {
        let config = result.get("configuration").and_then(Json::as_object);
        let config = config.ok_or_else(|| missing("the configuration of a result"))?;
        let objective = result.pointer("/objectives/0").and_then(Json::as_str);
        let measured = result.get("measurements").and_then(Json::as_array);
        let named = measured.into_iter().flatten().find(|measured| {
            measured.get("name").and_then(Json::as_str) == Some(objective.unwrap_or("time"))
        });
        let right = result.get("invalidity").and_then(Json::as_str) != Some("compile")
            && result.get("correctness").and_then(Json::as_f64) != Some(0.0);
        let value = named.and_then(|measured| measured.get("value"));
        entries.push((config, time(value).filter(|_| right)));
    }
    let first = entries.first().ok_or(Error::NoTimes)?;
    let names = first.0.keys().cloned().collect();
    gathered(String::new(), String::new(), names, &entries)
}

/// A space of configurations that carry their values: the knobs have the values that occur.
fn gathered(
    device: String,
    kernel: String,
    names: Vec<String>,
    entries: &[(&Map<String, Json>, Option<f64>)],
) -> Result<Recorded, Error> {
    let mut knobs: Vec<Knob> = Vec::new();
    for name in names {
        let values = entries.iter().filter_map(|(entry, _)| entry.get(&name));
        let mut values: Vec<Value> = values.map(|value| Value::new(shown(value))).collect();
        values.sort_by(|a, b| (a.number, &a.text).cmp(&(b.number, &b.text)));
        values.dedup();
        knobs.push(Knob { name, values });
    }
    let mut configs = Vec::with_capacity(entries.len());
    for (entry, _) in entries {
        let index = |knob: &Knob| {
            let value = entry.get(&knob.name)?;
            let value = Value::new(shown(value));
            let key = (value.number, &value.text);
            let place = knob
                .values
                .binary_search_by(|a| (a.number, &a.text).cmp(&key));
            u16::try_from(place.ok()?).ok()
        };
        let indices: Option<Vec<u16>> = knobs.iter().map(index).collect();
        let indices = indices.ok_or_else(|| missing("a parameter of a configuration"))?;
        configs.push(Config::new(indices));
    }
    Ok(Recorded {
        device,
        kernel,
        space: Space::of(knobs, configs)?,
        times: entries.iter().map(|(_, time)| *time).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_file_of_an_unfinished_session_is_read() {
        let text = r#"{"device_name":"d","kernel_name":"k","tune_params_keys":["x","y"],"tune_params":{"x":[1,16],"y":["a"]},
            "cache":{"16,a":{"x":16,"y":"a","time":1.5,"GB/s":NaN},
                     "1,a":{"x":1,"y":"a","time":"RuntimeFailedConfig"},"#;
        let recorded = read(text.as_bytes()).unwrap();
        assert_eq!(recorded.times, [None, Some(1.5)]);
        assert_eq!(recorded.space.describe(crate::space::Point(1)), "x=16 y=a");
    }

    #[test]
    fn t4_results_are_read() {
        let text = r#"{"metadata":{},"results":[
            {"configuration":{"x":1},"invalidity":"correct","correctness":1,
             "measurements":[{"name":"time","value":2.0,"unit":""}],"objectives":["time"]},
            {"configuration":{"x":2},"invalidity":"compile","correctness":0,
             "measurements":[{"name":"time","value":1e20}],"objectives":["time"]}]}"#;
        let recorded = read(text.as_bytes()).unwrap();
        assert_eq!(recorded.times, [Some(2.0), None]);
    }

    #[test]
    fn what_is_no_recorded_space_says_why() {
        let why = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(why("[1, 2").starts_with("not JSON"));
        assert!(why("{}").contains("neither `configurations`"));
        let row = r#"{"parameters":{"a":[1]},"configurations":[[1,2.0]]}"#;
        assert_eq!(why(row), "configuration 0 does not fit the knobs");
        let none = r#"{"parameters":{"a":[1]},"configurations":[[0,null]]}"#;
        assert_eq!(why(none), "no configuration has a time");
        assert!(why("\u{1f}").starts_with("not JSON"));
        let torn = read(&[0x1f, 0x8b, 8]).unwrap_err().to_string();
        assert!(torn.starts_with("not decompressed"), "{torn}");
    }
}
