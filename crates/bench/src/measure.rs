//! How long a kernel takes at certain sizes.
//!
//! Each sample is one submission of all passes. Samples go round several sets of buffers with inputs of their own, so
//! that the next one does not find its data where the last one left it, and at the end every set's outputs must be the
//! bytes that an untimed run gave: a kernel that is fast because it stopped working is found out.

use crate::inputs::{self, Kind};
use crate::random::Random;
use crate::registry::Case;
use crate::runner::{Buffers, Guards, Loaded};
use crate::stats::{self, Drift, Modes, Stop, StopRule, Summary};
use assay_device::{Device, Dispatch, Error, Origin};
use std::time::{Duration, Instant};

/// Bytes that all sets of buffers together should have: more than any cache of these chips.
const ROTATED_BYTES: u64 = 256 << 20;
/// Most sets of buffers.
const MOST_SETS: u64 = 8;

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Where inputs come from.
    pub seed: u64,
    /// Runs before the first sample, for each set of buffers at least one.
    pub warm_up: usize,
    /// When to stop.
    pub stop: StopRule,
}

/// Times of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Whose clock.
    pub origin: Origin,
    /// Seconds of each sample, in the order they were taken.
    pub samples: Vec<f64>,
    /// Runs before the first sample.
    pub warm_up: usize,
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
}

/// Measures a case. `None` when the clock shows no time at all.
pub fn measure(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    case: &Case,
    plan: &Plan,
) -> Result<Option<Measurement>, Error> {
    let mut sets = Vec::new();
    let measured = measure_sets(device, loaded, case, plan, &mut sets);
    for set in sets {
        set.buffers.release(device)?;
    }
    measured
}

/// Buffers, what runs over them, and what came out of it at first.
struct Turn {
    buffers: Buffers,
    dispatches: Vec<Dispatch>,
    outputs: Vec<Vec<u8>>,
}

fn measure_sets(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    case: &Case,
    plan: &Plan,
    sets: &mut Vec<Turn>,
) -> Result<Option<Measurement>, Error> {
    let mut seeds = Random::new(plan.seed);
    for _ in 0..ROTATED_BYTES
        .div_ceil(case.bytes.max(1))
        .clamp(2, MOST_SETS)
    {
        let inputs = inputs::random(case, seeds.bits(), Kind::Usual);
        let buffers = Buffers::new(device, case, &inputs, Guards::Pattern)?;
        sets.push(Turn {
            dispatches: Vec::new(),
            outputs: Vec::new(),
            buffers,
        });
        let Some(set) = sets.last_mut() else { continue };
        set.dispatches = loaded.dispatches(device, case, &set.buffers)?;
        let finished = device.run(set.dispatches.clone())?;
        set.outputs = set.buffers.collect(device, case, finished)?.outputs;
    }
    let extra = plan.warm_up.saturating_sub(sets.len());
    for set in sets.iter().cycle().take(extra) {
        device.run(set.dispatches.clone())?;
    }
    let (samples, origin, stop) = sample(device, sets, &plan.stop)?;
    let steady_results = unchanged(device, case, sets)?;
    let Some(summary) = Summary::of(&samples).filter(|summary| summary.median.value > 0.0) else {
        return Ok(None);
    };
    Ok(Some(Measurement {
        origin,
        warm_up: plan.warm_up.max(sets.len()),
        sets: sets.len(),
        stop,
        summary,
        drift: stats::drift(&samples),
        modes: stats::modes(&samples),
        samples,
        steady_results,
    }))
}

fn sample(
    device: &mut dyn Device,
    sets: &[Turn],
    rule: &StopRule,
) -> Result<(Vec<f64>, Origin, Stop), Error> {
    let start = Instant::now();
    let mut samples = Vec::new();
    let mut origin = device.facts().origin;
    for set in sets.iter().cycle() {
        let finished = device.run(set.dispatches.clone())?;
        origin = finished.total.origin;
        samples.push(finished.total.length.as_secs_f64());
        if let Some(stop) = rule.decide(&samples, start.elapsed()) {
            return Ok((samples, origin, stop));
        }
    }
    Ok((samples, origin, Stop::Samples))
}

/// Whether outputs are still those of the untimed runs.
fn unchanged(device: &mut dyn Device, case: &Case, sets: &[Turn]) -> Result<bool, Error> {
    let finished = assay_device::Finished {
        total: assay_device::Time {
            length: Duration::ZERO,
            origin: device.facts().origin,
        },
        dispatches: Vec::new(),
    };
    for set in sets {
        let outcome = set.buffers.collect(device, case, finished.clone())?;
        if outcome.outputs != set.outputs || !outcome.damage.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
