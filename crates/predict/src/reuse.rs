//! An LRU stack: how many lines other accesses touched since a line was last touched.
//!
//! One pass over the accesses tells the misses of caches of every capacity at once.

use crate::execution::{CAPACITIES, capacity};

/// The lines touched last, the newest first.
#[derive(Debug)]
pub(crate) struct LruStack {
    lines: Vec<u64>,
}

impl LruStack {
    pub(crate) fn new() -> LruStack {
        LruStack {
            lines: Vec::with_capacity(capacity(CAPACITIES - 1)),
        }
    }

    /// Touches a line. Returns how many of the recorded capacities miss it: 0 when the
    /// smallest cache holds it, [`CAPACITIES`] when none does.
    pub(crate) fn touch(&mut self, line: u64) -> usize {
        let Some(depth) = self.lines.iter().position(|&known| known == line) else {
            if self.lines.len() == capacity(CAPACITIES - 1) {
                self.lines.pop();
            }
            self.lines.insert(0, line);
            return CAPACITIES;
        };
        if let Some(newer) = self.lines.get_mut(..=depth) {
            newer.rotate_right(1);
        }
        (0..CAPACITIES)
            .take_while(|&n| capacity(n) <= depth)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_held_by_caches_larger_than_what_was_touched_since() {
        let mut stack = LruStack::new();
        assert_eq!(stack.touch(1), CAPACITIES);
        assert_eq!(stack.touch(1), 0);
        for line in 2..10 {
            stack.touch(line);
        }
        // Eight other lines since: too many for the cache of eight, not for sixteen.
        assert_eq!(stack.touch(1), 1);
        for line in 10..2000 {
            stack.touch(line);
        }
        assert_eq!(stack.touch(1), CAPACITIES);
    }
}
