//! Errors as exit codes and as JSON.
//!
//! A failure is an expected outcome, not a bug: it says what happened, where, and
//! what to do next. With `--format json` the same content is printed as JSON.

use assay_report::envelope::Envelope;
use serde::Serialize;

pub(crate) use assay_engine::{Error as Failure, Kind};

/// The exit code of an error.
pub(crate) const fn status(kind: Kind) -> u8 {
    match kind {
        Kind::ClosedPipe => 0,
        Kind::Verdict => 1,
        Kind::Usage => 2,
        Kind::Input => 3,
        Kind::Missing => 4,
        // What a shell expects of Ctrl-C.
        Kind::Interrupted => 130,
    }
}

/// What every command returns: the kind of success is the exit code too.
pub(crate) type CommandResult = Result<Outcome, Failure>;

/// How a command that ran to its end turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: the report is already printed and says what failed.
    Failed,
    /// Exit code 3: the report is already printed and says what could not be read.
    Unreadable,
    /// Exit code 4: the report is already printed and says what is missing.
    Missing,
    /// The exit code of a program that was run.
    Program(u8),
}

impl Outcome {
    /// The exit code.
    pub(crate) fn status(self) -> u8 {
        match self {
            Outcome::Fine => 0,
            Outcome::Failed => status(Kind::Verdict),
            Outcome::Unreadable => status(Kind::Input),
            Outcome::Missing => status(Kind::Missing),
            Outcome::Program(code) => code,
        }
    }
}

/// An error as JSON, in the envelope every command shares.
pub(crate) fn to_json(failure: &Failure) -> String {
    let error = Detail {
        kind: failure.kind,
        exit_code: status(failure.kind),
        message: &failure.message,
        advice: failure.advice.as_deref(),
        details: failure.details.as_ref(),
    };
    Envelope::new("assay.error", 1, Body { error }).to_json()
}

/// The document `assay.error`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Body<'a> {
    error: Detail<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Detail<'a> {
    kind: Kind,
    exit_code: u8,
    message: &'a str,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'a str>,
    /// What a program may want to know: the compiler's diagnostics, say.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a serde_json::Value>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Body<'_>>("assay.error", 1);
    }
}
