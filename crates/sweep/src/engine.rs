//! Where kernels run: on this CPU, or on the Mac's GPU.

use crate::{Failure, Kind, World};
use assay_bench::gate::{self, Plan, Verdict};
use assay_bench::registry::{Case, Kernel, Resolved, SizeUse};
use assay_bench::runner::Loaded;
use assay_device::{CpuDevice, Device, Error, MetalSettings, Origin, Settings};
use assay_front::Compiler;
use std::sync::Arc;
use std::time::Duration;

/// Seconds that one submission may take, when nothing else is said: reference sizes take long on a CPU.
const SECONDS: f64 = 600.0;
const QUICK_SECONDS: f64 = 60.0;

/// A device, and the compiler it uses if that is not its own.
pub(crate) struct Engine {
    pub(crate) device: Box<dyn Device>,
    pub(crate) compiler: Option<assay_msl::Compiler>,
    /// Watches kernels that run on a GPU, which cannot be watched there; none without a clang.
    watcher: Option<CpuDevice>,
    /// Whether kernels are examined once at small sizes, or with all that there is.
    quick: bool,
}

impl Engine {
    /// A device whose submissions may take so many seconds.
    pub(crate) fn on(
        device: Origin,
        quick: bool,
        seconds: Option<f64>,
        world: &World<'_>,
    ) -> Result<Engine, Failure> {
        let missing = |error: Error| Failure::new(Kind::Missing, error.to_string());
        let default = if quick { QUICK_SECONDS } else { SECONDS };
        let timeout = Some(Duration::from_secs_f64(seconds.unwrap_or(default)));
        match device {
            Origin::Measured => Ok(Engine {
                device: open_metal(timeout).map_err(missing)?,
                compiler: None,
                watcher: (world.clang)()
                    .ok()
                    .and_then(|(compiler, _)| cpu(compiler, timeout, world).ok()),
                quick,
            }),
            Origin::Host => {
                let (compiler, found) = (world.clang)()?;
                Ok(Engine {
                    device: Box::new(cpu(compiler, timeout, world).map_err(missing)?),
                    compiler: Some(found),
                    watcher: None,
                    quick,
                })
            }
        }
    }

    /// Examines a kernel on the device, and what is right there also on this CPU if the device cannot watch kernels.
    pub(crate) fn examine(
        &mut self,
        loaded: &mut Loaded,
        kernel: &Kernel,
        source: &Resolved,
        case: &Case,
        seed: u64,
    ) -> Result<Verdict, gate::Error> {
        let plan = match self.quick {
            true => Plan::quick(seed),
            false => Plan::full(seed),
        };
        let plan = Plan {
            dtypes: vec![case.dtype],
            timed: Some(case.size_set.clone()),
            ..plan
        };
        let mut verdict = gate::examine(&mut *self.device, loaded, kernel, &plan)?;
        let Some(watcher) = self.watcher.as_mut().filter(|_| verdict.is_right()) else {
            return Ok(verdict);
        };
        let plan = Plan {
            trials: 1,
            sizes: vec![SizeUse::Quick],
            timed: None,
            random_sizes: 0,
            ..plan
        };
        let watched = Loaded::compile(watcher, &source.path, &source.text)
            .map_err(gate::Error::from)
            .and_then(|mut loaded| {
                let mut found = gate::examine(watcher, &mut loaded, kernel, &plan)?.findings;
                if found.is_empty() && case.use_ != SizeUse::Quick {
                    found = gate::watch(watcher, &mut loaded, case, seed)?;
                }
                Ok(found)
            });
        match watched {
            Ok(found) => verdict.findings.extend(found),
            // What the GPU can run and this CPU cannot is not the kernel's fault.
            Err(gate::Error::Device(Error::Unsupported { .. })) => {}
            Err(other) => return Err(other),
        }
        Ok(verdict)
    }
}

/// What a device is called where one is named.
pub const fn device_name(device: Origin) -> &'static str {
    match device {
        Origin::Host => "cpu",
        Origin::Measured => "metal",
    }
}

fn cpu(
    compiler: Arc<dyn Compiler>,
    timeout: Option<Duration>,
    world: &World<'_>,
) -> Result<CpuDevice, Error> {
    CpuDevice::new(Settings {
        compiler: Some(compiler),
        timeout,
        cancel: world.workspace.cancel.clone(),
        ..(world.cpu)()
    })
}

fn open_metal(timeout: Option<Duration>) -> Result<Box<dyn Device>, Error> {
    let device = assay_device::open_metal(MetalSettings {
        timeout,
        ..MetalSettings::default()
    })?;
    Ok(device)
}
