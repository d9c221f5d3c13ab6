//! What language models are told about a kernel before anything is tried.

use crate::failure::Failure;
use assay_chip::{Chip, Parameter};
use assay_llm::prompt::Brief;
use assay_predict::Target;
use assay_profile::{Options, Profile};
use assay_tune::workbench::{Bench, Launch};

/// Findings that are told.
const MOST_FINDINGS: usize = 12;

/// The brief of a kernel.
pub(super) fn brief<L: Launch>(
    bench: &Bench<'_, L>,
    target: &Target,
    kernel: &str,
    launch: Vec<String>,
    tolerance: String,
) -> Result<Brief, Failure> {
    let knobs = &bench.subject().knobs;
    let values = knobs.knobs.iter().map(|knob| {
        let values: Vec<&str> = knob
            .values
            .iter()
            .map(|value| value.text.as_str())
            .collect();
        format!("{} = {}", knob.name, values.join(", "))
    });
    let sizes = bench.timed_in_words();
    let mut launch = launch;
    if !sizes.is_empty() {
        launch.push(format!("times are predicted at {sizes}"));
    }
    Ok(Brief {
        kernel: kernel.to_owned(),
        chip: chip_facts(&target.chip),
        launch,
        tolerance,
        findings: findings(bench, &target.chip),
        knobs: values.collect(),
    })
}

pub(crate) fn chip_facts(chip: &Chip) -> Vec<String> {
    let mut facts = vec![format!("The chip is the {}.", chip.title)];
    for parameter in Parameter::ALL {
        if let Some(figure) = chip.figure(*parameter) {
            let unit = parameter.unit();
            let fact = format!("{}: {} {unit}", parameter.meaning(), figure.value);
            facts.push(fact.trim_end().to_owned());
        }
    }
    facts
}

/// What the static profile finds, as sentences with lines. A kernel that cannot be profiled has none.
fn findings<L: Launch>(bench: &Bench<'_, L>, chip: &Chip) -> Vec<String> {
    let Ok(code) = bench.original_code() else {
        return Vec::new();
    };
    let Ok(profile) = Profile::new(&code, &Options::new(chip.clone())) else {
        return Vec::new();
    };
    let found = profile.findings.iter().take(MOST_FINDINGS);
    found
        .map(|finding| {
            let line = finding
                .source
                .as_ref()
                .map(|source| format!("line {}: ", source.line));
            let recipes = match finding.recipes {
                [] => String::new(),
                recipes => format!(" (recipes: {})", recipes.join(", ")),
            };
            format!("{}{}{recipes}", line.unwrap_or_default(), finding.message)
        })
        .collect()
}
