//! What a file may be.

use crate::compiler::{Compiler, SourceOptions};
use crate::{Bytes, Error, Library, Source};
use assay_container::Contents;
use assay_container::listing::{self, Listing};
use std::path::Path;

/// A file, opened once.
#[derive(Debug)]
pub struct File<'a> {
    path: &'a Path,
    bytes: &'a Bytes,
    /// What it is.
    pub kind: Kind<'a>,
}

/// What a file is.
#[derive(Debug)]
pub enum Kind<'a> {
    /// Metal source.
    Source,
    /// Machine code as lines of `offset ⇥ hex ⇥ text`.
    Listing(Listing),
    /// Machine code in assembly: a `.agx` or `.s` file.
    Assembly(&'a str),
    /// One of Apple's containers, bitcode or raw code.
    Container(Contents<'a>),
}

impl<'a> File<'a> {
    /// Looks at the bytes of a file. The name decides only where the bytes alone cannot: a `.metal` file is source
    /// even if nothing in it looks like Metal, and assembly is a `.agx` or `.s` file.
    pub fn open(path: &'a Path, bytes: &'a Bytes) -> Result<File<'a>, Error> {
        let kind = match std::str::from_utf8(bytes) {
            Ok(text) if listing::looks_like(bytes) => Kind::Listing(listing::parse(text)?),
            Ok(text) if is_named(path, &["agx", "s"]) => Kind::Assembly(text),
            _ if is_named(path, &["metal"]) => Kind::Source,
            _ => match assay_container::open(bytes)? {
                Contents::Source(_) => Kind::Source,
                contents => Kind::Container(contents),
            },
        };
        Ok(File { path, bytes, kind })
    }

    /// The file under another name, for what the compiler says about it.
    pub fn named(self, path: &'a Path) -> File<'a> {
        File { path, ..self }
    }

    /// Its name.
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'a Bytes {
        self.bytes
    }

    /// Returns true for Metal source.
    pub fn is_source(&self) -> bool {
        matches!(self.kind, Kind::Source)
    }

    /// Returns true if the file holds programs but no machine code, so that code must be generated.
    pub fn needs_code(&self) -> bool {
        match &self.kind {
            Kind::Source | Kind::Container(Contents::Bitcode(_)) => true,
            Kind::Container(contents) => {
                !contents.metallibs().is_empty() && contents.compiled().is_empty()
            }
            Kind::Listing(_) | Kind::Assembly(_) => false,
        }
    }

    /// The kernels of the file, source compiled on the way.
    pub fn library(
        &self,
        compiler: &dyn Compiler,
        options: &SourceOptions,
    ) -> Result<Library, Error> {
        match &self.kind {
            Kind::Source => {
                let source = Source {
                    path: self.path,
                    text: self.bytes,
                };
                Library::compile(source, compiler, options)
            }
            Kind::Container(contents) => Library::of(self.bytes, contents),
            Kind::Listing(_) => Err(Error::WithoutKernels { what: "listing" }),
            Kind::Assembly(_) => Err(Error::WithoutKernels { what: "assembly" }),
        }
    }
}

/// Returns true if these bytes are source, not code: by the name of the file, or as Metal text.
pub fn is_source(path: &Path, bytes: &[u8]) -> bool {
    is_named(path, &["metal"]) || matches!(assay_container::open(bytes), Ok(Contents::Source(_)))
}

fn is_named(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}
