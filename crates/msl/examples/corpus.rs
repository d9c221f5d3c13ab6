//! Compiles every `.metal` file of a folder and prints a table.
//!
//! ```text
//! cargo run --release -p assay-msl --example corpus -- [-I FOLDER]… [-D NAME]… [-fno-fast-math]
//!     [-o FOLDER] [--clang PROGRAM] [--all-errors] [--print-rewritten] FOLDER…
//! ```
//!
//! The public collections of kernels it is meant for are fetched by whoever runs it;
//! none is part of this project.

use assay_msl::{Compiler, Error, Options, Source, compile, rewritten_text};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]
fn main() {
    let mut options = Options::new(std::env::temp_dir().join("assay-corpus"));
    let mut compiler = Compiler::new("clang-19");
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut out: Option<PathBuf> = None;
    let (mut all, mut print) = (false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "-I" => options.include_folders.push(value().into()),
            "-D" => options.defines.push(value()),
            "-o" => out = Some(value().into()),
            "-fno-fast-math" => options.fast_math = false,
            "--clang" => compiler = Compiler::new(value()),
            "--all-errors" => all = true,
            "--print-rewritten" => print = true,
            _ => folders.push(argument.into()),
        }
    }
    let mut files = Vec::new();
    folders
        .iter()
        .for_each(|folder| collect(folder, &mut files));
    files.sort();
    let (mut good, mut kernels, mut seconds) = (0usize, 0usize, 0f64);
    for file in &files {
        let Ok(text) = std::fs::read(file) else {
            continue;
        };
        if print {
            let source = Source {
                path: file,
                text: &text,
            };
            match rewritten_text(source, &compiler, &options) {
                Ok(text) => println!("{text}"),
                Err(error) => println!("{error}"),
            }
            continue;
        }
        let started = Instant::now();
        let result = compile(
            Source {
                path: file,
                text: &text,
            },
            &compiler,
            &options,
        );
        let time = started.elapsed().as_secs_f64();
        seconds += time;
        let name = file.display();
        match result {
            Ok(compiled) => {
                good += 1;
                kernels += compiled.kernels.len();
                println!(
                    "ok      {time:7.3} s {:6} kernels {:9} bytes  {name}",
                    compiled.kernels.len(),
                    compiled.code.len()
                );
                if let Some(out) = &out {
                    let target = out
                        .join(file.file_name().unwrap_or_default())
                        .with_extension("bc");
                    if let Err(error) = std::fs::write(&target, &compiled.code) {
                        eprintln!("cannot write {}: {error}", target.display());
                    }
                }
            }
            Err(Error::Source(errors)) => {
                println!("FAILED  {time:7.3} s {:6} errors  {name}", errors.len());
                for error in errors.iter().take(if all { 100 } else { 1 }) {
                    println!("        {error}");
                }
            }
            Err(error) => println!("FAILED  {time:7.3} s {name}\n        {error}"),
        }
    }
    println!(
        "{good} of {} files, {kernels} kernels, {seconds:.1} s",
        files.len()
    );
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path
        .extension()
        .is_some_and(|extension| extension == "metal")
    {
        files.push(path.to_owned());
    } else if let Ok(entries) = std::fs::read_dir(path) {
        for entry in entries.filter_map(Result::ok) {
            collect(&entry.path(), files);
        }
    }
}
