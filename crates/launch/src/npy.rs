//! NumPy's `.npy` files: the arrays kernels are given and give back.
//!
//! Versions 1 to 3, C order, little-endian (or one-byte) integers and floats. Brain
//! floats, which NumPy does not have, travel as `<u2` or as two-byte voids (`|V2`).

/// An array: its type, its shape and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// NumPy's type string, such as `<f4`.
    pub descr: String,
    /// Lengths along each axis.
    pub shape: Vec<u64>,
    /// The elements, little-endian, in C order.
    pub data: Vec<u8>,
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Types that are understood, with the bytes of an element.
const TYPES: &[(&str, u64)] = &[
    ("f2", 2),
    ("f4", 4),
    ("f8", 8),
    ("i1", 1),
    ("i2", 2),
    ("i4", 4),
    ("i8", 8),
    ("u1", 1),
    ("u2", 2),
    ("u4", 4),
    ("u8", 8),
    ("b1", 1),
    ("V2", 2),
];

impl Array {
    /// Reads an array from the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Array, String> {
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or("it does not start with NumPy's magic")?;
        let [major, _minor, rest @ ..] = rest else {
            return Err("it ends after the magic".to_owned());
        };
        let (length, rest) = match (major, rest) {
            (1, [a, b, rest @ ..]) => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            (2 | 3, [a, b, c, d, rest @ ..]) => {
                (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest)
            }
            (1..=3, _) => return Err("it ends inside its header".to_owned()),
            (version, _) => return Err(format!("version {version} is not known")),
        };
        let header = rest.get(..length).ok_or("it ends inside its header")?;
        let header = std::str::from_utf8(header).map_err(|_| "its header is not text")?;
        let data = rest.get(length..).unwrap_or_default();
        Array::with_header(header, data)
    }

    fn with_header(header: &str, data: &[u8]) -> Result<Array, String> {
        let descr = quoted(value(header, "descr")?).ok_or("its type is not a simple one")?;
        let shape = shape(value(header, "shape")?)?;
        let fortran = value(header, "fortran_order")?.starts_with("True");
        let (order, name) = descr.split_at(descr.find(char::is_alphabetic).unwrap_or(0));
        let element = TYPES.iter().find(|(known, _)| *known == name);
        let Some((_, size)) = element else {
            return Err(format!("its type `{descr}` is not a plain number"));
        };
        if order == ">" && *size > 1 {
            return Err(format!(
                "its type `{descr}` is big-endian; use .astype('<{name}')"
            ));
        }
        if fortran && shape.iter().filter(|&&length| length > 1).count() > 1 {
            return Err("it is in Fortran order; use numpy.ascontiguousarray".to_owned());
        }
        let count = shape
            .iter()
            .try_fold(1u64, |count, &length| count.checked_mul(length));
        let bytes = count
            .and_then(|count| count.checked_mul(*size))
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or("its shape is absurd")?;
        let found = data.len();
        let data = data
            .get(..bytes)
            .ok_or_else(|| format!("its shape needs {bytes} bytes and there are {found}"))?;
        Ok(Array {
            descr: descr.to_owned(),
            shape,
            data: data.to_vec(),
        })
    }

    /// The bytes of a file with this array.
    pub fn to_bytes(&self) -> Vec<u8> {
        let lengths: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let comma = if lengths.len() == 1 { "," } else { "" };
        let mut header = format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
            self.descr,
            lengths.join(", ")
        );
        // The data starts at a multiple of 64; the header ends with a newline.
        let unpadded = MAGIC.len() + 4 + header.len() + 1;
        header.extend(std::iter::repeat_n(
            ' ',
            unpadded.next_multiple_of(64) - unpadded,
        ));
        header.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(&self.data);
        bytes
    }
}

/// What follows `'key':` in a header.
fn value<'h>(header: &'h str, key: &str) -> Result<&'h str, String> {
    for quote in ['\'', '"'] {
        if let Some((_, rest)) = header.split_once(&format!("{quote}{key}{quote}")) {
            let rest = rest.trim_start();
            let rest = rest
                .strip_prefix(':')
                .ok_or("its header is no dictionary")?;
            return Ok(rest.trim_start());
        }
    }
    Err(format!("its header has no `{key}`"))
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text
        .chars()
        .next()
        .filter(|first| matches!(first, '\'' | '"'))?;
    text.get(1..)?.split(quote).next()
}

fn shape(text: &str) -> Result<Vec<u64>, String> {
    let inside = text
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .ok_or("its shape is no tuple")?
        .0;
    let lengths = inside
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty());
    lengths
        .map(|length| {
            let digits = length.trim_end_matches('L');
            digits
                .parse()
                .map_err(|_| format!("`{length}` in its shape is no length"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive_a_round_trip() {
        for shape in [vec![], vec![6], vec![2, 3], vec![0, 4]] {
            let count: u64 = shape.iter().product();
            let array = Array {
                descr: "<f4".to_owned(),
                data: (0..count * 4).map(|byte| byte as u8).collect(),
                shape,
            };
            let bytes = array.to_bytes();
            assert_eq!(bytes.len() % 64, array.data.len() % 64);
            assert_eq!(Array::parse(&bytes), Ok(array));
        }
    }

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn every_version_and_either_quote_is_read() {
        for version in 1..=3 {
            let header = "{\"descr\": '|u1', 'fortran_order': True, 'shape': (3L,), }\n";
            let array = Array::parse(&file(version, header, &[1, 2, 3])).unwrap();
            assert_eq!((array.shape, array.data), (vec![3], vec![1, 2, 3]));
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let problem = |header: &str| Array::parse(&file(1, header, &[0; 8])).unwrap_err();
        let with = |descr: &str, fortran: &str, shape: &str| {
            problem(&format!(
                "{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}}}"
            ))
        };
        assert!(with(">f4", "False", "(2,)").contains("big-endian"));
        assert!(with("<c8", "False", "(1,)").contains("plain number"));
        assert!(with("<f2", "True", "(2, 2)").contains("Fortran"));
        assert!(with("<f4", "False", "(3,)").contains("needs 12 bytes"));
        assert!(with("<f8", "False", "(9999999999, 9999999999)").contains("absurd"));
        assert!(with("<f4", "False", "[2]").contains("tuple"));
        assert!(problem("{}").contains("descr"));
        assert!(Array::parse(b"PK").unwrap_err().contains("magic"));
        assert!(
            Array::parse(b"\x93NUMPY\x09\x00")
                .unwrap_err()
                .contains("version 9")
        );
        assert!(
            Array::parse(b"\x93NUMPY\x01\x00\xff\xff{")
                .unwrap_err()
                .contains("header")
        );
    }
}
