//! Profiles against an earlier result: any change beyond the tolerance is a failure,
//! for better or worse, so that the file under review stays true.

use super::{Args, Format};
use crate::commands::diff::{Comparison, Document, table};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::input;
use assay_profile::{Figures, Profile, figures};
use assay_report::envelope::Envelope;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Stored {
    schema: Schema,
    profiles: Vec<StoredProfile>,
}

#[derive(Deserialize)]
struct Schema {
    name: String,
    version: u32,
}

#[derive(Deserialize)]
struct StoredProfile {
    name: String,
    chip: String,
    cost_model: String,
    figures: Figures,
}

pub(super) fn check(
    path: &str,
    profiles: &[Profile],
    file: &Path,
    args: &Args,
    context: &Context,
) -> CommandResult {
    if !(args.tolerance >= 0.0 && args.tolerance.is_finite()) {
        return Err(Failure::usage("--tolerance is a number of per cent from 0"));
    }
    if !matches!(args.format, Format::Text | Format::Json) {
        return Err(Failure::usage(
            "--baseline reports as text or json, not as a page or a graph",
        ));
    }
    let stored = read(file)?;
    let mut comparisons = Vec::new();
    for profile in profiles {
        let before = stored.profiles.iter().find(|old| old.name == profile.name);
        if let Some(old) = before
            && (old.chip != profile.chip || old.cost_model != profile.cost_model)
        {
            return Err(Failure::usage(format!(
                "{} was made with --chip {} --costs {}, this is --chip {} --costs {}",
                file.display(),
                old.chip,
                old.cost_model,
                profile.chip,
                profile.cost_model
            )));
        }
        comparisons.push(Comparison::new(
            &profile.name,
            before.map(|old| old.figures.clone()),
            Some(figures(profile)),
            args.tolerance / 100.0,
        ));
    }
    for old in &stored.profiles {
        if args.model.function.is_none() && !profiles.iter().any(|new| new.name == old.name) {
            comparisons.push(Comparison::new(
                &old.name,
                Some(old.figures.clone()),
                None,
                0.0,
            ));
        }
    }
    let changed = comparisons.iter().any(Comparison::is_changed);
    let update = format!(
        "assay profile {path} --chip {} --costs {} --format json -o {}",
        args.model.chip,
        args.model.costs,
        file.display()
    );
    let text = match args.format {
        Format::Json => {
            let document = Document {
                before: file.display().to_string(),
                after: path.to_owned(),
                answer: String::new(),
                changed,
                kernels: comparisons,
                update: changed.then_some(update),
            };
            Envelope::new("assay.diff", 1, document).to_json()
        }
        _ if !changed && comparisons.len() == 1 => format!("1 kernel matches {}", file.display()),
        _ if !changed => format!("{} kernels match {}", comparisons.len(), file.display()),
        _ => format!(
            "{}\nIf this is intended, update the file:\n  {update}\n",
            table(&comparisons, context)
        ),
    };
    context.write(&text)?;
    Ok(match changed {
        true => Outcome::Failed,
        false => Outcome::Fine,
    })
}

fn read(file: &Path) -> Result<Stored, Failure> {
    let bytes = input::open(file)?;
    let stored: Stored = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::input(format!("{}: {error}", file.display()))
            .advice("a baseline is what `assay profile … --format json -o FILE` wrote")
    })?;
    if stored.schema.name != "assay.profile" || stored.schema.version != 1 {
        return Err(Failure::input(format!(
            "{} is {} version {}, not assay.profile version 1",
            file.display(),
            stored.schema.name,
            stored.schema.version
        )));
    }
    Ok(stored)
}
