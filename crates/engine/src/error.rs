//! What can go wrong, worded for people: what happened, where, and what to do next.

use assay_launch::{Blame, Mistake};
use serde::Serialize;

/// Who or what is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Whoever read our output closed the pipe. Nothing is wrong and nothing is said.
    ClosedPipe,
    /// The thing examined failed: a wrong result, a regression, a gate.
    Verdict,
    /// The question makes no sense.
    Usage,
    /// The input is bad or unreadable.
    Input,
    /// Something is missing on this machine: clang, a Mac, a GPU.
    Missing,
    /// Stopped, after what was finished has been kept.
    Interrupted,
}

/// An error with advice.
#[derive(Clone, Debug)]
pub struct Error {
    /// Who or what is to blame.
    pub kind: Kind,
    /// What happened, and where.
    pub message: String,
    /// What to do.
    pub advice: Option<String>,
    /// The same for programs, when there is more to say than the message.
    pub details: Option<serde_json::Value>,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// An error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            advice: None,
            details: None,
        }
    }

    /// A question that makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(Kind::Usage, message)
    }

    /// A bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Error::new(Kind::Input, message)
    }

    /// Adds what can be done about it.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds what can be done about it, where there is something to do.
    #[must_use]
    pub fn advised(self, advice: Option<impl Into<String>>) -> Self {
        match advice {
            Some(advice) => self.advice(advice),
            None => self,
        }
    }

    /// Adds what only a program wants to know.
    #[must_use]
    pub fn details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => Kind::ClosedPipe,
            _ => Kind::Input,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Error {
        let kind = match mistake.blame {
            Blame::Usage => Kind::Usage,
            Blame::File => Kind::Input,
        };
        Error::new(kind, mistake.message).advised(mistake.advice)
    }
}

/// A path that may not be opened.
impl From<assay_msl::beneath::Refused> for Error {
    fn from(refused: assay_msl::beneath::Refused) -> Error {
        Error::input(refused.message).advised(refused.advice)
    }
}

/// A device's error.
impl From<assay_device::Error> for Error {
    fn from(error: assay_device::Error) -> Error {
        use assay_device::Error as Device;
        let kind = match &error {
            Device::Fault(_) | Device::TimeOut { .. } | Device::Cancelled => Kind::Verdict,
            Device::Source(_)
            | Device::Library(_)
            | Device::NoKernels
            | Device::Pipeline { .. }
            | Device::Unsupported { .. } => Kind::Input,
            Device::Compiler(_)
            | Device::NoDevice(_)
            | Device::OutOfMemory { .. }
            | Device::GpuMemory(_)
            | Device::Capture(_) => Kind::Missing,
            _ => Kind::Usage,
        };
        let advice = match &error {
            Device::MissingConstant { index, .. } => {
                Some(format!("give it a value: --const {index}=TYPE:VALUE"))
            }
            Device::NoConstant { .. } => Some("leave out that --const".to_owned()),
            Device::Grid(_) => Some(
                "--grid and --threadgroup are numbers from 1, as in --grid 1024 --threadgroup 256"
                    .to_owned(),
            ),
            Device::ThreadgroupTooLarge { limit, .. } => Some(format!(
                "give at most {limit} threads: --threadgroup {limit}"
            )),
            Device::Fault(fault) => fault_advice(fault.kind).map(str::to_owned),
            _ => None,
        };
        Error::new(kind, error.to_string()).advised(advice)
    }
}

/// What to do about a fault that ended a run.
fn fault_advice(kind: assay_device::FaultKind) -> Option<&'static str> {
    use assay_device::FaultKind;
    match kind {
        FaultKind::OutOfBounds => Some(
            "guard the access, as in if (i < n), or bind a larger buffer; assay run --check finds all such accesses",
        ),
        FaultKind::Misaligned => Some("align the address of an atomic to its size"),
        FaultKind::TooManySteps | FaultKind::TimeOut => Some(
            "look at what ends the loop: threads that wait for another threadgroup need a dispatch of their own instead; \
             assay run --max-steps N allows more operations",
        ),
        // The messages say what is to be done.
        FaultKind::ReadOnly | FaultKind::Unreachable | FaultKind::Other => None,
    }
}

/// Why nothing can be predicted.
impl From<assay_predict::Error> for Error {
    fn from(error: assay_predict::Error) -> Error {
        use assay_emu::{EmuError, LaunchError};
        use assay_predict::Error as Predict;
        let message = error.to_string();
        match &error {
            Predict::Run(EmuError::Launch(
                LaunchError::Empty(_)
                | LaunchError::ThreadgroupTooLarge(_)
                | LaunchError::GridTooLarge(_),
            ))
            | Predict::MissingBuffer { .. }
            | Predict::ShortBuffer { .. }
            | Predict::MissingThreadgroupMemory { .. }
            | Predict::MissingFigure { .. } => Error::usage(message),
            Predict::Endless { .. } => Error::input(message).advice(
                "--bytes and --buffer give data that loops depend on; --max-steps N of assay predict raises the budget",
            ),
            _ => Error::input(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_device::{Fault, FaultKind};

    fn advice(kind: FaultKind) -> Option<String> {
        let fault = Fault {
            dispatch: 0,
            function: "k".to_owned(),
            kind,
            what: "what happened".to_owned(),
            place: None,
            thread: None,
        };
        Error::from(assay_device::Error::Fault(Box::new(fault))).advice
    }

    #[test]
    fn a_loop_that_never_ends_is_not_told_to_guard_an_access() {
        let told = advice(FaultKind::TooManySteps).expect("an advice");
        assert!(told.starts_with("look at what ends the loop"), "{told}");
        let told = advice(FaultKind::OutOfBounds).expect("an advice");
        assert!(told.starts_with("guard the access"), "{told}");
    }
}
