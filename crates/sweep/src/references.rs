//! What kernels are compared with.

use crate::{Failure, Kind, Question, World};
use assay_bench::reference::python::{self, Library, Use};
use assay_bench::reference::{OracleReference, Process, Reference};
use assay_device::Origin;
use std::process::Command;
use std::str::FromStr;

/// A reference as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// MLX if there is one, otherwise the oracle.
    Auto,
    /// Nothing.
    None,
    /// The oracle.
    Oracle,
    /// A library of Python.
    Python {
        /// Which one.
        library: Library,
        /// True for its compiled form.
        compiled: bool,
    },
    /// A program by the protocol of references.
    Command(String),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let python = |library, compiled| Ok(Self::Python { library, compiled });
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "oracle" => Ok(Self::Oracle),
            "mlx" => python(Library::Mlx, false),
            "mlx-compiled" => python(Library::Mlx, true),
            "torch" => python(Library::Torch, false),
            "torch-compiled" => python(Library::Torch, true),
            _ => match text.strip_prefix("cmd:").map(str::trim) {
                Some(command) if !command.is_empty() => Ok(Self::Command(command.to_owned())),
                _ => Err(
                    "references are auto, none, oracle, mlx, mlx-compiled, torch, torch-compiled and cmd:COMMAND"
                        .to_owned(),
                ),
            },
        }
    }
}

/// References that were started, and the folder their data go through.
pub(crate) struct References {
    pub(crate) all: Vec<Box<dyn Reference>>,
    _folders: Vec<tempfile::TempDir>,
}

impl References {
    /// Starts what was asked for.
    pub(crate) fn start(asked: &Question, world: &World<'_>) -> Result<References, Failure> {
        let mut references = References {
            all: Vec::new(),
            _folders: Vec::new(),
        };
        if asked.no_time {
            return Ok(references);
        }
        let default = [if asked.quick {
            Choice::None
        } else {
            Choice::Auto
        }];
        let choices = match asked.references.as_slice() {
            [] => &default[..],
            choices => choices,
        };
        for choice in choices {
            references.add(choice, asked.device, world)?;
        }
        Ok(references)
    }

    fn add(&mut self, choice: &Choice, device: Origin, world: &World<'_>) -> Result<(), Failure> {
        match choice {
            Choice::None => {}
            Choice::Auto => match python::interpreter(Library::Mlx.module()) {
                Some(_) => {
                    let library = Library::Mlx;
                    for compiled in [false, true] {
                        self.add(&Choice::Python { library, compiled }, device, world)?;
                    }
                }
                None => {
                    world.listener.note(&format!(
                        "no MLX to compare with: pip install {}; the oracle's time stands in",
                        Library::Mlx.package(world.is_mac)
                    ));
                    self.add(&Choice::Oracle, device, world)?;
                }
            },
            Choice::Oracle => self.all.push(Box::new(OracleReference::default())),
            Choice::Python { library, compiled } => {
                let python = python::interpreter(library.module())
                    .ok_or_else(|| missing(*library, world.is_mac))?;
                let use_ = Use {
                    library: *library,
                    compiled: *compiled,
                    cpu: device == Origin::Host,
                };
                let folder = folder()?;
                let started = python::start(&python, use_, folder.path());
                self.started(started, folder)?;
            }
            Choice::Command(words) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(words);
                let folder = folder()?;
                let started = Process::start(command, folder.path());
                let started = started.map(|process| process.called(&format!("cmd:{words}")));
                self.started(started, folder).map_err(|failure| {
                    failure.advice("docs/references.md says what a reference must answer")
                })?;
            }
        }
        Ok(())
    }

    fn started(
        &mut self,
        started: Result<Process, assay_bench::reference::Error>,
        folder: tempfile::TempDir,
    ) -> Result<(), Failure> {
        let process = started.map_err(|error| {
            Failure::new(
                Kind::Missing,
                format!("no reference to compare with: {error}"),
            )
        })?;
        self.all.push(Box::new(process));
        self._folders.push(folder);
        Ok(())
    }
}

fn folder() -> Result<tempfile::TempDir, Failure> {
    let folder = tempfile::Builder::new().prefix("assay-bench-").tempdir();
    Ok(folder?)
}

fn missing(library: Library, is_mac: bool) -> Failure {
    let (module, package) = (library.module(), library.package(is_mac));
    Failure::new(Kind::Missing, format!("no Python here can import {module}")).advice(format!(
        "pip install {package}, or name a Python that has it: ASSAY_PYTHON=…"
    ))
}
