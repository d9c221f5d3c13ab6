//! The static profile of a kernel's dispatches, beside its times.

use crate::failure::Failure;
use crate::generate::Generator;
use crate::phases;
use crate::source;
use assay_agx::Isa;
use assay_bench::registry::{Case, CasePass, Resolved};
use assay_bench::runner;
use assay_chip::Chip;
use assay_device::Constant;
use assay_front::Library;
use assay_profile::{Options, Profile};
use serde::{Deserialize, Serialize};

/// What one dispatch needs and what bounds it; modelled, of code generated here.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pass {
    pub(super) function: String,
    /// The chip whose occupancy and costs these are.
    pub(super) chip: String,
    /// Why there is no profile; the rest is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) figures: Option<PassFigures>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PassFigures {
    pub(super) instructions: u32,
    /// Registers of 16 bits per thread.
    pub(super) half_registers: u32,
    /// Threads a core holds at once.
    pub(super) threads_per_core: u32,
    /// Bytes per thread that did not fit into registers.
    pub(super) scratch_bytes: u32,
    /// Threadgroup memory in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) threadgroup_bytes: Option<u32>,
    /// What bounds the hottest loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<String>,
    /// Rules that found something; `assay explain RULE` says more.
    pub(super) findings: Vec<String>,
}

/// Profiles every dispatch of a case.
pub(super) fn passes(case: &Case, resolved: &Resolved, chip: &Chip) -> Result<Vec<Pass>, Failure> {
    let library = source::of_registry(resolved)?;
    let constants = runner::constants(case);
    let passes = case.passes.iter().map(|pass| {
        let figures = figures(pass, &library, &constants, chip);
        Pass {
            function: pass.function.clone(),
            chip: chip.name.to_owned(),
            refused: figures.as_ref().err().map(|failure| here(&failure.message)),
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
) -> Result<PassFigures, Failure> {
    let kernel = library
        .kernel(&pass.function)
        .map_err(|error| Failure::input(error.to_string()))?;
    let generator = Generator {
        constants,
        isa: Isa::G13,
        threadgroup: Some(pass.threadgroup),
    };
    let made = generator.generate(kernel, &mut phases::told());
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
fn here(message: &str) -> String {
    match std::env::current_dir() {
        Ok(folder) => message.replace(&format!("{}/", folder.display()), ""),
        Err(_) => message.to_owned(),
    }
}
