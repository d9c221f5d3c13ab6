//! The static profile of a kernel's dispatches, beside its times.

use crate::Failure;
use crate::World;
use crate::prediction::library;
use assay_agx::Isa;
use assay_bench::registry::{Case, CasePass, Resolved};
use assay_bench::runner;
use assay_chip::Chip;
use assay_device::Constant;
use assay_engine::code::Generator;
use assay_front::Library;
use assay_profile::{Options, Profile};
use serde::{Deserialize, Serialize};

/// What one dispatch needs and what bounds it; modelled, of code generated here.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pass {
    pub function: String,
    /// The chip whose occupancy and costs these are.
    pub chip: String,
    /// Why there is no profile; the rest is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<PassFigures>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassFigures {
    pub instructions: u32,
    /// Registers of 16 bits per thread.
    pub half_registers: u32,
    /// Threads a core holds at once.
    pub threads_per_core: u32,
    /// Bytes per thread that did not fit into registers.
    pub scratch_bytes: u32,
    /// Threadgroup memory in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadgroup_bytes: Option<u32>,
    /// What bounds the hottest loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Rules that found something; `assay explain RULE` says more.
    pub findings: Vec<String>,
}

/// Profiles every dispatch of a case.
pub(crate) fn passes(
    case: &Case,
    resolved: &Resolved,
    chip: &Chip,
    world: &World<'_>,
) -> Result<Vec<Pass>, Failure> {
    let library = library(&world.workspace, resolved)?;
    let constants = runner::constants(case);
    let passes = case.passes.iter().map(|pass| {
        let figures = figures(pass, &library, &constants, chip, world);
        Pass {
            function: pass.function.clone(),
            chip: chip.name.to_owned(),
            refused: figures
                .as_ref()
                .err()
                .map(|failure| here(&failure.message, world)),
            figures: figures.ok(),
        }
    });
    Ok(passes.collect())
}

fn figures(
    pass: &CasePass,
    library: &Library,
    constants: &[Constant],
    chip: &Chip,
    world: &World<'_>,
) -> Result<PassFigures, Failure> {
    let kernel = library
        .kernel(&pass.function)
        .map_err(|error| Failure::input(error.to_string()))?;
    let generator = Generator {
        constants,
        isa: Isa::G13,
        threadgroup: Some(pass.threadgroup),
    };
    let made = generator.generate(kernel, &mut world.phases());
    let made = made.map_err(|refused| refused.error())?;
    let memory: u32 = pass.threadgroup_memory.iter().sum();
    let options = Options {
        threadgroup: Some(pass.threadgroup),
        threadgroup_bytes: (memory > 0).then_some(memory),
        ..Options::new(chip.clone())
    };
    let profile = Profile::new(&made.program, &options);
    let profile = profile.map_err(|error| Failure::input(error.to_string()))?;
    let (bounds, _) = profile.verdict();
    let mut findings: Vec<String> = profile
        .findings
        .iter()
        .map(|finding| finding.rule.to_owned())
        .collect();
    findings.dedup();
    Ok(PassFigures {
        instructions: profile.main.instructions,
        half_registers: profile.occupancy.half_registers,
        threads_per_core: profile.occupancy.threads,
        scratch_bytes: profile.scratch_bytes.unwrap_or(0),
        threadgroup_bytes: profile.threadgroup_bytes,
        verdict: bounds.verdict.map(|kind| kind.name().to_owned()),
        findings,
    })
}

/// A message with files named as the registry names them: the compiler writes whole paths.
fn here(message: &str, world: &World<'_>) -> String {
    match &world.workspace.folder {
        Some(folder) => message.replace(&format!("{}/", folder.display()), ""),
        None => message.to_owned(),
    }
}
