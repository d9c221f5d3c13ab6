//! This machine, where the system says: what host times depend on.

use crate::commands::doctor::System;
use crate::platform::Platform;
use assay_device::{Machine, MachineProbe};

/// The Mac, if this is one.
pub(crate) fn mac() -> Option<Machine> {
    Machine::detect(&System)
}

/// The processor as the system names it.
pub(crate) fn processor(mac: Option<&Machine>) -> Option<String> {
    let mac = mac.map(|mac| mac.name.clone());
    mac.or_else(|| value(&file("/proc/cpuinfo")?, "model name"))
}

/// Its hardware threads.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn memory_bytes(mac: Option<&Machine>) -> Option<u64> {
    let mac = mac.and_then(|mac| mac.memory);
    mac.or_else(|| {
        let text = value(&file("/proc/meminfo")?, "MemTotal")?;
        let kilobytes: u64 = text.split(' ').next()?.parse().ok()?;
        kilobytes.checked_mul(1024)
    })
}

/// The version of macOS, or of the kernel.
pub(crate) fn system(mac: Option<&Machine>) -> Option<String> {
    let mac = mac.and_then(|mac| mac.system.clone());
    mac.or_else(|| Some(file("/proc/sys/kernel/osrelease")?.trim().to_owned()))
}

/// Processes that wanted to run in the last minute, on average.
pub(crate) fn load() -> Option<f64> {
    // `{ 1.52 1.48 1.60 }` on macOS.
    let text = match Platform::here().is_mac() {
        true => System.sysctl("vm.loadavg"),
        false => file("/proc/loadavg"),
    }?;
    text.split_whitespace().find_map(|word| word.parse().ok())
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
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
