//! A CPU device of which a test changes one thing: what is read, what is run, or what the clock shows.

use assay_device::{
    BufferId, CpuDevice, Device, DeviceFacts, Dispatch, Error, Finished, SubmissionId,
    forward_device,
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
    forward_device!(inner: compile load functions pipeline pipeline_facts buffer buffer_size);
    forward_device!(inner: write release settle);
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.inner.read(buffer, offset, bytes)?;
        (self.on_read)(bytes);
        Ok(())
    }
    fn submit(&mut self, dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error> {
        let dispatches = (self.on_submit)(dispatches);
        self.inner.submit(dispatches)
    }
    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error> {
        self.inner.wait(submission).map(&mut self.on_wait)
    }
}
