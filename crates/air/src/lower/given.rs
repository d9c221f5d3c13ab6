//! Values for function constants, as a user writes them: `3=bool:true`, `has_mask=bool:1`, `scale=float2:0.5,2`.

use assay_ssa::{Scalar, Type};
use std::fmt;
use std::str::FromStr;

/// A value for a function constant.
///
/// ```
/// use assay_air::{ConstantKey, GivenConstant};
/// let given: GivenConstant = "3=bool:true".parse()?;
/// assert_eq!((given.key, given.elements), (ConstantKey::Index(3), vec![1]));
/// let given: GivenConstant = "scale=float2:0.5,-2".parse()?;
/// assert_eq!(given.elements, [0x3f00_0000, 0xc000_0000]);
/// assert!("3=bool:maybe".parse::<GivenConstant>().is_err());
/// # Ok::<(), assay_air::ConstantSyntax>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenConstant {
    /// Which one.
    pub key: ConstantKey,
    /// Its type in the program form; `bool` is a byte.
    pub ty: Type,
    /// Bits of each element (one for a scalar).
    pub elements: Vec<u64>,
}

/// How a function constant is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConstantKey {
    /// By its number.
    Index(u32),
    /// By its name.
    Name(String),
}

impl ConstantKey {
    /// Whether this names the function constant of that number and name.
    pub fn is(&self, index: u32, name: &str) -> bool {
        match self {
            ConstantKey::Index(wanted) => *wanted == index,
            ConstantKey::Name(wanted) => wanted == name,
        }
    }
}

impl fmt::Display for ConstantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstantKey::Index(index) => write!(f, "{index}"),
            ConstantKey::Name(name) => f.write_str(name),
        }
    }
}

/// Why a function constant could not be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text}: {problem}; write INDEX=TYPE:VALUE or NAME=TYPE:VALUE, as in 3=bool:true or scale=float2:0.5,2"
)]
pub struct ConstantSyntax {
    text: String,
    problem: String,
}

/// Scalar types: Metal's name, the one that tells the size, type here, signed.
const TYPES: [(&str, &str, Scalar, bool); 12] = [
    ("bool", "bool", Scalar::I8, false),
    ("char", "i8", Scalar::I8, true),
    ("uchar", "u8", Scalar::I8, false),
    ("short", "i16", Scalar::I16, true),
    ("ushort", "u16", Scalar::I16, false),
    ("int", "i32", Scalar::I32, true),
    ("uint", "u32", Scalar::I32, false),
    ("long", "i64", Scalar::I64, true),
    ("ulong", "u64", Scalar::I64, false),
    ("half", "f16", Scalar::F16, true),
    ("bfloat", "bf16", Scalar::BF16, true),
    ("float", "f32", Scalar::F32, true),
];

/// The scalar type of a name, and how many of it: a vector's name ends in 2, 3 or 4.
fn type_of(name: &str) -> Option<(&'static str, Scalar, bool, u8)> {
    TYPES.iter().find_map(|&(metal, sized, scalar, signed)| {
        let mut ends = [metal, sized]
            .into_iter()
            .filter_map(|own| name.strip_prefix(own));
        let lanes = ends.find_map(|end| match end {
            "" => Some(1),
            "2" => Some(2),
            "3" => Some(3),
            "4" => Some(4),
            _ => None,
        });
        Some((metal, scalar, signed, lanes?))
    })
}

impl FromStr for GivenConstant {
    type Err = ConstantSyntax;

    fn from_str(text: &str) -> Result<Self, ConstantSyntax> {
        let fail = |problem: String| ConstantSyntax {
            text: text.to_owned(),
            problem,
        };
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| fail("it has no `=`".into()))?;
        let (ty, value) = value
            .split_once(':')
            .ok_or_else(|| fail("it has no type".into()))?;
        let (name, scalar, signed, lanes) =
            type_of(ty).ok_or_else(|| fail(format!("{ty} is no type of a function constant")))?;
        let elements = value.split(',').map(|element| {
            parse_element(name, scalar, signed, element.trim())
                .ok_or_else(|| fail(format!("{element} is no {name}")))
        });
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        if elements.len() != usize::from(lanes) {
            let count = elements.len();
            return Err(fail(format!(
                "{ty} has {lanes} elements, {count} are given"
            )));
        }
        let key = match key.parse() {
            Ok(index) => ConstantKey::Index(index),
            Err(_) if key.is_empty() => return Err(fail("it names no function constant".into())),
            Err(_) => ConstantKey::Name(key.to_owned()),
        };
        Ok(GivenConstant {
            key,
            ty: Type::vector(scalar, lanes),
            elements,
        })
    }
}

fn parse_element(name: &str, scalar: Scalar, signed: bool, text: &str) -> Option<u64> {
    if name == "bool" {
        return match text {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        };
    }
    match scalar {
        Scalar::F32 => Some(u64::from(text.parse::<f32>().ok()?.to_bits())),
        Scalar::F16 => Some(u64::from(half::f16::from_f64(text.parse().ok()?).to_bits())),
        Scalar::BF16 => Some(u64::from(
            half::bf16::from_f64(text.parse().ok()?).to_bits(),
        )),
        _ => {
            let number: i128 = match text.strip_prefix("0x") {
                Some(digits) => i128::from(u64::from_str_radix(digits, 16).ok()?),
                None => text.parse().ok()?,
            };
            let bits = scalar.bits();
            let (least, most) = match signed {
                true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                false => (0, (1i128 << bits) - 1),
            };
            (least..=most)
                .contains(&number)
                .then_some(number as u64 & scalar.mask())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_checked_against_their_type() {
        let parse = |text: &str| text.parse::<GivenConstant>().map(|given| given.elements);
        assert_eq!(parse("a=char:-128"), Ok(vec![0x80]));
        assert_eq!(parse("a=half:1.5"), Ok(vec![0x3e00]));
        assert_eq!(parse("a=ushort4:1,2,3,0xffff"), Ok(vec![1, 2, 3, 0xffff]));
        assert_eq!(parse("a=i32:-1"), Ok(vec![0xffff_ffff]));
        assert_eq!(parse("a=u16:7"), Ok(vec![7]));
        assert_eq!(parse("a=f16:1.5"), Ok(vec![0x3e00]));
        assert_eq!(parse("a=bf16:1"), Ok(vec![0x3f80]));
        assert_eq!(parse("a=i642:1,-1"), Ok(vec![1, u64::MAX]));
        for wrong in [
            "a=char:128",
            "a=uint:-1",
            "a=int2:1",
            "a",
            "a=3",
            "=int:1",
            "a=vec:1",
            "a=int5:1",
            "a=int22:1",
            "a=i8:128",
            "a=i32:1.5",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
