//! Metal source as an input of commands that work on programs.
//!
//! Such a command takes a `.metal` file where it takes bitcode: the options a compiler
//! would want stand beside its own, and the source is compiled on the way.

use crate::commands::compile::show;
use crate::failure::Failure;
use crate::toolchain;
use assay_device::CompileOptions;
use assay_msl::{Options, Source, Standard, compile};
use std::path::{Path, PathBuf};

/// The options of a compiler.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options for Metal source")]
pub(crate) struct SourceArgs {
    /// Search this folder for #include; may be repeated
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,

    /// Define a macro; may be repeated
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,

    /// The version of the language
    #[arg(long, value_name = "METAL3.1", default_value = "metal3.1")]
    std: Standard,

    /// Compile without fast math, which is Metal's default
    #[arg(long)]
    no_fast_math: bool,
}

impl SourceArgs {
    /// The version of the language: `metal3.1`.
    pub(crate) fn standard(&self) -> &'static str {
        self.std.name()
    }

    /// What the compiler is told.
    pub(crate) fn options(&self) -> Options {
        Options {
            include_folders: self.include.clone(),
            defines: self.define.clone(),
            standard: self.std,
            fast_math: !self.no_fast_math,
            ..Options::new(toolchain::cache_folder())
        }
    }
}

impl From<&SourceArgs> for CompileOptions {
    fn from(args: &SourceArgs) -> CompileOptions {
        CompileOptions {
            fast_math: !args.no_fast_math,
            standard: args.std,
            include_folders: args.include.clone(),
            defines: args.define.clone(),
        }
    }
}

/// Whether these bytes are source, not code: by the file's name, or text that is no bitcode.
pub(crate) fn is_source(path: &Path, bytes: &[u8]) -> bool {
    let named = path
        .extension()
        .is_some_and(|extension| extension == "metal");
    named
        || matches!(
            assay_container::open(bytes),
            Ok(assay_container::Contents::Source(_))
        )
}

/// The name that diagnostics and lines give the source of a path.
pub(crate) fn shown_name(path: &Path) -> &Path {
    match path.as_os_str() == "-" {
        true => Path::new("<stdin>.metal"),
        false => path,
    }
}

/// Compiles source to bitcode.
pub(crate) fn bitcode(path: &Path, text: &[u8], args: &SourceArgs) -> Result<Vec<u8>, Failure> {
    let compiler = toolchain::find()?;
    let name = shown_name(path);
    let source = Source { path: name, text };
    let compiled =
        compile(source, &compiler, &args.options()).map_err(|error| show::failure(name, &error))?;
    Ok(compiled.code)
}
