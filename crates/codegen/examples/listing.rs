//! Shows what a kernel becomes: the machine instructions over virtual registers, then
//! the code.
//!
//! ```text
//! cargo run --release -p assay-codegen --example listing -- examples/kernels/saxpy.metal saxpy
//! ```

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/load.rs"]
#[allow(dead_code, reason = "the judge uses the rest")]
mod load;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn show(file: &str, kernel: &str, fast_math: bool) -> Result<(), String> {
    let build = load::Build {
        fast_math,
        ..load::Build::default()
    };
    let library = load::library(Path::new(file), &build)?;
    let found = library.kernel(kernel).map_err(|error| error.to_string())?;
    let module = load::program(found)?;
    let options = assay_codegen::Options::default();
    let mir = assay_codegen::lower::lower(&module, kernel, &options)
        .map_err(|error| error.to_string())?;
    println!("{}", mir.main);
    let start = Instant::now();
    let program = assay_codegen::back::finish(mir, &options).map_err(|error| error.to_string())?;
    eprintln!("host: {:?} in the back end", start.elapsed());
    for (offset, item) in program.walk() {
        match item.known().map(|insn| insn.words(offset)) {
            Some(words) if words == "trap" => break,
            Some(words) => println!("{offset:6x}: {words}"),
            None => println!("{offset:6x}: ?"),
        }
    }
    println!(
        "{} bytes, {:?} half registers, {:?} bytes of stack",
        program.code.len(),
        program.half_registers,
        program.scratch_bytes
    );
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, kernel, fast_math) = match args.as_slice() {
        [file, kernel] => (file, kernel, true),
        [option, file, kernel] if option == "--precise" => (file, kernel, false),
        _ => {
            eprintln!("usage: listing [--precise] FILE KERNEL");
            return ExitCode::from(2);
        }
    };
    match show(file, kernel, fast_math) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("listing: {message}");
            ExitCode::from(3)
        }
    }
}
