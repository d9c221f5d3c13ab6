//! Whether the gate notices: kernels that are wrong by one operation.
//!
//! A mutant is the optimised program of a kernel with one operation changed by an [`Operator`]. All of them are examined
//! as a kernel is. One that passes is *equivalent* if it gives the same bytes as the kernel at every size with every kind
//! of input; otherwise it has *survived*, and the gate has a gap.

mod device;
mod operator;

pub use operator::Operator;

use crate::Dtype;
use crate::adversary;
use crate::gate::{self, Plan};
use crate::inputs::{self, Kind};
use crate::random::Random;
use crate::registry::{Case, Kernel, SizeUse};
use crate::runner::{Guards, Loaded};
use assay_device::{CpuDevice, Error, LibraryId};
use assay_ssa::Module;
use device::Mutating;
use std::collections::BTreeMap;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The gate found something: what.
    Killed(String),
    /// The same bytes everywhere.
    Equivalent,
    /// It passed, and gives other bytes somewhere.
    Survived,
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
    fn apply(&self, module: &mut Module) -> bool {
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
    let plan = Plan {
        trials: 1,
        dtypes: vec![dtype],
        ..Plan::full(seed)
    };
    let mut mutating = Mutating {
        inner: device,
        mutant,
        failed: false,
    };
    let mut loaded = Loaded::of(library);
    let verdict = gate::examine(&mut mutating, &mut loaded, kernel, &plan);
    let failed = mutating.failed;
    match verdict {
        _ if failed => Ok(None),
        Ok(verdict) if verdict.is_right() => {
            let same = is_equivalent(device, &mut loaded, library, kernel, dtype, seed)?;
            Ok(Some(match same {
                true => Fate::Equivalent,
                false => Fate::Survived,
            }))
        }
        Ok(verdict) => Ok(Some(Fate::Killed(verdict.to_string()))),
        // What cannot even be run is noticed.
        Err(gate::Error::Device(error)) => Ok(Some(Fate::Killed(error.to_string()))),
        Err(other) => Err(other.into()),
    }
}

/// Returns true if a mutant gives the kernel's own bytes at every size that is not for times, with every kind of inputs.
fn is_equivalent(
    device: &mut CpuDevice,
    mutant: &mut Loaded,
    library: LibraryId,
    kernel: &Kernel,
    dtype: Dtype,
    seed: u64,
) -> Result<bool, MutantError> {
    let mut original = Loaded::of(library);
    let mut random = Random::of(seed, 3);
    for set in kernel
        .sizes
        .iter()
        .filter(|set| set.use_ != SizeUse::Reference)
    {
        let case = Case::new(kernel, &set.name, dtype).map_err(gate::Error::from)?;
        let varied = adversary::vary_scalars(&case, &mut random);
        for case in std::iter::once(&case).chain(&varied) {
            let kinds = std::iter::once(Kind::Usual).chain(adversary::kinds(case));
            for kind in kinds {
                let inputs = inputs::random(case, random.bits(), kind);
                let theirs = mutant.run(device, case, &inputs, Guards::Pattern)?;
                let own = original.run(device, case, &inputs, Guards::Pattern)?;
                if theirs.outputs != own.outputs {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}
