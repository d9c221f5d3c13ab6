//! Failures as Python exceptions: `assay._errors` makes them of the documents that commands print.

use assay_metal::api::{self, Refused};
use pyo3::prelude::*;

/// The exception of a document `assay.error`.
pub(crate) fn exception(py: Python<'_>, document: &str) -> PyErr {
    let made = py
        .import("assay._errors")
        .and_then(|module| module.call_method1("from_document", (document,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception of a library or kernel that was refused.
pub(crate) fn refused(py: Python<'_>, refused: &Refused) -> PyErr {
    exception(py, &refused.error)
}

/// The exception of a device's error.
pub(crate) fn of_device(py: Python<'_>, error: assay_device::Error) -> PyErr {
    refused(py, &api::refused_by_device(error))
}

/// An exception about how something was called.
pub(crate) fn usage(py: Python<'_>, message: &str, advice: &str) -> PyErr {
    let error = serde_json::json!({
        "kind": "usage", "exit_code": 2, "message": message, "advice": advice,
    });
    exception(py, &serde_json::json!({ "error": error }).to_string())
}
