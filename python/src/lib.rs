//! The native module of the Python package: commands as functions, kernels on borrowed arrays, the recorder of times.
//!
//! It is thin. Documents pass through as JSON text and become objects in Python (`assay/*.py`); what Python sees of
//! kernels is `Library` and `Kernel`. Long work runs without the interpreter's lock and ends on Ctrl-C: commands in
//! [`background`], kernels by [`interrupt`].

mod background;
mod constants;
mod document;
mod errors;
mod interrupt;
mod kernel;
mod library;
mod memory;
mod recorder;
mod statistics;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::document::{call, command, predict, profile};
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::library::Library;
    #[pymodule_export]
    use super::recorder::Recorder;
    #[pymodule_export]
    use super::statistics::{occupancy_steps, race, summary};

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
