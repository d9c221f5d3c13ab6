//! Two normalised integers side by side in one register, from floats and back (G15).
//!
//! Each Metal function that packs or unpacks is one such instruction per pair, so the instructions do what Metal's rules for
//! normalised integers say: clamp, scale, round to nearest even; divide by the greatest.

use crate::format;
use crate::op::Row;
use assay_agx::Format;

/// Bits of one of the two integers.
fn width(format: Format) -> u32 {
    format::element_bytes(format) as u32 * 8
}

/// Two single-precision rows as integers, the first in the low bits.
pub(crate) fn pack(format: Format, [a, b]: &[Row; 2]) -> Row {
    let bits = width(format);
    let mask = (1 << bits) - 1;
    let part = |value: u32| format::store(format, value, 0, true) & mask;
    a.zip(b, |a, b| part(a) | part(b) << bits)
}

/// Both integers as floats: single precision if `wide`, else half.
pub(crate) fn unpack(format: Format, packed: &Row, wide: bool) -> [Row; 2] {
    let bits = width(format);
    let mask = (1 << bits) - 1;
    [0, bits].map(|from| packed.map(|word| format::load(format, word >> from & mask, 0, wide)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let values = [0.25f32, -1.0].map(|value| Row::splat(value.to_bits()));
        let packed = pack(Format::S8Norm, &values);
        assert_eq!(packed.0[0], 0x8120);
        let [first, second] = unpack(Format::S8Norm, &packed, true).map(|row| row.0[0]);
        assert_eq!(f32::from_bits(first), 32.0 / 127.0);
        assert_eq!(f32::from_bits(second), -1.0);
    }
}
