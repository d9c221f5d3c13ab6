//! Made-up recordings, for tests, benchmarks and demonstrations.
//!
//! A [`Scenario`] describes a run in a few numbers; [`Trace::new`] plays it and gives
//! the tables xctrace would export, in the same spelling: definitions numbered in
//! document order, later cells pointing back. The random numbers come from a fixed
//! seed, so the same scenario gives the same bytes everywhere.
//!
//! ```
//! use assay_trace::synth::{Scenario, Trace};
//! let trace = Trace::new(&Scenario::eager(5));
//! assert_eq!(trace.executions().len(), 5 * 490);
//! ```

pub mod bundle;
mod memory;
mod scenario;
mod tables;
mod xml;

pub use scenario::{Execution, Scenario, Trace};
pub use tables::{Table, write_table};

/// A small generator of random numbers (xorshift), the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// About `mean`, between half and one and a half of it.
    pub(crate) fn about(&mut self, mean: u64) -> u64 {
        let spread = mean.max(1);
        mean / 2 + self.next() % spread
    }
}
