//! This tree beside what it is compared with.

use super::evaluate::{Evaluator, Overrides, costs_chip};
use super::explain::KnownLibraries;
use super::git::Repository;
use super::git::{self, Base};
use super::plan::{Plan, Side};
use super::tree::{self, Tree};
use super::{Found, store, targets};
use crate::failure::Failure;
use assay_gate::{
    Against, Baseline, Config, ConfigurationChange, Contents, Judge, Kernel, Place, Report,
    RunResult, Sides, Snapshot, Texts, judge, pairs, weakened,
};
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
    /// The hash of the commit's tree.
    object: String,
    config: Option<Config>,
    /// The text of that configuration.
    text: String,
    /// What of it is gone or was put aside.
    replaced: Vec<ConfigurationChange>,
}

impl There {
    /// What the tree's kernels are looked at by.
    fn config<'a>(&'a self, other: &'a Config) -> &'a Config {
        self.config.as_ref().unwrap_or(other)
    }
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
        let entries = repository.entries(&base.tree)?;
        let path = below(&prefix, &self.found.name);
        let text = repository.text_of(&entries, &path);
        let mut config = match text.as_deref().map(Config::parse).transpose() {
            Ok(config) => config,
            Err(error) => {
                self.notes.push(format!(
                    "the configuration of {name} cannot be read ({error}): kernels are compared under this one"
                ));
                None
            }
        };
        if let Some(config) = &mut config {
            config.only = self.found.config.only.clone();
        }
        let both: Vec<&Config> = [Some(&self.found.config), config.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let tree = Tree::of_commit(repository, base, &prefix, &both)?;
        let mut replaced = match &text {
            Some(_) => Vec::new(),
            None => self.replaced(repository, &entries, &path),
        };
        let moved = repository.moved_modules(&base.tree);
        replaced.extend(self.included_modules(&prefix, &moved, config.as_ref()));
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
        self.there = Some(There {
            tree,
            object: base.tree.clone(),
            config,
            text: text.unwrap_or_default(),
            replaced,
        });
        Ok(())
    }

    fn stored(&mut self, name: &str) -> Result<(), Failure> {
        let path = self.here.path(name);
        self.against = Against::Baseline {
            file: name.to_owned(),
        };
        if !self.found.allowed().holds(&path) {
            return Err(super::outside(name));
        }
        if !path.exists() {
            self.against = Against::Nothing;
            self.notes.push(format!(
                "{name} is not there yet: assay gate --update writes it"
            ));
            return Ok(());
        }
        let bytes = self.here.open(name)?;
        let baseline = Baseline::parse(&bytes).map_err(|error| {
            Failure::input(format!("{name}: {error}"))
                .advice("assay gate --update writes it anew; after a merge conflict too")
        })?;
        self.baseline = Some(baseline.snapshot());
        Ok(())
    }

    /// Configurations of the base that another one takes the place of: one above it, or one that is gone.
    fn replaced(
        &self,
        repository: &Repository,
        entries: &[git::Entry],
        path: &str,
    ) -> Vec<ConfigurationChange> {
        let folder = |path: &str| path.rsplit_once('/').map_or("", |(it, _)| it).to_owned();
        let own = folder(path);
        let named = entries.iter().map(|entry| entry.path.as_str());
        let mut known = named.filter(|it| it.rsplit('/').next() == Some(super::CONFIG));
        let governed = |other: &str| {
            let above = folder(other);
            above.is_empty() || own == above || own.starts_with(&format!("{above}/"))
        };
        let found = known.find(|other| governed(other) || !repository.root.join(other).is_file());
        let change = found.map(|other| ConfigurationChange {
            part: assay_gate::Part::Kernels.name(),
            what: format!("this configuration is new, and stands in the place of {other}"),
            weakens: true,
            allowed: false,
            place: Place {
                file: self.found.name.clone(),
                line: 1,
                column: 0,
            },
        });
        change.into_iter().collect()
    }

    /// Submodules with folders of headers, at another commit: the kernels of both sides are compiled with this one.
    fn included_modules(
        &self,
        prefix: &str,
        moved: &[String],
        base: Option<&Config>,
    ) -> Vec<ConfigurationChange> {
        let part = assay_gate::Part::Options.name();
        let groups = self.found.config.kernels.iter();
        let folders: Vec<String> = groups
            .flat_map(|group| &group.include)
            .map(|folder| below(prefix, folder.trim_start_matches("./")))
            .collect();
        let lies_in = |folder: &String, module: &String| {
            let rest = folder.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let included = moved
            .iter()
            .filter(|module| folders.iter().any(|it| lies_in(it, module)));
        let changes = included.map(|module| ConfigurationChange {
            part,
            what: format!(
                "submodule {module} is at another commit: headers of both sides are this one's, and are not compared"
            ),
            weakens: true,
            allowed: base.is_some_and(|base| base.may_change.iter().any(|one| one == part)),
            place: Place {
                file: self.found.name.clone(),
                line: 1,
                column: 0,
            },
        });
        changes.collect()
    }

    /// The commit's tree, and the text and meaning of its configuration, if kernels are compared with a commit.
    pub(super) fn base(&self) -> Option<(&str, &str, Option<&Config>)> {
        let it = self.there.as_ref()?;
        Some((&it.object, &it.text, it.config.as_ref()))
    }

    /// Files that are looked at, of both trees.
    pub(super) fn files(&self) -> usize {
        let (config, there) = (&self.found.config, self.there.as_ref());
        let before = there.map_or(0, |it| it.tree.sources(it.config(config)).count());
        self.here.sources(config).count() + before
    }

    /// What finds out about kernels under a configuration.
    pub(super) fn evaluator<'e>(
        &'e self,
        config: &'e Config,
        overrides: &'e Overrides,
        done: &'e (dyn Fn() + Sync),
    ) -> Result<Evaluator<'e>, Failure> {
        Ok(Evaluator {
            config,
            chip: costs_chip(&self.targets)?,
            targets: self.targets.clone(),
            here: &self.here,
            overrides,
            trusted: self.there.as_ref().map(|there| &there.tree),
            done,
        })
    }

    /// Finds everything out and judges it. Also returns what was found out about this tree.
    pub(super) fn judge(&self, done: &(dyn Fn() + Sync)) -> Result<(Report, Snapshot), Failure> {
        let config = &self.found.config;
        let nothing = Overrides::new();
        let files: Vec<&str> = self.here.sources(config).map(String::as_str).collect();
        let evaluator = self.evaluator(config, &nothing, done)?;
        let mut head = evaluator.snapshot(&self.here, &files)?;
        let mut judgement = Judge {
            against: self.against.clone(),
            notes: self.notes.clone(),
            ..Judge::new(config)
        };
        judgement.notes.extend(self.uncovered());
        let Some(there) = &self.there else {
            store::tidy();
            return Ok((judge(&judgement, self.baseline.as_ref(), &head), head));
        };
        let own = there.config(config);
        let old_files: Vec<&str> = there.tree.sources(own).map(String::as_str).collect();
        let old_evaluator = self.evaluator(own, &nothing, done)?;
        let mut base = old_evaluator.snapshot(&there.tree, &old_files)?;
        let plan = {
            let texts = self.texts_of_kernels(there, &base, &head);
            let mut plan = Plan::default();
            for (before, after) in pairs(&base, &head, (&texts.0, &texts.1)) {
                let old = Side {
                    evaluator: &old_evaluator,
                    tree: &there.tree,
                    kernel: before,
                };
                let new = Side {
                    evaluator: &evaluator,
                    tree: &self.here,
                    kernel: after,
                };
                plan.add(old, new);
            }
            plan
        };
        // What has not changed is known by now.
        let silent = || {};
        if !plan.head.is_empty() {
            let evaluator = self.evaluator(config, &plan.head, &silent)?;
            head = evaluator.snapshot(&self.here, &files)?;
            let evaluator = self.evaluator(own, &plan.base, &silent)?;
            base = evaluator.snapshot(&there.tree, &old_files)?;
        }
        store::tidy();
        judgement.configuration = self.configuration(there, &plan, (&base, &head));
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
        let base = match self.accepted_baseline(there)? {
            Some(stored) => stored,
            None => base,
        };
        judgement.texts = Some((&old, &new));
        let explained = AtomicUsize::new(0);
        let known = KnownLibraries::default();
        let explain = |[before, after]: [(&Kernel, &RunResult, &Contents); 2], decides: bool| {
            let count = explained.fetch_add(1, Ordering::Relaxed);
            if count >= MOST_EXPLAINED && !decides {
                return None;
            }
            let old = self.again((&there.tree, own, &plan.base), before, &known)?;
            let new = self.again((&self.here, config, &plan.head), after, &known)?;
            new.difference(after.2.index, &old, before.2.index)
        };
        judgement.explain = Some(&explain);
        Ok((judge(&judgement, Some(&base), &head), head))
    }

    /// The sources of kernels, and of this tree those of all kernels that the other has.
    fn texts_of_kernels(&self, there: &There, base: &Snapshot, head: &Snapshot) -> (Texts, Texts) {
        let files = |snapshot: &Snapshot| -> BTreeSet<String> {
            snapshot.kernels.iter().map(|it| it.file.clone()).collect()
        };
        let (old, new) = (files(base), files(head));
        let both: BTreeSet<&str> = old.iter().chain(&new).map(String::as_str).collect();
        (
            there.tree.texts(old.iter().map(String::as_str)),
            self.here.texts(both.into_iter()),
        )
    }

    /// Adds sources that no group looks at where kernels are gone: they may be there now.
    fn add_uncovered(
        &self,
        there: &There,
        (base, head): (&Snapshot, &Snapshot),
        (old, new): &mut (Texts, Texts),
    ) {
        let known: BTreeSet<&str> = head.kernels.iter().map(|it| it.function.as_str()).collect();
        if base
            .kernels
            .iter()
            .all(|it| known.contains(it.function.as_str()))
        {
            return;
        }
        let config = &self.found.config;
        let left =
            self.here.files.iter().filter(|file| {
                tree::is_source(file) && config.groups_of_file(file).next().is_none()
            });
        let left: Vec<&str> = left.map(String::as_str).collect();
        old.extend(there.tree.texts(left.iter().copied()));
        new.extend(self.here.texts(left.into_iter()));
    }

    /// How the configuration differs from the base's.
    fn configuration(
        &self,
        there: &There,
        plan: &Plan,
        kernels: (&Snapshot, &Snapshot),
    ) -> Vec<ConfigurationChange> {
        let mut all = there.replaced.clone();
        let Some(base) = &there.config else {
            return all;
        };
        let mut texts = self.texts_of_kernels(there, kernels.0, kernels.1);
        self.add_uncovered(there, kernels, &mut texts);
        let mut changes = weakened(&Sides {
            base,
            head: &self.found.config,
            kernels,
            texts: (&texts.0, &texts.1),
            files: &self.here.files,
            file: (&self.found.name, &there.text, &self.found.text),
            launches: &|_, head| plan.of(head),
        });
        changes.extend(self.programs(there, base));
        if changes.iter().any(|change| change.weakens) {
            let programs = assay_gate::Part::Programs.name();
            changes.retain(|change| change.weakens || change.part == programs);
        }
        all.extend(changes);
        all
    }

    /// Programs of oracles that are others than the base's, which run in their place.
    fn programs(&self, there: &There, base: &Config) -> Vec<ConfigurationChange> {
        let part = assay_gate::Part::Oracle.name();
        let mut files: Vec<&str> = self
            .found
            .config
            .oracle
            .values()
            .filter(|oracle| super::oracle::is_program(oracle))
            .map(|oracle| oracle.parts().0)
            .collect();
        files.sort_unstable();
        files.dedup();
        let changed = files.into_iter().filter_map(|file| {
            let (old, new) = (there.tree.text(file), self.here.text(file));
            let line = match (&old, &new) {
                (Some(old), Some(new)) if old == new => return None,
                (Some(old), Some(new)) => assay_gate::changed_line(old, new, &[]),
                _ => 1,
            };
            Some(ConfigurationChange {
                part,
                what: match old {
                    Some(_) => format!("{file} is another program; the base's was run"),
                    None => format!("{file} is a new program, which was not run"),
                },
                // A new program judges nothing yet.
                weakens: old.is_some(),
                allowed: base.may_change.iter().any(|one| one == part),
                place: Place {
                    file: file.to_owned(),
                    line,
                    column: 0,
                },
            })
        });
        changed.collect()
    }

    /// Figures that the repository keeps, where the base says that a pull request may change them: what is written there is
    /// accepted.
    fn accepted_baseline(&self, there: &There) -> Result<Option<Snapshot>, Failure> {
        let named = there.config.as_ref().and_then(|base| {
            let part = assay_gate::Part::Baseline.name();
            let may = base.may_change.iter().any(|one| one == part);
            base.baseline.as_ref().filter(|_| may)
        });
        let Some(name) = named.filter(|name| self.here.bytes(name).is_some()) else {
            return Ok(None);
        };
        let bytes = self.here.open(name)?;
        let baseline = Baseline::parse(&bytes);
        let baseline = baseline.map_err(|error| Failure::input(format!("{name}: {error}")))?;
        Ok(Some(baseline.snapshot()))
    }

    /// Sources that no group looks at.
    fn uncovered(&self) -> Option<String> {
        let config = &self.found.config;
        if config.only != assay_gate::Only::default() {
            return None;
        }
        let sources = self
            .here
            .files
            .iter()
            .filter(|file| file.ends_with(".metal"));
        let left = sources.filter(|file| config.groups_of_file(file).next().is_none());
        let left: Vec<&str> = left.map(String::as_str).collect();
        let shown = left.get(..left.len().min(MOST_NAMED))?.join(", ");
        let more = if left.len() > MOST_NAMED { ", …" } else { "" };
        let count = left.len();
        (count > 0).then(|| {
            format!(
                "{count} .metal files are in no group of {}: {shown}{more}",
                self.found.name
            )
        })
    }
}

/// A path below a folder, which may be the top.
fn below(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}/{name}"),
    }
}

/// Files that are named in a note.
const MOST_NAMED: usize = 12;
