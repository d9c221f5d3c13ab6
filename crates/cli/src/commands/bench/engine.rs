//! Where kernels run: on this CPU, or on the Mac's GPU.

use super::{Args, DeviceName};
use crate::failure::{Failure, Kind};
use crate::{interrupt, toolchain};
use assay_device::{CpuDevice, Device, MetalSettings, Settings};
use assay_msl::Compiler;
use std::time::Duration;

/// Seconds that one submission may take, when nothing else is said: reference sizes take long on a CPU.
const SECONDS: f64 = 600.0;
const QUICK_SECONDS: f64 = 60.0;

/// A device, and the compiler it uses if that is not its own.
pub(crate) struct Engine {
    pub(crate) device: Box<dyn Device>,
    pub(crate) compiler: Option<Compiler>,
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
        let missing = |error: assay_device::Error| Failure::new(Kind::Missing, error.to_string());
        let default = if quick { QUICK_SECONDS } else { SECONDS };
        let timeout = Some(Duration::from_secs_f64(seconds.unwrap_or(default)));
        match device {
            DeviceName::Metal => Ok(Engine {
                device: open_metal(timeout).map_err(missing)?,
                compiler: None,
            }),
            DeviceName::Cpu => {
                let compiler = toolchain::find()?;
                let device = CpuDevice::new(Settings {
                    compiler: Some(compiler.clone()),
                    cache: toolchain::cache_folder(),
                    timeout,
                    cancel: Some(interrupt::flag()),
                    ..Settings::default()
                });
                Ok(Engine {
                    device: Box::new(device.map_err(missing)?),
                    compiler: Some(compiler),
                })
            }
        }
    }
}

fn open_metal(timeout: Option<Duration>) -> Result<Box<dyn Device>, assay_device::Error> {
    let device = assay_device::open_metal(MetalSettings { timeout })?;
    Ok(device)
}
