//! Calls, returns and the end of a simdgroup.

use super::checks::check;
use super::mask::nesting;
use super::{Exit, Next, Trouble, failed};
use crate::fault::FaultKind;
use crate::lower::Lowered;
use crate::op::{Dest, LANES, MicroOp, OpIndex, Part, Row};
use crate::simdgroup::{CallFrame, Simdgroup};

/// How deep calls may nest.
const MAX_CALLS: usize = 1 << 14;

/// The end of a simdgroup.
pub(super) fn stop<const STRICT: bool>(simdgroup: &Simdgroup, index: OpIndex) -> Exit {
    match simdgroup.nesting.closed() {
        Err(misuse) if STRICT => nesting(index, misuse),
        _ => Exit::Stopped,
    }
}

pub(super) fn call<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    target: OpIndex,
    back: u32,
) -> Next {
    const LINK: Dest = Dest {
        row: 1,
        part: Part::Whole,
        pair: false,
    };
    if simdgroup.calls.len() >= MAX_CALLS {
        let kind = FaultKind::CallsTooDeep { limit: MAX_CALLS };
        return Next::Leave(failed(index, None, Trouble::Fault(kind)));
    }
    simdgroup.write(LINK, &Row::splat(back));
    if STRICT {
        let active = simdgroup.exec;
        simdgroup.poison.retire(&op.touches, active, index);
    }
    let nesting = simdgroup.nesting.enter();
    simdgroup.calls.push(CallFrame { back, nesting });
    Next::To(target)
}

/// The operation at the address that all active lanes have in a register.
pub(super) fn common_target(
    simdgroup: &Simdgroup,
    code: &Lowered,
    row: u8,
) -> Result<OpIndex, FaultKind> {
    let addresses = simdgroup.row(u16::from(row));
    let mut active = (0..LANES).filter(|lane| simdgroup.exec >> lane & 1 != 0);
    let address = match (active.next(), simdgroup.calls.last()) {
        (Some(lane), _) => addresses.0[lane],
        // No lane has an address; the call that is being returned from does.
        (None, Some(frame)) => frame.back,
        (None, None) => return Err(FaultKind::DivergentTarget),
    };
    if active.any(|lane| addresses.0[lane] != address) {
        return Err(FaultKind::DivergentTarget);
    }
    code.at(i64::from(address)).ok_or(FaultKind::NoInstruction {
        target: i64::from(address),
    })
}

pub(super) fn give_back<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    code: &Lowered,
    op: &MicroOp,
    index: OpIndex,
    row: u8,
) -> Next {
    if STRICT && let Some(exit) = check(simdgroup, op, index) {
        return Next::Leave(exit);
    }
    let target = match common_target(simdgroup, code, row) {
        Ok(target) => target,
        Err(kind) => return Next::Leave(failed(index, None, Trouble::Fault(kind))),
    };
    if let Some(frame) = simdgroup.calls.pop()
        && let Err(misuse) = simdgroup.nesting.leave(frame.nesting)
        && STRICT
    {
        return Next::Leave(nesting(index, misuse));
    }
    Next::To(target)
}
