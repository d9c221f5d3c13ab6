//! A device that compiles and binds as the CPU's does and tells the times of a modelled chip, as a GPU's clock would:
//! the whole road of a calibration but the GPU itself.

use super::clock::{Clock, Simulated};
use assay_device::{
    Binding, CpuDevice, Device, Dispatch, Error, Extent, Finished, Origin, Time, forward_device,
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
    forward_device!(cpu: facts compile load functions pipeline pipeline_facts buffer buffer_size);
    forward_device!(cpu: write read release submit wait settle);

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
