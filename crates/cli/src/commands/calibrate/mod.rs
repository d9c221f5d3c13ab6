//! `assay calibrate`: constants of the model, measured on this machine.

use crate::commands::bench::world::{Listener, world};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::machine;
use crate::output::Output;
use crate::prediction::targets;
use assay_chip::{Chip, Parameter};
use assay_predict::calibrate::{Plan, solve};
use assay_predict::{Constants, Target};
use assay_report::envelope::Envelope;
use assay_sweep::calibrate::{
    Clock, Document, Gpu, Simulated, executions, measured, registry_table,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Measure the constants of the prediction model on this Mac
///
/// Some minutes of microbenchmarks on the GPU (issue rates, latencies, every level of memory, threadgroup memory and its
/// conflicts, barriers, launches) determine the constants that assay predict otherwise takes from published measurements
/// and a fit. Each is moved until the model gives the measured time of its own kernels. The file that this writes is
/// used by predictions for this chip from then on, here and wherever it is given with --chip-file.
///
/// Then kernels of the registry are timed and predicted side by side: a table of how far predictions are off on this
/// machine, worth sending to the project together with the file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay calibrate
  assay calibrate --chip-file m2-office.tsv --no-registry
  assay calibrate --format json -o calibration.json
  assay predict softmax --chip m2 --chip-file m2-office.tsv
  assay calibrate --chip m2 --simulate l2_latency=150 --simulate barrier_cycles=50   # a GPU that is not there")]
pub(crate) struct Args {
    /// The chip, when it is not the one this machine says it has
    #[arg(long, value_name = "NAME")]
    chip: Option<String>,

    /// Where the file goes, instead of the place where predictions look for it
    #[arg(long, value_name = "FILE")]
    chip_file: Option<PathBuf>,

    /// Timed runs of each kernel; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(3..=1000))]
    runs: u32,

    /// Leave the table of registry kernels out
    #[arg(long)]
    no_registry: bool,

    /// Take times from the model with this figure or constant changed, instead of from a GPU; may be repeated. The
    /// calibration must find the value again
    #[arg(long, value_name = "FIGURE=VALUE")]
    simulate: Vec<String>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.calibrate.json
    Json,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let simulated = !args.simulate.is_empty();
    let mut gpu = match simulated {
        true => None,
        false => Some(Gpu::open(args.runs)?),
    };
    let chip = chip(args)?;
    let plan = Plan::new(&chip);
    let listener = Listener::bar(context, "{msg} {pos}/{len}");
    let world = world(&listener);
    let executed = executions(&plan, &world)?;
    let mut model;
    let clock: &mut dyn Clock = match &mut gpu {
        Some(gpu) => gpu,
        None => {
            model = Simulated::new(&chip, &args.simulate, &executed)?;
            &mut model
        }
    };
    let measured = measured(&plan, executed, clock, &world)?;
    let constants = Constants::of(&chip);
    let solved = solve(&plan, &chip, &constants, &measured)?;
    let protocol = match simulated {
        true => "simulated times, not a measurement".to_owned(),
        false => format!("{}, best of {} runs", today(), args.runs),
    };
    let mut document = Document::new(&chip, &solved, &measured, &protocol);
    let mut target = Target::of(chip.clone());
    document
        .file()
        .apply(&mut target.chip, &mut target.constants);
    if let Some(gpu) = gpu.as_mut().filter(|_| !args.no_registry) {
        document.registry = registry_table(gpu, &target, &world)?;
        document.widen(&target);
    }
    // Simulated constants never become those of predictions unasked.
    let place = match (&args.chip_file, simulated) {
        (Some(path), _) => Some(path.clone()),
        (None, false) => targets::place(chip.name),
        (None, true) => None,
    };
    if let Some(path) = &place {
        save(path, &document)?;
        document.chip_file = Some(path.display().to_string());
    }
    let text = match args.format {
        Format::Json => Envelope::new("assay.calibrate", 1, document).to_json(),
        Format::Text => document.text(&context.view()),
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

/// The chip of this machine, with its cores, or the one asked for.
fn chip(args: &Args) -> Result<Chip, Failure> {
    let mac = machine::mac();
    let name = match (&args.chip, &mac) {
        (Some(name), _) => name.clone(),
        (None, Some(mac)) => mac.chip.clone().ok_or_else(|| {
            Failure::new(
                Kind::Missing,
                format!("{} is a chip that assay does not know", mac.name),
            )
            .advice("name the one it resembles with --chip; assay chips lists them")
        })?,
        (None, None) => assay_chip::DEFAULT_CHIP.to_owned(),
    };
    let mut chip = Chip::named(&name).map_err(|error| Failure::usage(error.to_string()))?;
    if args.chip.is_none()
        && let Some(cores) = mac.and_then(|mac| mac.gpu_cores)
    {
        chip.set(Parameter::Cores, f64::from(cores));
    }
    Ok(chip)
}

/// The date, in UTC.
fn today() -> String {
    let now = assay_board::utc(machine::now() as i64);
    now.split('T').next().unwrap_or_default().to_owned()
}

fn save(path: &Path, document: &Document) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::input(format!("cannot make {}: {error}", folder.display()))
        })?;
    }
    let mut output = Output::open(Some(path))?;
    output.write_all(document.file_text().as_bytes())?;
    output.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.calibrate", 1);
    }
}
