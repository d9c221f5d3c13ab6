//! Where a benchmark runs, in words that tell it from every other place.

use crate::machine;
use assay_board::Setting;
use assay_device::{Machine, Origin};
use assay_msl::Compiler;
use std::collections::BTreeMap;

/// The setting of runs on the device with these times.
pub(crate) fn setting(origin: Origin, compiler: Option<&Compiler>) -> Setting {
    let machine = machine::mac();
    let processor = machine::processor(machine.as_ref());
    let threads = machine::threads();
    let cores = machine.as_ref().and_then(|machine| machine.gpu_cores);
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let (device, chip, gpu_cores) = match origin {
        Origin::Host => (format!("CPU {processor}, {threads} threads"), None, None),
        Origin::Measured => {
            let cores_text = cores.map_or(String::new(), |cores| format!(", {cores} GPU cores"));
            let chip = machine.as_ref().and_then(|machine| machine.chip.clone());
            (format!("{processor}{cores_text}"), chip, cores)
        }
    };
    Setting {
        device,
        chip,
        gpu_cores,
        environment: environment(machine.as_ref(), compiler),
        taken_at: machine::now().cast_signed(),
        mode: String::new(),
    }
}

/// What may explain a difference later.
fn environment(mac: Option<&Machine>, compiler: Option<&Compiler>) -> BTreeMap<String, String> {
    let facts = [
        ("assay", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("build", Some(build().to_owned())),
        ("os", Some(std::env::consts::OS.to_owned())),
        ("os_release", machine::system(mac)),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        (
            "memory_bytes",
            machine::memory_bytes(mac).map(|bytes| bytes.to_string()),
        ),
        (
            "compiler",
            compiler.map(|compiler| compiler.identity.clone()),
        ),
    ];
    let known = facts.into_iter().filter_map(|(name, fact)| {
        let fact = fact.filter(|fact| !fact.is_empty())?;
        Some((name.to_owned(), fact))
    });
    known.collect()
}

/// Host times of a program without optimisation are those of another program.
fn build() -> &'static str {
    match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    }
}
