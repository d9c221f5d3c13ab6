//! The normal distribution: its cumulative function and its quantiles.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The probability of a value below `x`: Abramowitz and Stegun 7.1.26, to 1.5e-7.
pub(crate) fn cumulative(x: f64) -> f64 {
    let z = x.abs() * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    const TERMS: [f64; 5] = [
        0.254_829_592,
        -0.284_496_736,
        1.421_413_741,
        -1.453_152_027,
        1.061_405_429,
    ];
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let tail = 0.5 * sum * (-z * z).exp();
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// The logarithm of [`cumulative`], also where that is too small for a number.
pub(crate) fn log_cumulative(x: f64) -> f64 {
    if x > -5.0 {
        return cumulative(x).ln();
    }
    // The first terms of Mills' ratio.
    let x = x.max(-1e6);
    -0.5 * x * x - (-x * (2.0 * PI).sqrt()).ln() + (1.0 - 1.0 / (x * x)).ln()
}

/// The value below which a normal variable lies with a probability: [`cumulative`] inverted by bisection.
pub(crate) fn quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if cumulative(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (probability, expected) in [(0.5, 0.0), (0.1, -1.281_552), (0.975, 1.959_964)] {
            assert!(
                (quantile(probability) - expected).abs() < 1e-5,
                "{probability}"
            );
        }
        assert!(quantile(0.0) <= -5.0 && quantile(1.0) >= 5.0);
    }

    #[test]
    fn cumulative_probabilities_are_those_of_tables() {
        for (x, expected) in [
            (0.0, 0.5),
            (1.0, 0.841_344_75),
            (-1.281_551_57, 0.1),
            (1.959_963_98, 0.975),
            (-3.0, 0.001_349_90),
        ] {
            assert!((cumulative(x) - expected).abs() < 2e-7, "{x}");
        }
        assert!((log_cumulative(-10.0) - (-53.231_285)).abs() < 1e-3);
        assert!((log_cumulative(-5.000_1) - log_cumulative(-4.999_9)).abs() < 0.02);
    }
}
