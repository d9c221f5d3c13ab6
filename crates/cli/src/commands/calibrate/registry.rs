//! Kernels of the registry, timed on this GPU and predicted with its constants.

use super::clock::{Gpu, Timed, refused};
use crate::context::Context;
use crate::failure::Failure;
use crate::prediction::{self, Code, registry as predicted};
use assay_bench::registry::{Kernel, Registry};
use assay_bench::runner::{Buffers, Guards, Loaded};
use assay_predict::{Cache, Sampling, Target};
use serde::Serialize;

/// A kernel, predicted and measured.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RegistryRow {
    /// The kernel.
    pub(super) kernel: String,
    /// Microseconds by the GPU's clock, best of the runs.
    pub(super) measured_us: f64,
    /// Predicted microseconds.
    pub(super) predicted_us: f64,
    /// The band of the prediction.
    pub(super) low_us: f64,
    /// See `low_us`.
    pub(super) high_us: f64,
    /// What limits it, by the model.
    pub(super) limited_by: String,
    /// Kernels whose predictions err alike.
    pub(super) class: String,
}

impl RegistryRow {
    /// How many times as far off the prediction is as its band allows.
    pub(super) fn beyond(&self) -> Option<f64> {
        let band = (self.high_us / self.predicted_us).ln();
        let off = (self.predicted_us / self.measured_us).ln().abs();
        (self.measured_us > 0.0 && band > 0.0).then(|| (off - band).exp())
    }
}

/// All kernels of the registry at their sizes. One that cannot be predicted or run is left out, with a remark.
pub(super) fn table(
    gpu: &mut Gpu,
    target: &Target,
    context: &Context,
) -> Result<Vec<RegistryRow>, Failure> {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let kernels: Vec<&Kernel> = registry.kernels().collect();
    let bar = super::progress("registry", kernels.len(), context);
    let mut rows = Vec::new();
    for kernel in kernels {
        bar.set_message(kernel.name.clone());
        match row(gpu, registry, kernel, target) {
            Ok(row) => rows.push(row),
            Err(failure) => context.note(&format!("{}: {}", kernel.name, failure.message)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn row(
    gpu: &mut Gpu,
    registry: &Registry,
    kernel: &Kernel,
    target: &Target,
) -> Result<RegistryRow, Failure> {
    let sizes = "reference";
    let passes = predicted::executions(registry, kernel, sizes, &Sampling::default())?;
    let name = &kernel.name;
    let state = Cache::Warm;
    let predicted = prediction::predicted(name, Code::Generated, &passes, 1, target, state)?;
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
    let (case, resolved) = predicted::case(registry, kernel, sizes)?;
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
