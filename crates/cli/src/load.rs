//! From a file to the programs in it, for every command that profiles.

use crate::apple;
use crate::confine;
use crate::context::Context;
use crate::failure::Failure;
use crate::generate::{self, Generator};
use crate::input;
use crate::model::Model;
use crate::phases::Phases;
use crate::platform::Platform;
use crate::prediction::Code;
use crate::source;
use assay_agx::{Program, assemble};
use assay_container::{Contents, Extracted, raw_program};
use assay_device::apple::Route;
use assay_front::{Bytes, File, Kind, Library, check_constants};
use assay_profile::render::Sources;
use assay_profile::{Options, Origin, Profile, Symbol};
use assay_ssa::Argument;
use std::path::Path;
use std::rc::Rc;

/// A program and what is known beside it.
pub(crate) struct Loaded {
    pub(crate) program: Program,
    symbols: Vec<Symbol>,
    pub(crate) origin: Origin,
    /// Function constants that were given no value.
    assumed: Vec<String>,
    /// Tensor operations of its source.
    tensors: Vec<assay_profile::TensorOperation>,
    /// The arguments of its kernel; none of machine code.
    pub(crate) arguments: Vec<Argument>,
    /// The text of its source, as far as there is any.
    pub(crate) sources: Rc<Sources>,
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

    fn extracted(extracted: Extracted) -> Loaded {
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
    pub(crate) fn code(&self) -> Code {
        match self.origin {
            Origin::Assay => Code::Generated,
            Origin::Archive | Origin::Unknown => Code::OfFile,
        }
    }

    /// Profiles it.
    pub(crate) fn profile(&self, options: &Options) -> Result<Profile, Failure> {
        let options = Options {
            symbols: self.symbols.clone(),
            origin: self.origin,
            assumed_constants: self.assumed.clone(),
            tensor_operations: self.tensors.clone(),
            ..options.clone()
        };
        Profile::new(&self.program, &options).map_err(|error| match error {
            assay_profile::Error::Chip(error) => Failure::usage(error.to_string())
                .advice("machine code of M1 and M2 has known costs: --chip m1 … m2-ultra"),
            error => Failure::input(error.to_string()),
        })
    }
}

/// Where kernels come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// A file; `-` is standard input.
    File(&'a Path),
    /// Metal source on the command line.
    Text(&'a str),
}

impl<'a> Place<'a> {
    /// A name for messages and for what is compiled.
    pub(crate) fn path(self) -> &'a Path {
        match self {
            Place::File(path) => path,
            Place::Text(_) => Path::new("source.metal"),
        }
    }

    pub(crate) fn open(self) -> Result<Bytes, Failure> {
        match self {
            Place::File(path) => input::open(path),
            Place::Text(text) => Ok(Bytes::from(text.as_bytes().to_vec())),
        }
    }
}

/// More kernels than this are not generated unasked.
const MOST_GENERATED: usize = 64;

/// The programs of a file that was read already: the one named, or all.
pub(crate) fn of_bytes(
    place: Place<'_>,
    bytes: &Bytes,
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    let file = open(place.path(), bytes)?;
    of_file(place.path(), &file, model, phases, context)
}

/// Looks at what a file is; one without a byte holds no code.
pub(crate) fn open<'a>(path: &'a Path, bytes: &'a Bytes) -> Result<File<'a>, Failure> {
    if bytes.is_empty() {
        let shown = path.display();
        return Err(Failure::input(format!(
            "{shown} is empty: there is no code in it"
        )));
    }
    source::open(path, bytes)
}

/// The programs of a file that was opened already.
pub(crate) fn of_file(
    path: &Path,
    file: &File<'_>,
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .filter(|stem| stem != "-")
        .unwrap_or_default();
    let name = model.function.as_deref().unwrap_or(&name);
    let raw = |code: &[u8]| {
        let program = raw_program(model.isa, name, code);
        vec![Loaded::new(program, Origin::Unknown)]
    };
    match &file.kind {
        Kind::Listing(listing) => return Ok(raw(listing.code())),
        Kind::Assembly(text) => {
            let assembly = assemble(model.isa, text, 0)
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
            return Ok(raw(&assembly.code));
        }
        Kind::Source | Kind::Container(_) => {}
    }
    if let Some(programs) = apples(path, file, model, context)? {
        return Ok(programs);
    }
    if file.needs_code() {
        return generated(path, file, model, phases, context);
    }
    match &file.kind {
        Kind::Container(Contents::Code(code)) => Ok(raw(code)),
        Kind::Container(contents) => extracted(path, contents, name, model),
        _ => Ok(Vec::new()),
    }
}

/// Machine code that is in the file: the function asked for, the only one, or each in turn.
fn extracted(
    path: &Path,
    contents: &Contents<'_>,
    name: &str,
    model: &Model,
) -> Result<Vec<Loaded>, Failure> {
    let mut found = Vec::new();
    for label in labels(contents, model.function.as_deref()) {
        let mut extracted = contents
            .program(label.as_deref())
            .map_err(|error| source::select_failure(path, &error))?;
        if extracted.program.name.is_empty() {
            extracted.program.name = label.unwrap_or_else(|| name.to_owned());
        }
        found.push(Loaded::extracted(extracted));
    }
    Ok(found)
}

/// Apple's own code for source and metallibs, on a Mac that can make it.
fn apples(
    path: &Path,
    file: &File<'_>,
    model: &Model,
    context: &Context,
) -> Result<Option<Vec<Loaded>>, Failure> {
    let request = apple::Request {
        path,
        file,
        function: model.function.as_deref(),
        constants: &model.code.values.constants,
        source: &model.code.source,
    };
    let note = |text: &str| context.note(text);
    let made = apple::programs(model.code.compiler, &request, Platform::here(), note)?;
    let Some(made) = made else {
        return Ok(None);
    };
    let mut sources = Sources::default();
    if let Ok(text) = std::str::from_utf8(file.bytes()) {
        sources.add(&source::shown_name(path).display().to_string(), text);
    }
    let sources = Rc::new(sources);
    let loaded = made.into_iter().map(|(extracted, route)| {
        context.note(match route {
            Route::MetalTt => "code made by Apple's metal-tt for M1",
            Route::BinaryArchive => "code made by Apple's compiler for this machine's GPU",
        });
        Loaded {
            sources: Rc::clone(&sources),
            ..Loaded::extracted(extracted)
        }
    });
    Ok(Some(loaded.collect()))
}

/// Code generated for the kernels of a file, with the text of its source.
fn generated(
    path: &Path,
    file: &File<'_>,
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    if !file.is_source() {
        let library = source::library(path, file, &model.code.source)?;
        return of_library(path, &library, model, phases, context);
    }
    let library = phases.step("compile to bitcode (clang)", || {
        source::library(path, file, &model.code.source)
    })?;
    if let Ok(text) = std::str::from_utf8(file.bytes()) {
        let names = library.kernels().iter().map(|kernel| kernel.name.as_str());
        for (line, why) in assay_launch::misplaced(text, names) {
            context.note(&format!("warning: {}:{line}: {why}", path.display()));
        }
    }
    let mut loaded = of_library(path, &library, model, phases, context)?;
    for one in &mut loaded {
        generate::name_files(&mut one.program, path);
    }
    let sources = Rc::new(sources(path, file.bytes(), &loaded));
    for one in &mut loaded {
        one.sources = Rc::clone(&sources);
    }
    Ok(loaded)
}

/// Code for the kernels of a library. One that cannot be generated is an error only when
/// it is alone.
fn of_library(
    path: &Path,
    library: &Library,
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    let shown = path.display();
    let fail = |error: assay_front::Error| source::failure(path, error);
    let kernels = library.choose(model.function.as_deref()).map_err(fail)?;
    if kernels.len() > MOST_GENERATED {
        let count = kernels.len();
        return Err(Failure::usage(format!("{shown} holds {count} kernels"))
            .advice("choose one with -f NAME; `assay profile FILE --all` gives a table"));
    }
    let generator: Generator<'_> = model.generator()?;
    let mut loaded = Vec::with_capacity(kernels.len());
    let mut constants = Vec::new();
    for kernel in kernels {
        match generator.generate(kernel, phases) {
            Ok(made) => {
                if !made.assumed.is_empty() {
                    context.note(&format!(
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
            Err(refused) => context.note(&refused.message),
        }
    }
    if loaded.is_empty() {
        return Err(Failure::input(format!(
            "{shown}: no kernel's code could be generated"
        )));
    }
    let known = constants
        .iter()
        .map(|(index, name)| (*index, name.as_str()));
    // Of kernels without code nobody knows which constants they have.
    if loaded.len() == kernels.len() {
        check_constants(&model.code.values.constants, known).map_err(fail)?;
    }
    Ok(loaded)
}

/// The text of the file that was compiled, and of the files it includes.
fn sources(path: &Path, text: &[u8], loaded: &[Loaded]) -> Sources {
    let mut sources = Sources::default();
    let main = source::shown_name(path).display().to_string();
    sources.add(&main, &String::from_utf8_lossy(text));
    let files = loaded.iter().flat_map(|one| &one.program.files);
    for file in files.filter(|file| **file != main) {
        let known = sources.lines(file).is_some();
        // Bitcode names any file it likes.
        if !known && let Some(text) = confine::read_to_string(Path::new(file)) {
            sources.add(file, &text);
        }
    }
    sources
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
