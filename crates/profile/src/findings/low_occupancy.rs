//! Few threads fit on a core.
//!
//! ## What it does
//! Reports occupancy below 75 % (of 1024 threads per core), and what limits it.
//!
//! ## Why it matters
//! While one simdgroup waits for memory, others run. With few of them the waits show.
//! A kernel that never waits does not care; the memory-latency bound says which it is.
//!
//! ## What to do
//! If registers limit: keep fewer values alive, use 16-bit types, smaller tiles per
//! thread. If threadgroup memory limits: smaller tiles. If threadgroup size limits:
//! choose a size that divides 1024.
//!
//! ## Gain
//! The threads of the next step.

use super::{Finding, Look, Metric, Severity, finding};
use crate::InsnId;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let occupancy = &look.profile.occupancy;
    if occupancy.share >= 0.75 {
        return;
    }
    let severity = match occupancy.share < 0.5 {
        true => Severity::High,
        false => Severity::Medium,
    };
    let message = format!(
        "{} of 1024 threads per core ({:.0} %), limited by {}",
        occupancy.threads,
        occupancy.share * 100.0,
        occupancy.limit
    );
    let gain = occupancy
        .next
        .as_ref()
        .map(|step| (Metric::Threads, f64::from(step.threads - occupancy.threads)));
    let at = look.main().liveness.peak_at.unwrap_or(InsnId(0));
    out.push(finding(look, severity, (at, at), message, gain));
}
