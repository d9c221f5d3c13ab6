//! The kernel is near what the chip can do at most.
//!
//! ## What it does
//! Compares the bandwidth of memory and the arithmetic rate that the predicted time amounts to with what the chip has. It
//! reports a kernel that uses 80 % of either, and says of one for which nothing else was found what it is limited by.
//!
//! ## Why it matters
//! At the roof no rearrangement helps: the time is that of the bytes or of the operations.
//!
//! ## What to do
//! Move fewer bytes (half precision, fusing with the kernel before or after, reading once) or do fewer operations.
//!
//! ```text
//! before: two kernels, the second reads what the first wrote
//! after:  one kernel that keeps the value in a register
//! ```

use super::look::{Found, Look, advice, seen};
use assay_profile::Finding;

/// Share of a roof that counts as being at it.
const AT: f64 = 0.8;

/// The limiter that is memory itself.
const DRAM: &str = "DRAM bandwidth";

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let rates = &look.predicted.rates;
    let terms = look.predicted.terms.iter();
    let waited: f64 = terms
        .filter(|term| term.name == DRAM)
        .map(|term| term.us)
        .sum();
    // Bytes that a cache answers do not cross the memory's bus, however many they are.
    let by_memory = waited > 0.4 * look.predicted.time_us;
    let memory = rates
        .bandwidth_share
        .filter(|share| by_memory && *share >= AT);
    let peak = rates.peak_share.filter(|share| *share >= AT);
    let (share, roof, what) = match (memory, peak) {
        (Some(share), _) => (share, DRAM, "bytes"),
        (None, Some(share)) => (share, "the peak of float arithmetic", "operations"),
        (None, None) => return,
    };
    out.push(Found {
        of_kernel: true,
        message: format!(
            "at the roof: {:.0} % of {roof}; only fewer {what} help",
            100.0 * share
        ),
        seen: vec![seen("share of the roof", share, 1.0)],
        cure: advice(&format!("only fewer {what} help")),
        ..Found::default()
    });
}

/// What to say where nothing brings enough.
pub(super) fn near(look: &Look<'_>) -> Option<Finding> {
    let limit = &look.predicted.limited_by;
    let found = Found {
        of_kernel: true,
        message: format!(
            "near the limit, which is {limit}: nothing that was looked for costs 3 % of the time"
        ),
        ..Found::default()
    };
    Some(look.finding("at-the-roof", found, None))
}
