//! From the command line through the device to a report.

use super::engine::Engine;
use super::{Args, CheckClass, Destinations, advice, judge};
use crate::configuration;
use crate::context::{Context, Verbosity};
use crate::failure::Failure;
use crate::input;
use crate::interrupt;
use crate::launch::{Asked, Launched};
use crate::native;
use crate::output::Output;
use crate::progress;
use assay_device::{
    ArgumentBinding, BufferId, Checks, Diagnostic, Dispatch, Error, Origin, PipelineFacts,
    PipelineId,
};
use assay_engine::bound::{Bound, fill};
use assay_engine::ran::{Counted, Finding, Report, Shown, Times, Written as WrittenFile};
use assay_engine::{Origin as LaunchOrigin, diagnostics};
use assay_launch::element::Element;
use assay_launch::npy::Array;
use assay_launch::resources::{self, Resources};
use assay_launch::{Buffer, Inputs, Pass, Sizes, Target, misplaced};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What buffers and values hold before a run, by index.
#[cfg(test)]
type Starts = Vec<(u32, Vec<u8>)>;

/// A kernel ready to run, and what is bound to it.
pub(super) struct Work<'a> {
    pub(super) args: &'a Args,
    pub(super) engine: Engine,
    pipeline: PipelineId,
    pub(super) facts: PipelineFacts,
    /// Whether the kernel must be named, because the file has several.
    several: bool,
    /// The flags, and what a comment of the source adds.
    pub(super) launched: Launched,
    pub(super) inputs: Inputs,
    pub(super) buffers: Vec<(u32, BufferId)>,
    pub(super) resources: Resources,
    /// The textures that have texels of their own.
    pub(super) textures: Vec<(u32, BufferId)>,
    /// Buffers behind members of argument buffers, by their place among them.
    pub(super) members: Vec<(u32, BufferId)>,
    /// Argument buffers.
    pub(super) argument_buffers: Vec<(u32, BufferId)>,
    /// What clang warns of.
    warnings: Vec<Diagnostic>,
    /// Launch comments about kernels that are not there, by their lines.
    misplaced: Vec<(u32, String)>,
    /// Threadgroups that have ended on the CPU.
    finished: Arc<AtomicU64>,
}

fn spinner(function: &str, context: &Context) -> indicatif::ProgressBar {
    if !context.progress {
        return indicatif::ProgressBar::hidden();
    }
    let spinner = indicatif::ProgressBar::new_spinner();
    spinner.set_message(format!("running {function}"));
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// Threadgroups of a dispatch.
fn groups(dispatch: &Dispatch) -> u64 {
    dispatch.extent.groups(dispatch.threadgroup)
}

pub(super) fn run(
    args: &Args,
    files: &Destinations,
    context: &Context,
) -> Result<Vec<Report>, Failure> {
    let mut work = Work::new(args, context)?;
    let cases = work.launched.launch.cases()?;
    for (line, why) in &work.misplaced {
        context.note(&format!("warning: {}:{line}: {why}", args.file.display()));
    }
    for warning in work.warnings.iter().take(MOST_WARNINGS) {
        context.note(format!("warning: {}", diagnostics::render(warning)).trim_end());
    }
    if let Some(more @ 1..) = work.warnings.len().checked_sub(MOST_WARNINGS) {
        context.note(&format!("and {more} more warnings; --format json has all"));
    }
    let reports = cases.iter().map(|sizes| work.case(sizes, files, context));
    reports.collect()
}

/// Warnings of clang that are shown in full.
const MOST_WARNINGS: usize = 10;

/// Why a kernel cannot be run.
enum Opening {
    /// It was read, and cannot be made a program.
    Pipeline(Failure),
    Other(Failure),
}

impl Opening {
    fn failure(self) -> Failure {
        match self {
            Opening::Pipeline(failure) | Opening::Other(failure) => failure,
        }
    }
}

impl From<Failure> for Opening {
    fn from(failure: Failure) -> Self {
        Opening::Other(failure)
    }
}

/// How the kernel was run.
enum Ran {
    Timed(Vec<Duration>),
    Checked(Vec<assay_device::Report>),
    Counted(Box<assay_device::Counts>),
}

impl<'a> Work<'a> {
    pub(super) fn new(args: &'a Args, context: &Context) -> Result<Self, Failure> {
        let checks = args.check.map(|class| Checks {
            arithmetic: matches!(class, CheckClass::Arithmetic | CheckClass::Pedantic),
            pedantic: class == CheckClass::Pedantic,
        });
        let work = Work::with_checks(args, checks, context);
        match work {
            // What only a program as it was written has, an optimiser may remove.
            Err(Opening::Pipeline(why)) if checks.is_some() => {
                let work = Work::with_checks(args, None, context).map_err(Opening::failure)?;
                let why = &why.message;
                context.note(&format!("note: checked in its optimised form: {why}"));
                Ok(work)
            }
            work => work.map_err(Opening::failure),
        }
    }

    fn with_checks(
        args: &'a Args,
        checks: Option<Checks>,
        context: &Context,
    ) -> Result<Self, Opening> {
        let finished = Arc::new(AtomicU64::new(0));
        let mut engine = Engine::open(args, checks, &finished)?;
        let path = args.file.display().to_string();
        let bytes = input::open(&args.file)?;
        let (library, warnings) = engine.load(args, &bytes, checks.is_some())?;
        let device = engine.device();
        let names = device.functions(library).map_err(failure)?;
        let name = match (&args.function, &names[..]) {
            (Some(name), _) => name.clone(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(choose(&path, &names).into()),
        };
        let pipeline = device.pipeline(library, &name, &args.values.constants);
        let pipeline = pipeline.map_err(|error| match &error {
            Error::Pipeline { .. } | Error::Unsupported { .. } => Opening::Pipeline(failure(error)),
            _ => Opening::Other(failure(error)),
        })?;
        let facts = device.pipeline_facts(pipeline).map_err(failure)?.clone();
        let mut flags = args.launch.written()?;
        args.resources.add_to(&mut flags)?;
        let text = std::str::from_utf8(&bytes).ok();
        let asked = Asked {
            path: &args.file,
            bytes: &bytes,
            kernel: &name,
            arguments: &facts.arguments,
            options: args.source.options(&args.file),
            constants: &args.values.constants,
        };
        let mut launched = asked.launch(flags, context)?;
        if launched.origin == LaunchOrigin::Configuration {
            let sizes = configuration::of(&args.file).map(|it| it.run_sizes(&name));
            let mut sizes = sizes.unwrap_or_default();
            sizes.retain(|size| args.launch.sizes.iter().all(|own| own.name != size.name));
            if args.is_single() {
                sizes.iter_mut().for_each(|size| size.values.truncate(1));
            }
            launched.launch = launched.launch.with_sizes(&sizes);
        }
        let misplaced = text.map(|text| misplaced(text, names.iter().map(String::as_str)));
        Ok(Work {
            args,
            engine,
            pipeline,
            facts,
            several: names.len() > 1,
            launched,
            inputs: Inputs::default(),
            buffers: Vec::new(),
            resources: Resources::default(),
            textures: Vec::new(),
            members: Vec::new(),
            argument_buffers: Vec::new(),
            warnings,
            misplaced: misplaced.unwrap_or_default(),
            finished,
        })
    }

    /// What the launch says is bound at certain sizes.
    pub(super) fn prepare(&mut self, sizes: &Sizes) -> Result<(), Failure> {
        let old = self.buffers.drain(..).chain(self.textures.drain(..));
        let old = old
            .chain(self.members.drain(..))
            .chain(self.argument_buffers.drain(..));
        for (_, buffer) in old {
            self.engine.device().release(buffer).map_err(failure)?;
        }
        let Launched {
            launch,
            arguments,
            files,
            ..
        } = &self.launched;
        self.inputs = self.launched.inputs(sizes)?.filled()?;
        self.resources = launch.resources(arguments, sizes, &**files)?;
        Ok(())
    }

    /// Runs the kernel at certain sizes.
    fn case(
        &mut self,
        sizes: &Sizes,
        files: &Destinations,
        context: &Context,
    ) -> Result<Report, Failure> {
        self.prepare(sizes)?;
        self.remark(context);
        let printed = self
            .args
            .print
            .iter()
            .map(|(target, _)| ("--print", target));
        let written = files.files.iter().map(|(target, _)| ("--out", target));
        for (option, target) in printed.chain(written) {
            self.index_of(option, target)?;
        }
        for (index, ..) in &files.textures {
            if !self
                .resources
                .textures
                .iter()
                .any(|(known, _)| known == index)
            {
                let message = format!("--out texture:{index}: no --texture has index {index}");
                return Err(self.with_arguments(Failure::usage(message)));
            }
        }
        let pass = self.pass(sizes)?;
        let dispatch = self.dispatch(&pass)?;
        let ran = match (self.args.check.is_some(), self.args.counts) {
            (true, _) => Ran::Checked(self.check(&dispatch, context)?),
            (_, true) => Ran::Counted(Box::new(self.count(&dispatch, context)?)),
            _ => Ran::Timed(match &self.args.capture {
                Some(path) => self.capture(&dispatch, path, context)?,
                None => self.repeat(&dispatch, context)?,
            }),
        };
        if let Ran::Timed(_) = ran {
            self.remark_native(dispatch.threadgroup, context);
        }
        let verdict = match (&ran, &self.args.capture) {
            (Ran::Timed(_), None) => judge::verdict(self, sizes, context)?,
            _ => None,
        };
        let report = self.report(&pass, sizes, ran, files)?;
        Ok(Report { verdict, ..report })
    }

    /// What all buffers hold, by index.
    pub(super) fn after(&mut self) -> Result<Vec<(u32, Vec<u8>)>, Failure> {
        let device = self.engine.device();
        let buffers = self.buffers.iter();
        let held = buffers.map(|(index, buffer)| Ok((*index, device.contents(*buffer)?)));
        held.collect::<Result<_, Error>>().map_err(failure)
    }

    /// The index of a buffer that the launch binds.
    fn index_of(&self, option: &str, target: &Target) -> Result<u32, Failure> {
        let index = target.index().or_else(|| {
            let mut arguments = self.facts.arguments.iter();
            let named = arguments.find(|it| Target::Name(it.name.clone()) == *target)?;
            match named.binding {
                ArgumentBinding::Buffer(index) => Some(index),
                _ => None,
            }
        });
        let index = index.filter(|index| self.inputs.buffer(*index).is_some());
        index.ok_or_else(|| {
            let message = format!("{option} {target}: the launch binds no buffer {target}");
            self.with_arguments(Failure::usage(message))
        })
    }

    /// Notes what the kernel does not have, and buffers whose numbers are of another type than the kernel's.
    fn remark(&self, context: &Context) {
        let function = &self.facts.function;
        let bytes = self.inputs.bytes.iter();
        let bytes = bytes.map(|(index, _)| ("buffer", ArgumentBinding::Buffer(*index), index));
        let memory = self.inputs.memory.iter();
        let memory = memory.map(|(index, _)| {
            let binding = ArgumentBinding::Threadgroup(*index);
            ("threadgroup memory", binding, index)
        });
        for (what, binding, index) in bytes.chain(memory) {
            let arguments = &self.facts.arguments;
            if !arguments.iter().any(|a| a.binding == binding) {
                context.note(&format!("note: {function} has no {what} {index}"));
            }
        }
        for Buffer { index, element, .. } in &self.inputs.buffers {
            let arguments = self.facts.arguments.iter();
            let mut arguments = arguments.filter(|a| a.binding == ArgumentBinding::Buffer(*index));
            let Some(argument) = arguments.next() else {
                context.note(&format!("note: {function} has no buffer {index}"));
                continue;
            };
            let wanted = Element::in_metal(&argument.type_name);
            if wanted.is_some_and(|wanted| !element.suits(wanted)) {
                let (name, ty) = (&argument.name, &argument.type_name);
                context.note(&format!(
                    "note: buffer {index} (\"{name}\") is {ty} in the kernel and {} here",
                    element.name
                ));
            }
        }
    }

    fn with_arguments(&self, failure: Failure) -> Failure {
        let file = self.args.file.display().to_string();
        failure.advice(advice::arguments(&file, &self.facts, self.several))
    }

    /// The pass that flags or comment ask for.
    pub(super) fn pass(&self, sizes: &Sizes) -> Result<Pass, Failure> {
        let geometry = self.launched.launch.geometry(sizes);
        let (extent, threadgroup) = geometry.map_err(|mistake| match mistake.advice {
            Some(_) => mistake.into(),
            None => self.with_arguments(mistake.into()),
        })?;
        Ok(Pass {
            function: self.facts.function.clone(),
            bindings: Vec::new(),
            extent,
            threadgroup,
            threadgroup_memory: Vec::new(),
            repeat: 1,
        })
    }

    /// The dispatch of a pass, with buffers made.
    pub(super) fn dispatch(&mut self, pass: &Pass) -> Result<Dispatch, Failure> {
        let geometry = (pass.extent, pass.threadgroup);
        let device = self.engine.device();
        let bound = Bound::new(device, self.pipeline, geometry, &self.inputs);
        let Bound { dispatch, buffers } = bound.map_err(failure)?;
        self.buffers = buffers;
        self.bind_resources(dispatch)
    }

    /// Runs as often as asked, each time from the same contents.
    pub(super) fn repeat(
        &mut self,
        dispatch: &Dispatch,
        context: &Context,
    ) -> Result<Vec<Duration>, Failure> {
        let times = self.args.repeat;
        let groups = groups(dispatch).saturating_mul(u64::from(times));
        self.watched(groups, context, |work| {
            let mut samples = Vec::new();
            for _ in 0..times {
                work.fill()?;
                let finished = work.engine.device().run(vec![dispatch.clone()]);
                let finished = finished.map_err(|error| work.explained(error))?;
                samples.extend(finished.total.map(|time| time.length));
            }
            Ok(samples)
        })
    }

    /// Says on `-v` whether the CPU ran machine code.
    fn remark_native(&self, threadgroup: [u32; 3], context: &Context) {
        if context.verbosity < Verbosity::Verbose {
            return;
        }
        if let Engine::Cpu(device) = &self.engine
            && let Ok(program) = device.program(self.pipeline)
            && let Some(how) = native::described(program, threadgroup)
        {
            context.note(&format!("note: {}: {how}", self.facts.function));
        }
    }

    /// Runs once while the GPU's work is written to a file.
    fn capture(
        &mut self,
        dispatch: &Dispatch,
        path: &Path,
        context: &Context,
    ) -> Result<Vec<Duration>, Failure> {
        self.fill()?;
        let gpu = self.engine.gpu("--capture")?;
        let finished = match gpu.capture(path, vec![dispatch.clone()]) {
            Ok(finished) => finished,
            Err(error @ Error::Capture(_)) => {
                return Err(failure(error)
                    .advice("Metal captures only where it is allowed before it starts: MTL_CAPTURE_ENABLED=1 assay run …"));
            }
            Err(error) => return Err(self.explained(error)),
        };
        context.note(&format!(
            "captured to {}; assay trace report shows it",
            path.display()
        ));
        Ok(finished.total.map(|time| time.length).into_iter().collect())
    }

    /// Runs once and looks for what the kernel must not do.
    fn check(
        &mut self,
        dispatch: &Dispatch,
        context: &Context,
    ) -> Result<Vec<assay_device::Report>, Failure> {
        self.watched(groups(dispatch), context, |work| {
            work.fill()?;
            let reports = work.engine.cpu("--check")?.check_run(dispatch);
            reports.map_err(|error| work.explained(error))
        })
    }

    /// Runs once, or a part of the grid, and counts.
    fn count(
        &mut self,
        dispatch: &Dispatch,
        context: &Context,
    ) -> Result<assay_device::Counts, Failure> {
        let all = groups(dispatch);
        let (sample, groups) = match self.args.sample {
            Some(count) => {
                let sample = assay_device::Sample::Threadgroups(count);
                (sample, all.min(count))
            }
            None => (assay_device::Sample::All, all),
        };
        self.watched(groups, context, |work| {
            work.fill()?;
            let counts = work.engine.cpu("--counts")?.count_run(dispatch, sample);
            counts.map_err(|error| work.explained(error))
        })
    }

    /// Gives the buffers the contents they start with.
    fn fill(&mut self) -> Result<(), Failure> {
        let device = self.engine.device();
        fill(device, &self.buffers, &self.inputs).map_err(failure)?;
        self.fill_resources()
    }

    /// Shows how many threadgroups have ended while the kernel runs; from here on Ctrl-C is ours.
    fn watched<T>(
        &mut self,
        groups: u64,
        context: &Context,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        interrupt::cooperate();
        let function = self.facts.function.clone();
        let spinner = spinner(&function, context);
        progress::stage(&format!("running {function}"));
        let counted = format!("threadgroups of {function}");
        let show = |done: u64| {
            let done = done.min(groups);
            if done > 0 {
                spinner.set_message(format!(
                    "running {function}: {done} of {groups} threadgroups"
                ));
            }
            progress::count(&counted, done, groups);
        };
        let wanted = context.progress || progress::is_heard();
        let finished = Arc::clone(&self.finished);
        let result = progress::watched(wanted, &finished, show, || work(self));
        spinner.finish_and_clear();
        result
    }

    /// A device's error; what is about arguments shows them all.
    fn explained(&self, error: Error) -> Failure {
        match error {
            Error::Unbound {
                what: "buffer",
                index,
                ..
            } => match self.launched.missing(&self.facts.function, index) {
                Some(missing) => missing.into(),
                None => self.with_arguments(failure(error)),
            },
            Error::Unbound { .. } | Error::Binding { .. } => self.with_arguments(failure(error)),
            _ => failure(error),
        }
    }

    fn report(
        &mut self,
        pass: &Pass,
        sizes: &Sizes,
        ran: Ran,
        files: &Destinations,
    ) -> Result<Report, Failure> {
        let mut shown = Vec::new();
        for (target, most) in &self.args.print {
            let (index, most) = (self.index_of("--print", target)?, *most);
            let (element, data) = self.contents(index)?;
            let name = self.argument_name(index);
            shown.push(Shown::new(index, &name, element, &data, most));
        }
        let mut written = Vec::new();
        for (target, path) in &files.files {
            let index = self.index_of("--out", target)?;
            let (element, data) = self.contents(index)?;
            let array = Array {
                descr: element.descr.to_owned(),
                shape: vec![(data.len() / element.size) as u64],
                data,
            };
            let mut output = Output::open(Some(path))?;
            output.write_all(&array.to_bytes())?;
            output.finish()?;
            written.push(WrittenFile {
                index,
                path: path.display().to_string(),
                what: format!("buffer {target}"),
            });
        }
        for (index, level, path) in &files.textures {
            let (buffer, contents) = self.texture(*index)?;
            let layout = contents.layout;
            let data = self.engine.device().contents(buffer).map_err(failure)?;
            let mut output = Output::open(Some(path))?;
            output.write_all(&resources::texture_file(path, &layout, &data, *level)?)?;
            output.finish()?;
            written.push(WrittenFile {
                index: *index,
                path: path.display().to_string(),
                what: format!("texture {index}"),
            });
        }
        for (name, path) in &files.members {
            let bytes = self.member_file(name, path)?;
            let mut output = Output::open(Some(path))?;
            output.write_all(&bytes)?;
            output.finish()?;
            written.push(WrittenFile {
                index: name
                    .trim_start_matches("tensor:")
                    .split(['.', '['])
                    .next()
                    .and_then(|index| index.parse().ok())
                    .unwrap_or(0),
                path: path.display().to_string(),
                what: match name.strip_prefix("tensor:") {
                    Some(index) => format!("tensor {index}"),
                    None => format!("argument {name}"),
                },
            });
        }
        let origin = self.engine.device().facts().origin;
        let threads = (origin == Origin::Host).then(|| {
            let asked = self.args.threads.map(usize::from);
            asked.unwrap_or_else(rayon::current_num_threads)
        });
        let in_order = match &self.engine {
            Engine::Cpu(device) => device
                .program(self.pipeline)
                .map_err(failure)?
                .runs_in_order(),
            Engine::Metal(_) => false,
        };
        let (mut time, mut checked, mut counts, mut warnings) = (None, None, None, None);
        match ran {
            Ran::Timed(samples) => {
                // A virtual GPU gives results and no times.
                time = (!samples.is_empty()).then(|| Times::new(&samples, origin, threads));
            }
            Ran::Checked(reports) => {
                checked = Some(Finding::distinct(&reports, pass.threadgroup));
                let entries = self.warnings.iter().map(diagnostics::error_entry);
                warnings = Some(entries.collect());
            }
            Ran::Counted(counted) => counts = Some(Counted::new(&counted, self.args.by.into())),
        }
        Ok(Report {
            kernel: self.facts.function.clone(),
            sizes: sizes.clone(),
            plain: self.launched.launch.is_plain(),
            grid: pass.threads(),
            threadgroup: pass.threadgroup,
            in_order,
            time,
            verdict: None,
            checked,
            warnings,
            counts,
            buffers: shown,
            files: written,
        })
    }

    fn contents(&mut self, index: u32) -> Result<(&'static Element, Vec<u8>), Failure> {
        let mut known = self.inputs.buffers.iter().zip(&self.buffers);
        let found = known.find(|(filled, _)| filled.index == index);
        let Some((filled, &(_, buffer))) = found else {
            return Err(Failure::usage(format!("no --buffer has index {index}")));
        };
        let data = self.engine.device().contents(buffer).map_err(failure)?;
        Ok((filled.element, data))
    }

    fn argument_name(&self, index: u32) -> String {
        let mut arguments = self.facts.arguments.iter();
        let found = arguments.find(|a| a.binding == ArgumentBinding::Buffer(index));
        found.map_or("buffer".to_owned(), |argument| argument.name.clone())
    }
}

/// Most kernels named to someone who has to choose.
const MOST_NAMED: usize = 20;

fn choose(path: &str, names: &[String]) -> Failure {
    let shown: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    Failure::usage(format!("{path} has {} kernels", names.len()))
        .advice(format!("choose one with -f: {}{more}", shown.join(", ")))
}

/// A device's error with its exit code.
pub(super) fn failure(error: Error) -> Failure {
    error.into()
}

/// What the device holds before a run by a command line, at the first of its sizes.
#[cfg(test)]
pub(super) fn starts(line: &[String]) -> Result<Starts, Failure> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let line = <Line as clap::Parser>::try_parse_from(line);
    let line = line.map_err(|error| Failure::usage(error.to_string()))?;
    let mut work = Work::new(
        &line.args,
        &Context::new(None, crate::context::Verbosity::Quiet),
    )?;
    let sizes = work.launched.launch.first_sizes()?;
    work.prepare(&sizes)?;
    let pass = work.pass(&sizes)?;
    work.dispatch(&pass)?;
    work.fill()?;
    let mut starts = work.inputs.bytes.clone();
    for (index, buffer) in work.buffers.clone() {
        let held = work.engine.device().contents(buffer).map_err(failure)?;
        starts.push((index, held));
    }
    Ok(starts)
}
