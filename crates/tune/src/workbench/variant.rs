//! A kernel after some steps: its program, and its author's text as long as only that was edited.

use super::{Bench, Launch};
use crate::attempts::{Failure, Genome, Stage};
use assay_rewrite::recipe::patch::{self, Edited, Original};
use assay_rewrite::recipe::{Applied, Step, apply};
use std::ops::Deref;

/// A program with its geometry, and the text it was compiled from where that is the author's own with edits.
pub(super) struct Variant {
    applied: Applied,
    text: Option<String>,
}

impl Deref for Variant {
    type Target = Applied;

    fn deref(&self) -> &Applied {
        &self.applied
    }
}

impl From<Applied> for Variant {
    fn from(applied: Applied) -> Variant {
        Variant {
            applied,
            text: None,
        }
    }
}

impl Variant {
    /// The kernel as its author wrote it.
    pub(super) fn original(applied: Applied, text: Option<String>) -> Variant {
        Variant { applied, text }
    }

    /// The author's text with edits, if the program was made of one.
    pub(super) fn text(&self) -> Option<&String> {
        self.text.as_ref()
    }
}

impl<L: Launch> Bench<'_, L> {
    /// A variant after one more step.
    pub(super) fn next(
        &self,
        genome: &Genome,
        parent: &Variant,
        step: &Step,
    ) -> Result<Variant, Failure> {
        let fail = |why: String| Failure::new(Stage::Apply, format!("{step}: {why}"));
        let text = parent.text.as_deref();
        let original = text.map(|text| Original {
            text,
            kernel: &self.subject.function,
            geometry: &parent.candidate.geometry,
        });
        if let Some(original) = original.filter(|_| patch::is_edit(step.recipe())) {
            let edited = patch::edit(&original, step).map_err(|refusal| fail(refusal.why))?;
            return self.edited(genome, parent, edited);
        }
        let mut next = apply(&parent.candidate, step).map_err(|refusal| fail(refusal.why))?;
        next.class = next.class.max(parent.class);
        let edited = original.and_then(|original| patch::as_edit(&original, step, &next));
        Ok(Variant {
            applied: next,
            text: edited.map(|edited| edited.text),
        })
    }

    /// The program of an edited text.
    fn edited(
        &self,
        genome: &Genome,
        parent: &Variant,
        edited: Edited,
    ) -> Result<Variant, Failure> {
        let compiled = self
            .subject
            .edited(&genome.knobs, &edited.text, edited.geometry)?;
        Ok(Variant {
            applied: Applied {
                class: parent.class.max(edited.class),
                ..compiled
            },
            text: Some(edited.text),
        })
    }
}
