//! Where a benchmark ran: machine, system, compiler.

use assay_chip::Chip;
use serde::{Deserialize, Serialize};

/// What a figure depends on besides the kernel.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// `cpu` or `metal`.
    pub device: String,
    /// The device's own name.
    pub device_name: String,
    /// When it started, in seconds since 1970.
    pub started: u64,
    /// Operating system and processor: `linux x86_64`.
    pub platform: String,
    /// This machine's processor as the system names it, where it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Its hardware threads.
    pub cpu_threads: usize,
    /// Processes that wanted to run in the last minute, on average, when it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The compiler of sources, where it is not the device's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// The Mac, if this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
}

/// A machine with an Apple chip.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mac {
    /// As the system names the chip.
    pub name: String,
    /// `m2-max`, where the chip is known here.
    pub chip: Option<String>,
    pub gpu_cores: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub macos: Option<String>,
}

impl Environment {
    /// Nothing is known: no job came back.
    pub fn unknown() -> Self {
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
    pub fn chip(&self) -> Option<Chip> {
        let mac = self.mac.as_ref()?;
        let chip = Chip::named(mac.chip.as_deref()?).ok()?;
        match mac.gpu_cores {
            Some(cores) => chip.with(&format!("cores={cores}")).ok(),
            None => Some(chip),
        }
    }
}
