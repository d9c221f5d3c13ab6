//! A compiler that has what was compiled before, and asks a clang for the rest.

use crate::clang;
use assay_front::{Clang, Compiler, CompilerError, Source, SourceOptions};
use assay_msl::Diagnostic;
use std::sync::{Mutex, PoisonError};

/// What a compilation gave.
type Made = (Vec<u8>, Vec<Diagnostic>);

/// Compilations of one source, by their options.
#[derive(Debug, Default)]
pub(crate) struct Given {
    made: Mutex<Vec<(SourceOptions, Made)>>,
}

impl Given {
    /// Takes bitcode that was made with these options.
    pub(crate) fn add(&self, options: SourceOptions, bitcode: Vec<u8>) {
        self.keep(options, (bitcode, Vec::new()));
    }

    fn keep(&self, options: SourceOptions, made: Made) {
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((options, made));
    }

    fn find(&self, options: &SourceOptions) -> Option<Made> {
        let all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|(known, _)| known == options);
        found.map(|(_, made)| made.clone())
    }
}

impl Compiler for Given {
    fn bitcode(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<Vec<u8>, CompilerError> {
        self.bitcode_and_warnings(source, options)
            .map(|(code, _)| code)
    }

    fn bitcode_and_warnings(
        &self,
        source: Source<'_>,
        options: &SourceOptions,
    ) -> Result<Made, CompilerError> {
        if let Some(made) = self.find(options) {
            return Ok(made);
        }
        let program = clang::program().ok_or_else(|| CompilerError::Missing {
            message: "no compiler is loaded".to_owned(),
            advice: None,
        })?;
        let made = Clang::new(program, clang::FOLDER).bitcode_and_warnings(source, options)?;
        self.keep(options.clone(), made.clone());
        Ok(made)
    }
}
