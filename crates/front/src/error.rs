//! Everything that can go wrong between the bytes of a file and an optimised program.

use crate::compiler::CompilerError;
use assay_air::LowerError;
use assay_container::listing::ListingError;
use assay_opt::inline_calls::InlineError;

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no file we know, or a damaged one.
    #[error(transparent)]
    Container(#[from] assay_container::Error),
    /// A text that starts like a listing and does not go on like one.
    #[error(transparent)]
    Listing(#[from] ListingError),
    /// Bitcode that cannot be read, so that its kernels are not known.
    #[error("{0}")]
    Bitcode(assay_air::Error),
    /// Source without bitcode.
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    /// Bitcode or source that declares no kernels.
    #[error("it declares no kernels")]
    NoKernels,
    /// A container without kernels.
    #[error("{what} without kernels")]
    WithoutKernels {
        /// What the file is.
        what: &'static str,
    },
    /// There is no kernel of this name.
    #[error("there is no kernel named {wanted}")]
    NoKernel {
        /// The name.
        wanted: String,
        /// The names there are.
        names: Vec<String>,
    },
    /// A value for a function constant that no kernel has.
    #[error("there is no function constant {key}")]
    NoConstant {
        /// As it was named.
        key: String,
        /// Number and name of those there are.
        known: Vec<String>,
    },
    /// One kernel cannot be used.
    #[error("{}{problem}", of_kernel(.kernel))]
    Kernel {
        /// Its name; empty for all kernels of a module.
        kernel: String,
        /// What is in the way.
        problem: Problem,
    },
}

/// Why a kernel has no program.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Its bitcode cannot be read.
    #[error("{0}")]
    Bitcode(assay_air::Error),
    /// Its bitcode is empty.
    #[error("its bitcode holds no module")]
    NoModule,
    /// The module that should hold it does not.
    #[error("its module does not describe it as a kernel")]
    NotAKernel,
    /// It cannot be brought into the program form.
    #[error("{0}")]
    Lower(LowerError),
    /// Its program breaks a rule of the program form.
    #[error("{rule}")]
    Invalid {
        /// The rule.
        rule: String,
    },
    /// Its calls cannot be inlined.
    #[error("{0}")]
    Inline(InlineError),
}

/// Whose mistake an error is, which decides the exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The file.
    Input,
    /// What was asked of it.
    Usage,
    /// Something this machine does not have.
    Missing,
}

impl Error {
    /// Whose mistake it is.
    pub fn blame(&self) -> Blame {
        match self {
            Error::NoKernel { .. } | Error::NoConstant { .. } => Blame::Usage,
            Error::Compiler(CompilerError::Missing { .. }) => Blame::Missing,
            Error::Compiler(CompilerError::Failed(error)) => match error {
                assay_msl::Error::Source(_) => Blame::Input,
                _ => Blame::Missing,
            },
            _ => Blame::Input,
        }
    }

    /// What the user can do about it, where there is something to do.
    pub fn advice(&self) -> Option<String> {
        const READS: &str =
            "this command reads Metal source, metallibs and LLVM bitcode with Metal kernels";
        match self {
            Error::Container(error) => error.advice().map(str::to_owned),
            Error::Compiler(CompilerError::Missing { advice, .. }) => advice.clone(),
            Error::Compiler(CompilerError::OtherStages { .. }) => {
                Some("only compute kernels are looked at".to_owned())
            }
            Error::NoKernels | Error::WithoutKernels { .. } => Some(READS.to_owned()),
            Error::NoConstant { known, .. } if known.is_empty() => {
                Some("this kernel has none".to_owned())
            }
            Error::NoConstant { known, .. } => Some(format!("there are {}", known.join(", "))),
            _ => None,
        }
    }
}

fn of_kernel(kernel: &str) -> String {
    match kernel {
        "" => String::new(),
        name => format!("kernel {name}: "),
    }
}
