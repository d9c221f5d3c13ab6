//! Virtual registers to machine code.

use crate::mir::Kernel;
use crate::{Error, ErrorKind, Options};
use assay_agx::Program;

/// Schedules, allocates, places waits and encodes.
pub fn finish(_kernel: Kernel, _options: &Options) -> Result<Program, Error> {
    Err(ErrorKind::Unsupported("everything".to_owned()).into())
}
