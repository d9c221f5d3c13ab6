//! Lines, sectors and banks of accesses in runs, without a look at each lane.

use super::model::{Blocks, SECTOR, passes_of_halves};
use crate::code::Transfer;
use crate::interpret::observer::AccessEvent;
use std::ops::Range;

/// The lowest and the highest byte of each run of lanes, where everything between is accessed.
pub(super) struct ByteRuns {
    pub(super) bytes: [(u64, u64); 4],
    pub(super) len: usize,
}

impl ByteRuns {
    /// Those of `size` bytes of each lane, `done` from its address; nothing if there are no runs.
    #[inline(always)]
    pub(super) fn of(event: &AccessEvent<'_>, done: u32, size: u32) -> Option<Self> {
        let (length, step) = (event.runs.length, event.runs.step);
        if length < 8 || u64::from(step) > SECTOR {
            return None;
        }
        let mut runs = Self {
            bytes: [(0, 0); 4],
            len: 0,
        };
        if length == 32 && event.mask == !0 {
            let first = event.address(0) + u64::from(done);
            runs.bytes[0] = (first, first + u64::from(31 * step + size - 1));
            runs.len = 1;
            return Some(runs);
        }
        let mut start = 0;
        while start < 32 {
            let lanes = (u64::from(event.mask) >> start) & ((1 << length) - 1);
            if lanes != 0 {
                let (low, high) = (lanes.trailing_zeros(), 63 - lanes.leading_zeros());
                let gaps = lanes.count_ones() != high - low + 1;
                if gaps && step != 0 {
                    return None;
                }
                let first = event.address((start + low) as usize) + u64::from(done);
                let last = first + u64::from((high - low) * step + size - 1);
                runs.bytes[runs.len & 3] = (first, last);
                runs.len += 1;
            }
            start += length;
        }
        Some(runs)
    }

    #[inline(always)]
    pub(super) fn blocks(&self, block: u64) -> Blocks {
        Blocks::of_runs(self.bytes.get(..self.len).unwrap_or_default(), block)
    }
}

/// Passes over the banks for each word of all simdgroups, where each half of their lanes is a row.
#[inline(always)]
pub(super) fn passes_of_all(
    event: &AccessEvent<'_>,
    transfer: &Transfer,
    running: Range<usize>,
) -> Option<u64> {
    if let Some(sum) = &event.affine
        && event.cell.bytes() >= 4
    {
        // Numbers are aligned, and of each simdgroup the halves are as far apart.
        let starts = [
            sum.address(event.simdgroup, 0),
            sum.address(event.simdgroup, 16),
        ];
        let passes = passes_of_halves(starts, event.runs.step.into());
        return Some(u64::from(passes) * running.len() as u64);
    }
    let (mut passes, mut bits) = (0, 0);
    for simdgroup in running {
        let start =
            |lane| event.address_of(transfer, simdgroup - event.batch.first_simdgroup, lane);
        let starts = [start(0), start(16)];
        bits |= starts[0] | starts[1];
        passes += u64::from(passes_of_halves(starts, event.runs.step.into()));
    }
    bits.is_multiple_of(4).then_some(passes)
}

/// Passes over the banks for each word, where the form of the addresses says it.
#[inline(always)]
pub(super) fn passes_by_form(event: &AccessEvent<'_>) -> Option<u32> {
    let (length, step) = (event.runs.length, u64::from(event.runs.step));
    match length {
        // From word to word at most: no more words than banks.
        32 if step <= 4 => Some(1),
        16 if step == 0 || step == 4 => {
            let starts = [event.address(0), event.address(16)];
            if !(starts[0] | starts[1]).is_multiple_of(4) {
                return None;
            }
            let passes = passes_of_halves(starts, step);
            (passes == 1 || event.mask == !0).then_some(passes)
        }
        _ => None,
    }
}
