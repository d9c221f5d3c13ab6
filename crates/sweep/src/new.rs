//! `assay bench new`: a folder for a kernel of your own, that works from the start.

use crate::Failure;
use assay_bench::registry::{Kernel, Registry};
use std::path::{Path, PathBuf};

/// What is written where.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The kernel's name.
    pub name: &'a str,
    /// The kernel to start from.
    pub like: &'a str,
    /// A small operation with an oracle of its own, instead.
    pub oracle: Option<OracleKind>,
    /// The folder of kernels.
    pub into: &'a Path,
}

/// What an oracle of one's own is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleKind {
    /// Definitions over indices, in kernel.toml
    Expression,
    /// A NumPy function, in oracle.py
    Python,
    /// Any program that answers requests
    Program,
}

impl OracleKind {
    /// The line of `kernel.toml`, for the small operation, and the file beside it.
    const fn template(self) -> (&'static str, Option<(&'static str, &'static str)>) {
        match self {
            Self::Expression => (
                "oracle = { expression = \"y[i, j] = max(x[i, j], 0)\" }",
                None,
            ),
            Self::Python => (
                "oracle = { python = \"oracle.py\" }",
                Some(("oracle.py", include_str!("new/oracle.py"))),
            ),
            Self::Program => (
                "oracle = { program = \"python3 program.py\" }",
                Some(("program.py", include_str!("new/program.py"))),
            ),
        }
    }
}

/// Writes the folder; nothing that is there is touched.
pub fn write(asked: Question<'_>) -> Result<PathBuf, Failure> {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let like = registry.kernel(asked.like).map_err(|error| {
        Failure::usage(error.to_string()).advice("assay bench --list shows all kernels")
    })?;
    let name = asked.name;
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || !name.chars().all(sound) || name.len() > 64 {
        return Err(
            Failure::usage(format!("\"{name}\" is no name for a kernel"))
                .advice("small letters, digits and _, a letter first, at most 64"),
        );
    }
    let source = registry.source(like, None);
    let source = source.map_err(|error| Failure::input(error.to_string()))?;
    let description = registry.description(like).ok_or_else(|| {
        Failure::input(format!("the description of \"{}\" is not there", like.name))
    })?;
    let folder = asked.into.join(like.set.name()).join(name);
    let fail =
        |path: &Path, error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent).map_err(|error| fail(parent, error))?;
    }
    std::fs::create_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} is there already", folder.display()))
                .advice("take another name; nothing was changed")
        }
        _ => fail(&folder, error),
    })?;
    let mut description = with_function(description, like);
    let mut beside = None;
    if let Some(kind) = asked.oracle {
        let (line, file) = kind.template();
        let lines = description
            .lines()
            .map(|old| match old.starts_with("oracle =") {
                true => line,
                false => old,
            });
        description = lines.flat_map(|line| [line, "\n"]).collect();
        beside = file.map(|(name, text)| (name.to_owned(), text.to_owned()));
    }
    let files = [
        ("kernel.toml".to_owned(), description),
        (format!("{name}.metal"), source.text),
    ];
    for (file, text) in files.into_iter().chain(beside) {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(|error| fail(&path, error))?;
    }
    Ok(folder)
}

/// The description with the function's name in it: it is no longer the folder's.
fn with_function(description: &str, like: &Kernel) -> String {
    let named = description
        .lines()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.starts_with("function ") || line.starts_with("function="));
    match named {
        true => description.to_owned(),
        false => format!("function = \"{}\"\n{description}", like.name),
    }
}
