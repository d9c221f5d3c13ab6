//! Commands as functions that return their documents.

use crate::{background, errors};
use assay_front::Bytes;
use assay_metal::api;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::ffi::OsString;

/// Runs a command line without the program's name, and returns what it would print. `inputs` are bytes that paths of
/// the command line name. A result with exit code 1 is a result; other failures are exceptions.
#[pyfunction]
pub(crate) fn call<'py>(
    py: Python<'py>,
    arguments: Vec<OsString>,
    inputs: Vec<(String, PyBackedBytes)>,
) -> PyResult<(u8, Bound<'py, PyBytes>)> {
    let inputs: Vec<_> = inputs
        .into_iter()
        .map(|(name, bytes)| (name.into(), Bytes::new(bytes)))
        .collect();
    let answer = background::run(py, move || api::call(&arguments, inputs))?;
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
