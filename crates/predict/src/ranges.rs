//! Sets of bytes as sorted ranges, to count the lines that threadgroups touch.

use crate::execution::LINE;

/// Ranges kept before they are merged.
const MERGE_AT: usize = 1 << 14;

/// Ranges of a merged set at most; a larger set is rounded to coarser grains.
const MOST: usize = 1 << 13;

/// A set of byte addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    list: Vec<(u64, u64)>,
    /// Ends of ranges are multiples of it: 1 (or 0) while exact.
    grain: u64,
}

impl Ranges {
    /// Adds the bytes from `start` to before `end`.
    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        if let Some(last) = self.list.last_mut()
            && start <= last.1
            && end >= last.0
        {
            last.0 = last.0.min(start);
            last.1 = last.1.max(end);
            return;
        }
        self.list.push((start, end));
        if self.list.len() >= MERGE_AT {
            self.merge();
        }
    }

    /// Sorts and merges; afterwards ranges neither overlap nor touch.
    pub(crate) fn merge(&mut self) {
        merge(&mut self.list);
        while self.list.len() > MOST {
            self.grain = match self.grain {
                0 | 1 => LINE,
                grain => grain * 4,
            };
            round(&mut self.list, self.grain);
            merge(&mut self.list);
        }
    }

    /// Distinct lines; the set must be merged.
    pub(crate) fn lines(&self) -> u64 {
        let mut count = 0;
        let mut counted = 0;
        for &(start, end) in &self.list {
            let first = (start / LINE).max(counted);
            let after = end.div_ceil(LINE);
            count += after.saturating_sub(first);
            counted = counted.max(after);
        }
        count
    }

    /// Distinct bytes, as far as they are told apart; the set must be merged.
    pub(crate) fn bytes(&self) -> u64 {
        let lengths = self
            .list
            .iter()
            .map(|&(start, end)| end.saturating_sub(start));
        lengths.fold(0, u64::saturating_add)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many ranges; the set must be merged.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The first byte.
    pub(crate) fn start(&self) -> Option<u64> {
        self.list.first().map(|range| range.0)
    }

    /// The distance by which `other` is this set moved, if it is. Both must be merged.
    pub(crate) fn shift_to(&self, other: &Ranges) -> Option<i64> {
        if self.list.len() != other.list.len() || self.grain != other.grain {
            return None;
        }
        let shift = other.start()?.wrapping_sub(self.start()?);
        let moved = |(a, b): (&(u64, u64), &(u64, u64))| {
            b.0.wrapping_sub(a.0) == shift && b.1.wrapping_sub(a.1) == shift
        };
        let same = self.list.iter().zip(&other.list).all(moved);
        same.then_some(shift as i64)
    }

    /// Adds `other`, moved by `shift` bytes. The result is merged.
    pub(crate) fn unite(&mut self, other: &Ranges, shift: i64) {
        let moved = |&(start, end): &(u64, u64)| {
            (
                start.wrapping_add_signed(shift),
                end.wrapping_add_signed(shift),
            )
        };
        self.grain = self.grain.max(other.grain);
        self.list.extend(other.list.iter().map(moved));
        self.merge();
    }

    /// Rounds to whole lines, which may merge ranges.
    pub(crate) fn round_to_lines(&mut self) {
        self.grain = self.grain.max(LINE);
        round(&mut self.list, LINE);
        merge(&mut self.list);
    }
}

fn round(list: &mut [(u64, u64)], grain: u64) {
    for (start, end) in list {
        *start -= *start % grain;
        *end = end.next_multiple_of(grain);
    }
}

fn merge(list: &mut Vec<(u64, u64)>) {
    list.sort_unstable();
    let mut kept = 0;
    for n in 0..list.len() {
        let (start, end) = list[n];
        match list[..kept].last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => {
                list[kept] = (start, end);
                kept += 1;
            }
        }
    }
    list.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(start, end) in list {
            ranges.add(start, end);
        }
        ranges.merge();
        ranges
    }

    #[test]
    fn lines_are_counted_once() {
        assert_eq!(ranges(&[(0, 4), (8, 12), (120, 132)]).lines(), 2);
        assert_eq!(ranges(&[(256, 260), (0, 4)]).lines(), 2);
        assert_eq!(ranges(&[]).lines(), 0);
    }

    #[test]
    fn a_moved_set_is_recognised() {
        let set = ranges(&[(0, 16), (64, 80)]);
        assert_eq!(
            set.shift_to(&ranges(&[(1000, 1016), (1064, 1080)])),
            Some(1000)
        );
        assert_eq!(set.shift_to(&ranges(&[(1000, 1016), (1068, 1080)])), None);
        let mut both = set.clone();
        both.unite(&set, 16);
        assert_eq!(both, ranges(&[(0, 32), (64, 96)]));
    }

    #[test]
    fn a_scattered_set_gets_coarser_not_larger() {
        let scattered: Vec<_> = (0..40_000u64).map(|n| (n * 256, n * 256 + 4)).collect();
        let set = ranges(&scattered);
        assert!(set.len() <= MOST);
        assert!(set.lines() >= 40_000);
    }
}
