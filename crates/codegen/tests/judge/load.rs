//! Kernels to judge: of Metal source through clang, of metallibs and bitcode directly.

use assay_air::{ConstantKey, GivenConstant, llvm};
use assay_msl::{Compiler, Source};
use assay_ssa::Module;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The newest clang that passes the probe.
pub(crate) fn compiler() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let names: Vec<String> = (17..40)
                .rev()
                .map(|n| format!("clang-{n}"))
                .chain(["clang".to_owned()])
                .collect();
            let given = std::env::var_os("ASSAY_CLANG").map(PathBuf::from);
            let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
            let on_path = folders
                .iter()
                .flat_map(|folder| names.iter().map(move |name| folder.join(name)));
            given
                .into_iter()
                .chain(on_path)
                .filter(|path| path.is_file())
                .map(|program| {
                    let mut compiler = Compiler::new(program);
                    compiler.identity = compiler.version().unwrap_or_default();
                    compiler
                })
                .find(|compiler| compiler.probe().is_ok())
        })
        .as_ref()
}

/// How source is compiled.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) include: Vec<PathBuf>,
    pub(crate) defines: Vec<String>,
    pub(crate) fast_math: bool,
}

impl Default for Build {
    fn default() -> Self {
        Build {
            include: Vec::new(),
            defines: Vec::new(),
            fast_math: true,
        }
    }
}

/// The bitcode of a source file.
pub(crate) fn bitcode(path: &Path, build: &Build) -> Result<Vec<u8>, String> {
    let compiler = compiler().ok_or("no clang on this machine passes the probe")?;
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let cache = std::env::temp_dir().join("assay-judge-headers");
    let mut options = assay_msl::Options::new(cache);
    options.debug_lines = true;
    options.fast_math = build.fast_math;
    options.include_folders = build.include.clone();
    options.defines = build.defines.clone();
    let source = Source { path, text: &text };
    assay_msl::compile(source, compiler, &options)
        .map(|compiled| compiled.code)
        .map_err(|error| error.to_string())
}

/// The names of the kernels in bitcode.
pub(crate) fn kernel_names(bitcode: &[u8]) -> Result<Vec<String>, String> {
    let modules = llvm::read(bitcode).map_err(|error| error.to_string())?;
    Ok(modules.iter().flat_map(assay_air::kernel_names).collect())
}

/// A kernel as the optimised program, function constants that are open set to zero.
pub(crate) fn program(bitcode: &[u8], kernel: &str) -> Result<Module, String> {
    program_with(bitcode, kernel, 0)
}

/// The same with another number for function constants that are no floats.
pub(crate) fn program_with(bitcode: &[u8], kernel: &str, number: u64) -> Result<Module, String> {
    let modules = llvm::read(bitcode).map_err(|error| error.to_string())?;
    let module = modules
        .iter()
        .find(|module| {
            assay_air::kernel_names(module)
                .iter()
                .any(|name| name == kernel)
        })
        .or(modules.first())
        .ok_or("the bitcode holds no module")?;
    let mut options = assay_air::Options {
        kernel: Some(kernel.to_owned()),
        ..Default::default()
    };
    let mut lowered = assay_air::lower(module, &options).map_err(|error| error.to_string())?;
    if !lowered.function_constants.as_slice().is_empty() {
        let constants = lowered.function_constants.as_slice().iter();
        options.constants = constants
            .map(|constant| GivenConstant {
                key: ConstantKey::Index(constant.index),
                ty: constant.ty,
                elements: vec![
                    if constant.ty.is_float() { 0 } else { number };
                    usize::from(constant.ty.lanes()).max(1)
                ],
            })
            .collect();
        lowered = assay_air::lower(module, &options).map_err(|error| error.to_string())?;
    }
    assay_opt::pipeline::optimize(&mut lowered).map_err(|error| error.to_string())?;
    Ok(lowered)
}
