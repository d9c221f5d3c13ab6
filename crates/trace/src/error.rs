//! What can be wrong with a recording.

use serde::Serialize;

/// Why an input cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes could not be had.
    #[error("cannot read: {0}")]
    Read(String),
    /// A result could not be written.
    #[error("cannot write: {what}")]
    Write {
        /// Of which kind: a reader that has seen enough closes its pipe.
        kind: std::io::ErrorKind,
        /// What is wrong.
        what: String,
    },
    /// Not well-formed XML.
    #[error("not well-formed XML at byte {offset}: {what}")]
    Xml {
        /// Where.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// XML of another kind.
    #[error(
        "this XML is not an xctrace export: its document element is <{root}>, not <trace-query-result> or <trace-toc>"
    )]
    NotAnExport {
        /// The document element.
        root: String,
        /// Where it stands.
        offset: u64,
    },
    /// A document type definition, which exports never have and which can hide
    /// entities that expand without end.
    #[error("a DOCTYPE at byte {offset}: exports have none, so this file is refused")]
    Doctype {
        /// Where.
        offset: u64,
    },
    /// The file ends where nothing can be made of it.
    #[error("the file ends {what}, at byte {offset}")]
    Truncated {
        /// Where.
        offset: u64,
        /// In the middle of what.
        what: &'static str,
    },
    /// A row or header beyond any reasonable size.
    #[error("a row or header longer than {limit} bytes at byte {offset}")]
    PieceTooLong {
        /// Where it starts.
        offset: u64,
        /// The limit.
        limit: usize,
    },
    /// A definition was not kept by the two-pass reader; reading again helps.
    #[error("a reference the first pass did not see")]
    NotKept,
    /// Neither an export, nor a capture, nor a timing recording.
    #[error("not a trace: {0}")]
    Unrecognised(String),
    /// Something in a `.gputrace` bundle.
    #[error("{member}: {what} at byte {offset}")]
    Capture {
        /// The member file.
        member: String,
        /// Where in it.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// No process of that name.
    #[error("no process named {name} in this recording")]
    NoSuchProcess {
        /// The name asked for.
        name: String,
        /// Processes that used the GPU, busiest first.
        known: Vec<String>,
    },
    /// The inputs do not belong together.
    #[error("{0}")]
    Inconsistent(String),
}

/// Something wrong that did not prevent reading the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Where, in bytes (of the decompressed file).
    pub offset: Option<u64>,
    /// What, and what was done about it.
    pub message: String,
}

impl Error {
    /// A result could not be written.
    pub(crate) fn write(error: &std::io::Error) -> Error {
        Error::Write {
            kind: error.kind(),
            what: error.to_string(),
        }
    }
}
