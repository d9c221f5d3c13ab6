//! A CPU on which one operation of one function is wrong.

use super::Mutant;
use assay_device::{
    BufferId, CompileOptions, Constant, CpuDevice, Device, DeviceFacts, Dispatch, Error, Finished,
    LibraryId, PipelineFacts, PipelineId, Report, Source, Storage, SubmissionId,
};

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

    fn sanitize(&mut self, dispatch: &Dispatch) -> Result<Option<Vec<Report>>, Error> {
        self.inner.sanitize(dispatch)
    }
    fn facts(&self) -> &DeviceFacts {
        self.inner.facts()
    }
    fn compile(
        &mut self,
        source: Source<'_>,
        options: &CompileOptions,
    ) -> Result<LibraryId, Error> {
        self.inner.compile(source, options)
    }
    fn load(&mut self, bytes: Vec<u8>) -> Result<LibraryId, Error> {
        self.inner.load(bytes)
    }
    fn functions(&self, library: LibraryId) -> Result<Vec<String>, Error> {
        self.inner.functions(library)
    }
    fn pipeline_facts(&self, pipeline: PipelineId) -> Result<&PipelineFacts, Error> {
        self.inner.pipeline_facts(pipeline)
    }
    fn buffer(&mut self, bytes: u64, storage: Storage) -> Result<BufferId, Error> {
        self.inner.buffer(bytes, storage)
    }
    fn buffer_size(&self, buffer: BufferId) -> Result<u64, Error> {
        self.inner.buffer_size(buffer)
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.inner.write(buffer, offset, bytes)
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.inner.read(buffer, offset, bytes)
    }
    fn release(&mut self, buffer: BufferId) -> Result<(), Error> {
        self.inner.release(buffer)
    }
    fn submit(&mut self, dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error> {
        self.inner.submit(dispatches)
    }
    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error> {
        self.inner.wait(submission)
    }
}
