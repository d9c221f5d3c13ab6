//! This tree beside what it is compared with.

use super::evaluate::{Evaluator, Overrides, costs_chip};
use super::execute::{Limits, Ran, Subject};
use super::git::{self, Base};
use super::tree::Tree;
use super::{Found, kernel, launches, store, targets};
use crate::failure::Failure;
use crate::input;
use assay_gate::{Against, Baseline, Config, Judge, Kernel, Report, Snapshot, judge};
use assay_predict::Target;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Wrong results whose first wrong element is named; the kernels are run again for it.
const MOST_EXPLAINED: usize = 20;

/// What is compared, before anything is compiled.
pub(super) struct Comparison<'a> {
    found: &'a Found,
    here: Tree,
    there: Option<There>,
    baseline: Option<Snapshot>,
    against: Against,
    notes: Vec<String>,
    targets: Vec<Target>,
}

/// A commit's tree, and its own configuration if it has one.
struct There {
    tree: Tree,
    config: Option<Config>,
}

impl<'a> Comparison<'a> {
    /// Compares with a commit, or with the baseline unless that is to be written anew.
    pub(super) fn new(
        found: &'a Found,
        against: Option<&str>,
        update: bool,
    ) -> Result<Comparison<'a>, Failure> {
        let repository = found.repository.as_ref();
        let mut comparison = Comparison {
            here: Tree::here(&found.root, repository)?,
            targets: targets(&found.config)?,
            found,
            there: None,
            baseline: None,
            against: Against::Nothing,
            notes: Vec::new(),
        };
        if comparison.here.sources(&found.config).next().is_none() {
            comparison
                .notes
                .push("no file matches the globs of assay.toml".to_owned());
        }
        match (against, &found.config.baseline) {
            (Some(name), _) => {
                let repository = repository.ok_or_else(git::no_repository)?;
                let base = repository.base(name)?;
                comparison.commit(name, &base)?;
            }
            (None, Some(_)) if update => {}
            (None, Some(name)) => comparison.stored(name)?,
            (None, None) => comparison.notes.push(
                "compared with nothing: --against origin/main, or baseline = \"FILE\" in assay.toml and assay gate --update"
                    .to_owned(),
            ),
        }
        Ok(comparison)
    }

    fn commit(&mut self, name: &str, base: &Base) -> Result<(), Failure> {
        let Some(repository) = &self.found.repository else {
            return Err(git::no_repository());
        };
        let prefix = self.found.prefix();
        let tree = Tree::of_commit(repository, base, &prefix, &self.found.config)?;
        let text = tree.text(super::CONFIG);
        let config = text.and_then(|text| Config::parse(&text).ok());
        if base.shallow && !base.merge_base {
            self.notes.push(format!(
                "a shallow clone: compared with {name} itself, which may be ahead of where this branch began"
            ));
        }
        self.against = Against::Commit {
            name: name.to_owned(),
            commit: base.commit.clone(),
            merge_base: base.merge_base,
        };
        self.there = Some(There { tree, config });
        Ok(())
    }

    fn stored(&mut self, name: &str) -> Result<(), Failure> {
        let path = self.here.path(name);
        self.against = Against::Baseline {
            file: name.to_owned(),
        };
        if !path.exists() {
            self.against = Against::Nothing;
            self.notes.push(format!(
                "{name} is not there yet: assay gate --update writes it"
            ));
            return Ok(());
        }
        let bytes = input::open(&path)?;
        let baseline = Baseline::parse(&bytes).map_err(|error| {
            Failure::input(format!("{name}: {error}"))
                .advice("assay gate --update writes it anew; after a merge conflict too")
        })?;
        self.baseline = Some(baseline.snapshot());
        Ok(())
    }

    /// Files that are looked at, of both trees.
    pub(super) fn files(&self) -> usize {
        let config = &self.found.config;
        let there = self.there.as_ref();
        self.here.sources(config).count()
            + there.map_or(0, |there| there.tree.sources(config).count())
    }

    fn evaluator<'e>(
        &'e self,
        overrides: &'e Overrides,
        done: &'e (dyn Fn() + Sync),
    ) -> Result<Evaluator<'e>, Failure> {
        Ok(Evaluator {
            config: &self.found.config,
            chip: costs_chip(&self.targets)?,
            targets: self.targets.clone(),
            here: &self.here,
            overrides,
            done,
        })
    }

    /// Finds everything out and judges it. Also returns what was found out about this tree.
    pub(super) fn judge(&self, done: &(dyn Fn() + Sync)) -> Result<(Report, Snapshot), Failure> {
        let config = &self.found.config;
        let own = Overrides::new();
        let files: Vec<&str> = self.here.sources(config).map(String::as_str).collect();
        let head = self.evaluator(&own, done)?.snapshot(&self.here, &files)?;
        let mut judgement = Judge {
            against: self.against.clone(),
            notes: self.notes.clone(),
            ..Judge::new(config)
        };
        let Some(there) = &self.there else {
            let report = judge(&judgement, self.baseline.as_ref(), &head);
            store::tidy();
            return Ok((report, head));
        };
        let overrides = self.overrides(there, &head);
        let files: Vec<&str> = there.tree.sources(config).map(String::as_str).collect();
        let base = self
            .evaluator(&overrides, done)?
            .snapshot(&there.tree, &files)?;
        store::tidy();
        let named = |snapshot: &Snapshot| -> BTreeSet<String> {
            let kernels = snapshot.kernels.iter();
            let lines = kernels.flat_map(|kernel| {
                let costs = kernel.costs.iter().map(|cost| cost.file.clone());
                costs.chain([kernel.file.clone()])
            });
            lines.collect()
        };
        let (old, new) = (named(&base), named(&head));
        let old = there.tree.texts(old.iter().map(String::as_str));
        let new = self.here.texts(new.iter().map(String::as_str));
        judgement.texts = Some((&old, &new));
        let explained = AtomicUsize::new(0);
        let explain = |before: &Kernel, after: &Kernel, sizes: &str, index: u32| {
            if explained.fetch_add(1, Ordering::Relaxed) >= MOST_EXPLAINED {
                return None;
            }
            let empty = Overrides::new();
            let old = self.again(&there.tree, &overrides, before, sizes)?;
            let new = self.again(&self.here, &empty, after, sizes)?;
            new.difference(&old, index)
        };
        judgement.explain = Some(&explain);
        Ok((judge(&judgement, Some(&base), &head), head))
    }

    /// Launches for kernels of the other tree: its own where they give the same inputs, so that a change of geometry is compared
    /// with the geometry it replaces; otherwise this tree's.
    fn overrides(&self, there: &There, head: &Snapshot) -> Overrides {
        let config = &self.found.config;
        let mut overrides = Overrides::new();
        let here = self
            .here
            .texts(head.kernels.iter().map(|kernel| kernel.file.as_str()));
        let texts = there
            .tree
            .texts(there.tree.sources(config).map(String::as_str));
        // A kernel whose file was renamed is found by its name.
        let present: BTreeSet<&String> = self.here.files.iter().collect();
        let gone: Vec<&String> = texts.keys().filter(|old| !present.contains(old)).collect();
        for kernel in &head.kernels {
            let (file, function) = (&kernel.file, &kernel.function);
            let Some(group) = config.group(file, function) else {
                continue;
            };
            let text = here.get(file).map(String::as_str);
            let Ok(new) = launches::of(config, group, text, function) else {
                continue;
            };
            for old in gone.iter().copied().chain([file]) {
                let Some(text) = texts.get(old) else {
                    continue;
                };
                let own = there.config.as_ref().unwrap_or(config);
                let own_group = own.group(old, function).unwrap_or(group);
                let before = launches::of(own, own_group, Some(text), function);
                let before = before.unwrap_or_default();
                // What the evaluation of that tree would take by itself, under this tree's configuration.
                let plain_group = config.group(old, function).unwrap_or(group);
                let plain = launches::of(config, plain_group, Some(text), function);
                let plain = plain.unwrap_or_default();
                let wanted = match launches::same_inputs(&before, &new) {
                    true => before,
                    false => new.clone(),
                };
                if format!("{wanted:?}") != format!("{plain:?}") {
                    overrides.insert((old.clone(), function.clone()), wanted);
                }
            }
        }
        overrides
    }

    /// Runs a kernel once more, for its bytes.
    fn again(&self, tree: &Tree, overrides: &Overrides, of: &Kernel, sizes: &str) -> Option<Ran> {
        let config = &self.found.config;
        let evaluator = self.evaluator(overrides, &|| {}).ok()?;
        let group = config.group(&of.file, &of.function)?;
        let unit = evaluator.unit(tree, &of.file, group).ok()?;
        let library = evaluator.compile(&unit, false).ok()?.ok()?;
        let key = (of.file.clone(), of.function.clone());
        let all = match overrides.get(&key) {
            Some(launches) => launches.clone(),
            None => launches::of(config, group, Some(&unit.text), &of.function).ok()?,
        };
        let constants = kernel::constants(group).ok()?;
        let subject = Subject {
            library: &library,
            function: &of.function,
            constants: &constants,
            limits: Limits::of(config),
        };
        for launch in all {
            let launch = launches::at_run_sizes(&launch, group).ok()?;
            for case in launch.cases().ok()? {
                if assay_launch::describe(&case) == sizes {
                    return subject.run(&launch, &case, tree).ok();
                }
            }
        }
        None
    }
}
