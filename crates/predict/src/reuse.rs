//! An LRU stack: how many lines other accesses touched since a line was last touched.
//!
//! One pass over the accesses tells the misses of caches of every recorded capacity at once.
//! The lines are a linked list, the newest first, with a border after every capacity: a
//! touched line moves to the front, and over each border it crosses one other line moves
//! back.

use crate::execution::{CAPACITIES, capacity};
use rustc_hash::FxHashMap;

/// The lines touched last.
#[derive(Debug)]
pub(crate) struct LruStack {
    nodes: Vec<Node>,
    slot_of: FxHashMap<u64, u32>,
    first: u32,
    last: u32,
    /// The last line within each capacity, once there are as many.
    borders: [u32; CAPACITIES],
}

#[derive(Clone, Copy, Debug)]
struct Node {
    line: u64,
    newer: u32,
    older: u32,
    /// How many capacities do not reach it.
    level: u8,
}

const NONE: u32 = u32::MAX;
const MOST: usize = capacity(CAPACITIES - 1);

impl LruStack {
    pub(crate) fn new() -> LruStack {
        LruStack {
            nodes: Vec::with_capacity(MOST),
            slot_of: FxHashMap::default(),
            first: NONE,
            last: NONE,
            borders: [NONE; CAPACITIES],
        }
    }

    /// Touches a line. Returns how many of the recorded capacities miss it: 0 when the
    /// smallest cache holds it, [`CAPACITIES`] when none does.
    #[inline]
    pub(crate) fn touch(&mut self, line: u64) -> usize {
        if let Some(node) = self.nodes.get(self.first as usize)
            && node.line == line
        {
            return 0;
        }
        match self.slot_of.get(&line) {
            Some(&slot) => {
                let level = usize::from(self.nodes[slot as usize].level);
                self.push_borders(level);
                if level < CAPACITIES && self.borders[level] == slot {
                    self.borders[level] = self.nodes[slot as usize].newer;
                }
                self.unlink(slot);
                self.link_first(slot);
                level
            }
            None => {
                let full = self.nodes.len() == MOST;
                let oldest = self.last;
                self.push_borders(CAPACITIES);
                let slot = if full {
                    self.unlink(oldest);
                    let gone = self.nodes[oldest as usize].line;
                    self.slot_of.remove(&gone);
                    oldest
                } else {
                    self.nodes.push(Node {
                        line,
                        newer: NONE,
                        older: NONE,
                        level: 0,
                    });
                    self.nodes.len() as u32 - 1
                };
                self.nodes[slot as usize].line = line;
                self.slot_of.insert(line, slot);
                self.link_first(slot);
                let reached = (0..CAPACITIES).find(|&n| capacity(n) == self.nodes.len());
                if let Some(level) = reached.filter(|_| !full) {
                    self.borders[level] = self.last;
                }
                CAPACITIES
            }
        }
    }

    /// Moves the last line of each capacity below `levels` behind its border.
    fn push_borders(&mut self, levels: usize) {
        for level in 0..levels {
            let border = self.borders[level];
            if border != NONE {
                let node = &mut self.nodes[border as usize];
                node.level = level as u8 + 1;
                self.borders[level] = node.newer;
            }
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Node { newer, older, .. } = self.nodes[slot as usize];
        match newer {
            NONE => self.first = older,
            newer => self.nodes[newer as usize].older = older,
        }
        match older {
            NONE => self.last = newer,
            older => self.nodes[older as usize].newer = newer,
        }
    }

    fn link_first(&mut self, slot: u32) {
        let older = self.first;
        let node = &mut self.nodes[slot as usize];
        node.newer = NONE;
        node.older = older;
        node.level = 0;
        match older {
            NONE => self.last = slot,
            older => self.nodes[older as usize].newer = slot,
        }
        self.first = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: a list searched from the front.
    #[derive(Default)]
    struct Plain(Vec<u64>);

    impl Plain {
        fn touch(&mut self, line: u64) -> usize {
            let found = self.0.iter().position(|&known| known == line);
            let depth = match found {
                Some(depth) => {
                    self.0.remove(depth);
                    depth
                }
                None => usize::MAX,
            };
            self.0.insert(0, line);
            self.0.truncate(MOST);
            (0..CAPACITIES)
                .take_while(|&n| capacity(n) <= depth)
                .count()
        }
    }

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

    #[test]
    fn borders_tell_the_same_as_a_search() {
        let mut stack = LruStack::new();
        let mut plain = Plain::default();
        let mut state = 1u64;
        for n in 0..60_000u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            // Near lines often, far ones sometimes.
            let reach = 1 << (state >> 60);
            let line = n / 16 + (state >> 20) % reach;
            assert_eq!(stack.touch(line), plain.touch(line), "access {n}");
        }
    }
}
