//! What is tuned: a kernel of a file with its launch, or one of the registry.

use super::args::{Only, SearchArgs};
use super::drive::{Finished, Task, original_failure, show, tune};
use super::file::FileLaunch;
use super::model::{self, SharedLedger};
use super::oracle::oracle;
use super::program::{self, InProgram};
use super::registry::RegistryLaunch;
use crate::confine;
use crate::context::Context;
use crate::failure::{CommandResult, Failure};
use crate::input;
use crate::launch::Asked;
use crate::source::{self, ThisMachine};
use assay_bench::registry::Registry;
use assay_front::{Bytes, File, GivenConstant, SourceOptions};
use assay_launch::template::Grid;
use assay_launch::{Written, extent};
use assay_llm::demo;
use assay_sweep::select;
use assay_tune::attempts::Geometry;
use assay_tune::fingerprint::Fingerprint;
use assay_tune::knobs::Knobs;
use assay_tune::report::{Report, Setting};
use assay_tune::workbench::{Launch, Origin, Subject, as_given, suitable};
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn run(args: &SearchArgs, context: &Context) -> CommandResult {
    if args.only == Some(Only::Model) && !args.model.is_asked() {
        return Err(Failure::usage("--only model needs a model").advice("--llm PROVIDER:MODEL"));
    }
    if args.all {
        return super::set::run(args, context);
    }
    let target = args.target.as_deref().unwrap_or_default();
    let path = PathBuf::from(target);
    let ledger = model::ledger(&args.model);
    let shown = |found: &Finished| show(args, context, found);
    if let Some(recording) = &args.program {
        let given = program::given(args, recording, context)?;
        return of_bytes(args, given, context, &ledger).and_then(|it| shown(&it));
    }
    if target == demo::KERNEL && !confine::has_file(&path) {
        let path = Path::new("softmax_naive.metal");
        let bytes = Bytes::from(demo::SOURCE.as_bytes().to_vec());
        let given = Given::of_flags(args, path, bytes)?;
        return of_bytes(args, given, context, &ledger).and_then(|it| shown(&it));
    }
    if confine::has_file(&path) || path.extension().is_some() {
        let bytes = input::open(&path)?;
        let given = Given::of_flags(args, &path, bytes)?;
        return of_bytes(args, given, context, &ledger).and_then(|it| shown(&it));
    }
    let registry = Kernels::of(args)?;
    of_registry(args, (registry.get()?, target), context, &ledger).and_then(|it| shown(&it))
}

/// The registry that was asked for.
pub(super) enum Kernels {
    BuiltIn,
    Folder(Registry),
}

impl Kernels {
    pub(super) fn of(args: &SearchArgs) -> Result<Kernels, Failure> {
        let Some(folder) = &args.kernels else {
            return Ok(Kernels::BuiltIn);
        };
        let (registry, broken) = select::of_folder(folder)?;
        match broken.first() {
            None => Ok(Kernels::Folder(registry)),
            Some(broken) => Err(Failure::input(format!("{}: {}", broken.name, broken.error))
                .advice("assay bench --kernels FOLDER --list says what can be read")),
        }
    }

    pub(super) fn get(&self) -> Result<&Registry, Failure> {
        match self {
            Kernels::BuiltIn => {
                Registry::embedded().map_err(|error| Failure::input(error.to_string()))
            }
            Kernels::Folder(registry) => Ok(registry),
        }
    }
}

/// Tunes a kernel of a registry.
pub(super) fn of_registry(
    args: &SearchArgs,
    (registry, target): (&Registry, &str),
    context: &Context,
    ledger: &SharedLedger,
) -> Result<Finished, Failure> {
    let kernel = registry.kernel(target).map_err(|error| {
        Failure::usage(error.to_string())
            .advice("name a file with a launch, or a kernel that assay bench --list shows")
    })?;
    let launch = RegistryLaunch::new(kernel)?;
    let resolved = registry
        .source(kernel, None)
        .map_err(|error| Failure::input(error.to_string()))?;
    let origin = Origin::Source(
        resolved.text.clone(),
        args.options.options(Path::new(&resolved.path)),
    );
    let knobs = knobs(args, Some(&resolved.text), &kernel.tune)?;
    let function = launch.function.clone();
    let task = Task {
        subject: Subject::new(&ThisMachine, origin, &function, Vec::new(), knobs),
        identity: format!("{target} {}\n{}", launch.dtype, resolved.text),
        path: resolved.path.clone(),
        name: function,
        notes: Vec::new(),
        described: launch.described(),
        tolerance: launch.tolerance_in_words(),
        target,
        share: None,
        flags: &|geometry, _| RegistryLaunch::pass(geometry),
        head: &|report| format!("// {} by {}\n", report.kernel, report.recipes.join(" ")),
        launch: &launch,
    };
    tune(args, context, task, ledger)
}

/// A file's kernel, and what is known of its launch.
pub(super) struct Given {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) options: SourceOptions,
    pub(super) constants: Vec<GivenConstant>,
    pub(super) flags: Written,
    /// What a recorded program makes of it.
    pub(super) program: Option<InProgram>,
}

impl Given {
    fn of_flags(args: &SearchArgs, path: &Path, bytes: Bytes) -> Result<Given, Failure> {
        Ok(Given {
            path: path.to_owned(),
            bytes,
            options: args.options.options(path),
            constants: args.values.constants.clone(),
            flags: args.launch.written()?,
            program: None,
        })
    }
}

fn of_bytes(
    args: &SearchArgs,
    given: Given,
    context: &Context,
    ledger: &SharedLedger,
) -> Result<Finished, Failure> {
    let Given {
        path,
        bytes,
        options,
        constants,
        flags,
        program,
    } = &given;
    let path = path.as_path();
    let file = source::open(path, bytes)?;
    let text = std::str::from_utf8(bytes).ok().filter(|_| file.is_source());
    let knobs = knobs(args, text, &[])?;
    let (origin, function) = origin(args, (path, &file, text), options, &knobs)?;
    let mut subject = Subject::new(&ThisMachine, origin, &function, constants.clone(), knobs);
    subject.path = path.to_owned();
    let arguments = subject.arguments();
    let arguments = arguments.map_err(|failure| original_failure(&function, &failure))?;
    let asked = Asked {
        path,
        bytes,
        kernel: &function,
        arguments: &arguments,
        options: options.clone(),
        constants,
    };
    let mut notes = Vec::new();
    let flags = match program {
        Some(program) => program.complete(flags, &arguments, &mut notes)?,
        None => flags.clone(),
    };
    let found = asked.launch(flags, context)?;
    let described = found.launch.comment(&function);
    let mut launch = FileLaunch::new(found, args.tolerance)?;
    launch.may_be_slower = args.allow_slower;
    if let Some(program) = program {
        launch.counts = program.counts();
    }
    if let Some(why) = subject.idle_knob(launch.geometry()) {
        return Err(Failure::usage(why).advice(
            "a knob is a function constant, a macro of the source (#define TM 4), or a name in --grid or --threadgroup",
        ));
    }
    // A candidate that is only predicted runs at no other sizes.
    if args.candidate.is_none() || args.prove.is_some() {
        prepare(args, context, &subject, &mut launch)?;
    }
    if launch.timed().is_empty() && program.is_none() {
        notes.push(
            "the launch is in plain numbers, so nothing is proven about others: name sizes with --size".to_owned(),
        );
    }
    let launched = &launch.launched.launch;
    let flags = |geometry: &Geometry, knobs: &[Setting]| match changed(launched, geometry, knobs) {
        Some(changed) => {
            let values = knobs.iter();
            let values = values.map(|knob| format!("--size {}={} ", knob.name, knob.value));
            values.collect::<String>() + &changed.shape()
        }
        None => String::new(),
    };
    let head = |report: &Report| {
        let after = changed(launched, &report.geometry, &report.knobs);
        let comment = after.map(|after| after.comment(&report.kernel));
        format!(
            "// {} by {}\n// {}\n",
            report.kernel,
            report.recipes.join(" "),
            comment.unwrap_or_default()
        )
    };
    let target = match &args.program {
        Some(recording) => format!("--program {} -f {function}", recording.display()),
        None => args.target.clone().unwrap_or_default(),
    };
    let identity = match text {
        Some(text) => text.to_owned(),
        None => Fingerprint::default().with(bytes).text(),
    };
    let task = Task {
        subject,
        launch: &launch,
        tolerance: launch.tolerance_in_words(),
        target: &target,
        share: program.as_ref().map(InProgram::share),
        identity: format!(
            "{function} {described} {constants:?} {:?}\n{identity}",
            launch.counts
        ),
        path: path.display().to_string(),
        name: function,
        notes,
        described: vec![described],
        flags: &flags,
        head: &head,
    };
    tune(args, context, task, ledger)
}

/// Gives a launch its oracle and the sizes it is proven at.
fn prepare(
    args: &SearchArgs,
    context: &Context,
    subject: &Subject<'_>,
    launch: &mut FileLaunch,
) -> Result<(), Failure> {
    let function = &subject.function;
    if let Some(text) = &args.oracle {
        launch.oracle = Some(oracle(text, launch, args.tolerance)?);
    }
    let given = launch.cases();
    let fixed: &FileLaunch = launch;
    let spinner = spinner(context, &format!("trying sizes of {function}"));
    let plan = match launch.counts.is_empty() {
        true => suitable(subject, fixed, &given),
        false => as_given(subject, fixed, &given),
    };
    spinner.finish_and_clear();
    launch.plan = plan.map_err(|failure| original_failure(function, &failure))?;
    Ok(())
}

/// Where a file's kernel comes from, and its name.
fn origin(
    args: &SearchArgs,
    (path, file, text): (&Path, &File<'_>, Option<&str>),
    options: &SourceOptions,
    knobs: &Knobs,
) -> Result<(Origin, String), Failure> {
    let options = options.clone();
    // Names of knobs may have no value yet, so the source need not compile as it is.
    if let Some(text) = text.filter(|_| !knobs.knobs.is_empty()) {
        let named = args.function.clone().or_else(|| only_kernel(text));
        let function = named.ok_or_else(|| {
            Failure::usage("the kernel with the knobs is not named")
                .advice("say which with -f NAME")
        })?;
        return Ok((Origin::Source(text.to_owned(), options), function));
    }
    let library = source::library_as(path, file, &options)?;
    let chosen = library.choose(args.function.as_deref());
    let chosen = chosen.map_err(|error| source::failure(path, error))?;
    let [kernel] = chosen else {
        let names: Vec<&str> = chosen.iter().take(20).map(|k| k.name.as_str()).collect();
        let message = format!("{} has {} kernels", path.display(), chosen.len());
        return Err(
            Failure::usage(message).advice(format!("choose one with -f: {}", names.join(", ")))
        );
    };
    let name = kernel.name.clone();
    Ok(match text {
        Some(text) => (Origin::Source(text.to_owned(), options), name),
        None => (Origin::Library(library), name),
    })
}

/// The name of a source's kernel, if it has one.
fn only_kernel(text: &str) -> Option<String> {
    let mut found = text.split("kernel void ").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// The launch with another geometry; knobs become sizes.
fn changed(launch: &Written, geometry: &Geometry, knobs: &[Setting]) -> Option<Written> {
    let triple = |formulas: &[String]| extent(&formulas.join(",")).ok();
    let mut launch = launch.clone();
    launch.grid = Some(match geometry.groups.is_empty() {
        true => Grid::Threads(triple(&geometry.grid)?),
        false => Grid::Groups(triple(&geometry.groups)?),
    });
    launch.threadgroup = triple(&geometry.threadgroup);
    for (index, value) in &geometry.numbers {
        let added = launch.add("bytes", &format!("{index}=u32:{value}"));
        added.ok()?;
    }
    for knob in knobs {
        launch
            .sizes
            .extend(format!("{}={}", knob.name, knob.value).parse());
    }
    Some(launch)
}

/// The knobs that source, description and command line declare.
fn knobs(args: &SearchArgs, text: Option<&str>, described: &[String]) -> Result<Knobs, Failure> {
    let advice = "write // assay: tune TM = 1,2,4 and // assay: tune restrict TM * TN <= 16";
    let mut knobs = match text {
        Some(text) => Knobs::of_source(text)
            .map_err(|error| Failure::input(format!("a tune comment: {error}")).advice(advice))?,
        None => Knobs::default(),
    };
    for text in described {
        knobs
            .declare(text)
            .map_err(|error| Failure::input(format!("[tune]: {error}")))?;
    }
    for text in &args.knobs {
        knobs
            .add(text)
            .map_err(|error| Failure::usage(format!("--knob {error}")).advice("--knob TM=1,2,4"))?;
    }
    for text in &args.restrict {
        knobs.restrict(text).map_err(|error| {
            Failure::usage(format!("--restrict {error}")).advice("--restrict 'TM * TN <= 16'")
        })?;
    }
    Ok(knobs)
}

fn spinner(context: &Context, message: &str) -> ProgressBar {
    crate::progress::stage(message);
    if !context.progress {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner();
    spinner.set_message(message.to_owned());
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}
