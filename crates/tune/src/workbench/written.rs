//! Sources that somebody wrote in place of the kernel's own: the steps `written:…` of a genome.
//!
//! Such a step comes first; recipes may follow. The source goes through [`unwanted`] before the compiler sees it, its class is
//! R (nobody promises the same bytes), and a grid may be at most [`MOST_THREADS`] times the original's.

use super::source_filter::unwanted;
use super::{Bench, Launch};
use crate::attempts::{Failure, Genome, Stage};
use crate::knobs::{Knobs, defined, with_value};
use crate::session::Written;
use crate::session::proposer::WRITTEN;
use assay_launch::template::Grid;
use assay_launch::{Sizes, extent};
use assay_rewrite::recipe::{Applied, Candidate, Class, Geometry};
use std::sync::Arc;

/// Times the original's threads that a written source may be dispatched with: a simdgroup a thread, and some.
const MOST_THREADS: u128 = 64;

/// Returns true if a step stands for a written source.
pub(super) fn is_step(step: &str) -> bool {
    step.starts_with(WRITTEN)
}

/// Returns true if a genome is a written source without recipes on top.
pub(super) fn is_plain(genome: &Genome) -> bool {
    matches!(genome.steps.as_slice(), [only] if is_step(only))
}

/// Returns true if a genome is made of a written source.
pub(super) fn is_written(genome: &Genome) -> bool {
    genome.steps.first().is_some_and(|step| is_step(step))
}

impl<L: Launch> Bench<'_, L> {
    fn written(&self, genome: &Genome) -> Result<Arc<Written>, Failure> {
        let step = genome.steps.first().map_or("", String::as_str);
        let known = self.written.lock().ok();
        let found = known.and_then(|known| known.get(step).cloned());
        found.ok_or_else(|| {
            Failure::new(
                Stage::Apply,
                format!("{step}: there is no such source here"),
            )
        })
    }

    /// The text of a written source with the values of its knobs.
    pub(super) fn written_text(&self, genome: &Genome) -> Result<String, Failure> {
        let written = self.written(genome)?;
        if let Some(found) = unwanted(&written.source) {
            return Err(Failure::new(Stage::Filter, found.to_string()));
        }
        let mut text = written.source.clone();
        for (name, value) in &genome.knobs {
            if !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                let why = format!("{name}={value}: a value is a number or a word");
                return Err(Failure::new(Stage::Filter, why));
            }
            text = with_value(&text, name, value).ok_or_else(|| {
                let why = format!("the source has no #define {name} for its knob");
                Failure::new(Stage::Apply, why)
            })?;
        }
        Ok(text)
    }

    /// The knobs that a written source declares.
    pub(super) fn written_knobs(&self, genome: &Genome) -> Result<Knobs, Failure> {
        let written = self.written(genome)?;
        Knobs::of_source(&written.source)
            .map_err(|error| Failure::new(Stage::Apply, error.to_string()))
    }

    /// The numbers of a written source's knobs, as formulas see them.
    pub(super) fn written_numbers(&self, genome: &Genome) -> Sizes {
        let Some(written) = is_written(genome)
            .then(|| self.written(genome).ok())
            .flatten()
        else {
            return Sizes::new();
        };
        let declared = Knobs::of_source(&written.source).unwrap_or_default();
        let own = declared.knobs.iter().filter_map(|knob| {
            let value = defined(&written.source, &knob.name)?;
            Some((knob.name.clone(), value.to_owned()))
        });
        let given = genome.knobs.iter().cloned();
        let number = |(name, text): (String, String)| {
            let number = crate::space::Value::new(text).number?;
            Some((name, number))
        };
        own.chain(given).filter_map(number).collect()
    }

    /// The program of a written source with its geometry.
    pub(super) fn apply_written(&self, genome: &Genome) -> Result<Applied, Failure> {
        if genome.steps.len() > 1 {
            let why = "a written source takes the place of the original: it comes first";
            return Err(Failure::new(Stage::Apply, why));
        }
        let text = self.written_text(genome)?;
        let written = self.written(genome)?;
        let mut geometry = self.written_geometry(&written)?;
        geometry.sizes.extend(self.written_numbers(genome));
        self.bounded(&geometry)?;
        let module = self.subject.stranger(&text)?.module;
        Ok(Applied {
            candidate: Candidate {
                module,
                kernel: self.subject.function.clone(),
                geometry,
            },
            class: Class::Reassociating,
        })
    }

    /// The geometry that a written source asks for, the original's where it says nothing.
    fn written_geometry(&self, written: &Written) -> Result<Geometry, Failure> {
        let mut geometry = self.launch.geometry().clone();
        let asked = &written.geometry;
        let limits = |why: String| Failure::new(Stage::Limits, why);
        let formulas = |texts: &[String]| extent(&texts.join(",")).map_err(limits);
        if !asked.groups.is_empty() {
            geometry.grid = Grid::Groups(formulas(&asked.groups)?);
        } else if !asked.grid.is_empty() {
            geometry.grid = Grid::Threads(formulas(&asked.grid)?);
        }
        if !asked.threadgroup.is_empty() {
            geometry.threadgroup = formulas(&asked.threadgroup)?;
        }
        Ok(geometry)
    }

    /// Refuses a grid that is far larger than the original's.
    fn bounded(&self, geometry: &Geometry) -> Result<(), Failure> {
        let limits = |error: assay_launch::Error| Failure::new(Stage::Limits, error.to_string());
        let threads = |geometry: &Geometry| -> Result<u128, Failure> {
            let mut sizes = self.launch.timed().clone();
            sizes.extend(geometry.sizes.clone());
            let (grid, _) = geometry.at(&sizes).map_err(limits)?;
            Ok(grid.iter().map(|extent| u128::from(*extent)).product())
        };
        let (asked, own) = (threads(geometry)?, threads(self.launch.geometry())?);
        if asked > own.max(1 << 16) * MOST_THREADS {
            let why = format!("{asked} threads, and the original has {own}");
            return Err(Failure::new(Stage::Limits, why));
        }
        Ok(())
    }
}
