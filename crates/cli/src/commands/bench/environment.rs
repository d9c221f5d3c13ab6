//! Where a benchmark ran: machine, system, compiler.

use crate::machine;
use assay_chip::Chip;
use assay_device::Device;
use assay_msl::Compiler;
use serde::{Deserialize, Serialize};

/// What a figure depends on besides the kernel.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Environment {
    /// `cpu` or `metal`.
    pub(super) device: String,
    /// The device's own name.
    pub(super) device_name: String,
    /// When it started, in seconds since 1970.
    pub(super) started: u64,
    /// Operating system and processor: `linux x86_64`.
    pub(super) platform: String,
    /// This machine's processor as the system names it, where it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu: Option<String>,
    /// Its hardware threads.
    pub(super) cpu_threads: usize,
    /// Processes that wanted to run in the last minute, on average, when it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) load: Option<f64>,
    /// The compiler of sources, where it is not the device's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compiler: Option<String>,
    /// The Mac, if this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mac: Option<Mac>,
}

/// A machine with an Apple chip.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Mac {
    /// As the system names the chip.
    pub(super) name: String,
    /// `m2-max`, where the chip is known here.
    pub(super) chip: Option<String>,
    pub(super) gpu_cores: Option<u32>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) macos: Option<String>,
}

impl Environment {
    pub(super) fn new(kind: &str, device: &dyn Device, compiler: Option<&Compiler>) -> Self {
        let mac = machine::mac();
        Self {
            device: kind.to_owned(),
            device_name: device.facts().name.clone(),
            started: machine::now(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cpu: machine::processor(mac.as_ref()),
            cpu_threads: machine::threads(),
            load: machine::load(),
            compiler: compiler.map(|compiler| compiler.identity.clone()),
            mac: mac.map(|mac| Mac {
                name: mac.name,
                chip: mac.chip,
                gpu_cores: mac.gpu_cores,
                memory_bytes: mac.memory,
                macos: mac.system,
            }),
        }
    }

    /// Nothing is known: no job came back.
    #[cfg(feature = "fleet")]
    pub(super) fn unknown() -> Self {
        Self {
            device: "unknown".to_owned(),
            device_name: "unknown".to_owned(),
            started: 0,
            platform: "unknown".to_owned(),
            cpu: None,
            cpu_threads: 0,
            load: None,
            compiler: None,
            mac: None,
        }
    }

    /// The chip whose GPU is measured, with its number of cores.
    pub(super) fn chip(&self) -> Option<Chip> {
        let mac = self.mac.as_ref()?;
        let chip = Chip::named(mac.chip.as_deref()?).ok()?;
        match mac.gpu_cores {
            Some(cores) => chip.with(&format!("cores={cores}")).ok(),
            None => Some(chip),
        }
    }
}
