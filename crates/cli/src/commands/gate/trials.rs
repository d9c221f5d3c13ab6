//! A kernel with its launch varied: other inputs, equal inputs, odd sizes, more threads, other scalars.
//!
//! A kernel need not be made for a variation. Whether it is, is found out by a checked run: one that faults or is not clean is
//! recorded as stopped, and counts only if the kernel of the other tree is clean with the same variation.

use super::execute::{Limits, Ran, Stopped, Subject, found, stopped};
use super::tree::Tree;
use assay_device::{Checks, Error};
use assay_engine::Runner;
use assay_front::Library;
use assay_gate::{Failed, RunResult};
use assay_launch::{Trial, Written};
use std::time::Duration;

/// A kernel that is stopped after few steps: variations are small.
pub(super) fn limited(subject: Subject<'_>) -> Subject<'_> {
    let limits = Limits {
        max_steps: subject.limits.max_steps.min(MAX_STEPS),
        time: subject.limits.time.max(Duration::from_secs(1)),
    };
    Subject { limits, ..subject }
}

/// Operations of a variation: what does not end is told by steps, which no other machine counts otherwise.
const MAX_STEPS: u64 = 1 << 24;

/// What became of a variation.
pub(super) enum Tried {
    /// It ran.
    Ran(&'static str, Box<Ran>),
    /// The kernel is not made for it.
    Stopped(RunResult),
}

/// A kernel that is ready for variations of one of its launches.
pub(super) struct Trials<'a> {
    subject: Subject<'a>,
    tree: &'a Tree,
    /// Which of the kernel's launches.
    number: u32,
    runner: Runner,
    checker: Option<Runner>,
}

impl<'a> Trials<'a> {
    /// Makes a kernel ready; with the library that was compiled for checks, if there is one.
    pub(super) fn new(
        subject: Subject<'a>,
        checked: Option<(&Library, Checks)>,
        (tree, number): (&'a Tree, u32),
    ) -> Result<Trials<'a>, Error> {
        let subject = limited(subject);
        let checker = checked.map(|(library, checks)| {
            let settings = (subject.settings(), checks);
            Runner::to_check(library, subject.function, subject.constants, settings)
        });
        Ok(Trials {
            runner: subject.runner()?,
            checker: checker.transpose()?.map(|(runner, _)| runner),
            subject,
            tree,
            number,
        })
    }

    /// The same for another program of the kernel, which is not checked.
    #[cfg(test)]
    pub(super) fn of_runner(
        subject: Subject<'a>,
        runner: Runner,
        (tree, number): (&'a Tree, u32),
    ) -> Trials<'a> {
        Trials {
            subject: limited(subject),
            tree,
            number,
            runner,
            checker: None,
        }
    }

    /// Runs every variation of a launch. One that takes too long is left out: another machine may be faster.
    pub(super) fn run(&mut self, launch: &Written) -> Result<Vec<Tried>, Stopped> {
        let launched = self.subject.launched(launch, &self.runner, self.tree)?;
        let trials = launched.launch.trials(&launched.arguments);
        let mut all = Vec::new();
        for trial in trials.unwrap_or_default() {
            match self.one(&trial) {
                Ok(tried) => all.extend(tried),
                Err(Error::Cancelled) => return Err(stopped(Error::Cancelled, self.tree)),
                // A variation that cannot be bound or run here says nothing.
                Err(_) => {}
            }
        }
        Ok(all)
    }

    /// Runs the variation of a name.
    pub(super) fn named(&mut self, launch: &Written, name: &str) -> Option<Ran> {
        let launched = self
            .subject
            .launched(launch, &self.runner, self.tree)
            .ok()?;
        let trials = launched.launch.trials(&launched.arguments).ok()?;
        let trial = trials.into_iter().find(|trial| trial.name == name)?;
        match self.one(&trial).ok()?? {
            Tried::Ran(_, ran) => Some(*ran),
            Tried::Stopped(_) => None,
        }
    }

    fn one(&mut self, trial: &Trial) -> Result<Option<Tried>, Error> {
        let launch = trial.launch.clone();
        let bound = || {
            let launched = self.subject.launched(&launch, &self.runner, self.tree);
            let launched = launched.ok()?;
            let sizes = launched.launch.first_sizes().ok()?;
            let (geometry, inputs) = launched.bound(&sizes).ok()?;
            Some((sizes, geometry, inputs))
        };
        let Some((sizes, geometry, inputs)) = bound() else {
            return Ok(None);
        };
        let halted = |failed: Failed| {
            let stopped = RunResult {
                sizes: assay_launch::describe(&sizes),
                launch: self.number,
                trial: trial.name.to_owned(),
                stopped: Some(failed),
                ..RunResult::default()
            };
            Ok(Some(Tried::Stopped(stopped)))
        };
        let fault = |error: Error| match error {
            Error::Cancelled
            | Error::TimeOut { .. }
            | Error::Unsupported { .. }
            | Error::Pipeline { .. } => Err(error),
            error => match stopped(error, self.tree) {
                Stopped::Failed(failed) => Ok(failed),
                Stopped::Unsupported(_) | Stopped::Command(_) => Err(Error::Cancelled),
            },
        };
        if let Some(checker) = &mut self.checker {
            let reports = match checker.check(geometry, &inputs) {
                Ok(reports) => reports,
                Err(error) => return halted(fault(error)?),
            };
            let mut found = found(&reports, self.tree).into_iter();
            if let Some(first) = found.find(|found| !found.warning) {
                return halted(Failed {
                    message: format!("{}: {}", first.kind, first.message),
                    place: first.place,
                });
            }
        }
        let after = match self.runner.run(geometry, &inputs) {
            Ok(after) => after,
            Err(error) => return halted(fault(error)?),
        };
        let ran = Ran {
            inputs,
            after,
            facts: self.runner.facts().clone(),
            sizes,
        };
        Ok(Some(Tried::Ran(trial.name, Box::new(ran))))
    }
}
