//! The two stages that a new kernel passes.

use super::specification::{Candidate, Specification};
use crate::source::ThisMachine;
use assay_bench::gate::{self, Plan};
use assay_bench::registry::{Kernel, SizeUse};
use assay_bench::runner::Loaded;
use assay_device::{CpuDevice, Settings};
use assay_front::{Library, Source, SourceOptions};
use assay_tune::attempts::{Failure, Stage};
use assay_tune::workbench::unwanted;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;
use std::time::Duration;

/// Operations a simdgroup may run in loops, and how long a run may take.
const MOST_STEPS: u64 = 40_000_000;
const LONGEST_RUN: Duration = Duration::from_secs(120);

/// What both stages found right.
pub(super) struct Proven {
    pub(super) seed: u64,
    pub(super) comparisons: usize,
}

/// Where a candidate was refused: a name for people, and the failure.
pub(super) type Refused = (&'static str, Failure);

/// Examines a candidate by both stages. What stage B finds is told in its kind only: its sizes stay hidden.
pub(super) fn examine(
    specification: &Specification,
    candidate: &Candidate,
) -> Result<Proven, Refused> {
    if let Some(found) = unwanted(&candidate.source) {
        return Err(("filter", Failure::new(Stage::Filter, found.to_string())));
    }
    let kernel = specification
        .kernel(candidate)
        .map_err(|why| ("geometry", Failure::new(Stage::Limits, why)))?;
    let library = compiled(candidate)?;
    let visible = Plan {
        sizes: vec![SizeUse::Quick, SizeUse::Odd],
        random_sizes: 0,
        ..Plan::quick(1)
    };
    let first = passes(&library, &kernel, &visible).map_err(|why| ("A", why))?;
    // Nobody could know these when the source was written.
    let seed = RandomState::new().build_hasher().finish();
    let hidden = Plan {
        trials: 2,
        sizes: vec![SizeUse::HeldOut, SizeUse::Odd],
        random_sizes: 3,
        ..Plan::full(seed)
    };
    let second = passes(&library, &kernel, &hidden).map_err(|why| {
        let kind = Failure::new(
            why.stage,
            "wrong at sizes or inputs that are not shown".to_owned(),
        );
        ("B", kind)
    })?;
    Ok(Proven {
        seed,
        comparisons: first + second,
    })
}

fn compiled(candidate: &Candidate) -> Result<Library, Refused> {
    let source = Source {
        path: Path::new("candidate.metal"),
        text: candidate.source.as_bytes(),
    };
    let options = SourceOptions {
        within: Some(Vec::new()),
        ..SourceOptions::default()
    };
    Library::compile(source, &ThisMachine, &options).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        ("compile", Failure::new(Stage::Compile, first))
    })
}

/// Runs the gate; the number of comparisons.
fn passes(library: &Library, kernel: &Kernel, plan: &Plan) -> Result<usize, Failure> {
    let limits = |why: String| Failure::new(Stage::Limits, why);
    let mut device = CpuDevice::new(Settings {
        max_steps: Some(MOST_STEPS),
        timeout: Some(LONGEST_RUN),
        ..Settings::default()
    })
    .map_err(|error| limits(error.to_string()))?;
    let library = device
        .add(library.clone())
        .map_err(|error| limits(error.to_string()))?;
    let mut loaded = Loaded::of(library);
    let verdict = gate::examine(&mut device, &mut loaded, kernel, plan);
    let verdict = verdict.map_err(|error| limits(error.to_string()))?;
    match verdict.findings.first() {
        None => Ok(verdict.tried.len()),
        Some(finding) => Err(Failure::new(Stage::Oracle, finding.to_string())),
    }
}
