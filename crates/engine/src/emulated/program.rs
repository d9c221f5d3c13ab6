//! The program to run: raw code, a listing or a function of an archive.

use crate::Error;
use crate::{Settings, Workspace, front_error, shown_name};
use assay_agx::{Family, Program};
use assay_container::Contents;
use assay_container::image::CompiledFunction;
use assay_front::{Bytes, File, Kind};
use assay_ssa::Argument;
use std::path::Path;

/// A program, and what is known about it besides.
pub struct Opened {
    /// The code.
    pub program: Program,
    /// The arguments of generated code, whether it looks at them or not.
    pub arguments: Option<Vec<Argument>>,
    /// The file.
    pub bytes: Bytes,
}

impl From<Program> for Opened {
    fn from(program: Program) -> Self {
        Opened {
            program,
            arguments: None,
            bytes: Bytes::from(Vec::new()),
        }
    }
}

/// The program of a file: its kernel's generated code, a function of an archive, or its bytes.
pub fn program(
    workspace: &Workspace,
    path: &Path,
    bytes: &Bytes,
    function: Option<&str>,
    settings: &Settings,
) -> Result<Opened, Error> {
    let name = path.display().to_string();
    let raw = || assay_container::raw_program(settings.isa, &name, bytes).into();
    let file = match File::open(path, bytes) {
        Ok(file) => file.named(shown_name(path)),
        // Whatever nothing else claims is taken for code.
        Err(assay_front::Error::Container(_)) => return Ok(raw()),
        Err(error) => return Err(front_error(path, error)),
    };
    if file.needs_code() {
        let kernel = workspace.open(path, bytes, function, settings)?;
        let made = kernel.code()?;
        return Ok(Opened {
            program: made.program.clone(),
            arguments: Some(made.arguments.clone()),
            bytes: bytes.clone(),
        });
    }
    match file.kind {
        Kind::Listing(listing) => {
            let program = Program {
                code: listing.bytes,
                entry: listing.first,
                ..Program::new(settings.isa, &name)
            };
            Ok(program.into())
        }
        Kind::Container(Contents::Code(_)) | Kind::Source | Kind::Assembly(_) => Ok(raw()),
        Kind::Container(contents) => archived(&contents, &name, function),
    }
}

/// A function of an archive.
fn archived(contents: &Contents<'_>, name: &str, wanted: Option<&str>) -> Result<Opened, Error> {
    let mut functions = contents.compiled();
    if functions.is_empty() {
        let kind = contents.describe();
        return Err(
            Error::input(format!("{name} is a {kind}, without machine code"))
                .advice("compile it for an M1 or M2 GPU first"),
        );
    }
    // The same function may be there for several GPUs.
    for family in [Family::G13, Family::G15] {
        let of = |function: &CompiledFunction<'_>| {
            let isa = function.isa();
            isa.is_some_and(|isa| isa.family() == family)
        };
        if functions.iter().any(|function| of(function)) {
            functions.retain(|function| of(function));
            break;
        }
    }
    let named = |function: &CompiledFunction<'_>| function.name.as_deref().unwrap_or("").to_owned();
    let names: Vec<String> = functions.iter().map(|function| named(function)).collect();
    let names = || names.iter().map(String::as_str);
    let index = match wanted {
        None if functions.len() == 1 => Some(0),
        None => {
            let listed: Vec<&str> = names().take(20).collect();
            let message = format!("{name} has {} functions", functions.len());
            return Err(
                Error::usage(message).advice(format!("choose one with -f: {}", listed.join(", ")))
            );
        }
        Some(wanted) => names().position(|name| name == wanted),
    };
    let Some(function) = index.and_then(|index| functions.get(index)) else {
        let wanted = wanted.unwrap_or_default();
        return Err(crate::names::unknown(name, "function", wanted, names()));
    };
    let extracted = function
        .to_program()
        .map_err(|error| Error::input(format!("{name}: {error}")))?;
    Ok(extracted.program.into())
}
