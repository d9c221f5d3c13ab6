//! MTSP: the stream of recorded calls in a capture.
//!
//! ```text
//! file    "MTSP" u32 version, then records
//! record  u32 length (with this header) | i32 selector | 24 bytes | u32 flags |
//!         signature (C string) | arguments | [return value] | [backtrace]
//! ```
//!
//! The signature spells the arguments: `C` receiver, `t` object, `ul` `uw` `l` `w`
//! 64-bit numbers, `ui` `i` 32-bit ones, `b` a byte, `S` a string, `U` the name of a
//! member, `@3ul` three numbers, `<b>` nothing. Numbers are aligned to four bytes,
//! strings are not.

use crate::error::Error;

/// Bit of the flags: a return value follows the arguments.
const RETURNS: u32 = 0x1;
const HEADER: usize = 36;

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// An object.
    Object(u64),
    /// A number.
    Number(u64),
    /// A string or member name.
    Text(String),
    /// Three numbers.
    Size([u64; 3]),
}

/// A recorded call.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    /// Where in the stream.
    pub(crate) offset: usize,
    pub(crate) selector: u32,
    pub(crate) flags: u32,
    pub(crate) signature: &'a str,
    body: &'a [u8],
}

/// What a call was given and what it returned, as far as its signature is understood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) arguments: Vec<Argument>,
    pub(crate) returned: Option<u64>,
}

impl Call {
    pub(crate) fn object(&self, index: usize) -> Option<u64> {
        match self.arguments.get(index)? {
            Argument::Object(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn number(&self, index: usize) -> Option<u64> {
        match self.arguments.get(index)? {
            Argument::Number(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, index: usize) -> Option<&str> {
        match self.arguments.get(index)? {
            Argument::Text(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn size(&self, index: usize) -> Option<[u64; 3]> {
        match self.arguments.get(index)? {
            Argument::Size(value) => Some(*value),
            _ => None,
        }
    }
}

/// The records of a stream. Ends at the first record that makes no sense, with an error.
pub(crate) struct Records<'a> {
    member: &'a str,
    bytes: &'a [u8],
    at: usize,
}

/// Begins reading a stream.
pub(crate) fn records<'a>(member: &'a str, bytes: &'a [u8]) -> Result<Records<'a>, Error> {
    if !bytes.starts_with(b"MTSP") || bytes.len() < 8 {
        return Err(fail(member, 0, "not a stream of calls (MTSP)"));
    }
    Ok(Records {
        member,
        bytes,
        at: 8,
    })
}

fn fail(member: &str, offset: usize, what: &str) -> Error {
    Error::Capture {
        member: member.to_owned(),
        offset: offset as u64,
        what: what.to_owned(),
    }
}

impl<'a> Records<'a> {
    fn read(&self) -> Result<(Record<'a>, usize), Error> {
        let at = self.at;
        let bad = |what: &str| fail(self.member, at, what);
        let word = |offset: usize| u32_at(self.bytes, at + offset);
        let length = word(0).ok_or_else(|| bad("a cut record"))? as usize;
        let end = at
            .checked_add(length)
            .filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| bad("a record longer than the file"))?;
        if length < HEADER + 1 {
            return Err(bad("a record shorter than its header"));
        }
        let rest = self.bytes.get(at + HEADER..end).unwrap_or(&[]);
        let nul = memchr::memchr(0, rest).ok_or_else(|| bad("a signature without end"))?;
        let signature = std::str::from_utf8(rest.get(..nul).unwrap_or(&[]))
            .map_err(|_| bad("a signature that is not text"))?;
        // Alignment counts from the start of the record.
        let body = (HEADER + nul + 1).next_multiple_of(4).min(length);
        let record = Record {
            offset: at,
            selector: word(4).unwrap_or(0),
            flags: word(32).unwrap_or(0),
            signature,
            body: self.bytes.get(at + body..end).unwrap_or(&[]),
        };
        Ok((record, end))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        Some(match self.read() {
            Ok((record, end)) => {
                self.at = end;
                Ok(record)
            }
            Err(error) => {
                self.at = self.bytes.len();
                Err(error)
            }
        })
    }
}

impl Record<'_> {
    /// The arguments. Those behind a part of the signature that is not understood,
    /// or behind the end of the record, are left out.
    pub(crate) fn call(&self) -> Call {
        let mut cursor = Cursor {
            bytes: self.body,
            at: 0,
        };
        let mut call = Call::default();
        let complete = cursor.arguments(self.signature, &mut call.arguments);
        if complete.is_some() && self.flags & RETURNS != 0 {
            call.returned = cursor.returned();
        }
        call
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn arguments(&mut self, signature: &str, out: &mut Vec<Argument>) -> Option<()> {
        let mut rest = signature;
        while !rest.is_empty() {
            let (token, next) = token(rest)?;
            rest = next;
            out.push(match token {
                "C" | "t" => Argument::Object(self.u64()?),
                "ul" | "uw" | "l" | "w" => Argument::Number(self.u64()?),
                "ui" | "i" => Argument::Number(u64::from(self.u32()?)),
                "b" => Argument::Number(u64::from(self.byte()?)),
                "S" | "U" => Argument::Text(self.text()?),
                "@3ul" => Argument::Size([self.u64()?, self.u64()?, self.u64()?]),
                "<b>" => continue,
                _ => return None,
            });
        }
        Some(())
    }

    /// A return value is its type as a string, then the value.
    fn returned(&mut self) -> Option<u64> {
        self.align();
        let kind = self.text()?;
        (kind == "t").then(|| self.u64()).flatten()
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(4);
    }

    fn u32(&mut self) -> Option<u32> {
        self.align();
        let value = u32_at(self.bytes, self.at)?;
        self.at += 4;
        Some(value)
    }

    fn u64(&mut self) -> Option<u64> {
        let low = u64::from(self.u32()?);
        let high = u64::from(self.u32()?);
        Some(high << 32 | low)
    }

    fn byte(&mut self) -> Option<u8> {
        let value = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(value)
    }

    fn text(&mut self) -> Option<String> {
        let rest = self.bytes.get(self.at..)?;
        let end = memchr::memchr(0, rest)?;
        self.at += end + 1;
        Some(String::from_utf8_lossy(rest.get(..end)?).into_owned())
    }
}

/// The first token of a signature, and what follows it.
fn token(signature: &str) -> Option<(&str, &str)> {
    let length = match signature.as_bytes() {
        [b'@', b'3', b'u', b'l', ..] => 4,
        [b'<', ..] => signature.find('>')? + 1,
        [b'u', b'l' | b'w' | b'i', ..] => 2,
        [_, ..] => 1,
        [] => return None,
    };
    Some((signature.get(..length)?, signature.get(length..)?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
