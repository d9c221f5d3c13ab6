//! What can go wrong, worded for people, and the exit code that says so to scripts.
//!
//! A failure is an expected outcome, not a bug: it says what happened, where, and
//! what to do next. With `--format json` the same content is printed as JSON.

use assay_report::envelope::Envelope;
use serde::Serialize;

/// Why a command did not succeed. The discriminant is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Whoever read our output closed the pipe. Nothing is wrong and nothing is said.
    ClosedPipe = 0,
    /// The thing examined failed: a wrong result, a regression, a gate.
    Verdict = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The input is bad or unreadable.
    Input = 3,
    /// Something is missing on this machine: clang, a Mac, a GPU.
    Missing = 4,
    /// Ctrl-C, after what was finished has been kept: the status a shell expects.
    Interrupted = 130,
}

/// An error with its exit code and advice.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) advice: Option<String>,
    /// The same for programs, when there is more to say than the message: JSON only.
    pub(crate) details: Option<serde_json::Value>,
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
}

impl Outcome {
    /// The exit code.
    pub(crate) fn status(self) -> u8 {
        match self {
            Outcome::Fine => 0,
            Outcome::Failed => Kind::Verdict as u8,
            Outcome::Unreadable => Kind::Input as u8,
            Outcome::Missing => Kind::Missing as u8,
        }
    }
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Failure {
            kind,
            message: message.into(),
            advice: None,
            details: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Kind::Usage, message)
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure::new(Kind::Input, message)
    }

    /// Adds what the user can do about it.
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds what the user can do about it, where there is something to do.
    pub(crate) fn advised(self, advice: Option<impl Into<String>>) -> Self {
        match advice {
            Some(advice) => self.advice(advice),
            None => self,
        }
    }

    /// Adds what only a program wants to know.
    pub(crate) fn details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The JSON form, in the envelope every command shares.
    pub(crate) fn to_json(&self) -> String {
        Envelope::new(
            "assay.error",
            1,
            Body {
                error: Detail {
                    kind: self.kind,
                    exit_code: self.kind as u8,
                    message: &self.message,
                    advice: self.advice.as_deref(),
                    details: self.details.as_ref(),
                },
            },
        )
        .to_json()
    }
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

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => Kind::ClosedPipe,
            _ => Kind::Input,
        };
        Failure::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Body<'_>>("assay.error", 1);
    }
}
