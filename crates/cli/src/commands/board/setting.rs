//! Where a benchmark runs, in words that tell it from every other place.

use crate::commands::doctor::System;
use assay_board::Setting;
use assay_device::{Machine, Origin};
use assay_msl::Compiler;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The setting of runs on the device with these times.
pub(crate) fn setting(origin: Origin, compiler: Option<&Compiler>) -> Setting {
    let machine = Machine::detect(&System);
    let processor = machine.as_ref().map(|machine| machine.name.clone());
    let processor = processor.or_else(|| {
        let facts = std::fs::read_to_string("/proc/cpuinfo").ok()?;
        value(&facts, "model name")
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
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
        taken_at: now(),
        mode: String::new(),
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

/// What may explain a difference later.
fn environment(machine: Option<&Machine>, compiler: Option<&Compiler>) -> BTreeMap<String, String> {
    let release = || std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let system = machine.and_then(|machine| machine.system.clone());
    let system = system.or_else(release).unwrap_or_default();
    let memory = machine.and_then(|machine| machine.memory);
    let memory = memory.or_else(|| {
        let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
        let kilobytes: u64 = value(&facts, "MemTotal")?.split(' ').next()?.parse().ok()?;
        Some(kilobytes * 1024)
    });
    let facts = [
        ("assay", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("build", Some(build().to_owned())),
        ("os", Some(std::env::consts::OS.to_owned())),
        ("os_release", Some(system.trim().to_owned())),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        ("memory_bytes", memory.map(|bytes| bytes.to_string())),
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

/// The first value of a name in a text of `name : value` lines.
fn value(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    let found = pairs.find(|(key, _)| key.trim() == name);
    found.map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn processors_are_found_in_what_linux_says() {
        let text = "processor\t: 0\nmodel name\t: Some  CPU @ 2.0GHz\nmodel name : other\n";
        assert_eq!(
            value(text, "model name").as_deref(),
            Some("Some CPU @ 2.0GHz")
        );
        assert_eq!(value(text, "flags"), None);
    }
}
