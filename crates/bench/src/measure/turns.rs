//! Sets of buffers that take turns.

use crate::inputs::{self, Kind};
use crate::oracle::Tensor;
use crate::random::Random;
use crate::registry::Case;
use crate::runner::{Buffers, Guards, Loaded};
use assay_device::{Device, Dispatch, Error, Finished, Time};
use std::time::{Duration, Instant};

/// Bytes that all sets of buffers together should have: more than any cache of these chips.
const ROTATED_BYTES: u64 = 256 << 20;
/// Most sets of buffers.
const MOST_SETS: u64 = 8;

/// Buffers, what runs over them, and what came out of it at first.
#[derive(Debug)]
struct Turn {
    buffers: Buffers,
    dispatches: Vec<Dispatch>,
    outputs: Vec<Vec<u8>>,
}

/// All sets.
#[derive(Debug, Default)]
pub(super) struct Turns {
    sets: Vec<Turn>,
    /// The inputs of each, for others to be given; whoever has given them may drop them.
    pub(super) inputs: Vec<Vec<Tensor>>,
}

impl Turns {
    /// Makes all sets, and runs each once.
    pub(super) fn prepare(
        &mut self,
        device: &mut dyn Device,
        loaded: &mut Loaded,
        case: &Case,
        seed: u64,
    ) -> Result<(), Error> {
        let mut seeds = Random::new(seed);
        let sets = ROTATED_BYTES.div_ceil(case.bytes.max(1));
        for _ in 0..sets.clamp(2, MOST_SETS) {
            let given = inputs::random(case, seeds.bits(), Kind::Usual);
            let buffers = Buffers::new(device, case, &given, Guards::Pattern)?;
            self.inputs.push(given);
            self.sets.push(Turn {
                dispatches: Vec::new(),
                outputs: Vec::new(),
                buffers,
            });
            let Some(set) = self.sets.last_mut() else {
                continue;
            };
            set.dispatches = loaded.dispatches(device, case, &set.buffers)?;
            let finished = device.run(set.dispatches.clone())?;
            set.outputs = set.buffers.collect(device, case, finished)?.outputs;
        }
        Ok(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Runs the set whose turn it is so many times in one submission; gives seconds by the device's clock and by ours.
    pub(super) fn run(
        &self,
        device: &mut dyn Device,
        turn: usize,
        times: usize,
    ) -> Result<(f64, f64), Error> {
        let Some(set) = self.sets.get(turn % self.sets.len().max(1)) else {
            return Ok((0.0, 0.0));
        };
        let runs = std::iter::repeat_n(&set.dispatches, times);
        let dispatches = runs.flatten().cloned().collect();
        let start = Instant::now();
        let finished = device.run(dispatches)?;
        let wall = start.elapsed().as_secs_f64();
        Ok((finished.total.length.as_secs_f64(), wall))
    }

    /// Whether outputs are still those of the untimed runs.
    pub(super) fn unchanged(&self, device: &mut dyn Device, case: &Case) -> Result<bool, Error> {
        let finished = Finished {
            total: Time {
                length: Duration::ZERO,
                origin: device.facts().origin,
            },
            dispatches: Vec::new(),
        };
        for set in &self.sets {
            let outcome = set.buffers.collect(device, case, finished.clone())?;
            if outcome.outputs != set.outputs || !outcome.damage.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Frees all buffers.
    pub(super) fn release(self, device: &mut dyn Device) -> Result<(), Error> {
        for set in self.sets {
            set.buffers.release(device)?;
        }
        Ok(())
    }
}
