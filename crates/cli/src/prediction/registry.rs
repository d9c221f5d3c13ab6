//! Kernels of the registry at their sizes.

use super::task::{Pass, failure, threads};
use crate::failure::Failure;
use crate::generate::Generator;
use crate::phases::Phases;
use crate::source;
use assay_agx::Isa;
use assay_bench::registry::{
    Case, CaseArgument, CaseBinding, CasePass, CaseRole, Kernel, Registry, Resolved,
};
use assay_bench::{Dtype, runner};
use assay_emu::Fill;
use assay_front::Library;
use assay_predict::{Argument, Buffer, Dispatch, Memory, Sampling, execute};

/// Executes the dispatches of a kernel of the registry at the sizes asked for.
pub(crate) fn executions(
    registry: &Registry,
    kernel: &Kernel,
    sizes: &str,
    sampling: &Sampling,
) -> Result<Vec<Pass>, Failure> {
    let (case, resolved) = case(registry, kernel, sizes)?;
    of_case(&case, &source::of_registry(&resolved)?, sampling)
}

/// A kernel at the sizes asked for, in its first element type, and its source.
pub(crate) fn case(
    registry: &Registry,
    kernel: &Kernel,
    sizes: &str,
) -> Result<(Case, Resolved), Failure> {
    let dtype = kernel.dtypes.first().copied().unwrap_or(Dtype::F32);
    let case = Case::new(kernel, sizes, dtype)
        .map_err(|error| Failure::usage(format!("{}: {error}", kernel.name)))?;
    let resolved = registry
        .source(kernel, None)
        .map_err(|error| Failure::input(error.to_string()))?;
    Ok((case, resolved))
}

/// Executes the dispatches of a case with the kernels of a library.
pub(crate) fn of_case(
    case: &Case,
    library: &Library,
    sampling: &Sampling,
) -> Result<Vec<Pass>, Failure> {
    let constants = runner::constants(case);
    let mut memory = Memory::new();
    let arguments = arguments(case, &mut memory)?;
    let mut executions = Vec::new();
    for pass in &case.passes {
        let found = library
            .kernel(&pass.function)
            .map_err(|error| Failure::input(error.to_string()))?;
        let generator = Generator {
            constants: &constants,
            isa: Isa::G13,
            threadgroup: Some(pass.threadgroup),
        };
        let made = generator.generate(found, &mut Phases::default());
        let made = made.map_err(|refused| refused.failure())?;
        let dispatch = Dispatch {
            program: &made.program,
            grid: threads(pass.extent, pass.threadgroup)?,
            threadgroup: pass.threadgroup,
            arguments: bound(pass, &arguments),
            threadgroup_memory: (0..).zip(pass.threadgroup_memory.iter().copied()).collect(),
        };
        let execution = execute(&dispatch, &mut memory, sampling).map_err(failure)?;
        executions.push(Pass {
            program: made.program,
            execution,
            times: pass.repeat,
        });
    }
    Ok(executions)
}

/// A buffer or a value.
enum Made {
    Buffer(Buffer),
    Value(Vec<u8>),
}

fn arguments(case: &Case, memory: &mut Memory) -> Result<Vec<Made>, Failure> {
    let mut made = Vec::new();
    for (seed, argument) in (1..).zip(&case.arguments) {
        made.push(match &argument.role {
            CaseRole::Scalar { value } => Made::Value(argument.dtype.encode(&[*value])),
            _ => {
                let bytes = argument.elements() as u64 * argument.dtype.size() as u64;
                let buffer = memory.add_on_touch(bytes, fill(argument, seed));
                Made::Buffer(buffer.map_err(failure)?)
            }
        });
    }
    Ok(made)
}

/// Numbers of the same kind as the benchmark's own.
fn fill(argument: &CaseArgument, seed: u64) -> Fill {
    let CaseRole::Input { below, .. } = &argument.role else {
        return Fill::Zero;
    };
    match argument.dtype {
        Dtype::F32 => Fill::Normal32 { seed },
        Dtype::F16 => Fill::Float16 { seed },
        Dtype::Bf16 => Fill::BFloat16 { seed },
        Dtype::U32 | Dtype::I32 => Fill::Index {
            seed,
            bound: (*below).clamp(1, u64::from(u32::MAX)) as u32,
            bytes: 4,
        },
    }
}

fn bound(pass: &CasePass, arguments: &[Made]) -> Vec<(u32, Argument)> {
    let mut bound = Vec::new();
    for (index, binding) in (0..).zip(&pass.bindings) {
        let argument = match binding {
            CaseBinding::Number(number) => Argument::Bytes(number.to_le_bytes().to_vec()),
            CaseBinding::Argument(place) => match arguments.get(*place) {
                Some(Made::Buffer(buffer)) => Argument::Buffer(*buffer, 0),
                Some(Made::Value(bytes)) => Argument::Bytes(bytes.clone()),
                None => continue,
            },
        };
        bound.push((index, argument));
    }
    bound
}
