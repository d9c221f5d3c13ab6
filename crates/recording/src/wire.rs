//! Fields of records: variable-length numbers and bytes.

use crate::error::Error;

/// Appends a number: seven bits a byte, the lowest first.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes with their length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends the difference of two times, small either way.
pub(crate) fn put_difference(out: &mut Vec<u8>, before: u64, now: u64) {
    let difference = now.wrapping_sub(before) as i64;
    put(out, (difference << 1 ^ difference >> 63) as u64);
}

/// Reads the fields of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The offset of `bytes` in the file.
    start: u64,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8], start: u64) -> Self {
        Fields {
            bytes,
            at: 0,
            start,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error about what comes next.
    pub(crate) fn damaged(&self, what: &'static str) -> Error {
        Error::Damaged {
            offset: self.start + self.at as u64,
            what,
        }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        let byte = self.bytes.get(self.at).copied();
        let byte = byte.ok_or_else(|| self.damaged("a record ends too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Error> {
        let mut value = 0u64;
        for place in 0..10 {
            let byte = self.byte()?;
            if place == 9 && byte > 1 {
                return Err(self.damaged("a number of more than 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged("a number without an end"))
    }

    pub(crate) fn small(&mut self) -> Result<u32, Error> {
        let value = self.number()?;
        u32::try_from(value).map_err(|_| self.damaged("a number of more than 32 bits"))
    }

    pub(crate) fn triple(&mut self) -> Result<[u32; 3], Error> {
        Ok([self.small()?, self.small()?, self.small()?])
    }

    pub(crate) fn difference(&mut self, before: u64) -> Result<u64, Error> {
        let value = self.number()?;
        let difference = (value >> 1) as i64 ^ -((value & 1) as i64);
        Ok(before.wrapping_add(difference as u64))
    }

    /// So many bytes, which are there: a length is never believed before.
    pub(crate) fn take(&mut self, count: u64) -> Result<&'a [u8], Error> {
        let end = usize::try_from(count)
            .ok()
            .and_then(|count| self.at.checked_add(count));
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or_else(|| self.damaged("a field is longer than what is left"))?;
        self.at += found.len();
        Ok(found)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let count = self.number()?;
        self.take(count)
    }

    /// How many elements follow: each takes a byte at least.
    pub(crate) fn count(&mut self) -> Result<usize, Error> {
        let count = self.number()?;
        match count <= (self.bytes.len() - self.at) as u64 {
            true => Ok(count as usize),
            false => Err(self.damaged("more elements than bytes are left")),
        }
    }

    /// The fields of a part of so many bytes.
    pub(crate) fn part(&mut self, count: u64) -> Result<Fields<'a>, Error> {
        let start = self.start + self.at as u64;
        Ok(Fields::new(self.take(count)?, start))
    }

    pub(crate) fn ends(&self) -> Result<(), Error> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self.damaged("a record is longer than its fields")),
        }
    }
}

/// The checksum of a frame: FNV-1a of 64 bits, folded.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_differences_are_read_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            put_difference(&mut out, 1000, value);
            let mut fields = Fields::new(&out, 0);
            assert_eq!(fields.number().unwrap(), value);
            assert_eq!(fields.difference(1000).unwrap(), value);
            assert!(fields.is_empty());
        }
    }
}
