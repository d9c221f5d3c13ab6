//! A kernel of a file with the launch of the command line, executed.

use crate::context::Context;
use crate::failure::Failure;
use crate::generate::CodeArgs;
use crate::launch::{Asked, LaunchArgs};
use crate::{input, progress, source};
use assay_agx::Program;
use assay_engine::execution::{self, Code, Task};
use assay_engine::{Launched, Settings};
use assay_predict::{Error, Sampling};
use std::path::Path;

pub(crate) use assay_engine::execution::no_launch;

/// What decides the execution of a file's kernel.
pub(crate) struct Ask<'a> {
    pub(crate) function: Option<&'a str>,
    pub(crate) launch: &'a LaunchArgs,
    pub(crate) code: &'a CodeArgs,
    pub(crate) sampling: Sampling,
}

/// The kernel of a file with the launch of the command line, at each of its sizes.
pub(crate) fn of_file(path: &Path, ask: &Ask<'_>, context: &Context) -> Result<Vec<Task>, Failure> {
    let bytes = input::open(path)?;
    let settings = Settings {
        source: ask.code.source.options(path),
        constants: ask.code.values.constants.clone(),
        ..Settings::default()
    };
    let kernel = source::workspace().open(path, &bytes, ask.function, &settings);
    let kernel = kernel.map_err(source::installable)?;
    let made = kernel.code()?;
    let asked = Asked {
        path,
        bytes: &bytes,
        kernel: &made.program.name,
        arguments: &made.arguments,
        options: settings.source.clone(),
        constants: &settings.constants,
    };
    asked.warn(context);
    let launched = asked.launch(ask.launch.written()?, context)?;
    kernel.execute(&launched, ask.sampling)
}

/// A program with a launch, executed at each of its sizes.
pub(crate) fn tasks(
    program: &Program,
    code: Code,
    launched: &Launched,
    sampling: Sampling,
) -> Result<Vec<Task>, Failure> {
    execution::tasks(program, code, launched, sampling, progress::stage)
}

/// A failure of the library in the words and exit codes of the program.
pub(crate) fn failure(error: Error) -> Failure {
    error.into()
}
