//! What can go wrong with a call, and what to do about it.

use std::time::Duration;

/// Why a call has no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no way to the provider.
    #[error("{provider} cannot be reached: {why}")]
    Unreachable {
        /// The provider.
        provider: String,
        /// What the system says.
        why: String,
    },
    /// The provider has no capacity now (429, 5xx, overloaded).
    #[error("{provider} has no capacity now (status {status}): {why}")]
    Busy {
        /// The provider.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// Its words.
        why: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The provider refuses the request: another key, model or address is needed.
    #[error("{provider} refuses the request (status {status}): {why}")]
    Refused {
        /// The provider.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// Its words.
        why: String,
    },
    /// Nothing came for too long.
    #[error("{provider} did not answer for {seconds} s")]
    TimedOut {
        /// The provider.
        provider: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The connection ended in the middle of the answer.
    #[error("the connection to {provider} ended in the middle of the answer")]
    Interrupted {
        /// The provider.
        provider: String,
    },
    /// The answer reached its limit of tokens, so its end is missing.
    #[error("the answer was cut at its limit of {limit} tokens")]
    Cut {
        /// The limit.
        limit: u32,
    },
    /// The answer is longer than any answer can be.
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// The model declines to answer.
    #[error("the model declines to answer: {why}")]
    Declined {
        /// Its reason.
        why: String,
    },
    /// What came is not what the protocol says.
    #[error("{provider} sent what is no answer: {why}")]
    Malformed {
        /// The provider.
        provider: String,
        /// What is wrong.
        why: String,
    },
    /// A provider that counts more tokens than there can be.
    #[error("{provider} reports {reported} tokens for a call that cannot have more than {most}")]
    Implausible {
        /// The provider.
        provider: String,
        /// What it reports.
        reported: u64,
        /// What was reserved.
        most: u64,
    },
    /// A cassette without this request.
    #[error("the cassette {cassette} has no answer for request {request}")]
    NotRecorded {
        /// The cassette.
        cassette: String,
        /// The request's fingerprint.
        request: String,
    },
    /// A command that failed.
    #[error("the command {command} failed: {why}")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        why: String,
    },
    /// What is left of a budget is not enough.
    #[error("{0}")]
    Budget(#[from] crate::budget::Exhausted),
    /// Somebody wants it to end.
    #[error("interrupted")]
    Stopped,
}

impl Error {
    /// Returns true if asking again may help.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Unreachable { .. }
                | Error::Busy { .. }
                | Error::TimedOut { .. }
                | Error::Interrupted { .. }
        )
    }

    /// Returns true if the model, and not the way to it, is to blame: such an answer is recorded, and the model told.
    pub fn is_the_models(&self) -> bool {
        matches!(
            self,
            Error::Cut { .. }
                | Error::TooLong { .. }
                | Error::Declined { .. }
                | Error::Malformed { .. }
        )
    }

    /// Returns true if tokens may have been spent although nothing usable came.
    pub fn may_have_spent(&self) -> bool {
        matches!(
            self,
            Error::TimedOut { .. }
                | Error::Interrupted { .. }
                | Error::Cut { .. }
                | Error::TooLong { .. }
                | Error::Declined { .. }
                | Error::Malformed { .. }
                | Error::Implausible { .. }
        )
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Error::Unreachable { .. } => Some(
                "check the address (--llm-url), the network and HTTPS_PROXY; --resume continues",
            ),
            Error::Refused {
                status: 401 | 403, ..
            } => Some("check the key: ANTHROPIC_API_KEY, OPENAI_API_KEY or --llm-key-file"),
            Error::Refused { status: 404, .. } => Some("check the model's name and --llm-url"),
            Error::Refused { .. } => Some(
                "check the model's name; --llm-plain leaves out the answer's schema, which some servers refuse",
            ),
            Error::Busy { .. } | Error::TimedOut { .. } | Error::Interrupted { .. } => {
                Some("--resume continues where it ended")
            }
            Error::NotRecorded { .. } => Some(
                "a cassette answers only what was asked when it was recorded: the same kernel, launch, flags and version",
            ),
            _ => None,
        }
    }
}
