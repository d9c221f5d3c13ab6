//! A kernel while it is timed: the one that is measured, or the holder of a record beside it.

use super::rotation::Rotation;
use super::timed::{self, Examined};
use crate::random::Random;
use crate::registry::Case;
use crate::runner::{Buffers, Loaded};
use assay_device::{Device, Dispatch, Error, Finished, Time};
use std::ops::Range;
use std::time::{Duration, Instant};

/// A kernel, what it gave for each variant of the inputs, and its samples.
#[derive(Debug)]
pub(super) struct Contender<'a> {
    loaded: &'a mut Loaded,
    /// By slot.
    dispatches: Vec<Vec<Dispatch>>,
    /// By variant: what an untimed run gave.
    outputs: Vec<Vec<Vec<u8>>>,
    /// False once a timed run gave anything else.
    pub(super) steady: bool,
    /// Seconds of each sample, for one run.
    pub(super) samples: Vec<f64>,
    /// The same by this machine's clock.
    pub(super) wall: Vec<f64>,
}

impl<'a> Contender<'a> {
    pub(super) fn new(loaded: &'a mut Loaded) -> Self {
        Self {
            loaded,
            dispatches: Vec::new(),
            outputs: Vec::new(),
            steady: true,
            samples: Vec::new(),
            wall: Vec::new(),
        }
    }

    /// Runs every variant once over slots that were just written, and keeps what comes out.
    pub(super) fn prepare(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        rotation: &Rotation<'_>,
    ) -> Result<(), Error> {
        self.extend(device, case, rotation)?;
        for variant in 0..rotation.variants() {
            let (Some(dispatches), Some(buffers)) =
                (self.dispatches.get(variant), rotation.buffers(variant))
            else {
                continue;
            };
            let finished = device.run(dispatches.clone())?;
            let outcome = buffers.collect(device, case, finished)?;
            self.steady &= outcome.damage.is_empty();
            self.outputs.push(outcome.outputs);
        }
        // Otherwise some samples are the interpreter's and others machine code's, of one contender and not of the other.
        for dispatches in &self.dispatches {
            device.settle(dispatches)?;
        }
        Ok(())
    }

    /// Dispatches for slots that are new.
    pub(super) fn extend(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        rotation: &Rotation<'_>,
    ) -> Result<(), Error> {
        for slot in self.dispatches.len()..rotation.len() {
            if let Some(buffers) = rotation.buffers(slot) {
                let dispatches = self.loaded.dispatches(device, case, buffers)?;
                self.dispatches.push(dispatches);
            }
        }
        Ok(())
    }

    /// Runs over some slots, one after the other, in one submission; gives seconds by the device's clock and by ours.
    pub(super) fn run(
        &self,
        device: &mut dyn Device,
        slots: Range<usize>,
    ) -> Result<(f64, f64), Error> {
        let runs = self.dispatches.get(slots).unwrap_or_default();
        let dispatches = runs.iter().flatten().cloned().collect();
        let start = Instant::now();
        let finished = device.run(dispatches)?;
        let wall = start.elapsed().as_secs_f64();
        Ok((finished.time()?.length.as_secs_f64(), wall))
    }

    /// Takes a sample over some slots.
    pub(super) fn sample(
        &mut self,
        device: &mut dyn Device,
        slots: Range<usize>,
    ) -> Result<(), Error> {
        let runs = slots.len().max(1) as f64;
        let (time, wall) = self.run(device, slots)?;
        self.samples.push(time / runs);
        self.wall.push(wall / runs);
        Ok(())
    }

    /// Looks at a slot after a timed run over it.
    pub(super) fn look(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        buffers: &Buffers,
        variant: usize,
    ) -> Result<(), Error> {
        let nothing = Finished {
            total: Some(Time {
                length: Duration::ZERO,
                origin: device.facts().origin,
            }),
            dispatches: Vec::new(),
        };
        let outcome = buffers.collect(device, case, nothing)?;
        let known = self.outputs.get(variant);
        self.steady &= outcome.damage.is_empty() && known == Some(&outcome.outputs);
        Ok(())
    }

    /// Compares what the timed runs gave with what is right.
    pub(super) fn examine(&self, case: &Case, rotation: &Rotation<'_>, seed: u64) -> Examined {
        // Drawn after the last run, from a seed that the kernel never saw.
        let mut random = Random::of(seed, u64::from(u32::MAX));
        timed::examine(case, rotation, &self.outputs, &mut random)
    }
}
