//! From a file to the programs in it, for every command that profiles.

use crate::apple;
use crate::confine;
use crate::context::Context;
use crate::failure::Failure;
use crate::input;
use crate::model::Model;
use crate::phases::Phases;
use crate::platform::Platform;
use crate::source;
use assay_device::apple::Route;
use assay_engine::Settings;
use assay_engine::loaded::Loader;
use assay_front::{Bytes, File, Kind};
use assay_profile::render::Sources;
use std::path::Path;
use std::rc::Rc;

pub(crate) use assay_engine::loaded::Loaded;

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
    // Apple's compiler is asked where the file is not machine code already.
    let is_program = matches!(file.kind, Kind::Source | Kind::Container(_));
    if is_program && let Some(programs) = apples(path, file, model, context)? {
        return Ok(programs);
    }
    let workspace = source::workspace();
    let settings = match file.needs_code() {
        true => model.settings(path)?,
        false => Settings {
            isa: model.isa,
            ..Settings::default()
        },
    };
    let loader = Loader {
        workspace: &workspace,
        settings: &settings,
        function: model.function.as_deref(),
        note: &|text| context.note(text),
        read: confine::read_to_string,
    };
    let programs = loader.programs(path, file, phases);
    programs.map_err(source::installable)
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
        let mut loaded = Loaded::extracted(extracted);
        loaded.sources = Rc::clone(&sources);
        loaded
    });
    Ok(Some(loaded.collect()))
}
