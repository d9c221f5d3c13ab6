//! A position in a bit stream.

use crate::error::{Error, Problem};

/// Reads numbers of any width from bytes, lowest bit first.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    /// Next bit to read, from the start of `bytes`.
    position: u64,
    /// First bit that may not be read.
    end: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor over all of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor {
            bytes,
            position: 0,
            end: bytes.len() as u64 * 8,
        }
    }

    /// The next bit to be read, from the start of the bytes.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Where reading stops.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Number of bits left.
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.end - self.position
    }

    /// Whether everything has been read.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.position >= self.end
    }

    /// Moves to a bit; the end when it lies behind it.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.end);
    }

    /// Lets reading stop at a bit; the end stays where it is if it comes earlier.
    pub fn limit(&mut self, end: u64) {
        self.end = end.min(self.bytes.len() as u64 * 8).max(self.position);
    }

    /// An error at the current position.
    #[cold]
    pub fn error(&self, problem: Problem) -> Error {
        Error::new(self.position, problem)
    }

    #[cold]
    fn truncated(&self) -> Error {
        self.error(Problem::Truncated("a number"))
    }

    /// The 64 bits from the current position on; zeros beyond the end of the bytes.
    #[inline]
    fn window(&self) -> u64 {
        let byte = (self.position >> 3) as usize;
        let word = match self.bytes.get(byte..byte + 8) {
            Some(eight) => u64::from_le_bytes(eight.try_into().unwrap_or_default()),
            None => self.last_word(byte),
        };
        word >> (self.position & 7)
    }

    #[cold]
    fn last_word(&self, byte: usize) -> u64 {
        let rest = self.bytes.get(byte..).unwrap_or_default();
        rest.iter()
            .take(8)
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    /// Reads `width` bits, at most 64; a width of zero reads nothing and gives zero.
    #[inline]
    pub fn fixed(&mut self, width: u32) -> Result<u64, Error> {
        if u64::from(width) > self.remaining() {
            return Err(self.truncated());
        }
        if width <= 56 {
            let value = self.window() & ((1 << width) - 1);
            self.position += u64::from(width);
            return Ok(value);
        }
        let low = self.window() & 0xffff_ffff;
        self.position += 32;
        let high = self.fixed(width.min(64) - 32)?;
        Ok(high << 32 | low)
    }

    /// Reads a number in variable bit rate: chunks of `width` bits (2 to 32), the top bit of each
    /// saying that another follows.
    #[inline]
    pub fn vbr(&mut self, width: u32) -> Result<u64, Error> {
        let more = 1u64 << (width - 1);
        let chunk = self.fixed(width)?;
        if chunk & more == 0 {
            return Ok(chunk);
        }
        self.long_vbr(width, chunk & (more - 1))
    }

    fn long_vbr(&mut self, width: u32, first: u64) -> Result<u64, Error> {
        let more = 1u64 << (width - 1);
        let (mut value, mut shift) = (first, width - 1);
        loop {
            let chunk = self.fixed(width)?;
            let bits = chunk & (more - 1);
            let shifted = bits.checked_shl(shift).unwrap_or(0);
            if shifted >> shift.min(63) != bits && bits != 0 {
                return Err(self.error(Problem::Stream("a number has more than 64 bits")));
            }
            value |= shifted;
            if chunk & more == 0 {
                return Ok(value);
            }
            shift += width - 1;
            if shift > 64 + 32 {
                return Err(self.error(Problem::Stream("a number has more than 64 bits")));
            }
        }
    }

    /// Moves to the next multiple of 32 bits.
    pub fn align(&mut self) -> Result<(), Error> {
        let aligned = self.position.next_multiple_of(32);
        if aligned > self.end {
            return Err(self.truncated());
        }
        self.position = aligned;
        Ok(())
    }

    /// Takes whole bytes; the position must be at a byte.
    pub fn take_bytes(&mut self, count: u64) -> Result<&'a [u8], Error> {
        if count > self.remaining() / 8 {
            return Err(self.error(Problem::Truncated("a run of bytes")));
        }
        let start = (self.position / 8) as usize;
        let bytes = self.bytes.get(start..start + count as usize);
        self.position += count * 8;
        bytes.ok_or_else(|| self.truncated())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_numbers_cross_bytes_and_words() {
        let bytes: Vec<u8> = (1..=24).collect();
        for width in 1..=64u32 {
            let mut cursor = Cursor::new(&bytes);
            let mut position = 0u64;
            while position + u64::from(width) <= 192 {
                let expected = (0..u64::from(width)).fold(0u64, |value, bit| {
                    let at = position + bit;
                    value | u64::from(bytes[at as usize / 8] >> (at % 8) & 1) << bit
                });
                assert_eq!(
                    cursor.fixed(width),
                    Ok(expected),
                    "width {width} at {position}"
                );
                position += u64::from(width);
            }
            assert!(cursor.fixed(width).is_err());
        }
    }

    #[test]
    fn vbr_reads_the_largest_number_and_refuses_a_larger_one() {
        // 13 chunks of 6 bits: 12 full ones carry 60 bits, the last four.
        let bits = |last: u64| {
            let mut stream = vec![0u8; 16];
            let chunks = (0..12).map(|_| 0x3f).chain([last]);
            for (index, chunk) in chunks.enumerate() {
                for bit in 0..6 {
                    let at = index * 6 + bit;
                    stream[at / 8] |= ((chunk >> bit & 1) as u8) << (at % 8);
                }
            }
            stream
        };
        assert_eq!(Cursor::new(&bits(0x0f)).vbr(6), Ok(u64::MAX));
        assert!(Cursor::new(&bits(0x1f)).vbr(6).is_err());
        assert!(Cursor::new(&[0xff; 40]).vbr(6).is_err());
    }
}
