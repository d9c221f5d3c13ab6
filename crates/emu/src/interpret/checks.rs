//! Strict checks: does an operation read registers that hold values?

use super::{Exit, Trouble, failed};
use crate::op::{Compared, Dest, MicroOp, OpIndex, Operation, POOL, Part, Source};
use crate::ops::compare;
use crate::simdgroup::Simdgroup;
use crate::touch::Touch;

#[inline(always)]
pub(super) fn check(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    let poison = &simdgroup.poison;
    if !poison.reads_well(&op.touches, simdgroup.exec) {
        return bad_read(simdgroup, op.touches.reads(), simdgroup.exec, index);
    }
    if poison.any_pending() {
        return bad_write(simdgroup, op, index);
    }
    None
}

#[cold]
pub(super) fn bad_read(
    simdgroup: &Simdgroup,
    reads: &[Touch],
    lanes: u32,
    index: OpIndex,
) -> Option<Exit> {
    let bad = simdgroup.poison.first_bad(reads, lanes)?;
    Some(failed(index, Some(bad.lane), Trouble::BadRead(bad)))
}

#[inline(never)]
pub(super) fn bad_write(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    let writes = op.touches.writes();
    let bad = simdgroup.poison.first_pending(writes, simdgroup.exec)?;
    Some(failed(index, Some(bad.lane), Trouble::PendingWrite(bad)))
}

/// The register halves of a source, if it is one.
pub(super) fn touch(source: Source) -> Option<Touch> {
    (source.row < POOL).then_some(Touch {
        row: source.row as u8,
        halves: match source.part {
            Part::Whole => 0b11,
            Part::Low | Part::LowSigned => 0b01,
            Part::High | Part::HighSigned => 0b10,
        },
    })
}

pub(super) fn register_touch(register: Dest) -> Touch {
    Touch {
        row: register.row,
        halves: match register.part {
            Part::Whole => 0b11,
            Part::Low | Part::LowSigned => 0b01,
            Part::High | Part::HighSigned => 0b10,
        },
    }
}

pub(super) fn unread(
    simdgroup: &Simdgroup,
    reads: &[Touch],
    lanes: u32,
    index: OpIndex,
) -> Option<Exit> {
    match simdgroup.poison.all_good(reads, lanes) {
        true => None,
        false => bad_read(simdgroup, reads, lanes, index),
    }
}

/// A select reads of its two values, in each lane, only the one it takes.
#[inline(always)]
pub(super) fn check_select(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    if simdgroup.poison.reads_well(&op.touches, simdgroup.exec) {
        return match simdgroup.poison.any_pending() {
            true => bad_write(simdgroup, op, index),
            false => None,
        };
    }
    check_select_lanes(simdgroup, op, index)
}

#[cold]
pub(super) fn check_select_lanes(
    simdgroup: &Simdgroup,
    op: &MicroOp,
    index: OpIndex,
) -> Option<Exit> {
    let Operation::Select { compared, x, y, .. } = op.operation else {
        return None;
    };
    let compared = match compared {
        Compared::Int(a, b) => [a, b],
        Compared::Float(a, b) => [a.source, b.source],
    };
    for touched in compared.into_iter().filter_map(touch) {
        let found = bad_read(simdgroup, &[touched], simdgroup.exec, index);
        if found.is_some() {
            return found;
        }
    }
    let chosen = compare::to_bits(&simdgroup.outcome_row());
    for (source, lanes) in [(x, chosen), (y, !chosen)] {
        if let Some(touched) = touch(source) {
            let found = bad_read(simdgroup, &[touched], simdgroup.exec & lanes, index);
            if found.is_some() {
                return found;
            }
        }
    }
    bad_write(simdgroup, op, index)
}
