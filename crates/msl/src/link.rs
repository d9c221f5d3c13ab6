//! Several sources as one library.
//!
//! Every file is compiled for itself, with macros, names and statics of its own. clang then links the bitcode of the others into
//! that of the first before it optimises, so that calls between files are inlined like any.

use crate::cache::Cache;
use crate::compiler::Compiler;
use crate::diagnostic::{Diagnostic, text_of_file};
use crate::driver::{Compiled, Emit, Error, Options, Source, compile};
use std::path::{Path, PathBuf};

/// The other files of a library, compiled.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// Their bitcode, in files of the cache.
    pub(crate) bitcode: Vec<PathBuf>,
    parts: Vec<Compiled>,
}

impl Linked {
    /// Compiles the files that [`Options::link_files`] names.
    pub(crate) fn new(compiler: &Compiler, options: &Options) -> Result<Linked, Error> {
        let own = Options {
            link_files: Vec::new(),
            emit: Emit::Bitcode,
            ..options.clone()
        };
        let mut linked = Linked::default();
        for path in &options.link_files {
            let text =
                text_of_file(path, options.within.as_deref()).ok_or_else(|| unreadable(path))?;
            let text = text.as_bytes();
            let part = compile(Source { path, text }, compiler, &own)?;
            let kept = Cache::new(&options.cache).linked(&part.code);
            linked.bitcode.push(kept.map_err(|error| Error::Cache {
                folder: options.cache.clone(),
                error,
            })?);
            linked.parts.push(part);
        }
        Ok(linked)
    }

    /// What clang is told about them.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = String> {
        let files = self.bitcode.iter();
        files.flat_map(|file| {
            let file = crate::arguments::path(file).display().to_string();
            ["-Xclang", "-mlink-bitcode-file", "-Xclang", &file].map(str::to_owned)
        })
    }

    /// Adds what the files declare to what the first does.
    pub(crate) fn add_to(self, whole: &mut Compiled) {
        for part in self.parts {
            whole.kernels.extend(part.kernels);
            whole.others.extend(part.others);
            whole.warnings.extend(part.warnings);
        }
    }
}

fn unreadable(path: &Path) -> Error {
    Error::Source(vec![Diagnostic {
        message: format!(
            "{} cannot be read, or is outside the allowed folders",
            path.display()
        ),
        place: None,
        source_line: None,
        notes: Vec::new(),
    }])
}
