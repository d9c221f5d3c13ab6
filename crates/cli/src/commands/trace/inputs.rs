//! From paths to a recording: files, folders, bundles, standard input.

use super::modelled::{self, Modelled};
use crate::context::Context;
use crate::failure::{Failure, Kind};
use assay_trace::{Bundle, Error, LoadOptions, Loader, Recording, Source};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Loads what `paths` name.
pub(crate) fn load(
    paths: &[PathBuf],
    run: Option<u32>,
    modelled: &Modelled,
    context: &Context,
) -> Result<Recording, Failure> {
    if let [path] = paths
        && modelled::is_recording(path)
    {
        return modelled::load(path, modelled, context);
    }
    let mut loader = Loader::new(LoadOptions {
        run,
        ..LoadOptions::default()
    });
    for path in paths {
        if modelled::is_recording(path) {
            let shown = path.display();
            return Err(Failure::usage(format!(
                "{shown} is a recording of a program and cannot be mixed with other inputs"
            )));
        }
        add(&mut loader, path, context)?;
    }
    loader.finish().map_err(|error| failure(error, None))
}

fn add(loader: &mut Loader, path: &Path, context: &Context) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let spooled = spool()?;
        return add_file(loader, "standard input", &Spooled(spooled), context);
    }
    let metadata = std::fs::metadata(path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
    if !metadata.is_dir() {
        let name = path.display().to_string();
        return add_file(loader, &name, &FileSource(path.to_owned()), context);
    }
    let folder = Folder(path.to_owned());
    if assay_trace::is_capture(&folder) {
        let recording = assay_trace::read_capture(&folder)
            .map_err(|error| failure(error, Some(&path.display().to_string())))?;
        let name = path.display().to_string();
        return loader
            .add_recording(&name, recording)
            .map_err(|error| failure(error, None));
    }
    if is_trace_bundle(path) {
        let folder = super::record::export_bundle(path, context)?;
        return add_folder(loader, folder.path(), context);
    }
    add_folder(loader, path, context)
}

fn add_folder(loader: &mut Loader, path: &Path, context: &Context) -> Result<(), Failure> {
    let fail =
        |error: std::io::Error| Failure::input(format!("cannot read {}: {error}", path.display()));
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fail)? {
        let file = entry.map_err(fail)?.path();
        let hidden = file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if file.is_file() && !hidden {
            files.push(file);
        }
    }
    files.sort();
    let mut read = 0;
    for file in &files {
        let name = file
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let source = FileSource(file.clone());
        match add_source(loader, &name, &source, context) {
            Ok(()) => read += 1,
            // A folder may hold notes and pictures beside the tables.
            Err(Error::Unrecognised(_) | Error::NotAnExport { .. }) => {
                if context.verbosity > crate::context::Verbosity::Normal {
                    context.note(&format!("not a trace, left out: {}", file.display()));
                }
            }
            Err(error) => return Err(failure(error, Some(&file.display().to_string()))),
        }
    }
    if read == 0 {
        return Err(Failure::input(format!(
            "{} holds no exported tables",
            path.display()
        ))
        .advice(
            "export them on the Mac: xctrace export --input RUN.trace --xpath '/trace-toc/run[@number=\"1\"]/data/table[@schema=\"metal-gpu-intervals\"]' --output metal-gpu-intervals.xml",
        ));
    }
    Ok(())
}

fn add_file(
    loader: &mut Loader,
    name: &str,
    source: &dyn Source,
    context: &Context,
) -> Result<(), Failure> {
    add_source(loader, name, source, context).map_err(|error| failure(error, Some(name)))
}

/// Inputs smaller than this are read before a bar could be drawn.
const BAR_FROM: u64 = 64 << 20;

fn add_source(
    loader: &mut Loader,
    name: &str,
    source: &dyn Source,
    context: &Context,
) -> Result<(), Error> {
    let size = source.size().unwrap_or(0);
    let bar = if context.progress && size >= BAR_FROM {
        ProgressBar::new(size)
    } else {
        ProgressBar::hidden()
    };
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(name.to_owned());
    let result = loader.add(name, source, &mut |bytes| {
        if bytes > bar.length().unwrap_or(u64::MAX) {
            // A compressed file: how large it really is shows on the way.
            bar.set_length(bytes);
        }
        bar.set_position(bytes);
    });
    bar.finish_and_clear();
    result
}

/// A failure with its exit code and advice.
pub(crate) fn failure(error: Error, input: Option<&str>) -> Failure {
    let text = match input {
        Some(input) => format!("{input}: {error}"),
        None => error.to_string(),
    };
    match error {
        Error::NoSuchProcess { known, .. } => Failure::new(Kind::Usage, text).advice(format!(
            "processes that used the GPU: {}",
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            }
        )),
        Error::NotAnExport { .. } | Error::Unrecognised(_) => Failure::input(text).advice(
            "give tables exported with xctrace export, a .gputrace bundle, or a recording of the timing library or of a program",
        ),
        Error::Write {
            kind: std::io::ErrorKind::BrokenPipe,
            ..
        } => Failure::new(Kind::ClosedPipe, text),
        _ => Failure::input(text),
    }
}

/// Opens a file, in a confined process only inside its folders.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    match crate::confine::allowed() {
        Some(folders) => folders
            .open(path)
            .map_err(|failure| std::io::Error::other(failure.message)),
        None => File::open(path),
    }
}

/// A file on disk.
struct FileSource(PathBuf);

impl Source for FileSource {
    fn open(&self) -> std::io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(open(&self.0)?))
    }

    fn size(&self) -> Option<u64> {
        std::fs::metadata(&self.0)
            .ok()
            .map(|metadata| metadata.len())
    }
}

/// Standard input, kept so that it can be read twice.
struct Spooled(tempfile::NamedTempFile);

impl Source for Spooled {
    fn open(&self) -> std::io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.0.reopen()?))
    }

    fn size(&self) -> Option<u64> {
        self.0
            .as_file()
            .metadata()
            .ok()
            .map(|metadata| metadata.len())
    }
}

fn spool() -> Result<tempfile::NamedTempFile, Failure> {
    let fail =
        |error: std::io::Error| Failure::input(format!("cannot read standard input: {error}"));
    let mut file = tempfile::NamedTempFile::new().map_err(fail)?;
    crate::interrupt::remove_on_interrupt(file.path());
    std::io::copy(&mut std::io::stdin().lock(), &mut file).map_err(fail)?;
    file.flush().map_err(fail)?;
    Ok(file)
}

/// The members with code of the capture that a folder is; nothing if it is none.
pub(crate) fn capture_code(path: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    let folder = Folder(path.to_owned());
    assay_trace::is_capture(&folder).then(|| assay_trace::capture_code(&folder))
}

/// The files of a bundle.
struct Folder(PathBuf);

impl Bundle for Folder {
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.path().is_file());
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn size(&self, name: &str) -> Option<u64> {
        let metadata = std::fs::metadata(self.0.join(name)).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    fn read(&self, name: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open(&self.0.join(name))?
            .take(limit)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether a folder is an Instruments document.
fn is_trace_bundle(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "trace")
        || path.join("form.template").exists()
}

/// The bytes of a member of the bundle that `paths` name.
pub(crate) fn member(paths: &[PathBuf], name: &str) -> Result<Vec<u8>, Failure> {
    let [path] = paths else {
        return Err(Failure::usage("--member takes one .gputrace bundle"));
    };
    let folder = Folder(path.clone());
    if !assay_trace::is_capture(&folder) {
        return Err(Failure::input(format!(
            "{} is not a .gputrace bundle",
            path.display()
        )));
    }
    assay_trace::read_capture_member(&folder, name).map_err(|error| {
        failure(error, Some(&path.display().to_string()))
            .advice("assay trace report --format json lists the members")
    })
}

/// Writes a table of the given files as CSV.
pub(crate) fn raw_table(
    paths: &[PathBuf],
    schema: &str,
    out: &mut dyn Write,
    context: &Context,
) -> Result<(), Failure> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path)?;
            let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            inside.retain(|file| file.is_file());
            inside.sort();
            files.append(&mut inside);
        } else {
            files.push(path.clone());
        }
    }
    let mut found = false;
    for file in &files {
        let result = if file.as_os_str() == "-" {
            assay_trace::write_raw_csv(&Spooled(spool()?), schema, out)
        } else {
            assay_trace::write_raw_csv(&FileSource(file.clone()), schema, out)
        };
        match result {
            Ok((here, problems)) => {
                found |= here;
                for problem in problems.iter().filter(|_| here) {
                    context.note(&format!("{}: {}", file.display(), problem.message));
                }
            }
            Err(Error::NotAnExport { .. } | Error::Unrecognised(_)) if files.len() > 1 => {}
            Err(error) => return Err(failure(error, Some(&file.display().to_string()))),
        }
        if found {
            return Ok(());
        }
    }
    Err(Failure::input(format!("no table {schema} in the inputs"))
        .advice("assay trace report -v lists the tables that are there"))
}
