//! Every kind of cheating of `docs/cheats.md` through the door that models use: all are refused.

use super::registry::RegistryLaunch;
use crate::prediction::Choice;
use crate::source::ThisMachine;
use crate::toolchain;
use assay_bench::registry::Registry;
use assay_front::SourceOptions;
use assay_tune::attempts::{Failure, Genome, Stage};
use assay_tune::knobs::Knobs;
use assay_tune::session::{Level, Workbench as _, Written};
use assay_tune::workbench::{Bench, Origin, Subject};
use kinds::{Cheat, KINDS};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

#[path = "../../../../bench/tests/cheats/kinds.rs"]
mod kinds;

/// Both tests run kernels on the threads that all dispatches share: an honest one would wait for dozens that cheat, and its time is limited.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const RELU: &str = "device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]], \
    constant uint &grid_size [[buffer(3)]], uint i [[thread_position_in_grid]]";

/// Proves a source in place of a kernel's own, level after level, as sessions do.
fn proven(name: &str, source: &str) -> Result<(), Failure> {
    let registry = Registry::embedded().unwrap();
    let kernel = registry.kernel(name).unwrap();
    // A kernel of several dispatches is not tuned at all.
    let launch = RegistryLaunch::new(kernel);
    let launch = launch.map_err(|failure| Failure::new(Stage::Limits, failure.message))?;
    let own = registry.source(kernel, None).unwrap();
    let origin = Origin::Source(own.text, SourceOptions::default());
    let target = Choice::one("m2").unwrap();
    let subject = Subject::new(
        &ThisMachine,
        origin,
        &launch.function,
        Vec::new(),
        Knobs::default(),
    );
    let bench = Bench::new(subject, &launch, [&target], name);
    let written = Written {
        source: source.to_owned(),
        ..Written::default()
    };
    let genome = Genome {
        knobs: Vec::new(),
        steps: vec![bench.offer(&written).unwrap()],
    };
    bench.prepare(&genome)?;
    for level in [Level::Quick, Level::Full, Level::HeldOut] {
        bench.verify(&genome, level)?;
    }
    Ok(())
}

/// A relu that cheats where there are so many elements, and nowhere else.
fn relu(body: &str, elements: u64) -> String {
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void relu_f32({RELU}) {{ for (uint e = i; e < n; e += grid_size) {{ \
         if (n == {elements}u) {{ {body} }} else {{ y[e] = max(x[e], 0.0f); }} }} }}"
    )
}

fn changed(name: &str, old: &str, new: &str) -> String {
    let registry = Registry::embedded().unwrap();
    let text = registry
        .source(registry.kernel(name).unwrap(), None)
        .unwrap()
        .text;
    assert!(text.contains(old), "{name} has no {old}");
    text.replacen(old, new, 1)
}

/// Sources of one kind, with the sizes they cheat at; those that take minutes only if asked for.
fn sources(cheat: &Cheat, thorough: bool) -> Vec<(String, String)> {
    match cheat {
        // At the sizes that times are claimed for, and at those that are held out.
        Cheat::Relu(body) => [16 * 16384, 13 * 1237]
            .iter()
            .map(|&elements| ("relu".to_owned(), relu(body, elements)))
            .collect(),
        Cheat::Change { kernel, old, new } => {
            vec![((*kernel).to_owned(), changed(kernel, old, new))]
        }
        Cheat::Large { kernel, old, new } if thorough => {
            vec![((*kernel).to_owned(), changed(kernel, old, new))]
        }
        Cheat::Large { .. } => Vec::new(),
    }
}

#[test]
fn no_kind_of_cheating_passes_as_a_proposal() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let thorough = std::env::var_os("THOROUGH").is_some();
    let all: Vec<(&str, String, String)> = KINDS
        .iter()
        .flat_map(|(name, cheat)| {
            let sources = sources(cheat, thorough).into_iter();
            sources.map(move |(kernel, source)| (*name, kernel, source))
        })
        .collect();
    let judged: Vec<String> = all
        .par_iter()
        .filter_map(|(name, kernel, source)| match proven(kernel, source) {
            Ok(()) => Some(format!("{name} ({kernel}) passed")),
            // Refused for what it computes, and not for how it is written.
            Err(failure) if matches!(failure.stage, Stage::Filter | Stage::Compile) => {
                Some(format!(
                    "{name} ({kernel}): {}: {}",
                    failure.stage.name(),
                    failure.why
                ))
            }
            Err(_) => None,
        })
        .collect();
    assert!(judged.is_empty(), "{}", judged.join("\n"));
    assert!(all.len() >= 60, "{}", all.len());
}

#[test]
fn an_honest_source_passes_the_same_door() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    proven("relu", &relu("y[e] = max(x[e], 0.0f);", 5)).unwrap();
    let text = changed("softmax", "kernel", "kernel");
    proven("softmax", &text).unwrap();
}
