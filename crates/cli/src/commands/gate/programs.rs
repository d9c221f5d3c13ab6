//! Programs that the gate holds: built and run in a checkout of the base and in the work tree, recorded, and predicted.
//!
//! Which programs, and how, the command line says or the configuration of the base; what a pull request writes into its own
//! configuration is told and not run. The programs themselves are the trees' own code all the same.

use super::Found;
use super::compare::Comparison;
use crate::commands::metal::run::{Watched, exit_code, is_there};
use crate::commands::trace::modelled::{self, Modelled};
use crate::context::Context;
use crate::failure::{Failure, Kind};
use crate::interrupt;
use assay_gate::{Config, Held, Limit, Measured, Place, Program, ProgramTime, Report};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Flags about programs.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Programs")]
pub(super) struct Programs {
    /// Hold the programs that the base's configuration names, too: they are built and run, with your rights
    #[arg(long, conflicts_with = "update")]
    programs: bool,

    /// Hold this program, which a shell runs in the folder of assay.toml, here and in a checkout of the base; may be repeated
    #[arg(long = "program", value_name = "NAME=COMMAND", value_parser = Program::named, conflicts_with = "update")]
    named: Vec<Program>,

    /// The command that builds the programs of --program before
    #[arg(long, value_name = "COMMAND", requires = "named")]
    build: Option<String>,

    /// What may grow by how much in those of --program: time, dispatches or bytes, like time:5%; may be repeated
    #[arg(long, value_name = "LIMIT", value_parser = limit, requires = "named")]
    fail_on: Vec<Limit>,

    /// Run those of --program with every access of every kernel checked
    #[arg(long, requires = "named")]
    check: bool,

    /// Of those of --program run no kernel whose results are not read
    #[arg(long, requires = "named", conflicts_with = "check")]
    no_execute: bool,
}

fn limit(text: &str) -> Result<Limit, String> {
    text.parse()
}

impl Programs {
    /// The programs of the command line.
    fn named(&self) -> Vec<Program> {
        let named = self.named.iter().map(|program| Program {
            build: self.build.clone(),
            fail_on: self.fail_on.clone(),
            check: self.check,
            execute: !self.no_execute,
            ..program.clone()
        });
        named.collect()
    }
}

/// Holds what is asked for, and adds it to the report.
pub(super) fn hold(
    args: &Programs,
    found: &Found,
    comparison: &Comparison<'_>,
    report: &mut Report,
    context: &Context,
) -> Result<(), Failure> {
    let base = comparison.base();
    let own = Some(&found.config);
    let (config, text) = match base {
        Some((_, text, config)) => (config, text),
        None => (own, found.text.as_str()),
    };
    let of_config = config.map_or(&[][..], |config| &config.program);
    let mut programs = args.named();
    match args.programs {
        true => programs.extend(of_config.iter().cloned()),
        false if !of_config.is_empty() => report.notes.push(format!(
            "programs are not run: {} of {}; --programs runs them, with the rights of this command",
            of_config.len(),
            found.name
        )),
        false => {}
    }
    if args.programs && programs.is_empty() {
        report.notes.push(match base {
            Some(_) => "--programs: the base's configuration names no program".to_owned(),
            None => format!("--programs: {} names no program", found.name),
        });
    }
    if programs.is_empty() {
        return Ok(());
    }
    if !is_there() {
        return Err(Failure::new(
            Kind::Missing,
            "programs need Metal for Linux, libassay_metal_api.so, which is not here",
        )
        .advice("assay metal sdk says where it is looked for"));
    }
    let chips = config
        .or(own)
        .map_or(&[][..], |config: &Config| &config.chips);
    let base = base.map(|(tree, ..)| tree);
    for program in &programs {
        let measured = |folder: &Path| measured(program, folder, chips, context);
        // The base's is read before anything of this tree runs.
        let before = match base {
            Some(tree) => Some(in_checkout(found, tree, &measured)?),
            None => None,
        };
        let head = words(measured(&found.root))?;
        report.hold(&Held {
            program,
            place: place(&found.name, text, &program.name),
            base: before,
            head,
        });
    }
    Ok(())
}

/// The line of a configuration that names a program; the first if none does.
fn place(file: &str, text: &str, name: &str) -> Place {
    let mut lines = (1..).zip(text.lines());
    let named =
        lines.find(|(_, line)| line.trim_start().starts_with("name") && line.contains(name));
    Place {
        file: file.to_owned(),
        line: named.map_or(1, |(number, _)| number),
        column: 0,
    }
}

type Outcome = Result<Measured, String>;

/// What is the program's fault as words, what is ours or the user's as a failure.
fn words(outcome: Result<Measured, Failure>) -> Result<Outcome, Failure> {
    match outcome {
        Ok(measured) => Ok(Ok(measured)),
        Err(failure) if failure.kind == Kind::Verdict => Ok(Err(failure.message)),
        Err(failure) => Err(failure),
    }
}

/// Runs in a checkout of a commit's tree, which goes away.
fn in_checkout(
    found: &Found,
    tree: &str,
    run: &dyn Fn(&Path) -> Result<Measured, Failure>,
) -> Result<Outcome, Failure> {
    let Some(repository) = &found.repository else {
        return Err(super::git::no_repository());
    };
    let folder = tempfile::tempdir()?;
    interrupt::remove_on_interrupt(folder.path());
    repository.check_out(tree, folder.path())?;
    let root = folder.path().join(found.prefix());
    match root.is_dir() {
        true => words(run(&root)),
        false => Ok(Err(format!("there was no folder {}", found.prefix()))),
    }
}

fn failed(what: String) -> Failure {
    Failure::new(Kind::Verdict, what)
}

/// Builds, runs, records and predicts a program in a folder. A verdict is what is wrong with the program.
fn measured(
    program: &Program,
    folder: &Path,
    chips: &[String],
    context: &Context,
) -> Result<Measured, Failure> {
    let limit = Duration::from_secs_f64(program.max_seconds);
    let scratch = tempfile::tempdir()?;
    interrupt::remove_on_interrupt(scratch.path());
    let (recording, reports) = (
        scratch.path().join("program.recording"),
        scratch.path().join("reports"),
    );
    File::create(&reports)?;
    let watched = Watched {
        recording: &recording,
        reports: &reports,
        check: program.check,
        execute: program.execute,
    };
    if let Some(build) = &program.build {
        ends_well(shell(build, folder), "it cannot be built", limit, &|code| {
            code == 0
        })?;
    }
    let mut command = shell(&program.run, folder);
    watched.set_environment(&mut command)?;
    // A checked run with reports ends with 1.
    let has_reports = || watched.reported().is_ok_and(|all| !all.is_empty());
    let is_fine = |code| code == 0 || program.check && code == 1 && has_reports();
    ends_well(command, "it does not run", limit, &is_fine)?;
    let mut measured = Measured {
        faults: watched.reported()?,
        ..Measured::default()
    };
    let recordings = recordings(&recording)?;
    if recordings.is_empty() {
        return Err(failed(
            "it commits no work to Metal: nothing was recorded (is it built against assay metal sdk?)".to_owned(),
        ));
    }
    for path in &recordings {
        add(&mut measured, path, chips, context)?;
    }
    Ok(measured)
}

/// A command line, in a shell that finds this program.
fn shell(line: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(folder)
        .stdin(Stdio::null());
    let program = std::env::current_exe().ok();
    let own = program
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
    command
}

/// The recordings of the processes of a run: the first one's has the name itself.
fn recordings(first: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = first
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let folder = std::fs::read_dir(first.parent().unwrap_or(Path::new(".")))?;
    let all = folder.filter_map(Result::ok).map(|entry| entry.path());
    let named = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|it| it.to_string_lossy().starts_with(&name))
    };
    let mut all: Vec<PathBuf> = all.filter(named).collect();
    // By length, since numbers of processes are other ones each time.
    all.sort_by_key(|path| path.metadata().map_or(0, |file| file.len()));
    Ok(all)
}

/// Adds what a process recorded.
fn add(
    measured: &mut Measured,
    path: &Path,
    chips: &[String],
    context: &Context,
) -> Result<(), Failure> {
    let recording = modelled::load(path, &Modelled::of(chips), context)?;
    let Some(program) = recording.program else {
        return Ok(());
    };
    measured.dispatches += program.dispatches;
    measured.bytes += program.read_bytes + program.written_bytes;
    for one in &program.unpredicted {
        measured
            .unpredicted
            .push(format!("{}: {}", one.kernel, one.reason));
    }
    for one in &program.chips {
        let us = |ms: f64| ms * 1e3;
        match measured.times.iter_mut().find(|time| time.chip == one.chip) {
            Some(time) => {
                time.us += us(one.gpu_ms);
                time.band = [
                    time.band[0] + us(one.low_ms),
                    time.band[1] + us(one.high_ms),
                ];
            }
            None => measured.times.push(ProgramTime {
                chip: one.chip.clone(),
                us: us(one.gpu_ms),
                band: [us(one.low_ms), us(one.high_ms)],
            }),
        }
    }
    Ok(())
}

/// Bytes and lines that are shown of what a command printed.
const SHOWN: (u64, usize) = (4096, 12);

/// Runs a command to its end. What it prints is shown where it fails.
fn ends_well(
    mut command: Command,
    what: &str,
    limit: Duration,
    is_fine: &dyn Fn(u8) -> bool,
) -> Result<(), Failure> {
    let mut printed = tempfile::tempfile()?;
    command
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?);
    let status = wait(&mut command, limit)?;
    let why = match status {
        Some(status) if is_fine(exit_code(status)) => return Ok(()),
        Some(status) => format!("it ended with {}", exit_code(status)),
        None => format!("it was ended after {} s (max_seconds)", limit.as_secs_f64()),
    };
    let length = printed.seek(SeekFrom::End(0))?;
    printed.seek(SeekFrom::Start(length.saturating_sub(SHOWN.0)))?;
    let mut end = Vec::new();
    printed.read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end);
    let lines: Vec<&str> = end.lines().filter(|line| !line.trim().is_empty()).collect();
    let lines = lines
        .get(lines.len().saturating_sub(SHOWN.1)..)
        .unwrap_or_default();
    let told = match lines.is_empty() {
        true => String::new(),
        false => format!("; it printed: {}", lines.join(" ⏎ ")),
    };
    Err(failed(format!("{what}: {why}{told}")))
}

/// How a command ends; none if it took too long. It has a process group of its own, so that all it started ends with it.
fn wait(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>, Failure> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let stopped = interrupt::requested();
        if stopped || start.elapsed() > limit {
            end(&mut child);
            return match stopped {
                true => Err(Failure::new(Kind::Interrupted, "stopped")),
                false => Ok(None),
            };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn end(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
