//! What is changed about an execution before it is folded: the same threadgroups without some effect.

use crate::execution::{Access, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Changes by instruction and block; none by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// Accesses as they would be, by instruction.
    pub(crate) accesses: BTreeMap<u32, Access>,
    /// By how many capacities (each twice the one before) reuse comes nearer for the other accesses.
    pub(crate) nearer: f32,
    /// Factors of issue slots, by instruction.
    pub(crate) issue: BTreeMap<u32, f32>,
    /// Factors of executions, by block.
    pub(crate) blocks: BTreeMap<u16, f32>,
    /// Barriers that are not waited at.
    pub(crate) barriers: BTreeSet<u32>,
    /// Accesses that behave alike stay apart.
    pub(crate) keeps_accesses_apart: bool,
}

impl Change {
    /// An access of an instruction as it would be.
    pub(crate) fn access(&self, instruction: u32, access: Access) -> Access {
        match self.accesses.get(&instruction) {
            Some(changed) => changed.clone(),
            None if self.nearer > 0.0 => Access {
                misses: nearer(&access.misses, self.nearer),
                ..access
            },
            None => access,
        }
    }

    /// Scales shares of issue slots, which are by instruction.
    pub(crate) fn scale_issue(&self, shares: &mut [f32]) {
        for (&instruction, factor) in &self.issue {
            if let Some(share) = shares.get_mut(instruction as usize) {
                *share *= factor;
            }
        }
    }

    /// Scales how often blocks are executed.
    pub(crate) fn scale_blocks(&self, steps: &mut [Step]) {
        if self.blocks.is_empty() {
            return;
        }
        for step in steps {
            match step {
                Step::Block(block, count) => {
                    *count *= self.blocks.get(block).copied().unwrap_or(1.0);
                }
                Step::Loop(_, body) => self.scale_blocks(body),
            }
        }
    }

    /// Returns true if the instruction is a barrier that is not waited at.
    pub(crate) fn drops_barrier(&self, instruction: u32) -> bool {
        self.barriers.contains(&instruction)
    }
}

/// Misses of capacities that reach `levels` farther than they did.
pub(crate) fn nearer(misses: &[f32], levels: f32) -> Vec<f32> {
    let at = |n: usize| misses.get(n).or(misses.last()).copied().unwrap_or(0.0);
    let whole = levels.floor().clamp(0.0, 64.0);
    let share = (levels - whole).clamp(0.0, 1.0);
    let moved =
        |n: usize| at(n + whole as usize) * (1.0 - share) + at(n + whole as usize + 1) * share;
    (0..misses.len()).map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_that_comes_nearer_misses_what_larger_caches_miss() {
        let misses = [8.0, 4.0, 2.0, 1.0];
        assert_eq!(nearer(&misses, 1.0), [4.0, 2.0, 1.0, 1.0]);
        assert_eq!(nearer(&misses, 0.5), [6.0, 3.0, 1.5, 1.0]);
        assert_eq!(nearer(&[], 2.0), [0.0; 0]);
    }
}
