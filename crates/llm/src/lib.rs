//! Language models as proposers of faster kernels, behind the same gates as everybody else.
//!
//! A model is asked with a prompt made of what the search knows, and answers with recipes or with a source. Nothing in an
//! answer is ever a command, a path or a flag: it is read as data, and what it proposes goes through the cascade of
//! [`assay_tune::session`].
//!
//! | you want | look at |
//! |---|---|
//! | a request, an answer, what can go wrong | [`chat`], [`error`] |
//! | a provider | [`provider`]: Anthropic's messages and OpenAI-compatible chat (feature `http`), a command, a script |
//! | calls that are retried, counted and recorded | [`client`], [`budget`], [`cassette`] |
//! | keys that cannot be shown | [`key`] |
//! | what models are told, and how their answers are read | [`prompt`], [`answer`], [`edits`] |
//! | all of it as a proposer of a tuning session | [`author`] |
//! | a session to look at without a model | [`demo`] |

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod answer;
pub mod author;
pub mod backoff;
pub mod budget;
pub mod cassette;
pub mod chat;
pub mod client;
pub mod demo;
pub mod edits;
pub mod error;
pub mod key;
pub mod prompt;
pub mod provider;
