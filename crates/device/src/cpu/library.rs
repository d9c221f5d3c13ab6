//! From source, metallibs and bitcode to programs.

use crate::Constant;
use crate::error::Error;
use crate::source::{CompileOptions, Source};
use assay_air::llvm;
use assay_container::Contents;
use assay_exec::{CompileError, Program};
use std::path::Path;

/// Compiled code and the kernels in it.
#[derive(Debug)]
pub(super) struct Library {
    bytes: Vec<u8>,
    names: Vec<String>,
}

/// Compiles source to bitcode.
pub(super) fn compile(
    source: Source<'_>,
    options: &CompileOptions,
    compiler: &assay_msl::Compiler,
    cache: &Path,
) -> Result<Vec<u8>, Error> {
    let options = assay_msl::Options {
        include_folders: options.include_folders.clone(),
        defines: options.defines.clone(),
        standard: options.standard,
        fast_math: options.fast_math,
        ..assay_msl::Options::new(cache)
    };
    let source = assay_msl::Source {
        path: source.path,
        text: source.text.as_bytes(),
    };
    match assay_msl::compile(source, compiler, &options) {
        Ok(compiled) => Ok(compiled.code),
        Err(assay_msl::Error::Source(diagnostics)) => Err(Error::Source(diagnostics)),
        Err(other) => Err(Error::Compiler(other.to_string())),
    }
}

impl Library {
    /// Looks for kernels in a metallib (also one inside another file) or bitcode.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, Error> {
        let contents = assay_container::open(&bytes).map_err(|error| {
            let advice = error.advice().map(|advice| format!("; {advice}"));
            Error::Library(format!("{error}{}", advice.unwrap_or_default()))
        })?;
        let mut names = Vec::new();
        for library in contents.metallibs() {
            let kernels = library.kernels().filter(|kernel| kernel.bitcode.is_some());
            names.extend(kernels.map(|kernel| kernel.name.to_string()));
        }
        if let Contents::Bitcode(_) = contents {
            let modules = llvm::read(&bytes).map_err(|error| Error::Library(error.to_string()))?;
            names.extend(modules.iter().flat_map(assay_air::kernel_names));
        }
        if names.is_empty() && matches!(contents, Contents::Bitcode(_)) {
            return Err(Error::NoKernels);
        }
        if names.is_empty() {
            return Err(Error::Library(format!(
                "{} without kernels: this device takes metallibs and LLVM bitcode with Metal kernels",
                contents.describe()
            )));
        }
        Ok(Self { bytes, names })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Lowers, optimises and compiles a kernel, after `edit` has changed the optimised program.
    pub(super) fn program(
        &self,
        name: &str,
        constants: &[Constant],
        edit: &mut dyn FnMut(&mut assay_ssa::Module),
    ) -> Result<Program, Error> {
        if !self.names.iter().any(|known| known == name) {
            return Err(Error::no_function(name, &self.names));
        }
        let mut module = self.lower(name, constants)?;
        check_constants(&module, constants)?;
        let fail = |why: String| Error::Pipeline {
            function: name.to_owned(),
            why,
        };
        verify(&module).map_err(fail)?;
        assay_opt::pipeline::optimize(&mut module).map_err(|error| fail(error.to_string()))?;
        edit(&mut module);
        verify(&module).map_err(fail)?;
        let options = assay_exec::Options::default();
        Program::compile(&module, name, &options).map_err(Error::from)
    }

    /// Finds the bitcode a kernel is in, and lowers it.
    fn lower(&self, name: &str, constants: &[Constant]) -> Result<assay_ssa::Module, Error> {
        let fail = |why: String| Error::Pipeline {
            function: name.to_owned(),
            why,
        };
        let contents =
            assay_container::open(&self.bytes).map_err(|error| fail(error.to_string()))?;
        let mut kernels = contents
            .metallibs()
            .into_iter()
            .flat_map(|library| library.kernels());
        let alone = kernels.find(|kernel| kernel.name == name && kernel.bitcode.is_some());
        let bitcode = alone.and_then(|kernel| kernel.bitcode);
        let modules = llvm::read(bitcode.unwrap_or(&self.bytes));
        let modules = modules.map_err(|error| fail(error.to_string()))?;
        let holds = |module: &&llvm::Module<'_>| {
            assay_air::kernel_names(module)
                .iter()
                .any(|known| known == name)
        };
        let module = modules.iter().find(holds);
        let module =
            module.ok_or_else(|| fail("its module does not describe it as a kernel".into()))?;
        let options = assay_air::Options {
            kernel: Some(name.to_owned()),
            constants: constants.to_vec(),
            ..Default::default()
        };
        assay_air::lower(module, &options).map_err(|error| match error.of_given_constant {
            true => Error::ConstantType(error.to_string()),
            false => fail(error.to_string()),
        })
    }
}

/// A value for a function constant the kernel does not have is a mistake.
fn check_constants(module: &assay_ssa::Module, given: &[Constant]) -> Result<(), Error> {
    let known = module.function_constants.as_slice();
    let unknown = given.iter().find(|value| {
        !known
            .iter()
            .any(|constant| value.key.is(constant.index, &constant.name))
    });
    let Some(value) = unknown else {
        return Ok(());
    };
    let known = known.iter();
    Err(Error::NoConstant {
        key: value.key.to_string(),
        known: known
            .map(|constant| format!("{} {}", constant.index, constant.name))
            .collect(),
    })
}

fn verify(module: &assay_ssa::Module) -> Result<(), String> {
    assay_ssa::verify(module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string);
        first.unwrap_or_else(|| "the program breaks a rule".to_owned())
    })
}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::NoKernel { name, .. } => Error::NoFunction {
                name,
                nearest: Vec::new(),
                count: 0,
            },
            CompileError::Unsupported {
                kernel,
                what,
                place,
            } => Error::Unsupported {
                function: kernel,
                what,
                place,
            },
            CompileError::MissingConstant { index, name } => Error::MissingConstant { index, name },
            CompileError::Control { kernel, reason } => Error::Pipeline {
                function: kernel,
                why: reason.to_string(),
            },
            CompileError::Malformed { kernel, what } => Error::Pipeline {
                function: kernel,
                why: what,
            },
        }
    }
}
