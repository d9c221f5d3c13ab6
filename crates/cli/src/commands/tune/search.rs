//! The search for a faster kernel: from the command line through a session to a report.

use super::file::FileLaunch;
use super::location;
use super::oracle::FileOracle;
use super::registry::RegistryLaunch;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::input;
use crate::interrupt;
use crate::launch::{LaunchArgs, Triple};
use crate::output::Output;
use crate::prediction::{Choice, Launched, launched, task};
use crate::relaunch;
use crate::source::{self, SourceArgs, ThisMachine};
use assay_bench::registry::Registry;
use assay_front::GivenConstant;
use assay_launch::extent;
use assay_predict::{MODEL, Target};
use assay_report::envelope::Envelope;
use assay_report::number::nanoseconds;
use assay_tune::attempts::{Database, Geometry, NewSession, SessionId, Stage};
use assay_tune::diff;
use assay_tune::fingerprint::Fingerprint;
use assay_tune::knobs::Knobs;
use assay_tune::report::{About, Report, Setting, text};
use assay_tune::session::{self, Found, Options, Progress, Surroundings};
use assay_tune::workbench::{Bench, Launch, Origin, Subject, instructions, suitable};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file, or a kernel of the registry
    #[arg(value_name = "FILE|NAME", required = true)]
    target: Option<String>,

    /// The kernel, when the file has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    launch: LaunchArgs,

    /// Bytes of threadgroup memory for an argument with [[threadgroup(I)]]
    #[arg(long, value_name = "I=BYTES")]
    tgmem: Vec<String>,

    /// A knob with its values, in place of the source's own; may be repeated
    #[arg(long = "knob", value_name = "NAME=VALUE[,VALUE...]")]
    knobs: Vec<String>,

    /// What every configuration of knobs satisfies, as in 'TM * TN <= 16'; may be repeated
    #[arg(long, value_name = "FORMULA")]
    restrict: Vec<String>,

    /// Search only this
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<Only>,

    /// The chip to make it faster on
    #[arg(long, value_name = "CHIP", default_value = assay_chip::DEFAULT_CHIP)]
    chip: String,

    /// Candidates to evaluate at most, the original included
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    evaluations: u32,

    /// How long to search: 90s, 5m, 1h; --resume continues where it ended
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    budget: Duration,

    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What says whether a file's kernel is right, besides the original: an expression (y[r] = sum(c < C: x[r, c])), a NumPy
    /// file or a command, with the kernel's own names; buffers that start as zeros are outputs. Kernels of the registry
    /// have theirs
    #[arg(
        long,
        value_name = "EXPRESSION|FILE.py|COMMAND",
        conflicts_with = "reference"
    )]
    oracle: Option<String>,

    /// What says so without an oracle
    #[arg(long, value_enum, default_value_t)]
    reference: Reference,

    /// How far floats that are added in another order may be from the original's, relative to the largest number of their
    /// buffer [default: 1e-4; 2e-2 for 16 bits]
    #[arg(long, value_name = "RELATIVE", value_parser = tolerance)]
    tolerance: Option<f64>,

    /// Continue the last session of the same kernel, launch, seed and evaluations; one that ended tells its result again
    #[arg(long)]
    resume: bool,

    /// The database of attempts
    #[arg(long, value_name = "FILE")]
    attempts: Option<PathBuf>,

    /// Write the faster kernel's source to FILE
    #[arg(long = "source", value_name = "FILE.metal")]
    save: Option<PathBuf>,

    /// Write the difference to FILE, for patch or git apply
    #[arg(long, value_name = "FILE.patch")]
    patch: Option<PathBuf>,

    /// A value for a function constant, by number or name; may be repeated. Others are 0 or false
    #[arg(long = "const", value_name = "INDEX|NAME=TYPE:VALUE")]
    constants: Vec<GivenConstant>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    options: SourceArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Reference {
    /// The kernel as it is
    #[default]
    Original,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// Values of knobs, in the source as it is
    Knobs,
    /// Rewritings, with knobs as they are
    Recipes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.tune.json
    Json,
}

fn duration(text: &str) -> Result<Duration, String> {
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write 90s, 5m or 1h".to_owned()),
    };
    let number: Option<f64> = number.trim().parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 1e6);
    let number = number.ok_or("write 90s, 5m or 1h")?;
    Ok(Duration::from_secs_f64(number * seconds))
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let sound = number.filter(|number| (0.0..=1.0).contains(number));
    sound.ok_or_else(|| "a number from 0 to 1".to_owned())
}

/// Instructions of all simdgroups up to which a launch is run whole on this CPU.
const AFFORDABLE: f64 = 1e8;
/// A gain no larger than this is a tie.
const TIE: f64 = 1.15;
/// Standard deviations between the middle and the end of a band that holds four of five.
const FOUR_OF_FIVE: f64 = 1.2816;

/// A kernel with its launch: what differs between files and the registry.
struct Task<'a, L: Launch> {
    subject: Subject<'a>,
    launch: &'a L,
    /// The kernel's name for people.
    name: String,
    /// Where a patch would be applied.
    path: String,
    /// What a session is about, in text.
    identity: String,
    notes: Vec<String>,
    /// A geometry as flags.
    flags: &'a dyn Fn(&Geometry, &[Setting]) -> String,
    /// The lines above a new source.
    head: &'a dyn Fn(&Report) -> String,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let target = args.target.as_deref().unwrap_or_default();
    let path = PathBuf::from(target);
    if path.is_file() || path.extension().is_some() {
        return of_file(args, &path, context);
    }
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let kernel = registry.kernel(target).map_err(|error| {
        Failure::usage(error.to_string())
            .advice("name a file with a launch, or a kernel that assay bench --list shows")
    })?;
    let launch = RegistryLaunch::new(kernel)?;
    let resolved = registry
        .source(kernel, None)
        .map_err(|error| Failure::input(error.to_string()))?;
    let origin = Origin::Source(resolved.text.clone(), args.options.options());
    let knobs = knobs(args, Some(&resolved.text), &kernel.tune)?;
    let function = launch.function.clone();
    let task = Task {
        subject: Subject::new(&ThisMachine, origin, &function, Vec::new(), knobs),
        identity: format!("{target} {}\n{}", launch.dtype, resolved.text),
        path: resolved.path.clone(),
        name: function,
        notes: Vec::new(),
        flags: &|geometry, _| RegistryLaunch::pass(geometry),
        head: &|report| format!("// {} by {}\n", report.kernel, report.recipes.join(" ")),
        launch: &launch,
    };
    tune(args, context, task)
}

fn of_file(args: &Args, path: &Path, context: &Context) -> CommandResult {
    let bytes = input::open(path)?;
    let file = source::open(path, &bytes)?;
    let text = std::str::from_utf8(&bytes)
        .ok()
        .filter(|_| file.is_source());
    let knobs = knobs(args, text, &[])?;
    let fail = |error: assay_front::Error| source::failure(path, error);
    let (origin, function) = match text {
        // A knob that the source leaves open is given its first value, so names may need one to compile.
        Some(text) if !knobs.knobs.is_empty() => {
            let named = args.function.clone();
            let function = named.ok_or_else(|| {
                Failure::usage("a kernel with knobs is named").advice("say which with -f NAME")
            });
            let only = only_kernel(text);
            let function = only.map_or(function, Ok)?;
            let options = args.options.options();
            (Origin::Source(text.to_owned(), options), function)
        }
        _ => {
            let library = source::library(path, &file, &args.options)?;
            let chosen = library.choose(args.function.as_deref()).map_err(fail)?;
            let [kernel] = chosen else {
                let names: Vec<&str> = chosen.iter().take(20).map(|k| k.name.as_str()).collect();
                let message = format!("{} has {} kernels", path.display(), chosen.len());
                return Err(Failure::usage(message)
                    .advice(format!("choose one with -f: {}", names.join(", "))));
            };
            let name = kernel.name.clone();
            match text {
                Some(text) => (
                    Origin::Source(text.to_owned(), args.options.options()),
                    name,
                ),
                None => (Origin::Library(library), name),
            }
        }
    };
    let found = launched(text, &function, &args.launch, &args.tgmem)?;
    let found = found.ok_or_else(task::no_launch)?;
    let described = relaunch::comment(&function, &found);
    let mut launch = FileLaunch::new(found, args.tolerance)?;
    let constants = args.constants.clone();
    let mut subject = Subject::new(&ThisMachine, origin, &function, constants, knobs);
    subject.path = path.to_owned();
    if let Some(why) = subject.idle_knob(launch.geometry()) {
        return Err(Failure::usage(why).advice(
            "a knob is a function constant, a macro of the source (#define TM 4), or a name in --grid or --threadgroup",
        ));
    }
    if let Some(text) = &args.oracle {
        let names = subject.arguments();
        let names = names.map_err(|failure| original_failure(&function, &failure))?;
        launch.oracle = Some(FileOracle::new(
            text,
            names,
            launch.written(),
            args.tolerance,
        )?);
    }
    let given = launch.given()?;
    let affordable = |sizes: &_| {
        instructions(&subject, &launch, sizes).is_ok_and(|instructions| instructions <= AFFORDABLE)
    };
    interrupt::cooperate();
    let spinner = spinner(context, &format!("trying sizes of {function}"));
    let plan = suitable(&subject, &launch, &given, &affordable);
    spinner.finish_and_clear();
    launch.plan = plan.map_err(|failure| original_failure(&function, &failure))?;
    let mut notes = Vec::new();
    if launch.timed().is_empty() {
        notes.push(
            "the launch is in plain numbers, so nothing is proven about others: name sizes with --size".to_owned(),
        );
    }
    let launched = &launch.launched;
    let flags = |geometry: &Geometry, knobs: &[Setting]| match changed(launched, geometry, knobs) {
        Some(changed) => {
            let values = knobs.iter();
            let values = values.map(|knob| format!("--size {}={} ", knob.name, knob.value));
            values.collect::<String>() + &relaunch::shape(&changed.launch)
        }
        None => String::new(),
    };
    let head = |report: &Report| {
        let after = changed(launched, &report.geometry, &report.knobs);
        let comment = after.map(|after| relaunch::comment(&report.kernel, &after));
        format!(
            "// {} by {}\n// {}\n",
            report.kernel,
            report.recipes.join(" "),
            comment.unwrap_or_default()
        )
    };
    let identity = match text {
        Some(text) => text.to_owned(),
        None => Fingerprint::default().with(&bytes).text(),
    };
    let task = Task {
        subject,
        launch: &launch,
        identity: format!("{function} {described} {:?}\n{identity}", args.constants),
        path: path.display().to_string(),
        name: function,
        notes,
        flags: &flags,
        head: &head,
    };
    tune(args, context, task)
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
fn changed(launched: &Launched, geometry: &Geometry, knobs: &[Setting]) -> Option<Launched> {
    let triple = |formulas: &[String]| Some(Triple(extent(&formulas.join(",")).ok()?));
    let mut launch = launched.launch.clone();
    (launch.grid, launch.groups) = match geometry.groups.is_empty() {
        true => (triple(&geometry.grid), None),
        false => (None, triple(&geometry.groups)),
    };
    launch.threadgroup = triple(&geometry.threadgroup);
    for (index, value) in &geometry.numbers {
        let value: String = value.split_whitespace().collect();
        launch.bytes.push(format!("{index}=u32:{value}"));
    }
    for knob in knobs {
        launch
            .sizes
            .extend(format!("{}={}", knob.name, knob.value).parse());
    }
    Some(Launched {
        launch,
        tgmem: launched.tgmem.clone(),
        by_flags: launched.by_flags,
    })
}

/// The knobs that source, description and command line declare.
fn knobs(args: &Args, text: Option<&str>, described: &[String]) -> Result<Knobs, Failure> {
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
    if !context.progress {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner();
    spinner.set_message(message.to_owned());
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// Runs a session and reports.
fn tune<L: Launch>(args: &Args, context: &Context, task: Task<'_, L>) -> CommandResult {
    let choice = Choice {
        chips: &args.chip,
        what_if: &[],
        chip_file: None,
    };
    let targets = choice.targets()?;
    let [target] = targets.as_slice() else {
        return Err(Failure::usage("--chip names one chip"));
    };
    let space = task.subject.knobs.space().map_err(|error| {
        let kind = match args.restrict.is_empty() && args.knobs.is_empty() {
            true => Kind::Input,
            false => Kind::Usage,
        };
        Failure::new(kind, error.to_string()).advice(error.advice())
    })?;
    if args.only == Some(Only::Knobs) && space.is_none() {
        return Err(Failure::usage(format!("{} has no knobs", task.name))
            .advice("declare some: // assay: tune TM = 1,2,4 in the source, or --knob TM=1,2,4"));
    }
    let options = options(args, target);
    let space = space.filter(|_| args.only != Some(Only::Recipes));
    let identity = Fingerprint::default()
        .with(task.identity.as_bytes())
        .with(
            format!(
                "{:?} {:?}",
                space.as_ref().map(|it| it.len()),
                task.subject.knobs
            )
            .as_bytes(),
        )
        .with(format!("{:?} {:?} {:?}", args.only, args.tolerance, args.oracle).as_bytes())
        .with(&options.error.to_le_bytes())
        .with(format!("{} {} {}", options.chip, options.model, options.seed).as_bytes())
        .with(&options.evaluations.to_le_bytes());
    let key = identity.text();
    let database = location::path(args.attempts.as_deref());
    let mut database = Database::open(&database).map_err(|error| location::failure(&error))?;
    let session = session_of(args, context, &mut database, &key, &task, &options)?;
    let bench = Bench::new(task.subject, task.launch, target, &task.identity);
    let found = searched(
        args,
        context,
        &bench,
        space.as_ref(),
        &options,
        (&mut database, session),
    )?;
    let mut notes = task.notes;
    notes.push(match target.is_stand_in() {
        true => format!("{} runs another instruction set; times are of M1 and M2 code", target.chip.title),
        false => "modelled and proven for this source compiled by assay: Apple's compiler may round and schedule differently".to_owned(),
    });
    let about = About {
        kernel: task.name.clone(),
        chip: args.chip.clone(),
        session: session.0,
        notes,
    };
    let mut report = Report::new(&found, about, task.flags);
    if report.improved && !report.recipes.is_empty() {
        report.source = (task.head)(&report) + &report.source;
    }
    save(args, &report, &task.path, found.original.source.as_deref())?;
    let shown = match args.format {
        Format::Text => text(&report, context.painter, context.width),
        Format::Json => Envelope::new("assay.tune", 1, &report).to_json(),
    };
    context.write(&shown)?;
    if report.improved && args.save.is_none() && args.format == Format::Text {
        context.note(&format!(
            "assay attempts show {} prints the source",
            found.winner.map_or(0, |winner| winner.ordinal)
        ));
    }
    Ok(Outcome::Fine)
}

fn options(args: &Args, target: &Target) -> Options {
    let constants = &target.constants;
    let wider = match target.is_stand_in() {
        true => constants.band_chip,
        false => 1.0,
    };
    let identity = format!("{:?} {:?}", target.chip, constants);
    let identity = assay_tune::fingerprint::of(&identity);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Options {
        seed: args.seed,
        evaluations: args.evaluations as usize,
        // A band of ratios is that of two predictions.
        error: (constants.band_pair * wider).ln() / FOUR_OF_FIVE / std::f64::consts::SQRT_2,
        tie: TIE,
        recipes: args.only != Some(Only::Knobs),
        chip: args.chip.clone(),
        model: format!("{MODEL} {}", &identity[..8]),
        now: now.map_or(0, |time| time.as_secs() as i64),
    }
}

fn session_of<L: Launch>(
    args: &Args,
    context: &Context,
    database: &mut Database,
    key: &str,
    task: &Task<'_, L>,
    options: &Options,
) -> Result<SessionId, Failure> {
    let fail = |error: assay_tune::attempts::Error| location::failure(&error);
    if args.resume {
        if let Some(session) = database.newest(key).map_err(fail)? {
            return Ok(session);
        }
        context.note("note: there is no session of this kernel, launch, seed and evaluations; a new one starts");
    }
    let new = NewSession {
        key,
        kernel: &task.name,
        chip: &args.chip,
        seed: args.seed,
        command: &format!(
            "assay tune {} --seed {} --evaluations {}",
            args.target.as_deref().unwrap_or_default(),
            args.seed,
            args.evaluations
        ),
        now: options.now,
    };
    database.start(&new).map_err(fail)
}

fn searched<L: Launch>(
    args: &Args,
    context: &Context,
    bench: &Bench<'_, L>,
    space: Option<&assay_tune::space::Space>,
    options: &Options,
    (database, session): (&mut Database, SessionId),
) -> Result<Found, Failure> {
    interrupt::cooperate();
    let bar = bar(args, context);
    let start = Instant::now();
    let progress = |progress: &Progress| {
        bar.set_position(progress.attempts as u64);
        let best = match (progress.original_us, progress.best_us) {
            (Some(original), Some(best)) => {
                format!(
                    "best {} ({:.2}×), ",
                    nanoseconds(best * 1e3),
                    original / best
                )
            }
            _ => String::new(),
        };
        bar.set_message(format!("{best}{}", progress.trying));
    };
    let surroundings = Surroundings {
        database,
        session,
        stop: &|| start.elapsed() >= args.budget,
        interrupted: &interrupt::requested,
        progress: &progress,
    };
    let found = session::run(bench, space, options, surroundings);
    bar.finish_and_clear();
    found.map_err(|error| match error {
        session::Error::Database(error) => location::failure(&error),
        session::Error::Original(failure) => original_failure(&bench.subject().function, &failure),
        session::Error::Interrupted => Failure::new(
            Kind::Interrupted,
            format!("stopped; session {} has what was finished", session.0),
        )
        .advice("--resume continues it"),
    })
}

fn bar(args: &Args, context: &Context) -> ProgressBar {
    if !context.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::from(args.evaluations));
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Why the original itself cannot be tuned.
fn original_failure(kernel: &str, failure: &assay_tune::attempts::Failure) -> Failure {
    let why = &failure.why;
    match failure.stage {
        Stage::Oracle => Failure::new(
            Kind::Verdict,
            format!("{kernel}: the oracle disagrees with the original: {why}"),
        )
        .advice("nothing is tuned that is not right: repair the kernel or the oracle"),
        Stage::Check | Stage::Results => Failure::new(
            Kind::Verdict,
            format!("{kernel}: the original does what no kernel may: {why}"),
        )
        .advice("assay run --check says more; repair it first"),
        Stage::Abandoned => Failure::input(format!("{kernel}: {why}")).advice(
            "loops whose end depends on data need that data: --bytes, --buffer I=FILE.npy or index:TYPE:SHAPE:BOUND",
        ),
        Stage::Compile => Failure::input(format!("{kernel}: {why}")),
        _ => Failure::usage(format!("{kernel}: {why}")).advice(
            "every argument needs contents: --buffer I=zeros:f32:SHAPE, --buffer I=random:f32:SHAPE, --bytes I=u32:N",
        ),
    }
}

/// Writes the files that were asked for.
fn save(args: &Args, report: &Report, path: &str, original: Option<&str>) -> Result<(), Failure> {
    if !report.improved {
        return Ok(());
    }
    let write = |path: &PathBuf, text: &str| {
        let mut output = Output::open(Some(path))?;
        output.write_all(text.as_bytes())?;
        output.finish()
    };
    if let Some(file) = &args.save {
        write(file, &report.source)?;
    }
    if let Some(file) = &args.patch {
        let before = original.unwrap_or_default();
        write(file, &diff::unified(path, before, &report.source))?;
    }
    Ok(())
}
