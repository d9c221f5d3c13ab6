//! Going on with a sweep that was interrupted.

use crate::Failure;
use crate::references::References;
use crate::report::Row;
use crate::{Question, World, includes, select};
use assay_bench::Dtype;
use assay_bench::journal::Journal;
use assay_bench::random::Random;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// The kernels of a command, and what is known about them already.
pub(crate) struct Sweep {
    pub(crate) seed: u64,
    /// True if an interrupted sweep goes on: what it wrote on the board last may not be noted here.
    pub(crate) goes_on: bool,
    journal: Option<Journal>,
    resume: bool,
}

/// Where a journal keeps the seed.
const SEED: &str = "seed";

impl Sweep {
    pub(crate) fn open(
        asked: &Question,
        chosen: &select::Kernels<'_>,
        references: &References,
        world: &World<'_>,
    ) -> Result<Sweep, Failure> {
        let mut sweep = Sweep {
            seed: asked.seed.unwrap_or_else(fresh_seed),
            goes_on: false,
            journal: None,
            resume: asked.resume,
        };
        if chosen.sound.is_empty() {
            return Ok(sweep);
        }
        let folder = (world.cache)().join("sweeps");
        let key = key(asked, chosen, references, world);
        let journal = match asked.resume {
            true => Journal::resume(&folder, &key),
            false => Journal::fresh(&folder, &key),
        };
        let failure =
            |error: std::io::Error| Failure::input(format!("{}: {error}", folder.display()));
        let mut journal = journal.map_err(failure)?;
        // The rest gets its inputs from where the first part got them.
        let known = journal.get(SEED).as_ref().and_then(Value::as_u64);
        sweep.seed = asked.seed.or(known).unwrap_or(sweep.seed);
        sweep.goes_on = known == Some(sweep.seed);
        journal
            .put(SEED, &Value::from(sweep.seed))
            .map_err(failure)?;
        sweep.journal = Some(journal);
        Ok(sweep)
    }

    /// What an interrupted sweep found about a kernel, if its source is still the same.
    pub(crate) fn known(&self, kernel: &str, dtype: Dtype, hash: &str) -> Option<Row> {
        let journal = self.journal.as_ref().filter(|_| self.resume)?;
        let row: Row = serde_json::from_value(journal.get(&entry(kernel, dtype))?).ok()?;
        (row.source_hash == hash).then_some(row)
    }

    pub(crate) fn finished(&mut self, dtype: Dtype, row: &Row) {
        if let (Some(journal), Ok(value)) = (&mut self.journal, serde_json::to_value(row)) {
            // What could not be noted is done again by --resume; that is no reason to stop now.
            let _ = journal.put(&entry(&row.name, dtype), &value);
        }
    }

    /// Everything was come to: there is nothing to go on with.
    pub(crate) fn finish(self) {
        if let Some(journal) = self.journal {
            // What is left is dropped by the next sweep.
            let _ = journal.finish();
        }
    }
}

fn entry(kernel: &str, dtype: Dtype) -> String {
    format!("{kernel} {dtype}")
}

/// The hash of the source that was given. Whoever changes it starts over, with a new seed: the old one can be read from
/// the journal, and answers to its inputs be written into a source.
fn given_source(
    asked: &Question,
    chosen: &select::Kernels<'_>,
    world: &World<'_>,
) -> Option<String> {
    let own = asked.source.as_ref()?;
    let text = own.text.as_ref().ok()?;
    let whole = includes::whole(&own.path, text, chosen.registry.headers(), world.read);
    whole.ok().map(|source| source.hash)
}

/// What two commands must have in common for one to go on with the other's work.
fn key(
    asked: &Question,
    chosen: &select::Kernels<'_>,
    references: &References,
    world: &World<'_>,
) -> String {
    let references: Vec<&str> = references.all.iter().map(|one| one.name()).collect();
    let kernels: Vec<&str> = chosen.sound.iter().map(|one| one.name.as_str()).collect();
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        env!("CARGO_PKG_VERSION"),
        asked.kernels,
        kernels,
        assay_device::Origin::name(asked.device),
        asked.quick,
        asked.sizes,
        asked.no_time,
        asked.iters,
        asked.warmup,
        asked.cold_start,
        asked.target,
        asked.profile,
        asked.predict,
        asked.chip,
        references,
        given_source(asked, chosen, world),
    )
}

/// A seed that nobody knows before.
pub fn fresh_seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Random::new(now.as_nanos() as u64 ^ u64::from(std::process::id())).bits()
}
