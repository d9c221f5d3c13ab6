//! Writing a run, and what it means for the record.

use crate::error::Error;
use crate::outcome::{Outcome, Raced};
use crate::place::Place;
use crate::query::text_of;
use crate::sql::{self, Failed, Session, Value, values};
use crate::store::Board;
use assay_bench::registry::hash;
use assay_bench::stats::{self, Comparison, Order};

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
    /// The job that it answers was answered before: nothing was written.
    Known,
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
        self.read(|session| {
            sql::first(session, query, &identity(place), |row| {
                Ok(Held {
                    hash: row.at(0)?,
                    text: row.at(1)?,
                    path: row.at(2)?,
                })
            })
        })
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
        let mut values = identity(place).to_vec();
        values.extend(values![source, seed.to_string()]);
        self.read(|session| sql::first(session, query, &values, |row| row.at(0)))
    }

    /// The run that answers a job of a fleet.
    pub fn run_of_job(&self, job: &str) -> Result<Option<i64>, Error> {
        self.read(|session| run_of_job(session, job))
    }

    /// Writes a run. When this returns it is on the disk, whole. A run of a job that is there already is not written
    /// again.
    pub fn record(&mut self, outcome: &Outcome) -> Result<Recorded, Error> {
        self.write(|session| {
            let place = place(session, &outcome.place)?;
            // Whoever writes here too waits, so that both do not see the same holder.
            session.hold(place)?;
            if let Some(job) = &outcome.job
                && let Some(run) = run_of_job(session, job)?
            {
                let standing = Standing::Known;
                return Ok(Recorded { run, standing });
            }
            let run = insert(session, place, outcome)?;
            let standing = standing(session, place, run, outcome)?;
            Ok(Recorded { run, standing })
        })
    }
}

fn run_of_job(session: &dyn Session, job: &str) -> Result<Option<i64>, Failed> {
    let query = "SELECT id FROM run WHERE job = ?1";
    sql::first(session, query, &values![job], |row| row.at(0))
}

/// What tells a place from all others, in the order of the queries.
fn identity(place: &Place) -> [Value; 7] {
    values![
        &place.kernel,
        place.dtype,
        &place.size_set,
        &place.sizes,
        &place.device,
        place.origin,
        &place.mode,
    ]
}

/// The place a run belongs to, made if it is the first.
fn place(session: &dyn Session, place: &Place) -> Result<i64, Failed> {
    session.execute(
        "INSERT INTO place (kernel, kernel_set, dtype, size_set, sizes, device, origin, mode)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        &values![
            &place.kernel,
            place.set,
            place.dtype,
            &place.size_set,
            &place.sizes,
            &place.device,
            place.origin,
            &place.mode,
        ],
    )?;
    sql::number(
        session,
        "SELECT id FROM place WHERE kernel = ?1 AND dtype = ?2 AND size_set = ?3 AND sizes = ?4
         AND device = ?5 AND origin = ?6 AND mode = ?7",
        &identity(place),
    )
}

/// Keeps a source's text under its hash.
pub(crate) fn keep_source(session: &dyn Session, hash: &str, text: &str) -> Result<(), Failed> {
    let query = "INSERT INTO source (hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    session.execute(query, &values![hash, text]).map(drop)
}

fn insert(session: &dyn Session, place: i64, outcome: &Outcome) -> Result<i64, Failed> {
    keep_source(session, &outcome.source.hash, &outcome.source.text)?;
    let description = hash(&outcome.description);
    keep_source(session, &description, &outcome.description)?;
    let setting = &outcome.setting;
    let reference = outcome.reference.as_ref();
    sql::number(
        session,
        "INSERT INTO run (place, source, source_path, taken_at, chip, gpu_cores, seed, comparisons, max_relative,
                          median, samples, warm_up, buffer_sets, stop, remarks, flops, bytes, environment,
                          reference, reference_samples, description, compared, elements, job)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                 ?23, ?24)
         RETURNING id",
        &values![
            place,
            &outcome.source.hash,
            &outcome.source.path,
            setting.taken_at,
            setting.chip.as_ref(),
            setting.gpu_cores,
            outcome.seed.to_string(),
            outcome.comparisons,
            outcome.max_relative,
            outcome.median,
            blob(&outcome.samples),
            outcome.warm_up,
            outcome.buffer_sets,
            outcome.stop,
            text_of(&outcome.remarks),
            outcome.flops,
            outcome.bytes,
            text_of(&setting.environment),
            reference.map(|reference| &reference.name),
            reference.map(|reference| blob(&reference.samples)),
            description,
            outcome.compared,
            outcome.elements,
            outcome.job.as_ref(),
        ],
    )
}

fn blob(samples: &[f64]) -> Vec<u8> {
    samples
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect()
}

fn standing(
    session: &dyn Session,
    place: i64,
    run: i64,
    outcome: &Outcome,
) -> Result<Standing, Failed> {
    let holder: Option<String> = sql::first(
        session,
        "SELECT run.source FROM record JOIN run ON run.id = record.run
         WHERE record.place = ?1 ORDER BY record.id DESC LIMIT 1",
        &values![place],
        |row| row.at(0),
    )?;
    let Some(holder) = holder else {
        let query = "INSERT INTO record (place, run) VALUES (?1, ?2)";
        session.execute(query, &values![place, run])?;
        return Ok(Standing::First);
    };
    let own = &outcome.source.hash;
    if holder == *own {
        let query = "SELECT count(*) FROM run WHERE place = ?1 AND source = ?2";
        let runs = sql::number(session, query, &values![place, own])?;
        return Ok(Standing::Again {
            runs: u64::try_from(runs).unwrap_or(0),
        });
    }
    let raced = outcome.raced.as_ref();
    let Some(raced) = raced.filter(|raced| raced.holder == holder) else {
        return Ok(Standing::Unraced);
    };
    if !raced.holder_is_sound {
        change_hands(session, place, run, None)?;
        return Ok(Standing::Succeeds);
    }
    match decide(raced) {
        Decision::Record(change) => {
            change_hands(session, place, run, Some(change))?;
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
    session: &dyn Session,
    place: i64,
    run: i64,
    change: Option<Change>,
) -> Result<(), Failed> {
    let ratio = change.map(|change| change.comparison.ratio);
    session.execute(
        "INSERT INTO record (place, run, beaten, ratio, ratio_low, ratio_high, old_time, new_time)
         VALUES (?1, ?2, (SELECT run FROM record WHERE place = ?1 ORDER BY id DESC LIMIT 1),
                 ?3, ?4, ?5, ?6, ?7)",
        &values![
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
