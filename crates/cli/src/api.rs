//! Commands as functions, for programs that embed Assay: arguments and bytes in, a document out.
//!
//! A call runs one command line in the calling thread. What the command would print is returned, errors are the
//! JSON documents that `--format json` prints, and inputs may be bytes in memory. Nothing is written to the terminal, no
//! signal handler is installed, and the process does not exit.

use crate::app;
use crate::commands::{predict, profile, run};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind};
use crate::model::Model;
use crate::output::Captured;
use crate::{input, interrupt, source};
use assay_chip::CostModel;
use assay_front::{Bytes, GivenConstant, Library, SourceOptions};
use assay_launch::{Mistake, Written};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a command answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The exit code of the command.
    pub code: u8,
    /// What it printed; empty if it failed before.
    pub output: Vec<u8>,
    /// The document `assay.error`, if it failed.
    pub error: Option<String>,
}

/// Why a library was not opened: the exit code, and the document `assay.error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The exit code.
    pub code: u8,
    /// The document.
    pub error: String,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refused {
            code: crate::failure::status(failure.kind),
            error: crate::failure::to_json(&failure),
        }
    }
}

/// Runs a command line, without the program's name. A path that equals the name of an input means its bytes.
///
/// ```
/// let arguments = ["disasm", "--hex", "3800"].map(Into::into);
/// let answer = assay_metal::api::call(&arguments, Vec::new());
/// assert_eq!(answer.code, 0);
/// assert!(String::from_utf8_lossy(&answer.output).contains("wait"));
///
/// let input = ("k.metal".into(), Vec::from(*b"kernel void k(").into());
/// let answer = assay_metal::api::call(&["inspect", "k.metal"].map(Into::into), vec![input]);
/// assert!(answer.code != 0 && answer.error.is_some());
/// ```
pub fn call(arguments: &[OsString], inputs: Vec<(PathBuf, Bytes)>) -> Answer {
    answer(inputs, |captured| app::captured(arguments, captured))
}

/// A question about the kernels of a file.
#[derive(Clone, Debug)]
pub struct Question {
    /// The file, or the name of an input in memory.
    pub path: PathBuf,
    /// One kernel; otherwise all.
    pub function: Option<String>,
    /// The chip; for predictions several, with commas between them.
    pub chip: String,
    /// How source is compiled.
    pub source: SourceOptions,
    /// Values of function constants.
    pub constants: Vec<GivenConstant>,
    /// How kernels are dispatched.
    pub launch: Written,
}

/// What else decides a predicted time.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Empty caches at the start.
    pub cold: bool,
    /// Figures of the chip that are changed, as `FIGURE=VALUE`.
    pub what_if: Vec<String>,
    /// Dispatches in one command buffer.
    pub repeat: u32,
}

/// The document `assay.profile` about a file.
///
/// ```
/// use assay_metal::api::{self, Question};
/// let question = Question {
///     path: "wait.agx".into(),
///     function: None,
///     chip: "m2".to_owned(),
///     source: Default::default(),
///     constants: Vec::new(),
///     launch: Default::default(),
/// };
/// let inputs = vec![("wait.agx".into(), Vec::from(*b"stop\n").into())];
/// assert_eq!(api::profile(question, Default::default(), inputs).code, 0);
/// ```
pub fn profile(question: Question, costs: CostModel, inputs: Vec<(PathBuf, Bytes)>) -> Answer {
    let path = question.path.clone();
    let model = Model {
        costs,
        ..question.into()
    };
    answer(inputs, |captured| {
        profile::document(path, model, &Context::in_memory(None, captured))
    })
}

/// The document `assay.predict` about a file.
pub fn predict(question: Question, how: Prediction, inputs: Vec<(PathBuf, Bytes)>) -> Answer {
    answer(inputs, |captured| {
        predict::document(question, how, &Context::in_memory(None, captured))
    })
}

/// A question that makes no sense, as commands refuse one.
pub fn usage(message: String) -> Refused {
    Failure::usage(message).into()
}

/// A launch that makes no sense.
pub fn mistake(mistake: Mistake) -> Refused {
    Failure::from(mistake).into()
}

/// What some work answers that opens these inputs.
fn answer(inputs: Vec<(PathBuf, Bytes)>, work: impl FnOnce(&Captured) -> CommandResult) -> Answer {
    let captured = Captured::default();
    let result = input::lend(inputs, || work(&captured));
    let (code, error) = match result {
        Ok(outcome) => (outcome.status(), None),
        Err(failure) if failure.kind == Kind::ClosedPipe => (0, None),
        Err(failure) => (
            crate::failure::status(failure.kind),
            Some(crate::failure::to_json(&failure)),
        ),
    };
    Answer {
        code,
        output: captured.take(),
        error,
    }
}

/// The kernels of a file in memory: source, compiled with this machine's clang, a metallib or bitcode.
pub fn library(path: &Path, bytes: &Bytes, options: &SourceOptions) -> Result<Library, Refused> {
    let file = source::open(path, bytes)?;
    Ok(source::library_as(path, &file, options)?)
}

/// An error of the front end as [`library`] reports them.
pub fn refused(path: &Path, error: assay_front::Error) -> Refused {
    source::failure(path, error).into()
}

/// A device's error as `assay run` reports it: a fault has its place and thread among the details.
pub fn refused_by_device(error: assay_device::Error) -> Refused {
    let details = match &error {
        assay_device::Error::Fault(fault) => Some(serde_json::json!({
            "fault": format!("{:?}", fault.kind),
            "kernel": fault.function,
            "what": fault.what,
            "place": fault.place,
            "thread": fault.thread,
        })),
        _ => None,
    };
    if error == assay_device::Error::Cancelled {
        return Failure::new(Kind::Interrupted, error.to_string()).into();
    }
    let failure = run::device_failure(error);
    match details {
        Some(details) => failure.details(details).into(),
        None => failure.into(),
    }
}

/// What a checked run found, as `assay run --check --format json` lists it.
pub fn findings(reports: &[assay_device::Report]) -> serde_json::Value {
    run::findings_json(reports)
}

/// What a counted run counted, as `assay run --counts --format json` has it.
pub fn counts(counts: &assay_device::Counts) -> serde_json::Value {
    run::counts_json(counts)
}

/// Asks running commands to stop, or takes that back. Those that run kernels or sweeps look at it.
pub fn request_stop(stop: bool) {
    interrupt::request(stop);
}
