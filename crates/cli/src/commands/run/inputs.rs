//! What the command line binds: arrays, bytes, threadgroup memory.

use super::Args;
use super::element::{ELEMENTS, Element};
use crate::failure::Failure;
use crate::npy::Array;
use std::path::Path;

/// A buffer as it is before the run.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) index: u32,
    pub(super) element: &'static Element,
    pub(super) data: Vec<u8>,
}

/// Everything that is bound.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) buffers: Vec<Filled>,
    pub(super) bytes: Vec<(u32, Vec<u8>)>,
    pub(super) memory: Vec<(u32, u32)>,
}

const SHAPES: &str = "a buffer is FILE.npy, zeros:TYPE:SHAPE, iota:TYPE:SHAPE or \
                      random:TYPE:SHAPE[:SEED], as in 0=zeros:f32:64x32";

/// Most bytes one buffer is filled with.
const MOST_BYTES: u64 = 8 << 30;

impl Inputs {
    pub(super) fn new(args: &Args) -> Result<Inputs, Failure> {
        let mut inputs = Inputs::default();
        for text in &args.buffers {
            let (index, value) = split("--buffer", text)?;
            inputs.fresh("--buffer", index)?;
            let (element, data) = fill(text, value)?;
            inputs.buffers.push(Filled {
                index,
                element,
                data,
            });
        }
        for text in &args.bytes {
            let (index, value) = split("--bytes", text)?;
            inputs.fresh("--bytes", index)?;
            inputs.bytes.push((index, values(text, value)?));
        }
        for text in &args.tgmem {
            let (index, value) = split("--tgmem", text)?;
            let bytes = super::number(value)
                .map_err(|error| Failure::usage(format!("--tgmem {text}: {error}")))?;
            inputs.memory.push((index, bytes));
        }
        Ok(inputs)
    }

    /// An index is bound once.
    fn fresh(&self, option: &str, index: u32) -> Result<(), Failure> {
        let buffers = self.buffers.iter().map(|buffer| buffer.index);
        let bytes = self.bytes.iter().map(|(index, _)| *index);
        match buffers.chain(bytes).any(|known| known == index) {
            true => Err(Failure::usage(format!(
                "{option} {index}=…: index {index} is bound twice"
            ))),
            false => Ok(()),
        }
    }
}

/// `INDEX=REST`.
pub(super) fn split<'t>(option: &str, text: &'t str) -> Result<(u32, &'t str), Failure> {
    let parts = text.split_once('=');
    parts
        .and_then(|(index, rest)| Some((index.trim().parse().ok()?, rest)))
        .ok_or_else(|| Failure::usage(format!("{option} {text}: it starts with INDEX=")))
}

/// The contents of a buffer.
fn fill(whole: &str, text: &str) -> Result<(&'static Element, Vec<u8>), Failure> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    if !matches!(word, "zeros" | "iota" | "random") {
        return load(whole, text);
    }
    let bad = |why: String| Failure::usage(format!("--buffer {whole}: {why}")).advice(SHAPES);
    let mut parts = rest.split(':');
    let element = known(parts.next().unwrap_or("")).map_err(bad)?;
    let count = shape(parts.next().unwrap_or("")).map_err(bad)?;
    let seed = match (parts.next(), word) {
        (None, _) => 0,
        (Some(seed), "random") => seed
            .parse()
            .map_err(|_| bad(format!("`{seed}` is no seed")))?,
        (Some(extra), _) => return Err(bad(format!("`:{extra}` is too much"))),
    };
    if parts.next().is_some() {
        return Err(bad("there is too much after the seed".to_owned()));
    }
    let bytes = count.checked_mul(element.size as u64);
    let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES);
    let bytes = bytes.ok_or_else(|| bad(format!("{count} numbers are more than fit")))?;
    let mut data = vec![0; bytes as usize];
    let mut random = Random(seed);
    for (index, place) in (0..).zip(data.chunks_exact_mut(element.size)) {
        let number = match word {
            "zeros" => break,
            "iota" => element.counted(index),
            _ => element.random(random.next()),
        };
        for (to, from) in place.iter_mut().zip(number) {
            *to = from;
        }
    }
    Ok((element, data))
}

fn load(whole: &str, text: &str) -> Result<(&'static Element, Vec<u8>), Failure> {
    let path = Path::new(text);
    let npy = path.extension().is_some_and(|extension| extension == "npy");
    if !npy && !path.exists() {
        return Err(
            Failure::usage(format!("--buffer {whole}: `{text}` is no file")).advice(SHAPES),
        );
    }
    let array = Array::open(path)?;
    let element = Element::of_array(&array.descr).ok_or_else(|| {
        Failure::input(format!(
            "{text} holds `{}`, which Metal does not have",
            array.descr
        ))
        .advice("numpy's .astype('float32') makes it one Metal has")
    })?;
    Ok((element, array.data))
}

fn known(name: &str) -> Result<&'static Element, String> {
    Element::named(name).ok_or_else(|| {
        let names: Vec<&str> = ELEMENTS.iter().map(|element| element.name).collect();
        format!("`{name}` is no type; there are {}", names.join(" "))
    })
}

/// The number of elements of a shape such as `64` or `64x32`.
fn shape(text: &str) -> Result<u64, String> {
    let mut count = 1u64;
    for length in text.split('x') {
        let length: u64 = length
            .parse()
            .map_err(|_| format!("`{text}` is no shape such as 64 or 64x32"))?;
        count = count
            .checked_mul(length)
            .ok_or_else(|| format!("{text} is more than fits"))?;
    }
    Ok(count)
}

/// Values one after the other, each aligned to its size as in a C struct, whose end is aligned to the
/// largest. A value may change the type: `u32:64,32,f32:0.5`.
fn values(whole: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let bad = |why: String| {
        Failure::usage(format!("--bytes {whole}: {why}"))
            .advice("write INDEX=TYPE:VALUE[,VALUE…], as in 3=u32:64 or 3=u32:64,32,f32:0.5")
    };
    let mut bytes = Vec::new();
    let mut element = None;
    let mut largest = 1;
    for value in text.split(',') {
        let value = match value.split_once(':') {
            Some((name, value)) => {
                element = Some(known(name).map_err(bad)?);
                value
            }
            None => value,
        };
        let element: &Element = element.ok_or_else(|| bad("it has no type".to_owned()))?;
        bytes.resize(bytes.len().next_multiple_of(element.size), 0);
        bytes.extend(element.parse(value.trim()).map_err(bad)?);
        largest = largest.max(element.size);
    }
    bytes.resize(bytes.len().next_multiple_of(largest), 0);
    Ok(bytes)
}

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
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

    #[test]
    fn buffers_are_filled_as_said() {
        let bytes = |text: &str| {
            fill(text, text)
                .map(|(_, data)| data)
                .map_err(|f| f.message)
        };
        assert_eq!(bytes("zeros:f16:2x3").unwrap(), [0; 12]);
        assert_eq!(bytes("iota:u16:3").unwrap(), [0, 0, 1, 0, 2, 0]);
        assert_eq!(bytes("random:f32:9:5"), bytes("random:float:9:5"));
        assert_ne!(bytes("random:f32:9:5"), bytes("random:f32:9:6"));
        for wrong in [
            "zeros:f31:2",
            "zeros:f32:2y",
            "iota:u8:4:1",
            "zeros:f32:9999999999999",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bytes_are_laid_out_like_a_struct() {
        let bytes = |text: &str| values(text, text).map_err(|failure| failure.message);
        assert_eq!(bytes("u32:5").unwrap(), [5, 0, 0, 0]);
        assert_eq!(bytes("u16:1,2").unwrap(), [1, 0, 2, 0]);
        assert_eq!(bytes("u8:7,u32:1").unwrap(), [7, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes("u16:7,u8:1").unwrap(), [7, 0, 1, 0]);
        assert_eq!(bytes("u64:1,u32:2").unwrap().len(), 16);
        assert_eq!(bytes("u8:1,2,3").unwrap(), [1, 2, 3]);
        assert!(bytes("5").is_err());
        assert!(bytes("u8:256").is_err());
    }
}
