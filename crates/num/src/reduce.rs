//! The order in which values of several lanes are combined.
//!
//! *Chosen*: the public documentation does not say in which order the hardware adds.
//!
//! A **reduction** combines neighbours: lanes 0 and 1, 2 and 3, …, then pairs of pairs, up to the whole group. A
//! **prefix** adds the value 1, then 2, 4, 8, 16 lanes below (Hillis and Steele). The hardware has exclusive prefixes
//! only; an inclusive one is an exclusive one combined with the lane's own value (so does Mesa's compiler, in
//! `agx_nir_lower_subgroups.c`).
//!
//! Lanes that do not take part count as the identity of the operation, which changes no bit of what it is combined with.

use crate::LANES;

/// Combines all lanes; `mask` says which take part. The result for a mask without lanes is the identity.
#[inline(always)]
pub fn reduce<T: Copy>(
    values: &[T; LANES],
    mask: u32,
    identity: T,
    combine: impl Fn(T, T) -> T,
) -> T {
    let mut work = fill(values, mask, identity);
    // Written out, so that each step has a fixed length and becomes vector code.
    halve::<16, T>(&mut work, &combine);
    halve::<8, T>(&mut work, &combine);
    halve::<4, T>(&mut work, &combine);
    halve::<2, T>(&mut work, &combine);
    halve::<1, T>(&mut work, &combine);
    work[0]
}

/// Combines neighbours: the first `WIDTH` lanes get the results.
#[inline(always)]
fn halve<const WIDTH: usize, T: Copy>(work: &mut [T; LANES], combine: &impl Fn(T, T) -> T) {
    // Apart first, so that the operation itself runs over neighbouring elements.
    let (mut even, mut odd) = ([work[0]; WIDTH], [work[0]; WIDTH]);
    for lane in 0..WIDTH {
        even[lane] = work[2 * lane];
        odd[lane] = work[2 * lane + 1];
    }
    for lane in 0..WIDTH {
        work[lane] = combine(even[lane], odd[lane]);
    }
}

/// Combines the lanes of each group of four; every lane gets its group's result.
#[inline(always)]
pub fn reduce_quads<T: Copy>(
    values: &[T; LANES],
    mask: u32,
    identity: T,
    combine: impl Fn(T, T) -> T,
) -> [T; LANES] {
    let work = fill(values, mask, identity);
    let mut result = work;
    for first in (0..LANES).step_by(4) {
        let low = combine(work[first], work[first + 1]);
        let sum = combine(low, combine(work[first + 2], work[first + 3]));
        result[first..first + 4].fill(sum);
    }
    result
}

/// For each lane, all lanes up to and including it combined, in groups of `group` lanes (32, or 4 for quads): what
/// [`exclusive`] gives, combined with its own value.
#[inline(always)]
pub fn inclusive<T: Copy>(
    values: &[T; LANES],
    mask: u32,
    identity: T,
    first: T,
    group: usize,
    combine: impl Fn(T, T) -> T,
) -> [T; LANES] {
    let below = exclusive(values, mask, identity, first, group, &combine);
    std::array::from_fn(|lane| combine(below[lane], values[lane]))
}

/// For each lane, all lanes up to and including it, in the order of a prefix.
#[inline(always)]
fn up_to<T: Copy>(
    values: &[T; LANES],
    mask: u32,
    identity: T,
    group: usize,
    combine: impl Fn(T, T) -> T,
) -> [T; LANES] {
    let mut work = fill(values, mask, identity);
    let mut distance = 1;
    while distance < group {
        let before = work;
        for lane in 0..LANES {
            if lane % group >= distance {
                work[lane] = combine(before[lane - distance], before[lane]);
            }
        }
        distance *= 2;
    }
    work
}

/// For each lane, all lanes below it combined; `first` (Metal: 0 for sums, 1 for products) where there is none.
#[inline(always)]
pub fn exclusive<T: Copy>(
    values: &[T; LANES],
    mask: u32,
    identity: T,
    first: T,
    group: usize,
    combine: impl Fn(T, T) -> T,
) -> [T; LANES] {
    let up_to = up_to(values, mask, identity, group, combine);
    std::array::from_fn(|lane| {
        let start = lane / group * group;
        let below = mask & ((1u32 << lane) - 1) & !((1u32 << start) - 1);
        if below == 0 { first } else { up_to[lane - 1] }
    })
}

fn fill<T: Copy>(values: &[T; LANES], mask: u32, identity: T) -> [T; LANES] {
    std::array::from_fn(|lane| {
        if mask >> lane & 1 == 1 {
            values[lane]
        } else {
            identity
        }
    })
}

/// What changes nothing when added to a float: −0 (adding +0 would turn −0 into +0).
pub const SUM_IDENTITY: f32 = -0.0;

/// What changes nothing when multiplied with a float.
pub const PRODUCT_IDENTITY: f32 = 1.0;

/// What changes nothing in a float minimum or maximum: NaN loses to everything.
pub const MINMAX_IDENTITY: f32 = crate::NAN32;

/// The lowest lane that takes part.
#[inline(always)]
pub const fn first_lane(mask: u32) -> Option<u32> {
    if mask == 0 {
        None
    } else {
        Some(mask.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::single;

    fn sample(seed: u32) -> [f32; LANES] {
        std::array::from_fn(|lane| {
            let mixed = (lane as u32 + seed).wrapping_mul(2654435761);
            (mixed as f32 / 4294967296.0 - 0.5) * 10f32.powi(mixed as i32 % 5)
        })
    }

    #[test]
    fn neighbours_are_added_first() {
        let mut values = [0.0; LANES];
        (values[0], values[1], values[2], values[3]) = (1e8, -1e8, 1.0, 1.0);
        assert_eq!(reduce(&values, !0, SUM_IDENTITY, single::add), 2.0);
        (values[0], values[1], values[2], values[3]) = (1e8, 1.0, -1e8, 1.0);
        assert_eq!(reduce(&values, !0, SUM_IDENTITY, single::add), 0.0);
    }

    #[test]
    fn an_inclusive_prefix_adds_the_own_value_last() {
        for seed in 0..200 {
            let values = sample(seed);
            let mask = seed.wrapping_mul(0x9e37_79b9) | 1 << 31;
            for group in [LANES, 4] {
                let below = exclusive(&values, mask, SUM_IDENTITY, 0.0, group, single::add);
                let with = inclusive(&values, mask, SUM_IDENTITY, 0.0, group, single::add);
                for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
                    let sum = single::add(below[lane], values[lane]);
                    assert_eq!(sum.to_bits(), with[lane].to_bits());
                }
            }
        }
    }

    #[test]
    fn absent_lanes_change_nothing() {
        let mut values = [-0.0f32; LANES];
        values[7] = f32::NAN;
        assert_eq!(
            reduce(&values, !(1 << 7), SUM_IDENTITY, single::add).to_bits(),
            0x8000_0000
        );
        assert_eq!(
            reduce(&values, 1 << 3, MINMAX_IDENTITY, single::min).to_bits(),
            0x8000_0000
        );
    }

    #[test]
    fn an_exclusive_prefix_starts_with_the_given_value() {
        let values: [u32; LANES] = std::array::from_fn(|lane| lane as u32 + 1);
        let add = |a: u32, b: u32| a.wrapping_add(b);
        let prefix = exclusive(&values, !0b111, 0, 100, LANES, add);
        assert_eq!(prefix[3], 100);
        assert_eq!(prefix[5], 4 + 5);
        let quads = exclusive(&values, !0, 0, 0, 4, add);
        assert_eq!(quads[4..8], [0, 5, 11, 18]);
    }
}
