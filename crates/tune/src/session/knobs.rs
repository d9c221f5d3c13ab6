//! The kernel's own knobs.

use super::Workbench;
use super::journal::{Error, Journal, Wanted};
use crate::attempts::{Genome, Phase};
use crate::search::{Search, Strategy, Trial, WHOLE};
use crate::space::{Point, Space};

/// Searches the knobs; the fastest attempt.
pub(super) fn search<W: Workbench>(
    journal: &mut Journal<'_, W>,
    space: &Space,
) -> Result<u32, Error> {
    // Recipes get the other half.
    let most = match journal.options.recipes {
        true => journal.left().div_ceil(2),
        false => journal.left(),
    };
    search_steps(journal, space, (0, &[]), Phase::Knobs, most)
}

/// Searches the knobs of a sequence of steps, made of an attempt; the fastest attempt of all.
pub(super) fn search_steps<W: Workbench>(
    journal: &mut Journal<'_, W>,
    space: &Space,
    (parent, steps): (u32, &[String]),
    phase: Phase,
    most: usize,
) -> Result<u32, Error> {
    let wanted = |point: Point| Wanted {
        parent,
        genome: Genome {
            knobs: space
                .settings(point)
                .map(|(name, value)| (name.to_owned(), value.text.clone()))
                .collect(),
            steps: steps.to_vec(),
        },
    };
    if space.len() <= WHOLE.min(most) {
        let all: Vec<Wanted> = space.points().map(wanted).collect();
        journal.try_all(phase, &all)?;
        return Ok(journal.fastest().first().copied().unwrap_or(0));
    }
    let search = Search::new(space, Strategy::Gaussian, journal.options.seed).within(most);
    let mut trials: Vec<Trial> = Vec::new();
    while trials.len() < most {
        let Some(point) = search.next(&trials) else {
            break;
        };
        let made = journal.try_all(phase, &[wanted(point)])?;
        let Some(&ordinal) = made.first() else {
            break;
        };
        trials.push(Trial {
            point,
            time: journal.time(ordinal),
        });
    }
    Ok(journal.fastest().first().copied().unwrap_or(0))
}
