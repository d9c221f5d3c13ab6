//! What a profile says: its JSON document, and the predicted time that leads it where a launch is known.

use crate::answer::profiled;
use crate::execution::{Code, tasks};
use crate::{Error, Launched, diagnosis, lines, prediction};
use assay_agx::Program;
use assay_predict::render::{self as predicted, time};
use assay_predict::{Cache, LineTime, Predicted, Sampling, Target};
use assay_profile::render::{
    Lead, LeadLine, LineCost, ListingRow, Sources, lines as line_costs, rows,
};
use assay_profile::{Figures, Finding, Profile, figures};
use assay_report::blocks::Detail;
use serde::Serialize;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// Profiles of a file's functions.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Document<'a> {
    /// The file.
    file: String,
    /// One profile per function.
    profiles: Vec<Entry<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
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
    /// The profiles of a file, each with its predicted time if it has one.
    pub fn new(
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
                    lines: line_costs(profile),
                    listing: rows(&profile.main),
                    profile,
                })
                .collect(),
        }
    }
}

/// A program with a launch, and whose compiler made it.
#[derive(Clone, Copy)]
pub struct Timed<'a> {
    /// The code.
    pub program: &'a Program,
    /// Whose compiler made it.
    pub code: Code,
    /// How it is dispatched; of several sizes the first counts.
    pub launched: &'a Launched,
    /// The text of its source, as far as there is any.
    pub sources: &'a Sources,
    /// The file as text.
    pub text: Option<&'a str>,
    /// How much of it is executed.
    pub sampling: Sampling,
}

impl Timed<'_> {
    /// The predicted time with the lines that take it, and the findings of the launch; what is begun is told.
    pub fn predict(
        &self,
        target: &Target,
        begun: fn(&str),
    ) -> Result<(Predicted, Vec<Finding>), Error> {
        let tasks = tasks(self.program, self.code, self.launched, self.sampling, begun)?;
        let task = tasks.into_iter().next();
        let task = task.ok_or_else(|| Error::usage("the launch has no sizes"))?;
        let passes = task.executed?;
        let state = Cache::Warm;
        begun(&prediction::stage(&task.kernel, target));
        let mut found = prediction::predicted(&task.kernel, task.code, &passes, 1, target, state)?;
        found.lines = lines::lines(&passes, 1, target, state, Some(self.sources))?;
        let mut findings = Vec::new();
        for pass in &passes {
            let of_pass = diagnosis::findings(pass, &found, (target, state), self.text)?;
            findings.extend(of_pass);
        }
        Ok((found, findings))
    }
}

/// What a page about a profile leads with.
pub fn lead(profile: &Profile, time_of: Option<&Predicted>, sources: Option<&Sources>) -> Lead {
    let whole = time_of.map_or(0.0, |predicted| predicted.time_us);
    let line = |line: &LineTime| LeadLine {
        file: line.file.clone(),
        line: line.line,
        share: line.us / whole.max(f64::MIN_POSITIVE),
        why: format!("{}: {}", time(line.us), predicted::reasons(line)),
    };
    let lines = time_of.map_or(&[][..], |predicted| &predicted.lines);
    Lead {
        answer: crate::answer::page(profile, time_of, sources),
        lines: lines.iter().map(line).collect(),
    }
}
