//! How long a kernel takes at certain sizes, and how long others take for the same.
//!
//! A sample is one submission of all passes, or of several runs of them where one is too short for the clock. Every run
//! has buffers of its own, written anew with inputs drawn from several variants (`rotation`); cold samples have the
//! caches emptied before them. References are measured in turns with the kernel, with the same inputs, by the same
//! clock; so is the holder of a record, over the same buffers. Results of timed runs must be the bytes that untimed ones
//! gave, and right (`timed`): a kernel that is fast because it stopped working is found out.

mod alone;
mod cold;
mod contender;
mod rival;
mod rotation;
mod timed;

pub use alone::references;
pub use rival::{Rival, RivalTimes};
pub use timed::Examined;

use crate::random::Random;
use crate::reference::Reference;
use crate::registry::Case;
use crate::runner::Loaded;
use crate::stats::{self, Drift, Modes, Stop, StopRule, Summary};
use assay_device::{Device, Error, Origin};
use cold::Caches;
use contender::Contender;
use rival::Side;
use rotation::Rotation;
use std::time::{Duration, Instant};

/// A submission should take at least so long: clocks tick in fractions of a microsecond, and starting costs several.
const LEAST_SECONDS: f64 = 500e-6;
/// Runs in one submission at most.
const MOST_RUNS: usize = 100;
/// More runs are not put into a submission that takes longer than this.
const LONG_SECONDS: f64 = 20e-3;
/// Samples that a race takes at least: with fewer, a gain of a few per cent is not told from chance.
const LEAST_PAIRS: usize = 20;
/// Runs that are compared to see whether times still move.
const WINDOW: usize = 3;
/// Times that move less than this part are stable.
const STABLE: f64 = 0.05;

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Where inputs come from.
    pub seed: u64,
    /// What happens before the first sample.
    pub warm_up: WarmUp,
    /// When to stop.
    pub stop: StopRule,
    /// What caches hold before a sample.
    pub cache: Cache,
}

/// What happens before the first sample. Every set of buffers is run once in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// So many runs.
    Runs(usize),
    /// As many as it takes until times no longer fall, in no more than this time.
    UntilStable(Duration),
}

/// What caches hold before a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// What the samples before left, of other sets of buffers.
    Rotating,
    /// Nothing of the kernel's.
    Cold,
}

impl Cache {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rotating => "rotating",
            Self::Cold => "cold",
        }
    }
}

/// Times of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Whose clock.
    pub origin: Origin,
    /// Seconds of each sample, for one run, in the order they were taken.
    pub samples: Vec<f64>,
    /// The same by this machine's clock, from before the submission until it was done.
    pub wall: Vec<f64>,
    /// Runs of a sample.
    pub batch: usize,
    /// What caches held before a sample.
    pub cache: Cache,
    /// Runs before the first sample.
    pub warm_up: usize,
    /// Whether times were stable after them; `None` when nobody looked.
    pub warm_up_stable: Option<bool>,
    /// Slots of buffers that took turns.
    pub sets: usize,
    /// Why there are no more samples.
    pub stop: Stop,
    /// The samples in a few numbers.
    pub summary: Summary,
    /// Their trend, if there are enough.
    pub drift: Option<Drift>,
    /// Their two groups, if there are two.
    pub modes: Option<Modes>,
    /// False if timed runs gave other bytes than untimed ones for the same inputs, or changed what they must not.
    pub steady_results: bool,
    /// What was found about the results of timed runs.
    pub examined: Examined,
    /// The holder of the record that was timed beside the kernel, if there was one.
    pub holder: Option<Holder>,
    /// What references took, in the order they were given.
    pub rivals: Vec<Rival>,
}

/// What a holder of a record did beside the kernel that challenges it.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// Seconds of each sample, for one run, each taken in turns with the kernel's of the same place.
    pub samples: Vec<f64>,
    /// False if its results changed while it was timed.
    pub steady_results: bool,
    /// What was found about its results.
    pub examined: Examined,
}

/// Measures a case, in turns with references. `None` when the clock shows no time at all.
pub fn measure(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    case: &Case,
    plan: &Plan,
    references: &mut [Box<dyn Reference>],
) -> Result<Option<Measurement>, Error> {
    race(device, loaded, None, case, plan, references)
}

/// The same, in turns with another kernel for the same case over the same buffers: the holder of a record.
pub fn race(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    holder: Option<&mut Loaded>,
    case: &Case,
    plan: &Plan,
    references: &mut [Box<dyn Reference>],
) -> Result<Option<Measurement>, Error> {
    let mut race = Race {
        device: &mut *device,
        case,
        plan,
        rotation: Rotation::new(case, plan.seed),
        contenders: std::iter::once(loaded)
            .chain(holder)
            .map(Contender::new)
            .collect(),
        sides: references
            .iter_mut()
            .map(|one| Side::new(one.as_mut()))
            .collect(),
        order: Random::of(plan.seed, 1),
    };
    let measured = race.run();
    let rotation = race.rotation;
    rotation.release(device)?;
    measured
}

/// A kernel, perhaps the holder of a record, and references, in turns.
struct Race<'d, 'a> {
    device: &'d mut dyn Device,
    case: &'a Case,
    plan: &'a Plan,
    rotation: Rotation<'a>,
    /// The kernel that is measured, then the holder.
    contenders: Vec<Contender<'a>>,
    sides: Vec<Side<'a>>,
    /// Decides who goes first.
    order: Random,
}

/// What happened before the first sample.
struct WarmedUp {
    runs: usize,
    stable: Option<bool>,
    /// The last times of one run, which say how many belong into a sample.
    last: Vec<f64>,
}

impl Race<'_, '_> {
    fn run(&mut self) -> Result<Option<Measurement>, Error> {
        self.prepare()?;
        let mut caches = Caches::new(self.device, self.plan.cache)?;
        let warmed_up = self.warm_up()?;
        let batch = match self.plan.cache {
            Cache::Cold => 1,
            Cache::Rotating => self.batch(&warmed_up.last),
        };
        let batch = self.make_room(batch)?;
        let stop = self.sample(batch, &mut caches)?;
        caches.release(self.device)?;
        self.rotation
            .look_at_all(self.device, &mut self.contenders)?;
        let examined = self.examine();
        let mut contenders = std::mem::take(&mut self.contenders).into_iter();
        let Some(own) = contenders.next() else {
            return Ok(None);
        };
        let holder = contenders
            .next()
            .zip(examined.get(1).cloned())
            .map(|(held, examined)| Holder {
                samples: held.samples,
                steady_results: held.steady,
                examined,
            });
        let Some(summary) = Summary::of(&own.samples).filter(|summary| summary.median.value > 0.0)
        else {
            return Ok(None);
        };
        let origin = self.device.facts().origin;
        let sides = std::mem::take(&mut self.sides).into_iter();
        Ok(Some(Measurement {
            origin,
            rivals: sides
                .map(|side| side.finish(self.case, origin, &own.samples, &own.wall))
                .collect(),
            batch,
            cache: self.plan.cache,
            warm_up: warmed_up.runs,
            warm_up_stable: warmed_up.stable,
            sets: self.rotation.len(),
            stop,
            summary,
            drift: stats::drift(&own.samples),
            modes: stats::modes(&own.samples),
            samples: own.samples,
            wall: own.wall,
            steady_results: own.steady,
            examined: examined.into_iter().next().unwrap_or_default(),
            holder,
        }))
    }

    /// One slot per variant of the inputs; everybody runs each once. A coin decides whose program is made first.
    fn prepare(&mut self) -> Result<(), Error> {
        self.rotation.grow(self.device, 0)?;
        let count = self.contenders.len();
        let first = self.order.below(count.max(1) as u64) as usize;
        for place in 0..count {
            self.rotation.reset(self.device)?;
            if let Some(contender) = self.contenders.get_mut((first + place) % count) {
                contender.prepare(self.device, self.case, &self.rotation)?;
            }
        }
        if !self.sides.is_empty() {
            let sets: Vec<_> = (0..self.rotation.variants())
                .map(|variant| self.rotation.inputs(variant))
                .collect();
            for side in &mut self.sides {
                side.prepare(self.case, &sets);
            }
        }
        Ok(())
    }

    /// Slots for the runs of a sample, of both sides if there are two; gives how many runs fit.
    fn make_room(&mut self, batch: usize) -> Result<usize, Error> {
        let sides = self.contenders.len().max(1);
        self.rotation.grow(self.device, batch * sides)?;
        for contender in &mut self.contenders {
            contender.extend(self.device, self.case, &self.rotation)?;
        }
        self.rotation.reset(self.device)?;
        Ok(batch.min(self.rotation.len()).max(1))
    }

    fn examine(&self) -> Vec<Examined> {
        let contenders = self.contenders.iter();
        let examined = contenders.map(|one| one.examine(self.case, &self.rotation, self.plan.seed));
        examined.collect()
    }

    /// Runs before the first sample.
    fn warm_up(&mut self) -> Result<WarmedUp, Error> {
        let start = Instant::now();
        let mut times = Vec::new();
        let first = self.rotation.variants();
        let mut stable = None;
        for turn in 0.. {
            match self.plan.warm_up {
                WarmUp::Runs(runs) if first + times.len() >= runs => break,
                WarmUp::UntilStable(most) => {
                    stable = Some(is_stable(&times));
                    if stable == Some(true) || !times.is_empty() && start.elapsed() >= most {
                        break;
                    }
                }
                WarmUp::Runs(_) => {}
            }
            times.push(self.run_once(turn)?);
            for side in &mut self.sides {
                side.run(turn % first.max(1), 1);
            }
        }
        if times.is_empty() {
            times.push(self.run_once(0)?);
        }
        let runs = first + times.len();
        let last = times.split_off(times.len().saturating_sub(WINDOW));
        Ok(WarmedUp { runs, stable, last })
    }

    /// Every contender over one slot; seconds of the first.
    fn run_once(&mut self, turn: usize) -> Result<f64, Error> {
        let slot = turn % self.rotation.len().max(1);
        let mut first = None;
        for contender in &self.contenders {
            let (time, _) = contender.run(self.device, slot..slot + 1)?;
            first.get_or_insert(time);
        }
        Ok(first.unwrap_or_default())
    }

    /// Runs of a sample. All sides get the same, since starting costs each of them something.
    fn batch(&mut self, last: &[f64]) -> usize {
        let ours = stats::median(last).unwrap_or(LEAST_SECONDS);
        let theirs: Vec<f64> = self
            .sides
            .iter_mut()
            .filter_map(|side| side.run(0, 1))
            .collect();
        runs_of_a_sample(theirs.into_iter().chain([ours]))
    }

    fn sample(&mut self, batch: usize, caches: &mut Caches) -> Result<Stop, Error> {
        let start = Instant::now();
        for turn in 0.. {
            // Who goes first changes, so that nobody always finds what the same other one left.
            let ours_first = turn % 2 == 0;
            if ours_first {
                self.sample_contenders(batch, caches)?;
            }
            let set = turn % self.rotation.variants().max(1);
            for side in &mut self.sides {
                if side.is_running() {
                    caches.empty(self.device)?;
                }
                side.sample(set, batch);
            }
            if !ours_first {
                self.sample_contenders(batch, caches)?;
            }
            if let Some(stop) = self.stop(start.elapsed()) {
                return Ok(stop);
            }
        }
        Ok(Stop::Samples)
    }

    /// A sample of every contender. A coin decides who goes first: whatever comes and goes in a rhythm of its own meets
    /// both alike.
    fn sample_contenders(&mut self, batch: usize, caches: &mut Caches) -> Result<(), Error> {
        let count = self.contenders.len();
        let first = self.order.below(count.max(1) as u64) as usize;
        for place in 0..count {
            let who = (first + place) % count;
            let slots = self
                .rotation
                .take(self.device, &mut self.contenders, who, batch)?;
            caches.empty(self.device)?;
            if let Some(contender) = self.contenders.get_mut(who) {
                contender.sample(self.device, slots)?;
            }
        }
        Ok(())
    }

    /// Whether to stop: when all sides are precise, or by the limits.
    fn stop(&self, elapsed: Duration) -> Option<Stop> {
        let rule = &self.plan.stop;
        let (own, others) = self.contenders.split_first()?;
        if !others.is_empty() && own.samples.len() < LEAST_PAIRS.min(rule.most) {
            return None;
        }
        let stop = rule.decide(&own.samples, elapsed)?;
        let imprecise = |samples: &[f64]| rule.decide(samples, elapsed) != Some(Stop::Precise);
        let waiting = self
            .sides
            .iter()
            .any(|side| side.is_running() && imprecise(&side.samples))
            || others.iter().any(|other| imprecise(&other.samples));
        match stop {
            Stop::Precise if !waiting => Some(Stop::Precise),
            Stop::Precise if own.samples.len() >= rule.most => Some(Stop::Samples),
            Stop::Precise if elapsed >= rule.time => Some(Stop::Time),
            Stop::Precise => None,
            limit => Some(limit),
        }
    }
}

/// So many that the shortest of all sides lasts long enough, unless the longest then lasts too long.
fn runs_of_a_sample(seconds: impl Iterator<Item = f64> + Clone) -> usize {
    let shortest = seconds.clone().fold(f64::INFINITY, f64::min).max(1e-9);
    let longest = seconds.fold(0.0, f64::max).max(1e-9);
    let wanted = (LEAST_SECONDS / shortest).ceil() as usize;
    let allowed = (LONG_SECONDS / longest).floor() as usize;
    wanted.min(allowed).clamp(1, MOST_RUNS)
}

/// Returns true if the last times are no shorter than those before them.
fn is_stable(times: &[f64]) -> bool {
    let Some((before, last)) = times.split_at_checked(times.len().saturating_sub(WINDOW)) else {
        return false;
    };
    let before = before.get(before.len().saturating_sub(WINDOW)..);
    let before = before.filter(|before| before.len() == WINDOW);
    match (before.and_then(stats::median), stats::median(last)) {
        (Some(before), Some(last)) => last >= before * (1.0 - STABLE),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_stable;

    #[test]
    fn times_are_stable_when_they_no_longer_fall() {
        assert!(!is_stable(&[1.0; 5]), "too few");
        assert!(!is_stable(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0]));
        assert!(is_stable(&[9.0, 8.0, 5.0, 5.1, 5.0, 5.0, 4.9, 5.0]));
        // One disturbance does not hide that nothing changes.
        assert!(is_stable(&[5.0, 5.0, 5.0, 50.0, 5.0, 4.9]));
    }
}
