//! How long a kernel takes at certain sizes, and how long others take for the same.
//!
//! A sample is one submission of all passes, or of several runs of them where one is too short for the clock. Samples go
//! round several sets of buffers with inputs of their own, so that the next one does not find its data where the last
//! one left it; cold ones have the caches emptied before them. References are measured in turns with the kernel, with
//! the same inputs, by the same clock. At the end every set's outputs must be the bytes that an untimed run gave: a
//! kernel that is fast because it stopped working is found out.

mod cold;
mod rival;
mod turns;

pub use rival::{Rival, RivalTimes};

use crate::reference::Reference;
use crate::registry::Case;
use crate::runner::Loaded;
use crate::stats::{self, Drift, Modes, Stop, StopRule, Summary};
use assay_device::{Device, Error, Origin};
use cold::Caches;
use rival::Side;
use std::time::{Duration, Instant};
use turns::Turns;

/// A submission should take at least so long: clocks tick in fractions of a microsecond, and starting costs several.
const LEAST_SECONDS: f64 = 500e-6;
/// Runs in one submission at most.
const MOST_RUNS: usize = 100;
/// More runs are not put into a submission that takes longer than this.
const LONG_SECONDS: f64 = 20e-3;
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
    /// Sets of buffers that took turns.
    pub sets: usize,
    /// Why there are no more samples.
    pub stop: Stop,
    /// The samples in a few numbers.
    pub summary: Summary,
    /// Their trend, if there are enough.
    pub drift: Option<Drift>,
    /// Their two groups, if there are two.
    pub modes: Option<Modes>,
    /// Whether all outputs were the same bytes after the last sample as before the first.
    pub steady_results: bool,
    /// What references took, in the order they were given.
    pub rivals: Vec<Rival>,
}

/// Measures a case, in turns with references. `None` when the clock shows no time at all.
pub fn measure(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    case: &Case,
    plan: &Plan,
    references: &mut [Box<dyn Reference>],
) -> Result<Option<Measurement>, Error> {
    let mut turns = Turns::default();
    let mut race = Race {
        device: &mut *device,
        case,
        plan,
        turns: &mut turns,
        sides: references
            .iter_mut()
            .map(|one| Side::new(one.as_mut()))
            .collect(),
    };
    let measured = race.run(loaded);
    turns.release(device)?;
    measured
}

/// A kernel and references, in turns.
struct Race<'a> {
    device: &'a mut dyn Device,
    case: &'a Case,
    plan: &'a Plan,
    turns: &'a mut Turns,
    sides: Vec<Side<'a>>,
}

/// What happened before the first sample.
struct WarmedUp {
    runs: usize,
    stable: Option<bool>,
    /// The last times of one run, which say how many belong into a sample.
    last: Vec<f64>,
}

/// What was sampled of the kernel.
#[derive(Default)]
struct Sampled {
    samples: Vec<f64>,
    wall: Vec<f64>,
}

impl Race<'_> {
    fn run(&mut self, loaded: &mut Loaded) -> Result<Option<Measurement>, Error> {
        self.turns
            .prepare(self.device, loaded, self.case, self.plan.seed)?;
        for side in &mut self.sides {
            side.prepare(self.case, &self.turns.inputs);
        }
        self.turns.inputs = Vec::new();
        let mut caches = Caches::new(self.device, self.plan.cache)?;
        let warmed_up = self.warm_up()?;
        let batch = match self.plan.cache {
            Cache::Cold => 1,
            Cache::Rotating => self.batch(&warmed_up.last),
        };
        let (sampled, stop) = self.sample(batch, &mut caches)?;
        caches.release(self.device)?;
        let steady_results = self.turns.unchanged(self.device, self.case)?;
        let Some(summary) =
            Summary::of(&sampled.samples).filter(|summary| summary.median.value > 0.0)
        else {
            return Ok(None);
        };
        let origin = self.device.facts().origin;
        let sides = std::mem::take(&mut self.sides).into_iter();
        Ok(Some(Measurement {
            origin,
            rivals: sides
                .map(|side| side.finish(self.case, origin, &sampled.samples, &sampled.wall))
                .collect(),
            batch,
            cache: self.plan.cache,
            warm_up: warmed_up.runs,
            warm_up_stable: warmed_up.stable,
            sets: self.turns.len(),
            stop,
            summary,
            drift: stats::drift(&sampled.samples),
            modes: stats::modes(&sampled.samples),
            samples: sampled.samples,
            wall: sampled.wall,
            steady_results,
        }))
    }

    /// Runs before the first sample.
    fn warm_up(&mut self) -> Result<WarmedUp, Error> {
        let start = Instant::now();
        let mut times = Vec::new();
        let first = self.turns.len();
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
            times.push(self.turns.run(self.device, turn, 1)?.0);
            for side in &mut self.sides {
                side.run(turn % first.max(1), 1);
            }
        }
        if times.is_empty() {
            times.push(self.turns.run(self.device, 0, 1)?.0);
        }
        let runs = first + times.len();
        let last = times.split_off(times.len().saturating_sub(WINDOW));
        Ok(WarmedUp { runs, stable, last })
    }

    /// Runs of a sample: so many that the shortest of all sides lasts long enough, unless the longest then lasts too long.
    /// All sides get the same, since starting costs each of them something.
    fn batch(&mut self, last: &[f64]) -> usize {
        let ours = stats::median(last).unwrap_or(LEAST_SECONDS);
        let theirs: Vec<f64> = self
            .sides
            .iter_mut()
            .filter_map(|side| side.run(0, 1))
            .collect();
        let all = || theirs.iter().copied().chain([ours]);
        let shortest = all().fold(f64::INFINITY, f64::min).max(1e-9);
        let longest = all().fold(0.0, f64::max).max(1e-9);
        let wanted = (LEAST_SECONDS / shortest).ceil() as usize;
        let allowed = (LONG_SECONDS / longest).floor() as usize;
        wanted.min(allowed).clamp(1, MOST_RUNS)
    }

    fn sample(&mut self, batch: usize, caches: &mut Caches) -> Result<(Sampled, Stop), Error> {
        let start = Instant::now();
        let mut sampled = Sampled::default();
        for turn in 0.. {
            // Who goes first changes, so that nobody always finds what the same other one left.
            let ours_first = turn % 2 == 0;
            if ours_first {
                self.sample_ours(turn, batch, caches, &mut sampled)?;
            }
            let set = turn % self.turns.len().max(1);
            for side in &mut self.sides {
                if side.is_running() {
                    caches.empty(self.device)?;
                }
                side.sample(set, batch);
            }
            if !ours_first {
                self.sample_ours(turn, batch, caches, &mut sampled)?;
            }
            if let Some(stop) = self.stop(&sampled.samples, start.elapsed()) {
                return Ok((sampled, stop));
            }
        }
        Ok((sampled, Stop::Samples))
    }

    fn sample_ours(
        &mut self,
        turn: usize,
        batch: usize,
        caches: &mut Caches,
        sampled: &mut Sampled,
    ) -> Result<(), Error> {
        caches.empty(self.device)?;
        let (time, wall) = self.turns.run(self.device, turn, batch)?;
        sampled.samples.push(time / batch as f64);
        sampled.wall.push(wall / batch as f64);
        Ok(())
    }

    /// Whether to stop: when all sides are precise, or by the limits.
    fn stop(&self, ours: &[f64], elapsed: Duration) -> Option<Stop> {
        let rule = &self.plan.stop;
        let stop = rule.decide(ours, elapsed)?;
        let waiting = self.sides.iter().any(|side| {
            side.is_running() && rule.decide(&side.samples, elapsed) != Some(Stop::Precise)
        });
        match stop {
            Stop::Precise if !waiting => Some(Stop::Precise),
            Stop::Precise if ours.len() >= rule.most => Some(Stop::Samples),
            Stop::Precise if elapsed >= rule.time => Some(Stop::Time),
            Stop::Precise => None,
            limit => Some(limit),
        }
    }
}

/// Whether the last times are no shorter than those before them.
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
