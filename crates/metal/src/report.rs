//! What is told about a run: faults and reports of kernels, wrong uses of the API, and a summary at exit.

use crate::settings::{leaks, settings};
use assay_objc::diagnostics::{alive, objects_outside_pools, tell};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

static DISPATCHES: AtomicU64 = AtomicU64::new(0);
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);
static REPORTS: AtomicU64 = AtomicU64::new(0);
static FAULTS: AtomicU64 = AtomicU64::new(0);
static WRONG_USES: AtomicU64 = AtomicU64::new(0);
/// How often a text was told: only the first few times it is shown.
static TOLD: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(Mutex::default);
const SHOWN: u64 = 1;

static ENCODERS: AtomicU64 = AtomicU64::new(0);

/// Counts a compute encoder.
pub(crate) fn encoder_made() {
    ENCODERS.fetch_add(1, Relaxed);
}

/// Compute encoders made so far.
pub(crate) fn encoders() -> u64 {
    ENCODERS.load(Relaxed)
}

/// Wrong uses so far.
pub(crate) fn wrong_uses() -> u64 {
    WRONG_USES.load(Relaxed)
}

/// Counts a dispatch and the CPU's time for it.
pub(crate) fn dispatched(time: Duration) {
    DISPATCHES.fetch_add(1, Relaxed);
    NANOSECONDS.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(0), Relaxed);
}

fn once(kind: &str, text: &str) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let times = told.entry(format!("{kind}: {text}")).or_default();
    *times += 1;
    if *times > SHOWN {
        return;
    }
    drop(told);
    tell(&format!("{kind}: {text}"));
    if let Some(path) = &settings().report {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        if let Ok(mut file) = file {
            // A report that cannot be written has been shown.
            let _ = writeln!(file, "{{\"kind\":{kind:?},\"text\":{text:?}}}");
        }
    }
}

/// Tells what a checked kernel did that it must not.
pub(crate) fn report(kernel: &str, text: &str) {
    REPORTS.fetch_add(1, Relaxed);
    once("check", &format!("{kernel}: {text}"));
}

/// Tells that a kernel was stopped.
pub(crate) fn fault(kernel: &str, text: &str) {
    FAULTS.fetch_add(1, Relaxed);
    once("fault", &format!("{kernel}: {text}"));
}

/// Tells that the API was used wrongly.
pub(crate) fn wrong_use(text: &str) {
    WRONG_USES.fetch_add(1, Relaxed);
    once("validation", text);
}

/// Tells what happens, at a level of `ASSAY_METAL_LOG`.
pub(crate) fn log(level: u32, text: impl FnOnce() -> String) {
    if settings().log >= level {
        tell(&text());
    }
}

extern "C" fn summary() {
    let (reports, faults, wrong) = (
        REPORTS.load(Relaxed),
        FAULTS.load(Relaxed),
        WRONG_USES.load(Relaxed),
    );
    if settings().log > 0 || settings().check || reports + faults + wrong > 0 {
        let seconds = NANOSECONDS.load(Relaxed) as f64 * 1e-9;
        let dispatches = DISPATCHES.load(Relaxed);
        tell(&format!(
            "{dispatches} dispatches, {seconds:.3} s in kernels (host time); {reports} reports, {faults} faults, {wrong} wrong uses"
        ));
    }
    if leaks() {
        for (class, count) in alive() {
            tell(&format!("left: {count} {class}"));
        }
        tell(&format!(
            "{} objects were autoreleased outside a pool",
            objects_outside_pools()
        ));
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

pub(crate) fn register() {
    // SAFETY: the function takes nothing and is there until the end. Without it there is no summary.
    unsafe { atexit(summary) };
}
