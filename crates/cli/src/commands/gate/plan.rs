//! Under which launches the kernels of two trees are compared.
//!
//! Where both sides give a kernel the same inputs, each tree runs it with its own geometry. Where they differ, each runs it under
//! the launches of both: a launch that a pull request brings does not replace the one that it is judged by. Arguments are
//! followed by their names, so that a kernel with one more is still compared.

use super::evaluate::{Evaluator, Overrides};
use super::launches::{self, Planned};
use super::tree::Tree;
use assay_device::CpuKernel;
use assay_gate::{Config, Group, Kernel};
use assay_launch::{Written, weaker};
use assay_ssa::Argument;
use std::collections::BTreeMap;

/// The launches of both trees where they differ, and what those of this tree ask less.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) base: Overrides,
    pub(super) head: Overrides,
    /// By file and name of this tree's kernels.
    pub(super) weaker: BTreeMap<(String, String), Vec<String>>,
}

/// A kernel of one of the trees.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) evaluator: &'a Evaluator<'a>,
    pub(super) tree: &'a Tree,
    pub(super) kernel: &'a Kernel,
}

impl Side<'_> {
    fn config(&self) -> &Config {
        self.evaluator.config
    }

    fn group(&self) -> Option<&Group> {
        let kernel = self.kernel;
        self.config().group(&kernel.file, &kernel.function)
    }

    /// How the tree itself launches the kernel.
    fn own(&self) -> Vec<Planned> {
        let text = self.tree.text(&self.kernel.file);
        let planned = self.group().map(|group| {
            let function = &self.kernel.function;
            launches::planned(self.config(), group, text.as_deref(), function)
        });
        planned.and_then(Result::ok).unwrap_or_default()
    }

    /// The arguments of the kernel.
    fn arguments(&self) -> Option<Vec<Argument>> {
        let group = self.group()?;
        let unit = self.evaluator.unit(self.tree, &self.kernel.file, group);
        let unit = unit.ok()?;
        let library = self.evaluator.compile(&unit, false).ok()?.ok()?;
        let constants = super::kernel::constants(group).ok()?;
        let kernel = CpuKernel::new(&library, &self.kernel.function, &constants, None);
        Some(kernel.ok()?.facts().arguments.clone())
    }

    /// Returns true if a launch can be bound to the kernel's arguments.
    fn fits(&self, launch: &Written, arguments: &[Argument]) -> bool {
        let files = self.tree.arrays();
        let function = &self.kernel.function;
        let launched = assay_engine::Launched::new(launch.clone(), function, arguments, &files);
        let bound = launched.and_then(|launched| {
            let sizes = launched.launch.first_sizes()?;
            launched.bound(&sizes).map(|_| ())
        });
        bound.is_ok()
    }

    fn key(&self) -> (String, String) {
        (self.kernel.file.clone(), self.kernel.function.clone())
    }
}

impl Plan {
    /// Adds a kernel, before and now.
    pub(super) fn add(&mut self, base: Side<'_>, head: Side<'_>) {
        let (old, new) = (base.own(), head.own());
        let mut told = changed_arrays(&old, base.tree, head.tree);
        if !told.is_empty() {
            self.weaker.insert(head.key(), told.clone());
        }
        if old == new || launches::same_inputs(&old, &new) || old.is_empty() {
            return;
        }
        let both = base.arguments().zip(head.arguments());
        let Some((before, after)) = both else { return };
        let named = |all: &[Planned], arguments: &[Argument]| -> Vec<Planned> {
            all.iter()
                .map(|it| it.map(|launch| resolved(launch, arguments)))
                .collect()
        };
        let (old_names, new_names) = (named(&old, &before), named(&new, &after));
        asks_less(&old_names, &new_names, &mut told);
        let carry = |from: &Planned, arguments: &[Argument], rest: Option<&Planned>| match rest {
            Some(rest) => Planned {
                predict: from.predict.carried(arguments, &rest.predict),
                run: from.run.carried(arguments, &rest.run),
            },
            None => from.map(|launch| launch.carried(arguments, &Written::default())),
        };
        let fitting = |side: Side<'_>, planned: Planned, arguments: &[Argument]| {
            let fits = side.fits(&planned.run, arguments);
            fits.then_some(planned)
        };
        let mut ours: Vec<Option<Planned>> = Vec::new();
        let mut theirs: Vec<Option<Planned>> = Vec::new();
        for (place, launch) in old_names.iter().enumerate() {
            let rest = new_names.get(place).or(new_names.first());
            let carried = carry(launch, &after, rest);
            ours.push(fitting(head, carried, &after));
            theirs.push(old.get(place).cloned());
        }
        if ours.iter().all(Option::is_none) {
            told.push(
                "the launch of the base does not fit its arguments any more: results are not compared"
                    .to_owned(),
            );
        }
        for (place, launch) in new_names.iter().enumerate() {
            if old_names.contains(launch) {
                continue;
            }
            let rest = old_names.get(place).or(old_names.first());
            theirs.push(fitting(base, carry(launch, &before, rest), &before));
            ours.push(new.get(place).cloned());
        }
        self.head.insert(head.key(), ours);
        self.base.insert(base.key(), theirs);
        if !told.is_empty() {
            self.weaker.insert(head.key(), told);
        }
    }

    /// What the launches of a kernel ask less.
    pub(super) fn of(&self, head: &Kernel) -> Vec<String> {
        let key = (head.file.clone(), head.function.clone());
        self.weaker.get(&key).cloned().unwrap_or_default()
    }
}

/// Files of launches that hold something else than before: what comes of them is not compared.
fn changed_arrays(launches: &[Planned], before: &Tree, now: &Tree) -> Vec<String> {
    let words = launches.iter().map(|launch| launch.run.to_string());
    let mut changed: Vec<String> = Vec::new();
    for words in words {
        for array in launches::arrays(words.split_whitespace()) {
            if before.bytes(array) != now.bytes(array) {
                changed.push(format!(
                    "{array} holds something else than before, so results are not compared"
                ));
            }
        }
    }
    changed.sort();
    changed.dedup();
    changed
}

/// A launch by the names of arguments; of one that does not fit, as it is written.
fn resolved(launch: &Written, arguments: &[Argument]) -> Written {
    let mut resolved = launch.clone();
    match resolved.resolve("", arguments) {
        Ok(()) => resolved.named(arguments),
        Err(_) => launch.clone(),
    }
}

/// What launches ask less than others: each is held against the one that asks most like it.
fn asks_less(old: &[Planned], new: &[Planned], told: &mut Vec<String>) {
    if new.is_empty() {
        told.push("it has none any more".to_owned());
        return;
    }
    if new.len() < old.len() {
        told.push(format!("there are {} and were {}", new.len(), old.len()));
    }
    for before in old {
        let fewest = new.iter().map(|after| {
            let mut all = weaker(&before.run, &after.run);
            let predicted = weaker(&before.predict, &after.predict);
            let fresh: Vec<String> = predicted
                .into_iter()
                .filter(|it| !all.contains(it))
                .collect();
            all.extend(fresh);
            all
        });
        let fewest = fewest.min_by_key(Vec::len).unwrap_or_default();
        for what in fewest {
            if !told.contains(&what) {
                told.push(what);
            }
        }
    }
}
