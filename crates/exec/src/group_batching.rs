//! Group batching: several small threadgroups in one batch.
//!
//! An operation is decoded once for all simdgroups of a batch; a threadgroup of one simdgroup would pay for it alone. If
//! threadgroups are independent (no threadgroup memory, no atomics that one of them could wait for), several that follow each
//! other along x run as one batch.

use crate::code::{Op, Program};
use crate::geometry::Grid;
use crate::interpret::{Batch, MAX_SIMDGROUPS};
use crate::texture::What;

/// Batches of threadgroups a worker should have at least: they take unequal time.
const SHARES: u64 = 4;

/// A grid's threadgroups, several to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupBatches {
    /// Threadgroups of a batch.
    pub(crate) size: u64,
    /// Threadgroups of a row that are whole, and all of them.
    whole: u64,
    row: u64,
    rows: u64,
}

impl GroupBatches {
    /// Every threadgroup by itself.
    pub(crate) fn single(grid: &Grid) -> Self {
        let [row, columns, layers] = grid.group_counts().map(u64::from);
        Self {
            size: 1,
            whole: row,
            row,
            rows: columns * layers,
        }
    }

    /// As many threadgroups to a batch as it holds, if that leaves enough batches for each of so many workers.
    pub(crate) fn of(program: &Program, grid: &Grid, threadgroup_bytes: u32, workers: u64) -> Self {
        let single = Self::single(grid);
        let [width, height, depth] = grid.threadgroup;
        let threads = u64::from(width) * u64::from(height) * u64::from(depth);
        let simdgroups = (threads / 32) as usize;
        let cut = |axis: usize| !grid.threads[axis].is_multiple_of(grid.threadgroup[axis].max(1));
        let cannot_batch = threads % 32 != 0
            || !simdgroups.is_power_of_two()
            || threadgroup_bytes != 0
            || cut(1)
            || cut(2)
            || program.may_meet();
        if cannot_batch {
            return single;
        }
        let most = (Batch::size(program, MAX_SIMDGROUPS) / simdgroups) as u64;
        let each = single.row * single.rows / (workers.max(1) * SHARES);
        Self {
            size: most.min(single.row).min(each).max(1),
            whole: single.row - u64::from(cut(0)),
            ..single
        }
    }

    /// Batches of a row.
    fn per_row(&self) -> u64 {
        self.whole.div_ceil(self.size) + (self.row - self.whole)
    }

    /// Batches of the grid.
    pub(crate) fn count(&self) -> u64 {
        self.per_row() * self.rows
    }

    /// The first threadgroup of a batch, and how many it has.
    pub(crate) fn get(&self, batch: u64) -> (u64, u64) {
        if self.size == 1 {
            return (batch, 1);
        }
        let (row, at) = (batch / self.per_row(), batch % self.per_row());
        let first = (at * self.size).min(self.whole);
        let count = (self.whole - first).clamp(1, self.size);
        (row * self.row + first, count)
    }
}

impl Program {
    /// Returns true if a threadgroup may wait for another, or depend on which came first: the program has atomics.
    pub fn may_meet(&self) -> bool {
        let atomic = |op: &Op| match *op {
            Op::Atomic { .. } | Op::CompareExchange { .. } => true,
            Op::Load { transfer } | Op::Store { transfer } => {
                let transfer = self.transfers.get(transfer as usize);
                transfer.is_some_and(|transfer| transfer.atomic)
            }
            Op::Texture { index } => {
                let texture = self.textures.get(index as usize);
                texture.is_some_and(|texture| texture.what == What::Atomic)
            }
            _ => false,
        };
        self.in_order || self.in_turn || self.ops.iter().any(atomic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threadgroup_is_in_one_batch() {
        for (size, whole, row, rows) in [
            (1, 7, 7, 3),
            (8, 7, 7, 3),
            (8, 8, 8, 1),
            (4, 9, 10, 2),
            (4, 8, 9, 2),
            (2, 0, 1, 5),
            (8, 17, 17, 1),
        ] {
            let runs = GroupBatches {
                size,
                whole,
                row,
                rows,
            };
            let mut next = 0;
            for run in 0..runs.count() {
                let (first, count) = runs.get(run);
                assert_eq!(first, next, "{runs:?}");
                assert!((1..=size).contains(&count));
                let (at, end) = (first % row, first % row + count);
                assert!(end <= whole || count == 1 && at >= whole, "{runs:?} {run}");
                next = first + count;
            }
            assert_eq!(next, row * rows);
        }
    }
}
