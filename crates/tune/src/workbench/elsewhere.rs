//! A candidate beside the original at every size and chip that is claimed, and at shapes nobody asked for.
//!
//! A winner of one size is often slower at another. What is claimed must hold at each: no cell of the table may be below
//! the [`FLOOR`]. Other shapes only say where the winner should be used: [`guard`] makes a condition of them.

use super::time::{Cell, cells};
use super::{Bench, Launch};
use crate::attempts::{Failure, Genome, Stage};
use assay_launch::{Sizes, describe};
use assay_predict::{Constants, Target};
use rayon::prelude::*;

/// The least gain at any size and chip that is claimed: less is slower than the original, not a tie.
pub const FLOOR: f64 = 0.98;

/// Times a size is made larger or smaller by to see what happens elsewhere.
const FACTORS: [f64; 4] = [1.0 / 16.0, 1.0 / 4.0, 4.0, 16.0];

/// Times all sizes of a launch of one size are made larger or smaller by.
const FACTORS_OF_ONE: [f64; 12] = [
    1.0 / 1024.0,
    1.0 / 256.0,
    1.0 / 64.0,
    1.0 / 32.0,
    1.0 / 16.0,
    1.0 / 8.0,
    1.0 / 4.0,
    1.0 / 2.0,
    2.0,
    4.0,
    8.0,
    16.0,
];

/// Shapes that are looked at besides those that are claimed.
const SHAPES: usize = 12;

/// Variations of the model's constants that a gain is tried under.
const ENSEMBLE: u64 = 16;

/// A candidate and the original at one size on one chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The sizes.
    pub sizes: Sizes,
    /// The chip.
    pub chip: String,
    /// Microseconds of the original.
    pub before_us: f64,
    /// Microseconds of the candidate.
    pub after_us: f64,
    /// The claim is about it.
    pub claimed: bool,
}

impl Compared {
    /// How many times as fast the candidate is.
    pub fn gain(&self) -> f64 {
        self.before_us / self.after_us
    }
}

/// Shapes around those that a launch names: each size and all of them larger and smaller.
pub fn shapes(timed: &Sizes) -> Vec<Sizes> {
    let lengths: Vec<&String> = timed
        .iter()
        .filter(|(_, value)| **value > super::draw::KEPT)
        .map(|(name, _)| name)
        .collect();
    let scaled = |names: &[&String], factor: f64| {
        let mut sizes = timed.clone();
        for (name, value) in &mut sizes {
            if names.contains(&name) {
                *value = ((*value as f64 * factor) as u64).max(1);
            }
        }
        sizes
    };
    let mut found: Vec<Sizes> = match lengths.as_slice() {
        [_] => FACTORS_OF_ONE
            .iter()
            .map(|&factor| scaled(&lengths, factor))
            .collect(),
        _ => {
            let each = lengths.iter().map(std::slice::from_ref);
            let sets = each.chain(std::iter::once(lengths.as_slice()));
            sets.flat_map(|names| FACTORS.map(|factor| scaled(names, factor)))
                .collect()
        }
    };
    found.retain(|sizes| sizes != timed);
    found.dedup();
    found.truncate(SHAPES.max(lengths.len() * FACTORS.len()));
    found
}

impl<L: Launch> Bench<'_, L> {
    /// A candidate beside the original wherever the claim is about.
    pub fn claimed(&self, genome: &Genome) -> Result<Vec<Compared>, Failure> {
        let cases = self.launch.cases();
        self.beside(genome, &cases, &self.targets, true)
    }

    /// A candidate beside the original at certain sizes on all chips.
    fn beside(
        &self,
        genome: &Genome,
        cases: &[Sizes],
        targets: &[&Target],
        claimed: bool,
    ) -> Result<Vec<Compared>, Failure> {
        let timed = |genome: &Genome| cells(&self.made(genome, cases)?, self.launch, targets);
        let (before, after) = (timed(&Genome::default())?, timed(genome)?);
        let pairs = before.into_iter().zip(after);
        let compared = |(before, after): (Cell, Cell)| Compared {
            sizes: before.sizes,
            chip: before.chip,
            before_us: before.time_us,
            after_us: after.time_us,
            claimed,
        };
        Ok(pairs.map(compared).collect())
    }

    /// The same at other shapes on these chips: sizes at which either has no time are left out. Numbers of a program's launches depend
    /// on each other in ways that are not known, so there are no other shapes of these.
    pub fn elsewhere(&self, genome: &Genome, targets: &[&Target]) -> Vec<Compared> {
        if !self.launch.counts().is_empty() {
            return Vec::new();
        }
        let cases = self.launch.cases();
        let mut shapes = shapes(self.launch.timed());
        shapes.retain(|sizes| !cases.contains(sizes));
        let found: Vec<Vec<Compared>> = shapes
            .par_iter()
            .map(|sizes| {
                self.beside(genome, std::slice::from_ref(sizes), targets, false)
                    .unwrap_or_default()
            })
            .collect();
        found.into_iter().flatten().collect()
    }

    /// Refuses a candidate that is slower than the original at a size or chip that is claimed.
    pub(super) fn above_floor(&self, genome: &Genome) -> Result<(), Failure> {
        if self.launch.is_slower_allowed()
            || (self.targets.len() == 1 && self.launch.cases().len() == 1)
        {
            return Ok(());
        }
        let all = self.claimed(genome)?;
        let slowest = all.iter().min_by(|a, b| a.gain().total_cmp(&b.gain()));
        match slowest.filter(|cell| cell.gain() < FLOOR) {
            None => Ok(()),
            Some(cell) => {
                let place = match cell.sizes.is_empty() {
                    true => String::new(),
                    false => format!(" at {}", describe(&cell.sizes)),
                };
                let why = format!(
                    "{:.2} times as fast{place} on {}, which is slower",
                    cell.gain(),
                    cell.chip
                );
                Err(Failure::new(Stage::Model, why))
            }
        }
    }

    /// The standard deviation of the logarithm of one predicted time that the model's constants leave open: the gain is
    /// predicted again with all of them varied within half of their stated ranges.
    pub(super) fn doubt_of(&self, genome: &Genome) -> Option<f64> {
        let cases = [self.launch.timed().clone()];
        let before = self.made(&Genome::default(), &cases).ok()?;
        let after = self.made(genome, &cases).ok()?;
        let first = self.targets.first()?;
        let rows = Constants::rows(&first.chip);
        let mut varied = Vec::new();
        for member in 0..ENSEMBLE {
            let mut random = assay_launch::random::Random::of(0xd0b7, member);
            let mut target = (*first).clone();
            for row in &rows {
                let (low, high) = row.range;
                if row.name.starts_with("band_")
                    || row.name == "pair_tie"
                    || low <= 0.0
                    || row.value <= 0.0
                {
                    continue;
                }
                let way = 2.0 * random.unit() - 1.0;
                let end = if way < 0.0 { low } else { high };
                target.constants.set(
                    row.name,
                    row.value * (end / row.value).powf(0.5 * way.abs()),
                );
            }
            varied.push(target);
        }
        let varied: Vec<&Target> = varied.iter().collect();
        let before = cells(&before, self.launch, &varied).ok()?;
        let after = cells(&after, self.launch, &varied).ok()?;
        let pairs = before.iter().zip(&after);
        let logs: Vec<f64> = pairs
            .map(|(before, after)| (before.time_us / after.time_us).ln())
            .collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance =
            logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() as f64 - 1.0);
        // The deviation of a ratio is that of two times.
        Some((variance / 2.0).sqrt()).filter(|doubt| doubt.is_finite())
    }
}

/// A condition on sizes under which a candidate is not slower than the original on any chip; none if it never is slower.
///
/// One size from a value on, or up to one, if that leaves out all shapes that lose and none that is claimed; otherwise the
/// claimed sizes themselves.
pub fn guard(all: &[Compared]) -> Option<String> {
    let mut shapes: Vec<(&Sizes, bool, bool)> = Vec::new();
    for cell in all {
        let wins = cell.gain() >= FLOOR;
        match shapes.iter_mut().find(|known| known.0 == &cell.sizes) {
            Some(known) => known.1 &= wins,
            None => shapes.push((&cell.sizes, wins, cell.claimed)),
        }
    }
    if shapes.iter().all(|shape| shape.1) {
        return None;
    }
    let names = all.first().map(|cell| cell.sizes.keys());
    let mut best: Option<(usize, String)> = None;
    for name in names.into_iter().flatten() {
        let value = |sizes: &Sizes| sizes.get(name).copied().unwrap_or_default();
        let lost = || {
            shapes
                .iter()
                .filter(|shape| !shape.1)
                .map(|shape| value(shape.0))
        };
        let won = || shapes.iter().filter(|shape| shape.1);
        let (Some(least), Some(most)) = (lost().min(), lost().max()) else {
            continue;
        };
        // From the first value that wins above all that lose, or up to the last below them.
        let above = won()
            .map(|shape| value(shape.0))
            .filter(|it| *it > most)
            .min();
        let below = won()
            .map(|shape| value(shape.0))
            .filter(|it| *it < least)
            .max();
        let sides = [
            above.map(|from| (format!("{name} >= {from}"), from, u64::MAX)),
            below.map(|to| (format!("{name} <= {to}"), 0, to)),
        ];
        for (text, from, to) in sides.into_iter().flatten() {
            let holds = |shape: &&(&Sizes, bool, bool)| (from..=to).contains(&value(shape.0));
            let whole = won().filter(|shape| shape.2).all(|shape| holds(&shape));
            let count = won().filter(holds).count();
            if whole && best.as_ref().is_none_or(|(known, _)| count > *known) {
                best = Some((count, text));
            }
        }
    }
    if let Some((_, text)) = best {
        return Some(text);
    }
    let claimed = shapes.iter().filter(|shape| shape.2 && shape.1);
    let equal = |sizes: &Sizes| {
        let parts = sizes
            .iter()
            .map(|(name, value)| format!("{name} == {value}"));
        parts.collect::<Vec<_>>().join(" && ")
    };
    let parts: Vec<String> = claimed.map(|shape| equal(shape.0)).collect();
    Some(match parts.as_slice() {
        [one] => one.clone(),
        all => all
            .iter()
            .map(|part| format!("({part})"))
            .collect::<Vec<_>>()
            .join(" || "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(r: u64, c: u64) -> Sizes {
        [("C".to_owned(), c), ("R".to_owned(), r)].into()
    }

    fn compared(r: u64, c: u64, gain: f64, claimed: bool) -> Compared {
        Compared {
            sizes: sizes(r, c),
            chip: "m2".to_owned(),
            before_us: gain,
            after_us: 1.0,
            claimed,
        }
    }

    #[test]
    fn a_launch_has_twelve_other_shapes() {
        assert_eq!(shapes(&sizes(1024, 512)).len(), 12);
        assert_eq!(shapes(&[("N".to_owned(), 65536)].into()).len(), 12);
        assert_eq!(shapes(&sizes(1024, 3)).len(), 12);
        assert!(shapes(&Sizes::new()).is_empty());
    }

    #[test]
    fn the_guard_is_what_separates_the_shapes() {
        let claimed = compared(512, 256, 3.0, true);
        assert_eq!(
            guard(&[claimed.clone(), compared(64, 16, 1.0, false)]),
            None
        );
        let short = [
            claimed.clone(),
            compared(512, 16, 0.5, false),
            compared(32, 64, 1.5, false),
        ];
        assert_eq!(guard(&short).as_deref(), Some("C >= 64"));
        let many = [
            claimed.clone(),
            compared(8192, 256, 0.9, false),
            compared(32, 1024, 1.5, false),
        ];
        assert_eq!(guard(&many).as_deref(), Some("R <= 512"));
        let mixed = [
            claimed,
            compared(512, 16, 0.5, false),
            compared(8192, 4096, 0.5, false),
            compared(8192, 16, 0.5, false),
            compared(16, 4096, 0.5, false),
        ];
        assert_eq!(guard(&mixed).as_deref(), Some("C == 256 && R == 512"));
    }
}
