//! The members of a bundle: its `index`, and small ones packed in `store0`.
//!
//! ```text
//! "xdic" u32 version | u32 buckets | u32 count | u32 capacity
//! buckets  × { u32 canonical, u32 this, u32 }
//! capacity × { u32 size, u32 packed size, u64 offset in store0, u64 kind }
//! capacity × u16 length of the name with its NUL, then the names
//! ```
//!
//! Kind 1 is a zlib stream in `store0`, kind 2 a file of its own.

use crate::error::Error;
use std::collections::BTreeMap;
use std::io::Read;

/// A packed member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    pub(crate) size: u32,
    packed: u32,
    offset: u64,
}

/// The packed members of a bundle, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pub(crate) packed: BTreeMap<String, Packed>,
}

/// Largest packed member that is unpacked. Real ones are kilobytes.
pub(crate) const LARGEST: u32 = 256 << 20;

pub(crate) fn read(bytes: &[u8]) -> Result<Index, Error> {
    let bad = |offset: usize, what: &str| Error::Capture {
        member: "index".to_owned(),
        offset: offset as u64,
        what: what.to_owned(),
    };
    if !bytes.starts_with(b"xdic") {
        return Err(bad(0, "not an index (xdic)"));
    }
    let cut = |offset: usize| bad(offset, "the index is cut short");
    let word = |offset: usize| u32_at(bytes, offset).ok_or_else(|| cut(offset));
    let (buckets, capacity) = (word(8)? as usize, word(16)? as usize);
    let entries = buckets
        .checked_mul(12)
        .and_then(|size| size.checked_add(20))
        .ok_or_else(|| bad(8, "the index claims too many buckets"))?;
    let lengths = capacity
        .checked_mul(24)
        .and_then(|size| size.checked_add(entries))
        .ok_or_else(|| bad(16, "the index claims too many members"))?;
    let names = capacity
        .checked_mul(2)
        .and_then(|size| size.checked_add(lengths))
        .filter(|&names| names <= bytes.len())
        .ok_or_else(|| bad(16, "the index claims more members than it has room for"))?;
    let mut index = Index::default();
    let mut name_at = names;
    for member in 0..capacity {
        let entry = entries + member * 24;
        let length = u16_at(bytes, lengths + member * 2).ok_or_else(|| cut(lengths))? as usize;
        let raw = bytes
            .get(name_at..name_at + length)
            .ok_or_else(|| cut(name_at))?;
        name_at += length;
        let name = raw.split(|&byte| byte == 0).next().unwrap_or(&[]);
        let kind = u64_at(bytes, entry + 16).ok_or_else(|| cut(entry))?;
        if kind == 1 && !name.is_empty() {
            let packed = Packed {
                size: word(entry)?,
                packed: word(entry + 4)?,
                offset: u64_at(bytes, entry + 8).ok_or_else(|| cut(entry))?,
            };
            index
                .packed
                .insert(String::from_utf8_lossy(name).into_owned(), packed);
        }
    }
    Ok(index)
}

/// Unpacks a member. What it unpacks to must have the size the index says.
pub(crate) fn unpack(store: &[u8], name: &str, member: Packed) -> Result<Vec<u8>, Error> {
    let bad = |what: String| Error::Capture {
        member: name.to_owned(),
        offset: member.offset,
        what,
    };
    if member.size > LARGEST {
        return Err(bad(format!(
            "claims {} bytes, more than the {LARGEST} accepted",
            member.size
        )));
    }
    let start = usize::try_from(member.offset).ok();
    let end = start.and_then(|start| start.checked_add(member.packed as usize));
    let stream = start
        .zip(end)
        .and_then(|(start, end)| store.get(start..end))
        .ok_or_else(|| bad("lies outside store0".to_owned()))?;
    let mut out = Vec::new();
    let limit = u64::from(member.size) + 1;
    flate2::read::ZlibDecoder::new(stream)
        .take(limit)
        .read_to_end(&mut out)
        .map_err(|error| bad(format!("cannot be unpacked: {error}")))?;
    if out.len() != member.size as usize {
        return Err(bad(format!(
            "unpacks to {} bytes where the index says {}",
            if out.len() as u64 == limit {
                "more".to_owned()
            } else {
                out.len().to_string()
            },
            member.size
        )));
    }
    Ok(out)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
