//! A clang as a child process.

use crate::cache::Cache;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Most bytes of an object file, or of what clang says.
const MOST_OUTPUT: u64 = 64 << 20;

/// Bytes of clang's own words that an error repeats.
const SHOWN: usize = 400;

/// What every compilation is told. Vectorisers find nothing in code that is vectors already, and cost a third of the time.
const ARGUMENTS: [&str; 12] = [
    "-x",
    "ir",
    "-O2",
    "-march=native",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fPIC",
    "-w",
    "-c",
    "-o",
    "-",
    "-",
];

/// Why there is no object file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// clang cannot be run.
    #[error("{program} cannot be run: {why}")]
    NotRun {
        /// The command.
        program: String,
        /// Why.
        why: String,
    },
    /// clang refuses the text, or fails.
    #[error("{program} failed: {message}")]
    Failed {
        /// The command.
        program: String,
        /// The beginning of what it says.
        message: String,
    },
}

/// A clang that compiles LLVM's text form for the machine it runs on.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: PathBuf,
    /// Arguments before ours, as in `python3 -m ziglang cc`.
    before: Vec<OsString>,
    cache: Option<Cache>,
}

impl Compiler {
    /// The clang of a command: a program, and arguments that come before all others.
    pub fn new(program: impl Into<PathBuf>, before: Vec<OsString>) -> Self {
        Self {
            program: program.into(),
            before,
            cache: None,
        }
    }

    /// Keeps object files in a folder, which is made if it does not exist. A folder that others may write to is not used.
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(Cache::new(folder.into()));
        self
    }

    /// The program that is run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The object file of a text. True if it came from the cache.
    pub fn compile(&self, text: &str) -> Result<(Vec<u8>, bool), CompileError> {
        let key = self.cache.as_ref().map(|cache| {
            let command = format!("{:?} {:?} {ARGUMENTS:?}", self.program, self.before);
            (cache, cache.key(&command, text))
        });
        if let Some((cache, key)) = &key
            && let Some(object) = cache.get(key)
        {
            return Ok((object, true));
        }
        let object = self.run(text)?;
        if let Some((cache, key)) = &key {
            cache.put(key, &object);
        }
        Ok((object, false))
    }

    fn run(&self, text: &str) -> Result<Vec<u8>, CompileError> {
        let program = self.program.display().to_string();
        let not_run = |error: std::io::Error| CompileError::NotRun {
            program: program.clone(),
            why: error.to_string(),
        };
        let mut child = Command::new(&self.program)
            .args(&self.before)
            .args(ARGUMENTS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(not_run)?;
        let (input, output, words) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut object = Vec::new();
        let said = std::thread::scope(|scope| {
            // A clang that fails early closes its input: what it says tells why.
            scope.spawn(|| input.map(|mut input| input.write_all(text.as_bytes())));
            let said = scope.spawn(|| {
                let mut said = Vec::new();
                let _ = words.map(|words| words.take(MOST_OUTPUT).read_to_end(&mut said));
                said
            });
            let _ = output.map(|output| output.take(MOST_OUTPUT).read_to_end(&mut object));
            said.join().unwrap_or_default()
        });
        let status = child.wait().map_err(not_run)?;
        if status.success() {
            return Ok(object);
        }
        let message = String::from_utf8_lossy(&said);
        Err(CompileError::Failed {
            program,
            message: message.chars().take(SHOWN).collect(),
        })
    }
}
