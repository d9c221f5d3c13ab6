//! Slots of buffers that are written anew before every timed run.
//!
//! A kernel that runs over the same buffers again may find what an earlier run left: its own results, or a mark that says
//! so. So every run of a timed sequence has a slot of its own. Before a slot is used again all of its memory is written,
//! guards included: inputs become those of another variant, outputs and scratch memory become unwritten. Buffers are all
//! the memory a kernel can keep, so nothing survives. The writing happens between submissions, where no clock runs, and
//! for all slots at once, so that a run does not find its inputs where the writing has just left them.

use super::contender::Contender;
use crate::inputs::{self, Kind};
use crate::oracle::Tensor;
use crate::random::Random;
use crate::registry::Case;
use crate::runner::{Buffers, Contents, Guards};
use assay_device::{Device, Error};
use std::ops::Range;

/// Bytes that all variants of the inputs together should have: more than any cache of these chips.
const ROTATED_BYTES: u64 = 256 << 20;
/// Most variants of the inputs.
const MOST_VARIANTS: u64 = 8;
/// Bytes that all slots together may have, beyond one slot per variant.
const MOST_BYTES: u64 = 512 << 20;

/// Inputs, and what buffers hold before a run with them.
#[derive(Debug)]
struct Variant {
    seed: u64,
    contents: Contents,
}

/// Buffers of one run.
#[derive(Debug)]
struct Slot {
    buffers: Buffers,
    /// Whose inputs are in them.
    variant: usize,
    /// Which contender ran over them since they were written.
    used_by: Option<usize>,
}

/// All slots.
#[derive(Debug)]
pub(super) struct Rotation<'a> {
    case: &'a Case,
    variants: Vec<Variant>,
    slots: Vec<Slot>,
    /// Slots that have been used since all were written.
    used: usize,
    random: Random,
}

impl<'a> Rotation<'a> {
    /// Draws the variants, without buffers yet.
    pub(super) fn new(case: &'a Case, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = ROTATED_BYTES.div_ceil(case.bytes.max(1));
        let mut variants: Vec<Variant> = Vec::new();
        for _ in 0..count.clamp(2, MOST_VARIANTS) {
            let seed = random.bits();
            let given = inputs::random(case, seed, Kind::Usual);
            let contents = match variants.first() {
                Some(first) => first.contents.with_inputs(case, &given),
                None => Contents::new(case, &given, Guards::Pattern),
            };
            variants.push(Variant { seed, contents });
        }
        Self {
            case,
            variants,
            slots: Vec::new(),
            used: 0,
            random,
        }
    }

    /// How many variants of the inputs there are.
    pub(super) fn variants(&self) -> usize {
        self.variants.len()
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The inputs of a variant, made again.
    pub(super) fn inputs(&self, variant: usize) -> Vec<Tensor> {
        let variant = self.variants.get(variant);
        variant.map_or_else(Vec::new, |variant| {
            inputs::random(self.case, variant.seed, Kind::Usual)
        })
    }

    /// The buffers of a slot.
    pub(super) fn buffers(&self, slot: usize) -> Option<&Buffers> {
        self.slots.get(slot).map(|slot| &slot.buffers)
    }

    /// Makes as many slots as are wanted and memory allows, one per variant at least.
    pub(super) fn grow(&mut self, device: &mut dyn Device, wanted: usize) -> Result<(), Error> {
        let bytes = self.variants.first().map_or(0, |one| one.contents.bytes());
        let allowed = usize::try_from(MOST_BYTES / bytes.max(1)).unwrap_or(usize::MAX);
        let wanted = wanted.min(allowed).max(self.variants.len());
        while self.slots.len() < wanted {
            let variant = self.slots.len() % self.variants.len().max(1);
            let Some(contents) = self.variants.get(variant) else {
                return Ok(());
            };
            let buffers = Buffers::holding(device, contents.contents.clone())?;
            self.slots.push(Slot {
                buffers,
                variant,
                used_by: None,
            });
        }
        Ok(())
    }

    /// Writes every slot, each with the inputs of its first variant.
    pub(super) fn reset(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        self.write(device, |place, _, variants| place % variants)
    }

    fn write(
        &mut self,
        device: &mut dyn Device,
        choose: impl Fn(usize, &mut Random, usize) -> usize,
    ) -> Result<(), Error> {
        let count = self.variants.len().max(1);
        for (place, slot) in self.slots.iter_mut().enumerate() {
            slot.variant = choose(place, &mut self.random, count);
            slot.used_by = None;
            if let Some(variant) = self.variants.get(slot.variant) {
                slot.buffers.write(device, variant.contents.clone())?;
            }
        }
        self.used = 0;
        Ok(())
    }

    /// Slots that nobody has used since they were written, for the runs of a sample. Where none are left, one that was
    /// used is looked at, and all are written with inputs drawn anew.
    pub(super) fn take(
        &mut self,
        device: &mut dyn Device,
        contenders: &mut [Contender<'_>],
        who: usize,
        runs: usize,
    ) -> Result<Range<usize>, Error> {
        if self.used + runs > self.slots.len() {
            let drawn = self.random.below(self.used.max(1) as u64) as usize;
            self.look(device, contenders, drawn)?;
            self.write(device, |_, random, variants| {
                random.below(variants as u64) as usize
            })?;
        }
        let taken = self.used..(self.used + runs).min(self.slots.len());
        for slot in self.slots.iter_mut().take(taken.end).skip(taken.start) {
            slot.used_by = Some(who);
        }
        self.used = taken.end;
        Ok(taken)
    }

    /// Looks at every slot that was used since it was written.
    pub(super) fn look_at_all(
        &mut self,
        device: &mut dyn Device,
        contenders: &mut [Contender<'_>],
    ) -> Result<(), Error> {
        (0..self.slots.len()).try_for_each(|slot| self.look(device, contenders, slot))
    }

    /// Results must be the bytes that an untimed run gave for the same inputs, and nothing else may have changed.
    fn look(
        &self,
        device: &mut dyn Device,
        contenders: &mut [Contender<'_>],
        slot: usize,
    ) -> Result<(), Error> {
        let Some(slot) = self.slots.get(slot) else {
            return Ok(());
        };
        let contender = slot.used_by.and_then(|who| contenders.get_mut(who));
        let Some(contender) = contender else {
            return Ok(());
        };
        contender.look(device, self.case, &slot.buffers, slot.variant)
    }

    /// Frees all buffers.
    pub(super) fn release(self, device: &mut dyn Device) -> Result<(), Error> {
        for slot in self.slots {
            slot.buffers.release(device)?;
        }
        Ok(())
    }
}
