//! One kernel, and everything that can be asked of it.

use crate::code::{Generated, Generator, name_files};
use crate::execution::{Code, Task, tasks};
use crate::loaded::profiled;
use crate::workspace::{Settings, Workspace};
use crate::{Error, Launched, Phases, Runner, prediction};
use assay_agx::Program;
use assay_device::Checks;
use assay_front::Library;
use assay_launch::{Sizes, Written};
use assay_predict::{Cache, Report, Sampling, Target};
use assay_profile::{Options, Origin, Profile};
use assay_ssa::Argument;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A kernel of a file. Its code is made once.
pub struct Kernel {
    workspace: Workspace,
    path: PathBuf,
    text: Option<String>,
    settings: Settings,
    /// The kernel and the library it is in; none of machine code.
    program: Option<(assay_front::Kernel, Library)>,
    made: OnceLock<Result<Made, Error>>,
}

/// Machine code of a kernel.
#[derive(Debug)]
pub struct Made {
    /// The code.
    pub program: Program,
    /// The kernel's arguments; none of machine code, which has no names.
    pub arguments: Vec<Argument>,
    /// Whose compiler made it.
    pub code: Code,
    /// Function constants that were given no value.
    pub assumed: Vec<String>,
    /// Tensor operations that the code stands for.
    pub tensors: Vec<assay_profile::TensorOperation>,
}

impl Made {
    pub(crate) fn of_file(mut program: Program, path: &Path) -> Made {
        if program.name.is_empty() {
            program.name = path.display().to_string();
        }
        Made {
            program,
            arguments: Vec::new(),
            code: Code::OfFile,
            assumed: Vec::new(),
            tensors: Vec::new(),
        }
    }

    fn generated(generated: Generated) -> Made {
        Made {
            program: generated.program,
            arguments: generated.arguments,
            code: Code::Generated,
            assumed: generated.assumed,
            tensors: generated.tensors,
        }
    }
}

impl Kernel {
    pub(crate) fn new(
        workspace: &Workspace,
        path: &Path,
        text: Option<String>,
        settings: &Settings,
        held: Result<(assay_front::Kernel, Library), Made>,
    ) -> Kernel {
        let made = OnceLock::new();
        let program = match held {
            Ok(program) => Some(program),
            Err(machine_code) => {
                // Nobody else has it yet.
                let _ = made.set(Ok(machine_code));
                None
            }
        };
        Kernel {
            workspace: workspace.clone(),
            path: path.to_owned(),
            text,
            settings: settings.clone(),
            program,
            made,
        }
    }

    /// Its machine code: that of the file, or generated.
    pub fn code(&self) -> Result<&Made, Error> {
        let made = self.made.get_or_init(|| self.generate());
        made.as_ref().map_err(Clone::clone)
    }

    fn generate(&self) -> Result<Made, Error> {
        let Some((kernel, _)) = &self.program else {
            return Err(Error::input("there is no program to generate code for"));
        };
        let generator = Generator {
            constants: &self.settings.constants,
            isa: self.settings.isa,
            threadgroup: self.settings.threadgroup,
        };
        let mut phases = Phases::told(self.workspace.begun);
        let made = generator.generate(kernel, &mut phases);
        let made = made.map_err(|refused| refused.error())?;
        let constants = made.constants();
        assay_front::check_constants(&self.settings.constants, constants)
            .map_err(|error| crate::front_error(&self.path, error))?;
        let mut made = Made::generated(made);
        name_files(
            &mut made.program,
            &self.path,
            self.workspace.folder.as_deref(),
        );
        Ok(made)
    }

    /// The launch that flags describe, or a comment of the source; none when neither does.
    pub fn launched(&self, flags: Written) -> Result<Option<Launched>, Error> {
        let made = self.code()?;
        Launched::find(
            self.text.as_deref(),
            &made.program.name,
            &made.arguments,
            flags,
            &self.workspace.files,
        )
    }

    /// Costs, registers, occupancy and findings of its code.
    pub fn profile(&self, options: &Options) -> Result<Profile, Error> {
        let made = self.code()?;
        let options = Options {
            origin: match made.code {
                Code::Generated => Origin::Assay,
                Code::OfFile => Origin::Archive,
            },
            assumed_constants: made.assumed.clone(),
            tensor_operations: made.tensors.clone(),
            ..options.clone()
        };
        profiled(&made.program, &options)
    }

    /// A sample of its threadgroups, executed at each of a launch's sizes.
    pub fn execute(&self, launched: &Launched, sampling: Sampling) -> Result<Vec<Task>, Error> {
        let made = self.code()?;
        let begun = self.workspace.begun;
        tasks(&made.program, made.code, launched, sampling, begun)
    }

    /// Predicted times on chips, at each of a launch's sizes.
    pub fn predict(
        &self,
        launched: &Launched,
        targets: &[Target],
        state: Cache,
    ) -> Result<Report, Error> {
        let tasks = self.execute(launched, Sampling::default())?;
        prediction::report(&tasks, targets, state, 1, self.workspace.begun)
    }

    /// Runs it on this CPU at certain sizes; what its buffers hold afterwards, by index.
    pub fn run(&self, launched: &Launched, sizes: &Sizes) -> Result<Vec<(u32, Vec<u8>)>, Error> {
        let (geometry, inputs) = launched.bound(sizes)?;
        let (kernel, library) = self.program()?;
        let settings = self.device();
        let mut runner = Runner::new(library, &kernel.name, &self.settings.constants, settings)?;
        Ok(runner.run(geometry, &inputs)?)
    }

    /// Runs it slowly at certain sizes; what it did that it must not. It is compiled again, for that.
    pub fn check(
        &self,
        launched: &Launched,
        sizes: &Sizes,
        checks: Checks,
    ) -> Result<Vec<assay_device::Report>, Error> {
        let (geometry, inputs) = launched.bound(sizes)?;
        let (kernel, library) = self.program()?;
        let fail = |error| crate::front_error(&self.path, error);
        let compiled;
        let library = match &self.text {
            Some(text) => {
                let source = assay_front::Source {
                    path: &self.path,
                    text: text.as_bytes(),
                };
                let options = assay_front::SourceOptions {
                    checked: true,
                    ..self.settings.source.clone()
                };
                let made = Library::compile(source, &*self.workspace.compiler, &options);
                compiled = made.map_err(fail)?;
                &compiled
            }
            None => library,
        };
        let settings = (self.device(), checks);
        let constants = &self.settings.constants;
        let (mut runner, _) = Runner::to_check(library, &kernel.name, constants, settings)?;
        Ok(runner.check(geometry, &inputs)?)
    }

    fn program(&self) -> Result<&(assay_front::Kernel, Library), Error> {
        self.program.as_ref().ok_or_else(|| {
            Error::input("machine code is not run on this CPU as a program is")
                .advice("assay emu runs it, instruction by instruction")
        })
    }

    fn device(&self) -> assay_device::Settings {
        assay_device::Settings {
            max_steps: self.settings.max_steps,
            timeout: self.settings.timeout,
            cancel: self.workspace.cancel.clone(),
            ..assay_device::Settings::default()
        }
    }
}
