//! One device, one benchmark at a time.

use crate::{Failure, Kind, World, device_name};
use assay_bench::lock::{self, Lock, Taken};
use assay_device::Origin;
use std::time::Duration;

/// How often the lock is asked for.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until nobody else measures on a device, and says so if it takes long.
pub(crate) fn wait(device: Origin, what: &str, world: &World<'_>) -> Result<Lock, Failure> {
    let folder = (world.cache)();
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("bench-{}.lock", device_name(device)));
    let mut told = false;
    loop {
        let taken = lock::take(&path, what)
            .map_err(|error| Failure::new(Kind::Missing, format!("{}: {error}", path.display())))?;
        let holder = match taken {
            Taken::Held(lock) => return Ok(lock),
            Taken::Busy(holder) => holder,
        };
        if !told {
            world.listener.note(&format!(
                "waiting: another benchmark is measuring ({holder})"
            ));
            told = true;
        }
        if world.is_stopped() {
            return Err(Failure::new(Kind::Interrupted, "stopped while waiting"));
        }
        std::thread::sleep(PAUSE);
    }
}
