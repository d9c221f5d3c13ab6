//! Which source line is to blame.
//!
//! Lines of two versions of a file are matched as a diff does, indentation aside. What is to blame for a figure is the
//! changed line whose cost grew most; if no changed line has code, the line whose cost grew most; for a wrong result the first
//! changed line with code, or the line after one that was removed.

use crate::snapshot::{Kernel, LineCost, Place};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The texts of a tree's sources, by path.
pub type Texts = BTreeMap<String, String>;

/// Files with more lines than this are not matched line by line.
const MOST_LINES: usize = 1 << 17;

/// How the lines of a file became those of another; lines count from 1.
#[derive(Debug, Default)]
struct FileMap {
    /// Old line of each new one, unchanged ones only.
    old: BTreeMap<u32, u32>,
    /// New lines that are not old ones.
    changed: Vec<u32>,
    /// Those of them that are not comments.
    code: Vec<u32>,
    /// Old lines that are gone, and the new line that stands there now.
    removed: Vec<(u32, u32)>,
}

impl FileMap {
    fn new(old: &str, new: &str) -> FileMap {
        let lines = |text| -> Vec<&str> { str::lines(text).map(str::trim).collect() };
        let (old, new) = (lines(old), lines(new));
        let mut map = FileMap::default();
        if old.len().max(new.len()) > MOST_LINES {
            return map;
        }
        let number = |index: usize| index as u32 + 1;
        let last = number(new.len().saturating_sub(1));
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            let (old_lines, new_lines) = (op.old_range(), op.new_range());
            if let DiffOp::Equal { .. } = op {
                let pairs = new_lines.zip(old_lines);
                map.old
                    .extend(pairs.map(|(new, old)| (number(new), number(old))));
                continue;
            }
            let at = number(new_lines.start).min(last);
            map.removed
                .extend(old_lines.map(|index| (number(index), at)));
            let filled = new_lines.filter(|index| new.get(*index).is_some_and(|l| !l.is_empty()));
            let filled: Vec<usize> = filled.collect();
            map.changed.extend(filled.iter().copied().map(number));
            let is_code = |index: &usize| new.get(*index).is_some_and(|l| !l.starts_with("//"));
            map.code
                .extend(filled.into_iter().filter(is_code).map(number));
        }
        map
    }
}

/// The line of a changed text that says it: of the new lines, or else of those that are gone (then the line that stands there
/// now), the first that has one of some words, the first word first; 1 where nothing changed.
pub fn changed_line(old: &str, new: &str, words: &[&str]) -> u32 {
    let map = FileMap::new(old, new);
    let has = |text: &str, line: u32, word: &str| {
        let line = text.lines().nth(line.saturating_sub(1) as usize);
        line.is_some_and(|line| line.contains(word))
    };
    let changed = |word: &str| map.changed.iter().copied().find(|n| has(new, *n, word));
    let removed = |word: &str| {
        let mut all = map.removed.iter();
        let found = all.find(|(line, _)| has(old, *line, word));
        found.map(|(_, now)| *now)
    };
    let named = words.iter().find_map(|word| changed(word));
    let named = named.or_else(|| words.iter().find_map(|word| removed(word)));
    let first = || map.changed.first().copied();
    let gone = || map.removed.first().map(|(_, now)| *now);
    named.or_else(first).or_else(gone).unwrap_or(1)
}

/// The sources of two trees, whose files are matched when a kernel of theirs is to blame, and once.
#[derive(Debug)]
pub(crate) struct Trees<'a> {
    old: &'a Texts,
    new: &'a Texts,
    maps: RefCell<BTreeMap<(String, String), Rc<FileMap>>>,
}

impl<'a> Trees<'a> {
    /// The sources before and now.
    pub(crate) fn new((old, new): (&'a Texts, &'a Texts)) -> Trees<'a> {
        Trees {
            old,
            new,
            maps: RefCell::default(),
        }
    }

    /// How a file became another; none if one of them is not known.
    fn map(&self, before: &str, file: &str) -> Option<Rc<FileMap>> {
        let (old, new) = (self.old.get(before)?, self.new.get(file)?);
        let mut maps = self.maps.borrow_mut();
        let map = maps.entry((before.to_owned(), file.to_owned()));
        Some(Rc::clone(
            map.or_insert_with(|| Rc::new(FileMap::new(old, new))),
        ))
    }
}

/// Where a kernel changed.
#[derive(Debug)]
pub(crate) struct Blame<'a> {
    head: &'a Kernel,
    base: &'a Kernel,
    files: BTreeMap<&'a str, Rc<FileMap>>,
}

/// Old and new cost of a line.
#[derive(Clone, Copy, Debug)]
struct Growth<'a> {
    line: &'a LineCost,
    grew: (f64, i64),
    changed: bool,
}

impl<'a> Blame<'a> {
    /// Matches the lines of every file that a kernel's code comes from.
    pub(crate) fn new(base: &'a Kernel, head: &'a Kernel, trees: &Trees<'_>) -> Blame<'a> {
        let mut files = BTreeMap::new();
        let named = head.costs.iter().map(|cost| cost.file.as_str());
        for file in named.chain([head.file.as_str()]) {
            if files.contains_key(file) {
                continue;
            }
            // The kernel's own file may have been renamed.
            let before = if file == head.file { &base.file } else { file };
            if let Some(map) = trees.map(before, file) {
                files.insert(file, map);
            }
        }
        Blame { head, base, files }
    }

    fn place(file: &str, line: u32) -> Place {
        Place {
            file: file.to_owned(),
            line,
            column: 0,
        }
    }

    fn growth(&self, line: &'a LineCost) -> Option<Growth<'a>> {
        let map = self.files.get(line.file.as_str())?;
        let old_line = map.old.get(&line.line).copied();
        let old_file = if line.file == self.head.file {
            &self.base.file
        } else {
            &line.file
        };
        let mut known = self.base.costs.iter();
        let before = old_line
            .and_then(|number| known.find(|cost| cost.line == number && cost.file == *old_file));
        let (us, instructions) = before.map_or((0.0, 0), |cost| (cost.us, cost.instructions));
        Some(Growth {
            line,
            grew: (
                line.us - us,
                i64::from(line.instructions) - i64::from(instructions),
            ),
            changed: map.changed.binary_search(&line.line).is_ok(),
        })
    }

    /// The line whose cost grew: among changed ones if one of those grew.
    pub(crate) fn grown(&self) -> Option<Place> {
        let all = self.head.costs.iter().filter_map(|line| self.growth(line));
        let grown = all.filter(|growth| growth.grew.0 > 0.0 || growth.grew.1 > 0);
        let worst = grown.max_by(|a, b| {
            let order = a.changed.cmp(&b.changed);
            let order = order.then(a.grew.0.total_cmp(&b.grew.0));
            let order = order.then(a.grew.1.cmp(&b.grew.1));
            // The first of equals.
            order.then_with(|| (&b.line.file, b.line.line).cmp(&(&a.line.file, a.line.line)))
        });
        worst
            .map(|growth| Self::place(&growth.line.file, growth.line.line))
            .or_else(|| self.changed())
    }

    /// The first line that changed: one with code if there is one, else what stands where code was removed, else any.
    pub(crate) fn changed(&self) -> Option<Place> {
        let is_changed = |cost: &&LineCost| {
            let map = self.files.get(cost.file.as_str());
            map.is_some_and(|map| map.changed.binary_search(&cost.line).is_ok())
        };
        let with_code = self.head.costs.iter().filter(is_changed);
        let key = |cost: &&LineCost| (cost.file != self.head.file, cost.file.clone(), cost.line);
        if let Some(cost) = with_code.min_by_key(key) {
            return Some(Self::place(&cost.file, cost.line));
        }
        let removed = self.files.iter().find_map(|(file, map)| {
            let before = if *file == self.head.file {
                &self.base.file
            } else {
                *file
            };
            let had_code = |line: u32| {
                let mut costs = self.base.costs.iter();
                costs.any(|cost| cost.line == line && cost.file == before)
            };
            let found = map.removed.iter().find(|(old, _)| had_code(*old));
            found.map(|(_, new)| Self::place(file, *new))
        });
        removed.or_else(|| {
            let mut files = self.files.iter();
            files.find_map(|(file, map)| {
                let changed = map.code.first().or(map.changed.first()).copied();
                let removed = map.removed.first().map(|(_, new)| *new);
                changed.or(removed).map(|line| Self::place(file, line))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "kernel void k() {\n  a = x;\n  b = a * 2;\n  barrier();\n  out = b;\n}\n";

    fn kernel(costs: &[(u32, u32)]) -> Kernel {
        let costs = costs.iter().map(|&(line, instructions)| LineCost {
            file: "k.metal".to_owned(),
            line,
            instructions,
            us: 0.0,
        });
        Kernel {
            costs: costs.collect(),
            ..Kernel::new("k.metal", "k")
        }
    }

    fn texts(text: &str) -> Texts {
        Texts::from([("k.metal".to_owned(), text.to_owned())])
    }

    fn lines(new: &str, before: &[(u32, u32)], after: &[(u32, u32)]) -> (Option<u32>, Option<u32>) {
        let (old, new) = (texts(OLD), texts(new));
        let (before, after) = (kernel(before), kernel(after));
        let blame = Blame::new(&before, &after, &Trees::new((&old, &new)));
        let line = |place: Option<Place>| place.map(|place| place.line);
        (line(blame.grown()), line(blame.changed()))
    }

    #[test]
    fn the_changed_line_is_named_although_lines_moved() {
        let new = "// a comment\n\nkernel void k() {\n  a = x;\n  b = pow(a, 2);\n  barrier();\n  out = b;\n}\n";
        let before = [(2, 1), (3, 1), (5, 1)];
        let after = [(4, 1), (5, 9), (7, 2)];
        assert_eq!(lines(new, &before, &after), (Some(5), Some(5)));
    }

    #[test]
    fn a_removed_line_is_where_the_next_one_stands() {
        let new = OLD.replace("  barrier();\n", "");
        let before = [(2, 1), (3, 1), (4, 1), (5, 1)];
        let after = [(2, 1), (3, 1), (4, 1)];
        assert_eq!(lines(&new, &before, &after), (Some(4), Some(4)));
    }

    #[test]
    fn growth_on_an_unchanged_line_is_named_if_no_changed_line_grew() {
        let new = OLD.replace("kernel void k()", "kernel void k( )");
        let before = [(2, 1), (5, 1)];
        let after = [(2, 1), (5, 7)];
        assert_eq!(lines(&new, &before, &after), (Some(5), Some(1)));
    }
}
