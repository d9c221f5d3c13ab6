//! A verified run on its way from the machine that measured it to whoever keeps the board.
//!
//! The machine that measures examines the run as any other ([`Outcome::new`]) and sends it whole, race included. What
//! arrives is checked again for what can be checked: times above 0, a median that the samples have, known words.

use crate::error::Error;
use crate::outcome::{Outcome, Raced, Setting, Timed};
use crate::place::Place;
use crate::record::Held;
use crate::sql::{self, values};
use crate::store::Board;
use assay_bench::registry::{Resolved, hash};
use assay_bench::stats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An [`Outcome`] as a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wire {
    kernel: String,
    set: String,
    dtype: String,
    size_set: String,
    sizes: String,
    origin: String,
    mode: String,
    source_path: String,
    source: String,
    description: String,
    device: String,
    chip: Option<String>,
    gpu_cores: Option<u32>,
    environment: BTreeMap<String, String>,
    taken_at: i64,
    compared: u64,
    elements: u64,
    seed: u64,
    comparisons: usize,
    max_relative: Option<Bits>,
    median: Bits,
    samples: Vec<Bits>,
    warm_up: usize,
    buffer_sets: usize,
    stop: String,
    remarks: Vec<String>,
    flops: u64,
    bytes: u64,
    reference: Option<(String, Vec<Bits>)>,
    raced: Option<Race>,
}

/// A [`Raced`] as a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Race {
    holder: String,
    rounds: Vec<(Vec<Bits>, Vec<Bits>)>,
    holder_is_sound: bool,
}

/// A number by its bits: a text of digits may come back as a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Bits(u64);

fn bits(numbers: &[f64]) -> Vec<Bits> {
    numbers
        .iter()
        .map(|number| Bits(number.to_bits()))
        .collect()
}

fn numbers(bits: &[Bits]) -> Vec<f64> {
    bits.iter().map(|bits| f64::from_bits(bits.0)).collect()
}

/// Who holds a record, and where: what a machine elsewhere needs to race against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// What tells the place from all others.
    identity: [String; 7],
    hash: String,
    /// The source.
    pub text: String,
    path: String,
}

impl Holder {
    /// The holder, if its record is at this place.
    pub fn at(&self, place: &Place) -> Option<Held> {
        let same = self.identity.iter().eq(words(place).iter());
        same.then(|| Held {
            hash: self.hash.clone(),
            text: self.text.clone(),
            path: self.path.clone(),
        })
    }
}

fn words(place: &Place) -> [String; 7] {
    [
        place.kernel.clone(),
        place.dtype.to_owned(),
        place.size_set.clone(),
        place.sizes.clone(),
        place.device.clone(),
        place.origin.to_owned(),
        place.mode.clone(),
    ]
}

impl Board {
    /// Who holds records of a kernel in an element type at named sizes, on whatever device.
    pub fn holders(&self, kernel: &str, dtype: &str, size_set: &str) -> Result<Vec<Holder>, Error> {
        let query = "SELECT place.kernel, place.dtype, place.size_set, place.sizes, place.device, place.origin,
                            place.mode, run.source, source.text, run.source_path
             FROM record JOIN place ON place.id = record.place JOIN run ON run.id = record.run
             JOIN source ON source.hash = run.source
             WHERE record.id IN (SELECT max(id) FROM record GROUP BY place)
             AND place.kernel = ?1 AND place.dtype = ?2 AND place.size_set = ?3
             ORDER BY record.id";
        self.read(|session| {
            sql::rows(session, query, &values![kernel, dtype, size_set], |row| {
                let mut identity: [String; 7] = Default::default();
                for (place, word) in identity.iter_mut().enumerate() {
                    *word = row.at(place)?;
                }
                Ok(Holder {
                    identity,
                    hash: row.at(7)?,
                    text: row.at(8)?,
                    path: row.at(9)?,
                })
            })
        })
    }
}

impl From<&Outcome> for Wire {
    fn from(outcome: &Outcome) -> Self {
        let Outcome { place, setting, .. } = outcome;
        Self {
            kernel: place.kernel.clone(),
            set: place.set.to_owned(),
            dtype: place.dtype.to_owned(),
            size_set: place.size_set.clone(),
            sizes: place.sizes.clone(),
            origin: place.origin.to_owned(),
            mode: place.mode.clone(),
            source_path: outcome.source.path.clone(),
            source: outcome.source.text.clone(),
            description: outcome.description.clone(),
            device: setting.device.clone(),
            chip: setting.chip.clone(),
            gpu_cores: setting.gpu_cores,
            environment: setting.environment.clone(),
            taken_at: setting.taken_at,
            compared: outcome.compared,
            elements: outcome.elements,
            seed: outcome.seed,
            comparisons: outcome.comparisons,
            max_relative: outcome.max_relative.map(|number| Bits(number.to_bits())),
            median: Bits(outcome.median.to_bits()),
            samples: bits(&outcome.samples),
            warm_up: outcome.warm_up,
            buffer_sets: outcome.buffer_sets,
            stop: outcome.stop.to_owned(),
            remarks: outcome.remarks.clone(),
            flops: outcome.flops,
            bytes: outcome.bytes,
            reference: outcome
                .reference
                .as_ref()
                .map(|timed| (timed.name.clone(), bits(&timed.samples))),
            raced: outcome.raced.as_ref().map(|raced| Race {
                holder: raced.holder.clone(),
                rounds: raced
                    .rounds
                    .iter()
                    .map(|(held, own)| (bits(held), bits(own)))
                    .collect(),
                holder_is_sound: raced.holder_is_sound,
            }),
        }
    }
}

impl Wire {
    /// The run, or what is wrong with it.
    pub fn outcome(self) -> Result<Outcome, String> {
        let known = |words: &[&'static str], word: &str, what: &str| {
            let found = words.iter().find(|known| **known == word).copied();
            found.ok_or_else(|| format!("{what} {word:?} is not known"))
        };
        let times = |times: &[f64]| times.iter().all(|time| time.is_finite() && *time > 0.0);
        let samples = numbers(&self.samples);
        let median = f64::from_bits(self.median.0);
        if samples.is_empty() || !times(&samples) {
            return Err("its times are not all above 0".to_owned());
        }
        let (least, most) = samples
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), sample| {
                (least.min(*sample), most.max(*sample))
            });
        if !(least..=most).contains(&median) || stats::median(&samples).is_none() {
            return Err("its median is not one of its samples".to_owned());
        }
        let place = Place {
            set: known(&["common", "standard", "full"], &self.set, "the set")?,
            dtype: known(&["f32", "f16", "bf16"], &self.dtype, "the type")?,
            origin: known(&["measured", "host"], &self.origin, "the clock")?,
            kernel: self.kernel,
            size_set: self.size_set,
            sizes: self.sizes,
            device: self.device.clone(),
            mode: self.mode,
        };
        Ok(Outcome {
            place,
            source: Resolved {
                path: self.source_path,
                hash: hash(&self.source),
                text: self.source,
            },
            description: self.description,
            setting: Setting {
                device: self.device,
                chip: self.chip,
                gpu_cores: self.gpu_cores,
                environment: self.environment,
                taken_at: self.taken_at,
                mode: String::new(),
            },
            compared: self.compared,
            elements: self.elements,
            raced: self.raced.map(|race| Raced {
                holder: race.holder,
                rounds: race
                    .rounds
                    .iter()
                    .map(|(held, own)| (numbers(held), numbers(own)))
                    .collect(),
                holder_is_sound: race.holder_is_sound,
            }),
            seed: self.seed,
            comparisons: self.comparisons,
            max_relative: self.max_relative.map(|bits| f64::from_bits(bits.0)),
            median,
            samples,
            warm_up: self.warm_up,
            buffer_sets: self.buffer_sets,
            stop: known(&["precise", "samples", "time"], &self.stop, "the stop")?,
            remarks: self.remarks,
            flops: self.flops,
            bytes: self.bytes,
            reference: self
                .reference
                .map(|(name, samples)| Timed {
                    name,
                    samples: numbers(&samples),
                })
                .filter(|timed| times(&timed.samples)),
            job: None,
        })
    }

    /// The kernel and element type that it is about.
    pub fn about(&self) -> (&str, &str) {
        (&self.kernel, &self.dtype)
    }

    /// Whoever holds a record cannot lose it to an answer that was not measured for this question: the same without
    /// its race.
    pub fn without_race(mut self) -> Self {
        self.raced = None;
        self
    }
}
