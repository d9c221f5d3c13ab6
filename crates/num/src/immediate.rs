//! The 8-bit floats that fit into an instruction: sign, three bits of exponent, four of fraction.
//!
//! An exponent of zero means `fraction / 64`, any other `(16 + fraction) * 2^(exponent − 7)`.

/// The value of an 8-bit float.
#[inline(always)]
pub const fn decode(bits: u8) -> f32 {
    let fraction = (bits & 15) as f32;
    let magnitude = match bits >> 4 & 7 {
        0 => fraction / 64.0,
        exponent => (16.0 + fraction) * f32::from_bits((exponent as u32 + 120) << 23),
    };
    if bits & 0x80 != 0 {
        -magnitude
    } else {
        magnitude
    }
}

/// The 8-bit float of this value, if there is one. Zeros keep their sign.
pub fn encode(value: f32) -> Option<u8> {
    // 256 candidates; the exponent says where to look.
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    let magnitude = value.abs();
    let candidate = if magnitude < 0.25 {
        magnitude * 64.0
    } else {
        let exponent = (magnitude.to_bits() >> 23) as i32 - 124;
        if !(1..=7).contains(&exponent) {
            return None;
        }
        (exponent * 16) as f32 + magnitude / f32::from_bits((exponent as u32 + 120) << 23) - 16.0
    };
    let bits = candidate as u8;
    (decode(sign | bits).to_bits() == value.to_bits()).then_some(sign | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_encode_to_themselves() {
        for bits in 0..=255 {
            assert_eq!(
                encode(decode(bits)),
                Some(bits),
                "{bits:#x} = {}",
                decode(bits)
            );
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(decode(0x30), 1.0);
        assert_eq!(decode(0x01), 1.0 / 64.0);
        assert_eq!(decode(0x10), 0.25);
        assert_eq!(decode(0x7f), 31.0);
        assert_eq!(decode(0x80).to_bits(), 0x8000_0000);
        assert_eq!(encode(0.5), Some(0x20));
        assert_eq!(encode(32.0), None);
        assert_eq!(encode(0.1), None);
        assert_eq!(encode(f32::NAN), None);
        assert_eq!(encode(f32::INFINITY), None);
    }
}
