//! Machine code for kernels that come as programs: source, metallibs, bitcode.

use crate::{Phases, shown_name};
use assay_agx::{Isa, Program};
use assay_codegen::{Error, ErrorKind, Options, back, lower};
use assay_front::{
    Form, GivenConstant, Kernel, OpenConstants, Request, constants, tensor_operations,
};
use assay_profile::TensorOperation;
use assay_ssa::Argument;
use std::path::Path;

/// How kernels become code.
#[derive(Clone, Debug)]
pub struct Generator<'a> {
    /// Values of function constants; others are 0 or false.
    pub constants: &'a [GivenConstant],
    /// The instruction set.
    pub isa: Isa,
    /// Threads of a threadgroup, where they are known.
    pub threadgroup: Option<[u32; 3]>,
}

/// The code of a kernel, and what a reader should know about it.
#[derive(Debug)]
pub struct Generated {
    /// The code.
    pub program: Program,
    /// What is in its scratch memory.
    pub frame: back::Frame,
    /// Function constants that were given no value.
    pub assumed: Vec<String>,
    /// Tensor operations that the code stands for.
    pub tensors: Vec<TensorOperation>,
    /// Number and name of all function constants.
    pub constants: Vec<(u32, String)>,
    /// Its arguments, whether the code looks at them or not.
    pub arguments: Vec<Argument>,
}

/// Why a kernel has no code.
#[derive(Debug)]
pub struct Refused {
    /// What kernels are grouped by.
    pub reason: String,
    /// The whole story.
    pub message: String,
    /// Where in the source.
    pub place: Option<(String, u32)>,
}

/// Names source files as the user did, who works in a folder: clang writes whole paths.
pub fn name_files(program: &mut Program, path: &Path, folder: Option<&Path>) {
    let shown = shown_name(path);
    let name = shown.display().to_string();
    let whole = folder.map(|folder| folder.join(shown));
    for file in &mut program.files {
        let known = Path::new(file.as_str());
        if Some(known) == whole.as_deref() {
            file.clone_from(&name);
        } else if let Some(inside) = folder.and_then(|folder| known.strip_prefix(folder).ok()) {
            *file = inside.display().to_string();
        }
    }
}

impl Generator<'_> {
    /// Makes the code of a kernel.
    pub fn generate(&self, kernel: &Kernel, phases: &mut Phases) -> Result<Generated, Refused> {
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
    pub fn constants(&self) -> impl Iterator<Item = (u32, &str)> + Clone {
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

    /// The same as an error.
    pub fn error(&self) -> crate::Error {
        crate::Error::input(self.message.clone())
            .advice("`assay ir` shows the program; an archive made on a Mac has Apple's own code")
    }
}
