//! Runs a kernel with its launch on the CPU: what it leaves in its buffers, and what a checked run finds.

use super::tree::Tree;
use crate::failure::Failure;
use crate::interrupt;
use crate::launch::Launched;
use assay_device::{Checks, Constant, Error, PipelineFacts, Report, Settings};
use assay_engine::Runner;
use assay_front::Library;
use assay_gate::{Config, Contents, Differs, Failed, Found, Place, RunResult};
use assay_launch::inputs::of_buffer;
use assay_launch::{Dtype, Inputs, Mistake, Sizes, Written, describe};
use assay_tune::fingerprint::{self, Fingerprint};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Operations a simdgroup may run in loops, when the configuration does not say.
const MAX_STEPS: u64 = 1 << 32;

/// Seconds of one run, when the configuration does not say.
const MAX_SECONDS: f64 = 60.0;

/// A kernel of a library and how it is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) library: &'a Library,
    pub(super) function: &'a str,
    pub(super) constants: &'a [Constant],
    pub(super) limits: Limits,
}

/// How long a run may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_steps: u64,
    pub(super) time: Duration,
}

impl Limits {
    /// Those of a configuration.
    pub(super) fn of(config: &Config) -> Limits {
        Limits {
            max_steps: config.max_steps.unwrap_or(MAX_STEPS),
            time: Duration::from_secs_f64(config.max_seconds.unwrap_or(MAX_SECONDS)),
        }
    }
}

/// A finished run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) inputs: Inputs,
    /// What buffers hold afterwards, by index.
    pub(super) after: Vec<(u32, Vec<u8>)>,
    pub(super) facts: PipelineFacts,
    pub(super) sizes: Sizes,
}

/// Why a run has no result.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The kernel, or its launch, is to blame.
    Failed(Failed),
    /// This device cannot run it.
    Unsupported(String),
    /// The whole command stops.
    Command(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Failed(Failed {
            message: failure.message,
            place: None,
        })
    }
}

pub(super) fn stopped(error: Error, tree: &Tree) -> Stopped {
    if error == Error::Cancelled {
        return Stopped::Command(crate::commands::run::device_failure(error));
    }
    let text = relative_text(&error.to_string(), tree);
    match &error {
        Error::Unsupported { .. } | Error::Pipeline { .. } => Stopped::Unsupported(text),
        Error::TimeOut { after, .. } => Stopped::Failed(Failed {
            message: format!(
                "did not finish within {} s on this CPU: endless, or too large for it (run_sizes of its group are \
                 sizes to run at in place of the launch's; max_seconds allows more)",
                after.as_secs_f64()
            ),
            place: None,
        }),
        Error::Fault(fault) => Stopped::Failed(Failed {
            message: text,
            place: fault
                .place
                .as_deref()
                .and_then(|place| parse_place(place, tree)),
        }),
        _ => Stopped::Failed(Failed {
            message: text,
            place: None,
        }),
    }
}

/// `file:line[:column]`, with the file relative to the tree.
pub(super) fn parse_place(text: &str, tree: &Tree) -> Option<Place> {
    let place = assay_engine::Place::parse(text)?;
    Some(Place {
        file: tree.relative(place.file),
        line: place.line,
        column: place.column,
    })
}

/// A message with paths as the report has them.
pub(super) fn relative_text(text: &str, tree: &Tree) -> String {
    let root = format!("{}/", tree.root.display());
    let top = format!("{}/", tree.top.display());
    text.replace(&root, "").replace(&top, "")
}

impl Subject<'_> {
    pub(super) fn settings(&self) -> Settings {
        Settings {
            max_steps: Some(self.limits.max_steps),
            timeout: Some(self.limits.time),
            cancel: Some(interrupt::flag()),
            ..Settings::default()
        }
    }

    /// The launch for this kernel, whose arrays lie below the tree.
    pub(super) fn launched(
        &self,
        launch: &Written,
        runner: &Runner,
        tree: &Tree,
    ) -> Result<Launched, Failure> {
        let arguments = &runner.facts().arguments;
        Ok(Launched::new(
            launch.clone(),
            self.function,
            arguments,
            &tree.arrays(),
        )?)
    }

    /// Runs the kernel at certain sizes.
    pub(super) fn run(&self, launch: &Written, sizes: &Sizes, tree: &Tree) -> Result<Ran, Stopped> {
        let fail = |error| stopped(error, tree);
        let mut runner = self.runner().map_err(fail)?;
        let launched = self.launched(launch, &runner, tree)?;
        let (geometry, inputs) = launched.bound(sizes).map_err(in_launch)?;
        let after = runner.run(geometry, &inputs).map_err(fail)?;
        Ok(Ran {
            inputs,
            after,
            facts: runner.facts().clone(),
            sizes: sizes.clone(),
        })
    }

    pub(super) fn runner(&self) -> Result<Runner, Error> {
        Runner::new(self.library, self.function, self.constants, self.settings())
    }

    /// Runs the kernel with checks. `self.library` was compiled for them. Also says when only the optimised form could be
    /// checked.
    pub(super) fn check(
        &self,
        launch: &Written,
        sizes: &Sizes,
        checks: Checks,
        tree: &Tree,
    ) -> Result<(Vec<Found>, Option<String>), Stopped> {
        let fail = |error| stopped(error, tree);
        let settings = (self.settings(), checks);
        let made = Runner::to_check(self.library, self.function, self.constants, settings);
        let (mut runner, why) = made.map_err(fail)?;
        let note = why.map(|why| {
            let why = relative_text(&why.to_string(), tree);
            format!("checked in its optimised form: {why}")
        });
        let launched = self.launched(launch, &runner, tree)?;
        let (geometry, inputs) = launched.bound(sizes).map_err(in_launch)?;
        let reports = runner.check(geometry, &inputs).map_err(fail)?;
        Ok((found(&reports, tree), note))
    }
}

/// A mistake in the launch of a configuration.
fn in_launch(mistake: Mistake) -> Failure {
    Failure {
        message: format!("its launch: {}", mistake.message),
        ..mistake.into()
    }
}

/// What the device holds before a run of a library's kernel.
#[cfg(test)]
pub(crate) fn starts(
    library: &Library,
    function: &str,
    launch: &Written,
    root: &std::path::Path,
) -> Result<Vec<(u32, Vec<u8>)>, String> {
    let tree = Tree::here(root, None).map_err(|failure| failure.message)?;
    let subject = Subject {
        library,
        function,
        constants: &[],
        limits: Limits {
            max_steps: MAX_STEPS,
            time: Duration::from_secs(1),
        },
    };
    let mut runner = subject.runner().map_err(|error| error.to_string())?;
    let launched = subject.launched(launch, &runner, &tree);
    let launched = launched.map_err(|failure| failure.message)?;
    let sizes = launched.launch.first_sizes();
    let sizes = sizes.map_err(|mistake| mistake.message)?;
    let bound = launched.bound(&sizes);
    let (geometry, inputs) = bound.map_err(|mistake| mistake.message)?;
    let held = runner.starts(geometry, &inputs);
    let held = held.map_err(|error| error.to_string())?;
    Ok(held.into_iter().chain(inputs.bytes).collect())
}

/// What a checked run found, each mistake of a line once.
pub(super) fn found(reports: &[Report], tree: &Tree) -> Vec<Found> {
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for report in reports {
        let other = report.other.as_ref().and_then(|other| other.place.clone());
        // A race is one, whichever side is told first.
        let mut places = [report.place.clone(), other];
        places.sort();
        if report.place.is_some() && !known.insert((report.kind, places)) {
            continue;
        }
        let place = report.place.as_deref();
        let whole = report.to_string();
        // The report says itself which kernel and where.
        let place_text = place.map_or(String::new(), |place| format!(", {place}"));
        let start = format!("kernel \"{}\"{place_text}: ", report.kernel);
        let message = whole.strip_prefix(&start).unwrap_or(&whole);
        all.push(Found {
            kind: report.kind.name().to_owned(),
            warning: report.kind.is_warning(),
            message: relative_text(message, tree),
            place: place.and_then(|place| parse_place(place, tree)),
        });
    }
    all
}

impl Ran {
    /// The name of the argument at an index.
    pub(super) fn name(&self, index: u32) -> &str {
        let argument = of_buffer(&self.facts.arguments, index);
        argument.map_or("", |argument| argument.name.as_str())
    }

    /// Hashes of what the kernel was given and of what it left in the buffers it may write, and in others that changed.
    pub(super) fn result(&self, launch: u32, trial: &str) -> RunResult {
        let mut inputs = Fingerprint::default();
        let mut given = BTreeMap::new();
        let mut add = |index: u32, bytes: &[u8]| {
            inputs.add(&index.to_le_bytes());
            inputs.add(bytes);
            given.insert(self.name(index).to_owned(), fingerprint::of_bytes(bytes));
        };
        for buffer in &self.inputs.buffers {
            add(buffer.index, &buffer.data());
        }
        for (index, bytes) in &self.inputs.bytes {
            add(*index, bytes);
        }
        given.remove("");
        let pairs = self.inputs.buffers.iter().zip(&self.after);
        let outputs = pairs.filter(|(buffer, (_, after))| {
            let is_declared = of_buffer(&self.facts.arguments, buffer.index).is_some();
            is_declared && buffer.is_output || buffer.data() != *after
        });
        RunResult {
            sizes: describe(&self.sizes),
            launch,
            trial: trial.to_owned(),
            inputs: inputs.text(),
            given,
            buffers: outputs
                .map(|(buffer, (_, after))| Contents {
                    index: buffer.index,
                    name: self.name(buffer.index).to_owned(),
                    hash: fingerprint::of_bytes(after),
                })
                .collect(),
            ..RunResult::default()
        }
    }

    /// How a buffer differs from one of another run.
    pub(super) fn difference(&self, index: u32, other: &Ran, other_index: u32) -> Option<Differs> {
        let element = self.inputs.buffer(index)?.element;
        let after = |ran: &'_ Ran, index| {
            let found = ran.after.iter().position(|(known, _)| *known == index)?;
            Some(ran.after[found].1.clone())
        };
        let (old, new) = (after(other, other_index)?, after(self, index)?);
        let size = element.size;
        let pairs = old.chunks_exact(size).zip(new.chunks_exact(size));
        let differing = pairs.enumerate().filter(|(_, (old, new))| old != new);
        let count = differing.clone().count();
        let all = new.len() / size;
        let dtype = float(element.name);
        let number = |bytes: &[u8]| dtype?.decode(bytes).first().copied();
        let distances = differing
            .clone()
            .map(|(_, (old, new))| dtype?.ulps(number(old)?, number(new)?));
        let ulps: Option<Vec<u64>> = distances.collect();
        let ulps = ulps.and_then(|all| all.into_iter().max());
        let ulps = ulps.filter(|_| old.len() == new.len());
        let (place, (old, now)) = differing.into_iter().next()?;
        let show = |bytes: &[u8]| element.show(bytes).0;
        // Beyond that it is another number, however it is counted.
        let near = ulps.filter(|ulps| *ulps < 1 << 16);
        let far = near.map_or(String::new(), |ulps| format!(", by {ulps} ulp at most"));
        Some(Differs {
            words: format!(
                "element {place} was {} and is {}; {count} of {all} differ{far}",
                show(old).trim(),
                show(now).trim()
            ),
            ulps,
        })
    }
}

/// The type of floats that an element is.
fn float(element: &str) -> Option<Dtype> {
    match element {
        "f32" => Some(Dtype::F32),
        "f16" => Some(Dtype::F16),
        "bf16" => Some(Dtype::Bf16),
        _ => None,
    }
}
