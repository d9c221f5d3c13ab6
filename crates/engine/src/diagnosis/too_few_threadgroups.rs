//! The dispatch has too little that runs at once for the chip.
//!
//! ## What it does
//! Compares the threadgroups and threads of the dispatch with the chip's cores and with what a core keeps. The weight is the
//! predicted time if the work of each threadgroup were divided among several. Of a guessed launch it says nothing: its sizes
//! are small so that it is quickly executed, and no fault of the kernel.
//!
//! ## Why it matters
//! Threadgroups are given to cores as a whole: with 4 of them, 6 of 10 cores have nothing to do. A core with one or two
//! simdgroups waits for each load that it sends.
//!
//! ## What to do
//! Use smaller threadgroups, a threadgroup or a simdgroup per row instead of a thread per row, or split long rows among
//! several threadgroups and add up what they leave.
//!
//! ```text
//! before: --grid ROWS --threadgroup 1024        one thread walks a row
//! after:  --grid 32*ROWS --threadgroup 128      a simdgroup walks a row
//! ```

use super::look::{Found, Look, advice, seen};
use assay_chip::Parameter;
use assay_predict::removal;

/// Threads of a core that hide most latency.
const ENOUGH_THREADS: f64 = 1024.0;
/// Threadgroups per core below which the last ones leave cores idle.
const FEW_PER_CORE: f64 = 4.0;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let cores = look
        .target
        .chip
        .get(Parameter::Cores)
        .unwrap_or(1.0)
        .max(1.0);
    let groups = look.execution.threadgroups() as f64;
    let threads = groups * f64::from(look.execution.threads());
    let by_groups = FEW_PER_CORE * cores / groups;
    // What a core has no registers or threadgroup memory for, a larger dispatch would not give it.
    let enough = ENOUGH_THREADS.min(look.predicted.causes.resident_threads.max(1.0));
    let by_threads = enough * cores / threads;
    // A last wave that is nearly full loses nothing.
    let waves = groups / cores;
    let full = waves / waves.ceil() > 0.9 && by_threads <= 1.0;
    if look.guessed || by_groups.max(by_threads) <= 1.0 || full {
        return;
    }
    let (by_groups, by_threads) = (by_groups.clamp(1.0, 1024.0), by_threads.clamp(1.0, 1024.0));
    out.push(Found {
        of_kernel: true,
        message: format!(
            "{groups:.0} threadgroups of {} threads for {cores:.0} cores, each of which keeps {enough:.0} threads{}",
            look.execution.threads(),
            if enough < ENOUGH_THREADS { "" } else { " and more" }
        ),
        seen: vec![
            seen("threadgroups", groups, FEW_PER_CORE * cores),
            seen("threads", threads, enough * cores),
        ],
        without: Some(removal::divided(look.execution, by_groups, by_threads)),
        cure: advice("divide the work among more threadgroups"),
        ..Found::default()
    });
}
