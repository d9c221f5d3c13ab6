//! The programs of a file, for profiles: machine code that is in it, or generated for its kernels.

use crate::code::{Generator, name_files};
use crate::execution::Code;
use crate::{Error, Phases, Settings, Workspace, front_error, shown_name};
use assay_agx::{Program, assemble};
use assay_container::{Contents, Extracted, SelectError, raw_program};
use assay_front::{File, Kind, Library, check_constants};
use assay_profile::render::Sources;
use assay_profile::{Options, Origin, Profile, Symbol};
use assay_ssa::Argument;
use std::path::Path;
use std::rc::Rc;

/// A program and what is known beside it.
pub struct Loaded {
    /// The code.
    pub program: Program,
    symbols: Vec<Symbol>,
    /// Whose compiler made it.
    pub origin: Origin,
    /// Function constants that were given no value.
    assumed: Vec<String>,
    /// Tensor operations of its source.
    tensors: Vec<assay_profile::TensorOperation>,
    /// The arguments of its kernel; none of machine code.
    pub arguments: Vec<Argument>,
    /// The text of its source, as far as there is any.
    pub sources: Rc<Sources>,
}

impl Loaded {
    fn new(program: Program, origin: Origin) -> Loaded {
        Loaded {
            program,
            symbols: Vec::new(),
            origin,
            assumed: Vec::new(),
            tensors: Vec::new(),
            arguments: Vec::new(),
            sources: Rc::default(),
        }
    }

    /// A function of an archive.
    pub fn extracted(extracted: Extracted) -> Loaded {
        let symbols = extracted.symbols.iter().map(|symbol| Symbol {
            name: symbol.name.clone(),
            offset: symbol.range.start,
        });
        Loaded {
            symbols: symbols.collect(),
            ..Loaded::new(extracted.program, Origin::Archive)
        }
    }

    /// Whose compiler made the code.
    pub fn code(&self) -> Code {
        match self.origin {
            Origin::Assay => Code::Generated,
            Origin::Archive | Origin::Unknown => Code::OfFile,
        }
    }

    /// Profiles it.
    pub fn profile(&self, options: &Options) -> Result<Profile, Error> {
        let options = Options {
            symbols: self.symbols.clone(),
            origin: self.origin,
            assumed_constants: self.assumed.clone(),
            tensor_operations: self.tensors.clone(),
            ..options.clone()
        };
        profiled(&self.program, &options)
    }
}

/// A profile of code.
pub(crate) fn profiled(program: &Program, options: &Options) -> Result<Profile, Error> {
    Profile::new(program, options).map_err(|error| match error {
        assay_profile::Error::Chip(error) => Error::usage(error.to_string())
            .advice("machine code of M1 and M2 has known costs: --chip m1 … m2-ultra"),
        error => Error::input(error.to_string()),
    })
}

/// What opens the programs of a file.
pub struct Loader<'a> {
    /// The compiler, and whoever is told.
    pub workspace: &'a Workspace,
    /// How kernels become code.
    pub settings: &'a Settings,
    /// One function; otherwise all.
    pub function: Option<&'a str>,
    /// Takes remarks.
    pub note: &'a dyn Fn(&str),
    /// The text of a source that code names.
    pub read: fn(&Path) -> Option<String>,
}

/// More kernels than this are not generated unasked.
const MOST_GENERATED: usize = 64;

impl Loader<'_> {
    /// The programs of a file that was opened already.
    pub fn programs(
        &self,
        path: &Path,
        file: &File<'_>,
        phases: &mut Phases,
    ) -> Result<Vec<Loaded>, Error> {
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .filter(|stem| stem != "-")
            .unwrap_or_default();
        let name = self.function.unwrap_or(&name);
        let raw = |code: &[u8]| {
            let program = raw_program(self.settings.isa, name, code);
            vec![Loaded::new(program, Origin::Unknown)]
        };
        match &file.kind {
            Kind::Listing(listing) => return Ok(raw(listing.code())),
            Kind::Assembly(text) => {
                let assembly = assemble(self.settings.isa, text, 0)
                    .map_err(|error| Error::input(format!("{}: {error}", path.display())))?;
                return Ok(raw(&assembly.code));
            }
            Kind::Source | Kind::Container(_) => {}
        }
        if file.needs_code() {
            return self.generated(path, file, phases);
        }
        match &file.kind {
            Kind::Container(Contents::Code(code)) => Ok(raw(code)),
            Kind::Container(contents) => self.extracted(path, contents, name),
            _ => Ok(Vec::new()),
        }
    }

    /// Machine code that is in the file: the function asked for, the only one, or each in turn.
    fn extracted(
        &self,
        path: &Path,
        contents: &Contents<'_>,
        name: &str,
    ) -> Result<Vec<Loaded>, Error> {
        let mut found = Vec::new();
        for label in labels(contents, self.function) {
            let mut extracted = contents
                .program(label.as_deref())
                .map_err(|error| select_error(path, &error))?;
            if extracted.program.name.is_empty() {
                extracted.program.name = label.unwrap_or_else(|| name.to_owned());
            }
            found.push(Loaded::extracted(extracted));
        }
        Ok(found)
    }

    /// Code generated for the kernels of a file, with the text of its source.
    fn generated(
        &self,
        path: &Path,
        file: &File<'_>,
        phases: &mut Phases,
    ) -> Result<Vec<Loaded>, Error> {
        if !file.is_source() {
            let library = self.library(path, file)?;
            return self.of_library(path, &library, phases);
        }
        let library = phases.step("compile to bitcode (clang)", || self.library(path, file))?;
        if let Ok(text) = std::str::from_utf8(file.bytes()) {
            let names = library.kernels().iter().map(|kernel| kernel.name.as_str());
            for (line, why) in assay_launch::misplaced(text, names) {
                (self.note)(&format!("warning: {}:{line}: {why}", path.display()));
            }
        }
        let mut loaded = self.of_library(path, &library, phases)?;
        for one in &mut loaded {
            name_files(&mut one.program, path, self.workspace.folder.as_deref());
        }
        let sources = Rc::new(self.sources(path, file.bytes(), &loaded));
        for one in &mut loaded {
            one.sources = Rc::clone(&sources);
        }
        Ok(loaded)
    }

    /// Code for the kernels of a library. One that cannot be generated is an error only when
    /// it is alone.
    fn of_library(
        &self,
        path: &Path,
        library: &Library,
        phases: &mut Phases,
    ) -> Result<Vec<Loaded>, Error> {
        let shown = path.display();
        let fail = |error: assay_front::Error| front_error(path, error);
        let kernels = library.choose(self.function).map_err(fail)?;
        if kernels.len() > MOST_GENERATED {
            let count = kernels.len();
            return Err(Error::usage(format!("{shown} holds {count} kernels"))
                .advice("choose one with -f NAME; `assay profile FILE --all` gives a table"));
        }
        let generator = Generator {
            constants: &self.settings.constants,
            isa: self.settings.isa,
            threadgroup: self.settings.threadgroup,
        };
        let mut loaded = Vec::with_capacity(kernels.len());
        let mut constants = Vec::new();
        for kernel in kernels {
            match generator.generate(kernel, phases) {
                Ok(made) => {
                    if !made.assumed.is_empty() {
                        (self.note)(&format!(
                            "{}: function constants without a value are 0 or false: {}",
                            kernel.name,
                            made.assumed.join(", ")
                        ));
                    }
                    constants.extend(made.constants);
                    loaded.push(Loaded {
                        assumed: made.assumed,
                        tensors: made.tensors,
                        arguments: made.arguments,
                        ..Loaded::new(made.program, Origin::Assay)
                    });
                }
                Err(refused) if kernels.len() == 1 => return Err(refused.error()),
                Err(refused) => (self.note)(&refused.message),
            }
        }
        if loaded.is_empty() {
            return Err(Error::input(format!(
                "{shown}: no kernel's code could be generated"
            )));
        }
        let known = constants
            .iter()
            .map(|(index, name)| (*index, name.as_str()));
        // Of kernels without code nobody knows which constants they have.
        if loaded.len() == kernels.len() {
            check_constants(&self.settings.constants, known).map_err(fail)?;
        }
        Ok(loaded)
    }

    /// The text of the file that was compiled, and of the files it includes.
    fn sources(&self, path: &Path, text: &[u8], loaded: &[Loaded]) -> Sources {
        let mut sources = Sources::default();
        let main = shown_name(path).display().to_string();
        sources.add(&main, &String::from_utf8_lossy(text));
        let files = loaded.iter().flat_map(|one| &one.program.files);
        for file in files.filter(|file| **file != main) {
            let known = sources.lines(file).is_some();
            // Bitcode names any file it likes.
            if !known && let Some(text) = (self.read)(Path::new(file)) {
                sources.add(file, &text);
            }
        }
        sources
    }

    /// The kernels of a file, source compiled on the way.
    fn library(&self, path: &Path, file: &File<'_>) -> Result<Library, Error> {
        let library = file.library(&*self.workspace.compiler, &self.settings.source);
        library.map_err(|error| front_error(path, error))
    }
}

/// Why no function of an archive was chosen.
pub fn select_error(path: &Path, error: &SelectError) -> Error {
    let message = format!("{}: {error}", path.display());
    Error::input(message).advised(error.advice())
}

/// The functions to open: the one asked for, the only one, or each in turn.
fn labels(contents: &Contents<'_>, function: Option<&str>) -> Vec<Option<String>> {
    if let Some(name) = function {
        return vec![Some(name.to_owned())];
    }
    let mut names: Vec<Option<String>> = Vec::new();
    for (index, compiled) in contents.compiled().iter().enumerate() {
        let label = compiled
            .name
            .as_deref()
            .map_or_else(|| format!("#{index}"), str::to_owned);
        if !names.iter().flatten().any(|known| *known == label) {
            names.push(Some(label));
        }
    }
    match names.len() {
        0 | 1 => vec![None],
        _ => names,
    }
}
