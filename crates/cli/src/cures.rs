//! Cures of findings, applied, predicted and proven: what `assay profile --cures` shows and `assay rewrite` rests on.

use crate::commands::tune::file::FileLaunch;
use crate::failure::Failure;
use crate::prediction::Launched;
use crate::progress;
use crate::source::ThisMachine;
use assay_front::{GivenConstant, SourceOptions};
use assay_predict::Target;
use assay_profile::{Cure, Finding, TimeGain};
use assay_tune::attempts::{Genome, Verified};
use assay_tune::cure::{self, Cured};
use assay_tune::diff::{Line, lines};
use assay_tune::knobs::Knobs;
use assay_tune::session::{Level, Workbench};
use assay_tune::workbench::{Bench, Origin, Subject, instructions, quick};
use std::path::Path;

/// Findings that cures are tried for.
const MOST: usize = 3;

/// Instructions of all simdgroups up to which a launch is run whole for a report: about a second.
const AFFORDABLE: f64 = 2e7;

/// The share of the time from which a finding is worth trying cures for.
const LEAST: f64 = 0.03;

/// A kernel of a source with its launch.
pub(crate) struct Patient<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) options: SourceOptions,
    pub(crate) constants: &'a [GivenConstant],
    pub(crate) kernel: &'a str,
    /// The file has other kernels.
    pub(crate) is_one_of_several: bool,
    pub(crate) launched: &'a Launched,
    pub(crate) target: &'a Target,
}

impl Patient<'_> {
    fn subject(&self) -> Subject<'static> {
        let origin = Origin::Source(self.text.to_owned(), self.options.clone());
        let constants = self.constants.to_vec();
        let mut subject = Subject::new(
            &ThisMachine,
            origin,
            self.kernel,
            constants,
            Knobs::default(),
        );
        subject.path = self.path.to_owned();
        subject
    }

    /// The launch with the small sizes that something is proven at; none if each would take more than `most` instructions.
    fn launch(&self, subject: &Subject<'_>, most: f64) -> Result<FileLaunch, Failure> {
        let mut launch = FileLaunch::new(self.launched.clone(), None)?;
        let affordable = |sizes: &_| {
            let instructions = instructions(subject, &launch, sizes);
            instructions.is_ok_and(|instructions| instructions <= most)
        };
        let plan = quick(subject, &launch, &affordable);
        launch.plan = plan.map_err(|failure| Failure::input(failure.why))?;
        Ok(launch)
    }

    /// The command that applies some steps, to copy.
    fn command(&self, steps: &[String]) -> String {
        let mut command = format!("assay rewrite {}", self.path.display());
        if self.is_one_of_several {
            command += &format!(" -f {}", self.kernel);
        }
        for step in steps {
            command += &format!(" --recipe {step}");
        }
        if self.launched.is_by_flags() {
            command += &format!(" {}", self.launched.launch);
        }
        command
    }

    /// Runs a kernel that recipes made beside the original, and checks it.
    pub(crate) fn proven(&self, steps: &[String]) -> Result<Verified, Failure> {
        let subject = self.subject();
        // Whoever asks for a kernel waits for its proof.
        let launch = self.launch(&subject, f64::INFINITY)?;
        let bench = Bench::new(subject, &launch, [self.target], "cures");
        let genome = Genome {
            knobs: Vec::new(),
            steps: steps.to_vec(),
        };
        let verified = bench.verify(&genome, Level::Quick);
        verified.map_err(|failure| {
            let message = format!("the result is not that of {}: {}", self.kernel, failure.why);
            Failure::new(crate::failure::Kind::Verdict, message)
                .advice("nothing was written: the recipe does not hold for this kernel")
        })
    }

    /// Tries cures for the weightiest findings, and tells them what was found.
    pub(crate) fn cure(&self, findings: &mut [Finding]) -> Result<(), Failure> {
        let is_worth = |finding: &Finding| {
            let share = finding.weight.map_or(0.0, |weight| weight.share);
            share >= LEAST && !cure::answers(finding.rule).is_empty()
        };
        if !findings.iter().any(is_worth) {
            return Ok(());
        }
        progress::stage(&format!("trying cures of {}", self.kernel));
        let subject = self.subject();
        let launch = self.launch(&subject, AFFORDABLE)?;
        let proves = !launch.plan.quick.is_empty();
        let bench = Bench::new(subject, &launch, [self.target], "cures");
        let fail = |failure: assay_tune::attempts::Failure| Failure::input(failure.why);
        let original = bench.prepare(&Genome::default()).map_err(fail)?;
        let before = bench.predict(&original).map_err(fail)?.time_us;
        for finding in findings.iter_mut().filter(|one| is_worth(one)).take(MOST) {
            let outcome = cure::cures(&bench, finding.rule, &finding.lines, before, proves);
            let line = finding.lines.first().copied().unwrap_or(0);
            let told = finding.cure.get_or_insert_default();
            told.refused = outcome
                .refused
                .into_iter()
                // What refuses a step names it already.
                .map(
                    |(steps, why)| match why.starts_with(&format!("{steps}: ")) {
                        true => why,
                        false => format!("{steps}: {why}"),
                    },
                )
                .collect();
            if let Some(cured) = &outcome.cured {
                self.tell(told, cured, before, line);
            }
        }
        Ok(())
    }

    fn tell(&self, told: &mut Cure, cured: &Cured, before: f64, line: u32) {
        told.command = Some(self.command(&cured.steps));
        let band = self.target.constants.band_pair;
        let saved = |time: f64| (before - time).max(0.0);
        let time = cured.prediction.time_us;
        told.gain = Some(TimeGain {
            us: saved(time),
            share: saved(time) / before.max(f64::MIN_POSITIVE),
            low_us: saved(time * band),
            high_us: saved(time / band),
        });
        if cured.is_edit {
            (told.before, told.after) = change_at(self.text, &cured.source, line);
        }
    }
}

/// What an edit changes around a line, the first of it as it is and as it becomes; elsewhere if it leaves that line alone.
fn change_at(before: &str, after: &str, line: u32) -> (Option<String>, Option<String>) {
    let (mut found, mut gone, mut came) = ((None, None), None, None);
    let (mut number, mut is_here) = (0, false);
    for one in lines(before, after).into_iter().chain([Line::Both("")]) {
        match one {
            Line::Before(text) => {
                number += 1;
                is_here |= number == line;
                gone.get_or_insert_with(|| text.to_owned());
            }
            Line::After(text) => {
                came.get_or_insert_with(|| text.to_owned());
            }
            Line::Both(_) => {
                number += 1;
                let hunk = (gone.take(), came.take());
                if is_here {
                    return hunk;
                }
                if found == (None, None) {
                    found = hunk;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_the_recipes_that_are_tried() {
        for rule in [
            "scattered-access",
            "bank-conflicts",
            "redundant-loads",
            "serial-threads",
            "atomics-contention",
            "narrow-loads",
            "needless-barriers",
            "partial-simdgroups",
            "too-few-threadgroups",
        ] {
            let steps = assay_tune::cure::answers(rule).iter();
            let mut tried: Vec<&str> = steps
                .flat_map(|steps| steps.split(' '))
                .filter_map(|step| step.split(':').next())
                .collect();
            tried.sort_unstable();
            tried.dedup();
            let mut named = assay_profile::recipes(rule).to_vec();
            named.sort_unstable();
            assert_eq!(named, tried, "{rule}");
        }
    }

    #[test]
    fn the_change_at_the_line_is_shown() {
        let change = |before: &str, after: &str, line| {
            let (gone, came) = change_at(before, after, line);
            (gone.unwrap_or_default(), came.unwrap_or_default())
        };
        let shown = |gone: &str, came: &str| (gone.to_owned(), came.to_owned());
        assert_eq!(change("a\nb\nc\nd\n", "A\nb\nC\nd\n", 3), shown("c", "C"));
        assert_eq!(change("a\nb\nc\nd\n", "A\nb\nC\nd\n", 2), shown("a", "A"));
        assert_eq!(change("a\nc\n", "a\nb\nc\n", 1), shown("", "b"));
        assert_eq!(change("a", "a", 1), shown("", ""));
    }
}
