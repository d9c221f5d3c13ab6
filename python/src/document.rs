//! Commands as functions that return their documents.

use crate::{background, errors};
use assay_front::{Bytes, GivenConstant, SourceOptions};
use assay_launch::Written;
use assay_metal::api;
use assay_msl::Standard;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::path::PathBuf;

/// Files in memory, by the names that paths give them.
type Inputs = Vec<(String, PyBackedBytes)>;

/// What is printed, after an exit code.
type Printed<'py> = PyResult<(u8, Bound<'py, PyBytes>)>;

/// A question about the kernels of a file: a dictionary.
#[derive(FromPyObject)]
pub(crate) struct Question {
    #[pyo3(item)]
    path: PathBuf,
    #[pyo3(item)]
    function: Option<String>,
    #[pyo3(item)]
    chip: String,
    #[pyo3(item)]
    defines: Vec<String>,
    #[pyo3(item)]
    include_folders: Vec<PathBuf>,
    #[pyo3(item)]
    include_files: Vec<PathBuf>,
    #[pyo3(item)]
    std: Option<String>,
    #[pyo3(item)]
    fast_math: bool,
    /// `KEY=TYPE:VALUE`.
    #[pyo3(item)]
    constants: Vec<String>,
    /// Parts of a launch: `grid` and `64,64`.
    #[pyo3(item)]
    launch: Vec<(String, String)>,
}

impl Question {
    /// The same as Rust's types; what is not understood is said in the words of the flags.
    fn typed(self) -> Result<api::Question, api::Refused> {
        let usage = |option: &str, why: String| api::usage(format!("{option}: {why}"));
        let mut launch = Written::default();
        for (part, text) in &self.launch {
            launch.add(part, text).map_err(api::mistake)?;
        }
        let mut source = SourceOptions {
            include_folders: self.include_folders,
            include_files: self.include_files,
            defines: self.defines,
            fast_math: self.fast_math,
            ..SourceOptions::default()
        };
        if let Some(name) = &self.std {
            source.standard = name
                .parse::<Standard>()
                .map_err(|why| usage("std", format!("{why}")))?;
        }
        let constants = self.constants.iter().map(|text| {
            let parsed = text.parse::<GivenConstant>();
            parsed.map_err(|why| usage("constants", format!("{text}: {why}")))
        });
        Ok(api::Question {
            path: self.path,
            function: self.function,
            chip: self.chip,
            source,
            constants: constants.collect::<Result<_, _>>()?,
            launch,
        })
    }
}

/// The document `assay.profile` about a file.
#[pyfunction]
pub(crate) fn profile<'py>(
    py: Python<'py>,
    question: Question,
    costs: Option<String>,
    inputs: Inputs,
) -> Printed<'py> {
    let costs = costs.map_or(Ok(assay_chip::CostModel::default()), |name| name.parse());
    let costs = costs.map_err(|why| errors::refused(py, &api::usage(format!("costs: {why}"))))?;
    let question = question.typed().map_err(|why| errors::refused(py, &why))?;
    let inputs = files(inputs);
    let answer = background::run(py, move || api::profile(question, costs, inputs))?;
    printed(py, answer)
}

/// The document `assay.predict` about a file.
#[pyfunction]
pub(crate) fn predict<'py>(
    py: Python<'py>,
    question: Question,
    cold: bool,
    what_if: Vec<String>,
    repeat: u32,
    inputs: Inputs,
) -> Printed<'py> {
    let question = question.typed().map_err(|why| errors::refused(py, &why))?;
    let how = api::Prediction {
        cold,
        what_if,
        repeat,
    };
    let inputs = files(inputs);
    let answer = background::run(py, move || api::predict(question, how, inputs))?;
    printed(py, answer)
}

/// Runs a command line without the program's name, and returns what it would print. `inputs` are bytes that paths of
/// the command line name. A result with exit code 1 is a result; other failures are exceptions.
#[pyfunction]
pub(crate) fn call<'py>(py: Python<'py>, arguments: Vec<OsString>, inputs: Inputs) -> Printed<'py> {
    let inputs = files(inputs);
    let answer = background::run(py, move || api::call(&arguments, inputs))?;
    printed(py, answer)
}

fn files(inputs: Inputs) -> Vec<(PathBuf, Bytes)> {
    let files = inputs.into_iter();
    files
        .map(|(name, bytes)| (name.into(), Bytes::new(bytes)))
        .collect()
}

fn printed<'py>(py: Python<'py>, answer: api::Answer) -> Printed<'py> {
    match answer.error {
        Some(error) => Err(errors::exception(py, &error)),
        None => Ok((answer.code, PyBytes::new(py, &answer.output))),
    }
}

/// The program `assay`: runs a command line, program name first, on the terminal, and returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| assay_metal::status(arguments))
}
