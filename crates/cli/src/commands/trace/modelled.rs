//! Recordings of programs: their GPU is a model of the chips that are asked for.

use super::inputs;
use crate::context::Context;
use crate::failure::Failure;
use crate::prediction::Choice;
use crate::{progress, source, toolchain};
use assay_chip::Chip;
use assay_program::{Kernels, Recorded, Run, Steps, Store, timeline};
use assay_recording::{Form, MAGIC};
use assay_trace::{Problem, Recording, Warning};
use std::io::{BufReader, Read};
use std::path::Path;

/// Flags about modelled GPUs.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Chips")]
pub(crate) struct Modelled {
    /// Of a program's recording: the chips to predict times for, as in m2,m4-max, or all; the report is about the first. Of other
    /// recordings: the chip, when they do not name it
    #[arg(long, value_name = "CHIP[,CHIP]")]
    chip: Option<String>,

    /// Of a program's recording: how many steps (tokens, iterations) it has, or what a step begins with: a kernel, label or debug
    /// group, with * for any text
    #[arg(long, value_name = "N|NAME")]
    step: Option<Steps>,
}

impl Modelled {
    /// These chips.
    pub(crate) fn of(chips: &[String]) -> Modelled {
        Modelled {
            chip: Some(chips.join(",")),
            step: None,
        }
    }

    /// The chip of a recording that was made on one.
    pub(super) fn recorded_chip(&self) -> Result<Option<Chip>, Failure> {
        let named = self
            .chip
            .as_deref()
            .filter(|chip| !chip.contains(',') && *chip != "all");
        let chip = named.map(Chip::named).transpose();
        chip.map_err(|error| Failure::usage(error.to_string()))
    }

    /// The first chip for one recording and the last for another.
    pub(super) fn of_two(&self) -> [Modelled; 2] {
        let with = |chip: Option<&str>| Modelled {
            chip: chip.map(str::to_owned),
            ..self.clone()
        };
        let mut named = self
            .chip
            .as_deref()
            .unwrap_or_default()
            .split(',')
            .filter(|name| !name.is_empty());
        let first = named.next();
        [with(first), with(named.next_back().or(first))]
    }
}

/// Returns true if a file is the recording of a program.
pub(super) fn is_recording(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    let read = inputs::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *MAGIC
}

/// What a program's recording has.
pub(crate) fn read(path: &Path) -> Result<Recorded, Failure> {
    let shown = path.display();
    let fail = |error: &dyn std::fmt::Display| Failure::input(format!("{shown}: {error}"));
    let file = inputs::open(path).map_err(|error| fail(&error))?;
    Recorded::read(BufReader::with_capacity(1 << 16, file)).map_err(|error| fail(&error))
}

/// The recording of a program on the chips that are asked for.
pub(crate) fn load(
    path: &Path,
    modelled: &Modelled,
    context: &Context,
) -> Result<Recording, Failure> {
    let shown = path.display();
    let recorded = read(path)?;
    let chips = match (&modelled.chip, &*recorded.device.chip) {
        (Some(chips), _) => chips,
        (None, "") => "m2",
        (None, own) => own,
    };
    let choice = Choice {
        chips,
        what_if: &[],
        chip_file: None,
    };
    let targets = choice.targets()?;
    let kernels = executed(&recorded, context)?;
    let runs = targets.into_iter().map(|target| {
        progress::stage(&format!("predicting the program on {}", target.chip.name));
        Run::simulate(&recorded, &kernels, target)
    });
    let runs: Vec<Run> = runs.collect();
    let recording = timeline(&recorded, &kernels, &runs, modelled.step.as_ref());
    let mut recording = recording.ok_or_else(|| Failure::usage("--chip names no chip"))?;
    recording
        .warnings
        .extend(recorded.warnings.iter().map(|message| Warning {
            input: shown.to_string(),
            problem: Problem {
                offset: None,
                message: message.clone(),
            },
        }));
    Ok(recording)
}

/// Executes each launch, or takes what it did from the cache.
pub(crate) fn executed(recorded: &Recorded, context: &Context) -> Result<Kernels, Failure> {
    let mut forms = recorded.libraries.iter().map(|library| &library.form);
    if forms.any(|form| matches!(form, Form::Source { .. })) {
        // Without a compiler every kernel would lack a time: better to say how to get one.
        toolchain::find()?;
    }
    let store = Store::new(toolchain::cache_folder().join("executions"));
    let bar = match context.progress {
        true => indicatif::ProgressBar::new(recorded.launches.len() as u64),
        false => indicatif::ProgressBar::hidden(),
    };
    bar.set_message("executing launches");
    let told = |done: usize, _all: usize| bar.set_position(done as u64);
    let kernels = Kernels::execute(recorded, &source::workspace(), Some(&store), &told);
    bar.finish_and_clear();
    Ok(kernels)
}
