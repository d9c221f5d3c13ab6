//! What compiles Metal source, as a trait, and the clang that usually does.

use assay_msl::{Diagnostic, Options, Source, Standard};
use std::fmt;
use std::path::PathBuf;

/// How to compile source. [`Default`] is Metal's default: fast math, Metal 3.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOptions {
    /// Metal's default arithmetic, which may reorder and assume no NaN.
    pub fast_math: bool,
    /// The version of the language.
    pub standard: Standard,
    /// Folders for `#include`, in order.
    pub include_folders: Vec<PathBuf>,
    /// Files that stand before the source, in order.
    pub include_files: Vec<PathBuf>,
    /// Other sources of the same library, linked with this one.
    pub link_files: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Make programs to be checked: nothing is optimised away, and the compiler warns.
    pub checked: bool,
    /// The folders whose files may be read, for sources of strangers; everywhere when there are none.
    pub within: Option<Vec<PathBuf>>,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            fast_math: true,
            standard: Standard::default(),
            include_folders: Vec::new(),
            include_files: Vec::new(),
            link_files: Vec::new(),
            defines: Vec::new(),
            checked: false,
            within: None,
        }
    }
}

impl SourceOptions {
    /// The options of the clang driver, which keeps headers and bitcode in a folder.
    pub fn for_clang(&self, cache: impl Into<PathBuf>) -> Options {
        Options {
            include_folders: self.include_folders.clone(),
            include_files: self.include_files.clone(),
            link_files: self.link_files.clone(),
            defines: self.defines.clone(),
            standard: self.standard,
            fast_math: self.fast_math,
            checked: self.checked,
            within: self.within.clone(),
            ..Options::new(cache)
        }
    }
}

/// Something that compiles Metal source to AIR bitcode.
pub trait Compiler: fmt::Debug + Send + Sync {
    /// The bitcode of a source, with the lines its instructions came from.
    fn bitcode(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<Vec<u8>, CompilerError>;

    /// The same with what the compiler warns of. One that does not warn need not implement it.
    fn bitcode_and_warnings(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<(Vec<u8>, Vec<Diagnostic>), CompilerError> {
        self.bitcode(source, options).map(|code| (code, Vec::new()))
    }
}

/// Why there is no bitcode.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// There is no compiler.
    #[error("{message}")]
    Missing {
        /// What was looked for.
        message: String,
        /// How to get one.
        advice: Option<String>,
    },
    /// The source compiles, but has no kernels, only functions of other stages.
    #[error("it declares no kernels; it holds {held}")]
    OtherStages {
        /// Those functions by stage: `vertex: corner, edge`.
        held: String,
    },
    /// The source has errors, or the compiler does not work.
    #[error(transparent)]
    Failed(#[from] assay_msl::Error),
}

/// A clang, run as a child process.
#[derive(Clone, Debug)]
pub struct Clang {
    /// The program.
    pub program: assay_msl::Compiler,
    /// A folder of ours for precompiled headers and compiled sources.
    pub cache: PathBuf,
}

impl Clang {
    /// A clang and its folder.
    pub fn new(program: assay_msl::Compiler, cache: impl Into<PathBuf>) -> Self {
        Clang {
            program,
            cache: cache.into(),
        }
    }
}

impl Compiler for Clang {
    fn bitcode(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<Vec<u8>, CompilerError> {
        self.bitcode_and_warnings(source, options)
            .map(|(code, _)| code)
    }

    fn bitcode_and_warnings(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<(Vec<u8>, Vec<Diagnostic>), CompilerError> {
        let options = options.for_clang(&self.cache);
        let compiled = assay_msl::compile(source, &self.program, &options)?;
        match compiled.other_functions() {
            Some(held) if compiled.kernels.is_empty() => Err(CompilerError::OtherStages { held }),
            _ => Ok((compiled.code, compiled.warnings)),
        }
    }
}
