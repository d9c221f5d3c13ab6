//! Where a kernel runs: on this CPU, or on the Mac's GPU.

use super::Args;
use super::work::failure;
use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::native;
use crate::progress;
use crate::source;
use assay_device::{
    Checks, CpuDevice, Device, Diagnostic, Error, GpuDevice, LibraryId, MetalSettings, Settings,
    Source,
};
use assay_engine::diagnostics;
use assay_front::{Bytes, SourceOptions};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Which device runs the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Which {
    /// This CPU; works anywhere
    #[default]
    Cpu,
    /// The Mac's GPU
    Metal,
}

/// A device, and what only the CPU can do.
pub(super) enum Engine {
    Cpu(Box<CpuDevice>),
    Metal(Box<dyn GpuDevice>),
}

impl Engine {
    /// The device that was asked for, for programs with these checks. The CPU counts threadgroups that have ended.
    pub(super) fn open(
        args: &Args,
        checks: Option<Checks>,
        finished: &Arc<AtomicU64>,
    ) -> Result<Engine, Failure> {
        let missing = |error: Error| Failure::new(Kind::Missing, error.to_string());
        match args.device {
            Which::Metal => {
                let device = assay_device::open_metal(MetalSettings::default());
                Ok(Engine::Metal(device.map_err(missing)?))
            }
            Which::Cpu => {
                let device = CpuDevice::new(Settings {
                    threads: args.threads.map(usize::from),
                    max_steps: args.max_steps,
                    cancel: Some(interrupt::flag()),
                    checks,
                    finished: Some(Arc::clone(finished)),
                    ..native::settings()
                });
                Ok(Engine::Cpu(Box::new(device.map_err(missing)?)))
            }
        }
    }

    pub(super) fn device(&mut self) -> &mut dyn Device {
        match self {
            Engine::Cpu(device) => &mut **device,
            Engine::Metal(device) => &mut **device,
        }
    }

    /// The GPU, for what no CPU does.
    pub(super) fn gpu(&mut self, option: &str) -> Result<&mut dyn GpuDevice, Failure> {
        match self {
            Engine::Metal(device) => Ok(&mut **device),
            Engine::Cpu(_) => Err(Failure::usage(format!("{option} needs a Mac's GPU"))
                .advice("add --device metal, on a Mac")),
        }
    }

    /// The CPU, for what no GPU does.
    pub(super) fn cpu(&mut self, option: &str) -> Result<&mut CpuDevice, Failure> {
        match self {
            Engine::Cpu(device) => Ok(device),
            Engine::Metal(_) => Err(Failure::usage(format!("{option} runs on the CPU"))
                .advice("leave --device metal out: the CPU device checks and counts")),
        }
    }

    /// Brings the file's code to the device: Metal compiles source itself, the CPU gets it through clang.
    /// Also says what clang warns of, in source that is to be checked.
    pub(super) fn load(
        &mut self,
        args: &Args,
        bytes: &Bytes,
        checked: bool,
    ) -> Result<(LibraryId, Vec<Diagnostic>), Failure> {
        let file = source::open(&args.file, bytes)?;
        progress::stage("compiling");
        match self {
            Engine::Cpu(device) => {
                let options = SourceOptions {
                    checked,
                    ..args.source.options(&args.file)
                };
                let library = source::library_as(&args.file, &file, &options)?;
                let warnings = library.warnings().to_vec();
                Ok((device.add(library).map_err(failure)?, warnings))
            }
            Engine::Metal(device) if file.is_source() => {
                let text = String::from_utf8_lossy(bytes);
                let path = file.path();
                let source = Source { path, text: &text };
                let compiled = device.compile(source, &args.source.options(&args.file));
                let compiled = compiled.map_err(|error| match error {
                    Error::Source(errors) => {
                        diagnostics::failure(path, &assay_msl::Error::Source(errors))
                    }
                    other => failure(other),
                })?;
                Ok((compiled, Vec::new()))
            }
            Engine::Metal(device) => {
                let loaded = device.load(bytes.to_vec()).map_err(|error| {
                    let shown = args.file.display();
                    match error {
                        Error::NoKernels => Failure::input(format!("{shown} declares no kernels")),
                        other => Failure::input(format!("{shown}: {other}")),
                    }
                })?;
                Ok((loaded, Vec::new()))
            }
        }
    }
}
