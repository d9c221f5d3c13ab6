//! Which kernel of one tree is which of another.

use crate::body::body;
use crate::lines::Texts;
use crate::snapshot::{Kernel, Snapshot};
use similar::{Algorithm, DiffOp, capture_diff_slices};
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

/// Kernels that are left on both sides: more are not compared word by word.
const MOST_COMPARED: usize = 4096;

/// Words of a kernel: longer ones are not compared word by word.
const MOST_WORDS: usize = 1 << 14;

/// The part of two kernels' words that is the same if one was made of the other, in the same file.
const ALIKE: f32 = 0.6;

/// The same for kernels of different files: families of kernels have most words in common.
const ALIKE_ELSEWHERE: f32 = 0.95;

/// The kernels of the new tree that were in the old one, each with what it was.
pub fn pairs<'a>(
    base: &'a Snapshot,
    head: &'a Snapshot,
    texts: (&Texts, &Texts),
) -> Vec<(&'a Kernel, &'a Kernel)> {
    let pairs = pair(base, head, Some(texts)).pairs.into_iter();
    pairs
        .filter_map(|pair| Some((pair.base?, pair.head)))
        .collect()
}

/// Pairs kernels by file and name; those that are left by name alone, if only one on each side has it: their file was
/// renamed, or they were moved. What is left then was renamed if its code is that of a kernel that is gone, or most words of its
/// text are.
pub(crate) fn pair<'a>(
    base: &'a Snapshot,
    head: &'a Snapshot,
    texts: Option<(&Texts, &Texts)>,
) -> Pairing<'a> {
    let mut rest: BTreeMap<_, &Kernel> = base.kernels.iter().map(|k| (key(k), k)).collect();
    let mut pairs: Vec<Pair<'a>> = Vec::with_capacity(head.kernels.len());
    for kernel in &head.kernels {
        pairs.push(Pair {
            head: kernel,
            base: rest.remove(&key(kernel)),
        });
    }
    by_name(&mut pairs, &mut rest);
    by_code(&mut pairs, &mut rest);
    if let Some(texts) = texts {
        by_text(&mut pairs, &mut rest, texts);
    }
    Pairing {
        pairs,
        deleted: rest.into_values().collect(),
    }
}

/// Kernels of the old tree that have no pair, by file and name.
type Rest<'a> = BTreeMap<(&'a str, &'a str), &'a Kernel>;

fn key(kernel: &Kernel) -> (&str, &str) {
    (kernel.file.as_str(), kernel.function.as_str())
}

fn by_name<'a>(pairs: &mut [Pair<'a>], rest: &mut Rest<'a>) {
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
}

fn by_code<'a>(pairs: &mut [Pair<'a>], rest: &mut Rest<'a>) {
    for pair in pairs.iter_mut().filter(|pair| pair.base.is_none()) {
        let content = &pair.head.content;
        let mut same = rest.values().copied().filter(|it| it.content == *content);
        let found = same.next().filter(|_| !content.is_empty());
        if let Some(found) = found {
            pair.base = Some(found);
            rest.remove(&key(found));
        }
    }
}

/// Pairs what is most alike first.
fn by_text<'a>(pairs: &mut [Pair<'a>], rest: &mut Rest<'a>, (old, new): (&Texts, &Texts)) {
    let open = pairs.iter().filter(|pair| pair.base.is_none()).count();
    if open.saturating_mul(rest.len()) > MOST_COMPARED {
        return;
    }
    let words = |texts: &Texts, kernel: &Kernel| {
        let words = body(texts.get(&kernel.file)?, &kernel.function)?;
        (words.len() <= MOST_WORDS).then_some(words)
    };
    let offered: Vec<_> = rest
        .values()
        .filter_map(|kernel| Some((*kernel, words(old, kernel)?)))
        .collect();
    let mut likely = Vec::new();
    for (place, pair) in pairs.iter().enumerate() {
        if pair.base.is_some() {
            continue;
        }
        let Some(own) = words(new, pair.head) else {
            continue;
        };
        for (kernel, theirs) in &offered {
            let ratio = likeness(theirs, &own);
            let needed = match kernel.file == pair.head.file {
                true => ALIKE,
                false => ALIKE_ELSEWHERE,
            };
            if ratio >= needed {
                likely.push((ratio, place, *kernel));
            }
        }
    }
    likely.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then((a.1, key(a.2)).cmp(&(b.1, key(b.2))))
    });
    for (_, place, kernel) in likely {
        if let Some(pair) = pairs.get_mut(place)
            && pair.base.is_none()
            && rest.remove(&key(kernel)).is_some()
        {
            pair.base = Some(kernel);
        }
    }
}

/// The part of all words that both have, in order.
fn likeness(a: &[String], b: &[String]) -> f32 {
    let operations = capture_diff_slices(Algorithm::Myers, a, b).into_iter();
    let same: usize = operations
        .map(|operation| match operation {
            DiffOp::Equal { len, .. } => len,
            _ => 0,
        })
        .sum();
    2.0 * same as f32 / (a.len() + b.len()).max(1) as f32
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
        let pairing = pair(&base, &head, None);
        let from = |pair: &Pair<'_>| pair.base.map(|base| base.file.clone());
        let from: Vec<_> = pairing.pairs.iter().map(from).collect();
        assert_eq!(from, [Some("a.metal".to_owned()), None, None]);
        let gone = pairing
            .deleted
            .iter()
            .map(|kernel| kernel.function.as_str());
        assert_eq!(gone.collect::<Vec<_>>(), ["gone", "twice", "twice"]);
    }

    #[test]
    fn a_renamed_kernel_is_followed_by_its_code_or_its_text() {
        let with = |names: &[(&str, &str)]| {
            Snapshot::of(names.iter().map(|(name, content)| Kernel {
                content: (*content).to_owned(),
                ..Kernel::new("k.metal", name)
            }))
        };
        let texts = |text: &str| Texts::from([("k.metal".to_owned(), text.to_owned())]);
        let base = with(&[("same", "1"), ("alike", "2"), ("other", "3")]);
        let head = with(&[("new", "5"), ("alike_2", "4"), ("same_2", "1")]);
        let old = texts(
            "void same(int a) {}\nvoid alike(int a, int b) { int c = a + b; int d = c * 2; }\nvoid other() { a; }",
        );
        let new = texts(
            "void new(float q) { q = sin(q); }\nvoid alike_2(int a, int b) { int c = a - b; int d = c * 2; }\n\
             void same_2(int b) {}",
        );
        let pairs = pairs(&base, &head, (&old, &new));
        let names: Vec<_> = pairs
            .iter()
            .map(|(base, head)| (base.function.as_str(), head.function.as_str()))
            .collect();
        assert_eq!(names, [("alike", "alike_2"), ("same", "same_2")]);
    }
}
