//! References without a kernel.

use super::rival::{Rival, Side};
use super::rotation::Rotation;
use super::{Plan, WarmUp, runs_of_a_sample};
use crate::reference::Reference;
use crate::registry::Case;
use crate::stats::Stop;
use assay_device::Origin;
use std::time::Instant;

/// Measures references alone, in turns with each other, with the inputs a kernel would get.
pub fn references(case: &Case, plan: &Plan, references: &mut [Box<dyn Reference>]) -> Vec<Rival> {
    let rotation = Rotation::new(case, plan.seed);
    let sets: Vec<_> = (0..rotation.variants())
        .map(|one| rotation.inputs(one))
        .collect();
    let mut sides: Vec<Side<'_>> = references
        .iter_mut()
        .map(|one| Side::new(one.as_mut()))
        .collect();
    for side in &mut sides {
        side.prepare(case, &sets);
        warm_up(side, plan, sets.len());
    }
    let once: Vec<f64> = sides.iter_mut().filter_map(|side| side.run(0, 1)).collect();
    let batch = runs_of_a_sample(once.into_iter());
    let start = Instant::now();
    for turn in 0.. {
        for side in &mut sides {
            side.sample(turn % sets.len().max(1), batch);
        }
        let elapsed = start.elapsed();
        let rule = &plan.stop;
        let ended = |side: &Side<'_>| match rule.decide(&side.samples, elapsed) {
            Some(Stop::Precise | Stop::Samples | Stop::Time) => true,
            None => !side.is_running(),
        };
        if sides.iter().all(ended) {
            break;
        }
    }
    let finish = |side: Side<'_>| side.finish(case, Origin::Host, &[], &[]);
    sides.into_iter().map(finish).collect()
}

/// Every set of inputs was run once; so many runs more, or until the time is over.
fn warm_up(side: &mut Side<'_>, plan: &Plan, sets: usize) {
    let start = Instant::now();
    for turn in 0.. {
        let enough = match plan.warm_up {
            WarmUp::Runs(runs) => turn + sets >= runs,
            // References say nothing about single runs, so the time decides; a tenth of it is plenty.
            WarmUp::UntilStable(most) => start.elapsed() >= most / 10,
        };
        if enough || side.run(turn % sets.max(1), 1).is_none() {
            return;
        }
    }
}
