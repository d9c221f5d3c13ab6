//! Metal source as an input of commands that work on programs.
//!
//! Such a command takes a `.metal` file where it takes bitcode: the options a compiler
//! would want stand beside its own, and the source is compiled on the way.

use crate::failure::{Failure, Kind};
use crate::{configuration, confine, input, interrupt, launch, progress, toolchain};
use assay_container::{fat, macho};
use assay_engine::Workspace;
use assay_front::{
    Bytes, Clang, Compiler, CompilerError, Error, File, Library, Source, SourceOptions,
};
use assay_msl::{Diagnostic, Limits, Standard};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use assay_engine::loaded::select_error as select_failure;
pub(crate) use assay_engine::shown_name;

/// The options of a compiler.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options for Metal source")]
pub(crate) struct SourceArgs {
    /// Search this folder for #include; may be repeated
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,

    /// Put this file before the source (also -include FILE), as a host program does; may be repeated
    #[arg(long = "include", id = "include-file", value_name = "FILE")]
    before: Vec<PathBuf>,

    /// Compile this file too and link it: kernels call its functions (also A.metal B.metal); may be repeated
    #[arg(long = "link", id = "link-file", value_name = "FILE")]
    link: Vec<PathBuf>,

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

impl From<SourceOptions> for SourceArgs {
    fn from(options: SourceOptions) -> Self {
        Self {
            include: options.include_folders,
            before: options.include_files,
            link: options.link_files,
            define: options.defines,
            std: options.standard,
            no_fast_math: !options.fast_math,
        }
    }
}

impl SourceArgs {
    /// The version of the language: `metal3.1`.
    pub(crate) fn standard(&self) -> &'static str {
        self.std.name()
    }

    /// What the compiler is told about a source: these options, and what the configuration of its repository adds.
    pub(crate) fn options(&self, source: &Path) -> SourceOptions {
        let own = SourceOptions {
            include_folders: self.include.clone(),
            include_files: self.before.clone(),
            link_files: self.link.clone(),
            defines: self.define.clone(),
            standard: self.std,
            fast_math: !self.no_fast_math,
            checked: false,
            within: confine::folders(),
        };
        configuration::complete(own, source)
    }
}

/// The clang of this machine, looked for when there is source to compile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThisMachine;

impl Compiler for ThisMachine {
    fn bitcode(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<Vec<u8>, CompilerError> {
        let compiled = self.bitcode_and_warnings(source, options);
        compiled.map(|(bitcode, _)| bitcode)
    }

    fn bitcode_and_warnings(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<(Vec<u8>, Vec<Diagnostic>), CompilerError> {
        let program = toolchain::find().map_err(|failure| CompilerError::Missing {
            message: failure.message,
            advice: failure.advice,
        })?;
        Found(program).bitcode_and_warnings(source, options)
    }
}

/// A clang that was found. In a confined process no source reads more than the process may, whoever asks.
#[derive(Clone, Debug)]
pub(crate) struct Found(pub(crate) assay_msl::Compiler);

impl Compiler for Found {
    fn bitcode(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<Vec<u8>, CompilerError> {
        let compiled = self.bitcode_and_warnings(source, options);
        compiled.map(|(bitcode, _)| bitcode)
    }

    fn bitcode_and_warnings(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<(Vec<u8>, Vec<Diagnostic>), CompilerError> {
        let options = SourceOptions {
            within: options.within.clone().or_else(confine::folders),
            ..options.clone()
        };
        let mut program = self.0.clone();
        // Whoever confines a source to some folders did not write it.
        program.limits = options.within.is_some().then_some(Limits::STRANGER);
        Clang::new(program, toolchain::cache_folder()).bitcode_and_warnings(source, &options)
    }
}

/// What questions about kernels need of this machine.
pub(crate) fn workspace() -> Workspace {
    Workspace {
        begun: progress::stage,
        cancel: Some(interrupt::flag()),
        folder: std::env::current_dir().ok(),
        ..Workspace::new(Arc::new(ThisMachine), launch::files())
    }
}

/// Looks at what a file is.
pub(crate) fn open<'a>(path: &'a Path, bytes: &'a Bytes) -> Result<File<'a>, Failure> {
    let file = File::open(path, bytes).map_err(|error| failure(path, error))?;
    Ok(file.named(shown_name(path)))
}

/// The kernels of a file, source compiled on the way.
pub(crate) fn library(path: &Path, file: &File<'_>, args: &SourceArgs) -> Result<Library, Failure> {
    library_as(path, file, &args.options(path))
}

/// The same with options of the caller's.
pub(crate) fn library_as(
    path: &Path,
    file: &File<'_>,
    options: &SourceOptions,
) -> Result<Library, Failure> {
    let library = file.library(&ThisMachine, options);
    library.map_err(|error| failure(path, error))
}

/// The bitcode of source.
pub(crate) fn bitcode(path: &Path, text: &[u8], args: &SourceArgs) -> Result<Vec<u8>, Failure> {
    let source = Source {
        path: shown_name(path),
        text,
    };
    let bitcode = ThisMachine.bitcode(source, &args.options(path));
    bitcode.map_err(|error| failure(path, error.into()))
}

/// The text of a source that a report shows lines of.
pub(crate) fn text(path: &Path) -> Option<String> {
    match input::lent(path) {
        Some(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        None => confine::read_to_string(path),
    }
}

/// Returns true if a file holds programs rather than machine code, by its name or its first bytes.
pub(crate) fn is_program_file(path: &Path) -> bool {
    let named = path
        .extension()
        .is_some_and(|extension| extension == "metal");
    named || first_bytes(path).is_ok_and(|start| matches!(&start, b"MTLB" | b"BC\xc0\xde"))
}

/// Returns true if these are the bytes of a binary archive or a GPU Mach-O.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(fat::MAGIC) || bytes.starts_with(macho::MAGIC)
}

/// The same of a file. A pipe is not looked into: its bytes come once.
pub(crate) fn is_archive_file(path: &Path) -> bool {
    confine::has_file(path) && first_bytes(path).is_ok_and(|start| is_archive(&start))
}

fn first_bytes(path: &Path) -> std::io::Result<[u8; 4]> {
    use std::io::Read;
    let mut start = [0; 4];
    match input::lent(path) {
        Some(bytes) => (&*bytes).read_exact(&mut start)?,
        None => {
            let file =
                confine::open(path).map_err(|failure| std::io::Error::other(failure.message));
            file?.read_exact(&mut start)?;
        }
    }
    Ok(start)
}

/// An error of the front end as the failure of a command.
pub(crate) fn failure(path: &Path, error: Error) -> Failure {
    installable(assay_engine::front_error(path, error))
}

/// A missing compiler, with what installs one.
pub(crate) fn installable(failure: Failure) -> Failure {
    match failure.kind == Kind::Missing && failure.advice.is_none() {
        true => failure.advice(toolchain::install_advice()),
        false => failure,
    }
}
