//! A few registers less would let more threads fit.
//!
//! ## What it does
//! Looks whether at most 8 half-registers separate the kernel from the next occupancy
//! step, or whether liveness already fits and only the numbering of registers does not.
//!
//! ## Why it matters
//! Registers are handed out in steps (104, 112, 128, … half-registers). Just above a
//! step, a whole step of threads is lost for a value or two.
//!
//! ## What to do
//! Recompute a value instead of keeping it, narrow one to 16 bits, or move a
//! computation to where it is used, at the offsets the report names.
//!
//! ## Gain
//! The threads of the next step.

use super::{Finding, Look, Metric, Severity, finding};
use crate::InsnId;

/// Within reach: four 32-bit values.
const REACH: u32 = 8;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let occupancy = &look.profile.occupancy;
    let Some(step) = &occupancy.next else {
        return;
    };
    let Some(free) = step.free_half_registers else {
        return;
    };
    let main = look.main();
    let fits = step.where_live.is_empty() && main.registers_exact;
    if free > REACH && !fits {
        return;
    }
    let target = occupancy.half_registers.saturating_sub(free);
    let how = match fits {
        true => format!(
            "only {} are ever live at once, so a tighter allocation would do",
            main.peak_half_registers
        ),
        false => format!(
            "more than {target} are live in {} place{} (first at {:#x})",
            step.where_live.len(),
            if step.where_live.len() == 1 { "" } else { "s" },
            step.where_live.first().map_or(0, |range| range.0)
        ),
    };
    let message = format!(
        "{free} half-registers less (of {}) give {} threads instead of {}; {how}",
        occupancy.half_registers, step.threads, occupancy.threads
    );
    let at = main.liveness.peak_at.unwrap_or(InsnId(0));
    let gain = Some((
        Metric::Threads,
        f64::from(step.threads.saturating_sub(occupancy.threads)),
    ));
    out.push(finding(look, Severity::Medium, (at, at), message, gain));
}
