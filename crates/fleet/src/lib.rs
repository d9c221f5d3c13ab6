//! Kernels examined on other machines.
//!
//! A [`Job`] is a question: a command line of `assay` that may only compile and run kernels ([`allow`] is the table), the
//! files it names as bytes, and where it is to run (a *pool*: `m2`, `cpu`). An [`Answer`] is what a worker says: the
//! command's output, verified runs for the board, or a named failure. Both travel over NATS JetStream, which keeps
//! them; a job that is delivered twice has one answer, because the server takes the first for each job and refuses others.
//!
//! - [`Job::key`] is the question without who asks and when: the same key has the same answer, for everyone.
//! - [`Signed`] is a job with the signature of its submitter; [`Trust`] is whom a worker believes. [`SignedAnswer`] and
//!   [`Roster`] are the same the other way round.
//! - [`names`] has subjects and streams, [`roles`] who may use which, as a configuration of the server.
//! - With the feature `nats`: `Fleet` connects, submits and looks; `Worker` takes jobs.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod allow;
mod answer;
mod job;
pub mod names;
pub mod roles;
mod sign;

#[cfg(feature = "nats")]
mod nats;

pub use answer::{Answer, Ending, Machine};
pub use job::{Input, Job, Priority, RESERVED, Refusal};
#[cfg(feature = "nats")]
pub use nats::{
    Access, Error, Event, Fleet, Lane, Outstanding, Overview, Progress, Runner, Running, Stop,
    Submission, Worker, WorkerOptions, WorkerState,
};
pub use sign::{Key, Roster, Signed, SignedAnswer, Trust};

/// What submitters and workers must have in common. It is part of every subject: programs of another protocol do not
/// see each other's jobs.
pub const PROTOCOL: u32 = 2;

/// Returns true if a job of one version may be run by another: the first two numbers are the same.
///
/// ```
/// assert!(assay_fleet::compatible("0.1.0", "0.1.9"));
/// assert!(!assay_fleet::compatible("0.1.0", "0.2.0"));
/// ```
pub fn compatible(submitter: &str, worker: &str) -> bool {
    let series = |version: &str| {
        let mut numbers = version.split('.').map(str::to_owned);
        (numbers.next(), numbers.next())
    };
    series(submitter) == series(worker)
}
