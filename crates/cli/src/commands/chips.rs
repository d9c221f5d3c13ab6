//! `assay chips`: what is known of Apple's GPUs, with sources.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_chip::{Chip, CostModel, CostTable, chips};
use assay_engine::chips::{self as engine, Document};
use assay_report::envelope::Envelope;

/// Show chips, instruction costs and where the figures come from
///
/// Without a name: all chips. With a name: every figure of that chip and its source.
/// What nobody has published is unknown, never 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay chips
  assay chips m2 --set clock_ghz=1.2
  assay chips m1-max --costs measured
  assay chips --check")]
pub(crate) struct Args {
    /// A chip: m1, m1-pro, …, m5-max
    name: Option<String>,

    /// Replace a figure of the chip; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "name")]
    overrides: Vec<String>,

    /// What is unknown of the chip too, and the sources
    #[arg(long)]
    full: bool,

    /// Show instruction costs: measured, or Mesa's model
    #[arg(long, value_name = "TABLE")]
    costs: Option<CostModel>,

    /// Check that every instruction has a cost or is listed as unknown with a reason
    #[arg(long)]
    check: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.chips.json
    Json,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let chosen = chosen(args)?;
    let costs = costs(args, &chosen)?;
    let check = args.check.then(engine::check);
    let failed = check.as_ref().is_some_and(|check| !check.is_fine());
    let text = match args.format {
        Format::Json => {
            let document = Document::new(&chosen, costs, check);
            Envelope::new("assay.chips", 1, document).to_json()
        }
        Format::Text => match (&check, costs) {
            (Some(check), _) => engine::render_check(check, &context.view()),
            (None, Some(table)) => engine::render_costs(table, &context.view()),
            (None, None) if args.name.is_some() => chosen
                .first()
                .map(|chip| engine::render_chip(chip, args.full, &context.view()))
                .unwrap_or_default(),
            (None, None) => engine::render_list(&chosen, &context.view()),
        },
    };
    match args.format {
        Format::Text => context.write_prose(&text)?,
        Format::Json => context.write(&text)?,
    }
    Ok(match failed {
        true => Outcome::Failed,
        false => Outcome::Fine,
    })
}

fn chosen(args: &Args) -> Result<Vec<Chip>, Failure> {
    let Some(name) = &args.name else {
        return Ok(chips().to_vec());
    };
    let usage = |error: assay_chip::Error| Failure::usage(error.to_string());
    let mut chip = Chip::named(name).map_err(usage)?;
    for assignment in &args.overrides {
        chip = chip.with(assignment).map_err(usage)?;
    }
    Ok(vec![chip])
}

/// The cost table asked for; refused for a chip that has none.
fn costs(args: &Args, chosen: &[Chip]) -> Result<Option<&'static CostTable>, Failure> {
    let Some(model) = args.costs else {
        return Ok(None);
    };
    match chosen {
        [chip] => chip.costs(model).map(Some).map_err(|error| {
            Failure::usage(error.to_string())
                .advice("costs of an older chip: assay chips m2 --costs measured")
        }),
        _ => Ok(Some(CostTable::of(model))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.chips", 1);
    }
}
