//! What the user knows and the recording does not: work, versions, the chip, another engine's run.

use super::inputs;
use super::modelled::Modelled;
use crate::context::Context;
use crate::failure::Failure;
use assay_trace::{GivenLibrary, Options, analyze, read_libraries, read_work};
use std::path::{Path, PathBuf};

/// Flags of the commands that report.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "What you know")]
pub(crate) struct Known {
    /// FLOPs and bytes of operations: lines of label, FLOPs, bytes (CSV or TSV, - where unknown, * in
    /// labels for anything), or what assay run --counts --format json wrote
    #[arg(long, value_name = "FILE")]
    work: Vec<PathBuf>,

    /// The run of another engine, for a column beside this one: MLX=mlx-tables/
    #[arg(long, value_name = "NAME=INPUT", value_parser = parse_pair)]
    baseline: Option<(String, String)>,

    /// The version of a library, for the report: mlx=0.29.1
    #[arg(long, value_name = "NAME=VERSION", value_parser = parse_pair)]
    library: Vec<(String, String)>,

    /// Versions from Cargo.lock, pip freeze, pip list --format json, or lines of NAME=VERSION
    #[arg(long, value_name = "FILE")]
    libraries: Vec<PathBuf>,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

impl Known {
    /// Adds what is known to the options of an analysis.
    pub(crate) fn add_to(
        &self,
        mut options: Options,
        modelled: &Modelled,
        context: &Context,
    ) -> Result<Options, Failure> {
        options.chip = modelled.recorded_chip()?;
        for path in &self.work {
            let work = read_work(&name(path), &bytes(path)?);
            options
                .work
                .extend(work.map_err(|error| inputs::failure(error, None))?);
        }
        for (name, version) in &self.library {
            options.libraries.push(GivenLibrary {
                name: name.clone(),
                version: version.clone(),
                source: "given".to_owned(),
            });
        }
        for path in &self.libraries {
            let libraries = read_libraries(&name(path), &bytes(path)?);
            let libraries = libraries.map_err(|error| inputs::failure(error, None))?;
            options.libraries.extend(libraries);
        }
        if let Some((engine, input)) = &self.baseline {
            let recording = inputs::load(&[PathBuf::from(input)], None, modelled, context)?;
            let analysis = analyze(&recording, &Options::default())
                .map_err(|error| inputs::failure(error, Some(input)))?;
            options.baseline = Some((engine.clone(), Box::new(analysis)));
        }
        Ok(options)
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))
}
