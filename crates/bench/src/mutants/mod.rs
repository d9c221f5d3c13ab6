//! Whether the gate notices: kernels that are wrong by one operation.
//!
//! A mutant is the optimised program of a kernel with one operation changed by an [`Operator`]. All of them are examined
//! as a kernel is. One that passes is *equivalent* if it gives the same bytes as the kernel at every size with every kind
//! of input; otherwise it has *survived*, and the gate has a gap.

mod condition;
mod device;
mod edit;
mod operator;

pub use operator::Operator;

use crate::Dtype;
use crate::adversary;
use crate::gate::{self, Plan};
use crate::inputs::{self, Kind};
use crate::oracle::{self, Answer};
use crate::random::Random;
use crate::registry::{Case, CaseRole, Kernel, SizeUse};
use crate::runner::{Guards, Loaded, Outcome};
use assay_device::{CpuDevice, Error, LibraryId};
use assay_ssa::Module;
use device::Mutating;
use std::collections::BTreeMap;
use std::fmt;

/// A way to be wrong: an operator at an operation of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The kernel function, as its passes name it.
    pub function: String,
    /// What is done.
    pub operator: Operator,
    /// Which of the operations that the operator applies to.
    pub site: usize,
    /// The operation, in the text form.
    pub operation: String,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// The gate found something: what.
    Killed(String),
    /// The same bytes everywhere.
    Equivalent,
    /// It passed, and gives other bytes somewhere: why nothing was found.
    Survived(Reason),
}

/// Why a mutant that gives other bytes passed, as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The largest error among the results that differ, as a part of what the tolerance allows there.
    pub mutant: f64,
    /// The kernel's own largest error for the same inputs, in the same measure.
    pub kernel: f64,
    /// The sizes and the kind of inputs where the mutant is furthest off.
    pub case: String,
    /// Why the tolerance is what it is.
    pub tolerance: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mutant, kernel, case) = (self.mutant, self.kernel, &self.case);
        match mutant {
            _ if mutant == 0.0 => write!(f, "the same numbers in other bytes: the sign of a zero"),
            _ if mutant <= 1.0 => write!(
                f,
                "it stays within the tolerance: at most {mutant:.2} of what is allowed ({case}), the kernel itself \
                 {kernel:.2}; {}",
                self.tolerance
            ),
            _ => write!(
                f,
                "wrong by {mutant:.1} × what is allowed for some inputs ({case}), which none of the examination's were"
            ),
        }
    }
}

/// Why there are no mutants.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MutantError {
    /// The kernel itself cannot be run.
    #[error(transparent)]
    Device(#[from] Error),
    /// The kernel itself cannot be examined.
    #[error(transparent)]
    Gate(#[from] gate::Error),
}

impl Mutant {
    /// Changes the program. Returns false if the operation is not there.
    pub fn apply(&self, module: &mut Module) -> bool {
        let mut number = 0;
        let ids: Vec<_> = module.functions.iter().map(|(id, _)| id).collect();
        for id in ids {
            let function = &mut module.functions[id];
            for block in function.blocks().to_vec() {
                for (place, inst) in function.insts(block).to_vec().into_iter().enumerate() {
                    if !self.operator.may_apply(function.inst(inst)) {
                        continue;
                    }
                    let mut tried = function.clone();
                    if !self.operator.apply(&mut tried, block, place) {
                        continue;
                    }
                    if number == self.site {
                        *function = tried;
                        return true;
                    }
                    number += 1;
                }
            }
        }
        false
    }
}

/// Mutants of a kernel in an element type: as many as asked for, every operator as often as the others where there are
/// enough operations. The same seed gives the same ones.
pub fn generate(
    device: &mut CpuDevice,
    library: LibraryId,
    kernel: &Kernel,
    dtype: Dtype,
    count: usize,
    seed: u64,
) -> Result<Vec<Mutant>, MutantError> {
    let case = Case::new(kernel, first_set(kernel), dtype).map_err(gate::Error::from)?;
    let mut by_operator: BTreeMap<Operator, Vec<Mutant>> = BTreeMap::new();
    let mut functions: Vec<&str> = case
        .passes
        .iter()
        .map(|pass| pass.function.as_str())
        .collect();
    functions.sort_unstable();
    functions.dedup();
    let constants = crate::runner::constants(&case);
    for function in functions {
        device.edited_pipeline(library, function, &constants, &mut |module| {
            sites(module, function, &mut by_operator);
        })?;
    }
    let mut random = Random::new(seed);
    for mutants in by_operator.values_mut() {
        random.shuffle(mutants);
    }
    let mut chosen = Vec::new();
    let longest = by_operator.values().map(Vec::len).max().unwrap_or(0);
    for round in 0..longest {
        for mutants in by_operator.values() {
            chosen.extend(mutants.get(round).cloned());
        }
    }
    chosen.truncate(count);
    Ok(chosen)
}

/// All mutants of a program.
pub fn of_program(module: &Module, name: &str) -> Vec<Mutant> {
    let mut found = BTreeMap::new();
    sites(module, name, &mut found);
    found.into_values().flatten().collect()
}

/// All mutants of a program, by operator.
fn sites(module: &Module, name: &str, found: &mut BTreeMap<Operator, Vec<Mutant>>) {
    for operator in Operator::ALL {
        let mut site = 0;
        for (_, function) in module.functions.iter() {
            for &block in function.blocks() {
                for (place, inst) in function.insts(block).iter().enumerate() {
                    if operator.may_apply(function.inst(*inst))
                        && operator.apply(&mut function.clone(), block, place)
                    {
                        let operation = assay_ssa::print_inst(module, function, *inst);
                        found.entry(operator).or_default().push(Mutant {
                            function: name.to_owned(),
                            operator,
                            site,
                            operation: operation.trim().to_owned(),
                        });
                        site += 1;
                    }
                }
            }
        }
    }
}

fn first_set(kernel: &Kernel) -> &str {
    let quick = kernel.sizes.iter().find(|set| set.use_ == SizeUse::Quick);
    quick.map_or("quick", |set| set.name.as_str())
}

/// Examines a mutant. `None` if it is no program.
pub fn examine(
    device: &mut CpuDevice,
    library: LibraryId,
    kernel: &Kernel,
    dtype: Dtype,
    mutant: &Mutant,
    seed: u64,
) -> Result<Option<Fate>, MutantError> {
    // Most are found at once; those that are not get all trials.
    let once = Plan {
        trials: 1,
        dtypes: vec![dtype],
        ..Plan::full(seed)
    };
    let often = Plan {
        dtypes: vec![dtype],
        ..Plan::full(!seed)
    };
    let mut loaded = Loaded::of(library);
    let mut reason = None;
    for plan in [once, often] {
        let mut mutating = Mutating {
            inner: device,
            mutant,
            failed: false,
        };
        let verdict = gate::examine(&mut mutating, &mut loaded, kernel, &plan);
        if mutating.failed {
            return Ok(None);
        }
        match verdict {
            Ok(verdict) if verdict.is_right() => {}
            Ok(verdict) => return Ok(Some(Fate::Killed(verdict.to_string()))),
            // What cannot even be run is noticed.
            Err(gate::Error::Device(error)) => return Ok(Some(Fate::Killed(error.to_string()))),
            Err(other) => return Err(other.into()),
        }
        if reason.is_none() {
            reason = difference(device, &mut loaded, library, kernel, dtype, seed)?;
        }
        if reason.is_none() {
            return Ok(Some(Fate::Equivalent));
        }
    }
    Ok(reason.map(Fate::Survived))
}

/// How far a mutant's results are off where they are not the kernel's own bytes, at every size that is not for times,
/// with every kind of inputs. `None` if all bytes are the kernel's.
fn difference(
    device: &mut CpuDevice,
    mutant: &mut Loaded,
    library: LibraryId,
    kernel: &Kernel,
    dtype: Dtype,
    seed: u64,
) -> Result<Option<Reason>, MutantError> {
    let mut original = Loaded::of(library);
    let mut random = Random::of(seed, 3);
    let mut found: Option<Reason> = None;
    let sets = kernel.sizes.iter();
    for set in sets.filter(|set| set.use_ != SizeUse::Reference) {
        let case = Case::new(kernel, &set.name, dtype).map_err(gate::Error::from)?;
        let varied = adversary::vary_scalars(&case, &mut random);
        for case in std::iter::once(&case).chain(&varied) {
            let kinds = std::iter::once(Kind::Usual).chain(adversary::kinds(case));
            for kind in kinds {
                let inputs = inputs::random(case, random.bits(), kind);
                let theirs = mutant.run(device, case, &inputs, Guards::Pattern)?;
                let own = original.run(device, case, &inputs, Guards::Pattern)?;
                if theirs.outputs == own.outputs {
                    continue;
                }
                let answers =
                    oracle::answers(case, &inputs).map_err(|error| gate::Error::Oracle {
                        kernel: kernel.name.clone(),
                        error,
                    })?;
                let reason = Reason {
                    mutant: error(case, &theirs, &answers),
                    kernel: error(case, &own, &answers),
                    case: format!("{} sizes, {} inputs", set.name, kind.name()),
                    tolerance: case.tolerance.reason.clone(),
                };
                if found
                    .as_ref()
                    .is_none_or(|known| known.mutant < reason.mutant)
                {
                    found = Some(reason);
                }
            }
        }
    }
    Ok(found)
}

/// The largest error as a part of what is allowed.
fn error(case: &Case, outcome: &Outcome, answers: &[Answer]) -> f64 {
    let outputs = case.arguments.iter();
    let outputs = outputs.filter(|one| matches!(one.role, CaseRole::Output { .. }));
    let compared = outputs.zip(&outcome.outputs).zip(answers);
    let parts = compared.map(|((argument, bytes), answer)| {
        let comparison = gate::Comparison::new(bytes, argument.dtype, answer, &case.tolerance);
        comparison
            .worst
            .map_or(0.0, |worst| match (worst.got - worst.expected).abs() {
                0.0 => 0.0,
                distance => distance / worst.allowed,
            })
    });
    parts.fold(0.0, f64::max)
}
