//! `assay bench mutants`: whether the gate notices kernels that are wrong by one operation.

use crate::select;
use crate::{Failure, Kind, World};
use assay_bench::mutants::{self, Fate, Mutant, MutantError, Operator};
use assay_bench::registry::{Kernel, Registry};
use assay_device::{CompileOptions, CpuDevice, Device, Settings, Source};
use assay_report::blocks::View;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Which mutants of what.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Kernels; none is all.
    pub names: &'a [String],
    /// Mutants of each.
    pub count: usize,
    /// Which mutants, and where random inputs come from.
    pub seed: u64,
}

/// What became of all mutants.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Which mutants, and where random inputs came from.
    seed: u64,
    /// Mutants that were noticed.
    killed: usize,
    /// Mutants that were not.
    pub survived: usize,
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Fewest {
    name: String,
    mutants: usize,
}

/// The mutants of a kernel.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Row {
    name: String,
    killed: usize,
    equivalent: usize,
    /// Those that were not noticed.
    survivors: Vec<Survivor>,
}

/// A mutant that passed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Survivor {
    operator: &'static str,
    function: String,
    /// The operation that was changed.
    operation: String,
    /// Why nothing was found, as it was measured.
    reason: String,
}

/// Makes mutants of kernels, and examines each.
pub fn run(asked: Question<'_>, world: &World<'_>) -> Result<Report, Failure> {
    let registry = Registry::embedded().map_err(|error| Failure::input(error.to_string()))?;
    let kernels: Vec<&Kernel> = match asked.names {
        [] => registry.kernels().collect(),
        names => select::named(names, registry, &[])?.sound,
    };
    let mut device = device(world)?;
    let mut report = Report {
        seed: asked.seed,
        ..Report::default()
    };
    let total = kernels.len();
    for (done, kernel) in kernels.into_iter().enumerate() {
        world.listener.kernel(&kernel.name, done, total);
        let row = mutate(
            &mut device,
            (registry, kernel),
            asked,
            &mut report.operators,
            world,
        )?;
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
    Ok(report)
}

/// A CPU that gives up on mutants that never end.
fn device(world: &World<'_>) -> Result<CpuDevice, Failure> {
    let (compiler, _) = (world.clang)()?;
    let device = CpuDevice::new(Settings {
        compiler: Some(compiler),
        timeout: Some(Duration::from_secs(20)),
        max_steps: Some(2_000_000),
        cancel: world.workspace.cancel.clone(),
        ..Settings::default()
    });
    device.map_err(|error| Failure::new(Kind::Missing, error.to_string()))
}

fn mutate(
    device: &mut CpuDevice,
    (registry, kernel): (&Registry, &Kernel),
    asked: Question<'_>,
    operators: &mut BTreeMap<&'static str, [usize; 2]>,
    world: &World<'_>,
) -> Result<Row, Failure> {
    let failure = |error: &dyn std::fmt::Display| {
        if world.is_stopped() {
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
    let count = asked.count;
    // Some turn out to be no programs, or equivalent.
    let all = mutants::generate(device, library, kernel, dtype, 2 * count, asked.seed);
    let mut row = Row {
        name: kernel.name.clone(),
        ..Row::default()
    };
    for mutant in all.map_err(|error: MutantError| failure(&error))? {
        if row.killed + row.survivors.len() >= count {
            break;
        }
        let fate = mutants::examine(device, library, kernel, dtype, &mutant, asked.seed);
        let fate = fate.map_err(|error| failure(&error))?;
        if world.is_stopped() {
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
    /// For people.
    pub fn text(&self, view: &View) -> String {
        let mut table = Table::new([
            Column::left("operator"),
            Column::right("noticed"),
            Column::right("not"),
        ])
        .painter(view.painter);
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
        let mut text = table.render(view.width);
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
                text += &assay_report::wrap::wrap(&line, view.width, 0).join("\n      ");
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
