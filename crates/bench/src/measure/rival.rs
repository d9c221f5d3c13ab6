//! A reference beside the kernel.

use crate::gate;
use crate::oracle::{self, Tensor};
use crate::reference::{Clock, Error, Reference};
use crate::registry::{Case, CaseRole};
use crate::stats::{self, Summary};
use assay_device::Origin;

/// A difference of less than this part is none, however certain.
const LEAST_DIFFERENCE: f64 = 0.01;

/// What a reference took, or why there is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// The reference.
    pub name: String,
    /// Whose clock.
    pub clock: Clock,
    /// Its times.
    pub times: Result<RivalTimes, Error>,
}

/// Times of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct RivalTimes {
    /// Seconds of each sample, for one run; as many as the kernel has, taken in turns with them.
    pub samples: Vec<f64>,
    /// The samples in a few numbers.
    pub summary: Summary,
    /// The reference's median divided by the kernel's by the same clock, and which is faster: first is the reference.
    /// `None` when they have no clock in common.
    pub comparison: Option<stats::Comparison>,
    /// What it computes, compared with what is right.
    pub agreement: Option<gate::Comparison>,
}

/// A reference while it is measured. After its first mistake it is asked no more.
pub(super) struct Side<'a> {
    reference: &'a mut dyn Reference,
    pub(super) samples: Vec<f64>,
    failure: Option<Error>,
    /// The inputs of the first set, to compare outputs for.
    inputs: Vec<Tensor>,
}

impl<'a> Side<'a> {
    pub(super) fn new(reference: &'a mut dyn Reference) -> Self {
        Self {
            reference,
            samples: Vec::new(),
            failure: None,
            inputs: Vec::new(),
        }
    }

    /// Gives it all inputs; each set is run once.
    pub(super) fn prepare(&mut self, case: &Case, sets: &[Vec<Tensor>]) {
        self.inputs = sets.first().cloned().unwrap_or_default();
        for (set, inputs) in sets.iter().enumerate() {
            if self.failure.is_some() {
                return;
            }
            let prepared = self.reference.prepare(set, case, inputs);
            self.failure = prepared.err();
            self.run(set, 1);
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.failure.is_none()
    }

    /// Seconds for so many runs.
    pub(super) fn run(&mut self, set: usize, times: usize) -> Option<f64> {
        if self.failure.is_some() {
            return None;
        }
        let time = self.reference.run(set, times);
        time.map_err(|error| self.failure = Some(error)).ok()
    }

    pub(super) fn sample(&mut self, set: usize, batch: usize) {
        let time = self.run(set, batch);
        self.samples
            .extend(time.map(|time| time / batch.max(1) as f64));
    }

    pub(super) fn finish(self, case: &Case, origin: Origin, ours: &[f64], wall: &[f64]) -> Rival {
        let (name, clock) = (self.reference.name().to_owned(), self.reference.clock());
        let times = self.times(case, origin, ours, wall);
        Rival { name, clock, times }
    }

    fn times(
        self,
        case: &Case,
        origin: Origin,
        ours: &[f64],
        wall: &[f64],
    ) -> Result<RivalTimes, Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let name = self.reference.name().to_owned();
        let summary = Summary::of(&self.samples).filter(|summary| summary.median.value > 0.0);
        let summary = summary.ok_or_else(|| Error::Failed {
            name,
            why: "its clock shows no time at all".to_owned(),
        })?;
        let same_clock = match (self.reference.clock(), origin) {
            (Clock::Host, _) => Some(wall),
            (Clock::Gpu, Origin::Measured) => Some(ours),
            (Clock::Gpu, Origin::Host) => None,
        };
        let comparison =
            same_clock.and_then(|ours| stats::compare(&self.samples, ours, LEAST_DIFFERENCE));
        let outputs = self.reference.outputs(0)?;
        let agreement = agreement(case, &self.inputs, &outputs);
        self.reference.forget()?;
        Ok(RivalTimes {
            samples: self.samples,
            summary,
            comparison,
            agreement,
        })
    }
}

/// The output that is furthest off what is right.
fn agreement(case: &Case, inputs: &[Tensor], outputs: &[Vec<u8>]) -> Option<gate::Comparison> {
    let answers = oracle::answers(case, inputs).ok()?;
    let wanted = case
        .arguments
        .iter()
        .filter(|argument| matches!(argument.role, CaseRole::Output { .. }));
    let compared = wanted
        .zip(outputs)
        .zip(&answers)
        .map(|((argument, bytes), answer)| {
            gate::Comparison::new(bytes, argument.dtype, answer, &case.tolerance)
        });
    compared.max_by(|a, b| a.max_relative.total_cmp(&b.max_relative))
}
