//! The program to run: raw code, a listing or a function of an archive.

use super::Args;
use crate::failure::Failure;
use crate::generate;
use crate::input;
use assay_agx::Program;
use assay_container::Contents;
use assay_container::image::CompiledFunction;
use assay_emu::listing;
use std::path::Path;

/// The program named on the command line.
pub(super) fn open(args: &Args) -> Result<Program, Failure> {
    let bytes = input::open(&args.code)?;
    let name = args.code.display().to_string();
    let mut program = read_program(&bytes, &name, args)?;
    if let Some(path) = &args.preamble {
        let bytes = input::open(path)?;
        program.constant_program = match listing::looks_like(&bytes) {
            true => read_listing(&bytes, path)?.bytes,
            false => bytes.to_vec(),
        };
    }
    if let Some(entry) = args.entry {
        program.entry = entry;
    }
    Ok(program)
}

fn read_listing(bytes: &[u8], path: &Path) -> Result<listing::Listing, Failure> {
    let text = String::from_utf8_lossy(bytes);
    listing::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn read_program(bytes: &[u8], name: &str, args: &Args) -> Result<Program, Failure> {
    if listing::looks_like(bytes) {
        let listing = read_listing(bytes, &args.code)?;
        return Ok(Program {
            code: listing.bytes,
            entry: listing.first,
            ..Program::new(args.isa, name)
        });
    }
    let function = args.function.as_deref();
    if let Some(program) = generate::one(&args.code, bytes, function, &args.programs, args.isa)? {
        return Ok(program);
    }
    let contents = match assay_container::open(bytes) {
        Ok(Contents::Code(_)) | Err(_) => {
            return Ok(assay_container::raw_program(args.isa, name, bytes));
        }
        Ok(contents) => contents,
    };
    let mut functions = contents.compiled();
    if functions.is_empty() {
        let kind = contents.describe();
        return Err(
            Failure::input(format!("{name} is a {kind}, without machine code"))
                .advice("compile it for an M1 or M2 GPU first"),
        );
    }
    // The same function may be there for several GPUs.
    if functions.iter().any(|function| function.gpu.is_decodable()) {
        functions.retain(|function| function.gpu.is_decodable());
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
        return Err(crate::names::unknown(name, "function", wanted, names()));
    };
    let extracted = function
        .to_program()
        .map_err(|error| Failure::input(format!("{name}: {error}")))?;
    Ok(extracted.program)
}
