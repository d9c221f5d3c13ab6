//! `assay tune --program`: the launches of a recorded program.

use super::args::SearchArgs;
use super::search::Given;
use crate::commands::trace;
use crate::context::Context;
use crate::failure::{Failure, Kind};
use crate::input;
use crate::prediction::Choice;
use assay_front::{Bytes, SourceOptions};
use assay_launch::Written;
use assay_program::{Opened, Recorded, Run, Used, opened};
use assay_ssa::Argument;
use std::path::{Path, PathBuf};

/// A kernel as a program uses it.
pub(super) struct InProgram {
    recorded: Recorded,
    used: Used,
    /// What the program is, for messages.
    path: PathBuf,
    chip: String,
    total_us: f64,
}

/// The kernel of a recording that `-f` names, its source and its launches.
pub(super) fn given(args: &SearchArgs, path: &Path, context: &Context) -> Result<Given, Failure> {
    #[cfg(feature = "fleet")]
    if args.fleet.fleet.is_some() {
        return Err(Failure::usage("--program is not sent to other machines")
            .advice("leave --fleet out, or give the launch as flags"));
    }
    let kernel = args.function.as_deref().unwrap_or_default();
    let fail = |why: String| Failure::input(format!("{}: {why}", path.display()));
    let recorded = trace::read(path)?;
    for warning in &recorded.warnings {
        context.note(&format!("warning: {}: {warning}", path.display()));
    }
    let kernels = trace::executed(&recorded, context)?;
    let chip = *args.chips().first().unwrap_or(&assay_chip::DEFAULT_CHIP);
    let run = Run::simulate(&recorded, &kernels, Choice::one(chip)?);
    let used = Used::new(&recorded, &run, kernel);
    let used = used.map_err(|why| unknown(&recorded, path, why))?;
    let mut constants = used.constants(&recorded).map_err(fail)?;
    let own = &args.values.constants;
    constants.retain(|one| !own.iter().any(|given| given.key == one.key));
    constants.extend(own.iter().cloned());
    let (file, bytes, options) = match &args.target {
        Some(target) => {
            let file = PathBuf::from(target);
            let bytes = input::open(&file)?;
            let options = args.options.options(&file);
            (file, bytes, options)
        }
        None => source_of(&recorded, &used).map_err(fail)?,
    };
    Ok(Given {
        path: file,
        bytes,
        options,
        constants,
        flags: args.launch.written()?,
        program: Some(InProgram {
            used,
            path: path.to_owned(),
            chip: chip.to_owned(),
            total_us: run.total_us,
            recorded,
        }),
    })
}

/// The library that the program took the kernel from, as a file.
fn source_of(recorded: &Recorded, used: &Used) -> Result<(PathBuf, Bytes, SourceOptions), String> {
    let pipeline = recorded.pipelines.get(used.pipeline as usize);
    let pipeline = pipeline.ok_or("the recording does not have its pipeline")?;
    let Opened { bytes, options } = opened(recorded, pipeline.library)?;
    let name = match options {
        Some(_) => format!("{}.metal", pipeline.function),
        None => "program.metallib".to_owned(),
    };
    let bytes = Bytes::from(bytes);
    Ok((name.into(), bytes, options.unwrap_or_default()))
}

/// Why there is no such kernel, with those that there are.
fn unknown(recorded: &Recorded, path: &Path, why: String) -> Failure {
    let mut names: Vec<_> = recorded
        .dispatches()
        .map(|dispatch| recorded.kernel(dispatch.launch))
        .collect();
    names.sort_unstable();
    names.dedup();
    let shown: Vec<&str> = names.iter().take(20).map(|name| &**name).collect();
    Failure::new(Kind::Usage, format!("{}: {why}", path.display()))
        .advice(format!("choose one with -f: {}", shown.join(", ")))
}

impl InProgram {
    /// The launches of the program, completed by flags; what to know about them goes to the notes.
    pub(super) fn complete(
        &self,
        flags: &Written,
        arguments: &[Argument],
        notes: &mut Vec<String>,
    ) -> Result<Written, Failure> {
        let written = self.used.written(&self.recorded, arguments);
        let (written, zeros) =
            written.map_err(|why| Failure::usage(format!("{}: {why}", self.path.display())))?;
        let used = &self.used;
        let own: u64 = used.launches.iter().map(|one| one.count).sum();
        let launches = match used.launches.len() {
            1 => "one launch".to_owned(),
            count => format!("{count} launches"),
        };
        notes.push(format!(
            "{own} dispatches by {launches} in {}, {:.1} % of its {:.3} ms on {} (modelled); proven at these launches",
            self.path.display(),
            used.share * 100.0,
            self.total_us / 1e3,
            self.chip
        ));
        notes.extend(used.left_out.iter().cloned());
        let given = |index: &u32| flags.buffers.iter().any(|one| one.index() == Some(*index));
        let zeros: Vec<String> = zeros
            .iter()
            .filter(|index| !given(index))
            .map(u32::to_string)
            .collect();
        if !zeros.is_empty() {
            notes.push(format!(
                "what buffers hold is not recorded: {} hold zeros; --buffer I=index:u32:N:BOUND gives them numbers",
                zeros.join(", ")
            ));
        }
        Ok(flags.or(written))
    }

    /// How often the program has each launch.
    pub(super) fn counts(&self) -> Vec<f64> {
        self.used.counts()
    }

    /// Share of the program's time.
    pub(super) fn share(&self) -> f64 {
        self.used.share
    }
}
