//! Writing a run, and what it means for the record.

use crate::error::Error;
use crate::outcome::{Outcome, Raced};
use crate::place::Place;
use crate::query::text_of;
use crate::store::Board;
use assay_bench::registry::hash;
use assay_bench::stats::{self, Comparison, Order};
use rusqlite::{OptionalExtension, Transaction, params};

/// Differences below this part are ties, however certain.
pub const LEAST: f64 = 0.01;

/// Races that must all say that a challenger is faster. By chance one in a thousand says so of equal sources; with two
/// races over the same compiled programs, 2 of 300 challenges did on a busy machine.
pub const ROUNDS: usize = 3;

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// Its number on the board.
    pub run: i64,
    /// Where its source stands now.
    pub standing: Standing,
}

/// Where a source stands at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// Nothing was there before: it holds the record.
    First,
    /// It held the record before, and holds it: another run of the same source is no new record.
    Again {
        /// Its runs, this one included.
        runs: u64,
    },
    /// It beat the holder in turns, and holds the record now.
    Record(Change),
    /// The holder no longer compiles or is wrong: it holds the record now.
    Succeeds,
    /// No difference from the holder that the samples prove.
    Tie(Comparison),
    /// The holder is faster.
    Slower(Comparison),
    /// It was not timed in turns with the holder, so nothing is decided.
    Unraced,
}

/// How a record changed hands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The ratio says how many times faster the new holder is.
    pub comparison: Comparison,
    /// The median of the old holder in the race, in seconds.
    pub old: f64,
    /// The median of the new one.
    pub new: f64,
}

/// Who holds the record at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The hash of the source.
    pub hash: String,
    /// The source.
    pub text: String,
    /// The file it came from.
    pub path: String,
}

impl Board {
    /// Who holds the record at a place: whoever wants it is timed in turns with that source.
    pub fn holder(&self, place: &Place) -> Result<Option<Held>, Error> {
        let query = "SELECT run.source, source.text, run.source_path
             FROM place JOIN record ON record.place = place.id JOIN run ON run.id = record.run
             JOIN source ON source.hash = run.source
             WHERE place.kernel = ?1 AND place.dtype = ?2 AND place.size_set = ?3 AND place.sizes = ?4
             AND place.device = ?5 AND place.origin = ?6 AND place.mode = ?7
             ORDER BY record.id DESC LIMIT 1";
        let held = self
            .connection
            .query_row(query, identity(place), |row| {
                Ok(Held {
                    hash: row.get(0)?,
                    text: row.get(1)?,
                    path: row.get(2)?,
                })
            })
            .optional();
        held.map_err(|error| self.explain(&error))
    }

    /// The run of a source at a place that came from a seed: a sweep that was ended between writing it here and noting
    /// that it did finds it again.
    pub fn run_of_seed(
        &self,
        place: &Place,
        source: &str,
        seed: u64,
    ) -> Result<Option<i64>, Error> {
        let query = "SELECT run.id FROM place JOIN run ON run.place = place.id
             WHERE place.kernel = ?1 AND place.dtype = ?2 AND place.size_set = ?3 AND place.sizes = ?4
             AND place.device = ?5 AND place.origin = ?6 AND place.mode = ?7
             AND run.source = ?8 AND run.seed = ?9 ORDER BY run.id DESC LIMIT 1";
        let seed = seed.to_string();
        let mut values: Vec<&dyn rusqlite::ToSql> = identity(place).to_vec();
        values.extend([&source as &dyn rusqlite::ToSql, &seed]);
        let run = self
            .connection
            .query_row(query, values.as_slice(), |row| row.get(0))
            .optional();
        run.map_err(|error| self.explain(&error))
    }

    /// Writes a run. When this returns it is on the disk, whole.
    pub fn record(&mut self, outcome: &Outcome) -> Result<Recorded, Error> {
        self.write(|transaction| {
            let place = place(transaction, &outcome.place)?;
            let run = insert(transaction, place, outcome)?;
            let standing = standing(transaction, place, run, outcome)?;
            Ok(Recorded { run, standing })
        })
    }
}

/// What tells a place from all others, in the order of the queries.
fn identity(place: &Place) -> [&dyn rusqlite::ToSql; 7] {
    [
        &place.kernel,
        &place.dtype,
        &place.size_set,
        &place.sizes,
        &place.device,
        &place.origin,
        &place.mode,
    ]
}

/// The place a run belongs to, made if it is the first.
fn place(transaction: &Transaction<'_>, place: &Place) -> rusqlite::Result<i64> {
    transaction.execute(
        "INSERT OR IGNORE INTO place (kernel, kernel_set, dtype, size_set, sizes, device, origin, mode)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            place.kernel,
            place.set,
            place.dtype,
            place.size_set,
            place.sizes,
            place.device,
            place.origin,
            place.mode,
        ],
    )?;
    transaction.query_row(
        "SELECT id FROM place WHERE kernel = ?1 AND dtype = ?2 AND size_set = ?3 AND sizes = ?4
         AND device = ?5 AND origin = ?6 AND mode = ?7",
        identity(place),
        |row| row.get(0),
    )
}

/// Keeps a source's text under its hash.
pub(crate) fn keep_source(
    transaction: &Transaction<'_>,
    hash: &str,
    text: &str,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR IGNORE INTO source (hash, text) VALUES (?1, ?2)",
        params![hash, text],
    )?;
    Ok(())
}

fn insert(transaction: &Transaction<'_>, place: i64, outcome: &Outcome) -> rusqlite::Result<i64> {
    keep_source(transaction, &outcome.source.hash, &outcome.source.text)?;
    let description = hash(&outcome.description);
    keep_source(transaction, &description, &outcome.description)?;
    let setting = &outcome.setting;
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let large = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    transaction.execute(
        "INSERT INTO run (place, source, source_path, taken_at, chip, gpu_cores, seed, comparisons, max_relative,
                          median, samples, warm_up, buffer_sets, stop, remarks, flops, bytes, environment,
                          reference, reference_samples, description, compared, elements)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                 ?23)",
        params![
            place,
            outcome.source.hash,
            outcome.source.path,
            setting.taken_at,
            setting.chip,
            setting.gpu_cores,
            outcome.seed.to_string(),
            count(outcome.comparisons),
            outcome.max_relative,
            outcome.median,
            blob(&outcome.samples),
            count(outcome.warm_up),
            count(outcome.buffer_sets),
            outcome.stop,
            text_of(&outcome.remarks),
            large(outcome.flops),
            large(outcome.bytes),
            text_of(&setting.environment),
            outcome.reference.as_ref().map(|reference| &reference.name),
            outcome.reference.as_ref().map(|reference| blob(&reference.samples)),
            description,
            large(outcome.compared),
            large(outcome.elements),
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn blob(samples: &[f64]) -> Vec<u8> {
    samples
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect()
}

fn standing(
    transaction: &Transaction<'_>,
    place: i64,
    run: i64,
    outcome: &Outcome,
) -> rusqlite::Result<Standing> {
    let holder: Option<String> = transaction
        .query_row(
            "SELECT run.source FROM record JOIN run ON run.id = record.run
             WHERE record.place = ?1 ORDER BY record.id DESC LIMIT 1",
            [place],
            |row| row.get(0),
        )
        .optional()?;
    let Some(holder) = holder else {
        transaction.execute(
            "INSERT INTO record (place, run) VALUES (?1, ?2)",
            params![place, run],
        )?;
        return Ok(Standing::First);
    };
    let own = &outcome.source.hash;
    if holder == *own {
        let runs: i64 = transaction.query_row(
            "SELECT count(*) FROM run WHERE place = ?1 AND source = ?2",
            params![place, own],
            |row| row.get(0),
        )?;
        return Ok(Standing::Again {
            runs: u64::try_from(runs).unwrap_or(0),
        });
    }
    let raced = outcome.raced.as_ref();
    let Some(raced) = raced.filter(|raced| raced.holder == holder) else {
        return Ok(Standing::Unraced);
    };
    if !raced.holder_is_sound {
        change_hands(transaction, place, run, None)?;
        return Ok(Standing::Succeeds);
    }
    match decide(raced) {
        Decision::Record(change) => {
            change_hands(transaction, place, run, Some(change))?;
            Ok(Standing::Record(change))
        }
        Decision::Other(standing) => Ok(standing),
    }
}

enum Decision {
    Record(Change),
    Other(Standing),
}

/// A record takes [`ROUNDS`] races, each with inputs and programs of its own, that all say so.
fn decide(raced: &Raced) -> Decision {
    let mut worst: Option<Change> = None;
    for (held, own) in &raced.rounds {
        let times = stats::median(held).zip(stats::median(own));
        let (Some(comparison), Some((old, new))) = (stats::race(held, own, LEAST), times) else {
            return Decision::Other(Standing::Unraced);
        };
        let change = Change {
            comparison,
            old,
            new,
        };
        if worst.is_none_or(|worst| comparison.ratio.value < worst.comparison.ratio.value) {
            worst = Some(change);
        }
    }
    match worst {
        None => Decision::Other(Standing::Unraced),
        Some(change) => match change.comparison.order {
            Order::FirstFaster => Decision::Other(Standing::Slower(change.comparison)),
            Order::Tie => Decision::Other(Standing::Tie(change.comparison)),
            Order::SecondFaster => {
                let sure = |(held, own): &(Vec<f64>, Vec<f64>)| {
                    stats::race(held, own, LEAST)
                        .is_some_and(|one| one.order == Order::SecondFaster)
                };
                match raced.rounds.len() >= ROUNDS && raced.rounds.iter().all(sure) {
                    true => Decision::Record(change),
                    false => Decision::Other(Standing::Tie(change.comparison)),
                }
            }
        },
    }
}

/// Writes who holds the record from now on.
fn change_hands(
    transaction: &Transaction<'_>,
    place: i64,
    run: i64,
    change: Option<Change>,
) -> rusqlite::Result<()> {
    let ratio = change.map(|change| change.comparison.ratio);
    transaction.execute(
        "INSERT INTO record (place, run, beaten, ratio, ratio_low, ratio_high, old_time, new_time)
         VALUES (?1, ?2, (SELECT run FROM record WHERE place = ?1 ORDER BY id DESC LIMIT 1),
                 ?3, ?4, ?5, ?6, ?7)",
        params![
            place,
            run,
            ratio.map(|ratio| ratio.value),
            ratio.map(|ratio| ratio.low),
            ratio.map(|ratio| ratio.high),
            change.map(|change| change.old),
            change.map(|change| change.new),
        ],
    )?;
    Ok(())
}
