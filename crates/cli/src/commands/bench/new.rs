//! `assay bench new`: a folder for a kernel of your own, that works from the start.

use super::Args as BenchArgs;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_bench::registry::{Kernel, Registry};
use clap::Parser;
use std::path::{Path, PathBuf};

/// Start a kernel of your own from one of the registry, and examine it
///
/// Writes FOLDER/SET/NAME/kernel.toml and NAME.metal: the description and the source of another kernel, with the
/// headers it uses put in, so that it runs as it is. Then edit the source, the sizes, the geometry. What is right is
/// said by the oracle of that kernel.
///
/// For an operation of your own, --oracle starts with a small one whose oracle is in the folder too: an expression in
/// kernel.toml, a NumPy function in oracle.py, or a program that speaks the protocol of references
/// (docs/references.md).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay bench new my_softmax --like softmax
  assay bench new my_operation --oracle expression
  assay bench new my_operation --oracle python
  assay bench my_softmax --kernels kernels --sizes reference")]
pub(super) struct Args {
    /// The kernel's name: small letters, digits and _
    #[arg(value_name = "NAME")]
    name: String,

    /// The kernel to start from
    #[arg(
        long,
        value_name = "KERNEL",
        default_value = "relu",
        conflicts_with = "oracle"
    )]
    like: String,

    /// Start from a small operation with an oracle of your own
    #[arg(long, value_enum, value_name = "KIND")]
    oracle: Option<OracleKind>,

    /// The folder of kernels to put it into
    #[arg(long, value_name = "FOLDER", default_value = "kernels")]
    into: PathBuf,

    /// Write the files and do not examine them
    #[arg(long)]
    no_check: bool,
}

/// What an oracle of one's own is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OracleKind {
    /// Definitions over indices, in kernel.toml
    Expression,
    /// A NumPy function, in oracle.py
    Python,
    /// Any program that answers requests
    Program,
}

impl OracleKind {
    /// The line of `kernel.toml`, for the small operation, and the file beside it.
    const fn template(self) -> (&'static str, Option<(&'static str, &'static str)>) {
        match self {
            Self::Expression => (
                "oracle = { expression = \"y[i, j] = max(x[i, j], 0)\" }",
                None,
            ),
            Self::Python => (
                "oracle = { python = \"oracle.py\" }",
                Some(("oracle.py", include_str!("new/oracle.py"))),
            ),
            Self::Program => (
                "oracle = { program = \"python3 program.py\" }",
                Some(("program.py", include_str!("new/program.py"))),
            ),
        }
    }
}

/// Only for making the arguments of an ordinary `assay bench`.
#[derive(Debug, Parser)]
struct Ordinary {
    #[command(flatten)]
    args: BenchArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let like = registry.kernel(&args.like).map_err(|error| {
        Failure::usage(error.to_string()).advice("assay bench --list shows all kernels")
    })?;
    let folder = write(args, registry, like)?;
    context.note(&format!("wrote {}", folder.display()));
    let into = args.into.display().to_string();
    let words = ["bench", &args.name, "--kernels", &into, "--quick"];
    if args.no_check {
        return Ok(Outcome::Fine);
    }
    let ordinary =
        Ordinary::try_parse_from(words).map_err(|error| Failure::usage(error.to_string()))?;
    super::run(&ordinary.args, context)
}

/// Writes the folder; nothing that is there is touched.
fn write(args: &Args, registry: &Registry, like: &Kernel) -> Result<PathBuf, Failure> {
    let name = &args.name;
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || !name.chars().all(sound) || name.len() > 64 {
        return Err(
            Failure::usage(format!("\"{name}\" is no name for a kernel"))
                .advice("small letters, digits and _, a letter first, at most 64"),
        );
    }
    let source = registry.source(like, None);
    let source = source.map_err(|error| Failure::input(error.to_string()))?;
    let description = registry.description(like).ok_or_else(|| {
        Failure::input(format!("the description of \"{}\" is not there", like.name))
    })?;
    let folder = args.into.join(like.set.name()).join(name);
    let fail =
        |path: &Path, error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent).map_err(|error| fail(parent, error))?;
    }
    std::fs::create_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} is there already", folder.display()))
                .advice("take another name; nothing was changed")
        }
        _ => fail(&folder, error),
    })?;
    let mut description = with_function(description, like);
    let mut beside = None;
    if let Some(kind) = args.oracle {
        let (line, file) = kind.template();
        let lines = description
            .lines()
            .map(|old| match old.starts_with("oracle =") {
                true => line,
                false => old,
            });
        description = lines.flat_map(|line| [line, "\n"]).collect();
        beside = file.map(|(name, text)| (name.to_owned(), text.to_owned()));
    }
    let files = [
        ("kernel.toml".to_owned(), description),
        (format!("{name}.metal"), source.text),
    ];
    for (file, text) in files.into_iter().chain(beside) {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(|error| fail(&path, error))?;
    }
    Ok(folder)
}

/// The description with the function's name in it: it is no longer the folder's.
fn with_function(description: &str, like: &Kernel) -> String {
    let named = description
        .lines()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.starts_with("function ") || line.starts_with("function="));
    match named {
        true => description.to_owned(),
        false => format!("function = \"{}\"\n{description}", like.name),
    }
}
