//! An arithmetic progression over lanes, compared with a uniform number: the result changes at two lanes at most.

use super::MAX_SIMDGROUPS;
use super::affine::Affine;
use super::masks::{BatchMask, difference};
use assay_ssa::IntCond;

/// The lanes of a batch for which a comparison holds: an interval, or all lanes outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaneInterval {
    from: i64,
    to: i64,
    outside: bool,
}

impl LaneInterval {
    /// `first`, `first + step`, … compared with a number. The step is positive.
    #[inline(always)]
    pub(super) fn of(cond: IntCond, first: i64, step: i64, with: i64) -> Self {
        let distance = with - first;
        // The first lane that is not less, and the first that is greater.
        let (reached, passed) = match step {
            1 => (distance, distance + 1),
            _ => {
                let (lanes, rest) = (distance.div_euclid(step), distance.rem_euclid(step));
                (lanes + i64::from(rest != 0), lanes + 1)
            }
        };
        let (from, to, outside) = match cond {
            IntCond::Ult | IntCond::Slt => (0, reached, false),
            IntCond::Uge | IntCond::Sge => (0, reached, true),
            IntCond::Ule | IntCond::Sle => (0, passed, false),
            IntCond::Ugt | IntCond::Sgt => (0, passed, true),
            IntCond::Eq => (reached, passed, false),
            IntCond::Ne => (reached, passed, true),
        };
        Self { from, to, outside }
    }

    /// The result for lanes from `first` up to `end`, if it is the same for all.
    #[inline(always)]
    pub(super) fn for_all(self, first: i64, end: i64) -> Option<bool> {
        if self.from <= first && self.to >= end {
            Some(!self.outside)
        } else if self.from >= end || self.to <= first || self.from >= self.to {
            Some(self.outside)
        } else {
            None
        }
    }

    #[inline(always)]
    pub(super) fn masks(self) -> BatchMask {
        let masks = difference(lanes_before(self.to), lanes_before(self.from));
        if self.outside {
            masks.map(|mask| !mask)
        } else {
            masks
        }
    }
}

/// The lanes of the batch before a lane index.
#[inline(always)]
fn lanes_before(index: i64) -> BatchMask {
    let mut masks = [0; MAX_SIMDGROUPS];
    for (at, mask) in masks.iter_mut().enumerate() {
        let own = (index - at as i64 * 32).clamp(0, 32);
        *mask = ((1u64 << own) - 1) as u32;
    }
    masks
}

/// The first number of a narrow affine value that is a rising arithmetic progression, if none up to the lane `end` wraps around.
#[inline(always)]
pub(super) fn first_of_progression(affine: &Affine, end: usize, signed: bool) -> Option<i64> {
    let step = i64::from(affine.strides.of_bit[0]);
    let (first, most) = if signed {
        (i64::from(affine.base as u32 as i32), i64::from(i32::MAX))
    } else {
        (i64::from(affine.base as u32), i64::from(u32::MAX))
    };
    let fits = affine.strides.progression && step > 0 && first + step * (end as i64 - 1) <= most;
    fits.then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_hold_as_their_numbers_do() {
        use IntCond::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let numbers = [-900, -7, -1, 0, 1, 2, 31, 32, 33, 100, 255, 256, 257, 1000];
        for cond in [Eq, Ne, Ult, Ule, Ugt, Uge, Slt, Sle, Sgt, Sge] {
            for (first, step, with) in numbers
                .iter()
                .flat_map(|&a| [1, 2, 3, 8].map(|step| (a, step)))
                .flat_map(|(a, step)| numbers.map(|b| (a, step, b)))
                .filter(|&(a, _, b)| cond.is_signed() || a >= 0 && b >= 0)
            {
                let holds = LaneInterval::of(cond, first, step, with);
                let lane = |lane: i64| {
                    let number = first + step * lane;
                    cond.holds([number as u32, with as u32], [number as i32, with as i32])
                };
                for index in 0..256 {
                    let mask = holds.masks()[index as usize / 32];
                    let found = mask >> (index % 32) & 1 != 0;
                    assert_eq!(found, lane(index), "{first} + {step} l {cond:?} {with}");
                }
                for (from, end) in [(0, 256), (32, 64), (224, 256), (0, 32)] {
                    let answers: Vec<bool> = (from..end).map(lane).collect();
                    let same = answers.iter().all(|&answer| answer == answers[0]);
                    let expected = same.then_some(answers[0]);
                    assert_eq!(
                        holds.for_all(from, end),
                        expected,
                        "{cond:?} {first} {with}"
                    );
                }
            }
        }
    }
}
