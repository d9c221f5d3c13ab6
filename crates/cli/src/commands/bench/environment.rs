//! Where a benchmark runs: machine, system, compiler.

use crate::machine;
use assay_device::Origin;
use assay_msl::Compiler;
use assay_sweep::{Environment, Mac, device_name};

/// What a figure of this machine depends on besides the kernel.
pub(super) fn here(device: Origin, name: &str, compiler: Option<&Compiler>) -> Environment {
    let mac = machine::mac();
    Environment {
        device: device_name(device).to_owned(),
        device_name: name.to_owned(),
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
