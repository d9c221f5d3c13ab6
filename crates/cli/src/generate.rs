//! Machine code for programs: what commands that want code do with Metal source,
//! metallibs and bitcode.

use crate::apple::Compiler;
use crate::failure::Failure;
use crate::phases::Phases;
use crate::source::{self, SourceArgs};
use assay_agx::{Isa, Program};
use assay_codegen::{Error, ErrorKind, Options, back, lower};
use assay_front::{
    File, Form, GivenConstant, Kernel, OpenConstants, Request, check_constants, constants,
    tensor_operations,
};
use assay_profile::TensorOperation;
use assay_ssa::Argument;
use std::path::Path;

/// What decides the code of a kernel, besides its source.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CodeArgs {
    /// A value for a function constant, by number or name; may be repeated. Others are 0 or false
    #[arg(long = "const", value_name = "INDEX|NAME=TYPE:VALUE")]
    pub(crate) constants: Vec<GivenConstant>,

    /// Whose compiler makes the code of source and metallibs
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t)]
    pub(crate) compiler: Compiler,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// How kernels become code.
#[derive(Clone, Debug)]
pub(crate) struct Generator<'a> {
    pub(crate) constants: &'a [GivenConstant],
    pub(crate) isa: Isa,
    pub(crate) threadgroup: Option<[u32; 3]>,
}

/// The code of a kernel, and what a reader should know about it.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) program: Program,
    /// What is in its scratch memory.
    pub(crate) frame: back::Frame,
    /// Function constants that were given no value.
    pub(crate) assumed: Vec<String>,
    /// Tensor operations that the code stands for.
    pub(crate) tensors: Vec<TensorOperation>,
    /// Number and name of all function constants.
    pub(crate) constants: Vec<(u32, String)>,
    /// Its arguments, whether the code looks at them or not.
    pub(crate) arguments: Vec<Argument>,
}

/// Why a kernel has no code.
#[derive(Debug)]
pub(crate) struct Refused {
    /// What kernels are grouped by.
    pub(crate) reason: String,
    /// The whole story.
    pub(crate) message: String,
    /// Where in the source.
    pub(crate) place: Option<(String, u32)>,
}

/// Names source files as the user did: clang writes whole paths.
pub(crate) fn name_files(program: &mut Program, path: &Path) {
    let name = source::shown_name(path).display().to_string();
    let whole = std::path::absolute(source::shown_name(path)).ok();
    let folder = std::env::current_dir().ok();
    for file in &mut program.files {
        let known = Path::new(file.as_str());
        if Some(known) == whole.as_deref() {
            file.clone_from(&name);
        } else if let Some(inside) = folder.as_ref().and_then(|f| known.strip_prefix(f).ok()) {
            *file = inside.display().to_string();
        }
    }
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
        let names: Vec<&str> = kernels.iter().take(20).map(|k| k.name.as_str()).collect();
        let message = format!("{} has {} kernels", path.display(), kernels.len());
        return Err(
            Failure::usage(message).advice(format!("choose one with -f: {}", names.join(", ")))
        );
    };
    let generator = Generator {
        constants: &args.constants,
        isa,
        threadgroup: None,
    };
    let made = generator.generate(kernel, &mut Phases::default());
    let mut made = made.map_err(|refused| refused.failure())?;
    check_constants(&args.constants, made.constants()).map_err(fail)?;
    name_files(&mut made.program, path);
    Ok(made)
}

impl Generator<'_> {
    /// Makes the code of a kernel.
    pub(crate) fn generate(
        &self,
        kernel: &Kernel,
        phases: &mut Phases,
    ) -> Result<Generated, Refused> {
        if self.isa.family() != assay_agx::Family::G13 {
            let isa = self.isa.name();
            return Err(Refused {
                reason: "no code for this instruction set".to_owned(),
                message: format!(
                    "code is generated for G13 and G14 only; give machine code for {isa}, or --isa g13"
                ),
                place: None,
            });
        }
        let request = Request {
            constants: self.constants,
            open: OpenConstants::Zero,
            form: Form::Optimised,
        };
        let program = phases
            .step("read and optimise", || kernel.program_as(&request))
            .map_err(|error| Refused {
                reason: "not read".to_owned(),
                message: error.to_string(),
                place: None,
            })?;
        let assumed = program.assumed;
        let options = Options {
            isa: self.isa,
            threadgroup: self.threadgroup,
        };
        let generated = phases.step("generate code", || {
            let lowered = lower::lower(&program.module, &kernel.name, &options)?;
            back::finish_with_frame(lowered, &options)
        });
        let tensors = tensor_operations(&program.module, &kernel.name);
        let tensors = tensors.into_iter().map(tensor_operation).collect();
        let constants = constants(&program.module);
        let constants = constants.map(|(index, name)| (index, name.to_owned()));
        let constants = constants.collect();
        let arguments = program
            .module
            .kernel(&kernel.name)
            .map(|found| &found.arguments);
        let arguments = arguments.cloned().unwrap_or_default();
        let (program, frame) =
            generated.map_err(|error: Error| Refused::new(&kernel.name, &error))?;
        Ok(Generated {
            program,
            frame,
            assumed,
            tensors,
            constants,
            arguments,
        })
    }
}

fn tensor_operation(found: assay_front::TensorOperation) -> TensorOperation {
    let file = Path::new(&found.file).file_name();
    let file = file.map_or(found.file.as_str().into(), |file| file.to_string_lossy());
    TensorOperation {
        operation: "matmul2d",
        place: format!("{file}:{}", found.line),
        rows: found.rows,
        columns: found.columns,
        inner: found.inner,
        multiply_adds: found.multiply_adds(),
    }
}

impl Generated {
    /// Number and name of its function constants.
    pub(crate) fn constants(&self) -> impl Iterator<Item = (u32, &str)> + Clone {
        let constants = self.constants.iter();
        constants.map(|(index, name)| (*index, name.as_str()))
    }
}

impl Refused {
    fn new(kernel: &str, error: &Error) -> Refused {
        let reason = match &error.kind {
            ErrorKind::Unsupported(what) => what.clone(),
            ErrorKind::TooLarge { what, .. } => format!("more {what} than there are"),
            other => other.to_string(),
        };
        let place = error.file.clone().filter(|_| error.line != 0);
        Refused {
            reason,
            message: format!("kernel {kernel}: {error}"),
            place: place.map(|file| (file, error.line)),
        }
    }

    pub(crate) fn failure(&self) -> Failure {
        let failure = Failure::input(self.message.clone());
        failure
            .advice("`assay ir` shows the program; an archive made on a Mac has Apple's own code")
    }
}
