//! Where a benchmark ran: machine, system, compiler.

use crate::commands::doctor;
use assay_chip::Chip;
use assay_device::{Device, Machine};
use assay_msl::Compiler;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a figure depends on besides the kernel.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
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
        let machine = Machine::detect(&doctor::System);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            device: kind.to_owned(),
            device_name: device.facts().name.clone(),
            started: now.unwrap_or_default().as_secs(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cpu: machine
                .as_ref()
                .map(|machine| machine.name.clone())
                .or_else(linux_cpu),
            cpu_threads: std::thread::available_parallelism().map_or(1, usize::from),
            load: linux_load(),
            compiler: compiler.map(|compiler| compiler.identity.clone()),
            mac: machine.map(|machine| Mac {
                name: machine.name,
                chip: machine.chip,
                gpu_cores: machine.gpu_cores,
                memory_bytes: machine.memory,
                macos: machine.system,
            }),
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

fn linux_cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn linux_load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
