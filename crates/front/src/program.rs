//! From a kernel to its program: lowered, verified, optimised, verified again.

use crate::constants::is_used;
use crate::error::Problem;
use crate::{Error, Kernel, check_constants, constants};
use assay_air::GivenConstant;
use assay_opt::pipeline::Checks;
use assay_ssa::Module;

/// What is asked of a kernel's program besides its code.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Values of function constants.
    pub constants: &'a [GivenConstant],
    /// What becomes of function constants without a value.
    pub open: OpenConstants,
    /// How far it is optimised.
    pub form: Form,
}

/// How far a program is optimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As everything runs and costs it.
    #[default]
    Optimised,
    /// Optimised, loops as they were written: what a reader wants to see.
    LoopsKept,
    /// As it was read.
    AsRead,
}

/// What becomes of function constants that are given no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenConstants {
    /// They stay open.
    #[default]
    Keep,
    /// Those the program reads are zero or false; [`Program::assumed`] names them.
    Zero,
}

/// A kernel's program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub module: Module,
    /// False if it is as it was read.
    pub optimised: bool,
    /// Function constants that were taken for zero or false.
    pub assumed: Vec<String>,
}

impl Kernel {
    /// The kernel's optimised program. A value for a function constant it does not have is an error; constants
    /// without a value stay open.
    pub fn program(&self, constants_given: &[GivenConstant]) -> Result<Module, Error> {
        let request = Request {
            constants: constants_given,
            open: OpenConstants::Keep,
            form: Form::AsRead,
        };
        let read = self.program_as(&request)?;
        check_constants(constants_given, constants(&read.module))?;
        let options = assay_opt::pipeline::Options::default();
        let module = optimise(read.module, &options).map_err(|problem| self.error(problem))?;
        Ok(module)
    }

    /// The kernel's program made to be checked: see [`assay_opt::pipeline::Checks`]. Source must have been compiled for it
    /// ([`SourceOptions::checked`](crate::SourceOptions)); of other code, what its optimiser has left is checked.
    pub fn checked_program(
        &self,
        constants_given: &[GivenConstant],
        checks: Checks,
    ) -> Result<Module, Error> {
        let options = assay_air::Options {
            kernel: Some(self.name.clone()).filter(|name| !name.is_empty()),
            constants: constants_given.to_vec(),
            open_is_zero: false,
            lifetimes: true,
        };
        let module = self
            .lower(&options)
            .map_err(|problem| self.error(problem))?;
        check_constants(constants_given, constants(&module))?;
        let make = || {
            if module.kernels.is_empty() {
                return Err(Problem::NotAKernel);
            }
            verify(&module)?;
            let options = assay_opt::pipeline::Options {
                checks: Some(checks),
                ..assay_opt::pipeline::Options::default()
            };
            optimise(module, &options)
        };
        make().map_err(|problem| self.error(problem))
    }

    /// The kernel's program as a request wants it. Whether given constants exist is left to
    /// [`check_constants`], since several kernels may share one list.
    pub fn program_as(&self, request: &Request<'_>) -> Result<Program, Error> {
        let made = self.make(request);
        made.map_err(|problem| self.error(problem))
    }

    fn make(&self, request: &Request<'_>) -> Result<Program, Problem> {
        let mut options = assay_air::Options {
            kernel: Some(self.name.clone()).filter(|name| !name.is_empty()),
            constants: request.constants.to_vec(),
            open_is_zero: false,
            lifetimes: false,
        };
        let mut module = self.lower(&options)?;
        if module.kernels.is_empty() {
            return Err(Problem::NotAKernel);
        }
        let mut assumed = Vec::new();
        if request.open == OpenConstants::Zero {
            assumed = open_constants(&module, request.constants);
            if !assumed.is_empty() {
                options.open_is_zero = true;
                module = self.lower(&options)?;
            }
        }
        verify(&module)?;
        if request.form != Form::AsRead {
            let options = assay_opt::pipeline::Options {
                unroll: request.form == Form::Optimised,
                ..assay_opt::pipeline::Options::default()
            };
            module = optimise(module, &options)?;
        }
        Ok(Program {
            module,
            optimised: request.form != Form::AsRead,
            assumed,
        })
    }

    fn error(&self, problem: Problem) -> Error {
        Error::Kernel {
            kernel: self.name.clone(),
            problem,
        }
    }
}

/// Names of the function constants that a program reads and nobody gave a value.
fn open_constants(module: &Module, given: &[GivenConstant]) -> Vec<String> {
    let open = module.function_constants.iter().filter(|(id, constant)| {
        let is = |value: &GivenConstant| value.key.is(constant.index, &constant.name);
        !given.iter().any(is) && is_used(module, *id)
    });
    open.map(|(_, constant)| constant.name.clone()).collect()
}

fn optimise(mut module: Module, options: &assay_opt::pipeline::Options) -> Result<Module, Problem> {
    assay_opt::pipeline::optimize_with(&mut module, options).map_err(Problem::Inline)?;
    verify(&module).map_err(|problem| match problem {
        Problem::Invalid { rule } => Problem::Invalid {
            rule: format!("after optimisation, {rule}"),
        },
        other => other,
    })?;
    Ok(module)
}

fn verify(module: &Module) -> Result<(), Problem> {
    assay_ssa::verify(module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string);
        let rule = first.unwrap_or_else(|| "the program breaks a rule".to_owned());
        Problem::Invalid { rule }
    })
}
