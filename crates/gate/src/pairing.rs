//! Which kernel of one tree is which of another.

use crate::snapshot::{Kernel, Snapshot};
use std::collections::BTreeMap;

/// A kernel and what it was before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) head: &'a Kernel,
    pub(crate) base: Option<&'a Kernel>,
}

/// The kernels of two trees.
#[derive(Debug, Default)]
pub(crate) struct Pairing<'a> {
    /// Every kernel of the new tree, in its order.
    pub(crate) pairs: Vec<Pair<'a>>,
    /// Kernels that are gone.
    pub(crate) deleted: Vec<&'a Kernel>,
}

/// Pairs kernels by file and name; those that are left by name alone, if only one on each side has it: their file was
/// renamed, or they were moved.
pub(crate) fn pair<'a>(base: &'a Snapshot, head: &'a Snapshot) -> Pairing<'a> {
    let key = |kernel: &'a Kernel| (kernel.file.as_str(), kernel.function.as_str());
    let mut rest: BTreeMap<_, &Kernel> = base.kernels.iter().map(|k| (key(k), k)).collect();
    let mut pairs: Vec<Pair<'a>> = Vec::with_capacity(head.kernels.len());
    for kernel in &head.kernels {
        pairs.push(Pair {
            head: kernel,
            base: rest.remove(&key(kernel)),
        });
    }
    let unpaired = pairs.iter().filter(|pair| pair.base.is_none());
    let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
    for pair in unpaired {
        *wanted.entry(&pair.head.function).or_default() += 1;
    }
    let mut offered: BTreeMap<&str, Vec<&'a Kernel>> = BTreeMap::new();
    for kernel in rest.values().copied() {
        offered.entry(&kernel.function).or_default().push(kernel);
    }
    for pair in pairs.iter_mut().filter(|pair| pair.base.is_none()) {
        let name = pair.head.function.as_str();
        let single = wanted.get(name) == Some(&1);
        if let Some([only]) = offered.get(name).map(Vec::as_slice)
            && single
        {
            pair.base = Some(only);
            rest.remove(&key(only));
        }
    }
    Pairing {
        pairs,
        deleted: rest.into_values().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(names: &[(&str, &str)]) -> Snapshot {
        Snapshot::of(names.iter().map(|(file, name)| Kernel::new(file, name)))
    }

    #[test]
    fn a_renamed_file_keeps_its_kernels_and_an_ambiguous_name_stays_new() {
        let base = snapshot(&[
            ("a.metal", "f"),
            ("a.metal", "gone"),
            ("b.metal", "twice"),
            ("c.metal", "twice"),
        ]);
        let head = snapshot(&[("z.metal", "f"), ("z.metal", "new"), ("d.metal", "twice")]);
        let pairing = pair(&base, &head);
        let from = |pair: &Pair<'_>| pair.base.map(|base| base.file.clone());
        let from: Vec<_> = pairing.pairs.iter().map(from).collect();
        assert_eq!(from, [Some("a.metal".to_owned()), None, None]);
        let gone = pairing
            .deleted
            .iter()
            .map(|kernel| kernel.function.as_str());
        assert_eq!(gone.collect::<Vec<_>>(), ["gone", "twice", "twice"]);
    }
}
