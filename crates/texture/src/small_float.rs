//! Floats of 10 and 11 bits, and three that share an exponent.

/// An unsigned float of five exponent bits and `mantissa` bits behind them.
pub(crate) fn decode(bits: u32, mantissa: u32) -> f32 {
    let (exponent, fraction) = (bits >> mantissa & 31, bits & ((1 << mantissa) - 1));
    let steps = fraction as f32 / (1u32 << mantissa) as f32;
    match exponent {
        0 => steps * 2f32.powi(-14),
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + steps) * 2f32.powi(exponent as i32 - 15),
    }
}

/// The same, the other way: negative numbers become 0, too large ones the largest, others the nearest, ties to even.
pub(crate) fn encode(value: f32, mantissa: u32) -> u32 {
    let infinity = 31u32 << mantissa;
    if value.is_nan() {
        return infinity | 1;
    }
    if value == f32::INFINITY {
        return infinity;
    }
    if value <= 0.0 {
        return 0;
    }
    let exponent = ((value.to_bits() >> 23) as i32 - 127).max(-14);
    let unit = 2f64.powi(exponent - mantissa as i32);
    let steps = (f64::from(value) / unit).round_ties_even() as u32;
    // A number below the smallest normal one has the exponent field 0; rounding up carries into the next exponent by itself.
    let base = ((exponent + 14) as u32) << mantissa;
    (base + steps).min(infinity - 1)
}

/// Three numbers of nine bits with one exponent of five.
pub(crate) fn decode_shared(word: u32) -> [f32; 3] {
    let scale = 2f32.powi((word >> 27) as i32 - 15 - 9);
    [0, 9, 18].map(|shift| (word >> shift & 0x1ff) as f32 * scale)
}

/// The same, the other way: each is clamped to what the format holds, and rounded to nearest.
pub(crate) fn encode_shared(values: [f32; 3]) -> u32 {
    let largest = 65408.0f32;
    let clamped = values.map(|value| if value > 0.0 { value.min(largest) } else { 0.0 });
    let most = clamped.into_iter().fold(0.0f32, f32::max);
    let mut exponent = ((most.to_bits() >> 23) as i32 - 127).max(-16) + 1 + 15;
    let steps = |value: f32, exponent: i32| {
        (f64::from(value) / 2f64.powi(exponent - 15 - 9) + 0.5).floor() as u32
    };
    if steps(most, exponent) == 512 {
        exponent += 1;
    }
    let [r, g, b] = clamped.map(|value| steps(value, exponent));
    r | g << 9 | b << 18 | (exponent as u32) << 27
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_small_float_comes_back() {
        for mantissa in [5, 6] {
            for bits in 0..31u32 << mantissa {
                assert_eq!(encode(decode(bits, mantissa), mantissa), bits, "{bits}");
            }
        }
        assert_eq!(encode(-1.0, 6), 0);
        assert_eq!(decode(encode(1e9, 6), 6), 65024.0);
    }

    #[test]
    fn shared_exponents_hold_the_largest_of_three() {
        for values in [[1.0, 0.5, 0.25], [65408.0, 0.0, 128.0], [0.0; 3]] {
            assert_eq!(decode_shared(encode_shared(values)), values);
        }
    }
}
