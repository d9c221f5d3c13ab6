//! The specification of a kernel: a description of the registry's, with or without its dispatch, or a reference kernel.

use super::reference::{self, Reference};
use crate::failure::Failure;
use crate::input;
use assay_bench::oracle::{Definition, Language, Program};
use assay_bench::registry::{Kernel, Registry};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A specification, read.
pub(super) struct Specification {
    pub(super) name: String,
    /// The description as it was written.
    pub(super) text: String,
    /// The dispatch is part of it.
    has_passes: bool,
    /// Files beside it that the oracle needs.
    extras: Vec<(String, String)>,
    /// Where programs that are oracles run.
    folder: Folder,
    /// The kernel that says what is right, where one does.
    pub(super) reference: Option<Reference>,
    /// The kernel that passed.
    pub(super) passed: RefCell<Option<Passed>>,
}

/// The folder of an oracle.
enum Folder {
    /// That of the specification.
    Own(PathBuf),
    /// Made for a reference.
    Made(tempfile::TempDir),
}

/// A kernel with its files.
pub(super) struct Passed {
    pub(super) files: Vec<(String, String)>,
}

/// A source with its dispatch.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    pub(super) technique: String,
    pub(super) source: String,
    pub(super) grid: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) threadgroup: Vec<String>,
}

impl Specification {
    pub(super) fn read(
        path: &Path,
        name: Option<&str>,
        function: Option<&str>,
    ) -> Result<Specification, Failure> {
        let bytes = input::open(path)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Failure::input(format!("{} is not text", path.display())))?;
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let stem = match (stem.as_str(), path.parent().and_then(Path::file_name)) {
            ("kernel", Some(folder)) => folder.to_string_lossy().into_owned(),
            _ => stem,
        };
        let name = name.map_or(stem, str::to_owned);
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(sound) {
            return Err(
                Failure::usage(format!("\"{name}\" is no name for a kernel"))
                    .advice("--name NAME: small letters, digits and _, a letter first"),
            );
        }
        if path.extension().is_some_and(|it| it == "metal") {
            return Specification::of_reference(Reference::read(path, text, function)?, name);
        }
        if function.is_some() {
            return Err(
                Failure::usage("-f names a kernel of a reference, which is a .metal file")
                    .advice("a description names its function itself: function = \"…\""),
            );
        }
        let mut extras = Vec::new();
        // Programs that are oracles lie beside the description; one without them says so when it is read.
        for word in text
            .split(['"', ' ', '\''])
            .filter(|word| word.ends_with(".py"))
        {
            let beside = path.parent().unwrap_or(Path::new(".")).join(word);
            if let (false, Ok(program)) = (word.contains('/'), std::fs::read_to_string(beside)) {
                extras.push((word.to_owned(), program));
            }
        }
        Ok(Specification {
            has_passes: text.lines().any(|line| line.trim() == "[[passes]]"),
            name,
            text: text.to_owned(),
            extras,
            folder: Folder::Own(path.parent().unwrap_or(Path::new(".")).to_owned()),
            reference: None,
            passed: RefCell::new(None),
        })
    }

    /// The specification that a reference kernel is.
    fn of_reference(reference: Reference, name: String) -> Result<Specification, Failure> {
        let fail = |error: std::io::Error| Failure::input(format!("a temporary folder: {error}"));
        let made = tempfile::Builder::new().prefix("assay-write-").tempdir();
        let made = made.map_err(fail)?;
        std::fs::write(made.path().join(reference::FILE), &reference.text).map_err(fail)?;
        Ok(Specification {
            name,
            text: reference.specification.clone(),
            has_passes: false,
            extras: vec![(reference::FILE.to_owned(), reference.text.clone())],
            folder: Folder::Made(made),
            reference: Some(reference),
            passed: RefCell::new(None),
        })
    }

    /// The oracle with its folder; `assay` is this program, whatever else has the name.
    fn located(&self, oracle: Definition) -> Definition {
        let Definition::Program(program) = &oracle else {
            return oracle;
        };
        if program.language != Language::Shell {
            return oracle;
        }
        let words = match (
            program.words.strip_prefix("assay "),
            std::env::current_exe(),
        ) {
            (Some(rest), Ok(own)) => format!("'{}' {rest}", own.display()),
            _ => program.words.clone(),
        };
        let program = Program::new(Language::Shell, &words, "");
        program.locate(match &self.folder {
            Folder::Own(folder) => folder.clone(),
            Folder::Made(folder) => folder.path().to_owned(),
        });
        Definition::Program(Arc::new(program))
    }

    /// The files of a kernel: description, source, what the oracle needs.
    pub(super) fn files(&self, candidate: &Candidate) -> Vec<(String, String)> {
        let mut description = self.text.clone();
        if !self.has_passes {
            let list = |formulas: &[String]| {
                let quoted = formulas.iter().map(|formula| format!("{formula:?}"));
                quoted.collect::<Vec<_>>().join(", ")
            };
            let grid = match candidate.groups.is_empty() {
                true => format!("threads = [{}]", list(&candidate.grid)),
                false => format!("groups = [{}]", list(&candidate.groups)),
            };
            let threadgroup = list(&candidate.threadgroup);
            description = format!(
                "{}\n\n[[passes]]\n{grid}\nthreadgroup = [{threadgroup}]\n",
                description.trim_end()
            );
        }
        let mut files = vec![
            ("kernel.toml".to_owned(), description),
            (format!("{}.metal", self.name), candidate.source.clone()),
        ];
        files.extend(self.extras.iter().cloned());
        files
    }

    /// The kernel that a candidate makes of the specification.
    pub(super) fn kernel(&self, candidate: &Candidate) -> Result<Kernel, String> {
        let files = self.files(candidate);
        let below = |name: &String| format!("common/{}/{name}", self.name);
        let paths: Vec<String> = files.iter().map(|(name, _)| below(name)).collect();
        let texts = files.iter().map(|(_, text)| text.as_str());
        let pairs = paths.iter().map(String::as_str).zip(texts);
        let registry = Registry::from_files(pairs).map_err(|error| error.to_string())?;
        let kernel = registry
            .kernel(&self.name)
            .map_err(|error| error.to_string())?;
        let mut kernel = kernel.clone();
        kernel.oracle = self.located(kernel.oracle);
        Ok(kernel)
    }

    /// The kernel with a dispatch that stands in for one: to look at the specification itself.
    pub(super) fn outline(&self) -> Result<Kernel, Failure> {
        let stand_in = Candidate {
            source: String::from("// nothing yet\n"),
            grid: vec!["1".to_owned()],
            threadgroup: vec!["1".to_owned()],
            ..Candidate::default()
        };
        self.kernel(&stand_in).map_err(|why| {
            Failure::input(format!("the specification: {why}"))
                .advice("assay write --help shows one; crates/bench/kernels/README.md says what may be in it")
        })
    }
}
