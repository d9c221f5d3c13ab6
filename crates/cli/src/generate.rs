//! Machine code for programs: what commands that want code do with Metal source,
//! metallibs and bitcode.

use crate::apple::Compiler;
use crate::failure::Failure;
use crate::phases;
use crate::source::{self, SourceArgs};
use assay_agx::{Isa, Program};
use assay_front::{File, GivenConstant, check_constants};
use std::path::Path;

/// Values of function constants.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConstantArgs {
    /// A value for a function constant, by number or name; may be repeated. Others are 0 or false, where they need a value
    #[arg(long = "const", value_name = "INDEX|NAME=TYPE:VALUE")]
    pub(crate) constants: Vec<GivenConstant>,
}

/// What decides the code of a kernel, besides its source.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CodeArgs {
    #[command(flatten)]
    pub(crate) values: ConstantArgs,

    /// Whose compiler makes the code of source and metallibs
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t)]
    pub(crate) compiler: Compiler,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

pub(crate) use assay_engine::code::{Generated, Generator, Refused};

/// Names source files as the user did: clang writes whole paths.
pub(crate) fn name_files(program: &mut Program, path: &Path) {
    let folder = std::env::current_dir().ok();
    assay_engine::code::name_files(program, path, folder.as_deref());
}

/// The code of one kernel of a file that needs code.
pub(crate) fn one(
    path: &Path,
    file: &File<'_>,
    function: Option<&str>,
    args: &CodeArgs,
    isa: Isa,
) -> Result<Generated, Failure> {
    let library = source::library(path, file, &args.source)?;
    let fail = |error: assay_front::Error| source::failure(path, error);
    let kernels = library.choose(function).map_err(fail)?;
    let [kernel] = kernels else {
        return Err(assay_engine::library_error(path, kernels));
    };
    let generator = Generator {
        constants: &args.values.constants,
        isa,
        threadgroup: None,
    };
    let made = generator.generate(kernel, &mut phases::told());
    let mut made = made.map_err(|refused| refused.error())?;
    check_constants(&args.values.constants, made.constants()).map_err(fail)?;
    name_files(&mut made.program, path);
    Ok(made)
}
