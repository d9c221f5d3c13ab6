//! Instructions that may go next, the best first.
//!
//! A scheduler compares the first few of them, takes one, and adds those that waited for it. In straight code thousands are
//! ready at once: the first few lie in order, the others in a heap, so that neither adding nor taking moves them all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries by rank, then by number; `FEW` of them can be looked at.
#[derive(Debug, Default)]
pub(super) struct Ready<const FEW: usize> {
    /// The first ones, in order: at least `FEW`, if there are so many.
    first: Vec<(u32, u32)>,
    /// All others.
    rest: BinaryHeap<Reverse<(u32, u32)>>,
}

impl<const FEW: usize> Ready<FEW> {
    pub(super) fn clear(&mut self) {
        self.first.clear();
        self.rest.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    pub(super) fn insert(&mut self, entry: (u32, u32)) {
        if self
            .rest
            .peek()
            .is_some_and(|Reverse(least)| *least < entry)
        {
            self.rest.push(Reverse(entry));
            return;
        }
        let at = self.first.partition_point(|other| *other < entry);
        self.first.insert(at, entry);
        if self.first.len() > 2 * FEW {
            self.rest.extend(self.first.drain(FEW..).map(Reverse));
        }
    }

    /// The first few.
    pub(super) fn few(&self) -> &[(u32, u32)] {
        self.first.get(..FEW).unwrap_or(&self.first)
    }

    /// Takes one of the first few.
    pub(super) fn remove(&mut self, at: usize) -> Option<(u32, u32)> {
        let taken = (at < self.first.len()).then(|| self.first.remove(at))?;
        if self.first.len() < FEW
            && let Some(Reverse(next)) = self.rest.pop()
        {
            self.first.push(next);
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::Ready;

    /// The same as a list that is kept in order, whatever is added and taken.
    #[test]
    fn is_a_sorted_list_whose_beginning_can_be_seen() {
        let mut ready = Ready::<4>::default();
        let mut sorted: Vec<(u32, u32)> = Vec::new();
        let mut chance = 12345u32;
        for node in 0..4000u32 {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if chance >> 28 < 9 {
                let entry = (chance >> 8 & 0xff, node);
                ready.insert(entry);
                let at = sorted.partition_point(|other| *other < entry);
                sorted.insert(at, entry);
            } else if !sorted.is_empty() {
                let at = (chance >> 10) as usize % sorted.len().min(4);
                assert_eq!(ready.remove(at), Some(sorted.remove(at)));
            }
            assert_eq!(ready.few(), &sorted[..sorted.len().min(4)]);
            assert_eq!(ready.len(), sorted.len());
        }
        ready.clear();
        assert_eq!((ready.len(), ready.remove(0)), (0, None));
    }
}
