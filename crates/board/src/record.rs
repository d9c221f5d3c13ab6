//! Writing a run, and what it means for the record.

use crate::error::Error;
use crate::outcome::Outcome;
use crate::query::{numbers, text_of};
use crate::store::Board;
use assay_bench::stats::{self, Comparison, Order};
use rusqlite::{OptionalExtension, Transaction, params};

/// Differences below this part are ties, however certain.
pub const LEAST: f64 = 0.01;

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
    /// It beat the holder, and holds the record now. The ratio says how many times faster it is.
    Record(Comparison),
    /// No difference from the holder that the samples prove.
    Tie(Comparison),
    /// The holder is faster.
    Slower(Comparison),
}

impl Board {
    /// Writes a run. When this returns it is on the disk, whole.
    pub fn record(&mut self, outcome: &Outcome) -> Result<Recorded, Error> {
        self.write(|transaction| {
            let place = place(transaction, outcome)?;
            let run = insert(transaction, place, outcome)?;
            let standing = standing(transaction, place, run, outcome)?;
            Ok(Recorded { run, standing })
        })
    }
}

/// The place a run belongs to, made if it is the first.
fn place(transaction: &Transaction<'_>, outcome: &Outcome) -> rusqlite::Result<i64> {
    let sizes = outcome.sizes_text();
    let setting = &outcome.setting;
    transaction.execute(
        "INSERT OR IGNORE INTO place (kernel, kernel_set, dtype, size_set, sizes, device, origin, mode)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            outcome.kernel,
            outcome.set,
            outcome.dtype,
            outcome.size_set,
            sizes,
            setting.device,
            outcome.origin.name(),
            setting.mode,
        ],
    )?;
    transaction.query_row(
        "SELECT id FROM place WHERE kernel = ?1 AND dtype = ?2 AND size_set = ?3 AND sizes = ?4
         AND device = ?5 AND origin = ?6 AND mode = ?7",
        params![
            outcome.kernel,
            outcome.dtype,
            outcome.size_set,
            sizes,
            setting.device,
            outcome.origin.name(),
            setting.mode,
        ],
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
    let setting = &outcome.setting;
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let large = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    transaction.execute(
        "INSERT INTO run (place, source, source_path, taken_at, chip, gpu_cores, seed, comparisons, max_relative,
                          median, samples, warm_up, buffer_sets, stop, remarks, flops, bytes, environment,
                          reference, reference_samples)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
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
    let (held, old) = middle(transaction, place, &holder)?;
    let (challenger, new) = middle(transaction, place, own)?;
    // Samples that entered are times, so that there is something to compare; a damaged board may have none.
    let Some(comparison) = stats::compare(&old, &new, LEAST) else {
        return Err(rusqlite::Error::InvalidQuery);
    };
    Ok(match comparison.order {
        Order::SecondFaster => {
            let ratio = comparison.ratio;
            transaction.execute(
                "INSERT INTO record (place, run, beaten, ratio, ratio_low, ratio_high)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![place, challenger, held, ratio.value, ratio.low, ratio.high],
            )?;
            Standing::Record(comparison)
        }
        Order::FirstFaster => Standing::Slower(comparison),
        Order::Tie => Standing::Tie(comparison),
    })
}

/// The middle run of a source at a place, and its samples. Of an even number of runs it is the slower of the two in
/// the middle.
fn middle(
    transaction: &Transaction<'_>,
    place: i64,
    source: &str,
) -> rusqlite::Result<(i64, Vec<f64>)> {
    transaction.query_row(
        "SELECT id, samples FROM run WHERE place = ?1 AND source = ?2 ORDER BY median, id
         LIMIT 1 OFFSET (SELECT count(*) / 2 FROM run WHERE place = ?1 AND source = ?2)",
        params![place, source],
        |row| Ok((row.get(0)?, numbers(row, 1)?)),
    )
}
