//! What buffers and arguments hold when a kernel starts, as a launch writes it.

use crate::element::{ELEMENTS, Element};
use crate::formula::{Formula, Sizes};

/// How the contents of a buffer are written, for advice.
pub const BUFFER_FORMS: &str = "a buffer is FILE.npy, zeros:TYPE:SHAPE, iota:TYPE:SHAPE, \
                                random:TYPE:SHAPE[:SEED] or index:TYPE:SHAPE:BOUND, as in \
                                0=zeros:f32:64x32";

/// How values are written, for advice.
pub const VALUE_FORMS: &str =
    "write INDEX=TYPE:VALUE[,VALUE…], as in 3=u32:64 or 3=u32:64,32,f32:0.5";

/// Most bytes one buffer is filled with.
const MOST_BYTES: u64 = 8 << 30;

/// The bytes of a buffer that is described: `zeros:f32:64x32`, `iota:u32:N`, `random:f32:N*D:SEED`, or random whole numbers
/// below a bound, `index:u32:N:D`. `None` if the text is not of this form, so that it names a file.
///
/// ```
/// use assay_launch::{Sizes, contents::fill};
/// let sizes = Sizes::from([("N".to_owned(), 3)]);
/// let (element, data) = fill("iota:u16:N", &sizes)?.expect("a description");
/// assert_eq!((element.name, data), ("u16", vec![0, 0, 1, 0, 2, 0]));
/// assert!(fill("x.npy", &sizes)?.is_none());
/// # Ok::<(), String>(())
/// ```
pub fn fill(text: &str, sizes: &Sizes) -> Result<Option<(&'static Element, Vec<u8>)>, String> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    if !matches!(word, "zeros" | "iota" | "random" | "index") {
        return Ok(None);
    }
    let mut parts = rest.split(':');
    let element = known(parts.next().unwrap_or(""))?;
    let count = shape(parts.next().unwrap_or(""), sizes)?;
    let mut bound = None;
    let seed = match (parts.next(), word) {
        (None, "index") => return Err("index has a bound: index:TYPE:SHAPE:BOUND".to_owned()),
        (None, _) => 0,
        (Some(text), "index") => {
            bound = Some(shape(text, sizes)?.max(1));
            0
        }
        (Some(seed), "random") => seed.parse().map_err(|_| format!("`{seed}` is no seed"))?,
        (Some(extra), _) => return Err(format!("`:{extra}` is too much")),
    };
    if parts.next().is_some() {
        return Err("there is too much after the seed".to_owned());
    }
    let bytes = count.checked_mul(element.size as u64);
    let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES);
    let bytes = bytes.ok_or_else(|| format!("{count} numbers are more than fit"))?;
    let mut data = vec![0; bytes as usize];
    let mut random = Random(seed);
    for (index, place) in (0..).zip(data.chunks_exact_mut(element.size)) {
        let number = match word {
            "zeros" => break,
            "iota" => element.counted(index),
            "index" => element.counted(random.next() % bound.unwrap_or(1)),
            _ => element.random(random.next()),
        };
        for (to, from) in place.iter_mut().zip(number) {
            *to = from;
        }
    }
    Ok(Some((element, data)))
}

fn known(name: &str) -> Result<&'static Element, String> {
    Element::named(name).ok_or_else(|| {
        let names: Vec<&str> = ELEMENTS.iter().map(|element| element.name).collect();
        format!("`{name}` is no type; there are {}", names.join(" "))
    })
}

/// The number of elements of a shape such as `64`, `64x32`, `N*D` or `NxD`.
fn shape(text: &str, sizes: &Sizes) -> Result<u64, String> {
    let mut lengths = extents(text, sizes)?.into_iter();
    let count = lengths.try_fold(1u64, |count, length| count.checked_mul(length));
    count.ok_or_else(|| format!("{text} is more than fits"))
}

/// The extents of a shape, with `x` between them: numbers or formulas. A text that is a formula as a whole is one extent.
///
/// ```
/// use assay_launch::{Sizes, contents::extents};
/// let sizes = Sizes::from([("N".to_owned(), 3), ("D".to_owned(), 2)]);
/// assert_eq!(extents("64x32", &sizes)?, [64, 32]);
/// assert_eq!(extents("N*D", &sizes)?, [6]);
/// assert_eq!(extents("NxD*4", &sizes)?, [3, 8]);
/// # Ok::<(), String>(())
/// ```
pub fn extents(text: &str, sizes: &Sizes) -> Result<Vec<u64>, String> {
    let plain: Option<Vec<u64>> = text.split('x').map(|length| length.parse().ok()).collect();
    if let Some(plain) = plain {
        return Ok(plain);
    }
    let whole =
        formula(text, sizes).ok_or_else(|| format!("`{text}` is no shape such as 64 or 64x32"))?;
    match whole {
        Ok(value) => Ok(vec![value]),
        Err(why) => {
            let parts = text.split('x').map(|part| formula(part, sizes)?.ok());
            parts.collect::<Option<Vec<u64>>>().ok_or(why)
        }
    }
}

/// The value of a text that is a formula with names in it.
fn formula(text: &str, sizes: &Sizes) -> Option<Result<u64, String>> {
    let formula = Formula::parse(text).ok()?;
    if formula.names().is_empty() && text.parse::<u64>().is_err() && sizes.is_empty() {
        return None;
    }
    let value = formula.integer(sizes);
    Some(value.map_err(|error| format!("`{text}`: {error}")))
}

/// Values one after the other, each aligned to its size as in a C struct, whose end is aligned to the
/// largest. A value may change the type, and integers may be formulas: `u32:64,N,f32:0.5`.
pub fn values(text: &str, sizes: &Sizes) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut element = None;
    let mut largest = 1;
    for value in crate::flags::top_level(text) {
        let value = match value.split_once(':') {
            Some((name, value)) => {
                element = Some(known(name)?);
                value
            }
            None => value,
        };
        let element: &Element = element.ok_or("it has no type")?;
        bytes.resize(bytes.len().next_multiple_of(element.size), 0);
        bytes.extend(one(element, value.trim(), sizes)?);
        largest = largest.max(element.size);
    }
    bytes.resize(bytes.len().next_multiple_of(largest), 0);
    Ok(bytes)
}

/// The 32-bit whole numbers among values, each with its place in bytes.
///
/// ```
/// let numbers = assay_launch::contents::numbers("u32:64,N,f32:0.5");
/// let numbers: Vec<(u32, &str)> = numbers.iter().map(|(at, formula)| (*at, formula.text())).collect();
/// assert_eq!(numbers, [(0, "64"), (4, "N")]);
/// ```
pub fn numbers(text: &str) -> Vec<(u32, Formula)> {
    let mut found = Vec::new();
    let mut element: Option<&Element> = None;
    let mut end = 0usize;
    for value in crate::flags::top_level(text) {
        let (name, value) = match value.split_once(':') {
            Some((name, value)) => (Some(name), value),
            None => (None, value),
        };
        element = name.map_or(element, Element::named);
        let Some(element) = element else {
            return found;
        };
        let place = end.next_multiple_of(element.size.max(1));
        end = place + element.size;
        if matches!(element.name, "u32" | "i32")
            && let (Ok(place), Ok(formula)) = (u32::try_from(place), Formula::parse(value.trim()))
        {
            found.push((place, formula));
        }
    }
    found
}

/// A number as it is written, or the value of a formula.
fn one(element: &Element, text: &str, sizes: &Sizes) -> Result<Vec<u8>, String> {
    let written = element.parse(text);
    if written.is_ok() || sizes.is_empty() {
        return written;
    }
    match formula(text, sizes) {
        Some(value) => element.parse(&value?.to_string()),
        None => written,
    }
}

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::{fill, values};
    use crate::Sizes;

    fn sizes() -> Sizes {
        Sizes::from([("N".to_owned(), 3), ("D".to_owned(), 2)])
    }

    #[test]
    fn buffers_are_filled_as_said() {
        let bytes = |text: &str| {
            let filled = fill(text, &sizes())?;
            Ok::<_, String>(filled.map_or(Vec::new(), |(_, data)| data))
        };
        assert_eq!(bytes("zeros:f16:2x3").unwrap(), [0; 12]);
        assert_eq!(bytes("zeros:f16:N*D").unwrap(), [0; 12]);
        assert_eq!(bytes("iota:u16:3").unwrap(), [0, 0, 1, 0, 2, 0]);
        let below = bytes("index:u8:NxD:N").unwrap();
        assert!(below.len() == 6 && below.iter().all(|index| *index < 3));
        assert_eq!(bytes("random:f32:9:5"), bytes("random:float:9:5"));
        assert_ne!(bytes("random:f32:9:5"), bytes("random:f32:9:6"));
        for wrong in [
            "zeros:f31:2",
            "zeros:f32:2y",
            "zeros:f32:K",
            "zeros:f32:NxK",
            "index:u32:4",
            "iota:u8:4:1",
            "zeros:f32:9999999999999",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_laid_out_like_a_struct() {
        let bytes = |text: &str| values(text, &sizes());
        assert_eq!(bytes("u32:5").unwrap(), [5, 0, 0, 0]);
        assert_eq!(bytes("u16:1,2").unwrap(), [1, 0, 2, 0]);
        assert_eq!(bytes("u16:N,max(N, 9)").unwrap(), [3, 0, 9, 0]);
        assert_eq!(bytes("u8:7,u32:1").unwrap(), [7, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes("u16:7,u8:1").unwrap(), [7, 0, 1, 0]);
        assert_eq!(bytes("u64:1,u32:2").unwrap().len(), 16);
        assert_eq!(bytes("u8:1,2,3").unwrap(), [1, 2, 3]);
        assert!(bytes("5").is_err());
        assert!(bytes("u8:256").is_err());
        assert!(bytes("u32:K").is_err());
    }
}
