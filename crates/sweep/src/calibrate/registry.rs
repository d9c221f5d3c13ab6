//! Kernels of the registry, timed on this GPU and predicted with its constants.

use super::clock::{Gpu, Timed, refused};
use crate::Failure;
use crate::{World, prediction};
use assay_bench::registry::{Kernel, Registry};
use assay_bench::runner::{Buffers, Guards, Loaded};
use assay_engine::execution::Code;
use assay_engine::prediction::{predicted, stage};
use assay_predict::{Cache, Sampling, Target};
use serde::Serialize;

/// A kernel, predicted and measured.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegistryRow {
    /// The kernel.
    pub kernel: String,
    /// Microseconds by the GPU's clock, best of the runs.
    pub measured_us: f64,
    /// Predicted microseconds.
    pub predicted_us: f64,
    /// The band of the prediction.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
    /// What limits it, by the model.
    pub limited_by: String,
    /// Kernels whose predictions err alike.
    pub class: String,
}

impl RegistryRow {
    /// How many times as far off the prediction is as its band allows.
    pub fn beyond(&self) -> Option<f64> {
        let band = (self.high_us / self.predicted_us).ln();
        let off = (self.predicted_us / self.measured_us).ln().abs();
        (self.measured_us > 0.0 && band > 0.0).then(|| (off - band).exp())
    }
}

/// All kernels of the registry at their sizes. One that cannot be predicted or run is left out, with a remark.
pub fn table(
    gpu: &mut Gpu,
    target: &Target,
    world: &World<'_>,
) -> Result<Vec<RegistryRow>, Failure> {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let kernels: Vec<&Kernel> = registry.kernels().collect();
    let mut rows = Vec::new();
    let total = kernels.len();
    for (done, kernel) in kernels.into_iter().enumerate() {
        world.listener.kernel(&kernel.name, done, total);
        match row(gpu, registry, kernel, target, world) {
            Ok(row) => rows.push(row),
            Err(failure) => world
                .listener
                .note(&format!("{}: {}", kernel.name, failure.message)),
        }
    }
    Ok(rows)
}

fn row(
    gpu: &mut Gpu,
    registry: &Registry,
    kernel: &Kernel,
    target: &Target,
    world: &World<'_>,
) -> Result<RegistryRow, Failure> {
    let sizes = "reference";
    let passes = prediction::executions(
        &world.workspace,
        registry,
        kernel,
        sizes,
        &Sampling::default(),
    )?;
    let name = &kernel.name;
    let state = Cache::Warm;
    (world.workspace.begun)(&stage(name, target));
    let predicted = predicted(name, Code::Generated, &passes, 1, target, state)?;
    let Timed { time_us, .. } = measured(gpu, registry, kernel, sizes)?;
    Ok(RegistryRow {
        kernel: name.clone(),
        measured_us: time_us,
        predicted_us: predicted.time_us,
        low_us: predicted.low_us,
        high_us: predicted.high_us,
        limited_by: predicted.limited_by,
        class: predicted.class,
    })
}

fn measured(
    gpu: &mut Gpu,
    registry: &Registry,
    kernel: &Kernel,
    sizes: &str,
) -> Result<Timed, Failure> {
    let (case, resolved) = prediction::case(registry, kernel, sizes)?;
    let device = &mut *gpu.device;
    let mut loaded = Loaded::compile(device, &resolved.path, &resolved.text).map_err(refused)?;
    let inputs = assay_bench::inputs::random(&case, 1, assay_bench::inputs::Kind::Usual);
    let buffers = Buffers::new(device, &case, &inputs, Guards::None).map_err(refused)?;
    let dispatches = loaded.dispatches(device, &case, &buffers);
    let timed = dispatches
        .map_err(refused)
        .and_then(|dispatches| gpu.best(&dispatches));
    buffers.release(&mut *gpu.device).map_err(refused)?;
    timed
}
