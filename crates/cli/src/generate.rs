//! Machine code for programs: what commands that want code do with Metal source,
//! metallibs and bitcode.

use crate::apple::Compiler;
use crate::source::SourceArgs;
use assay_agx::{Isa, Program};
use assay_engine::Settings;
use assay_front::{GivenConstant, SourceOptions};
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

impl CodeArgs {
    /// The same, for kernels of a file.
    pub(crate) fn settings(&self, path: &Path, isa: Isa) -> Settings {
        Settings {
            source: self.source.options(path),
            constants: self.values.constants.clone(),
            isa,
            ..Settings::default()
        }
    }

    /// For a caller that has no flags.
    pub(crate) fn new(source: SourceOptions, constants: Vec<GivenConstant>) -> Self {
        Self {
            values: ConstantArgs { constants },
            compiler: Compiler::default(),
            source: source.into(),
        }
    }
}

pub(crate) use assay_engine::code::{Generator, Refused};

/// Names source files as the user did: clang writes whole paths.
pub(crate) fn name_files(program: &mut Program, path: &Path) {
    let folder = std::env::current_dir().ok();
    assay_engine::code::name_files(program, path, folder.as_deref());
}
