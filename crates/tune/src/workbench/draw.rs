//! Sizes drawn for proofs: up to beyond the launch, and where a kernel may change its mind.
//!
//! A kernel that is right at small sizes may be wrong where it is used: a row longer than its array, a switch to another
//! path, a race that needs a thousand rows. So one size at a time is long (log-uniform, up to [`BEYOND`] times the
//! launch's, around powers of two, beside the launch) while the others stay short, which keeps runs cheap; and all together
//! are drawn as far as a run can be afforded.

use assay_launch::Sizes;
use assay_launch::random::Random;
use std::collections::BTreeMap;

/// Values no larger than this are kept: they are kinds, not lengths.
pub(super) const KEPT: u64 = 4;

/// Times the launch's size that is tried.
const BEYOND: u64 = 4;

/// The longest of the sizes that accompany a long one.
const SHORT: u64 = 24;

/// Instructions of all simdgroups that a drawn run may take.
const MOST_INSTRUCTIONS: f64 = 400_000.0;

/// What a run costs at other sizes than the launch's: powers, measured at half of each size.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    timed: Sizes,
    instructions: f64,
    exponents: BTreeMap<String, f64>,
}

impl Cost {
    /// Measures by an estimate of the instructions of all simdgroups at certain sizes. Where there is none, every size
    /// counts once.
    pub fn measure(timed: &Sizes, estimate: &dyn Fn(&Sizes) -> Option<f64>) -> Cost {
        let all: f64 = timed.values().map(|&value| value as f64).product();
        let instructions = estimate(timed).unwrap_or(all);
        let exponent = |(name, &value): (&String, &u64)| {
            let mut half = timed.clone();
            half.insert(name.clone(), value / 2);
            let measured = estimate(&half).filter(|_| value > KEPT);
            let power = measured.map_or(1.0, |half| (instructions / half.max(1.0)).log2());
            (name.clone(), power.clamp(0.0, 3.0))
        };
        Cost {
            timed: timed.clone(),
            instructions,
            exponents: timed.iter().map(exponent).collect(),
        }
    }

    /// Instructions of all simdgroups at certain sizes, roughly.
    pub fn at(&self, sizes: &Sizes) -> f64 {
        let grown = self.timed.iter().map(|(name, &timed)| {
            let value = sizes.get(name).copied().unwrap_or(timed).max(1);
            let power = self.exponents.get(name).copied().unwrap_or(1.0);
            (value as f64 / timed.max(1) as f64).powf(power)
        });
        self.instructions * grown.product::<f64>()
    }
}

/// Sizes that would show something, and the one that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    sizes: Sizes,
    kept: Option<String>,
}

/// Draws sizes in place of those a launch names.
#[derive(Clone, Debug)]
pub(super) struct Draws<'a> {
    timed: &'a Sizes,
    random: Random,
}

impl<'a> Draws<'a> {
    /// Another stream, other sizes.
    pub(super) fn new(timed: &'a Sizes, stream: u64) -> Draws<'a> {
        Draws {
            timed,
            random: Random::of(0x5eed, stream),
        }
    }

    /// The sizes of a round: each long alone, around a power of two, beside the launch; and all together.
    pub(super) fn round(&mut self) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for (name, value) in self.lengths() {
            let most = value.saturating_mul(BEYOND);
            let long = self.log_uniform((value / 4).max(64), most);
            wishes.push(self.alone(&name, long));
            let powers = u64::from(most.max(16).ilog2() - 2);
            let power = 1u64 << (3 + self.random.below(powers));
            let near = power - 1 + self.random.below(3);
            wishes.push(self.alone(&name, near.min(most)));
            let beside = [value - 1, value + 1][self.random.below(2) as usize];
            wishes.push(self.alone(&name, beside));
        }
        let mut all = self.timed.clone();
        for (name, value) in self.lengths() {
            all.insert(name, self.log_uniform(1, value.saturating_mul(BEYOND)));
        }
        wishes.push(Wish {
            sizes: all,
            kept: None,
        });
        wishes
    }

    /// Each size at a number of a program and beside it, while the others are short.
    pub(super) fn around(&mut self, numbers: impl IntoIterator<Item = u64>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for number in numbers {
            for (name, value) in self.lengths() {
                let most = value.saturating_mul(BEYOND).max(64);
                if number < most {
                    let beyond = number + 1 + self.random.below(most - number);
                    wishes.push(self.beside(&name, beyond));
                }
                for near in [number + 1, number, number.saturating_sub(1)] {
                    if (1..=most).contains(&near) {
                        wishes.push(self.alone(&name, near));
                    }
                }
            }
        }
        wishes
    }

    /// The largest number that a program may compare a size with.
    pub(super) fn most(&self) -> u64 {
        let longest = self.timed.values().copied().max().unwrap_or(1);
        longest.saturating_mul(BEYOND).max(64)
    }

    fn lengths(&self) -> Vec<(String, u64)> {
        let lengths = self.timed.iter().filter(|(_, value)| **value > KEPT);
        lengths
            .map(|(name, &value)| (name.clone(), value))
            .collect()
    }

    fn alone(&mut self, name: &str, value: u64) -> Wish {
        let mut sizes = self.timed.clone();
        for (other, timed) in self.lengths() {
            let short = self.log_uniform(1, SHORT.min(timed));
            sizes.insert(other, short);
        }
        sizes.insert(name.to_owned(), value);
        Wish {
            sizes,
            kept: Some(name.to_owned()),
        }
    }

    /// A size that is long while the others are as long as short ones may be.
    fn beside(&self, name: &str, value: u64) -> Wish {
        let mut sizes = self.timed.clone();
        for (other, timed) in self.lengths() {
            sizes.insert(other, SHORT.min(timed));
        }
        sizes.insert(name.to_owned(), value);
        Wish {
            sizes,
            kept: Some(name.to_owned()),
        }
    }

    fn log_uniform(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = ((least.max(1) as f64).ln(), (most.max(1) as f64 + 1.0).ln());
        let drawn = (low + (high - low).max(0.0) * self.random.unit()).exp();
        (drawn as u64).clamp(1, most.max(1))
    }
}

impl Wish {
    /// The sizes as multiples of a number, made smaller until a run can be afforded: the size that is meant last.
    pub(super) fn fitted(mut self, cost: &Cost, multiple: u64) -> Sizes {
        for value in self
            .sizes
            .values_mut()
            .filter(|value| multiple > 1 && **value > KEPT)
        {
            *value = value.next_multiple_of(multiple);
        }
        while cost.at(&self.sizes) > MOST_INSTRUCTIONS {
            let kept = self.kept.clone();
            let others = self.sizes.iter_mut();
            let other = others
                .filter(|(name, value)| {
                    Some(*name) != kept.as_ref() && **value > multiple.max(KEPT)
                })
                .max_by_key(|(_, value)| **value);
            let value = match (other, &kept) {
                (Some((_, value)), _) => value,
                (None, Some(kept)) => match self.sizes.get_mut(kept) {
                    Some(value) if *value > multiple.max(KEPT) => value,
                    _ => break,
                },
                (None, None) => break,
            };
            *value = (*value / 2).next_multiple_of(multiple);
        }
        self.sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed() -> Sizes {
        [
            ("C".to_owned(), 4096),
            ("K".to_owned(), 3),
            ("R".to_owned(), 65536),
        ]
        .into()
    }

    #[test]
    fn every_length_is_drawn_beyond_the_launch_and_kinds_are_kept() {
        let timed = timed();
        let mut draws = Draws::new(&timed, 1);
        let all: Vec<Sizes> = (0..40)
            .flat_map(|_| draws.round())
            .map(|wish| wish.sizes)
            .collect();
        for (name, &value) in &timed {
            let most = all.iter().map(|sizes| sizes[name]).max().unwrap();
            match value > KEPT {
                true => assert!(most > 2 * value && most <= 4 * value, "{name} {most}"),
                false => assert_eq!(most, value),
            }
        }
        assert!(
            all.iter()
                .any(|sizes| sizes["R"] == 65535 && sizes["C"] <= SHORT)
        );
    }

    #[test]
    fn a_long_size_stays_while_the_others_shrink() {
        let timed = timed();
        let cost = Cost::measure(&timed, &|sizes| {
            Some((sizes["R"] * sizes["C"]) as f64 / 8.0)
        });
        let mut draws = Draws::new(&timed, 1);
        let wish = draws.around([1001]).remove(1);
        let sizes = wish.fitted(&cost, 1);
        assert_eq!(sizes["C"], 1002);
        assert!(sizes["R"] <= SHORT);
        let whole = Wish {
            sizes: timed.clone(),
            kept: None,
        };
        assert!(cost.at(&whole.fitted(&cost, 32)) <= MOST_INSTRUCTIONS);
    }
}
