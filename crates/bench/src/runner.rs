//! Runs a case of a kernel on a device, over [`Buffers`] between guards.

pub use crate::buffers::{Buffers, Contents, Damage, GUARD, Guards, Outcome, is_unwritten};

use crate::oracle::Tensor;
use crate::registry::{Case, CaseBinding, CasePass, CaseRole};
use assay_device::{
    Binding, CompileOptions, Constant, ConstantKey, Device, Dispatch, Error, LibraryId, PipelineId,
    Source,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// A kernel's source on a device.
#[derive(Debug)]
pub struct Loaded {
    library: LibraryId,
    pipelines: Vec<Ready>,
    /// From making the first pipeline to the end of the first run.
    first_launch: Option<Duration>,
}

/// A function with certain constants.
#[derive(Debug)]
struct Ready {
    function: String,
    constants: Vec<(u32, u32)>,
    pipeline: PipelineId,
}

impl Loaded {
    /// Compiles a source.
    pub fn compile(device: &mut dyn Device, path: &str, text: &str) -> Result<Self, Error> {
        let source = Source {
            path: Path::new(path),
            text,
        };
        let library = device.compile(source, &CompileOptions::default())?;
        Ok(Self::of(library))
    }

    /// The kernels of its source.
    pub fn functions(&self, device: &dyn Device) -> Result<Vec<String>, Error> {
        device.functions(self.library)
    }

    /// A library that a device has already.
    pub fn of(library: LibraryId) -> Self {
        Self {
            library,
            pipelines: Vec::new(),
            first_launch: None,
        }
    }

    /// How long the first run took, from making its pipelines to its end, by this machine's clock: what a program waits
    /// for that uses a kernel once. `None` before the first [`Loaded::run`].
    pub fn first_launch(&self) -> Option<Duration> {
        self.first_launch
    }

    /// The pipeline of a function with certain constants, made when it is first needed.
    fn pipeline(
        &mut self,
        device: &mut dyn Device,
        function: &str,
        constants: &[(u32, u32)],
    ) -> Result<PipelineId, Error> {
        let mut known = self.pipelines.iter();
        let known = known.find(|ready| ready.function == function && ready.constants == constants);
        if let Some(ready) = known {
            return Ok(ready.pipeline);
        }
        let pipeline = device.pipeline(self.library, function, &given(constants))?;
        self.pipelines.push(Ready {
            function: function.to_owned(),
            constants: constants.to_vec(),
            pipeline,
        });
        Ok(pipeline)
    }

    /// The pipeline of a function that has no constants.
    pub fn alone(&self, device: &mut dyn Device, function: &str) -> Result<PipelineId, Error> {
        device.pipeline(self.library, function, &[])
    }

    /// The dispatches of a case, over buffers made by [`Buffers::new`].
    pub fn dispatches(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        buffers: &Buffers,
    ) -> Result<Vec<Dispatch>, Error> {
        let constants = numbers(case);
        let mut dispatches = Vec::with_capacity(case.passes.len());
        for pass in &case.passes {
            let pipeline = self.pipeline(device, &pass.function, &constants)?;
            dispatches.push(dispatch(pipeline, pass, case, buffers));
        }
        Ok(dispatches)
    }

    /// Runs a case once with fresh buffers.
    pub fn run(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
        guards: Guards,
    ) -> Result<Outcome, Error> {
        let buffers = Buffers::new(device, case, inputs, guards)?;
        let start = Instant::now();
        let dispatches = self.dispatches(device, case, &buffers);
        let finished = dispatches.and_then(|dispatches| device.run(dispatches));
        self.first_launch.get_or_insert_with(|| start.elapsed());
        let outcome = finished.and_then(|finished| buffers.collect(device, case, finished));
        buffers.release(device)?;
        outcome
    }
    /// The same with threadgroups in another order, where a kernel may depend on it and the device can choose.
    pub fn run_backwards(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
    ) -> Result<Option<Outcome>, Error> {
        let buffers = Buffers::new(device, case, inputs, Guards::Pattern)?;
        let dispatches = self.dispatches(device, case, &buffers);
        let finished = dispatches.map(|dispatches| device.run_backwards(dispatches));
        let outcome = finished.and_then(|finished| match finished {
            Some(finished) => buffers.collect(device, case, finished?).map(Some),
            None => Ok(None),
        });
        buffers.release(device)?;
        outcome
    }
}

/// The function constants of a case, as devices and compilers are given them.
pub fn constants(case: &Case) -> Vec<Constant> {
    given(&numbers(case))
}

fn numbers(case: &Case) -> Vec<(u32, u32)> {
    let constants = case.constants.iter();
    constants
        .map(|(index, _, value)| (*index, *value))
        .collect()
}

fn given(constants: &[(u32, u32)]) -> Vec<Constant> {
    let given = constants.iter().map(|&(index, value)| Constant {
        key: ConstantKey::Index(index),
        ty: assay_ssa::Type::I32,
        elements: vec![u64::from(value)],
    });
    given.collect()
}

fn dispatch(pipeline: PipelineId, pass: &CasePass, case: &Case, buffers: &Buffers) -> Dispatch {
    let mut dispatch = Dispatch::new(pipeline, pass.extent, pass.threadgroup);
    for (index, binding) in (0..).zip(&pass.bindings) {
        let binding = match binding {
            CaseBinding::Number(value) => Binding::Bytes(value.to_le_bytes().to_vec()),
            CaseBinding::Argument(place) => {
                match (case.arguments.get(*place), buffers.binding(*place)) {
                    (Some(argument), _) if matches!(argument.role, CaseRole::Scalar { .. }) => {
                        let CaseRole::Scalar { value } = argument.role else {
                            continue;
                        };
                        Binding::Bytes(argument.dtype.encode(&[value]))
                    }
                    (_, Some(binding)) => binding,
                    _ => continue,
                }
            }
        };
        dispatch = dispatch.bind(index, binding);
    }
    for (index, bytes) in (0..).zip(&pass.threadgroup_memory) {
        dispatch = dispatch.bind(index, Binding::ThreadgroupMemory(*bytes));
    }
    dispatch
}
