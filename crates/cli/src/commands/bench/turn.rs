//! One device, one benchmark at a time.

use super::DeviceName;
use crate::failure::{Failure, Kind};
use crate::{interrupt, toolchain};
use assay_bench::lock::{self, Lock, Taken};
use std::time::Duration;

/// How often the lock is asked for.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until nobody else measures on a device, and says so if it takes long.
pub(crate) fn wait(device: DeviceName, what: &str, say: impl Fn(&str)) -> Result<Lock, Failure> {
    let folder = toolchain::cache_folder();
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("bench-{}.lock", device.name()));
    let mut told = false;
    loop {
        let taken = lock::take(&path, what)
            .map_err(|error| Failure::new(Kind::Missing, format!("{}: {error}", path.display())))?;
        let holder = match taken {
            Taken::Held(lock) => return Ok(lock),
            Taken::Busy(holder) => holder,
        };
        if !told {
            say(&format!(
                "waiting: another benchmark is measuring ({holder})"
            ));
            told = true;
        }
        if interrupt::requested() {
            return Err(Failure::new(Kind::Interrupted, "stopped while waiting"));
        }
        std::thread::sleep(PAUSE);
    }
}
