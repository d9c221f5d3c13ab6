//! What a worker says to a job.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An answer. For every job there is one in the end, however often it was delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The job; for what was known before, the job that was run for it.
    pub job: String,
    /// The job that this is the answer of.
    pub asked: String,
    /// Who asked.
    pub submitter: String,
    /// The question: [`crate::Job::key`].
    pub key: String,
    /// How it ended.
    pub ending: Ending,
    /// The machine.
    pub machine: Machine,
    /// Seconds that the machine worked on it.
    pub seconds: f64,
    /// How often it was delivered.
    pub deliveries: u64,
    /// True if it was known from another job.
    #[serde(default)]
    pub cached: bool,
    /// The object that has `ending`'s texts, where they are large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

impl Answer {
    /// What is shown in the place of an answer that is not believed.
    pub fn disbelieved(job: &str, submitter: &str, why: String) -> Answer {
        Answer {
            job: job.to_owned(),
            asked: job.to_owned(),
            submitter: submitter.to_owned(),
            key: String::new(),
            ending: Ending::Refused {
                why,
                advice: "ask who runs the fleet: somebody may have answered in a worker's place, or workers.txt is old"
                    .to_owned(),
            },
            machine: Machine::default(),
            seconds: 0.0,
            deliveries: 0,
            cached: false,
            object: None,
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Ending {
    /// The command ran.
    Done {
        /// Its exit code.
        code: u8,
        /// What it printed.
        output: String,
        /// The document `assay.error`, if it failed.
        error: Option<String>,
        /// Verified runs, for the board.
        outcomes: String,
    },
    /// It was not run: it is no job, or nobody knows who sent it.
    Refused {
        /// Why.
        why: String,
        /// What to do about it.
        advice: String,
    },
    /// Whoever submitted it no longer wants it.
    Cancelled,
    /// It took longer than it may.
    TimedOut {
        /// What it may.
        seconds: u64,
    },
    /// Its process ended without an answer, or its worker did, as often as is tried.
    GaveUp {
        /// What happened last, where somebody is left who knows.
        why: String,
        /// How often it was tried.
        deliveries: u64,
    },
}

impl Ending {
    /// The word for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done { .. } => "done",
            Self::Refused { .. } => "refused",
            Self::Cancelled => "cancelled",
            Self::TimedOut { .. } => "timed-out",
            Self::GaveUp { .. } => "gave-up",
        }
    }

    /// Returns true if the same question would be answered the same again.
    pub fn is_lasting(&self) -> bool {
        // What needed something that a machine lacks, or was stopped, says nothing about the kernel.
        matches!(self, Self::Done { code, .. } if *code <= 1)
    }

    /// What went wrong, for people; `None` for a command that ran.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Done { .. } => None,
            Self::Refused { why, .. } => Some(format!("refused: {why}")),
            Self::Cancelled => Some("cancelled".to_owned()),
            Self::TimedOut { seconds } => Some(format!("it took longer than {seconds} s")),
            Self::GaveUp { why, deliveries } => {
                Some(format!("given up after {deliveries} deliveries: {why}"))
            }
        }
    }
}

/// What a worker is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The worker's name.
    pub worker: String,
    /// `cpu` or `metal`.
    pub device: String,
    /// The version of its `assay`.
    pub version: String,
    /// Chip, cores, memory, system, compiler, as far as they are known.
    pub facts: BTreeMap<String, String>,
}
