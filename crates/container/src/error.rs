//! What can be wrong with a file: what, where, and what to do about it.

use std::fmt;

/// A file, or a part of one, could not be read.
///
/// The offset is counted from the start of the bytes given to the reader, also
/// for parts nested inside other parts, so that it can be looked up in a hex dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at offset {offset:#x})")]
pub struct Error {
    /// Where in the file.
    pub offset: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end before the thing does.
    Truncated {
        /// The thing that was being read.
        what: &'static str,
        /// How many bytes it has.
        needed: u64,
        /// How many bytes there are.
        available: u64,
    },
    /// A part claims to lie where it cannot.
    OutOfBounds {
        /// The part.
        what: String,
        /// Where it claims to start.
        start: u64,
        /// How long it claims to be.
        length: u64,
        /// Where the enclosing part ends.
        end: u64,
    },
    /// Two parts claim the same bytes.
    Overlap {
        /// One part.
        first: String,
        /// The other part.
        second: String,
    },
    /// A structure breaks its own rules.
    Malformed(String),
    /// More of something than any real file has.
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many the file claims.
        count: u64,
        /// How many are read at most.
        limit: u64,
    },
    /// A well-formed file without the thing asked for.
    Missing(String),
    /// Code for a GPU whose instructions cannot be decoded.
    Undecodable {
        /// The GPU, as named in the file.
        gpu: String,
    },
    /// None of the formats this crate knows.
    Unrecognised {
        /// What the file seems to be, if that is known.
        seems: Option<&'static str>,
    },
}

impl Error {
    pub(crate) fn new(offset: u64, problem: Problem) -> Self {
        Error { offset, problem }
    }

    pub(crate) fn malformed(offset: u64, message: impl Into<String>) -> Self {
        Error::new(offset, Problem::Malformed(message.into()))
    }

    pub(crate) fn missing(offset: u64, message: impl Into<String>) -> Self {
        Error::new(offset, Problem::Missing(message.into()))
    }

    /// What the user can do about it, where there is something to do.
    pub fn advice(&self) -> Option<&'static str> {
        match &self.problem {
            Problem::Truncated { .. } | Problem::OutOfBounds { .. } => {
                Some("the file looks cut short or damaged: copy or build it again")
            }
            Problem::Undecodable { .. } => Some(UNDECODABLE_ADVICE),
            Problem::Unrecognised { .. } => Some(
                "give a .metallib, a Metal binary archive or .gpubin, LLVM bitcode, \
                 Metal source, or raw AGX code",
            ),
            _ => None,
        }
    }
}

/// What to do with code for a GPU newer (or older) than the instruction tables.
pub(crate) const UNDECODABLE_ADVICE: &str = "code for G13 to G17 (M1 to M4, A14 to A18) can be decoded; on a Mac, \
     `xcrun metal-tt -arch applegpu_g13g -o out.gpubin pipelines.mtlp-json lib.metallib` \
     compiles the same kernel for such a GPU";

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Truncated {
                what,
                needed,
                available,
            } => write!(
                f,
                "truncated: {what} needs {needed} bytes, {available} are left"
            ),
            Problem::OutOfBounds {
                what,
                start,
                length,
                end,
            } => write!(
                f,
                "{what} claims {length} bytes from {start:#x}, beyond the end at {end:#x}"
            ),
            Problem::Overlap { first, second } => write!(f, "{first} and {second} overlap"),
            Problem::Malformed(message) | Problem::Missing(message) => f.write_str(message),
            Problem::TooMany { what, count, limit } => {
                write!(f, "{count} {what}, more than the {limit} any real file has")
            }
            Problem::Undecodable { gpu } => {
                write!(f, "code for {gpu}, whose instructions cannot be decoded")
            }
            Problem::Unrecognised { seems: Some(seems) } => {
                write!(f, "not an Apple GPU file: this seems to be {seems}")
            }
            Problem::Unrecognised { seems: None } => {
                write!(f, "not an Apple GPU file of any known format")
            }
        }
    }
}
