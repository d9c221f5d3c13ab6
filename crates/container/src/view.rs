//! Bounds-checked reading that remembers where in the file it is.

use crate::error::{Error, Problem};

/// A stretch of the file: its bytes, and the offset of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    bytes: &'a [u8],
    base: u64,
}

impl<'a> View<'a> {
    /// The whole file.
    pub fn new(bytes: &'a [u8]) -> Self {
        View { bytes, base: 0 }
    }

    /// The bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The offset in the file of the byte at `at`.
    pub fn offset(&self, at: u64) -> u64 {
        self.base.saturating_add(at)
    }

    /// Where in the file this stretch lies.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.base..self.offset(self.len())
    }

    /// The `length` bytes at `at`.
    pub fn slice(&self, at: u64, length: u64, what: &'static str) -> Result<View<'a>, Error> {
        self.get(at, length).ok_or_else(|| {
            Error::new(
                self.offset(at.min(self.len())),
                Problem::Truncated {
                    what,
                    needed: length,
                    available: self.len().saturating_sub(at),
                },
            )
        })
    }

    /// A part whose position the file states: the error names the claim.
    /// `stated_at` is where the claim is written.
    pub(crate) fn part(
        &self,
        start: u64,
        length: u64,
        stated_at: u64,
        what: impl FnOnce() -> String,
    ) -> Result<View<'a>, Error> {
        self.get(start, length).ok_or_else(|| {
            Error::new(
                stated_at,
                Problem::OutOfBounds {
                    what: what(),
                    start: self.offset(start),
                    length,
                    end: self.offset(self.len()),
                },
            )
        })
    }

    /// From `at` to the end.
    pub(crate) fn tail(&self, at: u64, what: &'static str) -> Result<View<'a>, Error> {
        let rest = self.len().checked_sub(at);
        self.slice(at, rest.unwrap_or(1), what)
    }

    fn get(&self, at: u64, length: u64) -> Option<View<'a>> {
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        Some(View {
            bytes: self.bytes.get(start..end)?,
            base: self.base.checked_add(at)?,
        })
    }

    fn array<const N: usize>(&self, at: u64, what: &'static str) -> Result<&'a [u8; N], Error> {
        let found = self.slice(at, N as u64, what)?;
        found.bytes.first_chunk().ok_or_else(|| {
            Error::malformed(self.offset(at), format!("{what} is not {N} bytes long"))
        })
    }

    pub(crate) fn four(&self, at: u64, what: &'static str) -> Result<&'a [u8; 4], Error> {
        self.array(at, what)
    }

    pub(crate) fn u8(&self, at: u64, what: &'static str) -> Result<u8, Error> {
        self.array::<1>(at, what).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&self, at: u64, what: &'static str) -> Result<u16, Error> {
        self.array(at, what).map(|bytes| u16::from_le_bytes(*bytes))
    }

    pub(crate) fn u32(&self, at: u64, what: &'static str) -> Result<u32, Error> {
        self.array(at, what).map(|bytes| u32::from_le_bytes(*bytes))
    }

    pub(crate) fn u32_be(&self, at: u64, what: &'static str) -> Result<u32, Error> {
        self.array(at, what).map(|bytes| u32::from_be_bytes(*bytes))
    }

    pub(crate) fn u64(&self, at: u64, what: &'static str) -> Result<u64, Error> {
        self.array(at, what).map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// Bytes up to the first NUL, or all of them.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)
}
