//! What a session found, as a document.

mod text;

pub use text::text;

use crate::attempts::{Attempt, Geometry, Outcome, Prediction, Verified};
use crate::session::Found;
use crate::workbench::{Compared, guard};
use assay_launch::describe;
use serde::Serialize;

/// What a session found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// The chip.
    pub chip: String,
    /// Where times come from: `modelled`.
    pub basis: &'static str,
    /// A faster kernel was found, and its gain survives correction.
    pub improved: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// Microseconds of the original.
    pub original_us: f64,
    /// Microseconds of the winner; those of the original if nothing was kept.
    pub best_us: f64,
    /// Predicted time of the original over that of the fastest that was proven.
    pub gain: f64,
    /// The gain after correction for being the best of many: the true one is above it with four chances in five.
    pub claimed_gain: f64,
    /// The gain that the true one does not exceed with four chances in five.
    pub high_gain: f64,
    /// `E`: the same bytes as the original. `R`: floats are added in another order.
    pub class: String,
    /// Attempts, the original included.
    pub evaluations: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// The budget ended before the evaluations did.
    pub stopped: bool,
    /// Recipes of the winner, in order.
    pub recipes: Vec<String>,
    /// Knobs of the winner.
    pub knobs: Vec<Setting>,
    /// How the winner is dispatched.
    pub geometry: Geometry,
    /// The same as flags of `assay run`.
    pub launch: String,
    /// Metal source of the winner; empty if nothing was kept.
    pub source: String,
    /// Where the time goes.
    pub terms: Vec<TermChange>,
    /// What was proven.
    pub proof: Proof,
    /// The winner beside the original at every size on every chip: those the claim is about, and others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<Cell>,
    /// A condition on sizes under which the winner is not slower than the original; none if it never is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// What to know about all this.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The session's number in the database of attempts.
    pub session: i64,
}

/// The winner beside the original at one size on one chip.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The sizes: `C = 256, R = 512`.
    pub sizes: String,
    /// The chip.
    pub chip: String,
    /// How many times as fast the winner is.
    pub gain: f64,
    /// The claim is about it.
    pub claimed: bool,
}

/// A knob and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The knob.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A term of the time before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TermChange {
    /// What takes the time.
    pub name: String,
    /// Microseconds before.
    pub before_us: f64,
    /// Microseconds after.
    pub after_us: f64,
}

/// What was proven about the winner.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// At sizes that the search knew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<Verified>,
    /// At sizes that were held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<Verified>,
    /// Faster attempts that were not right: ordinal, stage, sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(u32, &'static str, String)>,
}

/// What a report says besides what was found.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The kernel.
    pub kernel: String,
    /// The chip.
    pub chip: String,
    /// The session's number.
    pub session: i64,
    /// What to know.
    pub notes: Vec<String>,
    /// The winner beside the original, at all sizes on all chips.
    pub beside: Vec<Compared>,
}

impl Report {
    /// The report of a session. `launch` writes a geometry as flags.
    pub fn new(
        found: &Found,
        about: About,
        launch: impl Fn(&Geometry, &[Setting]) -> String,
    ) -> Report {
        let kept = found.winner.as_ref().filter(|_| found.decision.kept);
        let shown = kept.unwrap_or(&found.original);
        let (before, after) = (predicted(&found.original), predicted(shown));
        let time = |prediction: Option<&Prediction>| prediction.map_or(0.0, |it| it.time_us);
        let geometry = shown.geometry.clone().unwrap_or_default();
        let knobs: Vec<Setting> = shown
            .genome
            .knobs
            .iter()
            .map(|(name, value)| Setting {
                name: name.clone(),
                value: value.clone(),
            })
            .collect();
        let refused = found.proof.refused.iter();
        let refused =
            refused.map(|(ordinal, failure)| (*ordinal, failure.stage.name(), failure.why.clone()));
        Report {
            kernel: about.kernel,
            chip: about.chip,
            basis: "modelled",
            improved: kept.is_some(),
            reason: found.decision.reason.clone(),
            original_us: time(before),
            best_us: time(after),
            gain: two_places(found.claim.predicted),
            claimed_gain: two_places(if kept.is_some() {
                found.claim.claimed
            } else {
                1.0
            }),
            high_gain: two_places(found.claim.high),
            class: shown.class.clone().unwrap_or_default(),
            evaluations: found.attempts,
            failed: found.failed,
            stopped: found.stopped,
            recipes: shown.genome.steps.clone(),
            launch: launch(&geometry, &knobs),
            knobs,
            geometry,
            source: kept.and_then(|it| it.source.clone()).unwrap_or_default(),
            terms: terms(before, after),
            proof: Proof {
                full: found.proof.full.clone().filter(|_| kept.is_some()),
                held_out: found.proof.held_out.clone(),
                refused: refused.collect(),
            },
            table: about.beside.iter().map(Cell::from).collect(),
            guard: guard(&about.beside),
            notes: about.notes,
            session: about.session,
        }
    }
}

impl From<&Compared> for Cell {
    fn from(compared: &Compared) -> Cell {
        Cell {
            sizes: describe(&compared.sizes),
            chip: compared.chip.clone(),
            gain: two_places(compared.gain()),
            claimed: compared.claimed,
        }
    }
}

fn predicted(attempt: &Attempt) -> Option<&Prediction> {
    match &attempt.outcome {
        Outcome::Timed(prediction) => Some(prediction),
        Outcome::Failed(_) => None,
    }
}

fn two_places(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Terms of two predictions, the largest change first.
pub fn terms(before: Option<&Prediction>, after: Option<&Prediction>) -> Vec<TermChange> {
    let terms = |prediction: Option<&Prediction>| {
        prediction.map_or(Vec::new(), |prediction| prediction.terms.clone())
    };
    let (before, after) = (terms(before), terms(after));
    let us = |terms: &[(String, f64)], name: &str| {
        let found = terms.iter().find(|(known, _)| known == name);
        found.map_or(0.0, |(_, us)| *us)
    };
    let mut names: Vec<&String> = before.iter().map(|(name, _)| name).collect();
    names.extend(after.iter().map(|(name, _)| name));
    let mut changes: Vec<TermChange> = Vec::new();
    for name in names {
        if !changes.iter().any(|known| known.name == *name) {
            changes.push(TermChange {
                name: name.clone(),
                before_us: us(&before, name),
                after_us: us(&after, name),
            });
        }
    }
    let change = |term: &TermChange| (term.after_us - term.before_us).abs();
    changes.sort_by(|a, b| change(b).total_cmp(&change(a)));
    changes
}
