//! Denormal flush and the one NaN.

/// The NaN every single-precision operation makes.
pub const NAN32: f32 = f32::from_bits(0x7fc0_0000);

/// A denormal becomes zero of the same sign; everything else stays.
#[inline(always)]
pub fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    let tiny = bits & 0x7f80_0000 == 0;
    f32::from_bits(if tiny { bits & 0x8000_0000 } else { bits })
}

/// Any NaN becomes the one NaN; everything else stays.
///
/// On the bits: a compiler may assume that one NaN is as good as another and drop a choice between float values.
#[inline(always)]
pub fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    f32::from_bits(if nan { 0x7fc0_0000 } else { bits })
}

/// Result of an operation: flushed, and with the one NaN.
#[inline(always)]
pub(crate) fn finish(value: f32) -> f32 {
    canonical(flush(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denormals_become_zero_of_their_sign() {
        assert_eq!(flush(f32::from_bits(0x007f_ffff)).to_bits(), 0);
        assert_eq!(flush(f32::from_bits(0x8000_0001)).to_bits(), 0x8000_0000);
        assert_eq!(flush(f32::MIN_POSITIVE), f32::MIN_POSITIVE);
        assert_eq!(flush(f32::INFINITY), f32::INFINITY);
        assert_eq!(flush(f32::from_bits(0xffc0_1234)).to_bits(), 0xffc0_1234);
    }

    #[test]
    fn every_nan_becomes_the_one_nan() {
        assert_eq!(
            canonical(f32::from_bits(0xff80_0001)).to_bits(),
            0x7fc0_0000
        );
        assert_eq!(canonical(-0.0).to_bits(), 0x8000_0000);
    }
}
