//! `assay trace record`, and the export of Instruments documents.

use super::known::Known;
use super::modelled::Modelled;
use super::selection::Selection;
use super::{inputs, report};
use crate::commands::metal::run as metal;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind};
use crate::interrupt;
use assay_trace::{read_toc, xctrace};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Record a program and report on it
///
/// On a Mac it runs xctrace with the Metal System Trace template, exports the tables the report needs and
/// shows it. On Linux it runs the program with Metal's API on the CPU (see assay metal), records what it
/// encodes and predicts the GPU times of --chip. Where that is not built it prints the two commands to run
/// on a Mac.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay trace record -- ./my-program --tokens 64
  assay trace record --time-limit 10s --keep run.trace --format html -o run.html -- python3 infer.py
  assay trace record --chip m2,m4-max --keep run.recording --no-execute=all -- ./llama-cli -m model.gguf")]
pub(crate) struct Args {
    /// The Instruments template
    #[arg(long, value_name = "NAME", default_value = xctrace::DEFAULT_TEMPLATE)]
    template: String,

    /// Stop after this time: 10s, 2m
    #[arg(long, value_name = "TIME")]
    time_limit: Option<String>,

    /// Keep the recording here: a .trace for Instruments, on Linux a .recording
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,

    /// On Linux: do not run kernels whose results the program does not read; with =all run none, only
    /// copies and fills: buffers that kernels would write keep what was in them
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "unread")]
    no_execute: Option<metal::Skipped>,

    /// How to show the result
    #[arg(long, value_enum, default_value_t = report::Format::Text)]
    format: report::Format,

    /// Rows per table in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    modelled: Modelled,

    #[command(flatten)]
    known: Known,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    if cfg!(target_os = "linux") && Xctrace::find().is_none() && metal::is_there() {
        return encoded(args, context);
    }
    let [record, export] =
        xctrace::shell_commands(&args.template, args.time_limit.as_deref(), &args.program);
    let tool = Xctrace::find().ok_or_else(|| {
        Failure::new(
            Kind::Missing,
            "recording needs a Mac with Xcode: there is no xctrace on this machine",
        )
        .advice(format!(
            "run these two commands on the Mac, copy the folder here, then: assay trace report exported/\n\n  {record}\n\n  {export}"
        ))
    })?;
    if let Some(path) = args.keep.as_ref().filter(|path| path.exists()) {
        return Err(Failure::usage(format!(
            "{} exists, and xctrace does not write over a recording",
            path.display()
        ))
        .advice(
            "give --keep another name, or remove the folder; `assay trace report` shows what is in it",
        ));
    }
    let folder = scratch()?;
    let trace = match &args.keep {
        Some(path) => path.clone(),
        None => folder.path().join("run.trace"),
    };
    context.note(&format!("recording {}", args.program.join(" ")));
    let arguments = xctrace::record_arguments(
        &args.template,
        args.time_limit.as_deref(),
        &trace.to_string_lossy(),
        &args.program,
    );
    // Ctrl-C reaches xctrace too, which then stops recording and saves: that is waited for.
    interrupt::cooperate();
    let recorded = tool.record(&arguments);
    let stopped = interrupt::requested();
    interrupt::stop_cooperating();
    // xctrace passes the target's exit status on, and complains about log archives: the
    // tables are complete all the same. Without a recording it did fail.
    if !trace.exists() {
        let message = recorded.err();
        let message = message.as_deref().unwrap_or("it made no recording");
        return match stopped {
            true => Err(Failure::new(
                Kind::Interrupted,
                "stopped before anything was recorded",
            )),
            false => Err(refused("xctrace could not record", message)),
        };
    }
    if stopped {
        context.note("stopped; exporting what was recorded until then");
    }
    let tables = export_bundle(&trace, context)?;
    let paths = [tables.path().to_owned()];
    let recording = inputs::load(&paths, args.selection.run, &args.modelled, context)?;
    let options = args.selection.options();
    let options = args.known.add_to(options, &args.modelled, context)?;
    report::show(
        &recording,
        &options,
        args.format,
        (args.top, false),
        context,
    )
}

/// Records what a program encodes, over Metal's API on this CPU, and models the GPU.
fn encoded(args: &Args, context: &Context) -> CommandResult {
    let folder = scratch()?;
    let recording = match &args.keep {
        Some(path) => path.clone(),
        None => folder.path().join("program.recording"),
    };
    let code = metal::recorded(&args.program, (&recording, args.no_execute))?;
    if code != 0 {
        context.note(&format!("the program ended with {code}"));
    }
    if !recording.exists() {
        return Err(Failure::input("the program committed no work: nothing was recorded").advice(
            "was it built against the headers of assay metal sdk? assay metal run -- PROGRAM says whether it used Metal",
        ));
    }
    let run = args.selection.run;
    let recording = inputs::load(&[recording], run, &args.modelled, context)?;
    let options = args.selection.options();
    let options = args.known.add_to(options, &args.modelled, context)?;
    let rows = (args.top, false);
    report::show(&recording, &options, args.format, rows, context)
}

/// Exports the tables the analysis uses from an Instruments document.
pub(crate) fn export_bundle(trace: &Path, context: &Context) -> Result<tempfile::TempDir, Failure> {
    let input = trace.to_string_lossy();
    let tool = Xctrace::find().ok_or_else(|| {
        Failure::new(
            Kind::Missing,
            format!("{input} is an Instruments document, which only xctrace on a Mac can read"),
        )
        .advice(format!(
            "run this on the Mac, copy the folder here, then: assay trace report exported/\n\n  {}",
            xctrace::export_command(&input)
        ))
    })?;
    let folder = scratch()?;
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let toc = place("toc.xml");
    tool.run(&xctrace::toc_arguments(&input, &toc))
        .map_err(|message| refused("xctrace could not export the table of contents", &message))?;
    let text = std::fs::read(&toc)
        .map_err(|error| Failure::input(format!("xctrace wrote no table of contents: {error}")))?;
    let runs = read_toc(&text).map_err(|error| inputs::failure(error, Some("toc.xml")))?;
    for run in &runs {
        let schemas = xctrace::tables_to_export(run);
        let together = place(&format!("run{}.xml", run.number));
        let arguments = xctrace::tables_arguments(&input, run.number, &schemas, &together);
        if context.progress {
            context.note(&format!("exporting {} tables", schemas.len()));
        }
        // One export that cannot be made whole takes its tables with it, so then each is asked for alone.
        if schemas.is_empty() || tool.run(&arguments).is_err() {
            let _ = std::fs::remove_file(&together);
            export_one_by_one(&tool, &input, run.number, &schemas, &place, context);
        }
        for (track, detail) in xctrace::details_to_export(run) {
            let output = place(&format!("run{}-{track}-{detail}.xml", run.number));
            let arguments = xctrace::detail_arguments(&input, run.number, track, detail, &output);
            if let Err(message) = tool.run(&arguments) {
                context.note(&format!("{detail} cannot be exported: {}", message.trim()));
            }
        }
    }
    Ok(folder)
}

fn export_one_by_one(
    tool: &Xctrace,
    input: &str,
    run: u32,
    schemas: &[&str],
    place: &dyn Fn(&str) -> String,
    context: &Context,
) {
    for schema in schemas {
        let output = place(&format!("run{run}-{schema}.xml"));
        let arguments = xctrace::table_arguments(input, run, schema, &output);
        if let Err(message) = tool.run(&arguments) {
            context.note(&format!("{schema} cannot be exported: {}", message.trim()));
        }
    }
}

/// A folder that is gone when the value is, or when Ctrl-C ends the program.
fn scratch() -> Result<tempfile::TempDir, Failure> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::input(format!("cannot make a folder: {error}")))?;
    interrupt::remove_on_interrupt(folder.path());
    Ok(folder)
}

fn refused(what: &str, message: &str) -> Failure {
    let failure = Failure::new(Kind::Missing, format!("{what}: {}", message.trim()));
    match xctrace::advice(message) {
        Some(advice) => failure.advice(advice),
        None => failure,
    }
}

/// Most bytes kept of what xctrace says while it records.
const MOST_KEPT: usize = 16 << 10;

/// Copies a stream as it comes, and keeps its beginning.
fn pass_on(from: &mut dyn Read, to: &mut dyn Write, kept: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let _ = to.write_all(bytes);
        let room = MOST_KEPT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

/// xctrace, by way of xcrun.
struct Xctrace(PathBuf);

impl Xctrace {
    /// Looks for xcrun where a shell would.
    fn find() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join("xcrun"))
            .find(|file| file.is_file())
            .map(Xctrace)
    }

    /// Records. What the program prints appears on our standard error, since standard output is the report's; the error
    /// is what xctrace said.
    fn record(&self, arguments: &[String]) -> Result<(), String> {
        let mut child = Command::new(&self.0)
            .arg("xctrace")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::from(std::io::stderr()))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut said = Vec::new();
        if let Some(mut stream) = child.stderr.take() {
            pass_on(&mut stream, &mut std::io::stderr(), &mut said);
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(()),
            false => Err(format!(
                "{} ({status})",
                String::from_utf8_lossy(&said).trim()
            )),
        }
    }

    /// Runs it; the error is what it said.
    fn run(&self, arguments: &[String]) -> Result<(), String> {
        let output = Command::new(&self.0)
            .arg("xctrace")
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let also = String::from_utf8_lossy(&output.stdout);
        let text = if said.trim().is_empty() { also } else { said };
        Err(format!("{} ({})", text.trim(), output.status))
    }
}
