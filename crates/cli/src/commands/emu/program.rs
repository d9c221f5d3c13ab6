//! The program to run: raw code, a listing or a function of an archive.

use super::Args;
use crate::failure::Failure;
use crate::{generate, input, source};
use assay_agx::{Family, Program};
use assay_container::Contents;
use assay_container::image::CompiledFunction;
use assay_front::{Bytes, File, Kind};
use assay_ssa::Argument;

/// A program, and what is known about it besides.
pub(super) struct Opened {
    pub(super) program: Program,
    /// The arguments of generated code, whether it looks at them or not.
    pub(super) arguments: Option<Vec<Argument>>,
    /// The file.
    pub(super) bytes: Bytes,
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

/// The program named on the command line.
pub(super) fn open(args: &Args) -> Result<Opened, Failure> {
    let bytes = input::open(&args.code)?;
    let name = args.code.display().to_string();
    let mut opened = read_program(&bytes, &name, args)?;
    let program = &mut opened.program;
    if let Some(path) = &args.preamble {
        let bytes = input::open(path)?;
        let file = File::open(path, &bytes);
        program.constant_program = match file.map(|file| file.kind) {
            Ok(Kind::Listing(listing)) => listing.bytes,
            Err(error @ assay_front::Error::Listing(_)) => {
                return Err(source::failure(path, error));
            }
            _ => bytes.to_vec(),
        };
    }
    if let Some(entry) = args.entry {
        program.entry = entry;
    }
    Ok(opened)
}

fn read_program(bytes: &Bytes, name: &str, args: &Args) -> Result<Opened, Failure> {
    let raw = || assay_container::raw_program(args.isa, name, bytes).into();
    let file = match File::open(&args.code, bytes) {
        Ok(file) => file.named(source::shown_name(&args.code)),
        // Whatever nothing else claims is taken for code.
        Err(assay_front::Error::Container(_)) => return Ok(raw()),
        Err(error) => return Err(source::failure(&args.code, error)),
    };
    if file.needs_code() {
        let function = args.function.as_deref();
        let made = generate::one(&args.code, &file, function, &args.programs, args.isa)?;
        return Ok(Opened {
            program: made.program,
            arguments: Some(made.arguments),
            bytes: bytes.clone(),
        });
    }
    match file.kind {
        Kind::Listing(listing) => {
            let program = Program {
                code: listing.bytes,
                entry: listing.first,
                ..Program::new(args.isa, name)
            };
            Ok(program.into())
        }
        Kind::Container(Contents::Code(_)) | Kind::Source | Kind::Assembly(_) => Ok(raw()),
        Kind::Container(contents) => archived(&contents, name, args),
    }
}

/// A function of an archive.
fn archived(contents: &Contents<'_>, name: &str, args: &Args) -> Result<Opened, Failure> {
    let mut functions = contents.compiled();
    if functions.is_empty() {
        let kind = contents.describe();
        return Err(
            Failure::input(format!("{name} is a {kind}, without machine code"))
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
    let index = match &args.function {
        None if functions.len() == 1 => Some(0),
        None => {
            let listed: Vec<&str> = names().take(20).collect();
            let message = format!("{name} has {} functions", functions.len());
            return Err(Failure::usage(message)
                .advice(format!("choose one with -f: {}", listed.join(", "))));
        }
        Some(wanted) => names().position(|name| name == wanted.as_str()),
    };
    let Some(function) = index.and_then(|index| functions.get(index)) else {
        let wanted = args.function.as_deref().unwrap_or_default();
        return Err(assay_engine::names::unknown(
            name,
            "function",
            wanted,
            names(),
        ));
    };
    let extracted = function
        .to_program()
        .map_err(|error| Failure::input(format!("{name}: {error}")))?;
    Ok(extracted.program.into())
}
