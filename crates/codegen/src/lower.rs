//! The program form to machine instructions.

use crate::mir::Kernel;
use crate::{Error, ErrorKind, Options};
use assay_ssa::Module;

/// Lowers one kernel of an optimised module.
pub fn lower(_module: &Module, kernel: &str, _options: &Options) -> Result<Kernel, Error> {
    Err(ErrorKind::NoKernel(kernel.to_owned()).into())
}
