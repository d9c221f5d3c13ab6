//! Whether the gate notices: kernels as users write them, with the launches that `assay gate init` gives them, each wrong by one
//! operation.
//!
//! A mutant is noticed if a run of it, under the launch or one of its variations, differs from that of the kernel. One that never
//! does is the same kernel if it gives the same bytes with many other inputs too; otherwise it has survived.

use super::evaluate::{Evaluator, Overrides, costs_chip};
use super::execute::{Limits, Subject};
use super::guess;
use super::tree::Tree;
use super::trials::{Trials, Tried, limited};
use assay_bench::mutants::{Mutant, of_program};
use assay_engine::Runner;
use assay_front::Library;
use assay_gate::{Config, RunResult};
use assay_launch::Written;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What became of the mutants of a kernel.
#[derive(Default)]
struct Fates {
    noticed: usize,
    same: usize,
    survived: Vec<Mutant>,
}

/// A kernel under a launch, and what is known of its runs.
struct Examined<'a> {
    subject: Subject<'a>,
    tree: &'a Tree,
    launch: Written,
    results: Vec<RunResult>,
}

/// Other inputs that tell whether a mutant that nothing noticed is the same kernel.
const MORE: u64 = 12;

impl<'a> Examined<'a> {
    fn new(subject: Subject<'a>, checked: &Library, tree: &'a Tree) -> Option<Examined<'a>> {
        let assay_launch::guess::Guess(launch) = guess::launch(&subject, tree)?;
        let checks = assay_device::Checks::default();
        let mut trials = Trials::new(subject, Some((checked, checks)), (tree, 0)).ok()?;
        let results = results(&mut trials, &launch);
        Some(Examined {
            subject: limited(subject),
            tree,
            launch,
            results,
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let mut found = Vec::new();
        let function = self.subject.function;
        let all = self.edited(&mut |module| found = of_program(module, function));
        assert!(all.is_some(), "{function}");
        found
    }

    fn edited(&self, edit: &mut dyn FnMut(&mut assay_ssa::Module)) -> Option<Runner> {
        let Subject {
            library,
            function,
            constants,
            ..
        } = self.subject;
        Runner::edited(library, function, constants, self.subject.settings(), edit).ok()
    }

    /// The runs of a mutant; none if it is not a program.
    fn of(&self, mutant: &Mutant, launch: &Written) -> Option<Vec<RunResult>> {
        let runner = self.edited(&mut |module| {
            mutant.apply(module);
        })?;
        let mut trials = Trials::of_runner(self.subject, runner, (self.tree, 0));
        Some(results(&mut trials, launch))
    }

    /// Returns true if the runs of another program differ where the kernel's own are clean.
    fn differs(&self, others: &[RunResult]) -> bool {
        differ(&self.results, others)
    }

    /// Returns true if a mutant gives the bytes of the kernel with many other inputs.
    fn is_same(&self, mutant: &Mutant) -> bool {
        (1..=MORE).all(|round| {
            let mut launch = self.launch.clone();
            for bound in &mut launch.buffers {
                if let Some(index) = bound.index() {
                    bound
                        .value
                        .reseed(index, round * 977 + u64::from(index) * 31);
                }
            }
            let own = self.edited(&mut |_| {});
            let Some(own) = own else { return true };
            let mut trials = Trials::of_runner(self.subject, own, (self.tree, 0));
            let own = results(&mut trials, &launch);
            let theirs = self.of(mutant, &launch).unwrap_or_default();
            !differ(&own, &theirs)
        })
    }
}

/// The run under a launch and those under its variations.
fn results(trials: &mut Trials<'_>, launch: &Written) -> Vec<RunResult> {
    let mut all: Vec<RunResult> = Vec::new();
    for tried in trials.run(launch).unwrap_or_default() {
        all.push(match tried {
            Tried::Ran(name, ran) => ran.result(0, name),
            Tried::Stopped(result) => result,
        });
    }
    all
}

fn differ(own: &[RunResult], others: &[RunResult]) -> bool {
    own.iter().filter(|it| it.stopped.is_none()).any(|own| {
        let other = others.iter().find(|it| it.trial == own.trial);
        other.is_none_or(|other| other.stopped.is_some() || other.buffers != own.buffers)
    })
}

/// Examines every `step`th mutant of every kernel of the folder.
fn examine(step: usize) -> Option<BTreeMap<String, Fates>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/kernels");
    let tree = Tree::here(&folder, None).ok()?;
    let config = Config::parse("[[kernels]]\nfiles = ['**']\n").ok()?;
    let targets = super::targets(&config).ok()?;
    let nothing = Overrides::new();
    let evaluator = Evaluator {
        config: &config,
        chip: costs_chip(&targets).ok()?,
        targets,
        here: &tree,
        overrides: &nothing,
        trusted: None,
        done: &|| {},
    };
    let mut fates = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.ends_with(".metal")) {
        let unit = evaluator.unit(&tree, file, &config.kernels[0]).ok()?;
        // Without a clang there is nothing to look at.
        let library = evaluator.compile(&unit, false).ok()?.ok()?;
        let checked = evaluator.compile(&unit, true).ok()?.ok()?;
        for kernel in library.kernels() {
            let subject = Subject {
                library: &library,
                function: &kernel.name,
                constants: &[],
                limits: Limits {
                    max_steps: 1 << 20,
                    // Steps end what is endless; a busy machine may take its time.
                    time: Duration::from_secs(300),
                },
            };
            let examined = Examined::new(subject, &checked, &tree);
            let examined = examined.unwrap_or_else(|| panic!("{}: no launch", kernel.name));
            let mut own = Fates::default();
            for mutant in examined.mutants().into_iter().step_by(step) {
                let noticed = examined.of(&mutant, &examined.launch);
                // What is not a program is noticed by the compiler of the device.
                if noticed.is_none_or(|runs| examined.differs(&runs)) {
                    own.noticed += 1;
                } else if examined.is_same(&mutant) {
                    own.same += 1;
                } else {
                    own.survived.push(mutant);
                }
            }
            fates.insert(kernel.name.clone(), own);
        }
    }
    Some(fates)
}

/// Mutants that are noticed, of those that are other kernels, in per cent; and a table.
fn told(fates: &BTreeMap<String, Fates>) -> (f64, String) {
    let mut out = String::new();
    let (mut noticed, mut survived, mut same) = (0, 0, 0);
    for (name, fate) in fates {
        out += &format!(
            "{name}: {} noticed, {} the same, {} survived\n",
            fate.noticed,
            fate.same,
            fate.survived.len()
        );
        for mutant in &fate.survived {
            out += &format!(
                "  {:?} {}: {}\n",
                mutant.operator, mutant.site, mutant.operation
            );
        }
        noticed += fate.noticed;
        survived += fate.survived.len();
        same += fate.same;
    }
    let part = 100.0 * noticed as f64 / (noticed + survived).max(1) as f64;
    out += &format!(
        "{} kernels: {noticed} of {} mutants noticed ({part:.1} %), {same} are the same kernel\n",
        fates.len(),
        noticed + survived
    );
    (part, out)
}

#[test]
fn nearly_all_mutants_of_users_kernels_are_noticed() {
    let Some(fates) = examine(9) else {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    };
    let (part, told) = told(&fates);
    assert_eq!(fates.len(), 20, "{told}");
    assert!(part >= 95.0, "{told}");
}

/// `cargo test -p assay-metal --lib every_mutant -- --ignored --nocapture` prints the whole table.
#[test]
#[ignore = "all mutants take minutes; the test above has a sample"]
fn every_mutant_of_users_kernels() {
    let (part, told) = told(&examine(1).expect("a clang"));
    #[allow(clippy::print_stdout, reason = "the table is what it is run for")]
    {
        println!("{told}");
    }
    assert!(part >= 95.0);
}
