//! `assay calibrate`: constants of the model, measured on this machine.

mod clock;
mod document;
#[cfg(test)]
mod modelled;
mod registry;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::generate::Generator;
use crate::machine;
use crate::output::Output;
use crate::phases;
use crate::prediction::{failure, targets};
use crate::source::{self, ThisMachine};
use assay_agx::Isa;
use assay_chip::{Chip, Parameter};
use assay_emu::Fill;
use assay_front::{Library, SourceOptions};
use assay_predict::calibrate::{Measured, Plan, Probe, SOURCE, solve};
use assay_predict::{Argument, Constants, Dispatch, Execution, Memory, Sampling, Target, execute};
use assay_report::envelope::Envelope;
use clock::{Clock, Gpu, Simulated, Timed};
use document::Document;
use indicatif::{ProgressBar, ProgressStyle};
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
  assay calibrate --chip m2 --simulate l2_latency=150 --simulate barrier_cycles=50   (a GPU that is not there)")]
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
    let executed = executions(&plan, context)?;
    let mut model;
    let clock: &mut dyn Clock = match &mut gpu {
        Some(gpu) => gpu,
        None => {
            model = Simulated::new(&chip, &args.simulate, &executed)?;
            &mut model
        }
    };
    let measured = measured(&plan, executed, clock, context)?;
    let constants = Constants::of(&chip);
    let solved = solve(&plan, &chip, &constants, &measured).map_err(failure)?;
    let protocol = match simulated {
        true => "simulated times, not a measurement".to_owned(),
        false => format!("{}, best of {} runs", document::today(), args.runs),
    };
    let mut document = Document::new(&chip, &solved, &measured, &protocol);
    let mut target = Target::of(chip.clone());
    document
        .file()
        .apply(&mut target.chip, &mut target.constants);
    if let Some(gpu) = gpu.as_mut().filter(|_| !args.no_registry) {
        document.registry = registry::table(gpu, &target, context)?;
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
        Format::Text => document.text(context),
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

/// What every probe executes, on code generated here.
fn executions(plan: &Plan, context: &Context) -> Result<Vec<Execution>, Failure> {
    let path = Path::new("calibrate.metal");
    let text = assay_front::Source {
        path,
        text: SOURCE.as_bytes(),
    };
    let library = Library::compile(text, &ThisMachine, &SourceOptions::default())
        .map_err(|error| source::failure(path, error))?;
    let bar = progress("executing", plan.probes.len(), context);
    let one = |probe: &Probe| {
        bar.set_message(probe.name.clone());
        bar.inc(1);
        let kernel = library
            .kernel(probe.function)
            .map_err(|error| Failure::input(error.to_string()))?;
        let generator = Generator {
            constants: &[],
            isa: Isa::G13,
            threadgroup: Some([probe.threadgroup, 1, 1]),
        };
        let made = generator.generate(kernel, &mut phases::told());
        let made = made.map_err(|refused| refused.error())?;
        let mut memory = Memory::new();
        let data = memory.add_on_touch(probe.bytes, Fill::Zero);
        let value = |number: u32| Argument::Bytes(number.to_le_bytes().to_vec());
        let dispatch = Dispatch {
            program: &made.program,
            grid: [probe.threads, 1, 1],
            threadgroup: [probe.threadgroup, 1, 1],
            arguments: vec![
                (0, Argument::Buffer(data.map_err(failure)?, 0)),
                (1, value(probe.turns)),
                (2, value(probe.mask)),
            ],
            threadgroup_memory: Vec::new(),
        };
        let sampling = Sampling {
            threadgroups: 6,
            ..Sampling::default()
        };
        execute(&dispatch, &mut memory, &sampling)
            .map_err(|error| Failure::input(format!("{}: {error}", probe.name)))
    };
    let executions = plan.probes.iter().map(one).collect();
    bar.finish_and_clear();
    executions
}

fn measured(
    plan: &Plan,
    executions: Vec<Execution>,
    clock: &mut dyn Clock,
    context: &Context,
) -> Result<Vec<Measured>, Failure> {
    let bar = progress("measuring", plan.probes.len(), context);
    let mut measured = Vec::new();
    for (probe, execution) in plan.probes.iter().zip(executions) {
        bar.set_message(probe.name.clone());
        let Timed { time_us, spread } = clock.time(probe)?;
        measured.push(Measured {
            probe: probe.name.clone(),
            execution,
            dispatches: probe.dispatches,
            time_us,
            spread,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(measured)
}

fn progress(what: &str, count: usize, context: &Context) -> ProgressBar {
    if !context.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template(&format!("{what} {{pos}}/{{len}} {{msg}}")) {
        bar.set_style(style);
    }
    bar
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
    use super::modelled::ModelledGpu;
    use super::*;
    use crate::toolchain;
    use assay_device::{CpuDevice, Settings};
    use assay_front::Clang;
    use std::sync::Arc;

    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<Document>("assay.calibrate", 1);
    }

    fn cpu() -> CpuDevice {
        let clang = Clang::new(toolchain::find().unwrap(), toolchain::cache_folder());
        let settings = Settings {
            compiler: Some(Arc::new(clang)),
            ..Settings::default()
        };
        CpuDevice::new(settings).unwrap()
    }

    #[test]
    fn a_gpu_s_constants_are_found_by_its_clock() {
        let chip = Chip::named("m2").unwrap();
        let plan = Plan::new(&chip);
        let context = Context::new(None, crate::context::Verbosity::Quiet);
        let Ok(executed) = executions(&plan, &context) else {
            // No compiler for Metal source here.
            return;
        };
        let changes = [
            "launch_us=4.1",
            "request_cycles=1.3",
            "l2_latency=160",
            "barrier_cycles=52",
        ];
        let changes = changes.map(str::to_owned);
        let device = ModelledGpu {
            cpu: cpu(),
            clock: Simulated::new(&chip, &changes, &executed).unwrap(),
            probes: plan.probes.clone(),
            runs: 0,
        };
        let mut gpu = Gpu::on(Box::new(device), 4).unwrap();
        let measured = measured(&plan, executed, &mut gpu, &context).unwrap();
        let solved = solve(&plan, &chip, &Constants::of(&chip), &measured).unwrap();
        let document = Document::new(&chip, &solved, &measured, "a modelled GPU");
        let mut target = Target::of(chip.clone());
        let file = document.file();
        file.apply(&mut target.chip, &mut target.constants);
        for change in changes {
            let (name, value) = change.split_once('=').unwrap();
            let found = target.constants.get(name).unwrap();
            let value: f64 = value.parse().unwrap();
            assert!(
                (found / value).ln().abs() < 0.05,
                "{name}: {found}, not {value}"
            );
        }
    }
}
