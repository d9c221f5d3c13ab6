//! Folding a sequence of basic blocks into loops while it is executed.
//!
//! An entry is a body and how often it was repeated in a row; a body is a block or
//! a sequence of entries. After each block the newest entries are compared with those
//! before them: equal neighbours become one entry. Nested loops fold from the inside.
//! A sequence that does not fold (trip counts that differ each time) is kept as counts
//! of blocks alone.

use crate::execution::Step;
use rustc_hash::FxHashMap;

/// A body and how often it was repeated in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    body: u32,
    count: u32,
}

/// Entries that a fold may span.
const REACH: usize = 48;

/// Entries kept before a sequence is given up.
const MOST_ENTRIES: usize = 2048;

/// Entries of a finished sequence at most; a longer one becomes counts.
const MOST_STEPS: usize = 160;

/// Bodies met so far, shared by the simdgroups of a threadgroup. Bodies below `BLOCKS`
/// are blocks.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    sequences: Vec<Box<[Entry]>>,
    known: FxHashMap<Box<[Entry]>, u32>,
}

const BLOCKS: u32 = 1 << 16;

impl Bodies {
    fn intern(&mut self, entries: &[Entry]) -> u32 {
        if let Some(&body) = self.known.get(entries) {
            return body;
        }
        let body = BLOCKS + self.sequences.len() as u32;
        self.sequences.push(entries.into());
        self.known.insert(entries.into(), body);
        body
    }

    fn sequence(&self, body: u32) -> Option<&[Entry]> {
        let index = body.checked_sub(BLOCKS)? as usize;
        self.sequences.get(index).map(AsRef::as_ref)
    }
}

/// The blocks of one simdgroup.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    entries: Vec<Entry>,
    /// Executions of each block.
    counts: Vec<u64>,
    /// Blocks in the order of their first execution.
    order: Vec<u16>,
    unfolded: bool,
}

impl Folder {
    pub(crate) fn push(&mut self, block: u16, bodies: &mut Bodies) {
        let at = usize::from(block);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        if self.counts[at] == 0 {
            self.order.push(block);
        }
        self.counts[at] += 1;
        if self.unfolded {
            return;
        }
        self.entries.push(Entry {
            body: u32::from(block),
            count: 1,
        });
        while self.fold(bodies) {}
        if self.entries.len() > MOST_ENTRIES {
            self.unfolded = true;
            self.entries = Vec::new();
        }
    }

    /// Folds the newest entries into those before them. Returns true if it did.
    fn fold(&mut self, bodies: &mut Bodies) -> bool {
        let entries = &mut self.entries;
        let len = entries.len();
        let Some(&last) = entries.last() else {
            return false;
        };
        if len >= 2 && entries[len - 2].body == last.body {
            entries[len - 2].count = entries[len - 2].count.saturating_add(last.count);
            entries.pop();
            return true;
        }
        for span in 2..=REACH.min(len.saturating_sub(1)) {
            let newest = &entries[len - span..];
            let before = entries[len - span - 1];
            if bodies.sequence(before.body) == Some(newest) {
                entries.truncate(len - span);
                entries[len - span - 1].count += 1;
                return true;
            }
            if len >= 2 * span && entries[len - 2 * span..len - span] == *newest {
                let body = bodies.intern(newest);
                entries.truncate(len - 2 * span);
                entries.push(Entry { body, count: 2 });
                return true;
            }
        }
        false
    }

    /// The folded sequence.
    pub(crate) fn finish(&self, bodies: &Bodies) -> Vec<Step> {
        if !self.unfolded {
            let mut left = MOST_STEPS;
            let steps = unfold(&self.entries, bodies, &mut left, 0);
            if let Some(steps) = steps {
                return steps;
            }
        }
        self.as_counts()
    }

    /// The folded sequence, however long.
    pub(crate) fn finish_in_order(&self, bodies: &Bodies) -> Vec<Step> {
        let mut left = usize::MAX;
        match self.unfolded {
            true => self.as_counts(),
            false => unfold(&self.entries, bodies, &mut left, 0).unwrap_or_default(),
        }
    }

    /// Executions of each block.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Blocks in one loop of as many turns as the most frequent block has executions.
    fn as_counts(&self) -> Vec<Step> {
        counts_as_steps(&self.order, &self.counts)
    }
}

/// One loop over blocks with given numbers of executions; blocks that are executed once
/// before the others come before it.
pub(crate) fn counts_as_steps(order: &[u16], counts: &[u64]) -> Vec<Step> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let count = |block: u16| counts.get(usize::from(block)).copied().unwrap_or(0);
    let body: Vec<u16> = order.iter().copied().filter(|&b| count(b) > 1).collect();
    let first = order.iter().position(|&b| count(b) > 1);
    let first = first.unwrap_or(order.len());
    let once = |blocks: &[u16]| {
        let single = blocks.iter().copied().filter(|&b| count(b) == 1);
        single.map(|b| Step::Block(b, 1.0)).collect::<Vec<_>>()
    };
    let mut steps = once(order.get(..first).unwrap_or_default());
    if !body.is_empty() {
        let shares = body
            .iter()
            .map(|&b| Step::Block(b, (count(b) as f64 / most as f64) as f32));
        steps.push(Step::Loop(most as f32, shares.collect()));
    }
    steps.extend(once(order.get(first..).unwrap_or_default()));
    steps
}

/// Entries as steps; `None` when there are more than `left`.
fn unfold(entries: &[Entry], bodies: &Bodies, left: &mut usize, depth: usize) -> Option<Vec<Step>> {
    const DEEPEST: usize = 32;
    let mut steps = Vec::with_capacity(entries.len());
    for entry in entries {
        *left = left.checked_sub(1)?;
        let step = match bodies.sequence(entry.body) {
            Some(_) if depth >= DEEPEST => return None,
            Some(body) => {
                let inner = unfold(body, bodies, left, depth + 1)?;
                Step::Loop(entry.count as f32, inner)
            }
            None => Step::Block(entry.body as u16, entry.count as f32),
        };
        steps.push(step);
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(blocks: impl IntoIterator<Item = u16>) -> Vec<Step> {
        let mut bodies = Bodies::default();
        let mut folder = Folder::default();
        for block in blocks {
            folder.push(block, &mut bodies);
        }
        folder.finish(&bodies)
    }

    #[test]
    fn nested_loops_fold_from_the_inside() {
        let mut blocks = vec![0];
        for _ in 0..10 {
            blocks.push(1);
            blocks.extend([2; 7]);
            blocks.push(3);
        }
        blocks.push(4);
        let body = vec![
            Step::Block(1, 1.0),
            Step::Block(2, 7.0),
            Step::Block(3, 1.0),
        ];
        assert_eq!(
            fold(blocks),
            [
                Step::Block(0, 1.0),
                Step::Loop(10.0, body),
                Step::Block(4, 1.0)
            ]
        );
    }

    #[test]
    fn a_million_iterations_take_one_step() {
        let blocks = (0..1_000_000).flat_map(|_| [5, 6]);
        let body = vec![Step::Block(5, 1.0), Step::Block(6, 1.0)];
        assert_eq!(fold(blocks), [Step::Loop(1e6, body)]);
    }

    #[test]
    fn what_does_not_fold_becomes_counts() {
        // Trip counts without a rule.
        let mut blocks = vec![0];
        let mut state = 1u32;
        for _ in 0..3000 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            blocks.push(1);
            blocks.extend(std::iter::repeat_n(2, (state >> 28) as usize + 1));
        }
        let twos = blocks.iter().filter(|&&b| b == 2).count() as f32;
        let steps = fold(blocks);
        assert_eq!(steps[0], Step::Block(0, 1.0));
        let Step::Loop(count, body) = &steps[1] else {
            panic!("{steps:?}");
        };
        assert_eq!(*count, twos);
        assert_eq!(body[1], Step::Block(2, 1.0));
    }
}
