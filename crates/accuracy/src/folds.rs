//! Folds of cross-validation: relatives stay together, so that nothing is fitted on
//! what it is judged by.

use std::collections::BTreeMap;

/// Assigns each item a fold. Items of one family share one; families go to the fold with
/// the fewest items, the largest first, ties by name.
pub fn folds(families: &[&str], count: usize) -> Vec<usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for family in families {
        *sizes.entry(family).or_default() += 1;
    }
    let mut order: Vec<(&str, usize)> = sizes.into_iter().collect();
    order.sort_by_key(|&(name, size)| (std::cmp::Reverse(size), name));
    let mut load = vec![0; count.max(1)];
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, size) in order {
        let least = (0..load.len()).min_by_key(|&fold| load[fold]).unwrap_or(0);
        load[least] += size;
        of.insert(name, least);
    }
    families.iter().map(|family| of[family]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_never_split_and_folds_are_even() {
        let families = ["a", "b", "a", "c", "a", "b", "d"];
        let folds = folds(&families, 2);
        assert_eq!(folds[0], folds[2]);
        assert_eq!(folds[0], folds[4]);
        assert_eq!(folds[1], folds[5]);
        let first = folds.iter().filter(|fold| **fold == 0).count();
        assert!((3..=4).contains(&first), "{folds:?}");
    }
}
