//! `assay gate init`: a configuration from what is in a repository.
//!
//! Every `.metal` file is compiled. Headers that are not found are looked for in the repository, and their folders become
//! `include`. Kernels without a comment `// assay: launch` get a launch that was guessed from their arguments, if with it
//! they are clean under the checks of `assay run --check`; others are named, so that someone who knows can write it.

use super::evaluate::{Evaluator, Overrides, costs_chip};
use super::execute::{Limits, Subject};
use super::git::Repository;
use super::tree::Tree;
use super::{CONFIG, guess, targets};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::output::Output;
use assay_front::Library;
use assay_gate::{Config, FIGURES, FileFailure};
use assay_launch::Written;
use assay_launch::guess::Guess;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

/// Write assay.toml from the kernels of this folder
///
/// Compiles every .metal file, finds the folders of headers, reads launches from comments, and guesses launches for
/// the other kernels: a guess is kept if the kernel is clean with it under the checks of assay run --check. Look at what
/// was guessed; it is marked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay gate init
  assay gate init --chip m1,m3-max --force")]
pub(super) struct Args {
    /// Chips, separated by commas
    #[arg(long, value_name = "CHIPS", default_value = assay_chip::DEFAULT_CHIP)]
    chip: String,

    /// Replace a configuration that is there
    #[arg(long)]
    force: bool,
}

/// What a source was found to be.
struct Source {
    file: String,
    include: Vec<String>,
    kernels: Vec<Known>,
    failure: Option<FileFailure>,
}

/// A kernel and where its launch comes from.
struct Known {
    function: String,
    launch: Launch,
}

enum Launch {
    /// In the source; with sizes to run at, if its own are large for a CPU and the kernel is clean at smaller ones.
    Comment(Vec<String>),
    Guessed(Box<Guess>),
    Missing,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let root = std::env::current_dir()?;
    let path = context.out.clone().unwrap_or_else(|| root.join(CONFIG));
    if path.exists() && !args.force {
        return Err(
            Failure::usage(format!("{} is there already", path.display()))
                .advice("--force replaces it"),
        );
    }
    let repository = Repository::around(&root);
    let tree = Tree::here(&root, repository.as_ref())?;
    let files: Vec<&String> = tree
        .files
        .iter()
        .filter(|file| file.ends_with(".metal"))
        .collect();
    if files.is_empty() {
        return Err(Failure::input("there is no .metal file in this folder or below")
            .advice("metallibs and bitcode may be gated too: write assay.toml by hand, with files = [\"*.metallib\"]"));
    }
    let chips: Vec<String> = args
        .chip
        .split(',')
        .map(|chip| chip.trim().to_owned())
        .collect();
    let sources: Result<Vec<Source>, Failure> = files
        .par_iter()
        .map(|file| look(&tree, file, &chips))
        .collect();
    let sources = sources?;
    let text = written(&sources, &chips);
    let mut output = Output::open(Some(&path))?;
    output.write_all(text.as_bytes())?;
    output.finish()?;
    context.note(&summary(&path.display().to_string(), &sources));
    Ok(Outcome::Fine)
}

/// Folders of headers that are tried for one file.
const MOST_FOLDERS: usize = 8;

fn look(tree: &Tree, file: &str, chips: &[String]) -> Result<Source, Failure> {
    let mut include: Vec<String> = Vec::new();
    loop {
        let config = configuration(file, &include, chips)?;
        let group = config
            .kernels
            .first()
            .ok_or_else(|| Failure::input("no group"))?;
        let targets = targets(&config)?;
        let overrides = Overrides::new();
        let evaluator = Evaluator {
            config: &config,
            chip: costs_chip(&targets)?,
            targets,
            here: tree,
            overrides: &overrides,
            trusted: None,
            done: &|| {},
        };
        let unit = evaluator.unit(tree, file, group)?;
        let failure = match evaluator.compile(&unit, false)? {
            Ok(library) => {
                let kernels = library.kernels().par_iter();
                let kernels = kernels.map(|kernel| Known {
                    launch: launch(tree, &unit.text, &library, &kernel.name),
                    function: kernel.name.clone(),
                });
                return Ok(Source {
                    file: file.to_owned(),
                    include,
                    kernels: kernels.collect(),
                    failure: None,
                });
            }
            Err(failure) => failure,
        };
        let folder = failure
            .as_ref()
            .and_then(|failure| missing_folder(tree, failure));
        match folder.filter(|folder| include.len() < MOST_FOLDERS && !include.contains(folder)) {
            Some(folder) => include.push(folder),
            None => {
                return Ok(Source {
                    file: file.to_owned(),
                    include,
                    kernels: Vec::new(),
                    failure,
                });
            }
        }
    }
}

/// The configuration of one file.
fn configuration(file: &str, include: &[String], chips: &[String]) -> Result<Config, Failure> {
    let quoted = |texts: &[String]| serde_json::json!(texts).to_string();
    let text = format!(
        "chips = {}\n[[kernels]]\nfiles = [\"**\"]\ninclude = {}\n",
        quoted(chips),
        quoted(include)
    );
    Config::parse(&text).map_err(|error| Failure::input(format!("{file}: {error}")))
}

/// The folder from which a header that was not found would be.
fn missing_folder(tree: &Tree, failure: &FileFailure) -> Option<String> {
    let name = failure.errors.iter().find_map(|error| {
        let name = error.message.strip_suffix("' file not found")?;
        name.strip_prefix('\'')
    })?;
    let end = format!("/{name}");
    let mut found = tree.files.iter().filter_map(|file| match file == name {
        true => Some(".".to_owned()),
        false => file.strip_suffix(&end).map(str::to_owned),
    });
    found.next()
}

fn launch(tree: &Tree, text: &str, library: &Library, function: &str) -> Launch {
    let subject = Subject {
        library,
        function,
        constants: &[],
        limits: Limits {
            max_steps: 1 << 20,
            time: Duration::from_secs(10),
        },
    };
    if let Ok(Some(written)) = Written::in_comments(text, function) {
        let smaller = guess::smaller(&subject, &written, tree);
        return Launch::Comment(smaller.unwrap_or_default());
    }
    match guess::launch(&subject, tree) {
        Some(guess) => Launch::Guessed(Box::new(guess)),
        None => Launch::Missing,
    }
}

/// Globs for files: the folders they are in, or everything below where that is shorter.
fn globs(files: &[&str]) -> Vec<String> {
    let folder = |file: &str| match file.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/*.metal"),
        None => "*.metal".to_owned(),
    };
    let folders: BTreeSet<String> = files.iter().map(|file| folder(file)).collect();
    match folders.len() {
        0..=6 => folders.into_iter().collect(),
        _ => vec!["**/*.metal".to_owned()],
    }
}

/// Globs for the folders all of whose kernels are in a group, and the names of other files.
fn whole_folders(files: &[&str], sources: &[Source]) -> Vec<String> {
    let folder = |file: &str| file.rsplit_once('/').map_or("", |(it, _)| it).to_owned();
    let own: BTreeSet<&str> = files.iter().copied().collect();
    let others = sources
        .iter()
        .filter(|source| !own.contains(source.file.as_str()));
    let mixed: BTreeSet<String> = others.map(|source| folder(&source.file)).collect();
    let named = files.iter().map(|file| match folder(file) {
        here if mixed.contains(&here) => (*file).to_owned(),
        here if here.is_empty() => "*.metal".to_owned(),
        here => format!("{here}/*.metal"),
    });
    let named: BTreeSet<String> = named.collect();
    named.into_iter().collect()
}

fn written(sources: &[Source], chips: &[String]) -> String {
    let quoted = |texts: &[String]| serde_json::json!(texts).to_string();
    let mut out = format!(
        "# What `assay gate` checks in this repository; `assay gate --help` and the guide say more.\n\
         chips = {}\n\n\
         # Figures kept in the repository, written by `assay gate --update`. Without this line compare with a commit:\n\
         # assay gate --against origin/main\n\
         # baseline = \"assay-baseline.json\"\n\n\
         # What a pull request may weaken of this file (gates of pull requests go by the list of their base), such as\n\
         # may_change = [\"accept\"]\n\n\
         # Per cent by which a figure may become worse; \"off\" only shows it.\n[tolerance]\n",
        quoted(chips)
    );
    for figure in FIGURES {
        if let Some(tolerance) = figure.tolerance {
            let _ = writeln!(out, "{} = {tolerance}  # {}", figure.name, figure.meaning);
        }
    }
    let mut groups: BTreeMap<&[String], Vec<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.kernels.is_empty()) {
        groups
            .entry(&source.include)
            .or_default()
            .push(&source.file);
    }
    let several = groups.len() > 1;
    let broken: Vec<&Source> = sources
        .iter()
        .filter(|source| source.failure.is_some())
        .collect();
    for (include, files) in &groups {
        let files: Vec<String> = match several {
            true => whole_folders(files, sources),
            false => globs(files),
        };
        let _ = write!(out, "\n[[kernels]]\nfiles = {}\n", quoted(&files));
        if !include.is_empty() {
            let _ = writeln!(out, "include = {}", quoted(include));
        }
        let sizes = run_sizes(sources, include);
        if !sizes.is_empty() {
            let sizes = quoted(&sizes);
            let _ = writeln!(
                out,
                "run_sizes = {sizes}  # to run on a CPU: the launches have larger ones"
            );
        }
        if !several && !broken.is_empty() {
            let names: Vec<String> = broken.iter().map(|source| source.file.clone()).collect();
            let _ = writeln!(out, "exclude = {}  # see below", quoted(&names));
        }
    }
    for source in &broken {
        let errors = source.failure.iter().flat_map(|failure| &failure.errors);
        let first = errors.map(|error| error.message.replace('\n', " ")).next();
        let _ = writeln!(
            out,
            "# {} does not compile by itself: {}",
            source.file,
            first.unwrap_or_default()
        );
    }
    out + &launches(sources)
}

/// Sizes to run the kernels of a group at.
fn run_sizes(sources: &[Source], include: &[String]) -> Vec<String> {
    let group = sources.iter().filter(|source| source.include == include);
    let kernels = group.flat_map(|source| &source.kernels);
    let sizes = kernels.flat_map(|known| match &known.launch {
        Launch::Comment(sizes) => sizes.as_slice(),
        _ => &[],
    });
    let sizes: BTreeSet<&String> = sizes.collect();
    sizes.into_iter().cloned().collect()
}

/// Kernels without a launch that are named.
const MOST_MISSING: usize = 50;

/// The table of launches: guessed ones, and names of kernels that have none.
fn launches(sources: &[Source]) -> String {
    let mut guessed = BTreeMap::new();
    let mut missing = BTreeSet::new();
    for known in sources.iter().flat_map(|source| &source.kernels) {
        match &known.launch {
            Launch::Comment(_) => {}
            Launch::Guessed(guess) => {
                let Guess(launch) = guess.as_ref();
                guessed.insert(&known.function, launch.to_string());
            }
            Launch::Missing => {
                missing.insert(&known.function);
            }
        }
    }
    if guessed.is_empty() && missing.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n# Launches of kernels whose source has no comment `// assay: launch`. Formulas over sizes are fine: --size N=4096 --grid N.\n[launch]\n",
    );
    if !guessed.is_empty() {
        out += "# Guessed, and clean with it; make them what your program does.\n";
    }
    for (function, flags) in guessed {
        let _ = writeln!(
            out,
            "{} = {}",
            serde_json::json!(function),
            serde_json::json!(flags)
        );
    }
    if !missing.is_empty() {
        out += "# Nobody says how these are launched, so they are only compiled:\n";
    }
    let count = missing.len();
    for function in missing.into_iter().take(MOST_MISSING) {
        let function = serde_json::json!(function);
        let _ = writeln!(out, "# {function} = \"--grid … --threadgroup …\"");
    }
    if let Some(more @ 1..) = count.checked_sub(MOST_MISSING) {
        let _ = writeln!(out, "# and {more} more");
    }
    out
}

fn summary(path: &str, sources: &[Source]) -> String {
    let kernels = sources.iter().flat_map(|source| &source.kernels);
    let count = |wanted: fn(&Launch) -> bool| {
        let all = sources.iter().flat_map(|source| &source.kernels);
        all.filter(|known| wanted(&known.launch)).count()
    };
    let mut text = format!(
        "{path}: {} kernels in {} files; launches: {} in comments, {} guessed, {} missing",
        kernels.count(),
        sources.len(),
        count(|launch| matches!(launch, Launch::Comment(_))),
        count(|launch| matches!(launch, Launch::Guessed(_))),
        count(|launch| matches!(launch, Launch::Missing)),
    );
    let broken = sources
        .iter()
        .filter(|source| source.failure.is_some())
        .count();
    if broken > 0 {
        let _ = write!(text, "; {broken} files do not compile and are left out");
    }
    text + "\nnext: assay gate, then assay gate --against origin/main in CI"
}

#[cfg(test)]
mod tests {
    use super::globs;

    #[test]
    fn files_are_named_by_their_folders() {
        assert_eq!(
            globs(&["a/x.metal", "a/y.metal", "z.metal"]),
            ["*.metal", "a/*.metal"]
        );
        let many: Vec<String> = (0..9).map(|n| format!("f{n}/x.metal")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(globs(&many), ["**/*.metal"]);
    }
}
