//! `assay decompile`: a kernel as Metal source.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::ConstantArgs;
use crate::input;
use crate::source::{self, SourceArgs};
use assay_front::{Form, OpenConstants, Request, check_constants, constants};
use std::path::PathBuf;

/// Print a kernel as Metal source, of a metallib too
///
/// The text is the program that assay runs, costs and compiles, written as Metal: arguments keep their names and bindings,
/// loops their shape. Fused multiply-adds, fast and precise functions are explicit, and a pragma keeps a compiler from
/// deciding again, so the text compiled by assay leaves the same bytes as the original. Apple's compiler may round
/// differently. Function constants that are given no value stay function constants.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay decompile mlx.metallib -f rope_single_float32
  assay decompile softmax.metal -o plain.metal
  assay decompile mlx.metallib -f gemv_float32_bm1_bn8_sm1_sn32_tm4_tn4_nc0_axpby0 | less")]
pub(crate) struct Args {
    /// The file: Metal source, a metallib, LLVM bitcode; `-` is standard input
    file: PathBuf,

    /// Only this kernel
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    values: ConstantArgs,

    #[command(flatten)]
    source: SourceArgs,
}

/// More kernels than this are not printed unasked.
const MOST_PRINTED: usize = 32;

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let bytes = input::open(&args.file)?;
    let fail = |error: assay_front::Error| source::failure(&args.file, error);
    let file = source::open(&args.file, &bytes)?;
    let library = source::library(&args.file, &file, &args.source)?;
    let chosen = library.choose(args.function.as_deref()).map_err(fail)?;
    if chosen.len() > MOST_PRINTED {
        let (path, count) = (args.file.display(), chosen.len());
        return Err(Failure::usage(format!("{path} holds {count} kernels"))
            .advice("choose one with -f NAME; `assay inspect` lists them"));
    }
    let request = Request {
        constants: &args.values.constants,
        open: OpenConstants::Keep,
        form: Form::LoopsKept,
    };
    let mut text = String::new();
    let mut modules = Vec::new();
    for kernel in chosen {
        let module = kernel.program_as(&request).map_err(fail)?.module;
        let printed = assay_rewrite::print(&module, &kernel.name).map_err(|error| {
            Failure::input(format!("{}: not printed: {error}", kernel.name))
                .advice("`assay ir` shows the program in its own form")
        })?;
        text += without_repeated_head(&printed, text.is_empty());
        modules.push(module);
    }
    check_constants(&args.values.constants, modules.iter().flat_map(constants)).map_err(fail)?;
    context.write(&text)?;
    Ok(Outcome::Fine)
}

/// The text of a kernel after the first, without the lines every text starts with.
fn without_repeated_head(text: &str, first: bool) -> &str {
    match text.strip_prefix(assay_rewrite::PREAMBLE) {
        Some(rest) if !first => rest,
        _ => text,
    }
}
