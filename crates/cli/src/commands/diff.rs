//! `assay diff`: two files' kernels side by side.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::load::{self, Place};
use crate::model::Model;
use crate::phases::Phases;
use assay_profile::{Change, Difference, Figures, compare, figures, number};
use assay_report::envelope::Envelope;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[cfg(test)]
use schemars::JsonSchema;

/// Compare the modelled costs of two files' kernels, figure by figure
///
/// Takes whatever `assay profile` takes; code generated for both sides is generated alike.
/// Kernels are matched by name; two files with one kernel each are compared whatever
/// their names. Each figure helped, hurt, or stayed the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay diff naive.metal tiled.metal
  assay diff before.bin after.bin
  assay diff old.gpubin new.gpubin -f softmax --all
  assay diff old.gpubin new.gpubin --fail-on hurt --tolerance 1")]
pub(crate) struct Args {
    /// Before
    before: PathBuf,

    /// After
    after: PathBuf,

    #[command(flatten)]
    model: Model,

    /// Changes up to this many per cent are none
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    tolerance: f64,

    /// Show figures that stayed the same too
    #[arg(long)]
    all: bool,

    /// Exit 1 when a figure changed this way
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// For the worse
    Hurt,
    /// At all
    Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.diff.json
    Json,
}

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Document {
    /// The file before.
    pub(crate) before: String,
    /// The file after.
    pub(crate) after: String,
    /// Whether any figure changed beyond the tolerance.
    pub(crate) changed: bool,
    /// Kernel by kernel.
    pub(crate) kernels: Vec<Comparison>,
    /// The command that makes the file before equal the file after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) update: Option<String>,
}

/// One kernel before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Comparison {
    /// The kernel.
    name: String,
    /// `changed`, `same`, `added` or `removed`.
    status: &'static str,
    /// Figure by figure.
    figures: Vec<Difference>,
}

impl Comparison {
    pub(crate) fn new(
        name: &str,
        before: Option<Figures>,
        after: Option<Figures>,
        tolerance: f64,
    ) -> Comparison {
        let empty = Figures::new();
        let figures = compare(
            before.as_ref().unwrap_or(&empty),
            after.as_ref().unwrap_or(&empty),
            tolerance,
        );
        let status = match (&before, &after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ if figures.iter().all(|d| d.change == Change::Same) => "same",
            _ => "changed",
        };
        Comparison {
            name: name.to_owned(),
            status,
            figures,
        }
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.status != "same"
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    if !(args.tolerance >= 0.0 && args.tolerance.is_finite()) {
        return Err(Failure::usage("--tolerance is a number of per cent from 0"));
    }
    let mut phases = Phases::default();
    let before = kernels(&args.before, args, &mut phases, context)?;
    let after = kernels(&args.after, args, &mut phases, context)?;
    let comparisons = pair(before, after, args.tolerance / 100.0);
    let changed = comparisons.iter().any(Comparison::is_changed);
    let hurt = comparisons
        .iter()
        .flat_map(|comparison| &comparison.figures)
        .any(|difference| difference.change == Change::Hurt);
    let text = match args.format {
        Format::Text if !changed && !args.all => "no figure changed".to_owned(),
        Format::Text => render(&comparisons, args.all, context),
        Format::Json => {
            let document = Document {
                before: args.before.display().to_string(),
                after: args.after.display().to_string(),
                changed,
                kernels: comparisons,
                update: None,
            };
            Envelope::new("assay.diff", 1, document).to_json()
        }
    };
    context.write(&text)?;
    phases.show(context);
    let failed = match args.fail_on {
        None => false,
        Some(FailOn::Hurt) => hurt,
        Some(FailOn::Change) => changed,
    };
    Ok(match failed {
        true => Outcome::Failed,
        false => Outcome::Fine,
    })
}

fn kernels(
    path: &Path,
    args: &Args,
    phases: &mut Phases,
    context: &Context,
) -> Result<Kernels, Failure> {
    let options = args.model.options()?;
    let loaded = load::programs(Place::File(path), &args.model, phases, context)?;
    phases.step("profile", || {
        loaded
            .iter()
            .map(|one| {
                let profile = one.profile(&options)?;
                Ok((profile.name.clone(), figures(&profile)))
            })
            .collect()
    })
}

type Kernels = Vec<(String, Figures)>;

fn pair(mut before: Kernels, mut after: Kernels, tolerance: f64) -> Vec<Comparison> {
    if let ([old], [new]) = (&mut before[..], &mut after[..]) {
        let name = match old.0 == new.0 {
            true => new.0.clone(),
            false => format!("{} → {}", old.0, new.0),
        };
        let (old, new) = (std::mem::take(&mut old.1), std::mem::take(&mut new.1));
        return vec![Comparison::new(&name, Some(old), Some(new), tolerance)];
    }
    let mut found = Vec::new();
    for (name, old) in before {
        let place = after.iter().position(|(other, _)| *other == name);
        let new = place.map(|place| after.remove(place).1);
        found.push(Comparison::new(&name, Some(old), new, tolerance));
    }
    for (name, new) in after {
        found.push(Comparison::new(&name, None, Some(new), tolerance));
    }
    found
}

/// Changed figures of every kernel.
pub(crate) fn table(comparisons: &[Comparison], context: &Context) -> String {
    render(comparisons, false, context)
}

fn render(comparisons: &[Comparison], all: bool, context: &Context) -> String {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("figure (modelled)"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
        Column::left(""),
    ])
    .painter(context.painter);
    let value = |value: Option<f64>| value.map_or("–".to_owned(), number);
    for comparison in comparisons {
        let mut name = comparison.name.as_str();
        if matches!(comparison.status, "added" | "removed") {
            table.row([
                Cell::from(name),
                "".into(),
                "".into(),
                "".into(),
                "".into(),
                Cell::new(comparison.status, Role::Warn),
            ]);
            continue;
        }
        for difference in &comparison.figures {
            if difference.change == Change::Same && !all {
                continue;
            }
            let role = match difference.change {
                Change::Helped => Role::Good,
                Change::Hurt => Role::Bad,
                Change::Same => Role::Dim,
                Change::Unknown => Role::Warn,
            };
            table.row([
                Cell::from(name),
                difference.figure.into(),
                value(difference.before).into(),
                value(difference.after).into(),
                difference
                    .relative
                    .map_or(String::new(), |share| format!("{:+.1} %", share * 100.0))
                    .into(),
                Cell::new(difference.change.name(), role),
            ]);
            name = "";
        }
    }
    let count = |change: Change| {
        comparisons
            .iter()
            .flat_map(|comparison| &comparison.figures)
            .filter(|difference| difference.change == change)
            .count()
    };
    format!(
        "{}{} helped, {} hurt, {} same\n",
        table.render(context.width),
        count(Change::Helped),
        count(Change::Hurt),
        count(Change::Same)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_current() {
        crate::schema::check::<Document>("assay.diff", 1);
    }
}
