//! `assay gate`: what must hold of a repository's kernels, for CI.

mod closure;
mod compare;
mod evaluate;
#[cfg(test)]
pub(crate) use execute::starts;
mod execute;
mod explain;
mod git;
mod guess;
mod init;
mod kernel;
mod launches;
#[cfg(test)]
mod mutants;
mod oracle;
mod plan;
mod programs;
mod store;
mod tree;
mod trials;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::interrupt;
use crate::output::Output;
use crate::prediction::Choice;
use assay_gate::render::{self, Style};
use assay_gate::{Baseline, Config, Report, Snapshot};
use assay_msl::beneath::Folders;
use assay_report::envelope::Envelope;
use compare::Comparison;
use git::Repository;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Check every kernel of a repository: that it compiles, is right, is clean, and costs no more than before
///
/// assay.toml says which kernels, how they are launched, on which chips, and what must hold; `assay gate init` writes
/// one. Every kernel must compile, compute what it did before bit for bit (or what its oracle says), and be clean under
/// the checks of assay run --check. Registers, occupancy, spills, instructions in the hot loop and predicted time may not
/// become worse by more than a tolerance. All figures are modelled; nothing needs a Mac.
///
/// Before is the file that `baseline` names, which --update writes, or a commit: --against origin/main takes the merge
/// base, from git's objects, without touching the work tree. What was found out is kept by content: a second run looks only at
/// what changed.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  assay gate init
  assay gate                               # against the baseline that assay.toml names
  assay gate --update                      # accept what is there now
  assay gate --against origin/main
  assay gate --against HEAD~1 kernels/softmax.metal -f 'softmax*'
  assay gate -o gate.html
  assay gate --against origin/main --programs
  assay gate --against origin/main --program infer='./infer --tokens 16' --build make --fail-on time:5%
  assay gate --against origin/main --format github --also sarif=gate.sarif --also markdown=summary.md

Exit code 1: something does not hold; the report says what, where and what to do.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Only kernels of these files
    files: Vec<PathBuf>,

    /// Only kernels that match this glob; may be repeated
    #[arg(short, long = "function", value_name = "GLOB")]
    functions: Vec<String>,

    /// The configuration [default: assay.toml in this folder or one above]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Compare with the merge base of this commit and HEAD
    #[arg(long, value_name = "COMMIT", conflicts_with = "update")]
    against: Option<String>,

    /// Write what is found to the baseline, as what must hold from now on
    #[arg(long)]
    update: bool,

    /// Show kernels and figures that did not change, too
    #[arg(long)]
    all: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write the report in another form as well; may be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = also)]
    also: Vec<(Format, PathBuf)>,

    #[command(flatten)]
    programs: programs::Programs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(init::Args),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For a job's summary or a comment
    Markdown,
    /// One page
    Html,
    /// For programs; follows schemas/assay.gate.json
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit's XML, for CI servers
    Junit,
    /// Workflow commands that annotate lines on GitHub
    Github,
}

fn also(text: &str) -> Result<(Format, PathBuf), String> {
    let (format, file) = text.split_once('=').ok_or("write FORMAT=FILE")?;
    let format = <Format as clap::ValueEnum>::from_str(format, false)?;
    Ok((format, PathBuf::from(file)))
}

/// The usual name of a configuration.
const CONFIG: &str = "assay.toml";

/// Bytes of a configuration.
const LARGEST: u64 = 4 << 20;

/// A configuration and where it lies.
struct Found {
    config: Config,
    /// Its text.
    text: String,
    /// The name of its file, in `root`.
    name: String,
    root: PathBuf,
    repository: Option<Repository>,
}

impl Found {
    /// The folders that the configuration may name files of.
    fn allowed(&self) -> Folders {
        let repository = self.repository.as_ref();
        Folders::new([repository.map_or(&self.root, |repository| &repository.root)])
    }

    fn prefix(&self) -> String {
        let repository = self.repository.as_ref();
        repository.map_or(String::new(), |repository| {
            tree::prefix(&repository.root, &self.root)
        })
    }
}

/// A baseline that is not the repository's.
fn outside(name: &str) -> Failure {
    Failure::input(format!("baseline: {name} is outside the repository"))
        .advice("name a file beside assay.toml: baseline = \"assay-baseline.json\"")
}

/// The configuration of the folder, or of the nearest one above that has one.
fn find(args: &Args) -> Result<Found, Failure> {
    let path = match &args.config {
        Some(path) => path.clone(),
        None => {
            let here = std::env::current_dir()?;
            let mut folders = here.ancestors().map(|folder| folder.join(CONFIG));
            folders.find(|path| path.is_file()).ok_or_else(|| {
                Failure::usage(format!("there is no {CONFIG} here or in a folder above"))
                    .advice("`assay gate init` writes one from the kernels it finds")
            })?
        }
    };
    // A link of this name would be followed to what is not the repository's to name.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let cannot = |error| Failure::input(format!("cannot read {}: {error}", path.display()));
    let root = folder.canonicalize().map_err(cannot)?;
    let bytes = Folders::new([&root]).read(&path, LARGEST);
    let bytes = bytes.map_err(|refused| Failure::input(refused.message))?;
    let shown = path.display();
    let text =
        std::str::from_utf8(&bytes).map_err(|_| Failure::input(format!("{shown} is not text")))?;
    let config = Config::parse(text).map_err(|error| {
        Failure::input(format!("{shown}: {error}")).advice(
            "the guide's chapter on the gate lists every key; `assay gate init` writes an example",
        )
    })?;
    let name = path.file_name().unwrap_or_default();
    Ok(Found {
        config,
        text: text.to_owned(),
        name: name.to_string_lossy().into_owned(),
        repository: Repository::around(&root),
        root,
    })
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    if let Some(Command::Init(args)) = &args.command {
        return init::run(args, context);
    }
    let mut found = find(args)?;
    if args.against.is_none() && args.update && found.config.baseline.is_none() {
        return Err(
            Failure::usage("--update writes a baseline, and assay.toml names none")
                .advice("add a line at its top: baseline = \"assay-baseline.json\""),
        );
    }
    restrict(args, &mut found)?;
    interrupt::cooperate();
    let comparison = Comparison::new(&found, args.against.as_deref(), args.update)?;
    let progress = Progress::new(context, comparison.files());
    let (mut report, head) = comparison.judge(&|| progress.step())?;
    progress.finish();
    // Kernels are judged by now: a program may do what whoever runs the gate may do.
    programs::hold(&args.programs, &found, &comparison, &mut report, context)?;
    if args.update {
        return update(args, &found, &head, &report, context);
    }
    let text = rendered(&report, args.format, args, &found, context);
    for (format, path) in &args.also {
        let text = rendered(
            &report,
            *format,
            args,
            &found,
            &Context {
                painter: assay_report::style::Painter::new(false),
                ..context.clone()
            },
        );
        let mut output = Output::open(Some(path))?;
        output.write_all(text.as_bytes())?;
        output.finish()?;
    }
    context.write(&text)?;
    Ok(match report.passed {
        true => Outcome::Fine,
        false => Outcome::Failed,
    })
}

/// Leaves out what the command line does not ask for.
fn restrict(args: &Args, found: &mut Found) -> Result<(), Failure> {
    if !args.files.is_empty() || !args.functions.is_empty() {
        if args.update {
            return Err(
                Failure::usage("--update writes the figures of every kernel")
                    .advice("leave files and -f out"),
            );
        }
        let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let files: Vec<String> = args
            .files
            .iter()
            .map(|path| {
                let whole = whole(path);
                let inside = whole.strip_prefix(&found.root).unwrap_or(&whole);
                inside.display().to_string()
            })
            .collect();
        found.config.only(&files, &args.functions);
    }
    Ok(())
}

fn rendered(
    report: &Report,
    format: Format,
    args: &Args,
    found: &Found,
    context: &Context,
) -> String {
    let prefix = found.prefix();
    match format {
        Format::Text => {
            let style = Style {
                painter: context.painter,
                width: context.width,
                all: args.all,
            };
            render::text(report, &style)
        }
        Format::Markdown => render::markdown(report, &prefix),
        Format::Html => render::html(report),
        Format::Json => Envelope::new("assay.gate", 1, report).to_json() + "\n",
        Format::Sarif => render::sarif(report, &prefix),
        Format::Junit => render::junit(report),
        Format::Github => render::github(report, &prefix),
    }
}

/// Writes the baseline. What is not right in itself is told, and not accepted by being written down.
fn update(
    args: &Args,
    found: &Found,
    head: &Snapshot,
    report: &Report,
    context: &Context,
) -> CommandResult {
    let name = found.config.baseline.as_deref().unwrap_or_default();
    let path = found.root.join(name);
    if !found.allowed().holds(&path) {
        return Err(outside(name));
    }
    let mut output = Output::open(Some(&path))?;
    output.write_all(Baseline::new(head).to_json().as_bytes())?;
    output.finish()?;
    let kernels = head.kernels.len();
    let plural = if kernels == 1 { "" } else { "s" };
    context.note(&format!("{name}: {kernels} kernel{plural}"));
    context.write(&rendered(report, args.format, args, found, context))?;
    Ok(match report.passed {
        true => Outcome::Fine,
        false => Outcome::Failed,
    })
}

/// Files done, on a terminal.
struct Progress(indicatif::ProgressBar);

impl Progress {
    fn new(context: &Context, files: usize) -> Progress {
        if !context.progress {
            return Progress(indicatif::ProgressBar::hidden());
        }
        let bar = indicatif::ProgressBar::new(files as u64);
        let style = indicatif::ProgressStyle::with_template("{pos} of {len} files {wide_bar}");
        Progress(match style {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        })
    }

    fn step(&self) {
        self.0.inc(1);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The chips of a configuration.
fn targets(config: &Config) -> Result<Vec<assay_predict::Target>, Failure> {
    let choice = Choice {
        chips: &config.chips.join(","),
        what_if: &[],
        chip_file: None,
    };
    choice
        .targets()
        .map_err(|failure| Failure::input(format!("chips: {}", failure.message)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<assay_gate::Report>("assay.gate", 1);
        crate::schema::check_bare::<assay_gate::Baseline>("assay.gate-baseline", 1);
    }
}
