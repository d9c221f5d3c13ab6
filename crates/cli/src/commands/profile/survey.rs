//! `assay profile` of code for chips whose costs nobody has published: M3, M4, A18.

use super::Format;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::load::Loaded;
use assay_agx::Family;
use assay_profile::Survey;
use assay_report::envelope::Envelope;

/// What code says about itself without costs, when all of it is for chips without published
/// ones.
pub(super) fn of(loaded: &[Loaded]) -> Option<Vec<Survey>> {
    let without = |one: &Loaded| one.program.isa.family() != Family::G13;
    (!loaded.is_empty() && loaded.iter().all(without))
        .then(|| loaded.iter().map(|one| Survey::new(&one.program)).collect())
}

pub(super) fn show(surveys: &[Survey], format: Format, context: &Context) -> CommandResult {
    let text = match format {
        Format::Text => {
            let texts: Vec<String> = surveys.iter().map(Survey::text).collect();
            texts.join("\n")
        }
        Format::Json => {
            let document = Surveys { programs: surveys };
            Envelope::new("assay.survey", 1, document).to_json()
        }
        _ => {
            return Err(Failure::usage(
                "code for this chip has no costs: it is shown as text or json only",
            ));
        }
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

/// Programs without costs.
#[derive(serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Surveys<'a> {
    /// One entry a program.
    programs: &'a [Survey],
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Surveys<'_>>("assay.survey", 1);
    }
}
