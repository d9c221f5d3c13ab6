//! Sizes to prove candidates at, for launches whose author named only the one that matters.
//!
//! Sizes that are multiples of nothing show most: tails of tiles, clamped indices, rows shorter than a simdgroup. Long ones
//! are drawn ([`draw`](super::draw)). But a kernel may only be right for some sizes. The original says which: a size at
//! which it faults, never ends or does what no kernel may is left out for a rounder one.

use super::draw::{Cost, Draws, KEPT, Wish};
use super::proof::Runner;
use super::{Launch, Subject, instructions};
use crate::attempts::{Failure, Genome, Stage};
use crate::session::Level;
use assay_launch::{Sizes, describe};

/// Sizes by what they are for.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// For everything that is built upon.
    pub quick: Vec<Sizes>,
    /// For finalists.
    pub full: Vec<Sizes>,
    /// For the winner, once.
    pub held_out: Vec<Sizes>,
    /// Too large for runs that are checked.
    pub unchecked: Vec<Sizes>,
    /// How further sizes are drawn, where they are.
    pub drawing: Option<Drawing>,
}

/// How sizes are drawn that depend on a candidate.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// What a run costs.
    pub cost: Cost,
    /// What every length is a multiple of: the original is right at no others.
    pub multiple: u64,
}

impl Plan {
    /// The sizes a level of proof runs at.
    pub fn sizes(&self, level: Level) -> &[Sizes] {
        match level {
            Level::Quick => &self.quick,
            Level::Full => &self.full,
            Level::HeldOut => &self.held_out,
        }
    }
}

/// Lengths that no tile divides.
const ODD: [u64; 11] = [37, 53, 21, 67, 45, 33, 29, 71, 19, 59, 41];

/// Multiples to try, the most telling first.
const MULTIPLES: [u64; 6] = [1, 4, 16, 32, 64, 128];

/// Instructions of all simdgroups up to which a launch is run whole on this CPU.
const AFFORDABLE: f64 = 1e8;

/// The same for a run that is checked.
const CHECKABLE: f64 = 5e6;

/// Bytes that all buffers of a drawn run hold at most.
const MOST_BYTES: u64 = 1 << 27;

/// Rounds of drawn sizes for finalists, and for the winner.
const ROUNDS: usize = 2;

/// Small sizes in place of those a launch names, each a multiple of `multiple`; another round, other sizes.
///
/// ```
/// use assay_tune::workbench::odd;
/// let timed = [("C".to_owned(), 3), ("N".to_owned(), 1 << 20)].into();
/// assert_eq!(odd(&timed, 0, 1)["C"], 3);
/// assert_eq!(odd(&timed, 0, 1)["N"], 53);
/// assert_eq!(odd(&timed, 0, 32)["N"], 64);
/// ```
pub fn odd(timed: &Sizes, round: usize, multiple: u64) -> Sizes {
    let small = |(place, (name, &value)): (usize, (&String, &u64))| {
        if value <= KEPT {
            return (name.clone(), value);
        }
        let mut length = ODD[(place + round * 3) % ODD.len()];
        while length > value {
            length = length / 2 + 1;
        }
        let length = length.next_multiple_of(multiple);
        (name.clone(), length.min(value))
    };
    timed.iter().enumerate().map(small).collect()
}

/// Sizes of a launch at which the original is clean. `given` are those that the user named, the timed one first.
pub fn suitable(
    subject: &Subject<'_>,
    launch: &impl Launch,
    given: &[Sizes],
) -> Result<Plan, Failure> {
    let mut original = OriginalRuns::new(subject)?;
    let timed = launch.timed();
    let estimate = |sizes: &Sizes| instructions(subject, launch, sizes).ok();
    let cost = Cost::measure(timed, &estimate);
    let cheaper = |most: f64| -> Vec<Sizes> {
        let within = given.iter().filter(|sizes| cost.at(sizes) <= most);
        within.cloned().collect()
    };
    let (run, checked) = (cheaper(AFFORDABLE), cheaper(CHECKABLE));
    let unchecked: Vec<Sizes> = run
        .iter()
        .filter(|it| !checked.contains(it))
        .cloned()
        .collect();
    if timed.values().all(|value| *value <= KEPT) {
        let all = vec![timed.clone()];
        original.clean(subject, launch, timed, run.contains(timed))?;
        let unchecked = if checked.contains(timed) {
            Vec::new()
        } else {
            all.clone()
        };
        return Ok(Plan {
            quick: all.clone(),
            full: all.clone(),
            held_out: all,
            unchecked,
            drawing: None,
        });
    }
    let mut first_failure = None;
    let mut multiple = None;
    let mut pick = |rounds: std::ops::Range<usize>, multiples: &[u64]| {
        let mut picked: Vec<Sizes> = Vec::new();
        for round in rounds {
            for &by in multiples {
                let sizes = odd(timed, round, by);
                match original.clean(subject, launch, &sizes, true) {
                    Ok(()) => {
                        multiple.get_or_insert(by);
                        picked.extend((!picked.contains(&sizes)).then_some(sizes));
                        break;
                    }
                    Err(failure) if matches!(failure.stage, Stage::Oracle | Stage::Abandoned) => {
                        return Err(failure);
                    }
                    Err(failure) => {
                        first_failure.get_or_insert(failure);
                    }
                }
            }
        }
        Ok(picked)
    };
    let quick = pick(0..2, &MULTIPLES)?;
    let mut full = quick.clone();
    full.extend(pick(2..3, &MULTIPLES)?);
    // Whole tiles take other paths than tails.
    full.extend(pick(3..4, &MULTIPLES[3..])?);
    let mut held_out = pick(4..6, &MULTIPLES)?;
    let drawing = Drawing {
        cost,
        multiple: multiple.unwrap_or(1),
    };
    for (stream, sizes) in [(1, &mut full), (2, &mut held_out)] {
        let mut draws = Draws::new(timed, stream);
        let wishes = (0..ROUNDS).flat_map(|_| draws.round());
        let clean = original.of_wishes(subject, launch, wishes, &drawing);
        sizes.extend(clean);
        let mut seen: Vec<Sizes> = Vec::new();
        sizes.retain(|one| {
            let fresh = !seen.contains(one);
            seen.push(one.clone());
            fresh
        });
    }
    full.extend(run);
    match first_failure {
        Some(failure) if quick.is_empty() => Err(failure),
        _ => Ok(Plan {
            quick,
            full,
            held_out,
            unchecked,
            drawing: Some(drawing),
        }),
    }
}

/// The sizes that were named and no others, as far as this CPU can run them: for launches whose numbers depend on each other.
pub fn as_given(
    subject: &Subject<'_>,
    launch: &impl Launch,
    given: &[Sizes],
) -> Result<Plan, Failure> {
    let mut original = OriginalRuns::new(subject)?;
    let mut costs: Vec<(f64, &Sizes)> = Vec::new();
    for sizes in given {
        costs.push((instructions(subject, launch, sizes)?, sizes));
    }
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cheap = costs.iter().filter(|(cost, _)| *cost <= AFFORDABLE).count();
    // Something has to be proven, however long it takes.
    costs.truncate(cheap.max(1));
    let mut plan = Plan::default();
    for (cost, sizes) in costs {
        let is_checked = cost <= CHECKABLE;
        original.clean(subject, launch, sizes, is_checked)?;
        if !is_checked {
            plan.unchecked.push(sizes.clone());
        }
        plan.full.push(sizes.clone());
    }
    plan.quick.extend(plan.full.first().cloned());
    plan.held_out.clone_from(&plan.full);
    Ok(plan)
}

/// As [`suitable`], for a report that has seconds: one small size, and one at which whole tiles are; the launch's own where these do
/// not do, if it is affordable. A launch that names no sizes has only its own: the plan is empty where that is too large.
pub fn quick(
    subject: &Subject<'_>,
    launch: &impl Launch,
    affordable: &dyn Fn(&Sizes) -> bool,
) -> Result<Plan, Failure> {
    let mut original = OriginalRuns::new(subject)?;
    let timed = launch.timed();
    let mut plan = Plan::default();
    let mut first_failure = None;
    if timed.is_empty() && !affordable(timed) {
        return Ok(plan);
    }
    for multiples in [&MULTIPLES[..], &MULTIPLES[3..]] {
        for &multiple in multiples {
            let sizes = odd(timed, 0, multiple);
            match original.clean(subject, launch, &sizes, true) {
                Ok(()) => {
                    plan.quick
                        .extend((!plan.quick.contains(&sizes)).then_some(sizes));
                    break;
                }
                Err(failure) => {
                    first_failure.get_or_insert(failure);
                }
            }
        }
    }
    // A kernel that has sizes of its own written into it is right at the launch's alone.
    let at_launch = |original: &mut OriginalRuns| original.clean(subject, launch, timed, true);
    if plan.quick.is_empty() && affordable(timed) && at_launch(&mut original).is_ok() {
        plan.quick.push(timed.clone());
    }
    match first_failure {
        Some(failure) if plan.quick.is_empty() => Err(failure),
        _ => Ok(plan),
    }
}

/// The original, run and checked.
pub(super) struct OriginalRuns {
    run: Runner,
    check: Runner,
}

impl OriginalRuns {
    pub(super) fn new(subject: &Subject<'_>) -> Result<OriginalRuns, Failure> {
        Ok(OriginalRuns {
            run: Runner::new(subject, &Genome::default(), None, false)?,
            check: Runner::new(subject, &Genome::default(), None, true)?,
        })
    }

    /// The sizes that wishes become where the original is clean.
    pub(super) fn of_wishes(
        &mut self,
        subject: &Subject<'_>,
        launch: &impl Launch,
        wishes: impl IntoIterator<Item = Wish>,
        drawing: &Drawing,
    ) -> Vec<Sizes> {
        let mut clean = Vec::new();
        for wish in wishes {
            let sizes = wish.fitted(&drawing.cost, drawing.multiple);
            if !clean.contains(&sizes)
                && fits(launch, &sizes)
                && self.clean(subject, launch, &sizes, true).is_ok()
            {
                clean.push(sizes);
            }
        }
        clean
    }

    /// Makes sure that the original ends, does nothing that no kernel may, and is right by the oracle.
    fn clean(
        &mut self,
        subject: &Subject<'_>,
        launch: &impl Launch,
        sizes: &Sizes,
        checked: bool,
    ) -> Result<(), Failure> {
        let mut own = sizes.clone();
        own.extend(subject.numbers(&[]));
        let at = |failure: Failure| match sizes.is_empty() {
            true => failure,
            false => {
                let why = format!("at {}: {}", describe(sizes), failure.why);
                Failure::new(failure.stage, why)
            }
        };
        let inputs = launch.inputs(&own, 1);
        let inputs = inputs.map_err(|why| at(Failure::new(Stage::Limits, why)))?;
        let geometry = launch.geometry();
        let buffers = self.run.run(&inputs, geometry, &own).map_err(at)?;
        if checked {
            let reports = self.check.check(&inputs, geometry, &own).map_err(at)?;
            if let Some(report) = reports.first() {
                return Err(at(Failure::new(Stage::Check, report.to_string())));
            }
        }
        match launch.judged(&own, 1, &buffers) {
            Some(Err(why)) => Err(at(Failure::new(Stage::Oracle, why))),
            _ => Ok(()),
        }
    }
}

/// Returns true if what a launch binds is small enough for a drawn run.
fn fits(launch: &impl Launch, sizes: &Sizes) -> bool {
    let inputs = launch.inputs(sizes, 1);
    inputs.is_ok_and(|inputs| inputs.bytes() <= MOST_BYTES)
}
