//! `assay bench new`: a folder for a kernel of your own, that works from the start.

use super::Args as BenchArgs;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_sweep::new::{self, Question};
use clap::Parser;
use std::path::PathBuf;

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
  assay bench new my_other --oracle python
  assay bench my_softmax --kernels kernels --sizes reference")]
pub(crate) struct Args {
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

/// Only for making the arguments of an ordinary `assay bench`.
#[derive(Debug, Parser)]
struct Ordinary {
    #[command(flatten)]
    args: BenchArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let asked = Question {
        name: &args.name,
        like: &args.like,
        oracle: args.oracle.map(|kind| match kind {
            OracleKind::Expression => new::OracleKind::Expression,
            OracleKind::Python => new::OracleKind::Python,
            OracleKind::Program => new::OracleKind::Program,
        }),
        into: &args.into,
    };
    let folder = new::write(asked)?;
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
