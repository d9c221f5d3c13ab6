//! Reading the board.

use crate::clock::utc;
use crate::entry::{self, Beaten, Device, Entry, Reference, Run};
use crate::error::Error;
use crate::place;
use crate::sql::{self, Failed, Row, values};
use crate::store::Board;
use assay_bench::stats;
use serde::Serialize;
use std::collections::BTreeMap;

/// Which entries. What is empty lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of kernels; a `*` at the end stands for any rest.
    pub kernels: Vec<String>,
    /// Sets.
    pub sets: Vec<String>,
    /// Parts of names of devices, in any case.
    pub devices: Vec<String>,
    /// Chips; a generation (`m2`) stands for all of its chips.
    pub chips: Vec<String>,
    /// Element types.
    pub dtypes: Vec<String>,
    /// Names of sizes.
    pub sizes: Vec<String>,
    /// Every source, not only those that hold a record.
    pub all: bool,
    /// With the text of the sources.
    pub with_sources: bool,
}

impl Filter {
    /// Whether a kernel's name is asked for.
    pub fn takes_kernel(&self, name: &str) -> bool {
        any(&self.kernels, |wanted| match wanted.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == wanted,
        })
    }

    /// Whether a device is asked for.
    pub fn takes_device(&self, name: &str, chip: Option<&str>) -> bool {
        let name = name.to_lowercase();
        let device = any(&self.devices, |part| name.contains(&part.to_lowercase()));
        let chip = any(&self.chips, |wanted| {
            chip.is_some_and(|chip| {
                chip == wanted || chip.split('-').next() == Some(wanted.as_str())
            })
        });
        device && chip
    }

    fn takes(&self, entry: &Entry) -> bool {
        let device = &entry.device;
        self.takes_kernel(&entry.kernel)
            && any(&self.sets, |set| *set == entry.set)
            && any(&self.dtypes, |dtype| *dtype == entry.dtype)
            && any(&self.sizes, |sizes| *sizes == entry.size_set)
            && self.takes_device(&device.name, device.chip.as_deref())
            && (self.all || entry.record)
    }
}

fn any(wanted: &[String], is: impl Fn(&String) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(is)
}

/// Every source at every place, with its middle run. Columns are named: names from a damaged schema need not be text.
const ENTRIES: &str = "
WITH numbered AS (
    SELECT id, place, source,
           row_number() OVER (PARTITION BY place, source ORDER BY median, id) AS number,
           count(*) OVER (PARTITION BY place, source) AS runs,
           min(median) OVER (PARTITION BY place, source) AS fastest,
           max(median) OVER (PARTITION BY place, source) AS slowest
    FROM run
), holder AS (
    SELECT record.place, run.source, record.old_time, record.new_time, record.ratio AS record_ratio
    FROM record JOIN run ON run.id = record.run
    WHERE record.id IN (SELECT max(id) FROM record GROUP BY place)
)
SELECT place.kernel, place.kernel_set, place.dtype, place.size_set, place.sizes, place.device, place.origin,
       place.mode, CASE WHEN holder.source IS NULL THEN 0 ELSE 1 END AS is_holder, holder.old_time, holder.new_time, holder.record_ratio, numbered.runs, numbered.fastest, numbered.slowest,
       run.id, run.source, run.source_path, run.taken_at, run.chip, run.gpu_cores, run.seed, run.comparisons,
       run.max_relative, run.median, run.samples, run.warm_up, run.buffer_sets, run.stop, run.remarks, run.flops, run.bytes,
       run.environment, run.reference, run.reference_samples, run.compared, run.elements
FROM numbered
JOIN run ON run.id = numbered.id
JOIN place ON place.id = numbered.place
LEFT JOIN holder ON holder.place = numbered.place AND holder.source = numbered.source
WHERE numbered.number = numbered.runs / 2 + 1
ORDER BY place.kernel, place.dtype, place.size_set, place.sizes, place.origin DESC, place.device, place.mode,
         is_holder DESC, run.median, run.id";

impl Board {
    /// What the board says: by kernel, type, sizes and device, the holder of the record first, then by time.
    pub fn entries(&self, filter: &Filter) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        self.read(|session| {
            session.each(ENTRIES, &[], &mut |row| {
                let entry = entry(row)?;
                if filter.takes(&entry) {
                    entries.push(entry);
                }
                Ok(())
            })
        })?;
        if filter.with_sources {
            for entry in &mut entries {
                entry.source = Some(self.source(&entry.source_hash)?);
            }
        }
        Ok(entries)
    }

    /// The text of a source.
    pub fn source(&self, hash: &str) -> Result<String, Error> {
        let query = "SELECT text FROM source WHERE hash = ?1";
        self.read(|session| {
            let text = sql::first(session, query, &values![hash], |row| row.at(0))?;
            text.ok_or_else(|| Failed::Shape(format!("there is no source {hash}")))
        })
    }

    /// Samples, in seconds, of every run of an entry's source at its place, oldest first.
    pub fn samples(&self, entry: &Entry) -> Result<Vec<Vec<f64>>, Error> {
        let query = "SELECT samples FROM run WHERE source = ?1
                     AND place = (SELECT place FROM run WHERE id = ?2) ORDER BY id";
        let values = values![&entry.source_hash, entry.run.id];
        self.read(|session| sql::rows(session, query, &values, |row| numbers(row, "samples")))
    }

    /// How many verified runs there are, of all sources at all places.
    pub fn runs(&self) -> Result<u64, Error> {
        let count = self.read(|session| sql::number(session, "SELECT count(*) FROM run", &[]))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

fn entry(row: &Row) -> Result<Entry, Failed> {
    let device = Device {
        name: row.get("device")?,
        origin: row.get("origin")?,
        chip: row.get("chip")?,
        gpu_cores: row.get("gpu_cores")?,
    };
    let ms = |name| row.get::<f64>(name).map(|seconds| seconds * 1e3);
    let some_ms = |name| {
        row.get::<Option<f64>>(name)
            .map(|seconds| seconds.map(|seconds| seconds * 1e3))
    };
    let (old, new) = (some_ms("old_time")?, some_ms("new_time")?);
    let ratio: Option<f64> = row.get("record_ratio")?;
    let beaten = old.zip(new).zip(ratio);
    let (mode, description_hash) = place::split(&row.get::<String>("mode")?);
    Ok(Entry {
        description_hash,
        beaten: beaten.map(|((old_ms, new_ms), ratio)| Beaten {
            old_ms,
            new_ms,
            ratio,
        }),
        kernel: row.get("kernel")?,
        set: row.get("kernel_set")?,
        dtype: row.get("dtype")?,
        size_set: row.get("size_set")?,
        sizes: sizes(&row.get::<String>("sizes")?),
        mode,
        record: row.get("is_holder")?,
        source_hash: row.get("source")?,
        source: None,
        runs: count(row, "runs")?,
        medians_ms: [ms("fastest")?, ms("slowest")?],
        run: run(row, &device)?,
        device,
    })
}

fn run(row: &Row, device: &Device) -> Result<Run, Failed> {
    let samples = numbers(row, "samples")?;
    let median: f64 = row.get("median")?;
    let reference = reference(row, median)?;
    let mut run = Run {
        id: row.get("id")?,
        taken_at: utc(row.get("taken_at")?),
        source_path: row.get("source_path")?,
        seed: row.get("seed")?,
        comparisons: count(row, "comparisons")?,
        coverage: coverage(row)?,
        max_relative_error: row.get("max_relative")?,
        median_ms: median * 1e3,
        median_low_ms: median * 1e3,
        median_high_ms: median * 1e3,
        least_ms: median * 1e3,
        deviation_ms: 0.0,
        outliers: 0,
        samples_ms: samples.iter().map(|sample| sample * 1e3).collect(),
        warm_up: count(row, "warm_up")?,
        buffer_sets: count(row, "buffer_sets")?,
        stop: row.get("stop")?,
        remarks: serde_json::from_str(&row.get::<String>("remarks")?).unwrap_or_default(),
        flops: count(row, "flops")?,
        bytes: count(row, "bytes")?,
        gflops: 0.0,
        gbps: 0.0,
        intensity: None,
        stability: 0.0,
        roofline: None,
        environment: serde_json::from_str(&row.get::<String>("environment")?).unwrap_or_default(),
        reference,
    };
    entry::figures(&mut run, device, &samples, None);
    Ok(run)
}

/// The part of the elements that was compared, where that was kept.
fn coverage(row: &Row) -> Result<Option<f64>, Failed> {
    let compared: Option<i64> = row.get("compared")?;
    let elements: Option<i64> = row.get("elements")?;
    let known = compared.zip(elements.filter(|elements| *elements > 0));
    Ok(known.map(|(compared, elements)| compared as f64 / elements as f64))
}

fn reference(row: &Row, median: f64) -> Result<Option<Reference>, Failed> {
    let Some(name) = row.get::<Option<String>>("reference")? else {
        return Ok(None);
    };
    let samples = numbers(row, "reference_samples")?;
    Ok(stats::median(&samples).map(|time| Reference {
        name,
        median_ms: time * 1e3,
        speedup: time / median,
        samples_ms: samples.iter().map(|sample| sample * 1e3).collect(),
    }))
}

/// Sizes from their text; what is none is left out.
fn sizes(text: &str) -> BTreeMap<String, u64> {
    let sizes = text.split(' ').filter_map(|size| size.split_once('='));
    sizes
        .filter_map(|(name, size)| Some((name.to_owned(), size.parse().ok()?)))
        .collect()
}

fn count(row: &Row, name: &str) -> Result<u64, Failed> {
    Ok(u64::try_from(row.get::<i64>(name)?).unwrap_or(0))
}

/// Numbers from the bytes they are kept as.
fn numbers(row: &Row, column: &str) -> Result<Vec<f64>, Failed> {
    let bytes = row.get::<Option<Vec<u8>>>(column)?.unwrap_or_default();
    let (numbers, _) = bytes.as_chunks::<8>();
    Ok(numbers
        .iter()
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect())
}

/// A list or map as JSON.
pub(crate) fn text_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
