//! Where kernels run: on this CPU, or on the Mac's GPU.

use super::{Args, DeviceName};
use crate::failure::{Failure, Kind};
use crate::source::Found;
use crate::{interrupt, native, toolchain};
use assay_bench::gate::{self, Plan, Verdict};
use assay_bench::registry::{Case, Kernel, Resolved, SizeUse};
use assay_bench::runner::Loaded;
use assay_device::{CpuDevice, Device, Error, MetalSettings, Settings};
use assay_msl::Compiler;
use std::sync::Arc;
use std::time::Duration;

/// Seconds that one submission may take, when nothing else is said: reference sizes take long on a CPU.
const SECONDS: f64 = 600.0;
const QUICK_SECONDS: f64 = 60.0;

/// A device, and the compiler it uses if that is not its own.
pub(crate) struct Engine {
    pub(crate) device: Box<dyn Device>,
    pub(crate) compiler: Option<Compiler>,
    /// Watches kernels that run on a GPU, which cannot be watched there; none without a clang.
    watcher: Option<CpuDevice>,
    /// Whether kernels are examined once at small sizes, or with all that there is.
    quick: bool,
}

impl Engine {
    pub(super) fn open(args: &Args) -> Result<Engine, Failure> {
        Self::on(args.device, args.quick, args.timeout)
    }

    /// A device whose submissions may take so many seconds.
    pub(crate) fn on(
        device: DeviceName,
        quick: bool,
        seconds: Option<f64>,
    ) -> Result<Engine, Failure> {
        let missing = |error: Error| Failure::new(Kind::Missing, error.to_string());
        let default = if quick { QUICK_SECONDS } else { SECONDS };
        let timeout = Some(Duration::from_secs_f64(seconds.unwrap_or(default)));
        match device {
            DeviceName::Metal => Ok(Engine {
                device: open_metal(timeout).map_err(missing)?,
                compiler: None,
                watcher: toolchain::find()
                    .ok()
                    .and_then(|compiler| cpu(compiler, timeout).ok()),
                quick,
            }),
            DeviceName::Cpu => {
                let compiler = toolchain::find()?;
                Ok(Engine {
                    device: Box::new(cpu(compiler.clone(), timeout).map_err(missing)?),
                    compiler: Some(compiler),
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

fn cpu(compiler: Compiler, timeout: Option<Duration>) -> Result<CpuDevice, Error> {
    CpuDevice::new(Settings {
        compiler: Some(Arc::new(Found(compiler))),
        timeout,
        cancel: Some(interrupt::flag()),
        ..native::settings()
    })
}

fn open_metal(timeout: Option<Duration>) -> Result<Box<dyn Device>, Error> {
    let device = assay_device::open_metal(MetalSettings {
        timeout,
        ..MetalSettings::default()
    })?;
    Ok(device)
}
