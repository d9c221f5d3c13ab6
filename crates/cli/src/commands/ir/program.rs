//! Finding kernels in a file and turning them into programs.

use crate::failure::Failure;
use assay_air::{GivenConstant, Options, llvm};
use assay_container::Contents;
use assay_ssa::{FunctionConstantId, Id, Value, ValueDef};
use std::sync::Arc;

/// The kernels of a file.
pub(crate) struct Kernels<'a> {
    path: String,
    kernels: Vec<Kernel<'a>>,
}

/// A kernel and the bitcode it is in.
#[derive(Clone)]
pub(crate) struct Kernel<'a> {
    pub(crate) name: String,
    code: Code<'a>,
}

/// Where a kernel's code is.
#[derive(Clone)]
enum Code<'a> {
    /// In bitcode of its own, as in a metallib.
    Alone(&'a [u8]),
    /// In a module with others, read already.
    Shared(Arc<llvm::Module<'a>>),
}

/// A kernel's program.
pub(crate) struct Program {
    pub(crate) module: assay_ssa::Module,
    pub(crate) optimised: bool,
}
impl<'a> Kernels<'a> {
    pub(crate) fn find(path: &str, bytes: &'a [u8]) -> Result<Self, Failure> {
        let fail = |error: assay_container::Error| {
            let failure = Failure::input(format!("{path}: {error}"));
            match error.advice() {
                Some(advice) => failure.advice(advice),
                None => failure,
            }
        };
        let contents = assay_container::open(bytes).map_err(fail)?;
        let mut kernels = Vec::new();
        for library in contents.metallibs() {
            let functions = library.kernels();
            kernels.extend(functions.filter_map(|function| {
                Some(Kernel {
                    name: function.name.to_string(),
                    code: Code::Alone(function.bitcode?),
                })
            }));
        }
        if let Contents::Bitcode(_) = contents {
            let modules = llvm::read(bytes);
            let modules = modules.map_err(|error| Failure::input(format!("{path}: {error}")))?;
            for module in modules.into_iter().map(Arc::new) {
                let names = assay_air::kernel_names(&module).into_iter();
                kernels.extend(names.map(|name| Kernel {
                    name,
                    code: Code::Shared(Arc::clone(&module)),
                }));
            }
        }
        if kernels.is_empty() {
            let failure =
                Failure::input(format!("{path}: {} without kernels", contents.describe()));
            let advice =
                "this command reads Metal source, metallibs and LLVM bitcode with Metal kernels";
            return Err(failure.advice(advice));
        }
        Ok(Kernels {
            path: path.to_owned(),
            kernels,
        })
    }

    /// What can be lowered at once: kernels of one module together. Their name is empty.
    pub(crate) fn units(&self) -> Vec<Kernel<'a>> {
        let mut units: Vec<Kernel<'a>> = Vec::new();
        for kernel in &self.kernels {
            let Code::Shared(module) = &kernel.code else {
                units.push(kernel.clone());
                continue;
            };
            let same = |unit: &Kernel<'a>| matches!(&unit.code, Code::Shared(known) if Arc::ptr_eq(known, module));
            if !units.last().is_some_and(same) {
                units.push(Kernel {
                    name: String::new(),
                    code: kernel.code.clone(),
                });
            }
        }
        units
    }

    /// The kernel of a name, or all of them.
    pub(crate) fn choose(&self, name: Option<&str>) -> Result<Vec<Kernel<'a>>, Failure> {
        let Some(name) = name else {
            return Ok(self.kernels.clone());
        };
        if let Some(kernel) = self.kernels.iter().find(|kernel| kernel.name == name) {
            return Ok(vec![kernel.clone()]);
        }
        let names = || self.kernels.iter().map(|kernel| kernel.name.as_str());
        Err(crate::names::unknown(&self.path, "kernel", name, names()))
    }
}

impl Kernel<'_> {
    /// How many kernels this stands for.
    pub(crate) fn count(&self) -> usize {
        match &self.code {
            Code::Shared(module) if self.name.is_empty() => assay_air::kernel_names(module).len(),
            _ => 1,
        }
    }

    fn failure(&self, error: String) -> Failure {
        match self.name.as_str() {
            "" => Failure::input(error),
            name => Failure::input(format!("kernel {name}: {error}")),
        }
    }

    /// Reads, lowers and verifies the kernel.
    pub(crate) fn program(
        &self,
        constants: &[GivenConstant],
        no_opt: bool,
    ) -> Result<Program, Failure> {
        let lowered = self.lower(constants, false)?;
        prepare(lowered, no_opt).map_err(|error| self.failure(error))
    }

    /// The kernel's optimised program with no function constant left open: those that
    /// are given no value are zero or false. Their names come with it.
    pub(crate) fn closed_program(
        &self,
        constants: &[GivenConstant],
    ) -> Result<(Program, Vec<String>), Failure> {
        let mut lowered = self.lower(constants, false)?;
        let open = lowered.function_constants.iter().filter(|(id, constant)| {
            let is = |value: &GivenConstant| value.key.is(constant.index, &constant.name);
            !constants.iter().any(is) && is_used(&lowered, *id)
        });
        let assumed: Vec<String> = open.map(|(_, constant)| constant.name.clone()).collect();
        if !assumed.is_empty() {
            lowered = self.lower(constants, true)?;
        }
        let program = prepare(lowered, false).map_err(|error| self.failure(error))?;
        Ok((program, assumed))
    }

    fn lower(
        &self,
        constants: &[GivenConstant],
        open_is_zero: bool,
    ) -> Result<assay_ssa::Module, Failure> {
        let fail = |error: String| self.failure(error);
        let options = Options {
            kernel: Some(self.name.clone()).filter(|name| !name.is_empty()),
            constants: constants.to_vec(),
            open_is_zero,
        };
        let lowered = match &self.code {
            Code::Shared(module) => assay_air::lower(module, &options),
            Code::Alone(bitcode) => {
                let modules = llvm::read(bitcode).map_err(|error| fail(error.to_string()))?;
                match modules.first() {
                    Some(module) => assay_air::lower(module, &options),
                    None => return Err(fail("its bitcode holds no module".to_owned())),
                }
            }
        };
        let lowered = lowered.map_err(|error| fail(error.to_string()))?;
        if lowered.kernels.is_empty() {
            let message = "its module does not describe it as a kernel";
            return Err(fail(message.to_owned()));
        }
        Ok(lowered)
    }
}

/// Whether a program reads a function constant.
fn is_used(module: &assay_ssa::Module, id: FunctionConstantId) -> bool {
    module.functions.as_slice().iter().any(|function| {
        let values = (0..function.num_values()).map(Value::from_index);
        let mut definitions = values.map(|value| function.def(value));
        definitions.any(|definition| definition == ValueDef::FunctionConstant(id))
    })
}

/// Checks a program and, unless told otherwise, optimises it and checks it again.
fn prepare(mut module: assay_ssa::Module, no_opt: bool) -> Result<Program, String> {
    verify(&module)?;
    if !no_opt {
        assay_opt::pipeline::optimize(&mut module).map_err(|error| error.to_string())?;
        verify(&module).map_err(|error| format!("after optimisation, {error}"))?;
    }
    Ok(Program {
        module,
        optimised: !no_opt,
    })
}

fn verify(module: &assay_ssa::Module) -> Result<(), String> {
    assay_ssa::verify(module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string);
        first.unwrap_or_else(|| "the program breaks a rule".to_owned())
    })
}
