//! What a kernel with another result leaves, run once more: the first wrong element, before and now.

use super::compare::Comparison;
use super::evaluate::{Evaluator, Overrides, Unit};
use super::execute::{Limits, Ran, Subject};
use super::kernel;
use super::tree::Tree;
use super::trials::Trials;
use assay_front::Library;
use assay_gate::{Config, Contents, Kernel, RunResult};
use std::collections::HashMap;
use std::sync::Mutex;

/// What was compiled to explain differences: the runs of a kernel share it. A source's text is preprocessed even where the rest is cached.
#[derive(Default)]
pub(super) struct KnownLibraries(Mutex<HashMap<String, Option<Library>>>);

impl KnownLibraries {
    fn library(&self, evaluator: &Evaluator<'_>, unit: &Unit<'_>) -> Option<Library> {
        let key = unit.identity();
        let mut known = self.0.lock().ok()?;
        let compiled = || evaluator.compile(unit, false).ok()?.ok();
        known.entry(key).or_insert_with(compiled).clone()
    }
}

impl Comparison<'_> {
    /// Runs a kernel once more, for its bytes.
    pub(super) fn again(
        &self,
        (tree, config, overrides): (&Tree, &Config, &Overrides),
        (of, run, _): (&Kernel, &RunResult, &Contents),
        known: &KnownLibraries,
    ) -> Option<Ran> {
        let evaluator = self.evaluator(config, overrides, &|| {}).ok()?;
        let group = config.group(&of.file, &of.function)?;
        let unit = evaluator.unit(tree, &of.file, group).ok()?;
        let library = known.library(&evaluator, &unit)?;
        let all = evaluator.launches(&unit, &of.function).ok()?;
        let (number, launch) = all.into_iter().find(|(number, _)| *number == run.launch)?;
        let constants = kernel::constants(group).ok()?;
        let subject = Subject {
            library: &library,
            function: &of.function,
            constants: &constants,
            limits: Limits::of(config),
        };
        if !run.trial.is_empty() {
            let mut trials = Trials::new(subject, None, (tree, number)).ok()?;
            return trials.named(&launch.run, &run.trial);
        }
        let cases = launch.run.cases().ok()?;
        let case = cases
            .iter()
            .find(|case| assay_launch::describe(case) == run.sizes)?;
        subject.run(&launch.run, case, tree).ok()
    }
}
