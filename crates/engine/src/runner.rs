//! A kernel on the CPU: what it leaves in its buffers, and what a checked run finds.

use crate::bound::Bound;
use assay_device::{
    Checks, Constant, CpuDevice, Device as _, Error, PipelineFacts, PipelineId, Report, Settings,
};
use assay_front::Library;
use assay_launch::{Extent, Inputs};

/// What buffers hold, by index.
type Filled = Vec<(u32, Vec<u8>)>;

/// A kernel that is ready to run.
pub struct Runner {
    device: CpuDevice,
    pipeline: PipelineId,
    facts: PipelineFacts,
}

impl Runner {
    /// A kernel of a library. One that is to be checked was compiled for it, and the settings say what for.
    pub fn new(
        library: &Library,
        function: &str,
        constants: &[Constant],
        settings: Settings,
    ) -> Result<Runner, Error> {
        let mut device = CpuDevice::new(settings)?;
        let library = device.add(library.clone())?;
        let pipeline = device.pipeline(library, function, constants)?;
        let facts = device.pipeline_facts(pipeline)?.clone();
        Ok(Runner {
            device,
            pipeline,
            facts,
        })
    }

    /// A kernel whose optimised program is changed before it is made ready, for tests of whoever compares kernels.
    pub fn edited(
        library: &Library,
        function: &str,
        constants: &[Constant],
        settings: Settings,
        edit: &mut dyn FnMut(&mut assay_ssa::Module),
    ) -> Result<Runner, Error> {
        let mut device = CpuDevice::new(settings)?;
        let library = device.add(library.clone())?;
        let pipeline = device.edited_pipeline(library, function, constants, edit)?;
        let facts = device.pipeline_facts(pipeline)?.clone();
        Ok(Runner {
            device,
            pipeline,
            facts,
        })
    }

    /// A kernel to be checked, as far as possible as it was written: what only such a program has, an optimiser may remove.
    /// Also says why only the optimised form can be checked, where that is so.
    pub fn to_check(
        library: &Library,
        function: &str,
        constants: &[Constant],
        (settings, checks): (Settings, Checks),
    ) -> Result<(Runner, Option<Error>), Error> {
        let checked = Settings {
            checks: Some(checks),
            ..settings.clone()
        };
        match Runner::new(library, function, constants, checked) {
            Ok(runner) => Ok((runner, None)),
            Err(why @ (Error::Pipeline { .. } | Error::Unsupported { .. })) => {
                let runner = Runner::new(library, function, constants, settings)?;
                Ok((runner, Some(why)))
            }
            Err(error) => Err(error),
        }
    }

    /// What is known of the kernel.
    pub fn facts(&self) -> &PipelineFacts {
        &self.facts
    }

    /// Returns true if its threadgroups run one after the other, because device atomics make results depend on their order.
    pub fn runs_in_order(&self) -> Result<bool, Error> {
        Ok(self.device.program(self.pipeline)?.runs_in_order())
    }

    /// Runs the kernel; what its buffers hold afterwards, by index.
    pub fn run(&mut self, geometry: (Extent, [u32; 3]), inputs: &Inputs) -> Result<Filled, Error> {
        let (contents, ()) = self.with(geometry, inputs, |device, bound| {
            device.run(vec![bound.dispatch.clone()]).map(|_| ())
        })?;
        Ok(contents)
    }

    /// Runs the kernel slowly; what it did that it must not.
    pub fn check(
        &mut self,
        geometry: (Extent, [u32; 3]),
        inputs: &Inputs,
    ) -> Result<Vec<Report>, Error> {
        let (_, reports) = self.with(geometry, inputs, |device, bound| {
            device.check_run(&bound.dispatch)
        })?;
        Ok(reports)
    }

    /// What the buffers hold before a run, by index.
    pub fn starts(
        &mut self,
        geometry: (Extent, [u32; 3]),
        inputs: &Inputs,
    ) -> Result<Filled, Error> {
        let (contents, ()) = self.with(geometry, inputs, |_, _| Ok(()))?;
        Ok(contents)
    }

    fn with<T>(
        &mut self,
        geometry: (Extent, [u32; 3]),
        inputs: &Inputs,
        work: impl FnOnce(&mut CpuDevice, &Bound) -> Result<T, Error>,
    ) -> Result<(Filled, T), Error> {
        let bound = Bound::new(&mut self.device, self.pipeline, geometry, inputs)?;
        let filled = bound.fill(&mut self.device, inputs);
        let done = filled.and_then(|()| work(&mut self.device, &bound));
        let done = done.and_then(|done| Ok((bound.contents(&mut self.device)?, done)));
        bound.release(&mut self.device)?;
        done
    }
}
