//! A folder of sources: one table.

use super::{Args, Document, FileEntry, Format, show};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::input;
use assay_engine::diagnostics;
use assay_msl::{Compiler, Error, Options, Source, compile};
use assay_report::envelope::Envelope;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn run(
    args: &Args,
    compiler: &Compiler,
    options: &Options,
    context: &Context,
) -> CommandResult {
    let mut files = Vec::new();
    collect(&args.path, &mut files, &mut BTreeSet::new(), 0)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::input(format!(
            "{} holds no .metal file",
            args.path.display()
        )));
    }
    let entries = compile_all(&files, compiler, options, context);
    let ok = entries.iter().all(|entry| entry.ok);
    let text = match args.format {
        Format::Json => {
            let document = Document {
                compiler: compiler.command_line(),
                ok,
                files: entries,
            };
            Envelope::new("assay.compile", 1, document).to_json()
        }
        Format::Text => table(&args.path, &entries, context),
    };
    context.write(&text)?;
    Ok(if ok { Outcome::Fine } else { Outcome::Failed })
}

/// Folders nested deeper than this are not entered.
const MAX_DEPTH: usize = 32;

/// Adds the sources of a folder. `seen` are the real paths of folders that were entered: links may go in circles.
fn collect(
    folder: &Path,
    files: &mut Vec<PathBuf>,
    seen: &mut BTreeSet<PathBuf>,
    depth: usize,
) -> Result<(), Failure> {
    if !seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.to_owned())) {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", folder.display())))?;
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() && depth < MAX_DEPTH {
            collect(&path, files, seen, depth + 1)?;
        } else if path.extension().is_some_and(|name| name == "metal") && path.is_file() {
            // A FIFO would be waited for, and a device has no end.
            files.push(path);
        }
    }
    Ok(())
}

/// Compiles on every core; the order of the result is that of `files`.
fn compile_all(
    files: &[PathBuf],
    compiler: &Compiler,
    options: &Options,
    context: &Context,
) -> Vec<FileEntry> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, FileEntry)>> = Mutex::new(Vec::with_capacity(files.len()));
    let workers = crate::machine::threads();
    std::thread::scope(|scope| {
        for _ in 0..workers.min(files.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(index) else { break };
                    let entry = compile_one(file, compiler, options);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, entry));
                        progress(done.len(), files.len(), context);
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, entry)| entry).collect()
}

fn progress(done: usize, all: usize, context: &Context) {
    if context.progress {
        let end = if done == all { "\r\u{1b}[K" } else { "" };
        anstream::eprint!("\r{done}/{all} files{end}");
    }
}

fn compile_one(file: &Path, compiler: &Compiler, options: &Options) -> FileEntry {
    let mut entry = FileEntry {
        path: file.display().to_string(),
        ok: false,
        seconds: 0.0,
        bytes: None,
        kernels: Vec::new(),
        errors: Vec::new(),
    };
    let plain = |message: String| diagnostics::ErrorEntry {
        message,
        file: None,
        line: None,
        column: None,
        source_line: None,
        notes: Vec::new(),
    };
    let text = match input::open(file) {
        Ok(text) => text,
        Err(failure) => {
            entry.errors.push(plain(failure.message));
            return entry;
        }
    };
    let started = std::time::Instant::now();
    let result = compile(
        Source {
            path: file,
            text: &text,
        },
        compiler,
        options,
    );
    entry.seconds = started.elapsed().as_secs_f64();
    match result {
        Ok(compiled) => {
            entry.ok = true;
            entry.bytes = Some(compiled.code.len());
            entry.kernels = compiled.kernels.iter().map(show::kernel_entry).collect();
        }
        Err(Error::Source(errors)) => {
            entry.errors = errors.iter().map(diagnostics::error_entry).collect()
        }
        Err(error) => entry.errors.push(plain(error.to_string())),
    }
    entry
}

fn table(folder: &Path, entries: &[FileEntry], context: &Context) -> String {
    let mut table = Table::new([
        Column::left("file"),
        Column::right("kernels"),
        Column::left("result"),
        Column::right("seconds"),
        Column::left("first error").shrink(),
    ])
    .painter(context.painter);
    for entry in entries {
        let path = Path::new(&entry.path);
        let name = path
            .strip_prefix(folder)
            .unwrap_or(path)
            .display()
            .to_string();
        let (result, role) = if entry.ok {
            ("ok", Role::Good)
        } else {
            ("failed", Role::Bad)
        };
        let first = entry
            .errors
            .first()
            .map_or(String::new(), |error| match error.line {
                Some(line) => format!("line {line}: {}", error.message),
                None => error.message.clone(),
            });
        table.row([
            Cell::from(name),
            Cell::from(entry.kernels.len().to_string()),
            Cell::new(result, role),
            Cell::from(format!("{:.2}", entry.seconds)),
            Cell::from(first),
        ]);
    }
    let good = entries.iter().filter(|entry| entry.ok).count();
    let kernels: usize = entries.iter().map(|entry| entry.kernels.len()).sum();
    let seconds: f64 = entries.iter().map(|entry| entry.seconds).sum();
    format!(
        "{}\n{good} of {} files compiled, {kernels} kernels, {seconds:.1} s of host time\n",
        table.render(context.width),
        entries.len()
    )
}
