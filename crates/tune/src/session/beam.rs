//! Beam search over sequences of recipes.

use super::journal::{Error, Journal, Wanted};
use super::{BEAM, DEPTH, Level, Proposal, Workbench};
use crate::advice;
use crate::attempts::{Attempt, Genome, Outcome, Phase};
use assay_launch::random::Random;

/// The share of evaluations that is left for parameters.
const FOR_PARAMETERS: f64 = 0.25;

/// A sequence is extended although it is this much slower than the fastest: a step may only pay with the next.
const SLOWER: f64 = 1.5;

/// Extends sequences from an attempt on.
pub(super) fn search<W: Workbench>(journal: &mut Journal<'_, W>, base: u32) -> Result<(), Error> {
    let mut beam = vec![base];
    let most = (journal.left() as f64 * (1.0 - FOR_PARAMETERS)) as usize;
    let end = journal.attempts.len() + most;
    for depth in 0..DEPTH {
        let left = end
            .saturating_sub(journal.attempts.len())
            .min(journal.left());
        // Early steps decide most: half of what is left at each depth.
        let share = match depth + 1 {
            DEPTH => left,
            _ => left.div_ceil(2),
        };
        let each = share.div_ceil(beam.len().max(1));
        let mut made = Vec::new();
        for &parent in &beam {
            let wanted = extensions(journal, parent, each);
            made.extend(journal.try_all(Phase::Recipes, &wanted)?);
        }
        beam = survivors(journal, &made)?;
        if beam.is_empty() || journal.left() == 0 {
            break;
        }
    }
    Ok(())
}

/// Candidates one step further than an attempt: those of advised recipes, others by chance.
fn extensions<W: Workbench>(journal: &Journal<'_, W>, parent: u32, most: usize) -> Vec<Wanted> {
    let Some(attempt) = journal.attempt(parent) else {
        return Vec::new();
    };
    let Outcome::Timed(prediction) = &attempt.outcome else {
        return Vec::new();
    };
    let advised = advice::recipes(&prediction.limited_by);
    let mut random = Random::of(journal.options.seed, u64::from(parent));
    let mut chosen: Vec<Proposal> = journal.workbench.choices(&attempt.genome);
    chosen.retain(|proposal| {
        let chance = random.unit();
        advised.contains(&proposal.recipe.as_str()) || chance < advice::OTHERS
    });
    let rank = |recipe: &str| {
        advised
            .iter()
            .position(|known| *known == recipe)
            .unwrap_or(advised.len())
    };
    chosen.sort_by_key(|proposal| rank(&proposal.recipe));
    let chosen = in_turns(chosen);
    let fresh = chosen
        .into_iter()
        .map(|proposal| attempt.genome.then(&proposal.step));
    let fresh = fresh
        .filter(|genome| journal.known(genome).is_none())
        .take(most);
    fresh.map(|genome| Wanted { parent, genome }).collect()
}

/// The first step of every recipe, then the second of every recipe, …: whatever cuts the list, each had its turn.
fn in_turns(proposals: Vec<Proposal>) -> Vec<Proposal> {
    let mut turns: Vec<(usize, usize, Proposal)> = Vec::new();
    let mut recipes: Vec<(String, usize)> = Vec::new();
    for proposal in proposals {
        let place = recipes
            .iter()
            .position(|(recipe, _)| *recipe == proposal.recipe);
        let place = place.unwrap_or_else(|| {
            recipes.push((proposal.recipe.clone(), 0));
            recipes.len() - 1
        });
        turns.push((recipes[place].1, place, proposal));
        recipes[place].1 += 1;
    }
    turns.sort_by_key(|(turn, place, _)| (*turn, *place));
    turns.into_iter().map(|(_, _, proposal)| proposal).collect()
}

/// The attempts to extend next: fast, proven, and different from each other in what they do.
fn survivors<W: Workbench>(journal: &mut Journal<'_, W>, made: &[u32]) -> Result<Vec<u32>, Error> {
    let fastest = journal.fastest();
    let best = fastest.first().and_then(|&ordinal| journal.time(ordinal));
    let bound = best.unwrap_or(f64::INFINITY) * SLOWER;
    let mut kept: Vec<u32> = Vec::new();
    let mut behaviours: Vec<String> = Vec::new();
    for ordinal in fastest.into_iter().filter(|ordinal| made.contains(ordinal)) {
        let Some(attempt) = journal.attempt(ordinal) else {
            continue;
        };
        let behaviour = behaviour(attempt);
        let slow = journal.time(ordinal).is_none_or(|time| time > bound);
        if slow || behaviours.contains(&behaviour) || kept.len() == BEAM {
            continue;
        }
        if journal.verify(ordinal, Level::Quick)?.is_ok() {
            behaviours.push(behaviour);
            kept.push(ordinal);
        }
    }
    Ok(kept)
}

/// What an attempt does, roughly: its recipes in order, and what its time goes to.
fn behaviour(attempt: &Attempt) -> String {
    let term = match &attempt.outcome {
        Outcome::Timed(prediction) => prediction.limited_by.as_str(),
        Outcome::Failed(_) => "",
    };
    format!("{} {term}", recipes(&attempt.genome).join(" "))
}

/// The recipes of a genome, without their parameters.
pub(super) fn recipes(genome: &Genome) -> Vec<&str> {
    let name = |step: &'_ String| -> usize { step.find(':').unwrap_or(step.len()) };
    genome
        .steps
        .iter()
        .map(|step| &step[..name(step)])
        .collect()
}
