//! `assay bench mutants`: whether the gate notices kernels that are wrong by one operation.

use super::select;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::source::Found;
use crate::{interrupt, toolchain};
use assay_bench::mutants::{self, Fate, Mutant, MutantError, Operator};
use assay_bench::registry::{Kernel, Registry};
use assay_device::{CompileOptions, CpuDevice, Device, Settings, Source};
use assay_report::envelope::Envelope;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Change one operation of a kernel at a time, and see whether the examination notices
///
/// Mutants are made on the optimised program by nineteen fixed operators: an operand left out, a comparison moved by one,
/// a number in place of an argument, the tail skipped, an accumulator in half precision, the last of equal ones taken, a
/// guard missing and others. Each is examined as assay bench examines a kernel. One that passes and gives the kernel's
/// own bytes at every size with every kind of input is equivalent, and does not count. The score is the part of the rest
/// that was noticed. One that was not is named with the reason, as measured: how much of the tolerance it uses.
///
/// Ends with 1 when a mutant survived.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay bench mutants softmax
  assay bench mutants --all --format json -o mutants.json
  assay bench mutants layer_norm --count 100")]
pub(super) struct Args {
    /// Kernels of the registry
    #[arg(
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    names: Vec<String>,

    /// All kernels
    #[arg(long)]
    all: bool,

    /// Mutants of each kernel
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,

    /// Which mutants, and where random inputs come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How to show it
    #[arg(long, value_enum, default_value_t = super::Format::Text)]
    format: super::Format,
}

/// What became of all mutants.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Report {
    /// Which mutants, and where random inputs came from.
    seed: u64,
    /// Mutants that were noticed.
    killed: usize,
    /// Mutants that were not.
    survived: usize,
    /// Mutants that give the same bytes everywhere, which count neither way.
    equivalent: usize,
    /// The part noticed of those that count.
    score: f64,
    /// The kernel with the fewest mutants, of all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    fewest: Option<Fewest>,
    /// By operator: noticed, not noticed.
    operators: BTreeMap<&'static str, [usize; 2]>,
    kernels: Vec<Row>,
}

/// How many mutants were made of a kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Fewest {
    name: String,
    mutants: usize,
}

/// The mutants of a kernel.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    name: String,
    killed: usize,
    equivalent: usize,
    /// Those that were not noticed.
    survivors: Vec<Survivor>,
}

/// A mutant that passed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Survivor {
    operator: &'static str,
    function: String,
    /// The operation that was changed.
    operation: String,
    /// Why nothing was found, as it was measured.
    reason: String,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let kernels: Vec<&Kernel> = match args.all {
        true => registry.kernels().collect(),
        false => select::named(&args.names, registry, &[])?.sound,
    };
    interrupt::cooperate();
    let mut device = device()?;
    let mut report = Report {
        seed: args.seed,
        ..Report::default()
    };
    for kernel in kernels {
        if context.progress {
            context.note(&format!("{} …", kernel.name));
        }
        let row = mutate(&mut device, registry, kernel, args, &mut report.operators)?;
        report.killed += row.killed;
        report.equivalent += row.equivalent;
        report.survived += row.survivors.len();
        report.kernels.push(row);
    }
    let fewest = report.kernels.iter().min_by_key(|row| row.made());
    report.fewest = fewest.map(|row| Fewest {
        name: row.name.clone(),
        mutants: row.made(),
    });
    let counted = report.killed + report.survived;
    report.score = report.killed as f64 / counted.max(1) as f64;
    context.write(&match args.format {
        super::Format::Text => report.text(context),
        super::Format::Json => Envelope::new("assay.bench-mutants", 1, &report).to_json(),
    })?;
    Ok(match report.survived {
        0 => Outcome::Fine,
        _ => Outcome::Failed,
    })
}

/// A CPU that gives up on mutants that never end.
fn device() -> Result<CpuDevice, Failure> {
    let device = CpuDevice::new(Settings {
        compiler: Some(Arc::new(Found(toolchain::find()?))),
        timeout: Some(Duration::from_secs(20)),
        max_steps: Some(2_000_000),
        cancel: Some(interrupt::flag()),
        ..Settings::default()
    });
    device.map_err(|error| Failure::new(Kind::Missing, error.to_string()))
}

fn mutate(
    device: &mut CpuDevice,
    registry: &Registry,
    kernel: &Kernel,
    args: &Args,
    operators: &mut BTreeMap<&'static str, [usize; 2]>,
) -> Result<Row, Failure> {
    let failure = |error: &dyn std::fmt::Display| {
        if interrupt::requested() {
            return Failure::new(Kind::Interrupted, "stopped on request");
        }
        Failure::input(format!("{}: {error}", kernel.name))
    };
    let source = registry
        .source(kernel, None)
        .map_err(|error| failure(&error))?;
    let text = Source {
        path: Path::new(&source.path),
        text: &source.text,
    };
    let library = device.compile(text, &CompileOptions::default());
    let library = library.map_err(|error| failure(&error))?;
    let dtype = kernel.dtypes.first().copied();
    let dtype = dtype.ok_or_else(|| failure(&"it has no element type"))?;
    let count = args.count as usize;
    // Some turn out to be no programs, or equivalent.
    let all = mutants::generate(device, library, kernel, dtype, 2 * count, args.seed);
    let mut row = Row {
        name: kernel.name.clone(),
        ..Row::default()
    };
    for mutant in all.map_err(|error: MutantError| failure(&error))? {
        if row.killed + row.survivors.len() >= count {
            break;
        }
        let fate = mutants::examine(device, library, kernel, dtype, &mutant, args.seed);
        let fate = fate.map_err(|error| failure(&error))?;
        if interrupt::requested() {
            return Err(failure(&"stopped"));
        }
        row.add(mutant, fate, operators);
    }
    Ok(row)
}

impl Row {
    fn made(&self) -> usize {
        self.killed + self.survivors.len() + self.equivalent
    }

    fn add(
        &mut self,
        mutant: Mutant,
        fate: Option<Fate>,
        operators: &mut BTreeMap<&'static str, [usize; 2]>,
    ) {
        let name = mutant.operator.name();
        let counts = operators.entry(name).or_default();
        match fate {
            None => {}
            Some(Fate::Equivalent) => self.equivalent += 1,
            Some(Fate::Killed(_)) => {
                self.killed += 1;
                counts[0] += 1;
            }
            Some(Fate::Survived(reason)) => {
                counts[1] += 1;
                self.survivors.push(Survivor {
                    operator: name,
                    function: mutant.function,
                    operation: mutant.operation,
                    reason: reason.to_string(),
                });
            }
        }
    }
}

impl Report {
    fn text(&self, context: &Context) -> String {
        let mut table = Table::new([
            Column::left("operator"),
            Column::right("noticed"),
            Column::right("not"),
        ])
        .painter(context.painter);
        for operator in Operator::ALL {
            if let Some([killed, survived]) = self.operators.get(operator.name()) {
                let role = if *survived == 0 {
                    Role::Good
                } else {
                    Role::Bad
                };
                table.row([
                    Cell::from(operator.name()),
                    Cell::from(killed.to_string()),
                    Cell::new(survived.to_string(), role),
                ]);
            }
        }
        let mut text = table.render(context.width);
        for row in &self.kernels {
            for survivor in &row.survivors {
                let line = format!(
                    "{}: {} of {} in {} was not noticed: {}",
                    row.name,
                    survivor.operator,
                    survivor.operation,
                    survivor.function,
                    survivor.reason
                );
                text += "\n";
                text += &assay_report::wrap::wrap(&line, context.width, 0).join("\n      ");
            }
        }
        if let Some(fewest) = &self.fewest {
            let (name, mutants) = (&fewest.name, fewest.mutants);
            text += &format!("\nThe fewest mutants are those of {name}: {mutants}\n");
        }
        text += &format!(
            "\n{} kernels: {} noticed, {} not, {} equivalent; score {:.2} %\n",
            self.kernels.len(),
            self.killed,
            self.survived,
            self.equivalent,
            self.score * 100.0
        );
        text
    }
}
