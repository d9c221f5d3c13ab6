//! A dispatch in parts, between which machine code may take over.

use std::time::Duration;

/// Host time of a part: short against making code, long against starting workers.
const PART: Duration = Duration::from_millis(25);

/// Batches of the first part, for each worker.
const FIRST: u64 = 16;

/// The number of batches in the next part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    size: u64,
}

impl Parts {
    pub(crate) fn new(workers: u64) -> Self {
        Self {
            size: workers.saturating_mul(FIRST).max(1),
        }
    }

    pub(crate) fn size(self) -> u64 {
        self.size
    }

    /// Makes parts longer or shorter, by what this one took.
    pub(crate) fn took(&mut self, time: Duration) {
        let ratio = PART.as_secs_f64() / time.as_secs_f64().max(1e-6);
        let wanted = self.size as f64 * ratio.clamp(0.25, 16.0);
        self.size = (wanted as u64).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_approach_the_time_they_should_take() {
        let mut parts = Parts::new(2);
        for _ in 0..12 {
            parts.took(Duration::from_micros(parts.size()));
        }
        assert_eq!(parts.size(), 25_000);
        for _ in 0..12 {
            parts.took(Duration::from_secs(parts.size()));
        }
        assert_eq!(parts.size(), 1);
    }
}
