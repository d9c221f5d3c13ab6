//! When to ask again after a failure that may pass.

use crate::error::Error;
use assay_launch::random::Random;
use std::time::Duration;

/// How often, and how long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// Attempts at most, the first included.
    pub attempts: u32,
    /// The first pause, which doubles every time.
    pub first: Duration,
    /// No pause is longer.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            attempts: 5,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// The pause after a failure, `failures` from 1: between half of a doubling length and all of it, and no shorter than
    /// the provider asks for. None if it is not worth asking again.
    pub fn pause(&self, error: &Error, failures: u32, random: &mut Random) -> Option<Duration> {
        if !error.is_transient() || failures >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << (failures - 1).min(16));
        let length = doubled.min(self.longest);
        let jittered = length.mul_f64(0.5 + 0.5 * random.unit());
        let asked = match error {
            Error::Busy { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        Some(jittered.max(asked.min(self.longest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> Error {
        Error::Busy {
            provider: "p".to_owned(),
            status: 429,
            why: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn pauses_double_with_jitter_and_end() {
        let backoff = Backoff::default();
        let mut random = Random::of(1, 1);
        for (failures, longest) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
            let pause = backoff.pause(&busy(None), failures, &mut random).unwrap();
            let longest = Duration::from_secs(longest);
            assert!(pause <= longest && pause >= longest / 2, "{pause:?}");
        }
        assert_eq!(backoff.pause(&busy(None), 5, &mut random), None);
        let asked = backoff.pause(&busy(Some(30)), 1, &mut random);
        assert_eq!(asked, Some(Duration::from_secs(30)));
        let cut = Error::Cut { limit: 5 };
        assert_eq!(backoff.pause(&cut, 1, &mut random), None);
    }
}
