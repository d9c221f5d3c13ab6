//! What questions about kernels need of the world.

use crate::execution::{Code, machine_code};
use crate::kernel::{Kernel, Made};
use crate::{Error, Kind, SharedFiles, diagnostics, names};
use assay_agx::Isa;
use assay_front::{
    Blame, Bytes, Compiler, CompilerError, Error as FrontError, File, GivenConstant, Library,
    SourceOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A compiler, files, and whoever is told and may stop what takes long. Cheap to clone.
#[derive(Clone)]
pub struct Workspace {
    /// Compiles source.
    pub compiler: Arc<dyn Compiler>,
    /// Reads the files that launches name.
    pub files: SharedFiles,
    /// Told what is begun.
    pub begun: fn(&str),
    /// Set to stop what runs.
    pub cancel: Option<Arc<AtomicBool>>,
    /// The folder the user works in: source files are named relative to it.
    pub folder: Option<PathBuf>,
}

/// What decides a kernel's code and runs, besides its source.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How source is compiled.
    pub source: SourceOptions,
    /// Values of function constants; others are 0 or false.
    pub constants: Vec<GivenConstant>,
    /// The instruction set to generate code for.
    pub isa: Isa,
    /// Threads of a threadgroup, where code depends on them.
    pub threadgroup: Option<[u32; 3]>,
    /// Operations a simdgroup may run in loops.
    pub max_steps: Option<u64>,
    /// How long one run may take.
    pub timeout: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            source: SourceOptions::default(),
            constants: Vec::new(),
            isa: Isa::G13,
            threadgroup: None,
            max_steps: None,
            timeout: None,
        }
    }
}

impl Workspace {
    /// A workspace that tells nobody and is never stopped.
    pub fn new(compiler: Arc<dyn Compiler>, files: SharedFiles) -> Workspace {
        Workspace {
            compiler,
            files,
            begun: |_| {},
            cancel: None,
            folder: None,
        }
    }

    /// The kernel of a file, by its name where there are several: source, a metallib, bitcode, or machine code whose costs
    /// are known.
    pub fn open(
        &self,
        path: &Path,
        bytes: &Bytes,
        function: Option<&str>,
        settings: &Settings,
    ) -> Result<Kernel, Error> {
        if bytes.is_empty() {
            let shown = path.display();
            return Err(Error::input(format!(
                "{shown} is empty: there is no code in it"
            )));
        }
        let fail = |error| front_error(path, error);
        let file = File::open(path, bytes)
            .map_err(fail)?
            .named(shown_name(path));
        if !file.needs_code() {
            let program = machine_code(path, &file, function)?;
            let made = Made::of_file(program, path);
            return Ok(Kernel::new(self, path, None, settings, Err(made)));
        }
        let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
        (self.begun)("compiling");
        let library = file.library(&*self.compiler, &settings.source);
        let library = library.map_err(fail)?;
        let kernel = only(path, &library, function)?.clone();
        Ok(Kernel::new(
            self,
            path,
            text,
            settings,
            Ok((kernel, library)),
        ))
    }
}

/// The kernel of a name, or the only one.
fn only<'l>(
    path: &Path,
    library: &'l Library,
    function: Option<&str>,
) -> Result<&'l assay_front::Kernel, Error> {
    let chosen = library.choose(function);
    let chosen = chosen.map_err(|error| front_error(path, error))?;
    match chosen {
        [kernel] => Ok(kernel),
        several => Err(library_error(path, several)),
    }
}

/// Most kernels that are named to whoever has to choose.
const MOST_NAMED: usize = 20;

/// What to say when one kernel is wanted and there are several.
pub fn library_error(path: &Path, kernels: &[assay_front::Kernel]) -> Error {
    let names = kernels.iter().take(MOST_NAMED);
    let names: Vec<&str> = names.map(|kernel| kernel.name.as_str()).collect();
    let message = format!("{} has {} kernels", path.display(), kernels.len());
    Error::usage(message).advice(format!("choose one with -f: {}", names.join(", ")))
}

/// The name that diagnostics and lines give the source of a path.
pub fn shown_name(path: &Path) -> &Path {
    match path.as_os_str() == "-" {
        true => Path::new("<stdin>.metal"),
        false => path,
    }
}

/// An error of the front end, about a file.
pub fn front_error(path: &Path, error: FrontError) -> Error {
    let shown = path.display();
    let message = match &error {
        FrontError::Compiler(CompilerError::Failed(error)) => {
            return diagnostics::failure(shown_name(path), error);
        }
        FrontError::NoKernel { wanted, names } => {
            let names = names.iter().map(String::as_str);
            return names::unknown(&shown.to_string(), "kernel", wanted, names);
        }
        FrontError::NoKernels => format!("{shown} declares no kernels"),
        FrontError::Compiler(CompilerError::OtherStages { held }) => {
            format!("{shown} declares no kernels; it holds {held}")
        }
        FrontError::Kernel { .. } | FrontError::NoConstant { .. } | FrontError::Compiler(_) => {
            error.to_string()
        }
        other => format!("{shown}: {other}"),
    };
    let kind = match error.blame() {
        Blame::Input => Kind::Input,
        Blame::Usage => Kind::Usage,
        Blame::Missing => Kind::Missing,
    };
    Error::new(kind, message).advised(error.advice())
}

impl Code {
    /// Returns true if it is ours.
    pub fn is_generated(self) -> bool {
        self == Code::Generated
    }
}
