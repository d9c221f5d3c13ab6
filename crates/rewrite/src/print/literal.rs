//! Constants in Metal's spelling, exact to the bit.

use super::PrintError;
use super::types;
use assay_ssa::{Scalar, Type, TypeKind};

/// A scalar constant.
pub(super) fn scalar(of: Scalar, bits: u64) -> String {
    match of {
        Scalar::I1 => if bits & 1 == 1 { "true" } else { "false" }.to_owned(),
        Scalar::I8 => format!("uchar({})", bits as u8),
        Scalar::I16 => format!("ushort({})", bits as u16),
        Scalar::I32 => format!("{}u", bits as u32),
        Scalar::I64 => format!("{bits}ul"),
        Scalar::F32 => float(bits as u32),
        Scalar::F16 => {
            let value = half::f16::from_bits(bits as u16);
            if value.is_finite() {
                format!("half({})", float(value.to_f32().to_bits()))
            } else {
                format!("as_type<half>(ushort({}))", bits as u16)
            }
        }
        Scalar::BF16 => {
            let value = half::bf16::from_bits(bits as u16);
            if value.is_finite() {
                format!("bfloat({})", float(value.to_f32().to_bits()))
            } else {
                format!("as_type<bfloat>(ushort({}))", bits as u16)
            }
        }
    }
}

/// A single-precision constant: the shortest decimal that reads back, or what it is called.
fn float(bits: u32) -> String {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return format!("as_type<float>({bits:#010x}u)");
    }
    if value.is_infinite() {
        return if value > 0.0 { "INFINITY" } else { "-INFINITY" }.to_owned();
    }
    let magnitude = value.abs();
    if value != 0.0 && !(1e-5..1e9).contains(&magnitude) {
        return format!("{value:e}f");
    }
    format!("{value:?}f")
}

/// A vector constant; equal elements are written once.
pub(super) fn vector(ty: Type, elements: &[u64]) -> Result<String, PrintError> {
    let TypeKind::Vector(of, _) = ty.kind() else {
        return Err(PrintError::Aggregate(ty));
    };
    let name = types::value(ty)?;
    let first = elements.first().copied().unwrap_or(0);
    if elements.iter().all(|&element| element == first) {
        return Ok(format!("{name}({})", scalar(of, first)));
    }
    let list: Vec<String> = elements.iter().map(|&bits| scalar(of, bits)).collect();
    Ok(format!("{name}({})", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_a_person_would() {
        let text = |value: f32| scalar(Scalar::F32, u64::from(value.to_bits()));
        assert_eq!(text(0.5), "0.5f");
        assert_eq!(text(-0.0), "-0.0f");
        assert_eq!(text(3e38), "3e38f");
        assert_eq!(text(1e-12), "1e-12f");
        assert_eq!(text(f32::NEG_INFINITY), "-INFINITY");
        assert_eq!(scalar(Scalar::F16, 0x3c00), "half(1.0f)");
        assert_eq!(scalar(Scalar::I32, u64::from(u32::MAX)), "4294967295u");
    }
}
