//! A CPU device of which a test changes one thing: what is read, what is run, or what the clock shows.

use assay_device::{
    BufferId, CompileOptions, Constant, CpuDevice, Device, DeviceFacts, Dispatch, Error, Finished,
    LibraryId, PipelineFacts, PipelineId, Source, Storage, SubmissionId,
};
use std::fmt;

type OnRead = Box<dyn FnMut(&mut [u8])>;
type OnSubmit = Box<dyn FnMut(Vec<Dispatch>) -> Vec<Dispatch>>;
type OnWait = Box<dyn FnMut(Finished) -> Finished>;

pub(crate) struct Wrapped {
    inner: CpuDevice,
    pub(crate) facts: DeviceFacts,
    pub(crate) on_read: OnRead,
    pub(crate) on_submit: OnSubmit,
    pub(crate) on_wait: OnWait,
}

impl Wrapped {
    pub(crate) fn new(inner: CpuDevice) -> Self {
        Self {
            facts: inner.facts().clone(),
            inner,
            on_read: Box::new(|_| {}),
            on_submit: Box::new(|dispatches| dispatches),
            on_wait: Box::new(|finished| finished),
        }
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Device for Wrapped {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
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
    fn pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
    ) -> Result<PipelineId, Error> {
        self.inner.pipeline(library, function, constants)
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
        self.inner.read(buffer, offset, bytes)?;
        (self.on_read)(bytes);
        Ok(())
    }
    fn release(&mut self, buffer: BufferId) -> Result<(), Error> {
        self.inner.release(buffer)
    }
    fn submit(&mut self, dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error> {
        let dispatches = (self.on_submit)(dispatches);
        self.inner.submit(dispatches)
    }
    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error> {
        self.inner.wait(submission).map(&mut self.on_wait)
    }
}
