//! Types of numbers as launches, Metal and NumPy call them.

use crate::Dtype;
use serde_json::Number;

/// A type of number a buffer can hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name in a launch.
    pub name: &'static str,
    /// Its name in Metal.
    pub metal: &'static str,
    /// NumPy's type string.
    pub descr: &'static str,
    /// Bytes.
    pub size: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Half,
    Brain,
    Float,
    Signed,
    Unsigned,
    Truth,
}

const fn element(
    name: &'static str,
    metal: &'static str,
    descr: &'static str,
    size: usize,
    kind: Kind,
) -> Element {
    Element {
        name,
        metal,
        descr,
        size,
        kind,
    }
}

/// All of them.
pub static ELEMENTS: [Element; 12] = [
    element("f32", "float", "<f4", 4, Kind::Float),
    element("f16", "half", "<f2", 2, Kind::Half),
    // NumPy has no brain floats: two bytes without a type, as ml_dtypes writes them.
    element("bf16", "bfloat", "|V2", 2, Kind::Brain),
    element("u8", "uchar", "|u1", 1, Kind::Unsigned),
    element("i8", "char", "|i1", 1, Kind::Signed),
    element("u16", "ushort", "<u2", 2, Kind::Unsigned),
    element("i16", "short", "<i2", 2, Kind::Signed),
    element("u32", "uint", "<u4", 4, Kind::Unsigned),
    element("i32", "int", "<i4", 4, Kind::Signed),
    element("u64", "ulong", "<u8", 8, Kind::Unsigned),
    element("i64", "long", "<i8", 8, Kind::Signed),
    element("bool", "bool", "|b1", 1, Kind::Truth),
];

impl Element {
    /// The type of a name, ours or Metal's.
    pub fn named(name: &str) -> Option<&'static Element> {
        ELEMENTS
            .iter()
            .find(|element| element.name == name || element.metal == name)
    }

    /// The type of a variant.
    pub fn of(dtype: Dtype) -> &'static Element {
        match dtype {
            Dtype::F32 => &ELEMENTS[0],
            Dtype::F16 => &ELEMENTS[1],
            Dtype::Bf16 => &ELEMENTS[2],
            Dtype::U32 => &ELEMENTS[7],
            Dtype::I32 => &ELEMENTS[8],
        }
    }

    /// The type of a NumPy array.
    pub fn of_array(descr: &str) -> Option<&'static Element> {
        let code = descr.trim_start_matches(['<', '|', '=']);
        ELEMENTS
            .iter()
            .find(|element| element.descr.get(1..) == Some(code))
    }

    /// The type of the numbers in a Metal type such as `float4`, `packed_half3` or `atomic_uint`.
    pub fn in_metal(type_name: &str) -> Option<&'static Element> {
        let type_name = type_name.trim_start_matches("const ");
        let name = ["packed_", "atomic_", "_atomic_"]
            .iter()
            .find_map(|prefix| type_name.strip_prefix(prefix))
            .unwrap_or(type_name);
        let base = match Self::named(name) {
            Some(_) => name,
            None => name.trim_end_matches(['2', '3', '4']),
        };
        Self::named(base).or_else(|| match base {
            "bfloat16_t" => Self::named("bf16"),
            "uint8_t" => Self::named("u8"),
            "uint16_t" => Self::named("u16"),
            "uint32_t" => Self::named("u32"),
            "int64_t" => Self::named("i64"),
            "uint64_t" => Self::named("u64"),
            _ => None,
        })
    }

    /// Whether a kernel that expects `other` understands this: the same, or the bits of a brain float.
    pub fn suits(&self, other: &Element) -> bool {
        self == other || (self.name == "u16" && other.name == "bf16") || {
            let (a, b) = (self.kind, other.kind);
            let whole = |kind| matches!(kind, Kind::Signed | Kind::Unsigned | Kind::Truth);
            whole(a) && whole(b) && self.size == other.size
        }
    }

    /// Reads a number as a user writes it.
    pub fn parse(&self, text: &str) -> Result<Vec<u8>, String> {
        let fail = || format!("`{text}` is not of type {}", self.name);
        let bytes = match self.kind {
            Kind::Float => text
                .parse::<f32>()
                .map_err(|_| fail())?
                .to_le_bytes()
                .to_vec(),
            Kind::Half | Kind::Brain => {
                let value = text.parse::<f32>().map_err(|_| fail())?;
                self.nearest(value)[..self.size].to_vec()
            }
            Kind::Truth => match text {
                "true" | "1" => vec![1],
                "false" | "0" => vec![0],
                _ => return Err(fail()),
            },
            Kind::Signed | Kind::Unsigned => {
                let number: i128 = match text.strip_prefix("0x") {
                    Some(digits) => {
                        i128::from(u64::from_str_radix(digits, 16).map_err(|_| fail())?)
                    }
                    None => text.parse().map_err(|_| fail())?,
                };
                let bits = self.size * 8;
                let (least, most) = match self.kind {
                    Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    _ => (0, (1i128 << bits) - 1),
                };
                if !(least..=most).contains(&number) {
                    return Err(format!("`{text}` does not fit {}", self.name));
                }
                number.to_le_bytes().into_iter().take(self.size).collect()
            }
        };
        Ok(bytes)
    }

    /// The bits of the number nearest to a float.
    fn nearest(&self, value: f32) -> [u8; 8] {
        let bits = match self.kind {
            Kind::Half => u32::from(assay_num::f32_to_f16(value)),
            Kind::Brain => u32::from(assay_num::f32_to_bf16(value)),
            _ => value.to_bits(),
        };
        u64::from(bits).to_le_bytes()
    }

    /// The number of a place in a sequence: 0, 1, 2, …, with as many bits as fit. The first
    /// [`Element::size`] bytes count.
    pub fn counted(&self, index: u64) -> [u8; 8] {
        match self.kind {
            Kind::Float | Kind::Half | Kind::Brain => self.nearest(index as f32),
            Kind::Truth => (index & 1).to_le_bytes(),
            _ => index.to_le_bytes(),
        }
    }

    /// A number out of 64 random bits: floats between −1 and 1, integers of any bits.
    pub fn random(&self, bits: u64) -> [u8; 8] {
        match self.kind {
            Kind::Float | Kind::Half | Kind::Brain => {
                self.nearest((bits >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
            }
            Kind::Truth => (bits >> 63).to_le_bytes(),
            _ => bits.to_le_bytes(),
        }
    }

    /// A number for people, and its value for programs (none for what is no finite number).
    pub fn show(&self, bytes: &[u8]) -> (String, Option<Number>) {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        let bits = u64::from_le_bytes(word);
        let float = |value: f32| (value.to_string(), Number::from_f64(value.into()));
        match self.kind {
            Kind::Float => float(f32::from_bits(bits as u32)),
            Kind::Half => float(assay_num::f16_to_f32(bits as u16)),
            Kind::Brain => float(assay_num::bf16_to_f32(bits as u16)),
            Kind::Truth => ((bits != 0).to_string(), Some(u8::from(bits != 0).into())),
            Kind::Unsigned => (bits.to_string(), Some(bits.into())),
            Kind::Signed => {
                let shift = 64 - self.size as u32 * 8;
                let value = ((bits << shift) as i64) >> shift;
                (value.to_string(), Some(value.into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Element;

    #[test]
    fn numbers_are_read_and_shown() {
        for (name, text, shown) in [
            ("f32", "0.1", "0.1"),
            ("half", "-2.5", "-2.5"),
            ("bf16", "3.14159", "3.140625"),
            ("i8", "-128", "-128"),
            ("u64", "0xffffffffffffffff", "18446744073709551615"),
            ("i64", "-9223372036854775808", "-9223372036854775808"),
            ("bool", "true", "true"),
            ("f32", "inf", "inf"),
        ] {
            let element = Element::named(name).unwrap();
            let bytes = element.parse(text).unwrap();
            assert_eq!(element.show(&bytes).0, shown, "{name}:{text}");
        }
        // Programs get integers to the last digit, and nothing for what JSON has no number for.
        for (name, text, number) in [
            ("u64", "0xffffffffffffffff", Some("18446744073709551615")),
            ("i64", "9007199254740993", Some("9007199254740993")),
            ("i8", "-1", Some("-1")),
            ("f32", "3", Some("3.0")),
            ("f32", "inf", None),
        ] {
            let element = Element::named(name).unwrap();
            let shown = element.show(&element.parse(text).unwrap()).1;
            let shown = shown.map(|number| number.to_string());
            assert_eq!(shown.as_deref(), number, "{name}:{text}");
        }
        for (name, text) in [("u8", "256"), ("i16", "1.5"), ("bool", "2"), ("f32", "x")] {
            assert!(Element::named(name).unwrap().parse(text).is_err());
        }
    }

    #[test]
    fn variants_have_elements_of_their_name() {
        for dtype in crate::Dtype::ALL {
            assert_eq!(Element::of(dtype).name, dtype.name());
        }
    }

    #[test]
    fn metal_types_have_their_numbers() {
        let name = |text| Element::in_metal(text).map(|element| element.name);
        assert_eq!(name("float4"), Some("f32"));
        assert_eq!(name("packed_half3"), Some("f16"));
        assert_eq!(name("atomic_uint"), Some("u32"));
        assert_eq!(name("const uchar"), Some("u8"));
        assert_eq!(name("Params"), None);
    }
}
