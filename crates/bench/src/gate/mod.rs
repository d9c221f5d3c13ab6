//! Whether a kernel computes what it should.
//!
//! A kernel that is fast because it does less is the oldest trick, so a result is believed only after
//! - fresh random inputs in every trial, of the kind each argument needs, at several sizes, odd ones included;
//! - outputs that start as a pattern, so that what is not written is seen, and guards around every buffer;
//! - every element compared, with a tolerance relative to what went into it ([`Comparison`]);
//! - the same bytes from the same inputs, twice;
//! - threadgroups from the last to the first, where they meet by atomics;
//! - other bytes from other inputs: one input after the other is replaced, and must matter where it does to the oracle;
//! - a run over buffers that still hold the results of other inputs, so that nothing can be left as it was;
//! - a run that a CPU watches for races, accesses outside buffers and memory read that nobody wrote;
//! - inputs that separate right from nearly right ([`crate::adversary`]): means away from zero, ties, the extreme
//!   numbers that the registry names, other values for scalars;
//! - sizes drawn at random besides the listed ones, and those that will be timed.
//!
//! ```no_run
//! use assay_bench::{gate::{self, Plan}, registry::Registry, runner::Loaded};
//! # fn device() -> assay_device::CpuDevice { unimplemented!() }
//! let (mut device, registry) = (device(), Registry::embedded()?);
//! let kernel = registry.kernel("softmax")?;
//! let source = registry.source(kernel, None)?;
//! let mut loaded = Loaded::compile(&mut device, &source.path, &source.text)?;
//! let verdict = gate::examine(&mut device, &mut loaded, kernel, &Plan::quick(7))?;
//! assert!(verdict.is_right(), "{verdict}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod coverage;
mod elements;
mod plan;
mod verdict;

pub use compare::{Comparison, Element, Ulps};
pub use coverage::Coverage;
pub use elements::{Elements, Limits, Off};
pub use plan::Plan;
pub use verdict::{Finding, Tried, Verdict, What};

use crate::Dtype;
use crate::adversary;
use crate::inputs::{self, Kind};
use crate::oracle::{self, Answer, Tensor};
use crate::random::Random;
use crate::registry::{Case, CaseError, CaseRole, Kernel, SizeUse};
use crate::runner::{Buffers, Guards, Loaded, Outcome};
use assay_device::{Device, Report};

/// Reports of one run that are told; the rest are mostly of the same kind.
const MOST_REPORTS: usize = 3;

/// Draws of random sizes for each that is wanted.
const DRAWS: u32 = 4;
/// Operations and bytes above which a case is large: then it is run once for each kind of inputs, and compared in part.
const LARGE: u64 = 20_000_000;

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The device could not run the kernel, for a reason that is not the kernel's.
    #[error(transparent)]
    Device(#[from] assay_device::Error),
    /// The registry has no such case.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The oracle has no answer.
    #[error("kernel \"{kernel}\": {error}")]
    Oracle {
        /// The kernel.
        kernel: String,
        /// Why.
        error: oracle::Error,
    },
    /// Nothing was tried.
    #[error("kernel \"{kernel}\" has none of the sizes or element types asked for")]
    Nothing {
        /// The kernel.
        kernel: String,
    },
}

/// Examines a kernel. Mistakes of the kernel are findings of the verdict; the first case that has any ends it.
pub fn examine(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    kernel: &Kernel,
    plan: &Plan,
) -> Result<Verdict, Error> {
    let mut seeds = Random::new(plan.seed);
    let mut verdict = Verdict::new(plan.seed);
    for dtype in &kernel.dtypes {
        if !plan.dtypes.is_empty() && !plan.dtypes.contains(dtype) {
            continue;
        }
        for (case, trials) in cases(kernel, *dtype, plan, &mut seeds)? {
            let mut examiner = Examiner {
                device: &mut *device,
                loaded: &mut *loaded,
                case: &case,
                verdict: &mut verdict,
            };
            for trial in 0..trials {
                examiner.trial(seeds.bits(), trial == 0)?;
                if !examiner.verdict.is_right() {
                    return Ok(verdict);
                }
            }
        }
    }
    if verdict.tried.is_empty() {
        return Err(Error::Nothing {
            kernel: kernel.name.clone(),
        });
    }
    Ok(verdict)
}

/// Watches one run of a case on a device that can, and gives what the kernel did that it must not. What it computes is
/// not looked at.
pub fn watch(
    device: &mut dyn Device,
    loaded: &mut Loaded,
    case: &Case,
    seed: u64,
) -> Result<Vec<Finding>, Error> {
    let mut verdict = Verdict::new(seed);
    Examiner {
        device,
        loaded,
        case,
        verdict: &mut verdict,
    }
    .sanitize(seed, &inputs::random(case, seed, Kind::Usual))?;
    Ok(verdict.findings)
}

/// What a kernel is tried with, and how often.
fn cases(
    kernel: &Kernel,
    dtype: Dtype,
    plan: &Plan,
    seeds: &mut Random,
) -> Result<Vec<(Case, u32)>, Error> {
    let mut cases = Vec::new();
    for set in &kernel.sizes {
        if plan.sizes.contains(&set.use_) {
            cases.push((Case::new(kernel, &set.name, dtype)?, plan.trials.max(1)));
        } else if plan.timed.as_ref() == Some(&set.name) {
            cases.push((Case::new(kernel, &set.name, dtype)?, 1));
        }
    }
    let mut drawn = 0;
    // Not all sizes fit each other; a kernel none of whose draws fit has its listed ones.
    for _ in 0..plan.random_sizes * DRAWS {
        let Some(sizes) = adversary::random_sizes(kernel, seeds) else {
            break;
        };
        let shown: Vec<String> = sizes
            .iter()
            .map(|(name, n)| format!("{name}={n}"))
            .collect();
        let name = format!("random ({})", shown.join(" "));
        if let Ok(case) = Case::with_sizes(kernel, &name, SizeUse::HeldOut, &sizes, dtype) {
            cases.push((case, 1));
            drawn += 1;
        }
        if drawn == plan.random_sizes {
            break;
        }
    }
    Ok(cases)
}

struct Examiner<'a> {
    device: &'a mut dyn Device,
    loaded: &'a mut Loaded,
    case: &'a Case,
    verdict: &'a mut Verdict,
}

impl Examiner<'_> {
    fn trial(&mut self, seed: u64, first: bool) -> Result<(), Error> {
        let inputs = inputs::random(self.case, seed, Kind::Usual);
        let Some(outcome) = self.run(seed, &inputs, Guards::Pattern)? else {
            return Ok(());
        };
        self.judge_outcome(seed, &inputs, &outcome)?;
        if !first {
            return Ok(());
        }
        if !self.is_large() {
            self.replace_inputs(seed, &inputs, &outcome)?;
            if !self.verdict.is_right() {
                return Ok(());
            }
        }
        self.repeat(seed, &inputs, &outcome)?;
        self.turn_around(seed, &inputs)?;
        if !self.is_large() {
            self.run_over_old_results(seed, &inputs)?;
        }
        self.sanitize(seed, &inputs)?;
        for kind in adversary::kinds(self.case) {
            if !self.verdict.is_right() {
                return Ok(());
            }
            self.of_kind(seed, kind)?;
        }
        self.other_scalars(seed)
    }

    /// Returns true if a run, or the oracle, takes so long that each is wanted as rarely as possible.
    fn is_large(&self) -> bool {
        self.case.flops.saturating_add(self.case.bytes) > LARGE
    }

    /// Runs with inputs of a kind.
    fn of_kind(&mut self, seed: u64, kind: Kind) -> Result<(), Error> {
        let inputs = inputs::random(self.case, seed, kind);
        match self.run(seed, &inputs, Guards::Pattern)? {
            Some(outcome) => self.judge_outcome(seed, &inputs, &outcome),
            None => Ok(()),
        }
    }

    /// Runs with other values for scalars.
    fn other_scalars(&mut self, seed: u64) -> Result<(), Error> {
        let mut random = Random::of(seed, 7);
        let Some(varied) = adversary::vary_scalars(self.case, &mut random) else {
            return Ok(());
        };
        Examiner {
            device: &mut *self.device,
            loaded: &mut *self.loaded,
            case: &varied,
            verdict: &mut *self.verdict,
        }
        .of_kind(!seed, Kind::Usual)
    }

    /// Compares with what is right: everything, or rows drawn after the run.
    fn judge_outcome(
        &mut self,
        seed: u64,
        inputs: &[Tensor],
        outcome: &Outcome,
    ) -> Result<(), Error> {
        let coverage = Coverage::draw(self.case, &mut Random::of(seed, 11));
        let answers = oracle::answers_at(self.case, inputs, coverage.rows());
        let answers = answers.map_err(|error| Error::Oracle {
            kernel: self.case.kernel.clone(),
            error,
        })?;
        let comparisons = self.compare_covering(outcome, &answers, &coverage);
        self.note(seed, comparisons);
        Ok(())
    }

    /// Right results are no proof: a kernel that races may be lucky.
    fn sanitize(&mut self, seed: u64, inputs: &[Tensor]) -> Result<(), Error> {
        let buffers = Buffers::new(self.device, self.case, inputs, Guards::None)?;
        let reports = self.reports(&buffers);
        buffers.release(self.device)?;
        for report in reports?.into_iter().take(MOST_REPORTS) {
            self.found(seed, What::Misbehaved(report));
        }
        Ok(())
    }

    fn reports(&mut self, buffers: &Buffers) -> Result<Vec<Report>, assay_device::Error> {
        let dispatches = self.loaded.dispatches(self.device, self.case, buffers)?;
        let mut reports = Vec::new();
        for dispatch in &dispatches {
            let found = self.device.sanitize(dispatch)?.unwrap_or_default();
            reports.extend(found.into_iter().filter(|report| !report.kind.is_warning()));
        }
        Ok(reports)
    }

    fn answers(&self, inputs: &[Tensor]) -> Result<Vec<Answer>, Error> {
        oracle::answers(self.case, inputs).map_err(|error| Error::Oracle {
            kernel: self.case.kernel.clone(),
            error,
        })
    }

    fn found(&mut self, seed: u64, what: What) {
        self.verdict.findings.push(Finding {
            size_set: self.case.size_set.clone(),
            dtype: self.case.dtype,
            seed,
            what,
        });
    }

    /// Runs once; a kernel's own failure is a finding.
    fn run(
        &mut self,
        seed: u64,
        inputs: &[Tensor],
        guards: Guards,
    ) -> Result<Option<Outcome>, Error> {
        let outcome = self.loaded.run(self.device, self.case, inputs, guards);
        self.outcome(seed, outcome)
    }

    fn outcome(
        &mut self,
        seed: u64,
        outcome: Result<Outcome, assay_device::Error>,
    ) -> Result<Option<Outcome>, Error> {
        use assay_device::Error as Failure;
        match outcome {
            Ok(outcome) => {
                let damage = outcome.damage.clone();
                damage
                    .into_iter()
                    .for_each(|damage| self.found(seed, What::Damage(damage)));
                Ok(Some(outcome))
            }
            Err(
                failure @ (Failure::Fault(_)
                | Failure::TimeOut { .. }
                | Failure::ThreadgroupTooLarge { .. }
                | Failure::ThreadgroupMemory { .. }
                | Failure::Unbound { .. }
                | Failure::Binding { .. }
                | Failure::NoFunction { .. }),
            ) => {
                self.found(seed, What::Failure(failure));
                Ok(None)
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Compares with what is right.
    fn judge(&mut self, seed: u64, outcome: &Outcome, answers: &[Answer]) {
        let comparisons = self.compare(outcome, answers);
        self.note(seed, comparisons);
    }

    fn note(&mut self, seed: u64, comparisons: Vec<(String, Comparison)>) {
        for (output, comparison) in comparisons {
            if !comparison.is_right() {
                self.found(
                    seed,
                    What::Wrong {
                        output: output.clone(),
                        comparison: comparison.clone(),
                    },
                );
            }
            self.verdict.tried.push(Tried {
                size_set: self.case.size_set.clone(),
                dtype: self.case.dtype,
                output,
                comparison,
            });
        }
    }

    fn compare(&self, outcome: &Outcome, answers: &[Answer]) -> Vec<(String, Comparison)> {
        self.compare_covering(outcome, answers, &Coverage::ALL)
    }

    fn compare_covering(
        &self,
        outcome: &Outcome,
        answers: &[Answer],
        coverage: &Coverage,
    ) -> Vec<(String, Comparison)> {
        let outputs = self
            .case
            .arguments
            .iter()
            .filter(|argument| matches!(argument.role, CaseRole::Output { .. }));
        let compared =
            outputs
                .zip(&outcome.outputs)
                .zip(answers)
                .map(|((argument, bytes), answer)| {
                    let tolerance = &self.case.tolerance;
                    let comparison =
                        Comparison::covering(bytes, argument.dtype, answer, tolerance, coverage);
                    (argument.name.clone(), comparison)
                });
        compared.collect()
    }

    /// The same inputs must give the same bytes, without guards too.
    fn repeat(&mut self, seed: u64, inputs: &[Tensor], before: &Outcome) -> Result<(), Error> {
        if let Some(again) = self.run(seed, inputs, Guards::None)?
            && again.outputs != before.outputs
        {
            self.found(seed, What::Unstable);
        }
        Ok(())
    }

    /// A result must not depend on which threadgroup comes first.
    fn turn_around(&mut self, seed: u64, inputs: &[Tensor]) -> Result<(), Error> {
        if !self.verdict.is_right() {
            return Ok(());
        }
        let outcome = self.loaded.run_backwards(self.device, self.case, inputs);
        let Some(outcome) = outcome.transpose() else {
            return Ok(());
        };
        let Some(outcome) = self.outcome(seed, outcome)? else {
            return Ok(());
        };
        let before = self.verdict.findings.len();
        self.judge_outcome(seed, inputs, &outcome)?;
        if self.verdict.findings.len() > before {
            self.verdict.findings.truncate(before);
            self.found(seed, What::Order);
        }
        Ok(())
    }

    /// Another input must give another result, where it does to the oracle.
    fn replace_inputs(
        &mut self,
        seed: u64,
        inputs: &[Tensor],
        before: &Outcome,
    ) -> Result<(), Error> {
        let others = inputs::random(self.case, !seed, Kind::Usual);
        let names: Vec<String> = self.input_names();
        for (place, (other, name)) in others.into_iter().zip(names).enumerate() {
            let mut changed = inputs.to_vec();
            changed
                .get_mut(place)
                .into_iter()
                .for_each(|input| *input = other.clone());
            let expected = self.answers(&changed)?;
            // Whether the old result would be wrong now.
            let matters = self
                .compare(before, &expected)
                .iter()
                .any(|(_, comparison)| !comparison.is_right());
            let Some(outcome) = self.run(seed, &changed, Guards::Pattern)? else {
                return Ok(());
            };
            if matters && outcome.outputs == before.outputs {
                self.found(seed, What::Ignored { input: name });
            } else if self.verdict.is_right() {
                self.judge(seed, &outcome, &expected);
            }
        }
        Ok(())
    }

    fn input_names(&self) -> Vec<String> {
        let inputs = self
            .case
            .arguments
            .iter()
            .filter(|argument| matches!(argument.role, CaseRole::Input { .. }));
        inputs.map(|argument| argument.name.clone()).collect()
    }

    /// Buffers that hold the results of other inputs must be overwritten.
    fn run_over_old_results(&mut self, seed: u64, inputs: &[Tensor]) -> Result<(), Error> {
        let old = inputs::random(self.case, seed.rotate_left(32), Kind::Usual);
        let mut buffers = Buffers::new(self.device, self.case, &old, Guards::Pattern)?;
        let outcome = self.over_old_results(&mut buffers, inputs);
        buffers.release(self.device)?;
        let Some(outcome) = self.outcome(seed, outcome)? else {
            return Ok(());
        };
        let answers = self.answers(inputs)?;
        if self
            .compare(&outcome, &answers)
            .iter()
            .any(|(_, comparison)| !comparison.is_right())
        {
            self.found(seed, What::Stale);
        }
        Ok(())
    }

    fn over_old_results(
        &mut self,
        buffers: &mut Buffers,
        inputs: &[Tensor],
    ) -> Result<Outcome, assay_device::Error> {
        let dispatches = self.loaded.dispatches(self.device, self.case, buffers)?;
        self.device.run(dispatches.clone())?;
        buffers.replace_inputs(self.device, self.case, inputs)?;
        let finished = self.device.run(dispatches)?;
        buffers.collect(self.device, self.case, finished)
    }
}
