//! Memoised counts of scattered accesses.
//!
//! An operation in a loop mostly comes back with its lanes the same distances apart, further on in memory. How many lines or banks
//! they touch then depends on nothing but where in one of these the first lane is.

use super::model::Blocks;
use crate::lanes::Wide;

/// Most patterns kept for an operation.
const MAX_PATTERNS: usize = 8;

/// Addresses, as far as they matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scattered<'a> {
    pub(super) addresses: &'a Wide,
    pub(super) mask: u32,
    /// Bytes each lane accesses.
    pub(super) size: u32,
}

#[derive(Debug)]
struct Pattern {
    /// How far each lane's address is from the first lane's.
    distances: Wide,
    mask: u32,
    size: u32,
    /// Where in its unit the first lane's address is.
    offset: u64,
    /// What was counted.
    count: u64,
    /// The blocks touched, as distances from the first lane's.
    blocks: Vec<u64>,
}

impl Pattern {
    const NONE: Self = Self {
        distances: [0; 32],
        mask: 0,
        size: 0,
        offset: 0,
        count: 0,
        blocks: Vec::new(),
    };

    #[inline(always)]
    fn is_of(&self, of: Scattered<'_>, offset: u64) -> bool {
        if self.offset != offset || self.mask != of.mask || self.size != of.size {
            return false;
        }
        let mut differ = 0;
        for lane in 0..32 {
            let distance = of.addresses[lane].wrapping_sub(of.addresses[0]);
            differ |= distance ^ self.distances[lane];
        }
        differ == 0
    }
}

/// The patterns of an operation.
#[derive(Debug, Default)]
struct LazyRegisters {
    patterns: Vec<Pattern>,
    /// The one to be replaced next.
    oldest: usize,
}

/// The patterns of all operations.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    known: Vec<LazyRegisters>,
}

impl Patterns {
    pub(super) fn new(operations: usize) -> Self {
        let mut known = Vec::new();
        known.resize_with(operations, LazyRegisters::default);
        Self { known }
    }

    /// Counts something of an operation's addresses that stays the same when all move by a multiple of `unit` bytes. Gives the
    /// distances of the blocks as well, if `work_out` gives blocks, which are numbered from that of the first lane.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        position: usize,
        of: Scattered<'_>,
        unit: u64,
        work_out: impl FnOnce() -> (u64, Option<Blocks>),
    ) -> (u64, &[u64]) {
        let Some(known) = self.known.get_mut(position) else {
            return (work_out().0, &[]);
        };
        let first = of.addresses[0];
        let offset = first % unit;
        let mut patterns = known.patterns.iter();
        let index = patterns.position(|pattern| pattern.is_of(of, offset));
        let index = index.unwrap_or_else(|| {
            let (count, blocks) = work_out();
            let index = known.oldest;
            known.oldest = (index + 1) % MAX_PATTERNS;
            if index == known.patterns.len() {
                known.patterns.push(Pattern::NONE);
            }
            let pattern = &mut known.patterns[index];
            for lane in 0..32 {
                pattern.distances[lane] = of.addresses[lane].wrapping_sub(first);
            }
            pattern.mask = of.mask;
            pattern.size = of.size;
            pattern.offset = offset;
            pattern.count = count;
            pattern.blocks.clear();
            if let Some(blocks) = blocks {
                let distances = blocks
                    .as_slice()
                    .iter()
                    .map(|b| b.wrapping_sub(first / unit));
                pattern.blocks.extend(distances);
            }
            index
        });
        let found = &known.patterns[index];
        (found.count, &found.blocks)
    }
}
