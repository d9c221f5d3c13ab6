//! Oracles that are programs: a Python file with a NumPy function, or anything that speaks the protocol of references.
//!
//! The program is started when it is first asked and ends with the registry. All floating-point numbers travel in double
//! precision, whatever the kernel's element type.

use super::{Answer, Answers, Error, Tensor};
use crate::reference::{Process, python};
use crate::registry::Case;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// A program in a kernel's folder.
#[derive(Debug)]
pub struct Program {
    /// What is started.
    pub language: Language,
    /// The file of the Python function, or the command.
    pub words: String,
    /// The text of the Python file; nothing for commands.
    pub text: String,
    /// The kernel's folder, where commands run.
    folder: Mutex<Option<PathBuf>>,
    running: Mutex<Option<Running>>,
}

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A file that defines `oracle(…)`, with NumPy.
    Python,
    /// A command for a shell.
    Shell,
}

/// A program that was started, and the folder its data go through.
#[derive(Debug)]
struct Running {
    process: Process,
    _data: tempfile::TempDir,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        (self.language, &self.words, &self.text) == (other.language, &other.words, &other.text)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.language {
            Language::Python => write!(f, "{} (Python)", self.words),
            Language::Shell => write!(f, "{} (a program)", self.words),
        }
    }
}

impl Program {
    /// A program that is not started yet.
    pub fn new(language: Language, words: &str, text: &str) -> Self {
        Self {
            language,
            words: words.to_owned(),
            text: text.to_owned(),
            folder: Mutex::new(None),
            running: Mutex::new(None),
        }
    }

    /// Says where the kernel's folder is.
    pub fn locate(&self, folder: PathBuf) {
        if let Ok(mut place) = self.folder.lock() {
            *place = Some(folder);
        }
    }

    pub(super) fn answers(&self, case: &Case, inputs: &[Tensor]) -> Answers {
        let poisoned = || Error::Program("was asked while it failed".to_owned());
        let mut running = self.running.lock().map_err(|_| poisoned())?;
        let started = match &mut *running {
            Some(started) => started,
            None => running.insert(self.start()?),
        };
        let answered = started.process.answers(case, inputs);
        let answered = answered.map_err(|error| Error::Program(error.to_string()));
        if answered.is_err() {
            // It may have been ended for taking too long: the next question starts another.
            *running = None;
        }
        let answers = answered?.into_iter().map(|(values, scale)| {
            let exact = Answer::exact(values);
            match scale {
                Some(scale) => {
                    let scale = exact
                        .scale
                        .iter()
                        .zip(scale)
                        .map(|(own, told)| own.max(told));
                    Answer::new(exact.values.clone(), scale.collect())
                }
                None => exact,
            }
        });
        let answers: Vec<Answer> = answers.collect();
        let finite = |answer: &Answer| answer.scale.iter().all(|scale| !scale.is_nan());
        match answers.iter().all(finite) {
            true => Ok(answers),
            false => Err(Error::Program(format!("{self} gave NaN"))),
        }
    }

    fn start(&self) -> Result<Running, Error> {
        let failed = |why: String| Error::Program(format!("{self}: {why}"));
        let data = tempfile::Builder::new().prefix("assay-oracle-").tempdir();
        let data = data.map_err(|error| failed(error.to_string()))?;
        let process = match self.language {
            Language::Python => python::start_oracle(&self.words, &self.text, data.path()),
            Language::Shell => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(&self.words);
                let folder = self.folder.lock().ok().and_then(|folder| folder.clone());
                if let Some(folder) = folder {
                    command.current_dir(folder);
                }
                Process::start(command, data.path())
            }
        };
        let process = process.map_err(|error| failed(error.to_string()))?;
        Ok(Running {
            process,
            _data: data,
        })
    }
}
