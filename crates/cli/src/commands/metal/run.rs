//! `assay metal run`: runs a program with the environment in which it finds Metal.

use super::clock;
use super::reports::{self, Found, Report, Summary};
use super::sdk;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use assay_report::envelope::Envelope;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

#[cfg(test)]
use schemars::JsonSchema;

/// Run a program that uses Metal, on the CPU
///
/// The program finds Metal in the folder that `assay metal sdk` prints. Standard input, output and error are the program's own;
/// reports and a summary go to standard error, and to FILE of -o as JSON. Ends as the program ends; a run whose program ends well
/// but which has reports ends with 1. Times are this CPU's (host); with --clock modelled the program is told the GPU times of a model of
/// the chip.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay metal run -- ./main
  assay metal run --check -- python3 train.py
  assay metal run --check --stop-at-first -- ./tests --gtest_filter=Matmul*
  assay metal run --check --suppress known.txt -o reports.json -- ctest --test-dir build
  assay metal run --clock modelled --chip m2 -- ./main
  assay metal run --record run.recording --no-execute=all -- ./llama-cli -m model.gguf

A suppressions file has a line RULE:KERNEL for what is known, with * for any text, and # before comments:
  # the tests make their output too short
  out-of-bounds:is_*_i64
  missing-barrier:*")]
pub(crate) struct Args {
    /// Check every access of every dispatch, and the order of dispatches
    #[arg(long)]
    check: bool,

    /// The chip the device says it is: m1, m1-pro, m2, m2-pro, m3, m4
    #[arg(long, value_name = "CHIP", value_parser = ["m1", "m1-pro", "m2", "m2-pro", "m3", "m4"])]
    chip: Option<String>,

    /// Whose times the program is told as the GPU's: of this CPU, or of a model of the chip
    #[arg(long, value_name = "CLOCK", default_value = "host")]
    clock: WhichClock,

    /// End the program at the first report, with its exit code 1
    #[arg(long)]
    stop_at_first: bool,

    /// A file with reports that are known
    #[arg(long, value_name = "FILE")]
    suppress: Option<PathBuf>,

    /// Report messages to freed objects with their class
    #[arg(long)]
    zombies: bool,

    /// List the objects that are left when the program ends, by class
    #[arg(long)]
    leaks: bool,

    #[command(flatten)]
    recorded: Recorded,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Where the GPU's times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
enum WhichClock {
    /// This CPU
    Host,
    /// A model of the chip
    Modelled,
}

/// Kernels that do not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Skipped {
    /// Those whose results the program does not read
    Unread,
    /// All
    All,
}

/// What is recorded of a program.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Recorded {
    /// Write what the program encodes to FILE: `assay trace report FILE --chip m2` predicts GPU times from it. Processes after the
    /// first write FILE.PID
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Do not run kernels whose results the program does not read; with =all run none, only copies and fills: buffers that kernels
    /// would write keep what was in them
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "unread", conflicts_with = "check")]
    no_execute: Option<Skipped>,
}

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Document {
    /// The program and its arguments.
    program: Vec<String>,
    /// How it ended; 128 and more are signals.
    exit_code: u8,
    /// Whether every dispatch was checked.
    checked: bool,
    /// Whose times the program was told as the GPU's.
    clock: WhichClock,
    /// Processes that used Metal.
    processes: u64,
    /// What all of them did. Its seconds are those of this CPU.
    summary: Summary,
    /// Different reports, in the order found.
    reports: Vec<Report>,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let sdk = sdk::make(None)?;
    let (program, arguments) = args
        .program
        .split_first()
        .ok_or_else(|| Failure::usage("which program?"))?;
    // Opened first: a place that cannot be written is known before a long run.
    let output = context
        .out
        .is_some()
        .then(|| context.output())
        .transpose()?;
    let reports = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(program);
    command.args(arguments);
    set_environment(&mut command, args, &sdk, reports.path())?;
    args.recorded.set_environment(&mut command)?;
    let clock = match args.clock {
        WhichClock::Host => None,
        WhichClock::Modelled => Some(clock::serve(&args.chip())?),
    };
    if let Some(clock) = &clock {
        command.env("ASSAY_METAL_CLOCK", clock.path());
    }
    // Ctrl-C goes to the program too, which may want to end in its own way.
    crate::interrupt::cooperate();
    let status = command.status();
    crate::interrupt::stop_cooperating();
    let status = status.map_err(|error| not_started(program, &error))?;
    let found = reports::read(reports.path())?;
    let own = exit_code(status);
    let code = if own == 0 && args.check && found.summary.is_wrong() {
        1
    } else {
        own
    };
    tell(&found, args, context);
    if let Some(mut output) = output {
        use std::io::Write as _;
        let document = document(args, own, found);
        output.write_all(
            Envelope::new("assay.metal-run", 1, document)
                .to_json()
                .as_bytes(),
        )?;
        output.write_all(b"\n")?;
        output.finish()?;
    }
    Ok(Outcome::Program(code))
}

fn document(args: &Args, exit_code: u8, found: Found) -> Document {
    Document {
        program: args
            .program
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        exit_code,
        checked: args.check,
        clock: args.clock,
        processes: found.processes,
        summary: found.summary,
        reports: found.reports,
    }
}

/// A summary over processes, where no single process has told it; and advice where there was nothing to run.
fn tell(found: &Found, args: &Args, context: &Context) {
    let all = &found.summary;
    if found.processes == 0 {
        context.note(
            "assay metal: the program used no Metal: it did not load the library, or was killed",
        );
    } else if found.processes > 1 {
        context.note(&format!(
            "assay metal: in all {} processes: {} dispatches, {:.3} s in kernels (host time); {} reports, {} faults, {} wrong uses, {} races",
            found.processes, all.dispatches, all.host_seconds, all.reports, all.faults, all.wrong_uses, all.races
        ));
        if let Some(gpu) = &all.gpu {
            context.note(&format!(
                "assay metal: GPU times: {:.6} s in command buffers, modelled for {}",
                gpu.modelled_seconds, gpu.chip
            ));
        }
    } else if !args.check && all.faults > 0 {
        context.note("assay metal: --check names the source line of a fault");
    }
}

impl Args {
    /// The chip, which the program's environment may name too.
    fn chip(&self) -> String {
        let named = self.chip.clone();
        let named = named.or_else(|| std::env::var("ASSAY_METAL_CHIP").ok());
        named.unwrap_or_else(|| "m2".to_owned())
    }
}

impl Recorded {
    fn set_environment(&self, command: &mut Command) -> Result<(), Failure> {
        if let Some(path) = &self.record {
            command.env("ASSAY_METAL_RECORD", fresh(path)?);
        }
        if let Some(skipped) = self.no_execute {
            let which = match skipped {
                Skipped::Unread => "1",
                Skipped::All => "all",
            };
            command.env("ASSAY_METAL_NO_EXECUTE", which);
        }
        Ok(())
    }
}

/// A place for a recording: what was there is removed, since processes write over nothing.
fn fresh(path: &Path) -> Result<PathBuf, Failure> {
    let fail = |error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    std::path::absolute(path).map_err(fail)
}

/// Returns true if Metal's API for this system is beside the program.
pub(crate) fn is_there() -> bool {
    super::library::find().is_ok()
}

/// Runs a program that writes its recording; how it ended.
pub(crate) fn recorded(
    program: &[String],
    (recording, no_execute): (&Path, Option<Skipped>),
) -> Result<u8, Failure> {
    let sdk = sdk::make(None)?;
    let (first, arguments) = program
        .split_first()
        .ok_or_else(|| Failure::usage("which program?"))?;
    let mut command = Command::new(first);
    // Standard output is the report's.
    command.args(arguments).stdout(std::io::stderr());
    find_library(&mut command, &sdk);
    let recorded = Recorded {
        record: Some(recording.to_owned()),
        no_execute,
    };
    recorded.set_environment(&mut command)?;
    crate::interrupt::cooperate();
    let status = command.status();
    crate::interrupt::stop_cooperating();
    let status = status.map_err(|error| not_started(OsStr::new(first), &error))?;
    Ok(exit_code(status))
}

/// Where a program that another command starts leaves what it does.
pub(crate) struct Watched<'a> {
    /// The recording of what it encodes.
    pub(crate) recording: &'a Path,
    /// What is reported.
    pub(crate) reports: &'a Path,
    /// Every access is checked.
    pub(crate) check: bool,
    /// Kernels run whose results it does not read.
    pub(crate) execute: bool,
}

impl Watched<'_> {
    /// Sets the environment of a command so.
    pub(crate) fn set_environment(&self, command: &mut Command) -> Result<(), Failure> {
        find_library(command, &sdk::make(None)?);
        command.env("ASSAY_METAL_REPORT", self.reports);
        if self.check {
            command.env("ASSAY_METAL_CHECK", "1");
        }
        let recorded = Recorded {
            record: Some(self.recording.to_owned()),
            no_execute: (!self.execute).then_some(Skipped::Unread),
        };
        recorded.set_environment(command)
    }

    /// What was reported, each in a line.
    pub(crate) fn reported(&self) -> Result<Vec<String>, Failure> {
        let found = reports::read(self.reports)?;
        Ok(found.reports.iter().map(Report::line).collect())
    }
}

/// Lets a program find Metal in the folder of the SDK.
fn find_library(command: &mut Command, sdk: &Path) {
    command.env(
        "LD_LIBRARY_PATH",
        in_front(&sdk.join("lib"), "LD_LIBRARY_PATH"),
    );
    command.env("PYTHONPATH", in_front(&sdk.join("python"), "PYTHONPATH"));
}

fn set_environment(
    command: &mut Command,
    args: &Args,
    sdk: &Path,
    reports: &Path,
) -> Result<(), Failure> {
    find_library(command, sdk);
    command.env("ASSAY_METAL_REPORT", reports);
    for (name, is_on) in [
        ("ASSAY_METAL_CHECK", args.check),
        ("ASSAY_METAL_STOP", args.stop_at_first),
        ("ASSAY_METAL_ZOMBIES", args.zombies),
        ("ASSAY_METAL_LEAKS", args.leaks),
    ] {
        if is_on {
            command.env(name, "1");
        }
    }
    if let Some(chip) = &args.chip {
        command.env("ASSAY_METAL_CHIP", chip);
    }
    if let Some(path) = &args.suppress {
        let path = path
            .canonicalize()
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        command.env("ASSAY_METAL_SUPPRESS", path);
    }
    Ok(())
}

/// A folder in front of those that a variable of the environment has.
fn in_front(folder: &Path, variable: &str) -> OsString {
    let mut all = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        all.push(":");
        all.push(rest);
    }
    all
}

fn not_started(program: &OsStr, error: &std::io::Error) -> Failure {
    let shown = program.to_string_lossy();
    let failure = Failure::new(Kind::Input, format!("{shown} cannot be started: {error}"));
    match error.kind() {
        std::io::ErrorKind::NotFound if !shown.contains('/') && Path::new(program).exists() => {
            failure.advice(format!("it is in this folder: write ./{shown}"))
        }
        std::io::ErrorKind::PermissionDenied => failure.advice(format!("a script or a source? chmod +x {shown} if it is a program")),
        _ if error.raw_os_error() == Some(8) => {
            failure.advice("a program built for macOS does not run here: build it for Linux, with the headers of assay metal sdk")
        }
        _ => failure,
    }
}

pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return u8::try_from(128 + signal).unwrap_or(255);
        }
    }
    status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(255)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.metal-run", 1);
    }
}
