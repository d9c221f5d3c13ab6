//! From a file to the programs in it, for every command that profiles.

use super::model::Model;
use crate::apple;
use crate::commands::ir::program::check_constants;
use crate::context::Context;
use crate::failure::Failure;
use crate::generate::{self, Generator};
use crate::input::{self, Input};
use crate::phases::Phases;
use crate::source;
use assay_agx::{Program, assemble};
use assay_container::{Contents, Extracted, SelectError, raw_program};
use assay_device::apple::Route;
use assay_profile::render::Sources;
use assay_profile::{Options, Origin, Profile, Symbol};
use std::path::Path;
use std::rc::Rc;

/// A program and what is known beside it.
pub(crate) struct Loaded {
    pub(crate) program: Program,
    symbols: Vec<Symbol>,
    pub(crate) origin: Origin,
    /// The text of its source, as far as there is any.
    pub(crate) sources: Rc<Sources>,
}

impl Loaded {
    fn new(program: Program, origin: Origin) -> Loaded {
        Loaded {
            program,
            symbols: Vec::new(),
            origin,
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

    /// Profiles it.
    pub(crate) fn profile(&self, options: &Options) -> Result<Profile, Failure> {
        let options = Options {
            symbols: self.symbols.clone(),
            origin: self.origin,
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

    pub(crate) fn open(self) -> Result<Input, Failure> {
        match self {
            Place::File(path) => input::open(path),
            Place::Text(text) => Ok(Input::Owned(text.as_bytes().to_vec())),
        }
    }
}

/// More kernels than this are not generated unasked.
const MOST_GENERATED: usize = 64;

/// The programs of a file: the one named, or all.
pub(crate) fn programs(
    place: Place<'_>,
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    from_bytes(place.path(), place.open()?, model, phases, context)
}

/// The programs in the bytes of a file.
pub(crate) fn from_bytes(
    path: &Path,
    bytes: Input,
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    let function = model.function.as_deref();
    let shown = path.display().to_string();
    if bytes.is_empty() {
        return Err(Failure::input(format!(
            "{shown} is empty: there is no code in it"
        )));
    }
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .filter(|stem| stem != "-")
        .unwrap_or_default();
    let name = function.unwrap_or(&name);
    let raw = |code: &[u8]| {
        let program = raw_program(model.isa, name, code);
        vec![Loaded::new(program, Origin::Unknown)]
    };
    if let Some(code) = from_text(path, &bytes, model)? {
        return Ok(raw(&code));
    }
    if let Some(programs) = apples(path, &bytes, model, context)? {
        return Ok(programs);
    }
    let text = source::is_source(path, &bytes).then(|| bytes.to_vec());
    let bytes = generate::compiled(path, bytes, &model.code.source, phases)?;
    let fail = |error: assay_container::Error| with_advice(&shown, &error, error.advice());
    let contents = assay_container::open(&bytes).map_err(fail)?;
    if generate::is_wanted(&contents) {
        let mut loaded = generated(&shown, &bytes, model, phases, context)?;
        if let Some(text) = text {
            for one in &mut loaded {
                generate::name_files(&mut one.program, path);
            }
            let sources = Rc::new(sources(path, &text, &loaded));
            for one in &mut loaded {
                one.sources = Rc::clone(&sources);
            }
        }
        return Ok(loaded);
    }
    if let Contents::Code(code) = contents {
        return Ok(raw(code));
    }
    let mut found = Vec::new();
    for label in labels(&contents, function) {
        let mut extracted = contents
            .program(label.as_deref())
            .map_err(|error| select_failure(&shown, &error))?;
        if extracted.program.name.is_empty() {
            extracted.program.name = label.unwrap_or_else(|| name.to_owned());
        }
        found.push(Loaded::extracted(extracted));
    }
    Ok(found)
}

/// The code of a listing or of assembly.
fn from_text(path: &Path, bytes: &[u8], model: &Model) -> Result<Option<Vec<u8>>, Failure> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(None);
    };
    if let Some(code) = listing(text) {
        return Ok(Some(code));
    }
    let is_assembly = path
        .extension()
        .is_some_and(|extension| extension == "agx" || extension == "s");
    if !is_assembly {
        return Ok(None);
    }
    let assembly = assemble(model.isa, text, 0)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    Ok(Some(assembly.code))
}

/// Apple's own code for source and metallibs, on a Mac that can make it.
fn apples(
    path: &Path,
    bytes: &[u8],
    model: &Model,
    context: &Context,
) -> Result<Option<Vec<Loaded>>, Failure> {
    let request = apple::Request {
        path,
        bytes,
        function: model.function.as_deref(),
        constants: &model.code.constants,
        source: &model.code.source,
    };
    let made = apple::programs(model.code.compiler, &request, |text| context.note(text))?;
    let Some(made) = made else {
        return Ok(None);
    };
    let mut sources = Sources::default();
    if let Ok(text) = std::str::from_utf8(bytes) {
        sources.add(&source::shown_name(path).display().to_string(), text);
    }
    let sources = Rc::new(sources);
    let loaded = made.into_iter().map(|(extracted, route)| {
        context.note(match route {
            Route::MetalTt => "code made by Apple's metal-tt for M1 (apple7)",
            Route::BinaryArchive => "code made by Apple's compiler for this machine's GPU",
        });
        Loaded {
            sources: Rc::clone(&sources),
            ..Loaded::extracted(extracted)
        }
    });
    Ok(Some(loaded.collect()))
}

/// Code for the kernels of a program. One that cannot be generated is an error only when
/// it is alone.
fn generated(
    shown: &str,
    bytes: &[u8],
    model: &Model,
    phases: &mut Phases,
    context: &Context,
) -> Result<Vec<Loaded>, Failure> {
    let kernels = generate::kernels(shown, bytes, model.function.as_deref())?;
    if kernels.len() > MOST_GENERATED {
        let count = kernels.len();
        return Err(Failure::usage(format!("{shown} holds {count} kernels"))
            .advice("choose one with -f NAME; `assay profile FILE --all` gives a table"));
    }
    let generator: Generator<'_> = model.generator();
    let mut loaded = Vec::with_capacity(kernels.len());
    let mut constants = Vec::new();
    for kernel in &kernels {
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
                loaded.push(Loaded::new(made.program, Origin::Assay));
            }
            Err(refused) if kernels.len() == 1 => return Err(refused.failure()),
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
        check_constants(&model.code.constants, known)?;
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
        if !known && let Ok(text) = std::fs::read_to_string(file) {
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

fn with_advice(shown: &str, error: &dyn std::fmt::Display, advice: Option<&str>) -> Failure {
    let failure = Failure::input(format!("{shown}: {error}"));
    match advice {
        Some(advice) => failure.advice(advice),
        None => failure,
    }
}

fn select_failure(shown: &str, error: &SelectError) -> Failure {
    with_advice(shown, error, error.advice())
}

/// The code of a listing with tabs: `offset ⇥ hex ⇥ anything`.
fn listing(text: &str) -> Option<Vec<u8>> {
    let mut code = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            continue;
        }
        let mut columns = line.split('\t');
        u64::from_str_radix(columns.next()?.trim_start_matches("0x"), 16).ok()?;
        let hex = columns.next()?;
        if hex.is_empty() || hex.len() % 2 != 0 || !hex.is_ascii() {
            return None;
        }
        for at in (0..hex.len()).step_by(2) {
            code.push(u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?);
        }
    }
    (!code.is_empty()).then_some(code)
}
