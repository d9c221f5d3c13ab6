//! Times, and where they come from.

use std::fmt;
use std::time::Duration;

/// Whose clock a time is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A GPU's clock.
    Measured,
    /// This machine's CPU, running the kernel itself. Says nothing about a GPU.
    Host,
}

impl Origin {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Host => "host",
        }
    }
}

/// How long something took, by which clock.
///
/// ```
/// use assay_device::{Origin, Time};
/// let time = Time { length: std::time::Duration::from_micros(1500), origin: Origin::Host };
/// assert_eq!(time.to_string(), "1.500 ms (host)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// How long.
    pub length: Duration,
    /// Whose clock.
    pub origin: Origin,
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.length.as_secs_f64() * 1e3;
        write!(f, "{milliseconds:.3} ms ({})", self.origin.name())
    }
}

/// A submission that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// From the start of the first dispatch to the end of the last.
    pub total: Time,
    /// Each dispatch alone, where the device can tell; empty where it cannot.
    pub dispatches: Vec<Time>,
}
