//! The database of attempts: everything that was tried, in one SQLite file.
//!
//! A *session* is one search. Its *attempts* are numbered and have parents; each has a *prediction* or a *failure*, may
//! have been *verified* and *measured*, and the session ends with a *decision*. Predictions are kept by the fingerprint of
//! program, geometry, chip and model, proofs by program and source, so other sessions find them again.
//!
//! Every write is one transaction, which is there whole or not at all whenever the program ends. Several sessions may
//! write at once.

mod calls;
mod error;
mod evaluation;
mod query;
mod records;
mod schema;
mod shared;
mod store;
pub mod view;
mod write;

pub use calls::{Call, Hypothesis, ModelRow, ProposalRow};
pub use error::Error;
pub use evaluation::Turn;
pub use query::{Filter, Listed, Proven, SessionRow};
pub use records::{
    Attempt, Decision, Failure, Genome, Geometry, Measurement, Outcome, Phase, Prediction, Stage,
    Verified,
};
pub use shared::Proof;
pub use store::Database;
pub use write::{NewSession, SessionId};
