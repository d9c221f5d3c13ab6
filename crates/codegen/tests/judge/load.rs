//! Kernels to judge: of Metal source through clang, of metallibs and bitcode directly.

use assay_front::{
    Clang, ConstantKey, Form, GivenConstant, Kernel, Library, OpenConstants, Request, Source,
    SourceOptions,
};
use assay_msl::Compiler;
use assay_ssa::Module;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The newest clang that passes the probe.
pub(crate) fn compiler() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
            assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"))
        })
        .as_ref()
}

/// How source is compiled.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) include: Vec<PathBuf>,
    pub(crate) before: Vec<PathBuf>,
    pub(crate) defines: Vec<String>,
    pub(crate) fast_math: bool,
}

impl Default for Build {
    fn default() -> Self {
        Build {
            include: Vec::new(),
            before: Vec::new(),
            defines: Vec::new(),
            fast_math: true,
        }
    }
}

/// The kernels of a source file.
pub(crate) fn library(path: &Path, build: &Build) -> Result<Library, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    compiled(Source { path, text: &text }, build)
}

/// The kernels of a source text.
pub(crate) fn compiled(source: Source<'_>, build: &Build) -> Result<Library, String> {
    let compiler = compiler().ok_or("no clang on this machine passes the probe")?;
    let cache = std::env::var_os("ASSAY_CACHE").map_or_else(
        || std::env::temp_dir().join("assay-judge-headers"),
        PathBuf::from,
    );
    let clang = Clang::new(compiler.clone(), cache);
    let options = SourceOptions {
        fast_math: build.fast_math,
        include_folders: build.include.clone(),
        include_files: build.before.clone(),
        defines: build.defines.clone(),
        ..SourceOptions::default()
    };
    Library::compile(source, &clang, &options).map_err(|error| error.to_string())
}

/// A kernel as the optimised program, function constants that are open set to zero.
pub(crate) fn program(kernel: &Kernel) -> Result<Module, String> {
    program_with(kernel, 0)
}

/// The same with another number for function constants that are no floats.
pub(crate) fn program_with(kernel: &Kernel, number: u64) -> Result<Module, String> {
    program_as(kernel, number, Form::Optimised)
}

/// The same, optimised as far as asked for.
pub(crate) fn program_as(kernel: &Kernel, number: u64, form: Form) -> Result<Module, String> {
    let mut request = Request {
        constants: &[],
        open: OpenConstants::Keep,
        form: Form::AsRead,
    };
    let read = kernel.program_as(&request);
    let read = read.map_err(|error| error.to_string())?;
    let constants = read.module.function_constants.as_slice().iter();
    let constants: Vec<GivenConstant> = constants
        .map(|constant| GivenConstant {
            key: ConstantKey::Index(constant.index),
            ty: constant.ty,
            elements: vec![
                if constant.ty.is_float() { 0 } else { number };
                usize::from(constant.ty.lanes()).max(1)
            ],
        })
        .collect();
    request.constants = &constants;
    request.form = form;
    let program = kernel.program_as(&request);
    program
        .map(|program| program.module)
        .map_err(|error| error.to_string())
}
