//! Finds out everything about the kernels of a tree: compiles, generates code, profiles, predicts, runs, checks. Files and
//! kernels are looked at in parallel; what is known already is taken from the [`store`].

use super::execute::relative_text;
use super::launches::Planned;
use super::store::{self, Entry};
use super::tree::Tree;
use super::{closure, launches, oracle};
use crate::failure::{Failure, Kind};
use crate::source::{self, ThisMachine};
use crate::{interrupt, toolchain};
use assay_chip::{Chip, CostModel};
use assay_front::{Blame, CompilerError, Error, Library, SourceOptions};
use assay_gate::{Check, Config, Failed, FileFailure, Group, Kernel, Oracle, Place, Snapshot};
use assay_launch::misplaced;
use assay_msl::Diagnostic;
use assay_predict::Target;
use assay_tune::fingerprint::Fingerprint;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Launches that replace a tree's own, by file and kernel. Their places are their numbers: one that is missing does not fit
/// the kernel.
pub(super) type Overrides = BTreeMap<(String, String), Vec<Option<Planned>>>;

/// What decides an evaluation besides the tree.
pub(super) struct Evaluator<'a> {
    pub(super) config: &'a Config,
    pub(super) targets: Vec<Target>,
    /// The chip of occupancy and costs.
    pub(super) chip: Chip,
    /// Folders of this tree, for includes that a commit's files do not have (submodules, ignored folders).
    pub(super) here: &'a Tree,
    pub(super) overrides: &'a Overrides,
    /// The tree whose programs may run; none where all are this user's own.
    pub(super) trusted: Option<&'a Tree>,
    /// Takes one for every file that is done.
    pub(super) done: &'a (dyn Fn() + Sync),
}

/// The first chip whose code has known costs, or the default.
pub(super) fn costs_chip(targets: &[Target]) -> Result<Chip, Failure> {
    let chips = targets.iter().map(|target| &target.chip);
    let mut known = chips.filter(|chip| chip.costs(CostModel::Measured).is_ok());
    match known.next() {
        Some(chip) => Ok(chip.clone()),
        None => {
            Chip::named(assay_chip::DEFAULT_CHIP).map_err(|error| Failure::usage(error.to_string()))
        }
    }
}

/// A source and how it is compiled.
pub(super) struct Unit<'a> {
    pub(super) tree: &'a Tree,
    pub(super) file: &'a str,
    pub(super) path: PathBuf,
    pub(super) group: &'a Group,
    options: SourceOptions,
    pub(super) text: String,
}

impl Unit<'_> {
    /// What two units that compile alike share.
    pub(super) fn identity(&self) -> String {
        format!("{:?}", (&self.path, &self.options))
    }
}

impl Evaluator<'_> {
    /// The tree that programs are taken from.
    pub(super) fn programs(&self) -> &Tree {
        self.trusted.unwrap_or(self.here)
    }

    /// Returns true if an oracle is no program, or one that may run.
    pub(super) fn may_run(&self, oracle: &Oracle) -> bool {
        let (text, ..) = oracle.parts();
        let known = || self.trusted.is_none_or(|tree| tree.text(text).is_some());
        !oracle::is_program(oracle) || known()
    }

    /// Everything about the kernels of some files.
    pub(super) fn snapshot(&self, tree: &Tree, files: &[&str]) -> Result<Snapshot, Failure> {
        let compiler = match files.is_empty() {
            true => String::new(),
            false => toolchain::find()?.identity,
        };
        let entries: Result<Vec<Entry>, Failure> = files
            .par_iter()
            .map(|file| {
                let entry = self.file(tree, file, &compiler);
                (self.done)();
                entry
            })
            .collect();
        let mut snapshot = Snapshot::default();
        for entry in entries? {
            snapshot.failures.extend(entry.failure);
            snapshot.kernels.extend(entry.kernels);
        }
        Ok(snapshot)
    }

    /// A file, in each of its groups: the first group that wants a kernel has it.
    fn file(&self, tree: &Tree, file: &str, compiler: &str) -> Result<Entry, Failure> {
        let mut whole = Entry::default();
        for group in self.config.groups_of_file(file) {
            if interrupt::requested() {
                return Err(Failure::new(Kind::Interrupted, "stopped"));
            }
            let unit = self.unit(tree, file, group)?;
            let key = self.key(&unit, compiler);
            let known = key.as_deref().and_then(store::get);
            let entry = match known {
                Some(entry) => entry,
                None => {
                    let entry = self.evaluate(&unit)?;
                    // What fails may pass tomorrow: another header of the system, a machine with more time.
                    let runs = |kernel: &Kernel| kernel.failures.is_empty();
                    let sound = entry.failure.is_none() && entry.kernels.iter().all(runs);
                    if let Some(key) = key.filter(|_| sound) {
                        store::put(&key, &entry);
                    }
                    entry
                }
            };
            whole.failure = whole.failure.or(entry.failure);
            whole.kernels.extend(entry.kernels);
        }
        Ok(whole)
    }

    /// A source as a group compiles it.
    pub(super) fn unit<'u>(
        &self,
        tree: &'u Tree,
        file: &'u str,
        group: &'u Group,
    ) -> Result<Unit<'u>, Failure> {
        let path = tree.path(file);
        let inside = |name: &String| {
            let outside = || {
                Failure::input(format!("assay.toml: {name} is outside the repository"))
                    .advice("include and before name what lies in the repository")
            };
            let own = tree.inside(name).ok_or_else(outside)?;
            // A commit's files are sources alone: what a submodule has is looked for in the work tree.
            let other = self.here.inside(name).filter(|other| other.exists());
            Ok(match own.exists() {
                true => own,
                false => other.unwrap_or(own),
            })
        };
        let include: Result<Vec<PathBuf>, Failure> = group.include.iter().map(inside).collect();
        let before: Result<Vec<PathBuf>, Failure> = group.before.iter().map(inside).collect();
        let standard = group.std.as_deref().map(str::parse).transpose();
        let standard = standard
            .map_err(|error| Failure::input(format!("std: {error}")))?
            .unwrap_or_default();
        Ok(Unit {
            tree,
            file,
            text: tree.text(file).unwrap_or_default(),
            path,
            group,
            options: SourceOptions {
                fast_math: group.fast_math,
                standard,
                include_folders: include?,
                include_files: before?,
                link_files: Vec::new(),
                defines: group.defines.clone(),
                checked: false,
                within: Some(vec![tree.top.clone(), self.here.top.clone()]),
            },
        })
    }

    /// A hash of everything that decides what is found out about a file; none if that cannot be said.
    fn key(&self, unit: &Unit<'_>, compiler: &str) -> Option<String> {
        let mut hash = Fingerprint::default();
        let config = self.config;
        let group = serde_json::to_string(unit.group).ok()?;
        let others = config.groups_of_file(unit.file);
        let earlier: Vec<&[String]> = others
            .take_while(|other| !std::ptr::eq(*other, unit.group))
            .map(|other| other.functions.as_slice())
            .collect();
        let overridden: Vec<_> = self
            .overrides
            .iter()
            .filter(|((file, _), _)| file == unit.file)
            .collect();
        for part in [
            store::this_program(),
            compiler.to_owned(),
            group,
            format!("{earlier:?} {:?}", config.only.functions),
            format!("{:?} {:?}", config.launch, config.oracle),
            format!("{:?} {:?}", config.max_steps, config.max_seconds),
            format!("{:?} {:?}", self.targets, self.chip.name),
            format!("{overridden:?}"),
        ] {
            hash.add(part.as_bytes());
        }
        let launches = config.launch.values().chain(&unit.group.launch);
        let words = launches.flat_map(|launch| launch.all());
        let comments = unit
            .text
            .lines()
            .filter(|line| line.contains("assay: launch"));
        let words = words.map(String::as_str).chain(comments);
        launches::add_arrays(&mut hash, words.flat_map(str::split_whitespace), unit.tree);
        for oracle in config.oracle.values() {
            if oracle::is_program(oracle)
                && let Some(text) = self.programs().text(oracle.parts().0)
            {
                hash.add(text.as_bytes());
            }
        }
        let folders = &unit.options.include_folders;
        let before = &unit.options.include_files;
        let named = (folders.as_slice(), before.as_slice());
        let complete = closure::add(&mut hash, unit.tree, &unit.path, named, self.here);
        complete.then(|| hash.text())
    }

    fn evaluate(&self, unit: &Unit<'_>) -> Result<Entry, Failure> {
        let library = match self.compile(unit, false)? {
            Ok(library) => library,
            Err(failure) => {
                return Ok(Entry {
                    failure,
                    kernels: Vec::new(),
                });
            }
        };
        let wanted = library.kernels().iter().filter(|kernel| {
            let group = self.config.group(unit.file, &kernel.name);
            group.is_some_and(|group| std::ptr::eq(group, unit.group))
        });
        let wanted: Vec<&str> = wanted.map(|kernel| kernel.name.as_str()).collect();
        let checked = match unit.group.check == Check::Off || wanted.is_empty() {
            true => None,
            false => self.compile(unit, true)?.ok(),
        };
        let unchecked = checked.is_none() && unit.group.check != Check::Off;
        let kernels: Result<Vec<Kernel>, Failure> = wanted
            .par_iter()
            .map(|function| self.kernel(unit, &library, checked.as_ref(), function))
            .collect();
        let mut kernels = kernels?;
        if unchecked {
            let note = "not checked: it does not compile without optimisation";
            kernels
                .iter_mut()
                .for_each(|kernel| kernel.notes.push(note.to_owned()));
        }
        let names = library.kernels().iter().map(|kernel| kernel.name.as_str());
        if let Some(first) = kernels.first_mut() {
            let misplaced = misplaced(&unit.text, names).into_iter();
            let notes = misplaced.map(|(line, why)| format!("{}:{line}: {why}", unit.file));
            first.notes.extend(notes);
        }
        Ok(Entry {
            failure: None,
            kernels,
        })
    }

    /// The kernels of a source; or why it has none, which is no failure if it only has no kernels.
    pub(super) fn compile(
        &self,
        unit: &Unit<'_>,
        checked: bool,
    ) -> Result<Result<Library, Option<FileFailure>>, Failure> {
        let broken = |errors: Vec<Failed>| {
            Ok(Err(Some(FileFailure {
                file: unit.file.to_owned(),
                errors,
            })))
        };
        let failed = |failure: Failure| Failed {
            message: relative_text(&failure.message, unit.tree),
            place: None,
        };
        let options = SourceOptions {
            checked,
            ..unit.options.clone()
        };
        let bytes = match unit.tree.open(unit.file) {
            Ok(bytes) => bytes,
            Err(failure) => return broken(vec![failed(failure)]),
        };
        let file = match source::open(&unit.path, &bytes) {
            Ok(file) => file,
            Err(failure) => return broken(vec![failed(failure)]),
        };
        let error = match file.library(&ThisMachine, &options) {
            Ok(library) => return Ok(Ok(library)),
            Err(error) => error,
        };
        if error.blame() == Blame::Missing {
            return Err(source::failure(&unit.path, error));
        }
        let errors = match &error {
            Error::NoKernels | Error::Compiler(CompilerError::OtherStages { .. }) => {
                return Ok(Err(None));
            }
            Error::Compiler(CompilerError::Failed(assay_msl::Error::Source(errors))) => errors
                .iter()
                .map(|error| diagnosed(error, unit.tree))
                .collect(),
            other => vec![Failed {
                message: relative_text(&other.to_string(), unit.tree),
                place: None,
            }],
        };
        broken(errors)
    }
}

fn diagnosed(error: &Diagnostic, tree: &Tree) -> Failed {
    Failed {
        message: relative_text(&error.message, tree),
        place: error.place.as_ref().map(|place| Place {
            file: tree.relative(&place.file.display().to_string()),
            line: place.line,
            column: place.column,
        }),
    }
}
