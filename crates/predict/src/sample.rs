//! Which threadgroups of a grid are executed, and what each stands for.
//!
//! Threadgroups at the edges of a grid often do less or take other branches, so each
//! axis has three strata: its first, its inner and its last position. A sampled threadgroup
//! stands for its stratum, shared with the others sampled there.

/// Batches of positions, the most telling first.
pub(crate) fn batches(groups: [u32; 3], most: u32) -> Vec<Vec<[u32; 3]>> {
    let count: u64 = groups.iter().map(|&n| u64::from(n)).product();
    if count <= u64::from(most) {
        let mut all: Vec<[u32; 3]> = (0..count).map(|n| position(groups, n)).collect();
        // Middle and neighbours first, should the budget end early.
        let base = middle(groups);
        all.sort_by_key(|at| distance(*at, base));
        // The first one alone: it tells what the others take.
        let rest = all.split_off(1);
        return vec![all, rest];
    }
    let base = middle(groups);
    let mut first = Vec::new();
    for axis in 0..3 {
        let mut next = base;
        next[axis] += 1;
        if next[axis] < groups[axis] {
            first.push(next);
        }
    }
    // The first one alone: it tells what the others take.
    let mut batches = vec![vec![base], first, corners(groups, base)];
    let mut spread = Vec::new();
    let mut n = 1u64;
    while spread.len() < most as usize && n < 4 * u64::from(most) {
        spread.push(scattered(groups, n));
        n += 1;
    }
    batches.extend(spread.chunks(4).map(<[_]>::to_vec));
    dedup(batches, most as usize)
}

fn dedup(batches: Vec<Vec<[u32; 3]>>, most: usize) -> Vec<Vec<[u32; 3]>> {
    let mut seen = Vec::new();
    let mut kept = Vec::new();
    for batch in batches {
        let mut fresh = Vec::new();
        for at in batch {
            if !seen.contains(&at) && seen.len() < most {
                seen.push(at);
                fresh.push(at);
            }
        }
        if !fresh.is_empty() {
            kept.push(fresh);
        }
    }
    kept
}

/// The threadgroup in the middle, one before it where an axis is short, so that it has a
/// neighbour that is not the last.
fn middle(groups: [u32; 3]) -> [u32; 3] {
    groups.map(|size| match size {
        0..=2 => 0,
        size => (size / 2).min(size - 2),
    })
}

fn distance(a: [u32; 3], b: [u32; 3]) -> u64 {
    let axis = |n: usize| u64::from(a[n].abs_diff(b[n]));
    axis(0) + axis(1) + axis(2)
}

/// The first and the last threadgroup, and those at the end of one axis.
fn corners(groups: [u32; 3], base: [u32; 3]) -> Vec<[u32; 3]> {
    let last = groups.map(|size| size - 1);
    let mut corners = vec![[0; 3], last];
    for axis in 0..3 {
        for end in [0, last[axis]] {
            let mut at = base;
            at[axis] = end;
            corners.push(at);
        }
    }
    corners
}

/// Positions that fill the grid evenly: multiples of irrational steps.
fn scattered(groups: [u32; 3], n: u64) -> [u32; 3] {
    const STEPS: [u64; 3] = [
        0x9e37_79b9_7f4a_7c15,
        0xc13f_a9a9_02a6_328f,
        0xd1b5_4a32_d192_ed03,
    ];
    std::array::from_fn(|axis| {
        let share = n.wrapping_mul(STEPS[axis]) >> 32;
        ((share * u64::from(groups[axis])) >> 32) as u32
    })
}

/// Position of the `n`th threadgroup.
pub(crate) fn position(groups: [u32; 3], n: u64) -> [u32; 3] {
    let (x, y) = (u64::from(groups[0]), u64::from(groups[1]));
    [(n % x) as u32, (n / x % y) as u32, (n / x / y) as u32]
}

/// Place of a threadgroup in dispatch order.
pub(crate) fn place(groups: [u32; 3], at: [u32; 3]) -> u64 {
    let [x, y, z] = at.map(u64::from);
    (z * u64::from(groups[1]) + y) * u64::from(groups[0]) + x
}

/// The stratum of a position: per axis 0 for the first, 1 for an inner, 2 for the last.
fn stratum(groups: [u32; 3], at: [u32; 3]) -> usize {
    (0..3).fold(0, |sum, axis| {
        let part = match at[axis] {
            _ if groups[axis] <= 1 => 1,
            0 => 0,
            n if n == groups[axis] - 1 => 2,
            _ => 1,
        };
        sum * 3 + part
    })
}

/// The share of all threadgroups that each sampled one stands for.
pub(crate) fn shares(groups: [u32; 3], sampled: &[[u32; 3]]) -> Vec<f64> {
    let count: u64 = groups.iter().map(|&n| u64::from(n)).product();
    let weight = |mut stratum: usize| {
        let mut product = 1.0;
        for axis in (0..3).rev() {
            let size = f64::from(groups[axis]);
            product *= match stratum % 3 {
                1 if groups[axis] > 1 => size - 2.0,
                _ => 1.0,
            };
            stratum /= 3;
        }
        product / count as f64
    };
    let strata: Vec<usize> = sampled.iter().map(|&at| stratum(groups, at)).collect();
    let shares: Vec<f64> = strata
        .iter()
        .map(|&own| {
            let sharers = strata.iter().filter(|&&other| other == own).count();
            weight(own) / sharers as f64
        })
        .collect();
    // Strata without a sample are shared by all.
    let total: f64 = shares.iter().sum();
    match total > 0.0 {
        true => shares.into_iter().map(|share| share / total).collect(),
        false => vec![1.0 / sampled.len().max(1) as f64; sampled.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_grid_is_executed_whole() {
        let all: Vec<_> = batches([3, 2, 1], 16).concat();
        assert_eq!(all.len(), 6);
        let shares = shares([3, 2, 1], &all);
        assert!(shares.iter().all(|share| (share - 1.0 / 6.0).abs() < 1e-9));
    }

    #[test]
    fn edges_count_for_what_they_are() {
        let groups = [1000, 1, 1];
        let sample: Vec<_> = batches(groups, 12).concat();
        assert!(sample.contains(&[0, 0, 0]) && sample.contains(&[999, 0, 0]));
        let shares = shares(groups, &sample);
        let last = sample.iter().position(|at| at[0] == 999).unwrap();
        assert!((shares[last] - 0.001).abs() < 1e-6, "{}", shares[last]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_sample_has_neighbours_along_every_axis() {
        let sample: Vec<_> = batches([64, 64, 64], 20).concat();
        let base = sample[0];
        for axis in 0..3 {
            let mut next = base;
            next[axis] += 1;
            assert!(sample.contains(&next));
        }
        assert!(sample.len() <= 20);
    }
}
