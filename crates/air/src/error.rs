//! What can be wrong with bitcode, and where.

use std::fmt;

/// A place in a bitcode file, counted in bits from the first byte given to the reader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BitOffset(pub u64);

impl fmt::Display for BitOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 8 {
            0 => write!(f, "byte {:#x}", self.0 / 8),
            bit => write!(f, "byte {:#x} bit {bit}", self.0 / 8),
        }
    }
}

/// Why bitcode could not be read.
///
/// ```
/// let error = assay_air::llvm::read(b"BC\xC0\xDE\x35\x14\x00\x00").unwrap_err();
/// assert!(error.to_string().contains("byte 0x8"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem} (at {at})")]
pub struct Error {
    /// Where the reader stood.
    pub at: BitOffset,
    /// What is wrong there.
    pub problem: Problem,
}

/// The kinds of damage and of things the reader does not know.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end before the structure does.
    #[error("the bitcode ends inside {0}: the file is cut off or a length in it is wrong")]
    Truncated(&'static str),
    /// The first bytes are neither bitcode nor its wrapper.
    #[error("this is not LLVM bitcode: it starts with {found:#010x}, not with 'BC' C0 DE")]
    Magic {
        /// The first four bytes, little-endian.
        found: u32,
    },
    /// A number is too large to be true.
    #[error("{what} is {value}, more than {limit}: the bitcode is damaged")]
    TooLarge {
        /// What the number counts.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest sensible value.
        limit: u64,
    },
    /// The bit stream breaks its own rules.
    #[error("damaged bit stream: {0}")]
    Stream(&'static str),
    /// A record has too few operands, or one that makes no sense.
    #[error("damaged {block} record {code}: {what}")]
    Record {
        /// The block it is in.
        block: &'static str,
        /// Its number.
        code: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A record of a kind this reader does not know and cannot skip.
    #[error("{block} record {code} is not known to this reader")]
    UnknownRecord {
        /// The block it is in.
        block: &'static str,
        /// Its number.
        code: u32,
    },
    /// An id points at nothing.
    #[error("{what} {id} does not exist")]
    Dangling {
        /// What kind of id.
        what: &'static str,
        /// The id.
        id: u64,
    },
    /// The module is well formed but holds something a Metal kernel cannot.
    #[error("{0}")]
    Unsupported(String),
}

impl Error {
    /// An error at a bit.
    pub fn new(at: u64, problem: Problem) -> Self {
        Error {
            at: BitOffset(at),
            problem,
        }
    }
}
