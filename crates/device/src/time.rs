//! Times, and where they come from.

use crate::error::Error;
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
    /// From the start of the first dispatch to the end of the last; `None` where the device cannot tell, as a virtual
    /// GPU that gives no times.
    pub total: Option<Time>,
    /// Each dispatch alone, where the device can tell and was asked to; empty where not.
    pub dispatches: Vec<Time>,
}

impl Finished {
    /// The total time, for whoever can do nothing without one.
    pub fn time(&self) -> Result<Time, Error> {
        self.total.ok_or_else(|| {
            Error::NoDevice(
                "this GPU gives no times, as the virtual one of a virtual machine: kernels run on it, but cannot be timed"
                    .to_owned(),
            )
        })
    }
}
