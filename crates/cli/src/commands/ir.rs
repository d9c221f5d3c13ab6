//! `assay ir`: a kernel as the program form that everything else works on.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::ConstantArgs;
use crate::input;
use crate::source::{self, SourceArgs};
use assay_front::programs::{Document, How, Summary, render_counts};
use assay_front::{Form, Kernel, OpenConstants, Request, check_constants, constants};
use assay_report::envelope::Envelope;
use std::path::PathBuf;

/// Show a kernel as the program that is run, costed and compiled
///
/// Reads Metal source (compiled on the way), a metallib, or LLVM bitcode (Apple's AIR or
/// clang's). Function constants that are given no value stay open. A callee nobody knows is kept by name.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay ir softmax.metal
  assay ir mlx.metallib -f rope_single_float32 --const 1=bool:true --const traditional=bool:false
  assay ir kernel.bc --no-opt
  assay ir mlx.metallib --stats
  assay ir mlx.metallib --stats --each --no-opt")]
pub(crate) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,

    /// Only this kernel
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    values: ConstantArgs,

    /// Show the program as it was read, before any optimisation
    #[arg(long)]
    no_opt: bool,

    /// Counts instead of the program; of all kernels, a summary
    #[arg(long)]
    stats: bool,

    /// With --stats of all kernels: barriers, group and matrix operations of each, tab-separated
    #[arg(long, requires = "stats", conflicts_with = "function")]
    each: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people, and for the tools that read the text form
    Text,
    /// For programs; follows schemas/assay.ir.json
    Json,
}

/// More kernels than this are not printed unasked.
const MOST_PRINTED: usize = 32;

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let bytes = input::open(&args.file)?;
    let path = args.file.display().to_string();
    let fail = |error: assay_front::Error| source::failure(&args.file, error);
    let file = source::open(&args.file, &bytes)?;
    let library = source::library(&args.file, &file, &args.source)?;
    if args.stats && args.function.is_none() {
        return summary(args, &path, &library.units(), context);
    }
    let chosen = library.choose(args.function.as_deref()).map_err(fail)?;
    if chosen.len() > MOST_PRINTED {
        let count = chosen.len();
        return Err(Failure::usage(format!("{path} holds {count} kernels"))
            .advice("choose one with -f NAME, or ask for a summary with --stats"));
    }
    let request = Request {
        constants: &args.values.constants,
        open: OpenConstants::Keep,
        form: if args.no_opt {
            Form::AsRead
        } else {
            Form::Optimised
        },
    };
    let mut programs = Vec::new();
    for kernel in chosen {
        programs.push(kernel.program_as(&request).map_err(fail)?);
    }
    let modules = programs.iter().map(|program| &program.module);
    check_constants(&args.values.constants, modules.flat_map(constants)).map_err(fail)?;
    let text = match (args.format, args.stats) {
        (Format::Json, _) => {
            Envelope::new("assay.ir", 1, Document::new(&path, &programs)).to_json()
        }
        (Format::Text, false) => {
            let texts = programs
                .iter()
                .map(|program| assay_ssa::print(&program.module));
            texts.collect::<Vec<_>>().join("\n")
        }
        (Format::Text, true) => render_counts(&programs, context.width),
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

fn summary(args: &Args, path: &str, chosen: &[Kernel], context: &Context) -> CommandResult {
    let how = How {
        no_opt: args.no_opt,
        each: args.each,
    };
    let all = chosen.len();
    let summary = Summary::of(path, chosen, how, &|done| {
        if context.progress {
            anstream::eprint!("\r{done} of {all} kernels\x1b[K");
        }
    });
    if context.progress {
        anstream::eprint!("\r\x1b[K");
    }
    let failed = summary.has_failures();
    let text = match args.format {
        Format::Text => summary.render(context.painter),
        Format::Json => Envelope::new("assay.ir-summary", 1, summary).to_json(),
    };
    context.write(&text)?;
    Ok(if failed {
        Outcome::Failed
    } else {
        Outcome::Fine
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schemas_are_current() {
        crate::schema::check::<super::Document>("assay.ir", 1);
        crate::schema::check::<super::Summary>("assay.ir-summary", 1);
    }
}
