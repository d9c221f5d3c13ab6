//! Why a kernel cannot be generated.

/// Why, and where in the source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}{}", at(.file, *.line))]
pub struct Error {
    /// What is the matter.
    pub kind: ErrorKind,
    /// Source file, when known.
    pub file: Option<String>,
    /// Line from 1; 0 when unknown.
    pub line: u32,
}

/// What [`ErrorKind::TooLarge`] names when a kernel declares more threadgroup memory than
/// Apple's GPUs have: Metal makes no pipeline of such a kernel.
pub const THREADGROUP_MEMORY: &str = "bytes of threadgroup memory";

/// What is the matter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module has no such kernel.
    #[error("there is no kernel `{0}`")]
    NoKernel(String),
    /// A construct that has no machine code yet; the name groups kernels by reason.
    #[error("{0} cannot be generated yet")]
    Unsupported(String),
    /// More than a machine resource holds.
    #[error("the kernel needs {needed} {what}, there are {available}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many it needs.
        needed: u64,
        /// How many there are.
        available: u64,
    },
    /// The generator made something it should not have: a bug of ours.
    #[error("internal: {0}")]
    Internal(String),
}

fn at(file: &Option<String>, line: u32) -> String {
    match file {
        Some(file) if line != 0 => format!(" ({file}:{line})"),
        _ => String::new(),
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error {
            kind,
            file: None,
            line: 0,
        }
    }
}
