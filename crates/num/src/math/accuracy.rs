//! Measuring errors against double precision.

/// Singles whose bits run from `from` to `to` in steps.
pub(crate) fn every(from: u32, to: u32, step: usize) -> impl Iterator<Item = f32> {
    (from..=to).step_by(step).map(f32::from_bits)
}

/// The size of the last place at a value.
fn unit(value: f64) -> f64 {
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).max(-126);
    2f64.powi(exponent - 23)
}

fn error(given: f32, wanted: f64) -> f64 {
    // Results outside the normal range are flushed or infinite; that is tested separately.
    if wanted.abs() < f64::from(f32::MIN_POSITIVE) || wanted.abs() > f64::from(f32::MAX) {
        return 0.0;
    }
    if given.is_finite() {
        (f64::from(given) - wanted).abs() / unit(wanted)
    } else {
        f64::INFINITY
    }
}

/// Fails when a measured error is above the stated one.
#[track_caller]
pub(crate) fn within(stated: f64, measured: f64) {
    assert!(
        measured <= stated,
        "measured {measured:.3}, stated {stated}"
    );
}

/// The largest error in units in the last place.
pub(crate) fn max_ulps(
    inputs: impl Iterator<Item = f32>,
    function: impl Fn(f32) -> f32,
    exact: impl Fn(f64) -> f64,
) -> f64 {
    inputs
        .map(|x| error(function(x), exact(f64::from(x))))
        .fold(0.0, f64::max)
}

/// The largest error of a function of two numbers: the first 2^a with a in a range, the second in a range.
pub(crate) fn max_ulps_of_two(
    count: usize,
    (low, high): (f64, f64),
    (second_low, second_high): (f64, f64),
    function: impl Fn(f32, f32) -> f32,
    exact: impl Fn(f64, f64) -> f64,
) -> f64 {
    let mut random = Random::new(count as u64);
    let mut worst = 0f64;
    for _ in 0..count {
        let x = (low + (high - low) * random.fraction()).exp2() as f32;
        let y = (second_low + (second_high - second_low) * random.fraction()) as f32;
        worst = worst.max(error(function(x, y), exact(f64::from(x), f64::from(y))));
    }
    worst
}

/// A small generator of numbers, the same every time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Any single, by its bits.
    pub(crate) fn float(&mut self) -> f32 {
        f32::from_bits((self.next() >> 16) as u32)
    }
}
