//! From source, metallibs and bitcode to programs the executor runs.

use crate::Constant;
use crate::error::Error;
use crate::source::{CompileOptions, Source};
use assay_exec::{CompileError, Program};
use assay_front::{Bytes, Checks, Compiler, CompilerError, Problem};

/// Compiled code and the kernels in it.
#[derive(Debug)]
pub(super) struct Library {
    front: assay_front::Library,
    names: Vec<String>,
}

impl Library {
    /// Compiles source.
    pub(super) fn compile(
        source: Source<'_>,
        options: &CompileOptions,
        compiler: &dyn Compiler,
    ) -> Result<Self, Error> {
        let source = assay_front::Source {
            path: source.path,
            text: source.text.as_bytes(),
        };
        assay_front::Library::compile(source, compiler, options)
            .map(Library::new)
            .map_err(Error::from)
    }

    /// Looks for kernels in a metallib (also one inside another file) or bitcode.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, Error> {
        assay_front::Library::open(&Bytes::from(bytes))
            .map(Library::new)
            .map_err(Error::from)
    }

    /// Kernels that were found already.
    pub(super) fn new(front: assay_front::Library) -> Self {
        let names = front.kernels().iter().map(|kernel| kernel.name.clone());
        Self {
            names: names.collect(),
            front,
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Lowers, optimises and compiles a kernel, after `edit` has changed the optimised program. With `native` the program keeps what
    /// machine code is made of.
    pub(super) fn program(
        &self,
        name: &str,
        constants: &[Constant],
        checks: Option<Checks>,
        native: bool,
        edit: &mut dyn FnMut(&mut assay_ssa::Module),
    ) -> Result<Program, Error> {
        let kernel = self.front.kernel(name)?;
        let mut module = match checks {
            Some(checks) => kernel.checked_program(constants, checks)?,
            None => kernel.program(constants)?,
        };
        edit(&mut module);
        assay_ssa::verify(&module).map_err(|errors| Error::Pipeline {
            function: name.to_owned(),
            why: errors.first().map(ToString::to_string).unwrap_or_default(),
        })?;
        #[cfg(not(feature = "native"))]
        let _ = native;
        let options = assay_exec::Options {
            guards: checks.is_some(),
            #[cfg(feature = "native")]
            native,
            ..assay_exec::Options::default()
        };
        Program::compile(&module, name, &options).map_err(Error::from)
    }
}

impl From<assay_front::Error> for Error {
    fn from(error: assay_front::Error) -> Self {
        use assay_front::Error as Front;
        match error {
            Front::Compiler(CompilerError::Failed(assay_msl::Error::Source(diagnostics))) => {
                Error::Source(diagnostics)
            }
            Front::Compiler(other) => Error::Compiler(other.to_string()),
            Front::NoKernels => Error::NoKernels,
            Front::NoKernel { wanted, names } => Error::no_function(&wanted, &names),
            Front::NoConstant { key, known } => Error::NoConstant { key, known },
            Front::Kernel { kernel, problem } => match problem {
                Problem::Lower(error) if error.of_given_constant => {
                    Error::ConstantType(error.to_string())
                }
                problem => Error::Pipeline {
                    function: kernel,
                    why: problem.to_string(),
                },
            },
            Front::WithoutKernels { what } => Error::Library(format!(
                "{what} without kernels: this device takes metallibs and LLVM bitcode with Metal kernels"
            )),
            other => {
                let advice = other.advice().map(|advice| format!("; {advice}"));
                Error::Library(format!("{other}{}", advice.unwrap_or_default()))
            }
        }
    }
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
