//! Parameters of the best sequences: the same recipes with other numbers.

use super::beam::recipes;
use super::journal::{Error, Journal, Wanted};
use super::{SEQUENCES, Workbench};
use crate::attempts::{Genome, Phase};
use crate::search::{Search, Strategy, Trial};
use crate::space::{Config, Knob, Point, Space};

/// Evaluations for one sequence at most.
const MOST: usize = 24;

/// Searches the parameters of the fastest sequences.
pub(super) fn search<W: Workbench>(journal: &mut Journal<'_, W>) -> Result<(), Error> {
    let mut sequences: Vec<Genome> = Vec::new();
    for ordinal in journal.fastest() {
        let Some(attempt) = journal.attempt(ordinal) else {
            continue;
        };
        let genome = &attempt.genome;
        let same =
            |other: &Genome| other.knobs == genome.knobs && recipes(other) == recipes(genome);
        if !genome.steps.is_empty() && !sequences.iter().any(same) {
            sequences.push(genome.clone());
        }
        if sequences.len() == SEQUENCES {
            break;
        }
    }
    let count = sequences.len();
    for (number, sequence) in sequences.iter().enumerate() {
        let most = journal.left().div_ceil(count - number).min(MOST);
        descend(journal, sequence, most)?;
    }
    Ok(())
}

/// Other parameters of one sequence, near the fastest known.
fn descend<W: Workbench>(
    journal: &mut Journal<'_, W>,
    sequence: &Genome,
    most: usize,
) -> Result<(), Error> {
    let Some(space) = alternatives(journal, sequence) else {
        return Ok(());
    };
    let genome = |point: Point| Genome {
        knobs: sequence.knobs.clone(),
        steps: space
            .settings(point)
            .map(|(_, value)| value.text.clone())
            .collect(),
    };
    let mut trials: Vec<Trial> = Vec::new();
    for point in space.points() {
        if let Some(ordinal) = journal.known(&genome(point)) {
            let time = journal.time(ordinal);
            trials.push(Trial { point, time });
        }
    }
    let parent = journal.known(sequence).unwrap_or(0);
    let search = Search::new(&space, Strategy::Descent, journal.options.seed).within(most);
    for _ in 0..most {
        let Some(point) = search.next(&trials) else {
            break;
        };
        let wanted = Wanted {
            parent,
            genome: genome(point),
        };
        let made = journal.try_all(Phase::Parameters, &[wanted])?;
        let Some(&ordinal) = made.first() else {
            break;
        };
        let time = journal.time(ordinal);
        trials.push(Trial { point, time });
    }
    Ok(())
}

/// Configurations of a sequence that are looked at at most.
const MOST_CONFIGURATIONS: usize = 4096;

/// The space of a sequence: at each place the steps of the same recipe that apply there.
fn alternatives<W: Workbench>(journal: &Journal<'_, W>, sequence: &Genome) -> Option<Space> {
    let mut knobs: Vec<Knob> = Vec::new();
    let mut prefix = Genome {
        knobs: sequence.knobs.clone(),
        steps: Vec::new(),
    };
    for (place, step) in sequence.steps.iter().enumerate() {
        let recipe = step.split(':').next().unwrap_or_default();
        let choices = journal.workbench.choices(&prefix).into_iter();
        let mut steps: Vec<String> = choices
            .filter(|proposal| proposal.recipe == recipe)
            .map(|proposal| proposal.step)
            .collect();
        if !steps.contains(step) {
            steps.push(step.clone());
        }
        knobs.push(Knob::new(format!("{place}"), steps));
        prefix = prefix.then(step);
    }
    let raw = knobs.iter().map(|knob| knob.values.len());
    let raw = raw.fold(1usize, usize::saturating_mul);
    if !(2..=MOST_CONFIGURATIONS).contains(&raw) {
        return None;
    }
    let mut configs = vec![Vec::new()];
    for knob in &knobs {
        let longer = configs.iter().flat_map(|config: &Vec<u16>| {
            (0..knob.values.len() as u16).map(move |value| {
                let mut longer = config.clone();
                longer.push(value);
                longer
            })
        });
        configs = longer.collect();
    }
    Space::of(knobs, configs.into_iter().map(Config::new).collect()).ok()
}
