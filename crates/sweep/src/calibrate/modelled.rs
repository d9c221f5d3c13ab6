//! A device that compiles and binds as the CPU's does and tells the times of a modelled chip, as a GPU's clock would:
//! the whole road of a calibration but the GPU itself.

use super::clock::{Clock, Simulated};
use assay_device::{
    Binding, BufferId, CompileOptions, Constant, CpuDevice, Device, DeviceFacts, Dispatch, Error,
    Extent, Finished, LibraryId, Origin, PipelineFacts, PipelineId, Source, Storage, SubmissionId,
    Time,
};
use assay_predict::calibrate::Probe;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct ModelledGpu {
    pub(crate) cpu: CpuDevice,
    pub(crate) clock: Simulated,
    pub(crate) probes: Vec<Probe>,
    /// Command buffers run so far: times vary with it, upwards only.
    pub(crate) runs: u32,
}

impl ModelledGpu {
    /// The probe that a command buffer is.
    fn probe(&self, dispatches: &[Dispatch]) -> Option<&Probe> {
        let first = dispatches.first()?;
        let function = &self.cpu.pipeline_facts(first.pipeline).ok()?.function;
        let number = |index: u32| {
            let bound = first.bindings.iter().find(|(at, _)| *at == index)?;
            match &bound.1 {
                Binding::Bytes(bytes) => {
                    Some(u32::from_le_bytes(bytes.as_slice().try_into().ok()?))
                }
                _ => None,
            }
        };
        let bytes = first.bindings.iter().find_map(|(at, bound)| match bound {
            Binding::Buffer { buffer, offset: 0 } if *at == 0 => self.cpu.buffer_size(*buffer).ok(),
            _ => None,
        });
        self.probes.iter().find(|probe| {
            probe.function == *function
                && first.extent == Extent::Threads([probe.threads, 1, 1])
                && first.threadgroup == [probe.threadgroup, 1, 1]
                && (number(1), number(2)) == (Some(probe.turns), Some(probe.mask))
                && bytes == Some(probe.bytes)
                && dispatches.len() == probe.dispatches as usize
                && dispatches.iter().all(|one| one == first)
        })
    }
}

impl Device for ModelledGpu {
    fn facts(&self) -> &DeviceFacts {
        self.cpu.facts()
    }

    fn compile(
        &mut self,
        source: Source<'_>,
        options: &CompileOptions,
    ) -> Result<LibraryId, Error> {
        self.cpu.compile(source, options)
    }

    fn load(&mut self, bytes: Vec<u8>) -> Result<LibraryId, Error> {
        self.cpu.load(bytes)
    }

    fn functions(&self, library: LibraryId) -> Result<Vec<String>, Error> {
        self.cpu.functions(library)
    }

    fn pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
    ) -> Result<PipelineId, Error> {
        self.cpu.pipeline(library, function, constants)
    }

    fn pipeline_facts(&self, pipeline: PipelineId) -> Result<&PipelineFacts, Error> {
        self.cpu.pipeline_facts(pipeline)
    }

    fn buffer(&mut self, bytes: u64, storage: Storage) -> Result<BufferId, Error> {
        self.cpu.buffer(bytes, storage)
    }

    fn buffer_size(&self, buffer: BufferId) -> Result<u64, Error> {
        self.cpu.buffer_size(buffer)
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.cpu.write(buffer, offset, bytes)
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.cpu.read(buffer, offset, bytes)
    }

    fn release(&mut self, buffer: BufferId) -> Result<(), Error> {
        self.cpu.release(buffer)
    }

    fn submit(&mut self, dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error> {
        self.cpu.submit(dispatches)
    }

    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error> {
        self.cpu.wait(submission)
    }

    fn run(&mut self, dispatches: Vec<Dispatch>) -> Result<Finished, Error> {
        let probe = self
            .probe(&dispatches)
            .expect("a probe of the plan")
            .clone();
        let timed = self.clock.time(&probe).expect("a modelled time");
        // Up to 15 % more than the least, in a pattern whose fastest of any four is the least.
        let noise = f64::from(self.runs % 4) * 0.05;
        self.runs += 1;
        let length = Duration::from_secs_f64(timed.time_us * 1e-6 * (1.0 + noise));
        Ok(Finished {
            total: Some(Time {
                length,
                origin: Origin::Measured,
            }),
            dispatches: Vec::new(),
        })
    }
}
