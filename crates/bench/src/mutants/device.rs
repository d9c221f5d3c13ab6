//! A CPU on which one operation of one function is wrong.

use super::Mutant;
use assay_device::{Constant, CpuDevice, Device, Error, LibraryId, PipelineId, forward_device};

/// A device whose pipelines of one function are mutants.
#[derive(Debug)]
pub(super) struct Mutating<'a> {
    pub(super) inner: &'a mut CpuDevice,
    pub(super) mutant: &'a Mutant,
    /// Set once the mutant could not be made.
    pub(super) failed: bool,
}

impl Device for Mutating<'_> {
    fn pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
    ) -> Result<PipelineId, Error> {
        let (mutant, mut applied) = (self.mutant, true);
        let made = self
            .inner
            .edited_pipeline(library, function, constants, &mut |module| {
                if function == mutant.function {
                    applied = mutant.apply(module);
                }
            });
        self.failed |= !applied || made.is_err();
        made
    }

    forward_device!(inner: facts compile load functions pipeline_facts buffer buffer_size);
    forward_device!(inner: write read release submit wait sanitize settle);
}
