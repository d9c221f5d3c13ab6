//! The JSON document of `assay profile`.

use assay_engine::answer::profiled;
use assay_predict::Predicted;
use assay_profile::render::{LineCost, ListingRow, Sources, lines, rows};
use assay_profile::{Figures, Profile, figures};
use assay_report::blocks::Detail;
use serde::Serialize;

#[cfg(test)]
use schemars::JsonSchema;

/// Profiles of a file's functions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Document<'a> {
    /// The file.
    file: String,
    /// One profile per function.
    profiles: Vec<Entry<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Entry<'a> {
    /// The figures that `--baseline` and `assay diff` compare.
    figures: Figures,
    /// The verdict in a sentence.
    verdict: String,
    /// The first screen, as Markdown.
    answer: String,
    /// The predicted GPU time, when a launch is known, with the lines that take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<Predicted>,
    #[serde(flatten)]
    profile: &'a Profile,
    /// What each source line costs, when the code has lines.
    lines: Vec<LineCost>,
    /// Every executed instruction of the main program.
    listing: Vec<ListingRow>,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        file: &str,
        profiles: &'a [Profile],
        predicted: Vec<Option<Predicted>>,
        sources: Option<&Sources>,
    ) -> Document<'a> {
        Document {
            file: file.to_owned(),
            profiles: profiles
                .iter()
                .zip(predicted)
                .map(|(profile, predicted)| Entry {
                    answer: profiled(profile, predicted.as_ref(), sources, Detail::Screen)
                        .markdown(),
                    predicted,
                    figures: figures(profile),
                    verdict: profile.verdict().0.sentence(),
                    lines: lines(profile),
                    listing: rows(&profile.main),
                    profile,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_current() {
        crate::schema::check::<Document<'_>>("assay.profile", 1);
    }
}
