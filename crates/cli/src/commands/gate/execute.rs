//! Runs a kernel with its launch on the CPU: what it leaves in its buffers, and what a checked run finds.

use super::tree::Tree;
use crate::commands::run::pad_three;
use crate::failure::Failure;
use crate::interrupt;
use crate::launch::{Described, Inputs};
use assay_device::{
    ArgumentBinding, Binding, BufferId, Checks, Constant, CpuDevice, Device, Dispatch, Error,
    Extent, PipelineFacts, PipelineId, Report, Settings, Storage,
};
use assay_front::Library;
use assay_gate::{Config, Contents, Failed, Found, Place, RunResult};
use assay_launch::element::Element;
use assay_launch::{Sizes, describe};
use assay_tune::fingerprint::{self, Fingerprint};
use std::collections::BTreeSet;
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

/// A buffer before and after a run.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) element: &'static Element,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    pub(super) is_output: bool,
}

/// A finished run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) buffers: Vec<Buffer>,
    pub(super) bytes: Vec<(u32, Vec<u8>)>,
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

fn stopped(error: Error, tree: &Tree) -> Stopped {
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
    let (rest, last) = text.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let place = |file: &str, line, column| Place {
        file: tree.relative(file),
        line,
        column,
    };
    if let Some((file, line)) = rest.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return Some(place(file, line, last));
    }
    Some(place(rest, last, 0))
}

/// A message with paths as the report has them.
pub(super) fn relative_text(text: &str, tree: &Tree) -> String {
    let root = format!("{}/", tree.root.display());
    let top = format!("{}/", tree.top.display());
    text.replace(&root, "").replace(&top, "")
}

struct Ready {
    device: CpuDevice,
    pipeline: PipelineId,
    facts: PipelineFacts,
}

impl Subject<'_> {
    fn ready(&self, checks: Option<Checks>) -> Result<Ready, Error> {
        let mut device = CpuDevice::new(Settings {
            max_steps: Some(self.limits.max_steps),
            timeout: Some(self.limits.time),
            cancel: Some(interrupt::flag()),
            checks,
            ..Settings::default()
        })?;
        let library = device.add(self.library.clone())?;
        let pipeline = device.pipeline(library, self.function, self.constants)?;
        let facts = device.pipeline_facts(pipeline)?.clone();
        Ok(Ready {
            device,
            pipeline,
            facts,
        })
    }

    /// Runs the kernel at certain sizes.
    pub(super) fn run(
        &self,
        launch: &Described,
        sizes: &Sizes,
        tree: &Tree,
    ) -> Result<Ran, Stopped> {
        let fail = |error| stopped(error, tree);
        let mut ready = self.ready(None).map_err(fail)?;
        let inputs = inputs(launch, sizes, &ready.facts)?;
        let (dispatch, bound) = ready.dispatch(launch, sizes, &inputs, tree)?;
        ready.device.run(vec![dispatch]).map_err(fail)?;
        let mut buffers = Vec::new();
        for (filled, id) in inputs.buffers.into_iter().zip(bound) {
            let after = ready.device.contents(id).map_err(fail)?;
            let mut arguments = ready.facts.arguments.iter();
            let argument = arguments.find(|a| a.binding == ArgumentBinding::Buffer(filled.index));
            let only_read = argument.is_none_or(|a| a.access == assay_ssa::ArgumentAccess::Read);
            buffers.push(Buffer {
                index: filled.index,
                name: argument.map_or_else(String::new, |argument| argument.name.clone()),
                element: filled.element,
                is_output: !only_read || after != filled.data,
                before: filled.data,
                after,
            });
        }
        Ok(Ran {
            buffers,
            bytes: inputs.bytes,
            facts: ready.facts,
            sizes: sizes.clone(),
        })
    }

    /// Runs the kernel with checks. `self.library` was compiled for them. Also says when only the optimised form could be
    /// checked.
    pub(super) fn check(
        &self,
        launch: &Described,
        sizes: &Sizes,
        checks: Checks,
        tree: &Tree,
    ) -> Result<(Vec<Found>, Option<String>), Stopped> {
        let fail = |error| stopped(error, tree);
        let (mut ready, note) = match self.ready(Some(checks)) {
            Ok(ready) => (ready, None),
            // What only a program as it was written has, an optimiser may remove.
            Err(error @ (Error::Pipeline { .. } | Error::Unsupported { .. })) => {
                let why = relative_text(&error.to_string(), tree);
                let ready = self.ready(None).map_err(fail)?;
                (ready, Some(format!("checked in its optimised form: {why}")))
            }
            Err(error) => return Err(fail(error)),
        };
        let inputs = inputs(launch, sizes, &ready.facts)?;
        let (dispatch, _) = ready.dispatch(launch, sizes, &inputs, tree)?;
        let reports = ready.device.check_run(&dispatch).map_err(fail)?;
        Ok((found(&reports, tree), note))
    }
}

impl Ready {
    /// The dispatch, with buffers made and filled.
    fn dispatch(
        &mut self,
        launch: &Described,
        sizes: &Sizes,
        inputs: &Inputs,
        tree: &Tree,
    ) -> Result<(Dispatch, Vec<BufferId>), Stopped> {
        let missing = |what: &str| Failure::input(format!("its launch has no {what}"));
        let extent = launch
            .launch
            .extent(sizes)
            .ok_or_else(|| missing("--grid"))??;
        let threadgroup = launch.launch.threadgroup(sizes);
        let threadgroup = threadgroup.ok_or_else(|| missing("--threadgroup"))??;
        let extent = match extent {
            assay_launch::Extent::Threads(threads) => Extent::Threads(threads),
            assay_launch::Extent::Groups(groups) => Extent::Groups(groups),
        };
        let fail = |error| stopped(error, tree);
        let mut dispatch = Dispatch::new(self.pipeline, extent, threadgroup);
        let mut bound = Vec::new();
        for filled in &inputs.buffers {
            let size = filled.data.len() as u64;
            let buffer = self.device.buffer(size, Storage::Shared).map_err(fail)?;
            self.device.write(buffer, 0, &filled.data).map_err(fail)?;
            bound.push(buffer);
            dispatch = dispatch.bind(filled.index, Binding::Buffer { buffer, offset: 0 });
        }
        for (index, bytes) in &inputs.bytes {
            dispatch = dispatch.bind(*index, Binding::Bytes(bytes.clone()));
        }
        for (index, bytes) in &inputs.memory {
            dispatch = dispatch.bind(*index, Binding::ThreadgroupMemory(*bytes));
        }
        Ok((dispatch, bound))
    }
}

fn inputs(launch: &Described, sizes: &Sizes, facts: &PipelineFacts) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::new(&launch.launch, &launch.tgmem, sizes)?;
    for (index, bytes) in &mut inputs.bytes {
        pad_three(facts, *index, bytes);
    }
    Ok(inputs)
}

/// What a checked run found, each mistake of a line once.
fn found(reports: &[Report], tree: &Tree) -> Vec<Found> {
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
    /// Hashes of what the kernel was given and of what it left.
    pub(super) fn result(&self) -> RunResult {
        let mut given = Fingerprint::default();
        for buffer in &self.buffers {
            given.add(&buffer.index.to_le_bytes());
            given.add(&buffer.before);
        }
        for (index, bytes) in &self.bytes {
            given.add(&index.to_le_bytes());
            given.add(bytes);
        }
        let outputs = self.buffers.iter().filter(|buffer| buffer.is_output);
        RunResult {
            sizes: describe(&self.sizes),
            inputs: given.text(),
            buffers: outputs
                .map(|buffer| Contents {
                    index: buffer.index,
                    name: buffer.name.clone(),
                    hash: fingerprint::of_bytes(&buffer.after),
                })
                .collect(),
        }
    }

    /// In which element a buffer differs from another run's.
    pub(super) fn difference(&self, other: &Ran, index: u32) -> Option<String> {
        let buffer = |ran: &'_ Ran| ran.buffers.iter().position(|buffer| buffer.index == index);
        let (old, new) = (&other.buffers[buffer(other)?], &self.buffers[buffer(self)?]);
        let size = new.element.size;
        let pairs = old
            .after
            .chunks_exact(size)
            .zip(new.after.chunks_exact(size));
        let differing = pairs.enumerate().filter(|(_, (old, new))| old != new);
        let count = differing.clone().count();
        let all = new.after.len() / size;
        let (place, (old, now)) = differing.into_iter().next()?;
        let show = |bytes: &[u8]| new.element.show(bytes).0;
        Some(format!(
            "element {place} was {} and is {}; {count} of {all} differ",
            show(old).trim(),
            show(now).trim()
        ))
    }
}
